// Does viem work against a shard, unchanged?

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  createPublicClient, createWalletClient, defineChain, getContract, http, parseAbiItem, parseEther,
  webSocket,
} from 'viem';
import { nonceManager, privateKeyToAccount } from 'viem/accounts';
import {
  FUNDED, alice, ask, bob, carol, contracts, freshAddress, hasShards, startNode,
} from './support/node.mjs';

const { abi, bytecode } = contracts.Token;
const SUPPLY = parseEther('1000');
const TRANSFER = parseAbiItem('event Transfer(address indexed from, address indexed to, uint256 value)');
let node;

before(async () => { node = await startNode(); });
after(() => node.stop());

/** What one would write to use a shard. */
async function connect(shard, key = alice.key, options = {}) {
  const transport = http(node.shard(shard), options);
  const id = await createPublicClient({ transport }).getChainId();
  const chain = defineChain({
    id,
    name: 'shard',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [node.shard(shard)], webSocket: [node.socket(shard)] } },
  });
  const client = createPublicClient({ chain, transport, pollingInterval: 50, cacheTime: 0 });
  const account = privateKeyToAccount(key, { nonceManager });
  const wallet = createWalletClient({ chain, transport, account, pollingInterval: 50 });
  return { chain, client, wallet };
}

async function deploy({ client, wallet }) {
  const hash = await wallet.deployContract({ abi, bytecode, args: [SUPPLY] });
  const receipt = await client.waitForTransactionReceipt({ hash });
  assert.equal(receipt.status, 'success');
  return { address: receipt.contractAddress, receipt };
}

test('a shard has a chain id of its own, funded accounts and no blocks', async () => {
  const { client, chain } = await connect(freshAddress());
  assert.equal(await client.getBalance({ address: alice.address }), FUNDED);
  assert.equal(await client.getBlockNumber(), 0n);
  assert.equal(await client.getTransactionCount({ address: alice.address }), 0);
  if (hasShards) assert.notEqual(chain.id, (await connect(freshAddress())).chain.id);
});

test('ether is transferred', async () => {
  const { client, wallet } = await connect(freshAddress());
  const before = await client.getBalance({ address: bob.address });
  const hash = await wallet.sendTransaction({ to: bob.address, value: parseEther('1.5') });
  const receipt = await client.waitForTransactionReceipt({ hash });
  assert.equal(receipt.status, 'success');
  assert.equal(receipt.gasUsed, 21_000n);
  assert.equal(await client.getBalance({ address: bob.address }), before + parseEther('1.5'));
  const transaction = await client.getTransaction({ hash });
  assert.equal(transaction.from, alice.address.toLowerCase());
  assert.equal(transaction.type, 'eip1559');
  assert.equal(transaction.blockHash, receipt.blockHash);
  const block = await client.getBlock({ blockHash: receipt.blockHash, includeTransactions: true });
  assert.equal(block.transactions[receipt.transactionIndex].hash, hash);
});

test('a token is deployed, called, sent and found in logs', async () => {
  const shard = await connect(freshAddress());
  const { client, wallet } = shard;
  const { address } = await deploy(shard);
  const token = getContract({ address, abi, client: { public: client, wallet } });
  assert.equal(await token.read.name(), 'Shift');
  assert.equal(await token.read.balanceOf([alice.address]), SUPPLY);
  assert.ok((await client.getCode({ address })).length > 100);

  const gas = await token.estimateGas.transfer([bob.address, 5n]);
  const hash = await token.write.transfer([bob.address, 5n]);
  const receipt = await client.waitForTransactionReceipt({ hash });
  assert.equal(receipt.status, 'success');
  assert.ok(receipt.gasUsed <= gas && gas < receipt.gasUsed * 2n, `estimated ${gas}, used ${receipt.gasUsed}`);
  assert.equal(await token.read.balanceOf([bob.address]), 5n);
  assert.equal(BigInt(await client.getStorageAt({ address, slot: '0x0' })), SUPPLY);
  // Before it was sent he had none.
  const earlier = { blockNumber: receipt.blockNumber - 1n };
  assert.equal(await token.read.balanceOf([bob.address], earlier), 0n);

  const logs = await client.getLogs({ address, event: TRANSFER, args: { to: bob.address }, fromBlock: 0n });
  assert.equal(logs.length, 1);
  assert.deepEqual(logs[0].args, { from: alice.address, to: bob.address, value: 5n });
  assert.equal(logs[0].transactionHash, hash);
});

