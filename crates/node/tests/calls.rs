//! What calls, estimates and fees are answered.

mod common;

use std::sync::Arc;

use alloy_primitives::{Address, B256};
use common::{MARKET, call, counter, error, path, result, send, start, transfer};
use node::Node;
use serde_json::{Value, json};
use shard::Environment;

/// Returns 42.
const FORTY_TWO: &str = "0x602a60005260206000f3";
/// Returns the first slot.
const READER: &str = "0x60005460005260206000f3";
/// Returns the time.
const CLOCK: &str = "0x4260005260206000f3";
/// Reverts with `Error("no!")`.
const REFUSER: &str = "0x6064600c60003960646000fd\
    08c379a0\
    0000000000000000000000000000000000000000000000000000000000000020\
    0000000000000000000000000000000000000000000000000000000000000003\
    6e6f210000000000000000000000000000000000000000000000000000000000";
/// An opcode that there is not.
const INVALID: &str = "0xfe";
/// Jumps to itself for ever.
const LOOP: &str = "0x5b600056";
const CONTRACT: Address = Address::repeat_byte(0xcc);

fn ask(node: &Node, method: &str, params: Value) -> Value {
    result(node.address(), &path(MARKET), method, params)
}

/// Calls code that is there for this call only.
fn with_code(node: &Node, method: &str, code: &str) -> Value {
    let params = json!([{ "to": CONTRACT }, "latest", { CONTRACT.to_string(): { "code": code } }]);
    call(node.address(), &path(MARKET), method, params)
}

fn word(number: u64) -> String {
    format!("0x{number:064x}")
}

#[test]
fn a_call_returns_what_the_code_returns() {
    let node = start(|_| {});
    assert_eq!(with_code(&node, "eth_call", FORTY_TWO)["result"], word(42));
    // Nobody is there: nothing is returned.
    assert_eq!(ask(&node, "eth_call", json!([{ "to": CONTRACT }])), "0x");
}

#[test]
fn a_revert_has_code_3_its_reason_and_its_data() {
    let node = start(|_| {});
    for method in ["eth_call", "eth_estimateGas"] {
        let answer = with_code(&node, method, REFUSER);
        assert_eq!(error(&answer, 3), "execution reverted: no!");
        let data = answer["error"]["data"].as_str().expect("what was returned");
        assert!(data.starts_with("0x08c379a0"), "{data}");
    }
}

#[test]
fn what_fails_without_a_revert_fails_in_the_words_of_geth() {
    let node = start(|_| {});
    let answer = with_code(&node, "eth_call", INVALID);
    assert_eq!(error(&answer, -32_000), "invalid opcode: INVALID");
    let answer = with_code(&node, "eth_call", LOOP);
    assert_eq!(error(&answer, -32_000), "out of gas");
    let answer = with_code(&node, "eth_estimateGas", LOOP);
    assert!(error(&answer, -32_000).starts_with("gas required exceeds allowance ("));
}

#[test]
fn overrides_hold_for_one_call_only() {
    let node = start(|_| {});
    let slots = json!({ word(0): word(7) });
    for kind in ["state", "stateDiff"] {
        let state = json!({ CONTRACT.to_string(): { "code": READER, kind: slots } });
        let params = json!([{ "to": CONTRACT }, "latest", state]);
        assert_eq!(ask(&node, "eth_call", params), word(7));
    }
    let state = json!({ CONTRACT.to_string(): { "code": CLOCK } });
    let block = json!({ "time": "0x1234" });
    let params = json!([{ "to": CONTRACT }, "latest", state, block]);
    assert_eq!(ask(&node, "eth_call", params), word(0x1234));
    assert_eq!(ask(&node, "eth_call", json!([{ "to": CONTRACT }])), "0x");
    let state = json!({ CONTRACT.to_string(): { "code": returning("4a") } });
    let with_block = |method, block: Value| {
        call(
            node.address(),
            &path(MARKET),
            method,
            json!([{ "to": CONTRACT }, "latest", state, block]),
        )
    };
    let answer = with_block("eth_call", json!({ "blobBaseFee": "0x123" }));
    assert_eq!(answer["result"], word(0x123), "{answer}");
    for method in ["eth_call", "eth_estimateGas"] {
        for (block, expect) in [
            (json!({ "beaconRoot": word(1) }), "beaconRoot is not supported"),
            (json!({ "blobBaseFee": format!("0x1{:032x}", 0) }), "blobBaseFee is not below 2^128"),
            (json!({ "baseFee": format!("0x1{:016x}", 0) }), "baseFee is not below 2^64"),
        ] {
            let said = error(&with_block(method, block), -32_602);
            assert!(said.contains(expect), "{said}");
        }
    }
    let both = json!({ CONTRACT.to_string(): { "state": slots, "stateDiff": slots } });
    let params = json!([{ "to": CONTRACT }, "latest", both]);
    let answer = call(node.address(), &path(MARKET), "eth_call", params);
    assert!(error(&answer, -32_602).contains("both 'state' and 'stateDiff'"));
}

