// What became of one transaction?

import { el, facts, hash, panel } from './dom.js';
import { count, ether, gwei, number, plural, size } from './format.js';
import { ask, askAll, at } from './rpc.js';
import { crumbs, trouble } from './crumbs.js';
import { follow } from './follow.js';
import { traceTree } from './trace.js';

/** The page of a transaction. One that waits is looked at again when its shard has done something. */
export function transaction({ state }, shard, name) {
  const home = `#/shard/${shard}`;
  const [problem, body] = [el('div'), el('div')];
  const title = el('h1', {}, 'Transaction ', el('span.break', {}, name));
  const element = el('div.page', {}, crumbs(shard, 'Transaction'), title, problem, body);
  let settled = false;
  const { update } = follow(state, shard, problem, async () => {
    if (settled) return;
    const [one, receipt, status] = await askAll(at(shard), [
      ['eth_getTransactionByHash', name], ['eth_getTransactionReceipt', name], ['shard_getTransactionStatus', name],
    ]);
    settled = Boolean(receipt);
    body.replaceChildren(...show(home, one, receipt, status));
    if (receipt) body.append(await trace(shard, name, home));
  });
  return { title: 'Transaction', element, update };
}

function show(home, one, receipt, status) {
  if (!one) {
    const why = status ? `It was ${status.status}${status.reason ? `: ${status.reason}` : ''}.` : 'It was never accepted here.';
    return [el('p.panel', {}, `This shard has no such transaction. ${why}`)];
  }
  const party = (address) => hash(address, `${home}/address/${address}`);
  return [
    panel('about', 'Transaction', [state(receipt)], facts([
      ['Block', receipt ? el('a', { href: `${home}/block/${number(receipt.blockNumber)}` }, count(number(receipt.blockNumber))) : 'in the pool'],
      ['From', party(one.from)],
      ['To', one.to ? party(one.to) : 'a new contract'],
      receipt?.contractAddress && ['Contract', party(receipt.contractAddress)],
      ['Value', ether(one.value)],
      ['Nonce', count(number(one.nonce))],
      ['Gas', receipt ? `${count(number(receipt.gasUsed))} of ${count(number(one.gas))}` : `at most ${count(number(one.gas))}`],
      receipt && ['Price', gwei(receipt.effectiveGasPrice)],
      receipt && ['Fee', ether(BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice))],
      ['Input', one.input === '0x' ? 'none' : bytes(one.input)],
    ])),
    ...(receipt ? [logs(home, receipt.logs)] : []),
  ];
}

function state(receipt) {
  if (!receipt) return el('span.badge', { 'data-state': 'queued' }, 'waiting');
  const good = number(receipt.status) === 1;
  return el('span.badge', { 'data-state': good ? 'good' : 'quarantined' }, good ? 'success' : 'failed');
}

/** Long bytes are behind a click. */
function bytes(hex) {
  return el('details', {}, el('summary', {}, plural(size(hex), 'byte')), el('code.bytes', {}, hex));
}

function logs(home, all) {
  if (all.length === 0) return panel('logs', 'Logs', [], el('p.muted.empty', {}, 'None.'));
  return panel('logs', `Logs (${count(all.length)})`, [], el('ol.plain', {}, ...all.map((log) => el('li', {}, facts([
    ['Contract', hash(log.address, `${home}/address/${log.address}`)],
    ...log.topics.map((topic, index) => [`Topic ${index}`, hash(topic)]),
    log.data !== '0x' && ['Data', bytes(log.data)],
  ])))));
}

/** The calls inside, asked for by the page and made by the node from a second execution. */
async function trace(shard, name, home) {
  const box = panel('trace', 'Call trace', []);
  try {
    const call = await ask(at(shard), 'debug_traceTransaction', name, { tracer: 'callTracer', tracerConfig: { withLog: true } });
    box.append(traceTree(call, home));
  } catch (error) {
    box.append(trouble(error));
  }
  return box;
}
