// Does the dashboard show what the node does, in a real browser?

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { WebSocket } from 'ws';
import { PICTURES, live, openPage, picture, shows, startBrowser } from './support/browser.mjs';
import { FakeFeed, addressOf, frame, manyShards } from './support/fake_feed.mjs';
import { alice, freePort, freshAddress, startNode, until } from './support/node.mjs';
import { startProxy } from './support/proxy.mjs';
import { openWallet } from './support/wallet.mjs';

const PHONE = { width: 375, height: 800 };
const DESK = { width: 1_440, height: 1_000 };
/** What a stranger may call things. */
const MARKUP = '<img src=x onerror="window.markup=1"><script>window.markup=2</script>';
let [node, browser] = [];

before(async () => {
  [node, browser] = await Promise.all([startNode(), startBrowser()]);
  console.log(`pictures of the pages are kept in ${PICTURES}`);
});
after(async () => {
  await browser.close();
  await node.stop();
});

/** A page of the node's own dashboard. */
async function open(place = '', options = DESK) {
  const page = await openPage(browser, `${node.url}/dashboard/${place}`, options);
  await live(page);
  return page;
}

/** A page that shows frames made by hand. */
async function openFake(first, options = DESK) {
  const feed = new FakeFeed(first);
  const proxy = await startProxy(node.url, { feed });
  const page = await openPage(browser, `${proxy.url}/dashboard/`, options);
  await live(page);
  const done = async () => {
    await page.done();
    await proxy.stop();
  };
  return { feed, page, done };
}

/** The addresses of the shards in view, from the top. */
const listed = (page) => page.$$eval('.space .row', (rows) => rows.map((row) => row.dataset.address));
const text = (page, selector) => page.$eval(selector, (element) => element.textContent);
const has = (page, check, ...args) => page.waitForFunction(check, { polling: 'raf' }, ...args);
/** Follows a link in what may be drawn anew at any moment: found and clicked in one go. */
const follow = (page, link) => has(page, (link) => {
  const found = document.querySelector(link);
  found?.click();
  return Boolean(found);
}, link);
/** The part that one does not have to scroll sideways for. */
const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

test('a transaction is shown as committed, without a reload', async () => {
  const page = await open();
  await page.evaluate(() => { window.sameLoad = true; });
  const shard = freshAddress();
  const { transactionHash } = await (await openWallet(node, shard)).transfer();
  await shows(page, '.latest .transactions li', `${transactionHash}committed`);
  await shows(page, '.shards .row', shard);
  await shows(page, '.timeline p', 'Busy: shards 0');
  await picture(page, 'overview');
  await follow(page, `.latest a[href$="/tx/${transactionHash}"]`);
  await shows(page, '.about .badge', 'success');
  await shows(page, 'h1', transactionHash);
  assert.equal(await page.evaluate(() => window.sameLoad), true);
  await page.done();
});

test('a shard’s page follows its blocks', async () => {
  const shard = freshAddress();
  const wallet = await openWallet(node, shard);
  await wallet.transfer();
  const page = await open(`#/shard/${shard}`);
  await shows(page, '.history tbody tr', '0x');
  const { blockNumber, transactionHash } = await wallet.transfer();
  await shows(page, '.history tbody th', `${blockNumber}`);
  await picture(page, 'shard');
  await follow(page, `.history a[href$="/block/${blockNumber}"]`);
  await shows(page, '.history a', transactionHash);
  await follow(page, '.history td a[href*="/address/"]');
  await shows(page, '.about', 'Nonce2');
  await page.done();
});

