// Which shards are there, and how is each of them?
//
// Ten thousand rows are not ten thousand elements: only those in view are there, and the one that
// has the focus.

import { el, hash, panel, say } from './dom.js';
import { count, plural } from './format.js';
import { sorted } from './sort.js';

const COLUMNS = [
  ['address', 'Shard'], ['state', 'State'], ['height', 'Height'], ['pooled', 'Pool'],
  ['transactions', 'Transactions'], ['error', 'Last error'],
];
const STATES = ['idle', 'queued', 'running', 'quarantined'];
/** Rows beyond the edge, so that scrolling shows no holes. */
const MARGIN = 8;
/** Values change all the time; the order only so often, or nobody could click. */
const ORDER_MS = 1_000;
const narrow = matchMedia('(max-width: 720px)');
/** What was chosen stays chosen when one comes back from a shard's page. */
const chosen = { column: 'address', down: false, text: '', state: '', scroll: 0, active: null };

export function shards(state) {
  const filter = el('input', {
    type: 'search', 'aria-label': 'Filter shards by address or error', placeholder: 'Filter', maxlength: 80, value: chosen.text,
    oninput: () => { chosen.text = filter.value; first(); },
  });
  const which = el('select', { 'aria-label': 'State', onchange: () => { chosen.state = which.value; first(); } },
    el('option', { value: '' }, 'any state'), ...STATES.map((name) => el('option', { value: name }, name)));
  which.value = chosen.state;
  const found = el('span.muted.small', { role: 'status' });
  const heads = COLUMNS.map(([column, title]) => {
    const button = el('button', { type: 'button', onclick: () => sortBy(column) }, title);
    return { column, button, element: el(`div.cell.${column}`, { role: 'columnheader' }, button) };
  });
  const space = el('div.space', { role: 'presentation' });
  const view = el('div.view', { role: 'rowgroup', tabindex: -1, onscroll: () => { chosen.scroll = view.scrollTop; draw(); } }, space);
  const grid = el('div.grid', { role: 'grid', 'aria-label': 'Shards', 'aria-readonly': 'true', onkeydown: move },
    el('div', { role: 'rowgroup' }, el('div.row.heads', { role: 'row', 'aria-rowindex': 1 }, ...heads.map(({ element }) => element))),
    view);
  const none = el('p.muted.empty', { hidden: true });
  let [list, places, ordered, rows, painted] = [[], new Map(), 0, new Map(), null];

  function sortBy(column) {
    chosen.down = chosen.column === column ? !chosen.down : !['address', 'state'].includes(column);
    chosen.column = column;
    first();
  }

  /** After a choice: from the top. */
  function first() {
    order();
    view.scrollTop = 0;
    draw();
  }

  function order() {
    ordered = performance.now();
    list = sorted(state.shards.values(), chosen);
    places = new Map(list.map((shard, at) => [shard.address, at]));
    for (const { column, element } of heads) {
      const is = column === chosen.column;
      element.setAttribute('aria-sort', !is ? 'none' : chosen.down ? 'descending' : 'ascending');
    }
    grid.setAttribute('aria-rowcount', list.length + 1);
    const total = state.shardsTotal ?? 0;
    say(found, list.length === total ? plural(total, 'shard') : `${count(list.length)} of ${count(total)}`);
    none.hidden = list.length > 0;
    say(none, total === 0 ? 'No shard yet. The first transaction to an address makes one.' : 'No shard is like that.');
  }

  const rowHeight = () => (narrow.matches ? 58 : 34);

  /** Puts the rows that are in view where they belong, and takes the others away. */
  function draw() {
    const height = rowHeight();
    space.style.height = `${list.length * height}px`;
    const from = Math.max(0, Math.floor(view.scrollTop / height) - MARGIN);
    const to = Math.min(list.length, Math.ceil((view.scrollTop + view.clientHeight) / height) + MARGIN);
    const wanted = new Set();
    for (let at = from; at < to; at += 1) wanted.add(list[at].address);
    const focused = document.activeElement?.closest?.('.row')?.dataset.address;
    if (focused && places.has(focused)) wanted.add(focused);
    for (const [address, row] of rows) {
      if (wanted.has(address)) continue;
      row.element.remove();
      rows.delete(address);
    }
    if (!places.has(chosen.active)) chosen.active = list[0]?.address ?? null;
    for (const address of wanted) {
      if (!rows.has(address)) {
        const row = makeRow(address);
        rows.set(address, row);
        space.append(row.element);
      }
      const at = places.get(address);
      rows.get(address).set(state.shards.get(address) ?? list[at], at, height);
      rows.get(address).link.tabIndex = address === chosen.active ? 0 : -1;
    }
    inOrder();
    // The one that Tab comes to must be there, wherever one has scrolled to.
    if (!rows.has(chosen.active) && list[from + MARGIN]) {
      chosen.active = list[Math.min(from + MARGIN, to - 1)].address;
      rows.get(chosen.active).link.tabIndex = 0;
    }
  }

  /** What is read aloud follows the elements, not the places where they are painted. */
  function inOrder() {
    const focused = document.activeElement;
    let next = space.firstChild;
    const byPlace = [...rows].sort(([a], [b]) => places.get(a) - places.get(b));
    for (const [, { element }] of byPlace) {
      if (element === next) next = next.nextSibling;
      else space.insertBefore(element, next);
    }
    if (focused !== document.activeElement && space.contains(focused)) focused.focus({ preventScroll: true });
  }

  /** Arrows and the like go from row to row; Enter is the link's own. */
  function move(event) {
    const here = places.get(event.target.closest('.row')?.dataset.address);
    if (here === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(view.clientHeight / rowHeight()) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (!(event.key in steps)) return;
    event.preventDefault();
    focus(Math.min(list.length - 1, Math.max(0, here + steps[event.key])));
  }

  function focus(at) {
    const [height, top] = [rowHeight(), at * rowHeight()];
    if (top < view.scrollTop) view.scrollTop = top;
    if (top + height > view.scrollTop + view.clientHeight) view.scrollTop = top + height - view.clientHeight;
    chosen.active = list[at].address;
    draw();
    rows.get(chosen.active).link.focus({ preventScroll: true });
  }

  const resized = new ResizeObserver(() => draw());
  resized.observe(view);
  return {
    element: panel('shards', 'Shards', [filter, which, found], grid, none),
    update: () => {
      const due = performance.now() - ordered > ORDER_MS;
      const grew = places.size === 0 || state.changed.some(([address]) => !places.has(address));
      if (!due && !grew && painted) return draw();
      order();
      draw();
      // Coming back from a shard's page one finds the place again.
      if (!painted) view.scrollTop = chosen.scroll;
      painted = true;
    },
    leave: () => resized.disconnect(),
  };
}

function makeRow(address) {
  const link = hash(address, `#/shard/${address}`);
  const badge = el('span.badge');
  const cells = Object.fromEntries(COLUMNS.map(([column]) => [column, el(`div.cell.${column}`, { role: 'gridcell' })]));
  cells.address.append(link);
  cells.state.append(badge);
  const element = el('div.row', { role: 'row', 'data-address': address }, ...Object.values(cells));
  const set = (shard, at, height) => {
    element.style.transform = `translateY(${at * height}px)`;
    element.setAttribute('aria-rowindex', at + 2);
    badge.dataset.state = shard.state;
    say(badge, shard.state);
    for (const column of ['height', 'pooled', 'transactions']) say(cells[column], count(shard[column]));
    say(cells.error, shard.error ?? '');
    cells.error.title = shard.error ?? '';
  };
  return { element, link, set };
}
