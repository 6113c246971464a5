//! What waits for too long goes, and its sender can ask why.

mod common;

use std::time::Duration;

use common::{MARKET, path, result, sign, start, transfer};
use serde_json::json;

#[test]
fn a_transaction_that_can_not_run_is_dropped_after_a_time_with_the_reason() {
    let node = start(|settings| settings.shards.pool.expiry = Duration::from_millis(20));
    // No one with a lower nonce is there.
    let raw = sign(&node.accounts()[0], transfer(&node, MARKET, 1));
    let hash = result(node.address(), &path(MARKET), "eth_sendRawTransaction", json!([raw]));
    // It comes to an end, or this test does not.
    let dropped = loop {
        let ask = json!([MARKET, hash]);
        let status = result(node.address(), "/", "shard_getTransactionStatus", ask);
        if status.get("reason").is_some() && status.to_string().contains("ropped") {
            break status;
        }
        std::thread::yield_now();
    };
    assert!(dropped["reason"].as_str().is_some_and(|why| !why.is_empty()), "{dropped}");
    assert!(node.shutdown().clean());
}
