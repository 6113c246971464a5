// Which transactions does the differential test send?

import { encodeDeployData, encodeFunctionData, getContractAddress } from 'viem';
import { mnemonicToAccount } from 'viem/accounts';
import { contracts, mnemonic } from './node.mjs';

const GWEI = 10n ** 9n;
const { Token, Probe } = contracts;
const PRECOMPILES = Array.from({ length: 0x11 }, (_, index) => `0x${(index + 1).toString(16).padStart(40, '0')}`);

/** Makes one transaction after the other; knows what has been deployed, and the nonces. */
export class Scenario {
  constructor(random, chainId) {
    this.random = random;
    this.chainId = chainId;
    this.accounts = Array.from({ length: 5 }, (_, addressIndex) => mnemonicToAccount(mnemonic, { addressIndex }));
    this.nonces = new Map(this.accounts.map(({ address }) => [address, 0]));
    this.tokens = [];
    this.probes = [];
  }

  /** The next step: signed transactions to be sent in order, and what they are about. */
  async next() {
    const { random } = this;
    if (this.tokens.length === 0) return this.single('deploy a token', this.deploy('tokens', Token, [10n ** 24n]));
    if (this.probes.length === 0) return this.single('deploy a probe', this.deploy('probes', Probe));
    const kinds = [
      [14, 'transfer', () => this.transfer()],
      [3, 'deploy a token', () => this.deploy('tokens', Token, [BigInt(random.next())])],
      [2, 'deploy a probe', () => this.deploy('probes', Probe)],
      [3, 'deploy nonsense', () => ({ data: this.nonsense(), gas: 200_000n })],
      [22, 'token', () => this.token()],
      [44, 'probe', () => this.probe()],
    ];
    const dice = random.below(100);
    if (dice < 4) return this.replacement();
    if (dice < 8) return this.refused();
    let left = random.below(kinds.reduce((sum, [weight]) => sum + weight, 0));
    const [, name, make] = kinds.find(([weight]) => (left -= weight) < 0);
    return this.single(name, make());
  }

  async single(name, fields) {
    const sender = this.random.pick(this.accounts);
    const transactions = [await this.sign(sender, fields)];
    return { name: `${name}${fields.about ? `: ${fields.about}` : ''}`, transactions };
  }

  /** Signs with the sender's next nonce. What is deployed is known from then on. */
  async sign(sender, { about: _, deploys, ...fields }, options = {}) {
    const nonce = options.nonce ?? this.nonces.get(sender.address);
    if (options.nonce === undefined) this.nonces.set(sender.address, nonce + 1);
    if (deploys) this[deploys].push(getContractAddress({ from: sender.address, nonce: BigInt(nonce) }));
    const transaction = { chainId: this.chainId, nonce, gas: 500_000n, ...this.price(), ...fields, ...options.price };
    // anvil takes what has too little gas for its access list, and then can not include it.
    if (transaction.gas < 60_000n && transaction.accessList) transaction.accessList = [];
    const raw = await sender.signTransaction(transaction);
    return { raw, sender: sender.address, nonce, to: fields.to };
  }

  /** Legacy, EIP-2930 or EIP-1559. */
  price() {
    const { random } = this;
    const tip = BigInt(random.below(5)) * GWEI;
    const accessList = this.accessList();
    if (random.chance(20)) return { type: 'legacy', gasPrice: GWEI + tip };
    if (random.chance(25)) return { type: 'eip2930', gasPrice: GWEI + tip, accessList };
    const maxFeePerGas = (1n + BigInt(random.below(8))) * GWEI;
    return { type: 'eip1559', maxFeePerGas, maxPriorityFeePerGas: tip < maxFeePerGas ? tip : maxFeePerGas, accessList };
  }

  accessList() {
    const { random } = this;
    if (random.chance(60)) return [];
    const known = [...this.tokens, ...this.probes, ...this.accounts.map(({ address }) => address)];
    return Array.from({ length: 1 + random.below(3) }, () => ({
      address: random.pick(known),
      storageKeys: Array.from({ length: random.below(3) }, () => `0x${random.below(8).toString(16).padStart(64, '0')}`),
    }));
  }

  someone() {
    const { random } = this;
    if (random.chance(15)) return random.bytes(20);
    return random.pick([...this.accounts.map(({ address }) => address), ...this.probes]);
  }

  transfer() {
    const { random } = this;
    const data = random.chance(20) ? random.bytes(random.below(64)) : '0x';
    const gas = random.chance(20) ? 25_000n : 100_000n;
    return { to: this.someone(), value: BigInt(random.next()), gas, data };
  }

  /** Code that nobody has meant. It may not ask for the time and the like, which are others here. */
  nonsense() {
    const bytes = this.random.bytes(1 + this.random.below(40)).slice(2).match(/../g);
    const ofTime = ['40', '42', '44']; // BLOCKHASH, TIMESTAMP, PREVRANDAO
    return `0x${bytes.map((byte) => (ofTime.includes(byte) ? '00' : byte)).join('')}`;
  }

