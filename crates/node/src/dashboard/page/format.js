// How are numbers, times and amounts written?

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const tenth = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** 12,345 */
export const count = (number) => whole.format(number);

/** 12.3K */
export const compact = (number) => (number < 10_000 ? whole : short).format(number);

/** A rate: with a tenth where it is small. */
export const rate = (number) => (number < 100 ? tenth : whole).format(number);

/** 42 % */
export const percent = (part) => `${whole.format(part * 100)} %`;

/** A quantity of JSON-RPC as a number; null stays null. */
export const number = (hex) => (hex == null ? null : Number(hex));

/** `1 transaction`, `2 transactions`. */
export const plural = (many, what) => `${count(many)} ${what}${many === 1 ? '' : 's'}`;

/** Nanoseconds with a unit that leaves one to three digits. */
export function nanoseconds(time) {
  for (const [unit, size] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]]) {
    if (time >= size) return `${tenth.format(time / size)} ${unit}`;
  }
  return `${whole.format(time)} ns`;
}

/** How long, in its two largest units: `3 h 12 min`. */
export function duration(seconds) {
  const units = [['d', 86_400], ['h', 3_600], ['min', 60], ['s', 1]];
  const at = units.findIndex(([, size]) => seconds >= size);
  if (at < 0) return '0 s';
  const [unit, size] = units[at];
  const first = `${whole.format(Math.floor(seconds / size))} ${unit}`;
  const [smaller, part] = units[at + 1] ?? [];
  const rest = part ? Math.floor((seconds % size) / part) : 0;
  return rest > 0 ? `${first} ${rest} ${smaller}` : first;
}

/** How long ago, by the node's clock; a time that is ahead of it is shown as such. */
export function ago(then_ms, now_ms) {
  const seconds = (now_ms - then_ms) / 1000;
  if (Math.abs(seconds) < 1.5) return 'now';
  if (seconds < 0) return `in ${largest(-seconds)}`;
  return `${largest(seconds)} ago`;
}

function largest(seconds) {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h`;
  return `${whole.format(Math.floor(seconds / 86_400))} d`;
}

/** A time of day, for those who need to know exactly. */
export function date(ms) {
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) ? '' : time.toISOString().replace('T', ' ').replace('.000Z', ' UTC');
}

/** Wei as ether, exactly, without zeros at the end. */
export function ether(wei) {
  const amount = BigInt(wei);
  const rest = (amount % 10n ** 18n).toString().padStart(18, '0').replace(/0+$/, '');
  return `${(amount / 10n ** 18n).toLocaleString('en')}${rest ? `.${rest}` : ''} ETH`;
}

/** Wei as gwei, for prices. */
export const gwei = (wei) => `${(Number(wei) / 1e9).toLocaleString('en', { maximumFractionDigits: 4 })} gwei`;

/** Bytes of a hexadecimal text. */
export const size = (hex) => (hex == null ? 0 : Math.max(0, hex.length - 2) / 2);

/** The first and last of a long hash. */
export const brief = (hash) => (hash.length > 16 ? `${hash.slice(0, 8)}…${hash.slice(-6)}` : hash);

export const isAddress = (text) => /^0x[0-9a-f]{40}$/i.test(text);
export const isHash = (text) => /^0x[0-9a-f]{64}$/i.test(text);