test('the tree of a trace is opened by keyboard down to the innermost call', async () => {
  const shard = freshAddress();
  const wallet = await openWallet(node, shard);
  const { contractAddress } = await wallet.deploy('Probe');
  const { transactionHash } = await wallet.call('Probe', contractAddress, 'nest', 3n, true);
  const page = await open(`#/shard/${shard}/tx/${transactionHash}`);
  const calls = (many) => has(page, (many) => document.querySelectorAll('.call').length === many, many);
  const openLast = async () => {
    await (await page.$$('.call > summary')).at(-1).focus();
    await page.keyboard.press('Enter');
  };
  // The outermost is open, and each that is opened shows the next.
  await calls(2);
  for (const many of [3, 4]) {
    await openLast();
    await calls(many);
  }
  assert.equal((await page.$$('.call .call .call .call .inside > *')).length, 0);
  await openLast();
  await shows(page, '.call .call .call .call .inside .error', 'inside');
  await picture(page, 'trace');
  await page.done();
});

test('ten thousand shards are sorted and filtered, and few of them are elements', async () => {
  const shards = manyShards(10_000);
  shards.rows[4_321][5] = 'the disk is full';
  shards.rows[4_321][1] = 'quarantined';
  const { feed, page, done } = await openFake(frame({ shards, node: { shards: 10_000, quarantined: 1 } }));
  await shows(page, '.shards .head', '10,000 shards');
  assert.equal(await page.$eval('.grid', (grid) => grid.getAttribute('aria-rowcount')), '10001');
  assert.ok((await listed(page)).length < 100);
  assert.equal((await listed(page))[0], addressOf(0));

  const head = (column) => `.heads .${column} button`;
  const sort = (column) => page.$eval(`.heads .${column}`, (cell) => cell.getAttribute('aria-sort'));
  await page.click(head('height'));
  assert.equal(await sort('height'), 'descending');
  assert.equal((await listed(page))[0], addressOf(0));
  await page.click(head('height'));
  assert.equal(await sort('height'), 'ascending');
  assert.equal((await listed(page))[0], addressOf(9_999));
  await page.click(head('error'));
  assert.equal((await listed(page))[0], addressOf(4_321));

  // What changes is put where it belongs.
  await page.click(head('transactions'));
  const row = [addressOf(15), 'running', 5, 0, 1_000_000, null];
  feed.push(frame({ uptime_seconds: 12, shards: { total: 10_000, whole: false, rows: [row] }, node: { shards: 10_000 } }));
  await feed.painted();
  await page.click(head('transactions'));
  await page.click(head('transactions'));
  assert.equal((await listed(page))[0], addressOf(15));

  await page.type('.shards input', 'DISK');
  assert.deepEqual(await listed(page), [addressOf(4_321)]);
  await shows(page, '.shards .head', '1 of 10,000');
  await page.$eval('.shards input', (input) => { input.value = ''; input.dispatchEvent(new Event('input')); });
  await page.select('.shards select', 'queued');
  await shows(page, '.shards .head', '2,000 of 10,000');
  assert.ok((await page.$$eval('.space .badge', (found) => found.map((one) => one.textContent))).every((state) => state === 'queued'));
  await page.type('.shards input', 'nothing like it');
  await shows(page, '.shards .empty', 'No shard is like that');
  await picture(page, 'filtered');
  await done();
});

test('a shard is reached and opened by keyboard alone', async () => {
  const { page, done } = await openFake(frame({ shards: manyShards(10_000), node: { shards: 10_000 } }));
  await shows(page, '.shards .head', '10,000 shards');
  const inGrid = () => document.activeElement.closest('.space .row') !== null;
  for (let presses = 0; !(await page.evaluate(inGrid)); presses += 1) {
    assert.ok(presses < 60, 'Tab does not come to the shards');
    await page.keyboard.press('Tab');
  }
  const active = () => page.evaluate(() => document.activeElement.closest('.row')?.dataset.address);
  assert.equal(await active(), addressOf(0));
  await page.keyboard.press('End');
  assert.equal(await active(), addressOf(9_999));
  await page.keyboard.press('ArrowUp');
  assert.equal(await active(), addressOf(9_998));
  await page.keyboard.press('Home');
  await page.keyboard.press('PageDown');
  await page.keyboard.press('ArrowDown');
  const wanted = await active();
  assert.ok(parseInt(wanted, 16) > 5, wanted);
  await page.keyboard.press('Enter');
  await shows(page, 'h1', wanted);
  // And back: the place is found again.
  await page.evaluate(() => history.back());
  await page.waitForSelector(`.row[data-address="${wanted}"] a[tabindex="0"]`);
  await done();
});

