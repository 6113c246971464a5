//! What is in a shard can be read, as other nodes answer it.

mod common;

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, B256, TxKind, keccak256};
use common::{
    LOGGER, MARKET, call, error, included, log, path, result, send_log, sign, start,
    start_with_logger, transfer, word,
};
use node::Node;
use serde_json::{Value, json};

const OTHER: Address = Address::repeat_byte(0x0b);

fn ask(node: &Node, method: &str, params: Value) -> Value {
    result(node.address(), &path(MARKET), method, params)
}

#[test]
fn a_shard_that_nobody_has_used_answers_from_genesis_at_its_own_endpoint() {
    let node = start(|_| {});
    let block = ask(&node, "eth_getBlockByNumber", json!(["latest", false]));
    assert_eq!((&block["number"], &block["transactions"]), (&json!("0x0"), &json!([])));
    assert_eq!(ask(&node, "eth_getBlockByHash", json!([block["hash"], true])), block);
    assert_eq!(ask(&node, "eth_getLogs", json!([{}])), json!([]));
    assert_eq!(ask(&node, "shard_status", json!([]))["exists"], false);
    assert_eq!(ask(&node, "eth_getBlockByNumber", json!(["0x1", false])), Value::Null);
    assert!(node.shards().is_empty());
}

#[test]
fn a_shard_that_nobody_has_used_is_not_found_at_the_root_nor_in_strict_mode() {
    let node = start(|_| {});
    let answer = call(node.address(), "/", "shard_getBlockByNumber", json!([MARKET, "latest"]));
    assert_eq!(error(&answer, -32_602), format!("shard not found: {MARKET}"));
    let strict = start(|settings| settings.shards.strict = true);
    let answer = call(strict.address(), &path(MARKET), "eth_getBlockByNumber", json!(["latest"]));
    assert_eq!(error(&answer, -32_602), format!("shard not found: {MARKET}"));
}

#[test]
fn a_block_has_its_transactions_by_hash_or_whole() {
    let node = start_with_logger(|_| {});
    let hash = log(&node, MARKET, 0, [1, 2]);
    let block = ask(&node, "eth_getBlockByNumber", json!(["0x1", false]));
    assert_eq!(block["transactions"], json!([hash]));
    assert_eq!(block["uncles"], json!([]));
    assert_eq!(block["withdrawals"], json!([]));
    assert!(block.get("totalDifficulty").is_none());
    for field in ["size", "logsBloom", "miner", "mixHash", "baseFeePerGas", "stateRoot"] {
        assert!(block[field].is_string(), "{field}: {block}");
    }
    let genesis = ask(&node, "eth_getBlockByNumber", json!(["earliest", false]));
    assert_eq!(block["parentHash"], genesis["hash"]);

    let whole = ask(&node, "eth_getBlockByHash", json!([block["hash"], true]));
    let transaction = ask(&node, "eth_getTransactionByHash", json!([hash]));
    assert_eq!(whole["transactions"], json!([transaction]));
    assert_eq!(transaction["blockHash"], block["hash"]);
    assert_eq!(transaction["blockNumber"], "0x1");
    assert_eq!(transaction["transactionIndex"], "0x0");
    assert_eq!(transaction["from"], json!(node.accounts()[0].address()));
    assert_eq!(transaction["type"], "0x2");
    assert_eq!(transaction["gasPrice"], "0x3b9aca00", "what it paid, not what it offered");
    for (method, of) in [
        ("eth_getTransactionByBlockNumberAndIndex", json!("latest")),
        ("eth_getTransactionByBlockHashAndIndex", block["hash"].clone()),
    ] {
        assert_eq!(ask(&node, method, json!([of, "0x0"])), transaction);
        assert_eq!(ask(&node, method, json!([of, "0x1"])), Value::Null);
    }
    for method in ["eth_getBlockTransactionCountByNumber", "eth_getUncleCountByBlockNumber"] {
        let count = if method.contains("Uncle") { "0x0" } else { "0x1" };
        assert_eq!(ask(&node, method, json!(["0x1"])), count);
        assert_eq!(ask(&node, method, json!(["0x2"])), Value::Null);
    }
    let missing = json!([B256::repeat_byte(9)]);
    assert_eq!(ask(&node, "eth_getBlockTransactionCountByHash", missing.clone()), Value::Null);
    assert_eq!(ask(&node, "eth_getTransactionByHash", missing.clone()), Value::Null);
    assert_eq!(ask(&node, "eth_getBlockByHash", missing), Value::Null);
}

