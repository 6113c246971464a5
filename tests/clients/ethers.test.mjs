// Does ethers work against a shard, unchanged? It sends its requests in batches.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  Contract, ContractFactory, JsonRpcProvider, NonceManager, Transaction, Wallet, WebSocketProvider,
  parseEther,
} from 'ethers';
import {
  FUNDED, alice, bob, carol, contracts, freshAddress, hasShards, startNode,
} from './support/node.mjs';

const { abi, bytecode } = contracts.Token;
const SUPPLY = parseEther('1000');
let node;
const open = [];

before(async () => { node = await startNode(); });
after(async () => {
  for (const provider of open) await provider.destroy();
  await node.stop();
});

/** Answers are not kept: a test asks to hear what is true now. */
function connect(shard, key = alice.key) {
  const provider = new JsonRpcProvider(node.shard(shard), undefined, { cacheTimeout: -1 });
  provider.pollingInterval = 50;
  open.push(provider);
  return { provider, wallet: new Wallet(key, provider) };
}

async function deploy({ wallet }) {
  const token = await new ContractFactory(abi, bytecode, wallet).deploy(SUPPLY);
  await token.waitForDeployment();
  return token;
}

test('a shard has a chain id of its own, funded accounts and no blocks', async () => {
  const { provider } = connect(freshAddress());
  const other = connect(freshAddress());
  const [id, number, balance, otherId] = await Promise.all([
    provider.getNetwork().then(({ chainId }) => chainId),
    provider.getBlockNumber(),
    provider.getBalance(alice.address),
    other.provider.getNetwork().then(({ chainId }) => chainId),
  ]);
  assert.equal(number, 0);
  assert.equal(balance, FUNDED);
  if (hasShards) assert.notEqual(id, otherId);
});

test('ether is transferred', async () => {
  const { provider, wallet } = connect(freshAddress());
  const before = await provider.getBalance(bob.address);
  const sent = await wallet.sendTransaction({ to: bob.address, value: parseEther('1.5') });
  const receipt = await sent.wait();
  assert.equal(receipt.status, 1);
  assert.equal(receipt.gasUsed, 21_000n);
  assert.equal(await provider.getBalance(bob.address), before + parseEther('1.5'));
  const block = await provider.getBlock(receipt.blockNumber, true);
  assert.equal(block.hash, receipt.blockHash);
  assert.equal(block.prefetchedTransactions[receipt.index].hash, sent.hash);
  assert.equal((await provider.getTransaction(sent.hash)).from, alice.address);
});

test('a token is deployed, called, sent and found in logs', async () => {
  const shard = connect(freshAddress());
  const token = await deploy(shard);
  assert.equal(await token.symbol(), 'SHFT');
  const gas = await token.transfer.estimateGas(bob.address, 5);
  const receipt = await (await token.transfer(bob.address, 5)).wait();
  assert.equal(receipt.status, 1);
  assert.ok(receipt.gasUsed <= gas, `estimated ${gas}, used ${receipt.gasUsed}`);
  assert.equal(receipt.logs[0].fragment.name, 'Transfer');
  assert.equal(await token.balanceOf(bob.address), 5n);
  assert.equal(await token.balanceOf(bob.address, { blockTag: receipt.blockNumber - 1 }), 0n);
  const logs = await token.queryFilter(token.filters.Transfer(null, bob.address), 0);
  assert.deepEqual(logs.map((log) => [log.args.from, log.args.value, log.transactionHash]),
    [[alice.address, 5n, receipt.hash]]);
  assert.equal(BigInt(await shard.provider.getStorage(token.target, 0)), SUPPLY);
});

test('a call that is refused tells why, as the contract put it', async () => {
  const token = await deploy(connect(freshAddress(), bob.key));
  const poor = token.connect(new Wallet(carol.key, token.runner.provider));
  const error = await poor.transfer.staticCall(bob.address, 1).catch((error) => error);
  assert.equal(error.code, 'CALL_EXCEPTION', error);
  assert.equal(error.revert?.name, 'InsufficientBalance', error);
  assert.deepEqual([...error.revert.args], [carol.address, 0n, 1n]);
});

test('a listener hears of events', async () => {
  const token = await deploy(connect(freshAddress()));
  const heard = new Promise((resolve) => token.once('Transfer', (from, to, value) => resolve([from, to, value])));
  // It asks for a filter first; what comes before that is not heard.
  await token.runner.provider.getBlockNumber();
  await (await token.transfer(carol.address, 7)).wait();
  assert.deepEqual(await heard, [alice.address, carol.address, 7n]);
});

