"""Does web3.py work against a shard, unchanged?"""

import asyncio
import itertools
import json
import os
import re
import subprocess
import unittest
from pathlib import Path

from eth_account import Account
from web3 import AsyncWeb3, HTTPProvider, Web3, WebSocketProvider
from web3.exceptions import ContractCustomError, ContractLogicError, Web3RPCError
from web3.middleware import SignAndSendRawMiddlewareBuilder

TOKEN = json.loads((Path(__file__).parent / "contracts.json").read_text())["Token"]
ALICE = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
BOB = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
CAROL = "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"
FUNDED = 10_000 * 10**18
SUPPLY = 1_000 * 10**18
HAS_SHARDS = os.environ["SHIFTWORK"] != "anvil"

addresses = (Web3.to_checksum_address(f"0x{'3e' * 16}{n:08x}") for n in itertools.count(1))


class Web3Py(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if HAS_SHARDS:
            command = [os.environ["SHIFTWORK"], "node", "--in-memory", "--http.port", "0"]
        else:
            command = [os.environ["ANVIL"], "--port", "0", "--steps-tracing"]
        cls.node = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        lines = iter(cls.node.stdout.readline, "")
        found = (re.search(r"(?:http://|Listening on )127\.0\.0\.1:(\d+)", line) for line in lines)
        cls.port = next(match for match in found if match)[1]

    @classmethod
    def tearDownClass(cls):
        cls.node.terminate()
        cls.node.wait(30)
        cls.node.stdout.close()

    def url(self, shard, scheme="http"):
        return f"{scheme}://127.0.0.1:{self.port}" + (f"/shard/{shard}" if HAS_SHARDS else "")

    def connect(self, shard=None, key=ALICE):
        """A client whose default account signs what it sends."""
        w3 = Web3(HTTPProvider(self.url(shard or next(addresses))))
        account = Account.from_key(key)
        w3.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(account), layer=0)
        w3.eth.default_account = account.address
        return w3

    def send(self, w3, transaction):
        return w3.eth.wait_for_transaction_receipt(w3.eth.send_transaction(transaction), poll_latency=0.02)

    def deploy(self, w3):
        token = w3.eth.contract(abi=TOKEN["abi"], bytecode=TOKEN["bytecode"])
        receipt = w3.eth.wait_for_transaction_receipt(token.constructor(SUPPLY).transact(), poll_latency=0.02)
        self.assertEqual(receipt.status, 1)
        return w3.eth.contract(receipt.contractAddress, abi=TOKEN["abi"])

    def transfer(self, token, to, value):
        hash = token.functions.transfer(to, value).transact()
        receipt = token.w3.eth.wait_for_transaction_receipt(hash, poll_latency=0.02)
        self.assertEqual(receipt.status, 1)
        return receipt

    def test_a_shard_has_a_chain_id_of_its_own_and_funded_accounts(self):
        w3, other = self.connect(), self.connect()
        self.assertTrue(w3.is_connected(show_traceback=True))
        self.assertEqual(w3.eth.get_balance("0x90F79bf6EB2c4f870365E785982E1f101E93b906"), FUNDED)
        if HAS_SHARDS:
            self.assertEqual(w3.eth.block_number, 0)
            self.assertNotEqual(w3.eth.chain_id, other.eth.chain_id)
            self.assertIn("shiftwork", w3.client_version.lower())

    def test_ether_is_transferred(self):
        w3, to = self.connect(), next(addresses)
        receipt = self.send(w3, {"to": to, "value": 15})
        self.assertEqual((receipt.status, receipt.gasUsed), (1, 21_000))
        self.assertEqual(w3.eth.get_balance(to), 15)
        transaction = w3.eth.get_transaction(receipt.transactionHash)
        self.assertEqual(transaction["from"], w3.eth.default_account)
        block = w3.eth.get_block(receipt.blockNumber, full_transactions=True)
        self.assertEqual(block.transactions[receipt.transactionIndex].hash, transaction.hash)

    def test_a_token_is_deployed_called_sent_and_found_in_logs(self):
        w3, to = self.connect(), next(addresses)
        token = self.deploy(w3)
        self.assertEqual(token.functions.symbol().call(), "SHFT")
        gas = token.functions.transfer(to, 5).estimate_gas()
        receipt = self.transfer(token, to, 5)
        self.assertLessEqual(receipt.gasUsed, gas)
        self.assertEqual(token.functions.balanceOf(to).call(), 5)
        earlier = token.functions.balanceOf(to).call(block_identifier=receipt.blockNumber - 1)
        self.assertEqual(earlier, 0)
        [log] = token.events.Transfer.get_logs(from_block=0, argument_filters={"to": to})
        self.assertEqual((log.args.value, log.transactionHash), (5, receipt.transactionHash))
        self.assertEqual(int.from_bytes(w3.eth.get_storage_at(token.address, 0)), SUPPLY)

    def test_a_call_that_is_refused_tells_why(self):
        token = self.deploy(self.connect())
        poor = next(addresses)
        with self.assertRaises((ContractCustomError, ContractLogicError)) as caught:
            token.functions.transfer(poor, 1).call({"from": poor})
        selector = Web3.keccak(text="InsufficientBalance(address,uint256,uint256)")[:4].hex()
        self.assertIn(selector, str(caught.exception.data))

    def test_filters_tell_what_is_new_once(self):
        w3 = self.connect()
        token = self.deploy(w3)
        events = token.events.Transfer.create_filter(from_block="latest")
        blocks, pending = w3.eth.filter("latest"), w3.eth.filter("pending")
        receipt = self.transfer(token, next(addresses), 7)
        new = [log.args.value for log in events.get_new_entries()]
        self.assertEqual(new[-1:], [7])
        self.assertEqual(events.get_new_entries(), [])
        self.assertEqual(blocks.get_new_entries(), [receipt.blockHash])
        self.assertEqual(pending.get_new_entries(), [receipt.transactionHash])
        self.assertTrue(w3.eth.uninstall_filter(events.filter_id))

    def test_subscriptions_over_websocket_tell_of_blocks_and_logs(self):
        shard = next(addresses)
        token = self.deploy(self.connect(shard))

        async def listen():
            async with AsyncWeb3(WebSocketProvider(self.url(shard, "ws"))) as w3:
                heads = await w3.eth.subscribe("newHeads")
                logs = await w3.eth.subscribe("logs", {"address": token.address})
                receipt = await asyncio.to_thread(self.transfer, token, next(addresses), 9)
                heard = {}
                async for message in w3.socket.process_subscriptions():
                    heard.setdefault(message["subscription"], message["result"])
                    if len(heard) == 2:
                        break
                self.assertTrue(await w3.eth.unsubscribe(heads))
                return receipt, heard[heads], heard[logs]

        receipt, head, log = asyncio.run(asyncio.wait_for(listen(), 30))
        self.assertEqual(head["hash"], receipt.blockHash)
        self.assertEqual(log["transactionHash"], receipt.transactionHash)

    def test_ten_sends_in_a_row_are_ten_transactions(self):
        w3 = self.connect(key=CAROL)
        first = w3.eth.get_transaction_count(w3.eth.default_account)
        hashes = [w3.eth.send_transaction({"to": next(addresses), "value": n}) for n in range(10)]
        receipts = [w3.eth.wait_for_transaction_receipt(hash, poll_latency=0.02) for hash in hashes]
        self.assertEqual([receipt.status for receipt in receipts], [1] * 10)
        self.assertEqual(w3.eth.get_transaction_count(w3.eth.default_account), first + 10)

    def test_the_node_signs_for_its_accounts(self):
        w3 = Web3(HTTPProvider(self.url(next(addresses))))
        bob = Account.from_key(BOB).address
        self.assertIn(bob, w3.eth.accounts)
        receipt = self.send(w3, {"from": bob, "to": next(addresses), "value": 3})
        self.assertEqual(receipt["from"], bob)

    def test_fees_are_known(self):
        w3 = self.connect()
        receipt = self.send(w3, {"to": next(addresses), "value": 1})
        base_fee = w3.eth.get_block(receipt.blockNumber).baseFeePerGas
        self.assertGreater(w3.eth.gas_price, 0)
        self.assertGreaterEqual(w3.eth.max_priority_fee, 0)
        history = w3.eth.fee_history(1, receipt.blockNumber, [25, 75])
        self.assertEqual((history.oldestBlock, history.baseFeePerGas[0]), (receipt.blockNumber, base_fee))
        self.assertEqual(len(history.reward[0]), 2)

    def test_requests_are_sent_in_a_batch(self):
        w3 = self.connect()
        with w3.batch_requests() as batch:
            batch.add(w3.eth.get_balance(w3.eth.default_account))
            batch.add(w3.eth.get_block("latest"))
            balance, block = batch.execute()
        self.assertGreater(balance, 0)
        self.assertEqual(block.number, w3.eth.block_number)

    def test_a_transaction_is_traced(self):
        w3 = self.connect()
        receipt = self.transfer(self.deploy(w3), next(addresses), 5)
        hash = receipt.transactionHash.to_0x_hex()
        [trace] = w3.tracing.trace_transaction(hash)
        self.assertEqual(trace["type"], "call")
        answer = w3.provider.make_request("debug_traceTransaction", [hash, {"tracer": "callTracer"}])
        self.assertEqual(int(answer["result"]["gasUsed"], 16), receipt.gasUsed)

    @unittest.skipUnless(HAS_SHARDS, "it takes two shards")
    def test_a_transaction_of_one_shard_is_refused_in_another(self):
        here, there = self.connect(), self.connect()
        fields = {
            "chainId": here.eth.chain_id, "nonce": 0, "gas": 21_000, "to": next(addresses), "value": 1,
            "maxFeePerGas": 2 * here.eth.gas_price, "maxPriorityFeePerGas": 0,
        }
        raw = Account.from_key(ALICE).sign_transaction(fields).raw_transaction
        with self.assertRaisesRegex(Web3RPCError, "invalid chain id"):
            there.eth.send_raw_transaction(raw)
        receipt = here.eth.wait_for_transaction_receipt(here.eth.send_raw_transaction(raw), poll_latency=0.02)
        self.assertEqual(receipt.status, 1)
        self.assertEqual(there.eth.block_number, 0)


if __name__ == "__main__":
    unittest.main()
