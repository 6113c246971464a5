// What does one account own in a shard?

import { el, facts, panel } from './dom.js';
import { count, ether, number, plural, size } from './format.js';
import { askAll, at } from './rpc.js';
import { crumbs, trouble } from './crumbs.js';

/** The page of an account; looked at again when the shard has done something. */
export function account({ state }, shard, address) {
  const body = el('div');
  const element = el('div.page', {}, crumbs(shard, 'Account'), el('h1', {}, 'Account ', el('span.break', {}, address)), body);
  let [busy, seen] = [false, null];

  async function load() {
    if (busy) return;
    busy = true;
    try {
      const [balance, nonce, code] = await askAll(at(shard),
        ['eth_getBalance', 'eth_getTransactionCount', 'eth_getCode'].map((method) => [method, address, 'latest']));
      body.replaceChildren(panel('about', size(code) ? 'Contract' : 'Account', [], facts([
        ['Balance', ether(balance)],
        ['Nonce', count(number(nonce))],
        ['Code', size(code)
          ? el('details', {}, el('summary', {}, plural(size(code), 'byte')), el('code.bytes', {}, code)) : 'none'],
      ])));
    } catch (error) {
      body.replaceChildren(trouble(error));
    }
    busy = false;
  }

  load();
  return {
    title: 'Account',
    element,
    update: () => {
      const now = JSON.stringify(state.shards.get(shard) ?? null);
      if (now !== seen && seen !== null) load();
      seen = now;
    },
  };
}
