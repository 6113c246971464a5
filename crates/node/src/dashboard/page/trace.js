// Which calls were made inside a transaction?
//
// Each call is a `details` element, so that the tree opens with a click, with Enter and with Space,
// and says so to those who listen. What is inside is made when it is opened: a trace may have
// thousands of calls.

import { el, facts, hash } from './dom.js';
import { count, ether, number, plural, size } from './format.js';

/** Open at the beginning: the outermost ones, if they are few. */
const OPEN_DEPTH = 1;
/** Whoever opens everything opens at most so many. */
const OPEN_MAX = 500;

export function traceTree(call, home) {
  const tree = el('div.tree', {}, node(call, home, 0));
  const all = (open) => {
    // Opening one brings others, which are opened in their turn.
    let left = OPEN_MAX;
    for (let some = closed(tree, open); some.length && left > 0; some = open ? closed(tree, open) : []) {
      for (const one of some.slice(0, left)) toggle(one, open);
      left -= some.length;
    }
  };
  const total = sizeOf(call);
  return el('div', {},
    el('div.tools', {},
      el('span.muted.small', {}, `${plural(total, 'call')}`),
      el('button.quiet', { type: 'button', onclick: () => all(true) }, 'Open all'),
      el('button.quiet', { type: 'button', onclick: () => all(false) }, 'Close all')),
    el('div.scroll', { tabindex: 0, role: 'group', 'aria-label': 'Call trace' }, tree));
}

const closed = (tree, open) => [...tree.querySelectorAll('details.call')].filter((one) => one.open !== open);

function toggle(details, open) {
  details.open = open;
  // The browser tells of it later; who opens many wants the next ones now.
  details.dispatchEvent(new Event('fill'));
}

/** How many calls there are in all. Not recursive: a thousand can be nested. */
function sizeOf(call) {
  let many = 0;
  for (const todo = [call]; todo.length; many += 1) todo.push(...todo.pop().calls ?? []);
  return many;
}

function node(call, home, depth) {
  const failed = Boolean(call.error);
  const inside = el('div.inside');
  const details = el('details.call', { open: depth < OPEN_DEPTH },
    el('summary', {},
      el('span.kind', { 'data-state': failed ? 'failed' : 'fine' }, call.type),
      el('span.target', {}, call.to ?? 'new contract'),
      size(call.input) >= 4 && !call.type.startsWith('CREATE') && el('code', {}, call.input.slice(0, 10)),
      call.value && BigInt(call.value) > 0n && el('span', {}, ether(call.value)),
      el('span.muted', {}, `${count(number(call.gasUsed))} gas`),
      call.calls?.length > 0 && el('span.muted', {}, plural(call.calls.length, 'call')),
      failed && el('span.error', {}, call.error)),
    inside);
  const fill = () => {
    if (details.open && !inside.firstChild) inside.append(...content(call, home, depth));
  };
  details.addEventListener('toggle', fill);
  details.addEventListener('fill', fill);
  fill();
  return details;
}

function content(call, home, depth) {
  const party = (address) => hash(address, `${home}/address/${address}`);
  const reason = call.revertReason ?? reasonIn(call.output);
  return [
    facts([
      ['From', party(call.from)],
      call.to && ['To', party(call.to)],
      ['Gas', `${count(number(call.gasUsed))} of ${count(number(call.gas))}`],
      reason && ['Reason', el('span.error.break', {}, reason)],
      size(call.input) > 0 && ['Input', bytes(call.input)],
      size(call.output) > 0 && ['Output', bytes(call.output)],
      call.logs?.length > 0 && ['Logs', plural(call.logs.length, 'log')],
    ]),
    ...(call.calls ?? []).map((inner) => node(inner, home, depth + 1)),
  ];
}

function bytes(hex) {
  if (size(hex) <= 36) return el('code.break', {}, hex);
  return el('details', {}, el('summary', {}, plural(size(hex), 'byte')), el('code.bytes', {}, hex));
}

/** What Solidity's `revert("…")` and `assert` leave behind. */
function reasonIn(output) {
  if (output?.startsWith('0x4e487b71')) return `panic ${Number(`0x${output.slice(10, 74)}`)}`;
  if (!output?.startsWith('0x08c379a0')) return null;
  const length = Number(`0x${output.slice(74, 138)}`);
  const text = output.slice(138, 138 + 2 * Math.min(length, 4_096)).match(/../g) ?? [];
  return new TextDecoder().decode(Uint8Array.from(text, (pair) => parseInt(pair, 16)));
}
