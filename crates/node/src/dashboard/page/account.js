// What does one account own in a shard?

import { el, facts, panel } from './dom.js';
import { count, ether, number, plural, size } from './format.js';
import { askAll, at } from './rpc.js';
import { crumbs } from './crumbs.js';
import { follow } from './follow.js';

/** The page of an account; looked at again when the shard has done something. */
export function account({ state }, shard, address) {
  const [problem, body] = [el('div'), el('div')];
  const title = el('h1', {}, 'Account ', el('span.break', {}, address));
  const element = el('div.page', {}, crumbs(shard, 'Account'), title, problem, body);
  const { update } = follow(state, shard, problem, async () => {
    const [balance, nonce, code] = await askAll(at(shard),
      ['eth_getBalance', 'eth_getTransactionCount', 'eth_getCode'].map((method) => [method, address, 'latest']));
    body.replaceChildren(panel('about', size(code) ? 'Contract' : 'Account', [], facts([
      ['Balance', ether(balance)],
      ['Nonce', count(number(nonce))],
      ['Code', size(code)
        ? el('details', {}, el('summary', {}, plural(size(code), 'byte')), el('code.bytes', {}, code)) : 'none'],
    ])));
  });
  return { title: 'Account', element, update };
}
