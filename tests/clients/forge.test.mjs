// Does forge deploy to a shard, unchanged?

import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { alice, freshAddress, rpc, startNode } from './support/node.mjs';
import { run } from './support/program.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const home = join(here, 'forge');
const solc = join(here, 'support', 'solc.mjs');
let node;

before(async () => {
  mkdirSync(join(home, 'src'), { recursive: true });
  copyFileSync(join(here, 'contracts', 'Token.sol'), join(home, 'src', 'Token.sol'));
  chmodSync(solc, 0o755);
  node = await startNode();
});
after(() => node.stop());

const forge = (shard, command, ...args) =>
  run('forge', [command, '--use', solc, '--rpc-url', node.shard(shard), ...args], { cwd: home });

test('forge create deploys a contract with its arguments', async () => {
  const shard = freshAddress();
  const output = await forge(
    shard, 'create', 'src/Token.sol:Token', '--private-key', alice.key, '--broadcast',
    '--constructor-args', '1000');
  const token = output.match(/Deployed to: (0x[0-9a-fA-F]{40})/)?.[1];
  assert.ok(token, output);
  const supply = await rpc(node.shard(shard), 'eth_call', { to: token, data: '0x18160ddd' }, 'latest');
  assert.equal(BigInt(supply), 1000n);
});

test('forge script broadcasts a row of transactions and waits for them', async () => {
  const shard = freshAddress();
  const output = await forge(
    shard, 'script', 'script/Deploy.s.sol:Deploy', '--private-key', alice.key, '--broadcast');
  assert.match(output, /ONCHAIN EXECUTION COMPLETE & SUCCESSFUL/);
  const chainId = BigInt(await rpc(node.shard(shard), 'eth_chainId'));
  const log = join(home, 'broadcast', 'Deploy.s.sol', `${chainId}`, 'run-latest.json');
  const { transactions, receipts } = JSON.parse(readFileSync(log, 'utf8'));
  assert.deepEqual(receipts.map((receipt) => receipt.status), ['0x1', '0x1', '0x1']);
  const token = transactions[0].contractAddress;
  const balance = { to: token, data: `0x70a08231${'b0b'.padStart(64, '0')}` };
  assert.equal(BigInt(await rpc(node.shard(shard), 'eth_call', balance, 'latest')), 5n);
});
