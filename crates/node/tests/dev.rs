//! What developers can do, where it was asked for.

mod common;

use alloy_primitives::{Address, U256};
use common::{COUNTER, MARKET, call, counter, error, included, nonce, path, result, send, start};
use node::Node;
use serde_json::{Value, json};

const STRANGER: Address = Address::repeat_byte(0x57);

fn developing() -> Node {
    start(|settings| settings.dev_api = true)
}

fn ask(node: &Node, method: &str, params: Value) -> Value {
    result(node.address(), &path(MARKET), method, params)
}

fn height(node: &Node) -> u64 {
    node.shards().get(MARKET).map_or(0, |shard| shard.tip().number())
}

fn timestamp(node: &Node) -> u64 {
    node.shards().get(MARKET).expect("it was used").tip().header.timestamp
}

#[test]
fn without_the_setting_they_are_not_there_and_say_how_to_turn_them_on() {
    let node = start(|_| {});
    for (method, params) in [
        ("anvil_setBalance", json!([STRANGER, "0x5"])),
        ("hardhat_impersonateAccount", json!([STRANGER])),
        ("evm_increaseTime", json!([60])),
        ("evm_mine", json!([])),
        ("evm_snapshot", json!([])),
        ("evm_revert", json!(["0x0"])),
    ] {
        let answer = call(node.address(), &path(MARKET), method, params);
        assert!(error(&answer, -32_601).contains("--dev-api"), "{method}");
    }
    assert!(node.shards().is_empty());
}

#[test]
fn what_an_account_has_is_set() {
    let node = developing();
    ask(&node, "anvil_setBalance", json!([STRANGER, "0x64"]));
    ask(&node, "hardhat_setNonce", json!([STRANGER, "0x7"]));
    ask(&node, "anvil_setCode", json!([STRANGER, COUNTER]));
    let value = format!("0x{:064x}", 41);
    assert_eq!(ask(&node, "hardhat_setStorageAt", json!([STRANGER, "0x0", value])), true);
    assert_eq!(height(&node), 4, "each is a block");
    assert_eq!(ask(&node, "eth_getBalance", json!([STRANGER])), "0x64");
    assert_eq!(nonce(&node, MARKET, STRANGER), 7);
    assert_eq!(ask(&node, "eth_getCode", json!([STRANGER])), COUNTER);

    let alice = node.accounts()[0].address();
    send(&node, MARKET, json!({ "from": alice, "to": STRANGER }));
    let count = ask(&node, "eth_getStorageAt", json!([STRANGER, "0x0"]));
    assert_eq!(count, format!("0x{:064x}", 42));
}

#[test]
fn an_impersonated_account_sends_as_long_as_it_is_one() {
    let node = developing();
    ask(&node, "anvil_setBalance", json!([STRANGER, "0xde0b6b3a7640000"]));
    let request = json!([{ "from": STRANGER, "to": MARKET, "value": "0x5" }]);
    let refused = |node: &Node| {
        let answer = call(node.address(), &path(MARKET), "eth_sendTransaction", request.clone());
        error(&answer, -32_000)
    };
    assert!(refused(&node).starts_with("unknown account"));
    ask(&node, "hardhat_impersonateAccount", json!([STRANGER]));
    let hash = ask(&node, "eth_sendTransaction", request.clone());
    assert!(included(&node, MARKET, &hash).success);
    let sent = ask(&node, "eth_getTransactionByHash", json!([hash]));
    assert_eq!(sent["from"], json!(STRANGER));
    ask(&node, "hardhat_stopImpersonatingAccount", json!([STRANGER]));
    assert!(refused(&node).starts_with("unknown account"));
    ask(&node, "anvil_autoImpersonateAccount", json!([true]));
    let hash = ask(&node, "eth_sendTransaction", request.clone());
    assert!(included(&node, MARKET, &hash).success);
}

