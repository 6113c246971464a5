// When is what a page shows to be asked for again?

import { trouble } from './crumbs.js';

/**
 * Calls `load` now, again when the shard has changed, and when the node has come back. One call at a
 * time: what changes meanwhile is one call more. Why it failed is shown in `problem`.
 */
export function follow(state, shard, problem, load) {
  let [seen, busy, stale] = [null, false, false];

  async function again() {
    stale = true;
    if (busy) return;
    busy = true;
    while (stale) {
      stale = false;
      try {
        await load();
        problem.replaceChildren();
      } catch (error) {
        problem.replaceChildren(trouble(error));
      }
    }
    busy = false;
  }

  const update = () => {
    const now = `${JSON.stringify(state.shards.get(shard))} ${state.connections}`;
    if (seen !== null && now !== seen) again();
    seen = now;
  };
  again();
  return { again, update };
}