test('filters tell what is new, once', async () => {
  const { provider, wallet } = connect(freshAddress());
  const filter = await provider.send('eth_newBlockFilter', []);
  const receipt = await (await wallet.sendTransaction({ to: bob.address, value: 1n })).wait();
  assert.deepEqual(await provider.send('eth_getFilterChanges', [filter]), [receipt.blockHash]);
  assert.deepEqual(await provider.send('eth_getFilterChanges', [filter]), []);
  assert.equal(await provider.send('eth_uninstallFilter', [filter]), true);
});

test('subscriptions over WebSocket tell of blocks, logs and pending transactions', async () => {
  const address = freshAddress();
  const token = await deploy(connect(address));
  const socket = new WebSocketProvider(node.socket(address));
  open.push(socket);
  const first = (event) => new Promise((resolve) => socket.once(event, resolve));
  const blocks = first('block');
  const pending = first('pending');
  const logs = new Promise((resolve) =>
    new Contract(token.target, abi, socket).once('Transfer', (_from, _to, value) => resolve(value)));
  // The socket answers in order: when this is answered, the subscriptions are there.
  await socket.getNetwork();
  await socket.send('eth_blockNumber', []);
  const receipt = await (await token.transfer(carol.address, 9)).wait();
  assert.equal(await blocks, receipt.blockNumber);
  assert.equal(await logs, 9n);
  assert.equal(await pending, receipt.hash);
});

test('ten sends that nobody waits for are ten transactions in order', async () => {
  const { provider, wallet } = connect(freshAddress(), carol.key);
  const sender = new NonceManager(wallet);
  const first = await provider.getTransactionCount(carol.address);
  const sent = await Promise.all(Array.from({ length: 10 }, (_, index) =>
    sender.sendTransaction({ to: bob.address, value: index + 1 })));
  const receipts = await Promise.all(sent.map((transaction) => transaction.wait()));
  assert.deepEqual(receipts.map((receipt) => receipt.status), Array(10).fill(1));
  assert.equal(await provider.getTransactionCount(carol.address), first + 10);
});

test('the node signs for its accounts', async () => {
  const { provider } = connect(freshAddress());
  const signer = await provider.getSigner(1);
  assert.equal(signer.address, bob.address);
  const receipt = await (await signer.sendTransaction({ to: carol.address, value: 3n })).wait();
  assert.equal(receipt.from, bob.address);
});

test('fees are known: price, history, estimate', async () => {
  const { provider, wallet } = connect(freshAddress());
  const { blockNumber } = await (await wallet.sendTransaction({ to: bob.address, value: 1n })).wait();
  const { baseFeePerGas } = await provider.getBlock(blockNumber);
  const fees = await provider.getFeeData();
  assert.ok(fees.gasPrice > 0n && fees.maxFeePerGas >= baseFeePerGas, JSON.stringify(fees));
  const history = await provider.send('eth_feeHistory', ['0x1', `0x${blockNumber.toString(16)}`, [50]]);
  assert.equal(BigInt(history.baseFeePerGas[0]), baseFeePerGas);
  assert.equal(Number(history.oldestBlock), blockNumber);
  assert.equal(await provider.estimateGas({ from: alice.address, to: bob.address, value: 1n }), 21_000n);
});

test('a transaction is traced', async () => {
  const { provider, wallet } = connect(freshAddress());
  const token = await deploy({ wallet });
  const { hash, gasUsed } = await (await token.transfer(bob.address, 5)).wait();
  const call = await provider.send('debug_traceTransaction', [hash, { tracer: 'callTracer' }]);
  assert.equal(call.type, 'CALL');
  assert.equal(BigInt(call.gasUsed), gasUsed);
  const steps = await provider.send('debug_traceTransaction', [hash, {}]);
  assert.equal(BigInt(steps.gas), gasUsed);
  assert.ok(steps.structLogs.some((step) => step.op === 'SSTORE'));
});

test('a transaction of one shard is refused in another', { skip: !hasShards }, async () => {
  const here = connect(freshAddress());
  const there = connect(freshAddress());
  const raw = await here.wallet.signTransaction(
    await here.wallet.populateTransaction({ to: bob.address, value: 1n }));
  const error = await there.provider.broadcastTransaction(raw).catch((error) => error);
  assert.match(`${error}`, /invalid chain id/);
  const sent = await here.provider.broadcastTransaction(raw);
  assert.equal((await sent.wait()).status, 1);
  assert.equal(sent.hash, Transaction.from(raw).hash);
  assert.equal(await there.provider.getBlockNumber(), 0);
});
