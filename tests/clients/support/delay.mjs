// How long after a transaction was accepted does an open dashboard show it as committed? Prints the
// median of some, in milliseconds.

import { parseEther } from 'viem';
import { live, openPage, startBrowser } from './browser.mjs';
import { bob, freshAddress, rpc, startNode } from './node.mjs';
import { openWallet } from './wallet.mjs';

const TRANSACTIONS = 20;

const node = await startNode();
const browser = await startBrowser();
const page = await openPage(browser, `${node.url}/dashboard/`);
await live(page);
const shard = freshAddress();
const { wallet } = await openWallet(node, shard);

/** When the hash was on the screen, by the clock that this machine has for all. */
const seen = (hash) => page.evaluate((hash) => new Promise((resolve) => {
  const look = () => {
    if (!document.querySelector(`.latest a[href$="/tx/${hash}"]`)) return false;
    requestAnimationFrame(() => resolve(performance.timeOrigin + performance.now()));
    return true;
  };
  if (look()) return;
  const observer = new MutationObserver(() => { if (look()) observer.disconnect(); });
  observer.observe(document.body, { childList: true, subtree: true });
}), hash);

const delays = [];
for (let at = 0; at < TRANSACTIONS; at += 1) {
  const request = await wallet.prepareTransactionRequest({ to: bob.address, value: parseEther('0.001') });
  const hash = await rpc(node.shard(shard), 'eth_sendRawTransaction', await wallet.signTransaction(request));
  const answered = performance.timeOrigin + performance.now();
  delays.push(Math.max(0, await seen(hash) - answered));
}
await page.done();
await browser.close();
await node.stop();
delays.sort((a, b) => a - b);
console.log(((delays[TRANSACTIONS / 2 - 1] + delays[TRANSACTIONS / 2]) / 2).toFixed(1));
