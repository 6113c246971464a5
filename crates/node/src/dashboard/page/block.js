// What is in one block?

import { el, facts, hash, panel } from './dom.js';
import { ago, count, date, ether, gwei, isHash, number, percent } from './format.js';
import { ask, at } from './rpc.js';
import { crumbs, pager } from './crumbs.js';
import { follow } from './follow.js';

const PAGE = 50;

/** The page of a block, by its number or hash. */
export function block({ state }, shard, name) {
  const home = `#/shard/${shard}`;
  const [problem, body] = [el('div'), el('div')];
  const element = el('div.page', {}, crumbs(shard, `Block ${name}`), el('h1', {}, `Block ${name}`), problem, body);
  let settled = false;
  const { update } = follow(state, shard, problem, async () => {
    if (settled) return;
    const found = await find(shard, name);
    settled = Boolean(found);
    body.replaceChildren(...(found ? show(home, found, state) : [missing(name)]));
  });
  return { title: `Block ${name}`, element, update };
}

function find(shard, name) {
  if (isHash(name)) return ask(at(shard), 'eth_getBlockByHash', name, true);
  if (!/^\d{1,15}$/.test(name)) return Promise.resolve(null);
  return ask(at(shard), 'eth_getBlockByNumber', `0x${Number(name).toString(16)}`, true);
}

const missing = (name) => el('p.panel', {}, `This shard has no block ${name}.`);

function show(home, found, state) {
  const time = number(found.timestamp) * 1000;
  const one = number(found.number);
  const [used, most] = [number(found.gasUsed), number(found.gasLimit)];
  const near = (other, text) => el('a', { href: `${home}/block/${other}` }, text);
  return [
    panel('about', 'Header', [], facts([
      ['Number', `${count(one)} `, one > 0 && near(one - 1, '← before'), ' ', near(one + 1, 'after →')],
      ['Hash', hash(found.hash)],
      ['Parent', one > 0 ? hash(found.parentHash, `${home}/block/${one - 1}`) : 'none'],
      ['Time', time === 0 ? '–' : `${date(time)} (${ago(time, state.frame?.time_ms ?? Date.now())})`],
      ['Gas used', `${count(used)} of ${count(most)} (${percent(most ? used / most : 0)})`],
      ['Base fee', gwei(found.baseFeePerGas ?? 0)],
      ['State root', hash(found.stateRoot)],
    ])),
    transactions(home, found.transactions),
  ];
}

/** In pages: a block may have thousands. */
function transactions(home, all) {
  let page = 0;
  const body = el('tbody');
  const turn = pager(() => go(-1), () => go(1));
  const names = ['#', 'Hash', 'From', 'To', 'Value'];
  const table = el('table', {}, el('thead', {}, el('tr', {}, ...names.map((name) => el('th', { scope: 'col' }, name)))), body);
  function go(step) {
    page += step;
    const from = page * PAGE;
    const some = all.slice(from, from + PAGE);
    body.replaceChildren(...some.map((one) => row(home, one)));
    turn.set(`${count(from + 1)} to ${count(from + some.length)} of ${count(all.length)}`, page > 0, from + PAGE < all.length);
  }
  if (all.length === 0) return panel('history', 'Transactions', [], el('p.muted.empty', {}, 'None.'));
  go(0);
  return panel('history', 'Transactions', [], el('div.scroll', {}, table), ...(all.length > PAGE ? [turn.element] : []));
}

function row(home, one) {
  return el('tr', {},
    el('td.number', {}, count(number(one.transactionIndex))),
    el('th', { scope: 'row' }, hash(one.hash, `${home}/tx/${one.hash}`)),
    el('td', {}, hash(one.from, `${home}/address/${one.from}`)),
    el('td', {}, one.to ? hash(one.to, `${home}/address/${one.to}`) : el('span.muted', {}, 'new contract')),
    el('td.number', {}, ether(one.value)));
}
