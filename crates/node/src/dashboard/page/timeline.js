// Who ran on which worker in the last seconds?
//
// Slices arrive only while the picture is seen: the node records for those who look.

import { el, panel, say } from './dom.js';
import { count, nanoseconds } from './format.js';

const GAP = 6;
const AXIS = 20;
const LABEL = 84;
/** Few workers get tall rows, many get low ones. */
const rowHeight = (workers) => Math.min(32, Math.max(14, Math.floor(240 / Math.max(1, workers))));
/** What can be seen at once, in seconds. */
const SPANS = [0.05, 0.2, 1, 5, 20];
/** Of one worker are kept at most so many. */
const SLICES_MAX = 20_000;
const COLOURS = 10;

export function timeline(state, feed) {
  const tracks = new Map();
  const canvas = el('canvas', { role: 'img', tabindex: 0, 'aria-describedby': 'timeline-summary' });
  const tip = el('div.tip', { hidden: true });
  const summary = el('p.muted.small', { id: 'timeline-summary' }, 'Waiting for the first slices.');
  const span = el('span.small.muted');
  const hold = el('button.quiet', { type: 'button', onclick: () => { held = !held; want(); label(); draw(); } });
  const zoom = (step) => { at = Math.min(SPANS.length - 1, Math.max(0, at + step)); label(); draw(); };
  const out = el('button.quiet', { type: 'button', 'aria-label': 'Show more time', onclick: () => zoom(1) }, '−');
  const into = el('button.quiet', { type: 'button', 'aria-label': 'Show less time', onclick: () => zoom(-1) }, '+');
  let [at, held, end, newest, dropped, restarts, colours] = [3, false, 0, 0, 0, 0, null];

  // Several may have come together: the last one is how it is now.
  const visible = new IntersectionObserver((entries) => { seen = entries.at(-1).isIntersecting; want(); });
  let seen = false;
  const want = () => feed.timeline(seen && !held && !document.hidden);
  const again = () => { colours = null; draw(); };
  visible.observe(canvas);
  document.addEventListener('visibilitychange', want);
  addEventListener('themechange', again);
  const resized = new ResizeObserver(() => draw());
  resized.observe(canvas);

  function label() {
    say(hold, held ? 'Go on' : 'Hold');
    hold.setAttribute('aria-pressed', held);
    say(span, nanoseconds(SPANS[at] * 1e9));
    out.disabled = at === SPANS.length - 1;
    into.disabled = at === 0;
  }

  function take({ from_us, to_us, workers, dropped: lost }) {
    // A recorder that begins anew begins its time anew.
    if (to_us < newest) tracks.clear();
    newest = to_us;
    dropped += lost;
    // Nobody can go back further.
    const oldest = newest - SPANS.at(-1) * 1e6;
    for (const { name, busy_us, slices: fresh } of workers) {
      if (!tracks.has(name)) tracks.set(name, { slices: [], windows: [] });
      const { slices, windows } = tracks.get(name);
      for (const slice of fresh) slices.push(slice);
      windows.push([from_us, to_us - from_us, busy_us]);
      for (const list of [slices, windows]) forget(list, oldest);
      const many = slices.splice(0, Math.max(0, slices.length - SLICES_MAX));
      dropped += many.length;
    }
  }

  function update({ timeline: news }) {
    if (state.restarts !== restarts) {
      restarts = state.restarts;
      tracks.clear();
      [newest, end, dropped] = [0, 0, 0];
      draw();
    }
    // Whoever holds the picture looks at what was then.
    if (!news || held) return;
    take(news);
    end = newest;
    draw();
  }

  function draw() {
    const width = canvas.clientWidth;
    if (!width) return;
    const tall = rowHeight(tracks.size);
    const height = Math.max(3, tracks.size) * (tall + GAP) + AXIS;
    const scale = devicePixelRatio;
    canvas.style.height = `${height}px`;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    }
    colours ??= palette(canvas);
    const context = canvas.getContext('2d');
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const window_us = SPANS[at] * 1e6;
    const view = { context, colours, start: end - window_us, perPixel: window_us / (width - LABEL), width, tall };
    axis(view, height);
    let row = 0;
    for (const [name, { slices }] of tracks) drawLane(view, name, slices, row++);
    describe(view);
  }

  function describe({ start }) {
    // Of the time that the node has told of: there are turns that are too short to be sent.
    const busy = [...tracks].map(([name, { windows }]) => {
      let [known, used] = [0, 0];
      for (const [from, length, busy_us] of windows) {
        const shown = overlap(from, length, start, end);
        known += shown;
        used += busy_us * shown / Math.max(1, length);
      }
      return `${name} ${known ? Math.min(100, Math.round(100 * used / known)) : 0} %`;
    });
    const left = dropped ? ` ${count(dropped)} slices were left out.` : '';
    say(summary, busy.length ? `Busy: ${busy.join(', ')}.${left}` : 'Waiting for the first slices.');
    canvas.setAttribute('aria-label', `Timeline of ${tracks.size} workers over ${nanoseconds(SPANS[at] * 1e9)}`);
  }

  function point(event) {
    const { left, top, width } = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const [name, track] = [...tracks][Math.floor(y / (rowHeight(tracks.size) + GAP))] ?? [];
    const perPixel = SPANS[at] * 1e6 / (width - LABEL);
    const time = end - SPANS[at] * 1e6 + (x - LABEL) * perPixel;
    // What is thinner than the pointer can still be pointed at.
    const found = x >= LABEL && track?.slices.findLast(([from, length]) => from <= time + perPixel && from + length >= time - perPixel);
    tip.hidden = !found;
    if (!found) return;
    say(tip, `${found[2]}, ${nanoseconds(found[1] * 1000)} on ${name}`);
    const room = width - tip.offsetWidth - 4;
    tip.style.transform = `translate(${Math.max(0, Math.min(x + 12, room))}px, ${y + 16}px)`;
  }

  canvas.addEventListener('pointermove', point);
  canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
  canvas.addEventListener('keydown', (event) => {
    const { key } = event;
    if (key === '+' || key === '=') zoom(-1);
    if (key === '-') zoom(1);
    if (key !== ' ') return;
    event.preventDefault();
    hold.click();
  });
  label();
  return {
    element: panel('timeline', 'Timeline', [span, out, into, hold], el('div.stage', {}, canvas, tip), summary),
    update,
    leave: () => {
      visible.disconnect();
      resized.disconnect();
      document.removeEventListener('visibilitychange', want);
      removeEventListener('themechange', again);
      feed.timeline(false);
    },
  };
}

