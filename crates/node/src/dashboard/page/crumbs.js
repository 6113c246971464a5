// Where is one, and how does one get back?

import { el, hash } from './dom.js';

/** A path of links above a page: the overview, the shard, and what is below it. */
export function crumbs(shard, ...rest) {
  const items = [el('a', { href: '#/' }, 'Overview'), hash(shard, `#/shard/${shard}`), ...rest];
  return el('nav.crumbs', { 'aria-label': 'Place' }, el('ol', {}, ...items.map((item) => el('li', {}, item))));
}

/** What is shown where an answer was an error. */
export const trouble = (error) => el('p.error', { role: 'alert' }, error.message);

/** A list that is looked at in pages: `Newer`, `Older` and what is between. */
export function pager(newer, older) {
  const [back, on] = [['← Newer', newer], ['Older →', older]].map(([text, onclick]) => el('button', { type: 'button', onclick }, text));
  const place = el('span.muted.small', { role: 'status' });
  const set = (text, hasNewer, hasOlder) => {
    place.textContent = text;
    [back.disabled, on.disabled] = [!hasNewer, !hasOlder];
  };
  return { element: el('div.pager', {}, back, place, on), set };
}
