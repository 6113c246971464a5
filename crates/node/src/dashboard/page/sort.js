// In which order are shards listed, and which of them?

/** By what hurts most. */
const STATES = { quarantined: 0, running: 1, queued: 2, idle: 3 };

const BY = {
  address: (a, b) => compare(a.address, b.address),
  state: (a, b) => (STATES[a.state] ?? 4) - (STATES[b.state] ?? 4),
  height: (a, b) => a.height - b.height,
  pooled: (a, b) => a.pooled - b.pooled,
  transactions: (a, b) => a.transactions - b.transactions,
  error: (a, b) => compare(a.error ?? '', b.error ?? ''),
};

/** The shards that have the text and the state, in the order of a column; equals by address. */
export function sorted(shards, { column, down, text, state }) {
  const wanted = text.trim().toLowerCase();
  const has = (shard) => (!state || shard.state === state)
    && (!wanted || shard.address.toLowerCase().includes(wanted) || shard.error?.toLowerCase().includes(wanted));
  const by = BY[column];
  const sign = down ? -1 : 1;
  return [...shards].filter(has).sort((a, b) => sign * by(a, b) || compare(a.address, b.address));
}

const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
