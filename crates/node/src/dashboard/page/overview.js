// What does the node do right now?

import { el, facts, panel, say } from './dom.js';
import { brief, compact, count, duration, plural, rate } from './format.js';
import { histogram, sparkline } from './chart.js';
import { SECONDS } from './state.js';
import { timeline } from './timeline.js';
import { workers } from './workers.js';
import { shards } from './shards.js';
import { blocks } from './blocks.js';

/** The page that one sees first. */
export function overview({ state, feed }) {
  const parts = [tiles(state), timeline(state, feed), waiting(state), workers(state), baseChain(), shards(state), blocks(state)];
  const element = el('div.overview', {}, el('h1.hidden', {}, 'Overview'), ...parts.map((part) => part.element));
  return {
    element,
    update: (frame) => parts.forEach((part) => part.update(frame)),
    leave: () => parts.forEach((part) => part.leave?.()),
  };
}

/** The numbers that matter, three of them with their past. */
function tiles(state) {
  const tile = (name, title, chart) => {
    const [value, note] = [el('strong'), el('span.note')];
    const element = el(`div.tile.${name}`, {}, el('span.name', {}, title), value, note, chart?.element);
    return { element, chart, set: (text, more = '') => { say(value, text); say(note, more); } };
  };
  const line = (unit) => sparkline(SECONDS, (top) => `the last ${SECONDS / 60} minutes, at most ${compact(top)} ${unit}`);
  const throughput = tile('throughput', 'Transactions per second', line('per second'));
  const queued = tile('queued', 'Queued', line('queued'));
  const pooled = tile('pooled', 'In pools', line('in pools'));
  const included = tile('included', 'Transactions');
  const made = tile('made', 'Blocks');
  const present = tile('present', 'Shards');
  const people = tile('people', 'Connections');
  const all = [throughput, queued, pooled, included, made, present, people];
  return {
    element: el('section.tiles', { 'aria-label': 'Key numbers' }, ...all.map(({ element }) => element)),
    update: ({ node, uptime_seconds }) => {
      throughput.set(rate(state.throughput()));
      throughput.chart.update(state.throughputs());
      queued.set(count(state.now.queued));
      queued.chart.update(state.depths('queued'));
      pooled.set(count(node.pooled));
      pooled.chart.update(state.depths('pooled'));
      included.set(compact(node.transactions), node.failed ? `${compact(node.failed)} failed` : 'none failed');
      made.set(compact(node.blocks), 'in all shards');
      present.set(count(node.shards), node.quarantined ? `${count(node.quarantined)} in quarantine` : 'all well');
      present.element.classList.toggle('bad', node.quarantined > 0);
      people.set(count(node.connections), `up ${duration(uptime_seconds)}`);
    },
  };
}

/** How long what was ready had to wait for a worker. */
function waiting(state) {
  const chart = histogram();
  let recent = true;
  const which = el('select', { 'aria-label': 'Runtime', onchange: draw });
  const span = el('button.quiet', { type: 'button', onclick: () => { recent = !recent; draw(); } });
  function draw() {
    if (!state.now) return;
    say(span, recent ? 'last minute' : 'since the start');
    chart.update(state.waiting(Math.max(0, which.selectedIndex), recent));
  }
  return {
    element: panel('waiting', 'Waiting for a worker', [which, span], chart.element),
    update: ({ runtimes }) => {
      const names = runtimes.map((runtime) => runtime.name);
      if ([...which.options].map((option) => option.value).join() !== names.join()) {
        which.replaceChildren(...names.map((name) => el('option', { value: name }, name)));
      }
      which.hidden = names.length < 2;
      draw();
    },
  };
}

/** Where transactions get their time and their numbers from. */
function baseChain() {
  const body = el('div');
  const state = el('span.badge');
  let shown = null;
  return {
    element: panel('base', 'Base chain', [state], body),
    update: ({ node: { base_chain: chain, chain_id } }) => {
      const text = JSON.stringify([chain, chain_id]);
      if (text === shown) return;
      shown = text;
      if (!chain) {
        say(state, 'none');
        state.dataset.state = 'idle';
        body.replaceChildren(
          facts([['Chain id', `${chain_id}`]]),
          el('p.muted.small', {}, 'Shards have their own height and this machine’s time.'));
        return;
      }
      say(state, chain.fresh ? 'fresh' : 'silent');
      state.dataset.state = chain.fresh ? 'good' : 'quarantined';
      const heard = chain.silent_seconds < 1.5 ? 'now' : `${duration(chain.silent_seconds)} ago`;
      body.replaceChildren(facts([
        ['Chain id', `${chain_id}`],
        ['Endpoint', el('span.break', {}, `${chain.endpoint}`)],
        ['Block', chain.number == null ? 'none yet' : count(chain.number)],
        chain.hash && ['Hash', el('code', { title: chain.hash }, brief(chain.hash))],
        ['Heard of', heard],
        chain.went_back > 0 && ['Went back', plural(chain.went_back, 'time')],
        chain.trouble && ['Trouble', el('span.error', {}, chain.trouble)],
      ]));
    },
  };
}