#[test]
fn a_call_at_a_past_block_sees_the_state_of_that_time() {
    let node = start(|_| {});
    let contract = counter(&node, MARKET);
    let alice = node.accounts()[0].address();
    for _ in 0..2 {
        send(&node, MARKET, json!({ "from": alice, "to": contract }));
    }
    let code = json!({ contract.to_string(): { "code": READER } });
    for (block, count) in [("0x1", 0), ("0x2", 1), ("0x3", 2), ("latest", 2), ("pending", 2)] {
        let params = json!([{ "to": contract }, block, code]);
        assert_eq!(ask(&node, "eth_call", params), word(count), "{block}");
    }
    let answer =
        call(node.address(), &path(MARKET), "eth_call", json!([{ "to": contract }, "0x9"]));
    assert!(error(&answer, -32_001).starts_with("block not found"));
}

/// Returns what these operations leave.
fn returning(operations: &str) -> String {
    format!("0x{operations}60005260206000f3")
}

/// Stops if these operations leave that, and reverts if not.
fn expecting(operations: &str, word: &Value) -> String {
    let (word, stop) = (&word.as_str().unwrap()[2..], operations.len() / 2 + 40);
    format!("0x{operations}7f{word}1460{stop:02x}575f5ffd5b00")
}

#[test]
fn in_the_next_block_all_of_it_is_the_next_ones() {
    let node = start(|_| {});
    let alice = node.accounts()[0].address();
    send(&node, MARKET, json!({ "from": alice, "to": MARKET }));
    let look = |method, code: String, block| {
        let code = json!({ CONTRACT.to_string(): { "code": code } });
        ask(&node, method, json!([{ "to": CONTRACT }, block, code]))
    };
    // NUMBER - 1, and its hash.
    let tip = node.shards().get(MARKET).unwrap().tip().hash;
    assert_eq!(look("eth_call", returning("6001430340"), "pending"), json!(tip));

    let base = Environment {
        number: Some(5_000),
        timestamp: 2_000_000_000,
        base_fee: 7,
        excess_blob_gas: 100_000_000,
        prevrandao: B256::repeat_byte(9),
        beneficiary: Address::repeat_byte(8),
        parent_beacon_block_root: B256::ZERO,
        hashes: Arc::new([(4_999, B256::repeat_byte(6))].into_iter().collect()),
    };
    let beneficiary = base.beneficiary.into_word();
    node.shards().set_environment(base);
    for (what, operations, seen) in [
        ("NUMBER", "43", Some(json!(word(5_000)))),
        ("TIMESTAMP", "42", Some(json!(word(2_000_000_000)))),
        ("PREVRANDAO", "44", Some(json!(B256::repeat_byte(9)))),
        ("COINBASE", "41", Some(json!(beneficiary))),
        ("BLOCKHASH", "61138740", Some(json!(B256::repeat_byte(6)))),
        ("BLOBBASEFEE", "4a", None),
    ] {
        let next = look("eth_call", returning(operations), "pending");
        assert_eq!(next, seen.unwrap_or(next.clone()), "{what}");
        assert_ne!(look("eth_call", returning(operations), "latest"), next, "{what}");
        // A transaction that needs it would succeed.
        let gas = look("eth_estimateGas", expecting(operations, &next), "latest");
        assert!(gas.is_string(), "{what}: {gas}");
    }
}

#[test]
fn an_estimate_is_enough_and_no_more_than_needed() {
    let node = start(|_| {});
    let alice = node.accounts()[0].address();
    let transfer = json!([{ "from": alice, "to": MARKET, "value": "0x1" }]);
    assert_eq!(ask(&node, "eth_estimateGas", transfer), "0x5208");
    let contract = counter(&node, MARKET);
    let gas = ask(&node, "eth_estimateGas", json!([{ "from": alice, "to": contract }]));
    let hash = send(&node, MARKET, json!({ "from": alice, "to": contract, "gas": gas }));
    let receipt = common::included(&node, MARKET, &hash);
    assert!(receipt.success);
    let gas = u64::from_str_radix(&gas.as_str().unwrap()[2..], 16).unwrap();
    assert!(gas < receipt.gas_used * 11 / 10, "{gas} for {}", receipt.gas_used);
}

