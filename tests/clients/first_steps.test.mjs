// Do the first steps in docs/node.md work, as they stand there?
//
// Blocks of the page below `<!-- first steps: NAME -->` are run with only the port changed.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { rpc, startNode } from './support/node.mjs';
import { run } from './support/program.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const SHARD = '0x00000000000000000000000000000000000000AA';
let node;

before(async () => { node = await startNode(); });
after(() => node.stop());

/** The text of a block, for our port. */
function block(name) {
  const page = readFileSync(process.env.GUIDE, 'utf8');
  const text = page.split(`<!-- first steps: ${name} -->`)[1]?.match(/^\s*```\w*\n([^]*?)\n```/)?.[1];
  assert.ok(text, `the page has no block ${name}`);
  return text.replaceAll('http://127.0.0.1:8545', node.url).replaceAll('ws://127.0.0.1:8545', node.url.replace('http', 'ws'));
}

test('with cast', async () => {
  process.env.SH = '/bin/sh';
  const path = `${dirname(process.env.CAST)}:${process.env.PATH}`;
  const env = { ...process.env, PATH: path, NO_COLOR: '1' };
  const output = await run('sh', ['-e', '-c', block('cast')], { env });
  assert.match(output, /^10000000000000000000000\b/, output);
  assert.match(output, /status\s+1/);
  assert.equal(await rpc(node.shard(SHARD), 'eth_getBalance', SHARD, 'latest'), '0xde0b6b3a7640000');
});

test('with viem', async () => {
  // Beside the packages.
  const dir = mkdtempSync(join(here, 'first-steps-'));
  try {
    writeFileSync(join(dir, 'first.mjs'), block('viem'));
    process.env.NODE = process.execPath;
    const output = await run('node', [join(dir, 'first.mjs')]);
    assert.match(output, /success/);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