  deploy(deploys, { abi, bytecode }, args = []) {
    return { deploys, data: encodeDeployData({ abi, bytecode, args }), gas: 3_000_000n };
  }

  call(contract, to, functionName, args, rest = {}) {
    return { about: functionName, to, data: encodeFunctionData({ abi: contract.abi, functionName, args }), ...rest };
  }

  token() {
    const { random } = this;
    const token = random.pick(this.tokens);
    // Often more than anyone has: refused by the contract.
    const value = random.chance(70) ? BigInt(random.below(1000)) : 10n ** 25n;
    const gas = random.chance(10) ? 24_000n + BigInt(random.below(20_000)) : 200_000n;
    const who = () => this.someone();
    return random.pick([
      () => this.call(Token, token, 'transfer', [who(), value], { gas }),
      () => this.call(Token, token, 'transfer', [who(), value], { gas }),
      () => this.call(Token, token, 'approve', [random.pick(this.accounts).address, value], { gas }),
      () => this.call(Token, token, 'transferFrom', [random.pick(this.accounts).address, who(), value], { gas }),
    ])();
  }

  probe() {
    const { random } = this;
    const probe = random.pick(this.probes);
    const n = (end) => BigInt(random.below(end));
    const call = (name, args, rest) => this.call(Probe, probe, name, args, rest);
    const value = random.chance(50) ? n(1000) : 0n;
    const inner = () => this[random.chance(50) ? 'token' : 'probe']().data ?? '0x';
    return random.pick([
      () => call('store', [n(4), n(3)]),
      () => call('storeMany', [n(4), n(12), n(2)]),
      () => call('push', [n(100)]),
      () => call('note', [n(5), random.bytes(random.below(100))]),
      () => call('refuse', [n(6), 'because']),
      () => call('storeAndRefuse', [n(4), 1n]),
      () => call('burn', [n(300)], { gas: 60_000n + n(100_000) }),
      () => call('endless', [], { gas: 40_000n + n(200_000) }),
      () => call('nest', [n(6), random.chance(50)]),
      () => call('callWithGas', [this.someone(), n(60_000), random.bytes(random.below(8))], { value }),
      () => call('callWithGas', [random.pick([...this.probes, ...this.tokens]), n(90_000), inner()], { value }),
      () => call('callWithGas', [random.pick(PRECOMPILES), n(60_000), random.bytes(random.below(300))]),
      () => call('delegate', [random.pick(this.probes), inner()]),
      () => call('look', [random.pick([...this.probes, ...this.tokens]), inner()]),
      () => call('create', [n(100)], { value }),
      () => call('create2', [n(3), `0x${'00'.repeat(31)}0${random.below(4)}`], { value }),
      () => call('createAndEnd', [n(100)], { value }),
      () => call('endChild', []),
      () => call('transient_', [n(100)]),
      () => call('surroundings', [], { value }),
      () => ({ about: 'receive', to: probe, value: n(1000), gas: 60_000n }),
      () => ({ about: 'no such function', to: probe, data: random.bytes(4) }),
    ])();
  }

  /** The second transaction waits for the first, and is replaced while it does. */
  async replacement() {
    const sender = this.random.pick(this.accounts);
    const nonce = this.nonces.get(sender.address);
    this.nonces.set(sender.address, nonce + 2);
    const price = (gwei) => ({ price: { type: 'eip1559', maxFeePerGas: gwei * GWEI, maxPriorityFeePerGas: gwei * GWEI, accessList: [] } });
    const pay = (value, nonce, gwei) =>
      this.sign(sender, { to: this.accounts[0].address, value, gas: 21_000n }, { nonce, ...price(gwei) });
    return {
      name: 'replacement',
      transactions: [
        await pay(1n, nonce + 1, 10n),
        await pay(2n, nonce + 1, 10n),
        await pay(3n, nonce + 1, 20n),
        await pay(4n, nonce, 10n),
      ],
    };
  }

  /** What no node takes. */
  async refused() {
    const { random } = this;
    const sender = random.pick(this.accounts);
    const nonce = this.nonces.get(sender.address);
    const to = this.accounts[0].address;
    const cheap = { type: 'eip1559', maxFeePerGas: 2n * GWEI, maxPriorityFeePerGas: 0n, accessList: [] };
    const sign = (name, fields, options) => this.sign(sender, { to, gas: 21_000n, ...cheap, ...fields }, { nonce, ...options })
      .then((transaction) => ({ name: `refused: ${name}`, transactions: [transaction] }));
    return random.pick([
      () => (nonce > 0 ? sign('nonce too low', {}, { nonce: nonce - 1 }) : sign('too little gas', { gas: 20_999n })),
      () => sign('too little gas', { gas: 20_999n }),
      () => sign('more than anyone has', { value: 10n ** 30n }),
      () => sign('more gas than a block has', { gas: 40_000_000n }),
      () => sign('another chain', { chainId: 1 }),
    ])();
  }
}
