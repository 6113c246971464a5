//! A node answers.

mod common;

use common::{call, result, start};
use serde_json::json;

const SHARD: &str = "/shard/0x3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a";

#[test]
fn a_shard_that_nobody_has_used_answers_from_genesis_at_its_own_endpoint_only() {
    let node = start(|_| {});
    let address = node.address();
    let alice = node.accounts()[0].address();
    assert_eq!(result(address, SHARD, "eth_blockNumber", json!([])), "0x0");
    let balance = result(address, SHARD, "eth_getBalance", json!([alice, "latest"]));
    assert_eq!(balance, "0x21e19e0c9bab2400000");
    let missing = call(address, "/", "shard_getBalance", json!([alice, alice, "latest"]));
    assert_eq!(missing["error"]["code"], -32602);
    assert!(missing["error"]["message"].as_str().unwrap().starts_with("shard not found"));
    assert!(node.shutdown().clean());
}