#[test]
fn an_access_list_names_what_is_touched() {
    let node = start(|_| {});
    let contract = counter(&node, MARKET);
    let alice = node.accounts()[0].address();
    let made = ask(&node, "eth_createAccessList", json!([{ "from": alice, "to": contract }]));
    let list = &made["accessList"];
    assert_eq!(list[0]["address"], json!(contract), "{made}");
    assert_eq!(list[0]["storageKeys"], json!([word(0)]), "{made}");
    assert!(made["gasUsed"].is_string() && made.get("error").is_none(), "{made}");
}

#[test]
fn calls_that_contradict_themselves_or_a_limit_are_refused() {
    let node = start(|settings| settings.limits.calldata_bytes = 4);
    let refused = |request: Value, code| {
        error(&call(node.address(), &path(MARKET), "eth_call", json!([request])), code)
    };
    let wrong = refused(json!({ "to": MARKET, "data": "0x01", "input": "0x02" }), -32_602);
    assert!(wrong.starts_with("both \"data\" and \"input\" are set"), "{wrong}");
    let wrong = refused(json!({ "gasPrice": "0x1", "maxFeePerGas": "0x1" }), -32_602);
    assert!(wrong.starts_with("both gasPrice and"), "{wrong}");
    let wrong = refused(json!({ "to": MARKET, "chainId": "0x1" }), -32_602);
    assert!(wrong.starts_with("chainId does not match node's (have=1, want="), "{wrong}");
    let wrong = refused(json!({ "to": MARKET, "input": "0x0102030405" }), -32_005);
    assert_eq!(wrong, "input of 5 bytes is above the limit of 4: send less");
    let wrong = refused(json!({ "to": MARKET, "gas": "0x1" }), -32_000);
    assert!(wrong.starts_with("intrinsic gas too low: have 1, want 21000"), "{wrong}");
    let wrong = refused(json!({ "to": MARKET, "maxFeePerGas": "0x1" }), -32_000);
    assert!(wrong.starts_with("insufficient funds") || wrong.starts_with("max fee"), "{wrong}");
}

#[test]
fn gas_costs_the_base_fee() {
    let node = start(|_| {});
    assert_eq!(ask(&node, "eth_gasPrice", json!([])), "0x3b9aca00");
    assert_eq!(ask(&node, "eth_maxPriorityFeePerGas", json!([])), "0x0");
    assert_eq!(ask(&node, "eth_blobBaseFee", json!([])), "0x1");
}

#[test]
fn the_history_of_fees_tells_what_was_paid_on_top() {
    let node = start(|_| {});
    let alice = node.accounts()[0].address();
    let request = json!({
        "from": alice, "to": MARKET, "maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x7",
    });
    send(&node, MARKET, request);
    let history = ask(&node, "eth_feeHistory", json!(["0x4", "latest", [0.0, 50.0, 100.0]]));
    assert_eq!(history["oldestBlock"], "0x0", "{history}");
    let base_fees = history["baseFeePerGas"].as_array().unwrap();
    assert_eq!(base_fees.len(), 3, "one for each block, and for the next: {history}");
    assert_eq!(base_fees[2], "0x3b9aca00", "{history}");
    assert_eq!(history["reward"], json!([["0x0", "0x0", "0x0"], ["0x7", "0x7", "0x7"]]));
    let ratio = history["gasUsedRatio"][1].as_f64().unwrap();
    assert!((ratio - 21_000.0 / 30_000_000.0).abs() < 1e-9, "{history}");
    // Plain numbers are taken as well, and no percentiles.
    let history = ask(&node, "eth_feeHistory", json!([1, "latest"]));
    assert_eq!(history["oldestBlock"], "0x1");
    assert!(history.get("reward").is_none(), "{history}");

    let refused =
        |params| error(&call(node.address(), &path(MARKET), "eth_feeHistory", params), -32_602);
    assert!(refused(json!([1, "latest", [101.0]])).starts_with("invalid reward percentile"));
    assert!(refused(json!([1, "latest", [5, 5]])).starts_with("invalid reward percentile"));
}

#[test]
fn a_shard_is_asked_at_the_root_with_its_address_first() {
    let node = start(|_| {});
    let missing = call(node.address(), "/", "shard_call", json!([MARKET, { "to": MARKET }]));
    assert_eq!(error(&missing, -32_602), format!("shard not found: {MARKET}"));
    let raw = common::sign(&node.accounts()[0], transfer(&node, MARKET, 0));
    result(node.address(), "/", "shard_sendRawTransaction", json!([MARKET, raw]));
    let gas = result(node.address(), "/", "shard_estimateGas", json!([MARKET, { "to": MARKET }]));
    assert_eq!(gas, "0x5208");
}