test('markup in names and errors stays text', async () => {
  const first = frame({
    program: MARKUP,
    version: MARKUP,
    node: {
      shards: 1,
      base_chain: { endpoint: MARKUP, number: 7, hash: MARKUP, silent_seconds: 3, trouble: MARKUP, fresh: false, went_back: 1 },
    },
    shards: { total: 1, whole: true, rows: [[addressOf(1), 'quarantined', 1, 0, 0, MARKUP]] },
    blocks: [{ shard: MARKUP, number: 1, hash: MARKUP, time: 0, gas_used: 0, count: 1, transactions: [MARKUP] }],
    timeline: { from_us: 0, to_us: 100, workers: [{ name: MARKUP, busy_us: 90, slices: [[0, 90, MARKUP]] }], dropped: 0 },
  });
  first.runtimes[0].name = MARKUP;
  first.runtimes[0].workers[0].runs = MARKUP;
  const { page, done } = await openFake(first);
  for (const place of ['#node', '.grid .error', '.base .error', '.workers .runs', '.latest .transactions', '.timeline p']) {
    await shows(page, place, MARKUP);
  }
  await nothingOf(page);
  await picture(page, 'markup');
  await done();
});

test('markup in why a contract refused stays text', async () => {
  const shard = freshAddress();
  const wallet = await openWallet(node, shard);
  const { contractAddress } = await wallet.deploy('Probe');
  const { status, transactionHash } = await wallet.call('Probe', contractAddress, 'refuse', 0n, MARKUP);
  assert.equal(status, 'reverted');
  const page = await open(`#/shard/${shard}/tx/${transactionHash}`);
  await shows(page, '.about .badge', 'failed');
  await shows(page, '.call .error', MARKUP);
  await nothingOf(page);
  await page.evaluate((place) => { location.hash = place; }, `#/search/${encodeURIComponent(MARKUP)}`);
  await shows(page, '.searched', MARKUP);
  await nothingOf(page);
  await page.done();
});

/** Nothing of the markup has become an element or was run. */
async function nothingOf(page) {
  assert.equal(await page.evaluate(() => window.markup), undefined);
  assert.equal(await page.$$eval('main img, main script', (found) => found.length), 0);
}

test('the page comes back by itself when the node does', async () => {
  const port = `${await freePort()}`;
  let mortal = await startNode('--http.port', port);
  const page = await openPage(browser, `${mortal.url}/dashboard/`, DESK);
  await live(page);
  const first = await (await openWallet(mortal, freshAddress())).transfer();
  await shows(page, '.latest .transactions', first.transactionHash);
  await mortal.stop('SIGKILL');
  await shows(page, '#status', 'reconnecting');
  await picture(page, 'reconnecting');
  mortal = await startNode('--http.port', port);
  await live(page);
  // Another node, in memory: what the first one had is gone.
  await has(page, (hash) => !document.body.textContent.includes(hash), first.transactionHash);
  const second = await (await openWallet(mortal, freshAddress())).transfer('0.02');
  await shows(page, '.latest .transactions', second.transactionHash);
  await mortal.stop();
  // That it could not connect is what the browser, not the page, complains about.
  page.complaints = page.complaints.filter((text) => !/WebSocket connection to '.*\/dashboard\/feed' failed/.test(text));
  await page.done();
});

test('a node that started anew, or whose clock was set, gives no wrong rates', async () => {
  const at = (uptime_seconds, transactions, time_ms, blocks = [], run = 'one') =>
    frame({ run, uptime_seconds, time_ms, blocks, node: { transactions } });
  const block = { shard: addressOf(1), number: 7, hash: addressOf(2), time: 0, gas_used: 0, count: 0, transactions: [] };
  const { feed, page, done } = await openFake(at(100, 1_000, 5_000_000, [block]));
  await shows(page, '.blocks', '#7');
  // An hour back, while three seconds went by.
  feed.push(at(103, 1_600, 1_400_000));
  await shows(page, '.throughput strong', '200');
  // Another run, which was up for longer before it was looked at, and has done more.
  feed.push(at(201, 9_000, 1_500_000, [], 'other'));
  await has(page, () => document.querySelector('.throughput strong').textContent === '0');
  await has(page, () => document.querySelectorAll('.blocks li').length === 0);
  feed.push(at(204, 9_030, 1_500_000, [], 'other'));
  await has(page, () => document.querySelector('.throughput strong').textContent === '10');
  await done();
});