test('a call that is refused tells why, as the contract put it', async () => {
  const shard = await connect(freshAddress(), bob.key);
  const { address } = await deploy(shard);
  const transfer = { address, abi, functionName: 'transfer', args: [bob.address, 1n], account: carol.address };
  const error = await shard.client.simulateContract(transfer).catch((error) => error);
  assert.equal(error.walk((cause) => cause.data?.errorName)?.data.errorName, 'InsufficientBalance', error);
  const cause = await shard.client.estimateContractGas(transfer).catch((error) => error);
  assert.match(`${cause}`, /InsufficientBalance/);
});

test('filters tell what is new, once', async () => {
  const shard = await connect(freshAddress());
  const { client, wallet } = shard;
  const { address } = await deploy(shard);
  const events = await client.createContractEventFilter({ address, abi, eventName: 'Transfer' });
  const blocks = await client.createBlockFilter();
  const pending = await client.createPendingTransactionFilter();
  const transfer = { address, abi, functionName: 'transfer', args: [carol.address, 7n] };
  const hash = await wallet.writeContract(transfer);
  const { blockHash } = await client.waitForTransactionReceipt({ hash });
  const news = await client.getFilterChanges({ filter: events });
  assert.deepEqual(news.map((log) => log.args.value), [7n]);
  assert.deepEqual(await client.getFilterChanges({ filter: events }), []);
  assert.deepEqual(await client.getFilterChanges({ filter: blocks }), [blockHash]);
  assert.deepEqual(await client.getFilterChanges({ filter: pending }), [hash]);
  assert.equal((await client.getFilterLogs({ filter: events })).length, 1);
  assert.equal(await client.uninstallFilter({ filter: events }), true);
  await assert.rejects(client.getFilterChanges({ filter: events }), /filter not found/i);
});

test('subscriptions over WebSocket tell of blocks, logs and pending transactions', async () => {
  const address = freshAddress();
  const shard = await connect(address);
  const { client, chain, wallet } = shard;
  const token = await deploy(shard);
  const socket = createPublicClient({ chain, transport: webSocket(node.socket(address)) });
  const seen = { blocks: [], logs: [], hashes: [] };
  let all;
  const told = new Promise((resolve, reject) => { all = { resolve, reject }; });
  const check = () => {
    if (seen.blocks.length && seen.logs.length && seen.hashes.length) all.resolve();
  };
  const push = (list) => (items) => { list.push(...[items].flat()); check(); };
  const onError = (error) => all.reject(error);
  // To subscribe takes a moment, and what comes before it is not told.
  const subscribe = (params, onData) =>
    socket.transport.subscribe({ params, onData: ({ result }) => onData(result), onError });
  const subscriptions = [
    await subscribe(['newHeads'], push(seen.blocks)),
    await subscribe(['logs', { address: token.address }], push(seen.logs)),
    await subscribe(['newPendingTransactions'], push(seen.hashes)),
  ];
  const transfer = { address: token.address, abi, functionName: 'transfer', args: [carol.address, 9n] };
  const hash = await wallet.writeContract(transfer);
  const receipt = await client.waitForTransactionReceipt({ hash });
  await told;
  assert.equal(seen.blocks[0].hash, receipt.blockHash);
  assert.equal(seen.logs[0].transactionHash, hash);
  assert.equal(seen.hashes[0], hash);
  for (const subscription of subscriptions) await subscription.unsubscribe();
  (await socket.transport.getRpcClient()).close();
});

test('ten sends that nobody waits for are ten transactions in order', async () => {
  const { client, wallet } = await connect(freshAddress(), carol.key);
  const first = await client.getTransactionCount({ address: carol.address });
  const sends = Array.from({ length: 10 }, (_, index) =>
    wallet.sendTransaction({ to: bob.address, value: BigInt(index + 1) }));
  const hashes = await Promise.all(sends);
  const receipts = await Promise.all(hashes.map((hash) => client.waitForTransactionReceipt({ hash })));
  assert.deepEqual(receipts.map((receipt) => receipt.status), Array(10).fill('success'));
  const nonces = await Promise.all(hashes.map(async (hash) => (await client.getTransaction({ hash })).nonce));
  assert.deepEqual(nonces.sort((a, b) => a - b), Array.from({ length: 10 }, (_, index) => first + index));
});