#[test]
fn a_receipt_tells_what_became_of_a_transaction() {
    let node = start_with_logger(|_| {});
    let hash = log(&node, MARKET, 0, [1, 2]);
    let receipt = ask(&node, "eth_getTransactionReceipt", json!([hash]));
    assert_eq!(ask(&node, "eth_getBlockReceipts", json!(["latest"])), json!([receipt]));
    assert_eq!(receipt["status"], "0x1");
    assert_eq!(receipt["type"], "0x2");
    assert_eq!(receipt["to"], json!(LOGGER));
    assert_eq!(receipt["contractAddress"], Value::Null);
    assert_eq!(receipt["gasUsed"], receipt["cumulativeGasUsed"]);
    assert_eq!(receipt["effectiveGasPrice"], "0x3b9aca00");
    let entry = &receipt["logs"][0];
    assert_eq!(entry["topics"], json!([word(1), word(2)]));
    assert_eq!((&entry["logIndex"], &entry["removed"]), (&json!("0x0"), &json!(false)));
    assert_eq!(entry["transactionHash"], hash);
    assert_eq!(ask(&node, "eth_getBlockReceipts", json!(["0x2"])), Value::Null);
    let missing = json!([B256::repeat_byte(9)]);
    assert_eq!(ask(&node, "eth_getTransactionReceipt", missing), Value::Null);
}

#[test]
fn one_transaction_is_read_as_its_whole_block_shows_it_also_from_the_tables() {
    // The log is folded into the tables as soon as it can be.
    let node = start_with_logger(|settings| settings.shards.checkpoint_bytes = 1);
    let hashes: Vec<_> = (0..20).map(|nonce| send_log(&node, MARKET, nonce, [nonce, 0])).collect();
    included(&node, MARKET, &hashes[19]);
    for hash in hashes {
        let receipt = ask(&node, "eth_getTransactionReceipt", json!([hash]));
        let transaction = ask(&node, "eth_getTransactionByHash", json!([hash]));
        let (number, index) = (&receipt["blockNumber"], &receipt["transactionIndex"]);
        let at = usize::from_str_radix(&index.as_str().unwrap()[2..], 16).unwrap();
        assert_eq!(ask(&node, "eth_getBlockReceipts", json!([number]))[at], receipt);
        let block = ask(&node, "eth_getBlockByNumber", json!([number, true]));
        assert_eq!(block["transactions"][at], transaction);
        let logs = ask(&node, "eth_getLogs", json!([{ "blockHash": block["hash"] }]));
        assert_eq!(logs[at], receipt["logs"][0], "each has one");
        let method = "eth_getTransactionByBlockNumberAndIndex";
        assert_eq!(ask(&node, method, json!([number, index])), transaction);
    }
}

#[test]
fn the_receipt_of_a_creation_names_the_contract() {
    let node = start(|_| {});
    // Code that returns nothing: a contract without code.
    let fields = TxEip1559 { to: TxKind::Create, gas_limit: 100_000, ..transfer(&node, MARKET, 0) };
    let alice = &node.accounts()[0];
    let hash = ask(&node, "eth_sendRawTransaction", json!([sign(alice, fields)]));
    included(&node, MARKET, &hash);
    let receipt = ask(&node, "eth_getTransactionReceipt", json!([hash]));
    assert_eq!(receipt["to"], Value::Null);
    assert_eq!(receipt["contractAddress"], json!(alice.address().create(0)));
}

