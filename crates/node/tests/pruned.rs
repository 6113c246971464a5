//! What was pruned is told as such, by whatever takes a block.

mod common;

use std::num::NonZeroU64;

use common::{LOGGER, MARKET, call, error, path, result, sign, start, transfer, until_height};
use serde_json::json;

/// Geth's code for it.
const PRUNED: i64 = 4_444;

#[test]
fn whoever_asks_for_a_block_that_was_pruned_hears_that_it_was() {
    let node = start(|settings| {
        settings.shards.prune_depth = NonZeroU64::new(1);
        settings.shards.checkpoint_bytes = 1;
    });
    let own = path(MARKET);
    let alice = node.accounts()[0].address();
    let ask = |method, params| call(node.address(), &own, method, params);
    // Each makes a block, and sooner or later a fold takes out the first ones with their states.
    let is_gone = |nonce| {
        let raw = sign(&node.accounts()[0], transfer(&node, MARKET, nonce));
        result(node.address(), &own, "eth_sendRawTransaction", json!([raw]));
        until_height(&node, MARKET, nonce + 1);
        !ask("eth_getBalance", json!([alice, "0x1"]))["error"].is_null()
    };
    assert!((0..500).any(is_gone), "nothing is pruned");
    for (method, params) in [
        ("eth_getBalance", json!([alice, "0x1"])),
        ("eth_getTransactionCount", json!([alice, "0x1"])),
        ("eth_getCode", json!([alice, "0x1"])),
        ("eth_getStorageAt", json!([LOGGER, "0x0", "0x1"])),
        ("eth_getBlockByNumber", json!(["0x1", true])),
        ("eth_getBlockReceipts", json!(["0x1"])),
        ("shard_getStateUpdate", json!(["0x1"])),
        ("debug_traceBlockByNumber", json!(["0x1"])),
        ("trace_block", json!(["0x1"])),
    ] {
        let why = error(&ask(method, params), PRUNED);
        assert!(why.starts_with("pruned history unavailable: block 1 was pruned"), "{why}");
    }
    // What is kept is there.
    assert!(ask("eth_getBalance", json!([alice, "latest"]))["error"].is_null());
}
