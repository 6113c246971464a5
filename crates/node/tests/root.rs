//! At the root, shards are asked by their addresses.

mod common;

use alloy_primitives::{Address, B256};
use common::{
    LOGGER, MARKET, call, error, log, path, result, socket::Socket, start, start_with_logger, word,
};
use serde_json::{Value, json};

#[test]
fn a_method_of_a_shard_is_reached_at_the_root_with_the_address_first() {
    let node = start_with_logger(|_| {});
    let hash = log(&node, MARKET, 0, [1, 2]);
    for (method, params) in [
        ("getBlockByNumber", json!(["latest", true])),
        ("getTransactionByHash", json!([hash])),
        ("getTransactionReceipt", json!([hash])),
        ("getLogs", json!([{ "fromBlock": "0x0" }])),
        ("getStorageAt", json!([LOGGER, "0x0"])),
        ("accounts", json!([])),
    ] {
        let own = result(node.address(), &path(MARKET), &format!("eth_{method}"), params.clone());
        let mut with_address = vec![json!(MARKET)];
        with_address.extend(params.as_array().unwrap().iter().cloned());
        let root = result(node.address(), "/", &format!("shard_{method}"), json!(with_address));
        assert_eq!(own, root, "{method}");
    }
}

#[test]
fn a_shard_is_made_on_purpose_by_whoever_runs_the_node_only() {
    let create = |node: &node::Node| call(node.address(), "/", "shard_create", json!([MARKET]));
    let closed = start(|settings| settings.shards.strict = true);
    assert!(error(&create(&closed), -32_601).contains("--admin-api"));
    let node = start(|settings| {
        settings.shards.strict = true;
        settings.admin_api = true;
    });
    let height = || call(node.address(), &path(MARKET), "eth_blockNumber", json!([]));
    assert!(error(&height(), -32_602).contains("shard not found"));
    assert_eq!(create(&node)["result"]["height"], "0x0");
    assert_eq!(height()["result"], "0x0");
}

#[test]
fn who_asks_at_the_root_by_a_shards_names_is_told_where_to_go() {
    let node = start(|_| {});
    let ask = |method: &str| error(&call(node.address(), "/", method, json!([])), -32_601);
    let chain_id = ask("eth_chainId");
    assert!(chain_id.contains("/shard/<address>") && chain_id.contains("shard_chainId"));
    let balance = ask("eth_getBalance");
    assert!(balance.contains("/shard/<address>") && balance.contains("shard_getBalance"));
    assert!(ask("shard_subscribe").contains("over a WebSocket"));
    let subscribe = Socket::open(node.address(), "/").call("eth_subscribe", json!(["newHeads"]));
    assert!(error(&subscribe, -32_601).contains("shard_subscribe"), "{subscribe}");
}

#[test]
fn chain_ids_can_be_asked_for_before_there_is_a_shard() {
    let node = start(|_| {});
    assert_eq!(result(node.address(), "/", "shard_chainId", json!([])), "0x7a69");
    let own = result(node.address(), &path(MARKET), "eth_chainId", json!([]));
    assert_eq!(result(node.address(), "/", "shard_chainId", json!([MARKET])), own);
}

#[test]
fn shards_are_listed_page_by_page_in_the_order_of_their_creation() {
    let node = start_with_logger(|_| {});
    let shards: Vec<_> = [3, 1, 2].map(Address::repeat_byte).into();
    for shard in &shards {
        log(&node, *shard, 0, [1, 2]);
    }
    let page = |params: Value| result(node.address(), "/", "shard_listShards", params);
    let first = page(json!(["0x0", "0x2"]));
    assert_eq!((&first["total"], &first["next"]), (&json!("0x3"), &json!("0x2")));
    let second = page(json!([first["next"], "0x2"]));
    assert_eq!(second["next"], Value::Null);
    let listed = [first["shards"].as_array().unwrap(), second["shards"].as_array().unwrap()];
    let addresses: Vec<_> =
        listed.into_iter().flatten().map(|shard| shard["address"].clone()).collect();
    assert_eq!(json!(addresses), json!(shards));
    assert_eq!(page(json!([]))["shards"][0]["height"], "0x1");
    for most in ["0x0", "0x3e9"] {
        let answer = call(node.address(), "/", "shard_listShards", json!(["0x0", most]));
        assert!(error(&answer, -32_602).contains("1000"));
    }
}

#[test]
fn a_shard_tells_how_it_is_and_where_a_transaction_is() {
    let node = start_with_logger(|_| {});
    let hash = log(&node, MARKET, 0, [1, 2]);
    let status = result(node.address(), "/", "shard_status", json!([MARKET]));
    assert_eq!((&status["exists"], &status["height"]), (&json!(true), &json!("0x1")));
    assert_eq!(status["quarantine"], Value::Null);
    assert!(status["state"].is_string() && status["pool"]["pending"].is_string(), "{status}");
    let ask =
        |hash| result(node.address(), "/", "shard_getTransactionStatus", json!([MARKET, hash]));
    let expected = json!({ "status": "included", "blockNumber": "0x1", "transactionIndex": "0x0" });
    assert_eq!(ask(hash), expected);
    assert_eq!(ask(json!(B256::ZERO)), Value::Null);
}

#[test]
fn a_state_update_tells_what_a_block_changed() {
    let node = start_with_logger(|_| {});
    log(&node, MARKET, 0, [7, 0]);
    let update = result(node.address(), "/", "shard_getStateUpdate", json!([MARKET, "0x1"]));
    assert_eq!(update["blockNumber"], "0x1");
    let of = |address: Address| {
        let accounts = update["accounts"].as_array().unwrap();
        accounts.iter().find(|account| account["address"] == json!(address)).unwrap()
    };
    let slot = json!([{ "slot": word(0), "before": word(0), "after": word(7) }]);
    assert_eq!(of(LOGGER)["storage"], slot);
    let alice = of(node.accounts()[0].address());
    assert_eq!(
        (&alice["before"]["nonce"], &alice["after"]["nonce"]),
        (&json!("0x0"), &json!("0x1"))
    );
    let none = result(node.address(), "/", "shard_getStateUpdate", json!([MARKET, "0x9"]));
    assert_eq!(none, Value::Null);
}
