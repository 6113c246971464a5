// What does the page know of the node?
//
// All rates are differences of counters over `uptime_seconds`, a clock that nobody can set.

/** So many seconds are drawn. */
export const SECONDS = 120;
/** Rates are taken over about this long, so that they do not flicker. */
const RATE_SECONDS = 2;
/** The waiting times of the last minute need a look from a minute ago. */
const MINUTE = 60;
const BLOCKS_MAX = 500;

export class State {
  constructor() {
    // Each of them begins with all shards.
    this.connections = 0;
    this.forget();
  }

  /** As before the first frame. */
  forget() {
    this.frame = null;
    this.shards = new Map();
    this.blocks = [];
    this.samples = [];
    this.slices = null;
    this.restarts = (this.restarts ?? -1) + 1;
  }

  take(frame) {
    // Another run of the node begins with all that it has to tell.
    if (this.frame && frame.run !== this.frame.run) this.forget();
    this.frame = frame;
    this.takeShards(frame.shards);
    this.takeBlocks(frame.blocks ?? []);
    this.sample(frame);
  }

  takeShards({ whole, rows, total }) {
    if (whole) {
      this.shards.clear();
      this.connections += 1;
    }
    for (const [address, state, height, pooled, transactions, error] of rows) {
      this.shards.set(address, { address, state, height, pooled, transactions, error });
    }
    this.changed = rows;
    this.shardsTotal = total;
  }

  /** Newest first. After a reconnect some are told twice. */
  takeBlocks(blocks) {
    const known = new Set(this.blocks.slice(0, 100).map((block) => block.hash));
    const fresh = blocks.filter((block) => !known.has(block.hash));
    if (fresh.length) this.blocks = [...fresh, ...this.blocks].slice(0, BLOCKS_MAX);
  }

  /** One look per second is kept, and the newest. */
  sample({ uptime_seconds: time, node, runtimes }) {
    const sample = {
      time,
      transactions: node.transactions,
      pooled: node.pooled,
      queued: sum(runtimes, (runtime) => runtime.queued),
      waiting: runtimes.map((runtime) => runtime.waiting),
      workers: runtimes.map((runtime) => runtime.workers.map(({ cpu_seconds, turns }) => ({ cpu_seconds, turns }))),
    };
    const [before, last] = this.samples.slice(-2);
    if (last && Math.floor(before.time) === Math.floor(last.time)) this.samples.pop();
    this.samples.push(sample);
    while (this.samples[0].time < time - SECONDS - 2) this.samples.shift();
  }

  get now() {
    return this.samples.at(-1);
  }

  /** The look from at least so long ago, or the oldest. */
  before(seconds) {
    const { time } = this.now;
    return this.samples.findLast((sample) => sample.time <= time - seconds) ?? this.samples[0];
  }

  /** Transactions per second, now. */
  throughput() {
    return perSecond(this.before(RATE_SECONDS), this.now, (sample) => sample.transactions);
  }

  /** `[seconds ago, transactions per second]`, oldest first. */
  throughputs() {
    const { time } = this.now;
    const rates = this.samples.slice(1).map((sample, at) =>
      [time - sample.time, perSecond(this.samples[at], sample, (one) => one.transactions)]);
    // The newest may be of a tenth of a second only.
    if (rates.length) rates[rates.length - 1][1] = this.throughput();
    return rates;
  }

  /** `[seconds ago, how many]` of a depth: `queued` or `pooled`. */
  depths(what) {
    const { time } = this.now;
    return this.samples.map((sample) => [time - sample.time, sample[what]]);
  }

  /** The part of its time that a worker has used a processor; null where the system does not tell. */
  utilization(runtime, worker) {
    const used = this.difference(runtime, worker, 'cpu_seconds');
    return used == null ? null : Math.min(1, Math.max(0, used));
  }

  /** Turns per second of a worker. */
  turns(runtime, worker) {
    return this.difference(runtime, worker, 'turns') ?? 0;
  }

  difference(runtime, worker, what) {
    const [from, to] = [this.before(RATE_SECONDS), this.now];
    const [old, fresh] = [from, to].map((sample) => sample.workers[runtime]?.[worker]?.[what]);
    return old == null || fresh == null || to.time <= from.time ? null : (fresh - old) / (to.time - from.time);
  }

  /** The waiting times of a runtime: of the last minute, or of all. */
  waiting(runtime, recent) {
    const now = this.now.waiting[runtime] ?? [];
    if (!recent) return now;
    const before = this.before(MINUTE).waiting[runtime] ?? [];
    return now.map((many, at) => many - (before[at] ?? 0));
  }
}

const sum = (list, of) => list.reduce((total, item) => total + of(item), 0);

function perSecond(from, to, of) {
  return to.time > from.time ? Math.max(0, of(to) - of(from)) / (to.time - from.time) : 0;
}
