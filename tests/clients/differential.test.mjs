// Does a shard do what anvil does, transaction by transaction?
//
// Random sequences are sent to both, with the same hard fork, chain id and accounts. All of every
// answer is compared: receipts, balances, nonces, code, storage, traces. ALLOWED is what may
// differ, each entry with its reason; anything else fails. SHIFTWORK_SEED chooses a sequence.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forbidden } from './support/compare.mjs';
import { ask, freshAddress, hasShards, rpc, startAnvil, startNode, until } from './support/node.mjs';
import { Random } from './support/random.mjs';
import { Scenario } from './support/scenario.mjs';

const SEEDS = process.env.SHIFTWORK_SEED ? [BigInt(process.env.SHIFTWORK_SEED)] : [1n, 2n, 3n];
const STEPS = Number(process.env.SHIFTWORK_TRANSACTIONS ?? 100);
const CHAIN_ID = 31337;
const BASE_FEE = 1_000_000_000;
const COINBASE = '0x0000000000000000000000000000000000000000';

const ALLOWED = [
  { path: /\.(blockHash|blockTimestamp)$/, reason: 'the time is another, and so are the hashes of blocks' },
];

const ANVIL = [
  '--hardfork', 'osaka', '--chain-id', `${CHAIN_ID}`, '--gas-limit', '30000000', '--steps-tracing',
  '--block-base-fee-per-gas', `${BASE_FEE}`, '--disable-min-priority-fee', '--enable-tx-gas-limit',
  '--disable-default-create2-deployer', '--no-mining',
];
const NODE = ['--hardfork', 'osaka', '--shared-chain-id', '--chain-id', `${CHAIN_ID}`, '--block-gas-limit', '30000000'];

for (const seed of SEEDS) {
  test(`${STEPS} steps from seed ${seed}`, { timeout: 120_000 }, async () => {
    const [node, anvil] = await Promise.all([hasShards ? startNode(...NODE) : startAnvil(...ANVIL), startAnvil(...ANVIL)]);
    try {
      const pair = new Pair(node.shard(freshAddress()), anvil.url);
      const scenario = new Scenario(new Random(seed), CHAIN_ID);
      for (let step = 0; step < STEPS; step += 1) {
        const { name, transactions } = await scenario.next();
        pair.where = `step ${step} (${name}) of seed ${seed}`;
        await pair.send(transactions);
      }
      assert.ok(pair.included > STEPS / 2, `only ${pair.included} of ${STEPS} were included`);
      console.log(`seed ${seed}: ${pair.included} included, ${pair.failed} of them failed, ${pair.refused} refused`);
    } finally {
      await Promise.all([node.stop('SIGKILL'), anvil.stop('SIGKILL')]);
    }
  });
}

/** The two that are compared. */
class Pair {
  constructor(ours, theirs) {
    Object.assign(this, { ours, theirs, included: 0, failed: 0, refused: 0, where: '', used: new Set() });
  }

  /** The answers of both. */
  both(method, ...params) {
    return Promise.all([this.ours, this.theirs].map((url) => ask(url, method, ...params)));
  }

  equal(path, ours, theirs) {
    const found = forbidden(ours, theirs, path, ALLOWED, this.used);
    const show = (value) => JSON.stringify(value)?.slice(0, 200);
    const text = found.slice(0, 12).map(({ path, ours, theirs }) => `  ${path}: we ${show(ours)}, anvil ${show(theirs)}`);
    assert.ok(found.length === 0, `${this.where}: ${found.length} differences\n${text.join('\n')}`);
  }

  async same(path, method, ...params) {
    const [ours, theirs] = await this.both(method, ...params);
    this.equal(path, ours, theirs);
    return ours.result;
  }

  async send(transactions) {
    // A shard's base fee stays as it is, since its blocks are paid for otherwise.
    for (const url of hasShards ? [this.theirs] : [this.ours, this.theirs]) {
      await rpc(url, 'anvil_setNextBlockBaseFeePerGas', `0x${BASE_FEE.toString(16)}`);
    }
    const accepted = new Map();
    for (const { raw, sender, to } of transactions) {
      const [ours, theirs] = await this.both('eth_sendRawTransaction', raw);
      this.equal('accepted', ours.result, theirs.result);
      if (ours.error) {
        this.refused += 1;
        this.equal('refusal', kind(ours.error), kind(theirs.error));
      } else {
        accepted.set(ours.result, { sender, to });
      }
    }
    // Mined when told to, so that it is one block, as it is in a shard.
    if (accepted.size > 0) {
      for (const url of hasShards ? [this.theirs] : [this.ours, this.theirs]) await rpc(url, 'evm_mine');
    }
    for (const [hash, transaction] of accepted) await this.included_(hash, transaction);
  }

  async included_(hash, { sender, to }) {
    const [ours, theirs] = await Promise.all([this.ours, this.theirs].map((url) =>
      until(`${hash} of ${this.where} at ${url}`, async () => {
        const receipt = await rpc(url, 'eth_getTransactionReceipt', hash);
        // One that was replaced has none, but then it is not known any more.
        return receipt ?? ((await rpc(url, 'eth_getTransactionByHash', hash)) === null && 'gone');
      })));
    this.equal('receipt', ours, theirs);
    if (ours === 'gone') return;
    this.included += 1;
    if (ours.status === '0x0') this.failed += 1;
    await this.same('transaction', 'eth_getTransactionByHash', hash);
    await this.same('callTracer', 'debug_traceTransaction', hash, { tracer: 'callTracer', tracerConfig: { withLog: true } });
    await this.same('structLogs', 'debug_traceTransaction', hash, {});
    const state = await this.same('prestate', 'debug_traceTransaction', hash, { tracer: 'prestateTracer' });
    const accounts = new Set([sender, to, ours.contractAddress, COINBASE, ...Object.keys(state)].filter(Boolean));
    await Promise.all([...accounts].flatMap((address) => [
      this.same(`balance of ${address}`, 'eth_getBalance', address, 'latest'),
      this.same(`nonce of ${address}`, 'eth_getTransactionCount', address, 'latest'),
      this.same(`code of ${address}`, 'eth_getCode', address, 'latest'),
      ...Object.keys(state[address]?.storage ?? {}).map((slot) =>
        this.same(`slot ${slot} of ${address}`, 'eth_getStorageAt', address, slot, 'latest')),
    ]));
  }
}

/** Words differ from client to client; what they are about may not. */
function kind(error) {
  const kinds = [
    'nonce too low', 'already known', 'underpriced', 'insufficient funds', 'intrinsic gas too low', 'chain id',
    'gas limit',
  ];
  const message = error?.message.toLowerCase() ?? '';
  return kinds.find((kind) => message.includes(kind)) ?? message;
}
