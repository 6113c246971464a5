// What has one shard done, and how is it?

import { el, facts, hash, panel } from './dom.js';
import { ago, compact, count, date, isAddress, number } from './format.js';
import { ask, askAll, at } from './rpc.js';
import { crumbs, pager } from './crumbs.js';
import { follow } from './follow.js';

const PAGE = 20;

/** The page of a shard: its facts, and its blocks. */
export function shard({ state }, address) {
  const home = `#/shard/${address}`;
  const head = el('div');
  const body = el('tbody');
  const turn = pager(() => go(-1), () => go(1));
  const names = ['Block', 'Hash', 'Transactions', 'Gas used', 'Time'];
  const table = el('table', {}, el('thead', {}, el('tr', {}, ...names.map((name, column) =>
    el([2, 3].includes(column) ? 'th.number' : 'th', { scope: 'col' }, name)))), body);
  const account = el('form.inline', { onsubmit: (event) => {
    event.preventDefault();
    const wanted = input.value.trim().toLowerCase();
    input.setCustomValidity(isAddress(wanted) ? '' : 'An address has 40 hexadecimal digits after 0x.');
    if (input.reportValidity()) location.hash = `${home}/address/${wanted}`;
  } });
  const input = el('input', {
    type: 'search', 'aria-label': 'Address of an account in this shard', placeholder: 'Account in this shard', maxlength: 42,
    spellcheck: 'false', autocomplete: 'off', oninput: () => input.setCustomValidity(''),
  });
  account.append(input, el('button', { type: 'submit' }, 'Look'));
  const problem = el('div');
  const element = el('div.page', {},
    crumbs(address),
    el('h1', {}, 'Shard ', el('span.break', {}, address)),
    panel('about', 'State', [account], head),
    panel('history', 'Blocks', [], problem, el('div.scroll', {}, table), turn.element));
  let page = 0;

  function go(step) {
    page = Math.max(0, page + step);
    following.again();
  }

  async function loadFacts() {
    const status = await ask(at(address), 'shard_status');
    const live = state.shards.get(address);
    const badge = el('span.badge', { 'data-state': status.state }, status.exists ? status.state : 'not there yet');
    const error = live?.error ?? status.quarantine?.reason ?? status.quarantine;
    head.replaceChildren(facts([
      ['State', badge],
      ['Height', count(number(status.height))],
      ['Transactions', count(number(status.included))],
      ['Pool', `${count(number(status.pool.pending))} ready, ${count(number(status.pool.queued))} waiting`],
      ['Chain id', `${number(status.chainId)}`],
      status.queuePosition != null && ['In the queue', count(number(status.queuePosition))],
      error && ['Last error', el('span.error.break', {}, typeof error === 'string' ? error : JSON.stringify(error))],
      ['JSON-RPC', el('code.break', {}, `${at(address)}`)],
    ]));
  }

  async function loadBlocks() {
    const height = number(await ask(at(address), 'eth_blockNumber'));
    const newest = height - page * PAGE;
    const numbers = Array.from({ length: Math.max(0, Math.min(PAGE, newest + 1)) }, (_, step) => newest - step);
    const blocks = await askAll(at(address), numbers.map((one) => ['eth_getBlockByNumber', `0x${one.toString(16)}`, false]));
    const now_ms = state.frame?.time_ms ?? Date.now();
    body.replaceChildren(...blocks.filter(Boolean).map((block) => blockRow(home, block, now_ms)));
    const oldest = Math.max(0, newest - PAGE + 1);
    turn.set(`${count(oldest)} to ${count(newest)} of ${count(height)}`, page > 0, oldest > 0);
  }

  const following = follow(state, address, problem, () => Promise.all([loadFacts(), loadBlocks()]));
  return { title: `Shard ${address}`, element, update: following.update };
}

function blockRow(home, block, now_ms) {
  const one = number(block.number);
  const time = number(block.timestamp) * 1000;
  return el('tr', {},
    el('th', { scope: 'row' }, el('a', { href: `${home}/block/${one}` }, count(one))),
    el('td', {}, hash(block.hash, `${home}/block/${one}`)),
    el('td.number', {}, count(block.transactions.length)),
    el('td.number', {}, compact(number(block.gasUsed))),
    el('td', {}, el('time', { title: date(time) }, time === 0 ? '–' : ago(time, now_ms))));
}