function drawLane({ context, colours, start, perPixel, width, tall }, name, track, row) {
  const top = row * (tall + GAP);
  context.fillStyle = colours.text;
  context.textBaseline = 'middle';
  context.fillText(name, 0, top + tall / 2, LABEL - 8);
  context.fillStyle = colours.lane;
  context.fillRect(LABEL, top, width - LABEL, tall);
  let drawn = -1;
  for (const [from, length, what] of track) {
    const left = Math.max(LABEL, LABEL + (from - start) / perPixel);
    const right = Math.min(width, LABEL + (from + length - start) / perPixel);
    // A pixel that has a slice needs no second one.
    if (right < LABEL || left > width || right < drawn) continue;
    const thin = Math.max(1, right - left);
    context.fillStyle = colours.slices[colourOf(what)];
    context.fillRect(left, top, thin, tall);
    drawn = Math.floor(left + thin);
    if (thin > 70) {
      context.save();
      context.beginPath();
      context.rect(left, top, thin - 4, tall);
      context.clip();
      context.fillStyle = colours.onSlice;
      context.fillText(what, left + 5, top + tall / 2);
      context.restore();
    }
  }
}

function axis({ context, colours, perPixel, width }, height) {
  context.font = `11px ${colours.font}`;
  context.strokeStyle = colours.lane;
  context.textBaseline = 'bottom';
  const marks = width < 500 ? 3 : 5;
  for (let mark = 0; mark <= marks; mark += 1) {
    const x = LABEL + (width - LABEL) * mark / marks;
    const before = Math.round((width - x) * perPixel) * 1000;
    const text = before === 0 ? 'now' : `−${nanoseconds(before)}`;
    context.fillStyle = colours.muted;
    context.textAlign = mark === 0 ? 'left' : mark === marks ? 'right' : 'center';
    context.fillText(text, x, height);
    context.textAlign = 'left';
  }
}

function palette(canvas) {
  const style = getComputedStyle(canvas);
  const value = (name) => style.getPropertyValue(name).trim();
  const probe = document.createElement('span');
  canvas.parentElement.append(probe);
  // `light-dark()` is resolved by the browser, once it is the colour of something.
  const colour = (name) => { probe.style.color = `var(${name})`; return getComputedStyle(probe).color; };
  const colours = {
    font: value('font-family') || 'sans-serif',
    text: colour('--text'),
    muted: colour('--muted'),
    lane: colour('--lane'),
    onSlice: colour('--on-slice'),
    slices: Array.from({ length: COLOURS }, (_, at) => colour(`--slice-${at}`)),
  };
  probe.remove();
  return colours;
}

/** The same name always has the same colour. */
function colourOf(name) {
  let sum = 0;
  for (let at = 0; at < name.length; at += 1) sum = (sum * 31 + name.charCodeAt(at)) | 0;
  return Math.abs(sum) % COLOURS;
}

/** Takes away what was over before then, in a list that is in the order of time. */
function forget(list, oldest) {
  const kept = list.findIndex(([from, length]) => from + length >= oldest);
  list.splice(0, kept < 0 ? list.length : kept);
}

const overlap = (from, length, start, end) =>
  Math.max(0, Math.min(from + length, end) - Math.max(from, start));