#[test]
fn code_and_storage_are_read_at_any_block() {
    let node = start_with_logger(|_| {});
    for nonce in 0..2 {
        log(&node, MARKET, nonce, [7 + nonce, 0]);
    }
    let slot = |block: &str| ask(&node, "eth_getStorageAt", json!([LOGGER, "0x0", block]));
    assert_eq!(slot("0x0"), word(0));
    assert_eq!(slot("0x1"), word(7));
    assert_eq!(slot("latest"), word(8));
    assert_eq!(slot("pending"), word(8));
    let long = ask(&node, "eth_getStorageAt", json!([LOGGER, word(0), "0x1"]));
    assert_eq!(long, word(7), "a slot may be a whole word");
    let hash = ask(&node, "eth_getBlockByNumber", json!(["0x1", false]))["hash"].take();
    let by_hash = ask(&node, "eth_getStorageAt", json!([LOGGER, "0x0", { "blockHash": hash }]));
    assert_eq!(by_hash, word(7));
    assert_eq!(ask(&node, "eth_getCode", json!([LOGGER])), "0x6020355f355f5fa25f355f5500");
    assert_eq!(ask(&node, "eth_getCode", json!([OTHER, "latest"])), "0x");
    let info = ask(&node, "eth_getAccountInfo", json!([node.accounts()[0].address(), "latest"]));
    assert_eq!((&info["nonce"], &info["code"]), (&json!("0x2"), &json!("0x")));
    let far = call(node.address(), &path(MARKET), "eth_getCode", json!([LOGGER, "0x9"]));
    assert_eq!(error(&far, -32_001), "block not found: 0x9 (the latest is 2)");
}

#[test]
fn what_waits_in_the_pool_has_no_block_and_counts_for_the_pending_nonce_only() {
    let node = start(|_| {});
    let alice = &node.accounts()[0];
    // It offers less than the base fee, so it waits.
    let fields = TxEip1559 { max_fee_per_gas: 1, ..transfer(&node, MARKET, 0) };
    let raw = sign(alice, fields);
    let hash = ask(&node, "eth_sendRawTransaction", json!([raw]));
    let transaction = ask(&node, "eth_getTransactionByHash", json!([hash]));
    assert_eq!(transaction["hash"], hash);
    for field in ["blockHash", "blockNumber", "transactionIndex"] {
        assert_eq!(transaction.get(field), Some(&Value::Null), "{field}");
    }
    assert_eq!(ask(&node, "eth_getRawTransactionByHash", json!([hash])), json!(raw));
    assert_eq!(ask(&node, "eth_getTransactionReceipt", json!([hash])), Value::Null);
    let nonce =
        |block: &str| ask(&node, "eth_getTransactionCount", json!([alice.address(), block]));
    assert_eq!((nonce("latest"), nonce("pending")), (json!("0x0"), json!("0x1")));
    let balance = |block: &str| ask(&node, "eth_getBalance", json!([alice.address(), block]));
    assert_eq!(balance("latest"), balance("pending"));
    let block = |name: &str| ask(&node, "eth_getBlockByNumber", json!([name, false]));
    assert_eq!(block("latest"), block("pending"));
    let status = ask(&node, "shard_getTransactionStatus", json!([hash]));
    assert_eq!(status["status"], "queued");
    assert!(status["reason"].as_str().unwrap().contains("base fee"), "{status}");
}

#[test]
fn logs_are_found_by_address_topics_range_and_hash() {
    let node = start_with_logger(|_| {});
    for nonce in 0..4 {
        log(&node, MARKET, nonce, [nonce, nonce % 2]);
    }
    let find = |filter: Value| -> Vec<Value> {
        let found = ask(&node, "eth_getLogs", json!([filter]));
        found.as_array().unwrap().iter().map(|log| log["topics"][0].clone()).collect()
    };
    let all = json!("0x0");
    assert_eq!(find(json!({})), [word(3)], "without a range it is the latest block");
    assert_eq!(find(json!({ "fromBlock": all })).len(), 4);
    assert_eq!(find(json!({ "fromBlock": all, "address": LOGGER })).len(), 4);
    assert_eq!(find(json!({ "fromBlock": all, "address": [OTHER] })).len(), 0);
    assert_eq!(find(json!({ "fromBlock": all, "topics": [word(2)] })), [word(2)]);
    assert_eq!(find(json!({ "fromBlock": all, "topics": [null, word(1)] })), [word(1), word(3)]);
    let either = json!({ "fromBlock": all, "topics": [[word(0), word(3)], null] });
    assert_eq!(find(either), [word(0), word(3)]);
    assert_eq!(find(json!({ "fromBlock": "0x2", "toBlock": "0x3" })), [word(1), word(2)]);
    assert_eq!(find(json!({ "fromBlock": "0x3", "toBlock": "0x99" })), [word(2), word(3)]);
    let hash = ask(&node, "eth_getBlockByNumber", json!(["0x2", false]))["hash"].take();
    assert_eq!(find(json!({ "blockHash": hash })), [word(1)]);

    let wrong = |filter: Value| call(node.address(), &path(MARKET), "eth_getLogs", json!([filter]));
    let backwards = wrong(json!({ "fromBlock": "0x3", "toBlock": "0x2" }));
    assert!(error(&backwards, -32_602).starts_with("invalid block range params"));
    let unknown = wrong(json!({ "blockHash": B256::ZERO }));
    assert!(error(&unknown, -32_000).starts_with("unknown block"));
    let both = wrong(json!({ "blockHash": B256::ZERO, "fromBlock": "0x1" }));
    assert!(error(&both, -32_602).contains("cannot specify both"));
    let many: Vec<_> = (0..1_001).map(word).collect();
    assert!(error(&wrong(json!({ "topics": [many] })), -32_005).contains("1000 at most"));
}