test('slices are asked for only while they can be seen', async () => {
  const { feed, page, done } = await openFake(frame());
  const told = (wanted) => until(`the page to ask for ${wanted}`,
    () => feed.said.filter((message) => 'timeline' in message).at(-1)?.timeline === wanted);
  await told(true);
  await page.evaluate((place) => { location.hash = place; }, `#/shard/${addressOf(1)}`);
  await told(false);
  await done();
});

test('a worker is as busy as the node says, and a picture that is held stands still', async () => {
  const at = (second, busy_us, slices = [], dropped = 0) => frame({
    uptime_seconds: 10 + second,
    timeline: { from_us: second * 1e6, to_us: (second + 1) * 1e6, workers: [{ name: 'shards 0', busy_us, slices }], dropped },
  });
  const { feed, page, done } = await openFake(at(0, 500_000, [[0, 100, 'one']], 7));
  const told = (wanted) => until(`the page to ask for ${wanted}`,
    () => feed.said.filter((message) => 'timeline' in message).at(-1)?.timeline === wanted);
  await shows(page, '.timeline p', 'Busy: shards 0 50 %. 7 slices were left out.');
  await told(true);

  const hold = '.timeline button[aria-pressed]';
  await page.click(hold);
  await told(false);
  // One that was on its way.
  feed.push(at(1, 1_000_000));
  await feed.painted();
  assert.match(await text(page, '.timeline p'), /^Busy: shards 0 50 %/);

  await page.click(hold);
  await told(true);
  feed.push(at(2, 1_000_000));
  await shows(page, '.timeline p', 'Busy: shards 0 75 %. 7 slices were left out.');
  // Of more than can be kept, the oldest go.
  feed.push(at(3, 1_000_000, Array.from({ length: 20_010 }, (_, number) => [3e6 + 10 * number, 5, 'many'])));
  await shows(page, '.timeline p', 'Busy: shards 0 83 %. 18 slices were left out.');
  await done();
});

test('who finds no place is told why, and gets one that is left', async () => {
  const full = await startNode();
  const others = Array.from({ length: 16 }, () => new WebSocket(`${full.url.replace('http', 'ws')}/dashboard/feed`));
  await Promise.all(others.map((other) => once(other, 'message')));
  const page = await openPage(browser, `${full.url}/dashboard/`, DESK);
  await shows(page, '#status', '16 look at the dashboard already: close one of them');
  await picture(page, 'full');
  others[0].close();
  await live(page);
  await page.done();
  for (const other of others) other.close();
  await full.stop();
});

test('a node that takes few requests at once is asked for few at once', async () => {
  const narrow = await startNode('--limit.batch', '3');
  const shard = freshAddress();
  const wallet = await openWallet(narrow, shard);
  for (let block = 1; block <= 5; block += 1) await wallet.transfer();
  const page = await openPage(browser, `${narrow.url}/dashboard/#/shard/${shard}`, DESK);
  await has(page, () => document.querySelectorAll('.history tbody tr').length === 6);
  await page.done();
  await narrow.stop();
});

