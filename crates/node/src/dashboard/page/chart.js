// How is a series of numbers drawn? As SVG, with its meaning in words for those who do not see it.

import { el, svg } from './dom.js';
import { count, nanoseconds, percent } from './format.js';

const WIDTH = 240;
const HEIGHT = 44;
/** A line over less would be all noise. */
const SECONDS_MIN = 10;

/** A line over at most `most` seconds; `update(points)` takes `[seconds ago, value]`, oldest first. */
export function sparkline(most, describe) {
  const area = svg('path.area');
  const line = svg('path.line');
  const label = svg('title');
  const element = svg('svg.spark', {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img',
  }, label, area, line);
  const update = (points) => {
    const seconds = Math.min(most, Math.max(SECONDS_MIN, points[0]?.[0] ?? 0));
    const top = Math.max(1, ...points.map(([, value]) => value));
    const place = ([ago, value]) =>
      `${(WIDTH * (1 - ago / seconds)).toFixed(1)},${(HEIGHT - 2 - (HEIGHT - 6) * value / top).toFixed(1)}`;
    const path = points.length > 1 ? `M${points.map(place).join('L')}` : '';
    line.setAttribute('d', path);
    const [left, right] = [points[0], points.at(-1)].map((point) => point && place(point).split(',')[0]);
    area.setAttribute('d', path && `${path}L${right},${HEIGHT}L${left},${HEIGHT}Z`);
    label.textContent = describe(top);
  };
  return { element, update };
}

/** Bars for buckets that double: bucket `i` has what took less than `2^i` ns. */
export function histogram() {
  const bars = svg('svg.bars', { role: 'img', 'aria-labelledby': 'waiting-summary' });
  const axis = el('div.axis', { 'aria-hidden': 'true' });
  const summary = el('p.muted.small', { id: 'waiting-summary' });
  const element = el('div.histogram', {}, bars, axis, summary);
  return { element, update: (buckets) => draw(bars, axis, summary, buckets) };
}

function draw(bars, axis, summary, buckets) {
  const total = buckets.reduce((sum, many) => sum + many, 0);
  summary.textContent = total === 0
    ? 'Nothing has waited.'
    : `Half waited less than ${limit(buckets, total, 0.5)}, 99 % less than ${limit(buckets, total, 0.99)}.`;
  axis.hidden = total === 0;
  const first = Math.max(0, buckets.findIndex((many) => many > 0));
  // Few bars would be wide as walls.
  const last = Math.max(buckets.findLastIndex((many) => many > 0), first + 11);
  const top = Math.max(1, ...buckets);
  const columns = last - first + 1;
  bars.setAttribute('viewBox', `0 0 ${columns * 10} 100`);
  bars.setAttribute('preserveAspectRatio', 'none');
  bars.replaceChildren(...Array.from({ length: columns }, (_, at) => {
    const many = buckets[first + at] ?? 0;
    // What is rare is still there.
    const height = many === 0 ? 0 : Math.max(1.5, 100 * many / top);
    const bar = svg('rect', { x: at * 10 + 1, y: 100 - height, width: 8, height, rx: 1 });
    const back = svg('rect.back', { x: at * 10, y: 0, width: 10, height: 100 });
    const text = `less than ${nanoseconds(2 ** (first + at))}: ${count(many)} (${percent(total ? many / total : 0)})`;
    return svg('g', {}, svg('title', {}, text), back, bar);
  }));
  const marks = [first, first + Math.floor(columns / 2), last];
  axis.replaceChildren(...marks.map((at) => el('span', {}, nanoseconds(2 ** at))));
}

/** Below which time this part of all lies. */
function limit(buckets, total, part) {
  let seen = 0;
  const at = buckets.findIndex((many) => { seen += many; return seen >= total * part; });
  return nanoseconds(2 ** Math.max(0, at));
}
