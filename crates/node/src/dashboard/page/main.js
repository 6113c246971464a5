// Which page is shown, and who tells it what is new?

import { el, say } from './dom.js';
import { Feed } from './feed.js';
import { State } from './state.js';
import { overview } from './overview.js';
import { search, submit } from './search.js';
import { shard } from './shard.js';
import { block } from './block.js';
import { transaction } from './transaction.js';
import { account } from './account.js';

/** The pages by their place; `0x…` are handed on to the page. */
const PAGES = [
  [/^#\/shard\/([^/]+)\/block\/([^/]+)$/, block],
  [/^#\/shard\/([^/]+)\/tx\/([^/]+)$/, transaction],
  [/^#\/shard\/([^/]+)\/address\/([^/]+)$/, account],
  [/^#\/shard\/([^/]+)$/, shard],
  [/^#\/search\/([^/]+)$/, search],
  [/^#?\/?$/, overview],
];
const main = document.getElementById('main');
const status = document.getElementById('status');
const state = new State();
let page = null;
let painted = null;

const feed = new Feed({
  onFrame: (frame) => state.take(frame),
  onPaint: paint,
  onStatus: (name, why) => {
    status.dataset.state = name;
    say(status, why ? `${name}: ${why}` : name);
    document.body.classList.toggle('stale', name !== 'live');
  },
});

function paint() {
  const { frame } = state;
  if (!frame || frame === painted) return;
  painted = frame;
  say(document.getElementById('node'), `${frame.program} ${frame.version}`);
  page?.update?.(frame);
}

function show() {
  page?.leave?.();
  page = find(location.hash);
  document.title = page.title ? `${page.title} · Shiftwork` : 'Shiftwork';
  main.replaceChildren(page.element);
  painted = null;
  paint();
}

function find(place) {
  for (const [pattern, make] of PAGES) {
    const found = place.match(pattern);
    if (found) return make({ state, feed }, ...found.slice(1).map(decode));
  }
  return lost();
}

function decode(text) {
  let plain = text;
  try {
    plain = decodeURIComponent(text);
  } catch { /* It is taken as it is. */ }
  // Addresses and hashes are known by their small letters, however they were copied.
  return /^0x[0-9a-f]+$/i.test(plain) ? plain.toLowerCase() : plain;
}

function lost() {
  return {
    title: 'Not found',
    element: el('section.panel', {},
      el('h1', {}, 'There is no such page'),
      el('p', {}, el('a', { href: '#/' }, 'To the overview'))),
  };
}

/** Whether keys that are pressed there have a meaning of their own. */
const typesInto = (element) => Boolean(element?.closest?.('input, select, textarea'));

addEventListener('hashchange', () => {
  show();
  // As after the load of a page: from the top, with the keyboard too, unless somebody types by now.
  if (!typesInto(document.activeElement)) main.focus({ preventScroll: true });
  scrollTo(0, 0);
});
addEventListener('keydown', (event) => {
  if (event.key !== '/' || typesInto(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  document.getElementById('query').focus();
});
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
document.getElementById('search').addEventListener('submit', (event) => {
  event.preventDefault();
  submit(document.getElementById('query'), state);
});
show();