#[test]
fn a_search_for_logs_has_limits() {
    let node = start_with_logger(|settings| {
        settings.limits.logs = 2;
        settings.limits.log_blocks = 3;
    });
    for nonce in 0..4 {
        log(&node, MARKET, nonce, [nonce, 0]);
    }
    let find = |from: &str, to: &str| {
        let filter = json!([{ "fromBlock": from, "toBlock": to }]);
        call(node.address(), &path(MARKET), "eth_getLogs", filter)
    };
    assert_eq!(find("0x1", "0x2")["result"].as_array().unwrap().len(), 2);
    let results = error(&find("0x1", "0x3"), -32_005);
    assert!(results.starts_with("query returned more than 2 results"), "{results}");
    let blocks = error(&find("0x1", "latest"), -32_005);
    assert!(blocks.starts_with("query exceeds max block range 3"), "{blocks}");
}

#[test]
fn an_account_is_proved_where_the_state_root_is_kept() {
    let node = start_with_logger(|settings| settings.shards.rules.state_root = true);
    log(&node, MARKET, 0, [7, 0]);
    let proof = ask(&node, "eth_getProof", json!([LOGGER, ["0x0", word(1)], "latest"]));
    let root = ask(&node, "eth_getBlockByNumber", json!(["latest", false]))["stateRoot"].take();
    let first: alloy_primitives::Bytes =
        serde_json::from_value(proof["accountProof"][0].clone()).unwrap();
    assert_eq!(json!(keccak256(first)), root);
    let slots = &proof["storageProof"];
    assert_eq!((&slots[0]["key"], &slots[0]["value"]), (&json!("0x0"), &json!("0x7")));
    assert_eq!((&slots[1]["key"], &slots[1]["value"]), (&word(1), &json!("0x0")));
    let account = ask(&node, "eth_getAccount", json!([LOGGER, "latest"]));
    assert_eq!(account["storageRoot"], proof["storageHash"]);
    assert_eq!(ask(&node, "eth_getAccount", json!([OTHER, "latest"])), Value::Null);
    let old = call(node.address(), &path(MARKET), "eth_getProof", json!([LOGGER, [], "0x0"]));
    assert!(error(&old, -32_000).contains("newest block only"));

    let without = start(|_| {});
    let answer = call(without.address(), &path(MARKET), "eth_getProof", json!([LOGGER, []]));
    assert!(error(&answer, -32_000).contains("keeps no state root"));
}

#[test]
fn a_node_says_what_it_is() {
    let node = start(|_| {});
    let version = ask(&node, "web3_clientVersion", json!([]));
    assert!(version.as_str().unwrap().starts_with("shiftwork/v"), "{version}");
    assert_eq!(result(node.address(), "/", "web3_clientVersion", json!([])), version);
    let hash = ask(&node, "web3_sha3", json!(["0x68656c6c6f"]));
    assert_eq!(hash, json!(keccak256("hello")));
    let chain_id = node.shards().rules().chain_id(MARKET);
    assert_eq!(ask(&node, "net_version", json!([])), chain_id.to_string());
    assert_eq!(ask(&node, "eth_chainId", json!([])), format!("{chain_id:#x}"));
    assert_eq!(ask(&node, "net_listening", json!([])), true);
    assert_eq!(ask(&node, "net_peerCount", json!([])), "0x0");
    assert_eq!(ask(&node, "eth_syncing", json!([])), false);
    assert_eq!(ask(&node, "eth_accounts", json!([])).as_array().unwrap().len(), 10);
}