#[test]
fn a_contract_sends_while_it_is_impersonated() {
    let node = developing();
    let contract = counter(&node, MARKET);
    ask(&node, "anvil_setBalance", json!([contract, "0xde0b6b3a7640000"]));
    let request = json!([{ "from": contract, "to": STRANGER, "value": "0x5" }]);
    let refused = call(node.address(), &path(MARKET), "eth_sendTransaction", request.clone());
    assert!(error(&refused, -32_000).starts_with("unknown account"));
    ask(&node, "anvil_impersonateAccount", json!([contract]));
    // A contract begins with the nonce 1.
    assert_eq!(nonce(&node, MARKET, contract), 1);
    let hash = ask(&node, "eth_sendTransaction", request);
    assert!(included(&node, MARKET, &hash).success);
    assert_eq!(nonce(&node, MARKET, contract), 2);
    assert_eq!(ask(&node, "eth_getBalance", json!([STRANGER])), "0x5");
    // It is as it was, and takes calls.
    let alice = node.accounts()[0].address();
    send(&node, MARKET, json!({ "from": alice, "to": contract }));
    let count = ask(&node, "eth_getStorageAt", json!([contract, "0x0"]));
    assert_eq!(count, format!("0x{:064x}", 1));
}

#[test]
fn time_goes_forward_for_all_shards_and_never_back() {
    let node = developing();
    ask(&node, "evm_mine", json!([]));
    let before = timestamp(&node);
    assert_eq!(ask(&node, "evm_increaseTime", json!([3_600])), 3_600);
    ask(&node, "evm_mine", json!([]));
    assert!(timestamp(&node) >= before + 3_600);
    let later = timestamp(&node) + 100_000;
    result(node.address(), "/", "evm_setNextBlockTimestamp", json!([later]));
    ask(&node, "evm_mine", json!([]));
    assert!((later..later + 60).contains(&timestamp(&node)));
    let answer = call(node.address(), &path(MARKET), "evm_setTime", json!([before]));
    assert!(error(&answer, -32_602).contains("goes forward only"));
}

#[test]
fn a_call_in_the_next_block_sees_the_time_that_was_set() {
    let node = developing();
    ask(&node, "evm_mine", json!([]));
    let later = timestamp(&node) + 100_000;
    ask(&node, "evm_setTime", json!([later]));
    // Returns the time.
    let clock = json!({ STRANGER.to_string(): { "code": "0x4260005260206000f3" } });
    let at = |block: &str| -> u64 {
        let time: U256 = serde_json::from_value(ask(
            &node,
            "eth_call",
            json!([{ "to": STRANGER }, block, clock]),
        ))
        .unwrap();
        time.to()
    };
    assert_eq!(at("latest"), timestamp(&node));
    assert!((later..later + 60).contains(&at("pending")));
}

#[test]
fn blocks_are_made_on_demand_and_not_without_bound() {
    let node = developing();
    ask(&node, "anvil_mine", json!(["0x5", "0x3c"]));
    assert_eq!(height(&node), 5);
    let tip = timestamp(&node);
    let first = node.shards().get(MARKET).unwrap().block(1).unwrap().unwrap().header.timestamp;
    assert!(tip >= first + 4 * 60);
    let answer = call(node.address(), &path(MARKET), "hardhat_mine", json!(["0x3e9"]));
    assert!(error(&answer, -32_005).contains("1000 at most"));
    assert_eq!(height(&node), 5);
    assert_eq!(ask(&node, "anvil_nodeInfo", json!([]))["currentBlockNumber"], "0x5");
}

#[test]
fn a_revert_restores_the_state_and_the_chain_goes_on() {
    let node = developing();
    let (alice, bob) = (node.accounts()[0].address(), Address::repeat_byte(0xb0));
    let snapshot = ask(&node, "evm_snapshot", json!([]));
    let hash = send(&node, MARKET, json!({ "from": alice, "to": bob, "value": "0x5" }));
    assert_eq!(ask(&node, "evm_revert", json!([snapshot])), true);
    assert_eq!(height(&node), 2, "the revert is a block");
    assert_eq!(ask(&node, "eth_getBalance", json!([bob])), "0x0");
    assert_eq!(nonce(&node, MARKET, alice), 0);
    // What was, is still there to read.
    assert_eq!(ask(&node, "eth_getBalance", json!([bob, "0x1"])), "0x5");
    assert!(ask(&node, "eth_getTransactionReceipt", json!([hash])).is_object());
    // A snapshot that there is not.
    assert_eq!(ask(&node, "evm_revert", json!(["0x99"])), false);
    // And on it goes.
    send(&node, MARKET, json!({ "from": alice, "to": bob, "value": "0x7" }));
    assert_eq!(ask(&node, "eth_getBalance", json!([bob])), "0x7");
}
