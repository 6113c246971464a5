// Does Perfetto itself read our timelines, and see in them what we meant?

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { picture, startBrowser } from './support/browser.mjs';
import { ENGINE, openTrace } from './support/perfetto.mjs';
import { run } from './support/program.mjs';

const folder = mkdtempSync(join(tmpdir(), 'shiftwork-perfetto-'));
const file = join(folder, 'demo.json');
let [browser, trace, written] = [];

before(async () => {
  await run('shiftwork', ['demo', '--seconds', '0.1', '--workers', '2', '--timeline', file]);
  written = JSON.parse(readFileSync(file, 'utf8')).traceEvents;
  browser = await startBrowser({ engine: ENGINE });
  trace = await openTrace(browser, file);
});
after(async () => {
  await trace?.close();
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

const events = (phase) => written.filter(({ ph }) => ph === phase);

test('nothing in it is an error, or lost', async () => {
  const wrong = await trace.query("select name, severity, value from stats where value > 0 and severity != 'info'");
  assert.deepEqual(wrong, []);
});

test('each worker has a track, with all its turns', async () => {
  const tracks = await trace.query(`
    select thread.name as track, count(*) as turns
    from slice join thread_track on slice.track_id = thread_track.id join thread using (utid)
    where slice.category = 'turn' group by track order by track`);
  assert.deepEqual(tracks.map(({ track }) => track), ['worker 0', 'worker 1']);
  const turns = events('X').filter(({ cat }) => cat === 'turn').length;
  assert.equal(tracks.reduce((sum, track) => sum + track.turns, 0), turns);
  assert.ok(turns > 1_000, `${turns} turns`);
  const [{ main }] = await trace.query('select count(*) as main from thread where is_main_thread and name like \'worker%\'');
  assert.equal(main, 0, 'no worker is the main thread');
});

test('no turn is without an end', async () => {
  const [{ open }] = await trace.query('select count(*) as open from slice where dur < 0');
  assert.equal(open, 0);
});

test('every arrow goes from one slice to another', async () => {
  const [{ arrows }] = await trace.query('select count(*) as arrows from flow');
  assert.equal(arrows, events('f').length);
  assert.ok(arrows > 1_000, `${arrows} arrows`);
});

test('the queue is a counter', async () => {
  const counters = await trace.query(`
    select track.name, count(*) as points
    from counter join counter_track as track on counter.track_id = track.id group by track.name`);
  assert.deepEqual(counters, [{ name: 'queued entries', points: events('C').length }]);
  await trace.drawn();
  await picture(trace.page, 'perfetto');
});
