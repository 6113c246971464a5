// How does a suite get a node of its own, and speak to it without any client?
//
// The binary is named by SHIFTWORK, anvil's by ANVIL. Where SHIFTWORK is "anvil" the suites run
// against anvil instead, which knows no shards: so one sees whether a suite is right.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

export const contracts = JSON.parse(
  readFileSync(join(here, '..', 'contracts.json'), 'utf8'),
);
/** The words that the development accounts come from. */
export const mnemonic = 'test test test test test test test test test test test junk';
/** The first two of them, and what they own at the beginning. */
export const alice = {
  address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  key: '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
};
export const bob = {
  address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  key: '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
};
export const carol = {
  address: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  key: '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
};
export const FUNDED = 10_000n * 10n ** 18n;
/** Whether there are shards: anvil, as a stand-in, has one chain for all. */
export const hasShards = process.env.SHIFTWORK !== 'anvil';

/** A program that serves JSON-RPC, with its output kept for whoever has to explain a failure. */
class Server {
  constructor(program, args, url, child) {
    Object.assign(this, { program, args, url, child, output: '' });
  }

  /** The endpoint of a shard. */
  shard(address) {
    return hasShards ? `${this.url}/shard/${address}` : this.url;
  }

  /** The same over WebSocket. */
  socket(address) {
    return this.shard(address).replace('http', 'ws');
  }

  async stop(signal = 'SIGTERM') {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill(signal);
    await ended;
  }
}

async function start(program, args, url) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const server = new Server(program, args, url, child);
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`${program} ended with ${code ?? signal}:\n${server.output}`);
  });
  ended.catch(() => {});
  const listening = new Promise((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        server.output = (server.output + line + '\n').slice(-20_000);
        const found = line.match(/https?:\/\/127\.0\.0\.1:(\d+)/) ?? line.match(/Listening on 127\.0\.0\.1:(\d+)/);
        if (found) resolve(`http://127.0.0.1:${found[1]}`);
      });
    }
  });
  server.url = await Promise.race([listening, ended]);
  process.once('exit', () => child.kill('SIGKILL'));
  return server;
}

/** A node on a port of its own, in memory unless told otherwise. */
export function startNode(...args) {
  if (!hasShards) return startAnvil('--steps-tracing');
  const where = args.includes('--data-dir') ? [] : ['--in-memory'];
  const port = args.includes('--http.port') ? [] : ['--http.port', '0'];
  return start(process.env.SHIFTWORK, ['node', ...port, ...where, ...args]);
}

export function startAnvil(...args) {
  const port = args.includes('--port') ? [] : ['--port', '0'];
  return start(process.env.ANVIL, [...port, ...args]);
}

/** A port that was free a moment ago, for what must come back at the same place. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

async function post(url, body) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  return response.json();
}

/** An answer of any kind: `{ result }` or `{ error }`. */
export function ask(url, method, ...params) {
  return post(url, { jsonrpc: '2.0', id: 1, method, params });
}

/** The answers to many questions `[method, ...params]`, 100 at a time, in the order of the questions. */
export async function batch(url, questions) {
  const answers = [];
  for (let at = 0; at < questions.length; at += 100) {
    const some = questions.slice(at, at + 100);
    answers.push(...await post(url, some.map(([method, ...params], id) => ({ jsonrpc: '2.0', id: at + id, method, params }))));
  }
  return answers.sort((a, b) => a.id - b.id);
}

/** The result, or an exception that says what was answered. */
export async function rpc(url, method, ...params) {
  const { result, error } = await ask(url, method, ...params);
  if (error) throw new Error(`${method}(${JSON.stringify(params)}): ${error.code} ${error.message}`);
  return result;
}

/** The receipt, as soon as there is one. */
export function receipt(url, hash) {
  return until(`a receipt of ${hash}`, () => rpc(url, 'eth_getTransactionReceipt', hash));
}

/** Asks again and again until the answer is not null, false or undefined. */
export async function until(what, question, seconds = 20) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const answer = await question();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`waited ${seconds} s for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

let shards = 0;
/** An address that nobody has used yet. */
export function freshAddress() {
  shards += 1;
  return `0x${'5a'.repeat(16)}${(0x10000000 + shards).toString(16)}`;
}
