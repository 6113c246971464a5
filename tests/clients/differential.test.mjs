// Does a shard do what anvil does, transaction by transaction?
//
// Random sequences are sent to both, with the same hard fork, chain id and accounts. All of every
// answer is compared: receipts, balances, nonces, code, storage, traces. ALLOWED is what may
// differ, each entry with its reason; anything else fails. SHIFTWORK_SEED chooses a sequence.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forbidden } from './support/compare.mjs';
import { ask, batch, freshAddress, hasShards, rpc, startAnvil, startNode, until } from './support/node.mjs';
import { Random } from './support/random.mjs';
import { Scenario } from './support/scenario.mjs';

const SEEDS = process.env.SHIFTWORK_SEED ? [BigInt(process.env.SHIFTWORK_SEED)] : [1n, 2n, 3n];
const STEPS = Number(process.env.SHIFTWORK_TRANSACTIONS ?? 80);
const CHAIN_ID = 31337;
const BASE_FEE = 1_000_000_000;
const COINBASE = '0x0000000000000000000000000000000000000000';

/** What may differ: where, how if not in any way, and why. */
const ALLOWED = [
  {
    path: /^trace_transaction\.result\[0\]\.action\.gas$/,
    when: ({ ours, theirs }) => BigInt(ours) - BigInt(theirs) >= 21_000n,
    reason: "We tell the transaction's gas limit, as geth's flatCallTracer; anvil and Parity what is left when execution begins.",
  },
  {
    path: /^trace_transaction\.result\[0\]\.result\.gasUsed$/,
    when: ({ ours }, receipt) => BigInt(ours) === BigInt(receipt.gasUsed),
    reason: 'The same: we tell what the transaction has paid for.',
  },
  {
    path: /^trace_transaction\.result\[\d+\]$/,
    when: ({ ours, theirs }) => ours === undefined && isPrecompile(theirs.action.to),
    reason: 'Calls of precompiles are left out, as Parity does; anvil lists them.',
  },
  {
    path: /^trace_transaction\.result\[\d+\]\.subtraces$/,
    when: ({ ours, theirs }) => ours + 1 === theirs,
    reason: 'The same. Here nothing calls more than one of them; others that are missing fail by themselves.',
  },
  {
    path: /^trace_transaction\.result\[\d+\]\.error$/,
    when: ({ ours, theirs }) => SAME_FLAT_FAILURE[ours] === theirs,
    reason: "anvil has revm's names for some failures where we have Parity's words.",
  },
  {
    path: /^refusal\.code$/,
    when: ({ ours, theirs }) => ours === -32000 && theirs === -32003,
    reason: "geth's pool refuses with the code of any server error; anvil has one for rejected transactions.",
  },
  {
    path: /\.(blockHash|blockTimestamp)$/,
    reason: 'The time is another, and so are the hashes of blocks.',
  },
  {
    path: /^receipt\.blobGasPrice$/,
    when: ({ ours, theirs }) => ours === undefined && theirs === '0x1',
    reason: 'Only blob transactions have one in geth; anvil gives it to all.',
  },
  {
    path: /^callTracer\.result\.gas$/,
    when: ({ ours, theirs }) => BigInt(ours) - BigInt(theirs) >= 21_000n,
    reason: "geth tells the transaction's gas limit; anvil what is left of it when execution begins.",
  },
  {
    path: /^prestate\.result\.0x[0-9a-f]{40}$/,
    when: ({ ours, theirs }) => ours === undefined && isEmpty(theirs),
    reason: 'Accounts that were empty are left out, as geth does; anvil lists some of them.',
  },
  {
    path: /^(callTracer\.result\.gasUsed|structLogs\.result\.gas)$/,
    when: ({ ours, theirs }, receipt) =>
      BigInt(ours) === BigInt(receipt.gasUsed) && BigInt(theirs) === BigInt(receipt.cumulativeGasUsed),
    reason: 'anvil counts the transactions before it in the same block too.',
  },
  {
    path: /^callTracer\.result.*\.error$/,
    when: ({ ours, theirs }) => SAME_FAILURE[ours] === theirs,
    reason: "anvil has revm's names for some failures where we have geth's words.",
  },
];

function isEmpty({ balance, nonce, code, storage }) {
  return balance === '0x0' && !nonce && !code && Object.values(storage ?? {}).every((value) => /^0x0+$/.test(value));
}

function isPrecompile(address) {
  return address !== undefined && BigInt(address) > 0n && BigInt(address) <= 0x11n;
}

/** Words of geth's, and revm's for the same. */
const SAME_FAILURE = {
  'contract address collision': 'CreateCollision',
  'invalid opcode': 'NotActivated',
  'stack underflow': 'StackUnderflow',
  'write protection': 'StateChangeDuringStaticCall',
};

/** Words of Parity's, and revm's for the same. */
const SAME_FLAT_FAILURE = {
  'Bad instruction': 'NotActivated',
  'Contract address collision': 'CreateCollision',
  'Mutable Call In Static Context': 'StateChangeDuringStaticCall',
  'Stack underflow': 'StackUnderflow',
};

const ANVIL = [
  '--hardfork', 'osaka', '--chain-id', `${CHAIN_ID}`, '--gas-limit', '30000000', '--steps-tracing',
  '--block-base-fee-per-gas', `${BASE_FEE}`, '--disable-min-priority-fee', '--enable-tx-gas-limit',
  '--disable-default-create2-deployer', '--no-mining',
];
const NODE = ['--hardfork', 'osaka', '--shared-chain-id', '--chain-id', `${CHAIN_ID}`, '--block-gas-limit', '30000000'];