test('the node numbers ten sends of an account that it signs for', async () => {
  const { chain, client } = await connect(freshAddress());
  const transport = http(client.transport.url);
  const wallet = createWalletClient({ chain, transport, account: bob.address });
  assert.ok((await wallet.getAddresses()).includes(bob.address));
  const first = await client.getTransactionCount({ address: bob.address });
  const sends = Array.from({ length: 10 }, () =>
    wallet.sendTransaction({ to: carol.address, value: 1n, gas: 21_000n }));
  const hashes = await Promise.all(sends);
  assert.equal(new Set(hashes).size, 10);
  await Promise.all(hashes.map((hash) => client.waitForTransactionReceipt({ hash })));
  assert.equal(await client.getTransactionCount({ address: bob.address }), first + 10);
});

test('fees are known: price, history, estimate', async () => {
  const { client, wallet } = await connect(freshAddress());
  const hash = await wallet.sendTransaction({ to: bob.address, value: 1n });
  const { blockNumber } = await client.waitForTransactionReceipt({ hash });
  const { baseFeePerGas } = await client.getBlock({ blockNumber });
  assert.ok(await client.getGasPrice() > 0n);
  assert.ok(await client.estimateMaxPriorityFeePerGas() >= 0n);
  const fees = await client.estimateFeesPerGas();
  assert.ok(fees.maxFeePerGas >= baseFeePerGas);
  const history = await client.getFeeHistory({ blockCount: 1, blockNumber, rewardPercentiles: [25, 75] });
  assert.equal(history.oldestBlock, blockNumber);
  assert.equal(history.baseFeePerGas[0], baseFeePerGas);
  assert.equal(history.baseFeePerGas.length, 2);
  assert.equal(history.reward[0].length, 2);
  const gas = await client.estimateGas({ account: alice.address, to: bob.address, value: 1n });
  assert.equal(gas, 21_000n);
});

test('a transaction is traced', async () => {
  const shard = await connect(freshAddress());
  const { address, receipt } = await deploy(shard);
  const trace = (options) => shard.client.request({
    method: 'debug_traceTransaction', params: [receipt.transactionHash, options],
  });
  const call = await trace({ tracer: 'callTracer' });
  assert.equal(call.type, 'CREATE');
  assert.equal(call.to, address.toLowerCase());
  assert.equal(BigInt(call.gasUsed), receipt.gasUsed);
  const steps = await trace({});
  assert.equal(BigInt(steps.gas), receipt.gasUsed);
  assert.equal(steps.failed, false);
  assert.equal(steps.structLogs[0].op, 'PUSH1');
  const before = await trace({ tracer: 'prestateTracer' });
  assert.ok(alice.address.toLowerCase() in before);
});

test('a batch of requests is answered item by item', async () => {
  const { client } = await connect(freshAddress(), alice.key, { batch: true });
  const balances = await Promise.all([alice, bob, carol].map(({ address }) => client.getBalance({ address })));
  assert.equal(balances.length, 3);
  assert.ok(balances.every((balance) => balance > 0n));
});

test('a transaction of one shard is refused in another', { skip: !hasShards }, async () => {
  const [here, there] = [freshAddress(), freshAddress()];
  const { client, wallet } = await connect(here);
  const request = await wallet.prepareTransactionRequest({ to: bob.address, value: 1n });
  const raw = await wallet.signTransaction(request);
  const elsewhere = await connect(there);
  const error = await elsewhere.client.sendRawTransaction({ serializedTransaction: raw }).catch((error) => error);
  assert.match(`${error}`, /invalid chain id/);
  const { error: raw_error } = await ask(node.shard(there), 'eth_sendRawTransaction', raw);
  assert.equal(raw_error.code, -32000);
  const hash = await client.sendRawTransaction({ serializedTransaction: raw });
  assert.equal((await client.waitForTransactionReceipt({ hash })).status, 'success');
  assert.equal(await elsewhere.client.getBlockNumber(), 0n);
});
