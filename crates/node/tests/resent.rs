//! A transaction whose state was left behind is sent again: what is told of it then?

mod common;

use common::{MARKET, path, result, sign, start, transfer};
use node::Node;
use serde_json::{Value, json};

/// In milliseconds, and the most that a node waits: a guard against hanging, no more.
const PATIENCE: &str = "0x7530";

fn ask(node: &Node, method: &str, params: Value) -> Value {
    result(node.address(), &path(MARKET), method, params)
}

/// The first account's transaction with this nonce, signed: each time the same.
fn signed(node: &Node, nonce: u64) -> Value {
    json!(sign(&node.accounts()[0], transfer(node, MARKET, nonce)))
}

/// Sends it, and gives its receipt.
fn receipt(node: &Node, raw: &Value) -> Value {
    ask(node, "eth_sendRawTransactionSync", json!([raw, PATIENCE]))
}

#[test]
fn sent_again_after_a_revert_it_has_the_receipt_of_its_new_block() {
    let node = start(|settings| settings.dev_api = true);
    let raw = signed(&node, 0);
    let snapshot = ask(&node, "evm_snapshot", json!([]));
    let first = receipt(&node, &raw);
    let hash = &first["transactionHash"];
    assert_eq!(first["blockNumber"], "0x1");
    assert_eq!(ask(&node, "evm_revert", json!([snapshot])), true);
    // Nobody has sent it again: what was, is still there to read.
    assert_eq!(ask(&node, "eth_getTransactionReceipt", json!([hash])), first);
    let second = receipt(&node, &raw);
    assert_eq!(&second["transactionHash"], hash);
    assert_eq!(second["blockNumber"], "0x3", "the revert is a block, too");
    assert_eq!(ask(&node, "eth_getTransactionReceipt", json!([hash])), second);
    assert_eq!(ask(&node, "eth_getTransactionByHash", json!([hash]))["blockNumber"], "0x3");
}

#[test]
fn while_it_waits_again_it_is_in_no_block() {
    let node = start(|settings| settings.dev_api = true);
    let [zero, one, two] = [0, 1, 2].map(|nonce| signed(&node, nonce));
    let snapshot = ask(&node, "evm_snapshot", json!([]));
    receipt(&node, &zero);
    let hash = receipt(&node, &one)["transactionHash"].clone();
    assert_eq!(ask(&node, "evm_revert", json!([snapshot])), true);
    // It waits for the one before it.
    assert_eq!(ask(&node, "eth_sendRawTransaction", json!([one])), hash);
    let waits = || {
        let found = ask(&node, "eth_getTransactionByHash", json!([hash]));
        assert_eq!(found["hash"], hash);
        let receipt = ask(&node, "eth_getTransactionReceipt", json!([hash]));
        assert_eq!(found["blockNumber"].is_null(), receipt.is_null());
        receipt.is_null()
    };
    assert!(waits());
    receipt(&node, &zero);
    let last = receipt(&node, &two);
    assert!(!waits());
    let told = ask(&node, "eth_getTransactionReceipt", json!([hash]));
    let number = |receipt: &Value| receipt["blockNumber"].as_str().unwrap().to_owned();
    assert!(("0x4".to_owned()..=number(&last)).contains(&number(&told)), "{told}");
}
