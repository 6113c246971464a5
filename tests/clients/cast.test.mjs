// Does cast work against a shard, unchanged?

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  FUNDED, alice, bob, carol, contracts, freshAddress, hasShards, startNode,
} from './support/node.mjs';
import { run } from './support/program.mjs';

const ETHER = 10n ** 18n;
let node;

before(async () => { node = await startNode(); });
after(() => node.stop());

/** `cast COMMAND` with a shard's endpoint. */
const cast = (shard, command, ...args) =>
  run('cast', [command, '--rpc-url', node.shard(shard), ...args]);
const json = async (shard, command, ...args) => JSON.parse(await cast(shard, command, '--json', ...args));
const send = (shard, ...args) => json(shard, 'send', '--private-key', alice.key, ...args);

async function deploy(shard) {
  const supply = (1000n * ETHER).toString(16).padStart(64, '0');
  const receipt = await send(shard, '--create', contracts.Token.bytecode + supply);
  assert.equal(receipt.status, '0x1');
  return receipt;
}

test('a shard that nobody has used can be asked', async () => {
  const shard = freshAddress();
  assert.equal(await cast(shard, 'balance', alice.address), FUNDED.toString());
  assert.equal(await cast(shard, 'nonce', alice.address), '0');
  assert.equal(await cast(shard, 'block-number'), '0');
  assert.equal(await cast(shard, 'block', 'latest', '--field', 'number'), '0');
  assert.equal(await cast(shard, 'code', bob.address), '0x');
  assert.match(await cast(shard, 'chain-id'), /^\d+$/);
  if (hasShards) assert.match(await cast(shard, 'client'), /^shiftwork/i);
});

test('a send to an address that no one has used makes its shard', async () => {
  const shard = freshAddress();
  const receipt = await send(shard, shard, '--value', '1ether');
  assert.equal(receipt.status, '0x1');
  assert.equal(await cast(shard, 'balance', shard), ETHER.toString());
  if (hasShards) {
    assert.equal(await cast(shard, 'nonce', alice.address), '1');
    assert.equal(await cast(shard, 'block-number'), '1');
  }
});

test('a token is deployed, called, sent, estimated and read', async () => {
  const shard = freshAddress();
  const { contractAddress: token } = await deploy(shard);
  const balance = (who) => cast(shard, 'call', token, 'balanceOf(address)(uint256)', who);
  assert.match(await balance(alice.address), /^1000000000000000000000\b/);
  assert.equal(await cast(shard, 'call', token, 'symbol()(string)'), '"SHFT"');

  const transfer = ['transfer(address,uint256)', bob.address, '5'];
  const estimate = BigInt(await cast(shard, 'estimate', token, ...transfer, '--from', alice.address));
  const receipt = await send(shard, token, ...transfer);
  assert.equal(receipt.status, '0x1');
  assert.ok(BigInt(receipt.gasUsed) <= estimate, `estimated ${estimate}, used ${receipt.gasUsed}`);
  assert.equal(await balance(bob.address), '5');

  const hash = receipt.transactionHash;
  assert.equal(await cast(shard, 'receipt', hash, 'blockHash'), receipt.blockHash);
  assert.equal((await cast(shard, 'tx', hash, 'from')).toLowerCase(), alice.address.toLowerCase());
  assert.equal(BigInt(await cast(shard, 'storage', token, '0')), 1000n * ETHER);
  assert.ok((await cast(shard, 'code', token)).length > 100);
  const block = await json(shard, 'block', receipt.blockNumber);
  assert.equal(block.hash, receipt.blockHash);
  assert.deepEqual(block.transactions, [hash]);
});

test('logs are found by event and topic', async () => {
  const shard = freshAddress();
  const { contractAddress: token } = await deploy(shard);
  const { transactionHash } = await send(shard, token, 'transfer(address,uint256)', carol.address, '7');
  const event = 'Transfer(address indexed from, address indexed to, uint256 value)';
  const all = await json(shard, 'logs', '--from-block', '0', '--address', token, event);
  assert.equal(all.length, 2);
  const carols = await json(
    shard, 'logs', '--from-block', '0', '--address', token, event, '', carol.address);
  assert.deepEqual(carols.map((log) => log.transactionHash), [transactionHash]);
});

test('a transaction is run again, and traced by the node', async () => {
  const shard = freshAddress();
  const { contractAddress: token } = await deploy(shard);
  const { transactionHash, gasUsed } = await send(
    shard, token, 'transfer(address,uint256)', bob.address, '5');
  const again = await cast(shard, 'run', transactionHash);
  assert.match(again, /emit Transfer|emit topic 0/);
  assert.match(again, /Transaction successfully executed/);
  assert.ok(again.includes(`Gas used: ${BigInt(gasUsed)}`), again);
  const call = JSON.parse(await cast(
    shard, 'rpc', 'debug_traceTransaction', transactionHash, '{"tracer":"callTracer"}'));
  assert.equal(call.gasUsed, gasUsed);
  const flat = JSON.parse(await cast(shard, 'rpc', 'trace_transaction', transactionHash));
  assert.equal(flat.length, 1);
  assert.equal(flat[0].action.to, token.toLowerCase());
});

test('a call that is refused says so', async () => {
  const shard = freshAddress();
  const { contractAddress: token } = await deploy(shard);
  const transfer = ['transfer(address,uint256)', bob.address, '5000ether', '--from', carol.address];
  await assert.rejects(cast(shard, 'call', token, ...transfer), /execution reverted|InsufficientBalance/);
  await assert.rejects(cast(shard, 'estimate', token, ...transfer), /execution reverted|InsufficientBalance/);
});

test('fees, access lists and legacy transactions', async () => {
  const shard = freshAddress();
  const { contractAddress: token } = await deploy(shard);
  assert.ok(BigInt(await cast(shard, 'gas-price')) > 0n);
  assert.ok(BigInt(await cast(shard, 'base-fee')) >= 0n);
  const list = await json(
    shard, 'access-list', token, 'transfer(address,uint256)', bob.address, '5', '--from', alice.address);
  assert.equal(list.accessList[0].address.toLowerCase(), token.toLowerCase());
  assert.equal(list.accessList[0].storageKeys.length, 2);
  const legacy = await send(shard, bob.address, '--value', '1', '--legacy');
  assert.equal(legacy.type, '0x0');
  assert.equal(legacy.status, '0x1');
});

test('the node signs for its accounts', async () => {
  const shard = freshAddress();
  const receipt = await json(shard, 'send', '--unlocked', '--from', bob.address, carol.address, '--value', '3');
  assert.equal(receipt.status, '0x1');
  assert.equal(receipt.from, bob.address.toLowerCase());
});

test('a transaction of one shard is refused in another', { skip: !hasShards }, async () => {
  const [here, there] = [freshAddress(), freshAddress()];
  const raw = await cast(here, 'mktx', '--private-key', alice.key, bob.address, '--value', '1');
  await assert.rejects(cast(there, 'publish', raw), /invalid chain id/);
  const receipt = await json(here, 'publish', raw);
  assert.equal(receipt.status, '0x1');
});
