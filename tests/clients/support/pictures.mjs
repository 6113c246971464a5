// What do the dashboard, `top` and a timeline look like under some load? Writes the pictures of the
// documentation into the folder that it is told.

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { live, openPage, startBrowser } from './browser.mjs';
import { alice, ask, batch, bob, carol, startNode, until } from './node.mjs';
import { ENGINE, openTrace } from './perfetto.mjs';

const SHARDS = 48;
/** So many blocks each shard has before anything is drawn. */
const BLOCKS = 20;
/** So long a page is looked at, until its lines are long. */
const LOOK_MS = 15_000;
/** So much of a timeline is shown. */
const NEAR_NS = 2_000_000;
/** What Perfetto has beside and above a timeline is of no interest. */
const SIDEBAR = 230;
const TOP = 44;
const folder = process.argv[2];

const node = await startNode();
const browser = await startBrowser({ engine: ENGINE });
const shards = Array.from({ length: SHARDS }, (_, at) =>
  `0x${((at + 1) * 0x9e3779b1 >>> 0).toString(16).padStart(8, '0').repeat(5)}`);

/** Transfers in waves: so there is something to see. */
let going = true;
async function load() {
  const accounts = [alice, bob, carol].map(({ address }) => address);
  for (let round = 0; going; round += 1) {
    const few = shards.filter((_, at) => (at * 7 + round) % SHARDS < 6 + 5 * Math.sin(round / 9));
    await Promise.all(few.map((shard) => batch(node.shard(shard), accounts.map((from, at) =>
      ['eth_sendTransaction', { from, to: accounts[(at + 1) % 3], value: '0x1', gas: '0x5208' }]))));
  }
}

async function take(name, options) {
  const page = await openPage(browser, `${node.url}/dashboard/`, options);
  await live(page);
  await page.waitForFunction((wanted) => performance.now() > wanted, {}, LOOK_MS);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await page.done();
}

/** What `top` prints, as a terminal would show it. */
async function takeTop(name) {
  const { stdout } = await promisify(execFile)(process.env.SHIFTWORK, ['top', node.url, '--once']);
  const page = await browser.newPage();
  await page.setViewport({ width: 800, height: 600 });
  await page.setContent('<body style="margin:0;background:#14171c"><pre></pre>');
  await page.$eval('pre', (pre, text) => {
    pre.textContent = text.trimEnd().split('\n').slice(0, 30).join('\n');
    pre.style = 'margin:0;padding:16px;width:max-content;color:#d7dde5;font:14px/1.25 "DejaVu Sans Mono",monospace';
  }, stdout);
  const pre = await page.$('pre');
  await pre.screenshot({ path: join(folder, `${name}.png`) });
  await page.close();
}

/** A part of the demo's timeline, in Perfetto. */
async function takeTimeline(name) {
  const place = mkdtempSync(join(tmpdir(), 'shiftwork-pictures-'));
  const file = join(place, 'demo.json');
  await promisify(execFile)(process.env.SHIFTWORK, ['demo', '--seconds', '1', '--workers', '2', '--timeline', file]);
  const trace = await openTrace(browser, file, { width: 1_280, height: 420 });
  // Where both workers have something to do, but not too much to see.
  const [{ part }] = await trace.query(`
    select ts / ${NEAR_NS} as part from slice where category = 'turn' group by part
    order by count(distinct track_id) desc, abs(count(*) - 100) limit 1`);
  await trace.page.evaluate((start, end) => {
    self.app.trace.timeline.setViewportTime(BigInt(start), BigInt(end));
  }, part * NEAR_NS, (part + 1) * NEAR_NS);
  await trace.drawn();
  const clip = { x: SIDEBAR, y: TOP, width: 1_280 - SIDEBAR, height: 310 };
  await trace.page.screenshot({ path: join(folder, `${name}.png`), clip });
  await trace.close();
  rmSync(place, { recursive: true });
}

const loading = load();
await until('some blocks', async () => {
  const { result } = await ask(node.shard(shards[0]), 'eth_blockNumber');
  return Number(result) > BLOCKS;
}, 120);
await take('dashboard-light', { width: 1_280, height: 960 });
await take('dashboard-dark', { width: 1_280, height: 960, scheme: 'dark' });
await take('dashboard-phone', { width: 375, height: 812 });
await takeTop('top');
going = false;
await loading;
await takeTimeline('timeline');
await browser.close();
await node.stop();
console.log(`pictures are in ${folder}`);
