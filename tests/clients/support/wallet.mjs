// How does somebody send transactions to a shard, with viem?

import { createPublicClient, createWalletClient, defineChain, http, parseEther } from 'viem';
import { nonceManager, privateKeyToAccount } from 'viem/accounts';
import { alice, bob, contracts, rpc } from './node.mjs';

/** A wallet of alice's in a shard: each method answers with a receipt. */
export async function openWallet(node, shard) {
  const url = node.shard(shard);
  const id = Number(await rpc(url, 'eth_chainId'));
  const nativeCurrency = { name: 'Ether', symbol: 'ETH', decimals: 18 };
  const chain = defineChain({ id, name: 'shard', nativeCurrency, rpcUrls: { default: { http: [url] } } });
  const client = createPublicClient({ chain, transport: http(), pollingInterval: 20, cacheTime: 0 });
  const account = privateKeyToAccount(alice.key, { nonceManager });
  const wallet = createWalletClient({ chain, transport: http(), account });
  const receipt = async (hash) => client.waitForTransactionReceipt({ hash: await hash });
  return {
    client,
    wallet,
    transfer: (ether = '0.01') => receipt(wallet.sendTransaction({ to: bob.address, value: parseEther(ether) })),
    deploy: (name, ...args) => receipt(wallet.deployContract({ ...contracts[name], args })),
    /** Gas is given, so that what fails is sent all the same. */
    call: (name, address, functionName, ...args) =>
      receipt(wallet.writeContract({ address, abi: contracts[name].abi, functionName, args, gas: 2_000_000n })),
  };
}