test('hashes and addresses are found', async () => {
  const shard = freshAddress();
  const { transactionHash, blockHash, blockNumber } = await (await openWallet(node, shard)).transfer();
  const other = await (await openWallet(node, freshAddress())).transfer('0.03');
  const page = await open();
  const search = async (what) => {
    await page.keyboard.press('/');
    await page.type('#query', what);
    await page.keyboard.press('Enter');
  };
  await search(transactionHash);
  await shows(page, 'h1', `Transaction ${transactionHash}`);
  await search(alice.address);
  await shows(page, 'h1', `Account ${alice.address.toLowerCase()}`);
  await search(`${blockNumber}`);
  await shows(page, 'h1', `Block ${blockNumber}`);
  await page.click('.brand');
  await search(shard);
  await shows(page, 'h1', `Shard ${shard}`);
  await page.click('.brand');
  await page.evaluate((place) => { location.hash = place; }, `#/search/${blockHash}`);
  await shows(page, '.results li', 'A block');
  await page.click('.brand');
  await search(`0x${'77'.repeat(32)}`);
  await shows(page, '.searched [role=status]', 'Nothing found; asked');
  // On a shard's page that shard is asked first, and the others if one wants it.
  await page.evaluate((place) => { location.hash = place; }, `#/search/${other.blockHash}@${shard}`);
  await shows(page, '.searched [role=status]', 'Nothing found; asked 1 of');
  await page.click('.searched button');
  await shows(page, '.results li', 'A block');
  await search('0x12');
  assert.equal(await page.$eval('#query', (input) => input.validity.customError), true);
  await page.done();
});

test('all pages fit a phone and a desk, dark and light', async () => {
  const shard = freshAddress();
  const wallet = await openWallet(node, shard);
  const { contractAddress } = await wallet.deploy('Token', 10n ** 21n);
  const { transactionHash, blockNumber } = await wallet.call('Token', contractAddress, 'transfer', alice.address, 5n);
  const home = `#/shard/${shard}`;
  const pages = {
    overview: ['', ['.tiles', '.timeline canvas', '.bars', '.workers', '.base', '.shards .row', '.latest']],
    shard: [home, ['.about', '.history tbody tr']],
    block: [`${home}/block/${blockNumber}`, ['.about', '.history tbody tr']],
    transaction: [`${home}/tx/${transactionHash}`, ['.about', '.logs li', '.call']],
    account: [`${home}/address/${contractAddress.toLowerCase()}`, ['.about']],
  };
  const backgrounds = new Set();
  for (const size of [PHONE, DESK]) {
    for (const scheme of ['light', 'dark']) {
      const page = await open('', { ...size, scheme });
      for (const [name, [place, parts]] of Object.entries(pages)) {
        await page.evaluate((place) => { location.hash = place || '#/'; }, place);
        for (const part of parts) await page.waitForSelector(part, { visible: true });
        assert.ok(await overflow(page) <= 0, `${name} is too wide for ${size.width} pixels`);
        await picture(page, `${name}-${size.width}-${scheme}`, { fullPage: true });
      }
      backgrounds.add(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
      await page.done();
    }
  }
  assert.equal(backgrounds.size, 2);
});

test('whoever chooses dark gets it, also after a reload', async () => {
  const page = await open();
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.click('#theme');
  assert.equal(await text(page, '#theme'), 'Theme: light');
  assert.equal(await background(), light);
  await page.click('#theme');
  assert.equal(await text(page, '#theme'), 'Theme: dark');
  assert.notEqual(await background(), light);
  await page.reload();
  await live(page);
  assert.equal(await text(page, '#theme'), 'Theme: dark');
  assert.notEqual(await background(), light);
  await page.done();
});

test('behind a path of a proxy all is the same', async () => {
  const proxy = await startProxy(node.url, { prefix: '/x' });
  const shard = freshAddress();
  const { transactionHash } = await (await openWallet(node, shard)).transfer();
  // Without the slash at the end: the page is found all the same.
  const page = await openPage(browser, `${proxy.url}/dashboard`, DESK);
  await live(page);
  assert.equal(new URL(page.url()).pathname, '/x/dashboard/');
  await shows(page, '.latest .transactions', transactionHash);
  await page.evaluate((place) => { location.hash = place; }, `#/shard/${shard}`);
  await shows(page, '.history tbody tr', '0x');
  await shows(page, '.about', `${proxy.url}/shard/${shard}`);
  await page.done();
  await proxy.stop();
});
