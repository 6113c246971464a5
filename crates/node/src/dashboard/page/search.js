// Where is what has this address or this hash?
//
// A node has no index over all shards. What the feed has told is looked at first; then shards are
// asked one by one, those that did something lately first, and the page says how many.

import { el, hash, panel, say } from './dom.js';
import { count, isAddress, isHash, plural } from './format.js';
import { batch, root } from './rpc.js';

/** So many shards are asked before somebody has to say that it should go on. */
const SHARDS_MAX = 500;
/** Questions to one shard; they share a batch. */
const STEP = 25;

/** What somebody typed, sent where it belongs. */
export function submit(input, state) {
  const text = input.value.trim();
  const here = location.hash.match(/^#\/shard\/([^/]+)/)?.[1];
  const problem = text === '' || isAddress(text) || isHash(text) || (here && /^\d+$/.test(text))
    ? '' : `An address has 40 hexadecimal digits after 0x, a hash 64${here ? ', a block number only digits' : ''}.`;
  input.setCustomValidity(problem);
  input.addEventListener('input', () => input.setCustomValidity(''), { once: true });
  if (!input.reportValidity() || text === '') return;
  const place = placeOf(text.toLowerCase(), here, state);
  input.value = '';
  input.blur();
  location.hash = place;
}

function placeOf(text, here, state) {
  if (here && /^\d+$/.test(text)) return `#/shard/${here}/block/${text}`;
  if (here && isAddress(text)) return `#/shard/${here}/address/${text}`;
  if (isAddress(text)) return state.shards.has(text) ? `#/shard/${text}` : `#/search/${text}`;
  return known(state, text) ?? `#/search/${text}${here ? `@${here}` : ''}`;
}

/** The place of what a recent block has told. */
function known(state, text) {
  for (const { shard, number, hash, transactions } of state.blocks) {
    if (hash === text) return `#/shard/${shard}/block/${number}`;
    if (transactions.includes(text)) return `#/shard/${shard}/tx/${text}`;
  }
  return null;
}

/** The page of a search: `what`, or `what@shard`, which asks that shard first, and the others if one wants it. */
export function search({ state }, query) {
  const [what, first] = query.split('@');
  const progress = el('p.muted', { role: 'status' }, 'Asking …');
  const results = el('ul.results');
  const more = el('button', { type: 'button', hidden: true, onclick: () => go() }, 'Ask more shards');
  const element = panel('searched', 'Search', [], el('p.break', {}, el('code', {}, what)), progress, results, more);
  const ask = isAddress(what) ? accountsIn : hashIn;
  let [shards, asked, found, left] = [null, 0, 0, false];

  const add = (text, address, href) => {
    found += 1;
    results.append(el('li', {}, el('a', { href }, text), ' in shard ', hash(address, `#/shard/${address}`)));
  };

  async function go(most = SHARDS_MAX) {
    more.hidden = true;
    const end = Math.min(shards.length, asked + most);
    try {
      while (asked < end && !left && !(found && isHash(what))) {
        const some = shards.slice(asked, Math.min(end, asked + STEP));
        for (const [text, address, href] of await ask(what, some)) add(text, address, href);
        asked += some.length;
        say(progress, `${count(found)} found in ${count(asked)} of ${plural(shards.length, 'shard')} …`);
      }
    } catch (error) {
      say(progress, error.message);
      more.hidden = false;
      return;
    }
    const rest = shards.length - asked;
    more.hidden = rest === 0 || (found > 0 && isHash(what));
    const where = `asked ${count(asked)} of ${plural(shards.length, 'shard')}${rest && asked > 1 ? ', those that did something lately first' : ''}`;
    say(progress, found ? `${plural(found, 'result')}; ${where}.` : `Nothing found; ${where}.`);
  }

  function start() {
    if (shards || !state.frame) return;
    shards = busiest(state);
    if (first) shards = [first, ...shards.filter((shard) => shard !== first)];
    if (isAddress(what)) {
      const is = state.shards.has(what) ? 'The shard of this name' : 'A shard of this name, which is not there yet';
      results.append(el('li', {}, el('a', { href: `#/shard/${what}` }, is)));
    } else if (!isHash(what)) {
      say(progress, 'This is neither an address (40 hexadecimal digits after 0x) nor a hash (64).');
      return;
    }
    go(first ? 1 : SHARDS_MAX);
  }

  return { title: 'Search', element, update: start, leave: () => { left = true; } };
}

/** Those with recent blocks first, then those with most transactions. */
function busiest(state) {
  const recent = new Set(state.blocks.map((block) => block.shard));
  const rest = [...state.shards.values()].filter(({ address }) => !recent.has(address));
  rest.sort((a, b) => b.transactions - a.transactions);
  return [...recent, ...rest.map(({ address }) => address)];
}

/** In which of these shards the hash is one of a transaction or a block. */
async function hashIn(what, shards) {
  const methods = ['shard_getTransactionByHash', 'shard_getBlockByHash'];
  const answers = await batch(root(), shards.flatMap((shard) => methods.map((method) => [method, shard, what])));
  return shards.flatMap((shard, at) => {
    const [transaction, block] = answers.slice(2 * at, 2 * at + 2).map((answer) => answer.result);
    return [
      transaction && ['A transaction', shard, `#/shard/${shard}/tx/${what}`],
      block && ['A block', shard, `#/shard/${shard}/block/${Number(block.number)}`],
    ].filter(Boolean);
  });
}

/** In which of these shards the account has sent something or has code. */
async function accountsIn(what, shards) {
  const methods = ['shard_getTransactionCount', 'shard_getCode'];
  const answers = await batch(root(), shards.flatMap((shard) => methods.map((method) => [method, shard, what, 'latest'])));
  return shards.flatMap((shard, at) => {
    const [nonce, code] = answers.slice(2 * at, 2 * at + 2).map((answer) => answer.result);
    const href = `#/shard/${shard}/address/${what}`;
    if (code && code !== '0x') return [['A contract', shard, href]];
    return Number(nonce) > 0 ? [[`An account with ${plural(Number(nonce), 'transaction')}`, shard, href]] : [];
  });
}
