// What would the dashboard show of a node that has ten thousand shards, or strange names?
//
// Frames as a node sends them, made by hand: the first to whoever connects, another one with `push`.

import { until } from './node.mjs';

const worker = (state, runs = null) => ({
  state, runs, turns: 120_000, wakes: 90_000, steals: 420, parks: 9_000, hand_offs: 12, panics: 0, overruns: 0, cpu_seconds: 3,
});

/** A frame; `changes` replace its fields, and those of `node` one by one. */
export function frame({ node = {}, ...changes } = {}) {
  return {
    program: 'node',
    version: '0.0.0',
    run: 'one',
    time_ms: 1_800_000_000_000,
    uptime_seconds: 10,
    runtimes: [
      { name: 'shards', workers: [worker('running', 'a shard'), worker('idle')], queued: 3, timers: 0, waiting: [0, 0, 4, 9], running: [] },
      { name: 'queries', workers: [worker('idle')], queued: 0, timers: 0, waiting: [], running: [] },
    ],
    entries: [],
    entries_total: 0,
    done: [],
    node: {
      transactions: 0, failed: 0, blocks: 0, pooled: 0, shards: 0, quarantined: 0, connections: 1, chain_id: 31_337, base_chain: null, ...node,
    },
    shards: { total: 0, whole: true, rows: [] },
    blocks: [],
    blocks_skipped: 0,
    timeline: null,
    ...changes,
  };
}

/** An address with this number at its end. */
export const addressOf = (number) => `0x${number.toString(16).padStart(40, '0')}`;

/** So many shards, of all states, with heights that run against the addresses. */
export function manyShards(total) {
  const states = ['idle', 'idle', 'queued', 'running', 'idle'];
  const rows = Array.from({ length: total }, (_, at) =>
    [addressOf(at), states[at % states.length], total - at, at % 7, 3 * at, null]);
  return { total, whole: true, rows };
}

export class FakeFeed {
  constructor(first) {
    Object.assign(this, { first, clients: new Map(), said: [] });
  }

  /** A page has connected. */
  take(client) {
    const state = { seq: 0, acknowledged: 0, waiting: [] };
    this.clients.set(client, state);
    client.on('close', () => this.clients.delete(client));
    client.on('message', (text) => {
      const message = JSON.parse(text);
      this.said.push(message);
      if ('ack' in message) state.acknowledged = message.ack;
      this.flush(client, state);
    });
    state.waiting.push(this.first);
    this.flush(client, state);
  }

  /** Sends a frame to all pages, to each when it has acknowledged the one before. */
  push(next) {
    for (const [client, state] of this.clients) {
      state.waiting.push(next);
      this.flush(client, state);
    }
  }

  /** Waits until all pages have painted all frames. */
  async painted() {
    const behind = () => [...this.clients.values()].some(({ seq, acknowledged, waiting }) => waiting.length > 0 || acknowledged < seq);
    await until('pages to paint', () => !behind(), 60);
  }

  flush(client, state) {
    if (state.acknowledged < state.seq || state.waiting.length === 0) return;
    state.seq += 1;
    client.send(JSON.stringify({ seq: state.seq, ...state.waiting.shift() }));
  }
}
