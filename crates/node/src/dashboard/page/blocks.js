// Which blocks were made last, and with what in them?

import { el, hash, panel, say } from './dom.js';
import { ago, compact, count, date, plural } from './format.js';

/** So many are listed. */
const SHOWN = 30;

/** The newest blocks of all shards. The list stands still while somebody points at it. */
export function blocks(state) {
  const list = el('ol.blocks');
  const note = el('span.muted.small');
  const empty = el('p.muted.empty', {}, 'No block yet. A transaction makes one.');
  const element = panel('latest', 'Latest blocks', [note], empty, list);
  let rows = new Map();
  function update({ time_ms, blocks_skipped }) {
    for (const { time, block } of rows.values()) say(time, ago(block.time * 1000, time_ms));
    if (list.matches(':hover, :focus-within')) {
      say(note, 'held while you are here');
      return;
    }
    say(note, blocks_skipped ? `${plural(blocks_skipped, 'more block')} just now` : '');
    const newest = state.blocks.slice(0, SHOWN);
    empty.hidden = newest.length > 0;
    const old = rows;
    rows = new Map(newest.map((block) => [block.hash, old.get(block.hash) ?? row(block, time_ms)]));
    for (const [name, { element }] of old) if (!rows.has(name)) element.remove();
    let next = list.firstChild;
    for (const { element } of rows.values()) {
      if (element === next) next = next.nextSibling;
      else list.insertBefore(element, next);
    }
  }
  return { element, update };
}

function row(block, now_ms) {
  const home = `#/shard/${block.shard}`;
  const time = el('time', { title: date(block.time * 1000) }, ago(block.time * 1000, now_ms));
  const more = block.count - block.transactions.length;
  const element = el('li', {},
    el('div.line', {},
      el('a.number', { href: `${home}/block/${block.number}` }, `#${count(block.number)}`),
      hash(block.shard, home), time),
    el('div.line.small.muted', {}, `${plural(block.count, 'transaction')}, ${compact(block.gas_used)} gas`),
    el('ul.transactions', {}, ...block.transactions.map((name) =>
      el('li', {}, hash(name, `${home}/tx/${name}`), el('span.badge', { 'data-state': 'good' }, 'committed'))),
    more > 0 && el('li.small', {}, el('a', { href: `${home}/block/${block.number}` }, `and ${count(more)} more`))));
  return { element, time, block };
}
