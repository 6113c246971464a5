// Is every worker at work, and on what?

import { el, panel, say } from './dom.js';
import { compact, percent, rate } from './format.js';

const COLUMNS = ['Worker', 'State', 'Runs', 'Busy', 'Turns/s', 'Turns', 'Steals', 'Parks', 'Overruns', 'Panics'];
const COUNTERS = ['turns', 'steals', 'parks', 'overruns', 'panics'];

/** A row per worker, of all runtimes. */
export function workers(state) {
  const body = el('tbody');
  const head = el('tr', {}, ...COLUMNS.map((name, at) => el(at > 3 ? 'th.number' : 'th', { scope: 'col' }, name)));
  const table = el('table', {}, el('thead', {}, head), body);
  const summary = el('span.muted.small');
  let rows = [];
  return {
    element: panel('workers', 'Workers', [summary], el('div.scroll', { tabindex: 0, role: 'group', 'aria-label': 'Workers' }, table)),
    update: ({ runtimes }) => {
      const all = runtimes.flatMap((runtime, at) => runtime.workers.map((worker, number) => ({ runtime, at, worker, number })));
      if (rows.length !== all.length) {
        rows = all.map(row);
        body.replaceChildren(...rows.map(({ element }) => element));
      }
      all.forEach((one, at) => rows[at].update(one, state));
      const running = all.filter(({ worker }) => worker.state === 'running').length;
      say(summary, `${running} of ${all.length} running`);
    },
  };
}

function row() {
  const name = el('th', { scope: 'row' });
  const badge = el('span.badge');
  const runs = el('td.runs');
  const part = el('span.part');
  const meter = el('span.meter', { 'aria-hidden': 'true' }, part);
  const busy = el('span.figure');
  const numbers = [el('td.number'), ...COUNTERS.map(() => el('td.number'))];
  return {
    element: el('tr', {}, name, el('td', {}, badge), runs, el('td', {}, meter, busy), ...numbers),
    update: ({ runtime, at, worker, number }, state) => {
      say(name, `${runtime.name} ${number}`);
      name.title = name.textContent;
      say(badge, worker.state);
      badge.dataset.state = worker.state;
      say(runs, worker.runs ?? '');
      runs.title = worker.runs ?? '';
      const used = state.utilization(at, number);
      say(busy, used == null ? '–' : percent(used));
      part.style.width = `${100 * (used ?? 0)}%`;
      say(numbers[0], rate(state.turns(at, number)));
      COUNTERS.forEach((counter, column) => {
        say(numbers[column + 1], compact(worker[counter]));
        const bad = worker[counter] > 0 && ['overruns', 'panics'].includes(counter);
        numbers[column + 1].classList.toggle('error', bad);
      });
    },
  };
}
