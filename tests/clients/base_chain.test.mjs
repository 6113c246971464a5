// Do the blocks of a real chain become what transactions in a shard see? The chain is anvil.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPublicClient, createWalletClient, defineChain, http, parseEventLogs } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import {
  alice, contracts, freePort, freshAddress, rpc, startAnvil, startNode, until,
} from './support/node.mjs';

const { abi, bytecode } = contracts.Surroundings;
const MINER = '0x00000000000000000000000000000000000c0ffe';
/** More than any base fee here: under a chain that comes back dearer, a transaction still goes. */
const FEES = { maxFeePerGas: 100n * 10n ** 9n, maxPriorityFeePerGas: 1n };
const hex = (number) => `0x${number.toString(16)}`;

/** A shard with a contract that tells what it sees. */
async function connect(node) {
  const url = node.shard(freshAddress());
  const id = Number(await rpc(url, 'eth_chainId'));
  const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 };
  const chain = defineChain({ id, name: 'shard', nativeCurrency, rpcUrls: { default: { http: [url] } } });
  const client = createPublicClient({ chain, transport: http(), pollingInterval: 50, cacheTime: 0 });
  const account = privateKeyToAccount(alice.key);
  const wallet = createWalletClient({ chain, transport: http(), account });
  const included = async (hash) => client.waitForTransactionReceipt({ hash });
  const { contractAddress: address } = await included(await wallet.deployContract({ abi, bytecode, ...FEES }));
  return {
    chainId: id,
    /** What a transaction sees. */
    async record() {
      const receipt = await included(await wallet.writeContract({ address, abi, functionName: 'record', ...FEES }));
      assert.equal(receipt.status, 'success');
      return parseEventLogs({ abi, logs: receipt.logs, eventName: 'Looked' })[0].args;
    },
    /** What a call sees. */
    look: (blockTag) => client.readContract({ address, abi, functionName: 'look', blockTag }),
  };
}

/** The newest block of the base chain, as a contract on it would see it. */
async function newest(base) {
  const block = await rpc(base.url, 'eth_getBlockByNumber', 'latest', false);
  return {
    number: BigInt(block.number),
    timestamp: BigInt(block.timestamp),
    baseFee: BigInt(block.baseFeePerGas),
    coinbase: block.miner.toLowerCase(),
    prevrandao: BigInt(block.mixHash),
    parentHash: block.parentHash,
  };
}

/** Waits until transactions see that block, and compares all they see with it. */
async function seen(shard, block) {
  // A call in the next block sees it before any transaction has.
  const next = await until(`block ${block.number} to be the next`, async () => {
    const next = await shard.look('pending');
    return next.number === block.number && next;
  });
  assert.equal(next.coinbase.toLowerCase(), block.coinbase);
  assert.equal(next.prevrandao, block.prevrandao);
  assert.equal(next.parentHash, block.parentHash);
  assert.ok(next.timestamp >= block.timestamp, `${next.timestamp} is before ${block.timestamp}`);
  const { chainId, ...record } = await until(`block ${block.number} in the shard`, async () => {
    const record = await shard.record();
    return record.number === block.number && record;
  });
  // A call sees what the newest transaction has seen.
  assert.equal((await shard.look('latest')).number, block.number);
  assert.equal(chainId, BigInt(shard.chainId));
  const { timestamp, ...rest } = { ...record, coinbase: record.coinbase.toLowerCase() };
  const { timestamp: wanted, ...others } = block;
  assert.deepEqual(rest, others);
  // A block of a shard is never older than the one before it.
  assert.ok(timestamp >= wanted, `${timestamp} is before ${wanted}`);
  return timestamp;
}

test('a base chain is seen by transactions, survives its death and its return', { timeout: 120_000 }, async () => {
  const port = `${await freePort()}`;
  const startBase = (...args) => startAnvil('--port', port, '--no-mining', ...args);
  let base = await startBase();
  await rpc(base.url, 'anvil_setCoinbase', MINER);
  await rpc(base.url, 'anvil_mine', hex(5));
  const node = await startNode('--base-chain-url', base.url, '--block-poll-interval', '50ms');
  try {
    const shard = await connect(node);
    const first = await newest(base);
    assert.equal(first.coinbase, MINER);
    assert.equal(await seen(shard, first), first.timestamp);

    // It goes on, with another base fee, and a minute later.
    await rpc(base.url, 'evm_setNextBlockTimestamp', hex(first.timestamp + 60n));
    await rpc(base.url, 'anvil_setNextBlockBaseFeePerGas', hex(7n));
    await rpc(base.url, 'evm_mine');
    const second = await newest(base);
    assert.equal(second.baseFee, 7n);
    const before = await seen(shard, second);

    // It dies. Transactions go on under the last block that was seen.
    await base.stop('SIGKILL');
    const alone = await shard.record();
    assert.equal(alone.number, second.number);
    assert.equal(alone.baseFee, 7n);

    // It is back, as a chain that is shorter and was never longer.
    base = await startBase();
    await rpc(base.url, 'anvil_mine', hex(2));
    const third = await newest(base);
    assert.ok(third.number < second.number);
    assert.ok(await seen(shard, third) >= before, 'time has gone back');
    assert.equal((await fetch(`${node.url}/health`)).status, 200);
    assert.equal((await fetch(`${node.url}/ready`)).status, 200);
  } finally {
    await node.stop();
    await base.stop('SIGKILL');
  }
});