for (const seed of SEEDS) {
  test(`${STEPS} steps from seed ${seed}`, { timeout: 300_000 }, async () => {
    const [node, anvil] = await Promise.all([hasShards ? startNode(...NODE) : startAnvil(...ANVIL), startAnvil(...ANVIL)]);
    try {
      const pair = new Pair(node.shard(freshAddress()), anvil.url);
      const scenario = new Scenario(new Random(seed), CHAIN_ID);
      for (let step = 0; step < STEPS; step += 1) {
        const { name, transactions } = await scenario.next();
        pair.where = `step ${step} (${name}) of seed ${seed}`;
        await pair.send(transactions);
      }
      assert.ok(pair.found.size === 0, pair.report());
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
    Object.assign(this, { ours, theirs, included: 0, failed: 0, refused: 0, where: '', receipt: null, found: new Map() });
  }

  /** The answers of both. */
  both(method, ...params) {
    return Promise.all([this.ours, this.theirs].map((url) => ask(url, method, ...params)));
  }

  /** Notes what differs and may not; places that are alike are noted once. */
  equal(path, ours, theirs) {
    for (const { path: at, ours: we, theirs: they } of forbidden(ours, theirs, path, ALLOWED, this.receipt)) {
      const alike = at.replace(/0x[0-9a-f]+/gi, '…').replace(/\d+/g, 'n');
      const show = (value) => JSON.stringify(value)?.slice(0, 200);
      const text = `${this.where}\n    ${at}: we ${show(we)}, anvil ${show(they)}`;
      const noted = this.found.get(alike);
      this.found.set(alike, { text: noted?.text ?? text, times: (noted?.times ?? 0) + 1 });
    }
  }

  /** What was noted, the first of each kind first. */
  report() {
    const lines = [...this.found.values()].map(({ text, times }) => `  ${times} × ${text}`);
    return `${lines.length} differences that are not allowed:\n${lines.slice(0, 20).join('\n')}`;
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
    const replaced = [];
    for (const { raw, sender, nonce, to } of transactions) {
      const [ours, theirs] = await this.both('eth_sendRawTransaction', raw);
      if (ours.result !== theirs.result) {
        // From here on they would go different ways.
        this.equal('accepted', ours.result ?? ours.error.message, theirs.result ?? theirs.error.message);
        assert.fail(this.report());
      }
      if (ours.error) {
        this.refused += 1;
        this.equal('refusal', refusal(ours.error), refusal(theirs.error));
        continue;
      }
      const place = `${sender} ${nonce}`;
      if (accepted.has(place)) replaced.push(accepted.get(place).hash);
      accepted.set(place, { hash: ours.result, sender, to });
    }
    // Mined when told to, so that it is one block, as it is in a shard.
    if (accepted.size > 0) {
      for (const url of hasShards ? [this.theirs] : [this.ours, this.theirs]) await rpc(url, 'evm_mine');
    }
    for (const transaction of accepted.values()) await this.isIncluded(transaction);
    for (const hash of replaced) {
      const receipt = await this.same('receipt of one that was replaced', 'eth_getTransactionReceipt', hash);
      this.equal('receipt of one that was replaced', receipt, null);
    }
  }

  async isIncluded({ hash, sender, to }) {
    const [ours, theirs] = await Promise.all([this.ours, this.theirs].map((url) =>
      until(`${hash} of ${this.where} at ${url}`, () => rpc(url, 'eth_getTransactionReceipt', hash))));
    this.receipt = ours;
    this.equal('receipt', ours, theirs);
    this.included += 1;
    if (ours.status === '0x0') this.failed += 1;
    await this.same('transaction', 'eth_getTransactionByHash', hash);
    await this.same('callTracer', 'debug_traceTransaction', hash, { tracer: 'callTracer', tracerConfig: { withLog: true } });
    await this.same('structLogs', 'debug_traceTransaction', hash, {});
    await this.same('trace_transaction', 'trace_transaction', hash);
    await this.same('diff', 'debug_traceTransaction', hash, { tracer: 'prestateTracer', tracerConfig: { diffMode: true } });
    const state = await this.same('prestate', 'debug_traceTransaction', hash, { tracer: 'prestateTracer' });
    const accounts = new Set([sender, to, ours.contractAddress, COINBASE, ...Object.keys(state)].filter(Boolean));
    const questions = [...accounts].flatMap((address) => [
      ['eth_getBalance', address, 'latest'],
      ['eth_getTransactionCount', address, 'latest'],
      ['eth_getCode', address, 'latest'],
      ...Object.keys(state[address]?.storage ?? {}).map((slot) => ['eth_getStorageAt', address, slot, 'latest']),
    ]);
    const answers = await Promise.all([this.ours, this.theirs].map((url) => batch(url, questions)));
    questions.forEach(([method, ...params], index) =>
      this.equal(`${method} ${params}`, answers[0][index], answers[1][index]));
  }
}

/** Why something was refused, to be compared. */
function refusal(error) {
  return { code: error?.code, kind: kind(error) };
}

/** Words differ from client to client; what they are about may not. */
function kind(error) {
  const kinds = [
    'nonce too low', 'already known', 'underpriced', 'insufficient funds', 'intrinsic gas too low', 'chain id',
    'gas limit',
  ];
  const message = error?.message.toLowerCase().replaceAll('_', ' ') ?? '';
  return kinds.find((kind) => message.includes(kind)) ?? message;
}
