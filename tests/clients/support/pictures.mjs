// What does the dashboard look like under some load? Writes the pictures of the documentation into
// the folder that it is told.

import { join } from 'node:path';
import { live, openPage, startBrowser } from './browser.mjs';
import { alice, ask, batch, bob, carol, startNode, until } from './node.mjs';

const SHARDS = 48;
/** So long the load goes on before anything is drawn, in seconds of the node's. */
const SECONDS = 25;
const folder = process.argv[2];

const node = await startNode();
const browser = await startBrowser();
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

async function take(name, options, clip) {
  const page = await openPage(browser, `${node.url}/dashboard/`, options);
  await live(page);
  // Until the lines of the last seconds are there.
  await page.waitForFunction((from) => {
    window.from ??= performance.now();
    return performance.now() - window.from > from;
  }, {}, 12_000);
  await page.screenshot({ path: join(folder, `${name}.png`), ...clip });
  await page.done();
}

const loading = load();
await until('some load', async () => {
  const { result } = await ask(node.shard(shards[0]), 'eth_blockNumber');
  return Number(result) > SECONDS;
}, 120);
await take('dashboard-light', { width: 1_440, height: 1_130 });
await take('dashboard-dark', { width: 1_440, height: 1_130, scheme: 'dark' });
await take('dashboard-phone', { width: 375, height: 812 });
going = false;
await loading;
await browser.close();
await node.stop();
console.log(`pictures are in ${folder}`);
