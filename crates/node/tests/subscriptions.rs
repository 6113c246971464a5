//! Over a WebSocket news come by themselves.

mod common;

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, TxKind, U256, hex};
use common::{
    MARKET, error, included, log, path, result, sign, socket::Socket, start, start_with_logger,
    transfer, word,
};
use node::Node;
use serde_json::{Value, json};
use shard::config::GenesisAccount;

const ETH: &str = "eth_subscription";

fn header(node: &Node, shard: Address, number: &str) -> Value {
    result(node.address(), &path(shard), "eth_getBlockByNumber", json!([number, false]))
}

#[test]
fn calls_are_answered_over_a_websocket_too() {
    let node = start(|_| {});
    let mut socket = Socket::open(node.address(), &path(MARKET));
    assert_eq!(socket.result("eth_blockNumber", json!([])), "0x0");
}

#[test]
fn new_heads_come_in_order_until_it_is_unsubscribed() {
    let node = start_with_logger(|_| {});
    let mut socket = Socket::open(node.address(), &path(MARKET));
    let id = socket.result("eth_subscribe", json!(["newHeads"]));
    assert!(id.as_str().unwrap().starts_with("0x"), "{id}");
    for (nonce, number) in [(0, "0x1"), (1, "0x2")] {
        log(&node, MARKET, nonce, [1, 2]);
        let head = socket.news(ETH, &id);
        assert_eq!(head["number"], number);
        assert_eq!(head["hash"], header(&node, MARKET, number)["hash"]);
        assert!(head.get("transactions").is_none());
    }
    // Other shards are none of its business.
    log(&node, Address::repeat_byte(9), 0, [1, 2]);
    assert_eq!(socket.result("eth_unsubscribe", json!([id])), true);
    assert_eq!(socket.result("eth_unsubscribe", json!([id])), false);
    log(&node, MARKET, 2, [1, 2]);
    assert_eq!(socket.result("eth_blockNumber", json!([])), "0x3");
}

#[test]
fn logs_come_if_they_match() {
    let node = start_with_logger(|_| {});
    let mut socket = Socket::open(node.address(), &path(MARKET));
    let id = socket.result("eth_subscribe", json!(["logs", { "topics": [null, word(1)] }]));
    for nonce in 0..4 {
        log(&node, MARKET, nonce, [nonce, nonce % 2]);
    }
    for topic in [1, 3] {
        let found = socket.news(ETH, &id);
        assert_eq!(found["topics"][0], word(topic));
        let number = &found["blockNumber"];
        let filter = json!([{ "fromBlock": number, "toBlock": number }]);
        let read = result(node.address(), &path(MARKET), "eth_getLogs", filter);
        assert_eq!(found, read[0]);
    }
}

#[test]
fn pending_transactions_come_by_hash_or_whole() {
    let node = start(|_| {});
    let mut hashes = Socket::open(node.address(), &path(MARKET));
    let mut whole = Socket::open(node.address(), &path(MARKET));
    let of_hashes = hashes.result("eth_subscribe", json!(["newPendingTransactions"]));
    let of_whole = whole.result("eth_subscribe", json!(["newPendingTransactions", true]));
    let raw = sign(&node.accounts()[0], transfer(&node, MARKET, 0));
    let hash = result(node.address(), &path(MARKET), "eth_sendRawTransaction", json!([raw]));
    assert_eq!(hashes.news(ETH, &of_hashes), hash);
    let transaction = whole.news(ETH, &of_whole);
    assert_eq!((&transaction["hash"], &transaction["blockHash"]), (&hash, &Value::Null));
}

#[test]
fn at_the_root_news_of_all_shards_or_of_one_say_whose_they_are() {
    let node = start_with_logger(|_| {});
    let other = Address::repeat_byte(9);
    log(&node, MARKET, 0, [1, 2]);
    log(&node, other, 0, [1, 2]);
    let mut all = Socket::open(node.address(), "/");
    let mut one = Socket::open(node.address(), "/");
    let of_all = all.result("shard_subscribe", json!([null, "newHeads"]));
    let of_one = one.result("shard_subscribe", json!([other, "logs"]));
    log(&node, MARKET, 1, [1, 2]);
    log(&node, other, 1, [3, 4]);
    for shard in [MARKET, other] {
        let head = all.news("shard_subscription", &of_all);
        assert_eq!((&head["shard"], &head["number"]), (&json!(shard), &json!("0x2")));
    }
    let found = one.news("shard_subscription", &of_one);
    assert_eq!((&found["shard"], &found["topics"][0]), (&json!(other), &word(3)));
    assert_eq!(one.result("shard_unsubscribe", json!([of_one])), true);
    let missing = one.call("shard_subscribe", json!([Address::repeat_byte(8), "newHeads"]));
    assert!(error(&missing, -32_602).starts_with("shard not found"));
}

#[test]
fn a_subscription_that_makes_no_sense_is_refused() {
    let node = start(|settings| settings.limits.subscriptions_all = 1);
    let mut socket = Socket::open(node.address(), &path(MARKET));
    let unknown = socket.call("eth_subscribe", json!(["newHats"]));
    assert!(error(&unknown, -32_602).contains("newHats"));
    let wrong = socket.call("eth_subscribe", json!(["logs", { "topics": "all" }]));
    error(&wrong, -32_602);
    socket.result("eth_subscribe", json!(["newHeads"]));
    let second = socket.call("eth_subscribe", json!(["newHeads"]));
    assert!(error(&second, -32_005).contains("1 at most"));
}

#[test]
fn one_that_does_not_read_is_closed_with_a_notice_and_the_connection_goes_on() {
    // A contract that logs 100,000 bytes, sixteen times.
    let shouter = Address::repeat_byte(0x11);
    let code = hex!("60105b620186a05fa06001900380600257" "00");
    let node = start(|settings| {
        let contract = GenesisAccount { code: code.to_vec().into(), ..Default::default() };
        settings.shards.genesis.accounts.insert(shouter, contract);
        settings.limits.subscription_blocks = std::num::NonZeroUsize::MIN;
    });
    let mut socket = Socket::open(node.address(), &path(MARKET));
    let id = socket.result("eth_subscribe", json!(["logs", {}]));
    // More than all buffers on the way hold, 3 MiB at a time.
    let blocks = 20;
    for nonce in 0..blocks {
        let fields = TxEip1559 {
            gas_limit: 16_000_000,
            to: TxKind::Call(shouter),
            value: U256::ZERO,
            ..transfer(&node, MARKET, nonce)
        };
        let raw = sign(&node.accounts()[0], fields);
        let hash = result(node.address(), &path(MARKET), "eth_sendRawTransaction", json!([raw]));
        assert!(included(&node, MARKET, &hash).success);
    }
    let mut told = 0;
    let notice = loop {
        let message = socket.next();
        assert_eq!(message["params"]["subscription"], id);
        match message["params"].get("error") {
            Some(notice) => break notice.clone(),
            None => told += 1,
        }
    };
    assert!(notice.as_str().unwrap().contains("too slow"), "{notice}");
    assert!(told < blocks * 16, "it was told everything");
    assert_eq!(socket.result("eth_blockNumber", json!([])), format!("{blocks:#x}"));
}
