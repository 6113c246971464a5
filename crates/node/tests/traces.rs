//! What is told about the inside of transactions, and about the pool.

mod common;

use common::{MARKET, call, counter, error, path, result, send, sign, start, transfer};
use node::Node;
use serde_json::{Value, json};

fn ask(node: &Node, method: &str, params: Value) -> Value {
    result(node.address(), &path(MARKET), method, params)
}

/// A node on which a counter was called, and the hash of that.
fn counted() -> (Node, Value, Value) {
    let node = start(|_| {});
    let contract = counter(&node, MARKET);
    let alice = node.accounts()[0].address();
    let hash = send(&node, MARKET, json!({ "from": alice, "to": contract }));
    (node, json!(contract), hash)
}

#[test]
fn the_steps_of_a_transaction_are_told() {
    let (node, _, hash) = counted();
    let trace = ask(&node, "debug_traceTransaction", json!([hash]));
    assert_eq!(trace["failed"], false, "{trace}");
    let steps = trace["structLogs"].as_array().unwrap();
    let names: Vec<_> = steps.iter().map(|step| step["op"].as_str().unwrap()).collect();
    assert_eq!(names, ["PUSH1", "PUSH1", "SLOAD", "ADD", "PUSH1", "SSTORE", "STOP"]);
    let shorter = ask(&node, "debug_traceTransaction", json!([hash, { "limit": 2 }]));
    assert_eq!(shorter["structLogs"].as_array().unwrap().len(), 2);
    // The same at the root.
    let params = json!([MARKET, hash]);
    assert_eq!(result(node.address(), "/", "shard_traceTransaction", params), trace);
}

#[test]
fn more_steps_than_are_recorded_are_an_error_unless_the_first_are_asked_for() {
    let node = start(|_| {});
    let alice = node.accounts()[0].address();
    // Makes a contract that jumps to its beginning for ever.
    let creation = "0x635b6000565f526004601cf3";
    let made = send(&node, MARKET, json!({ "from": alice, "data": creation }));
    let contract = common::included(&node, MARKET, &made).created.expect("it was made");
    let hash = send(&node, MARKET, json!({ "from": alice, "to": contract, "gas": "0xf4240" }));
    let call_it = json!({ "to": contract });
    for (options, steps) in
        [(json!({}), None), (json!({ "limit": 0 }), None), (json!({ "limit": 7 }), Some(7))]
    {
        for (method, params) in [
            ("debug_traceTransaction", json!([hash, options])),
            ("debug_traceCall", json!([call_it, "latest", options])),
        ] {
            let answer = call(node.address(), &path(MARKET), method, params);
            let Some(steps) = steps else {
                assert!(error(&answer, -32_005).contains("65536 steps"), "{method}");
                continue;
            };
            let told = answer["result"]["structLogs"].as_array().unwrap().len();
            assert_eq!(told, steps, "{method}");
        }
    }
    let tree = ask(&node, "debug_traceTransaction", json!([hash, { "tracer": "callTracer" }]));
    assert_eq!(tree["error"], "out of gas", "{tree}");
}

#[test]
fn each_tracer_tells_its_own() {
    let (node, contract, hash) = counted();
    let alice = json!(node.accounts()[0].address());
    let trace = |options: Value| ask(&node, "debug_traceTransaction", json!([hash, options]));

    let calls = trace(json!({ "tracer": "callTracer" }));
    assert_eq!((&calls["type"], &calls["from"], &calls["to"]), (&json!("CALL"), &alice, &contract));
    let before = trace(json!({ "tracer": "prestateTracer" }));
    let key = contract.as_str().unwrap();
    assert_eq!(before[key]["code"], common::COUNTER, "{before}");
    let diff = trace(json!({ "tracer": "prestateTracer", "tracerConfig": { "diffMode": true } }));
    let slots = diff["post"][key]["storage"].as_object().expect("a slot has changed");
    let one = format!("0x{:064x}", 1);
    assert_eq!(slots.values().next(), Some(&json!(one)), "{diff}");
    assert_eq!(trace(json!({ "tracer": "4byteTracer" })), json!({}));
    assert_eq!(trace(json!({ "tracer": "noopTracer" })), json!({}));
    let flat = trace(json!({ "tracer": "flatCallTracer" }));
    assert_eq!(flat[0]["transactionHash"], hash);

    let params = json!([hash, { "tracer": "{ step: function() {} }" }]);
    let answer = call(node.address(), &path(MARKET), "debug_traceTransaction", params);
    assert!(error(&answer, -32_602).starts_with("tracer not found: "));
}

#[test]
fn a_block_is_told_transaction_by_transaction() {
    let (node, _, hash) = counted();
    let options = json!({ "tracer": "callTracer" });
    let block = ask(&node, "debug_traceBlockByNumber", json!(["latest", options]));
    assert_eq!(block[0]["txHash"], hash, "{block}");
    assert_eq!(block[0]["result"]["type"], "CALL", "{block}");
    let tip = node.shards().get(MARKET).unwrap().tip().hash;
    assert_eq!(ask(&node, "debug_traceBlockByHash", json!([tip, options])), block);
    let answer =
        call(node.address(), &path(MARKET), "debug_traceBlockByNumber", json!(["0x0", options]));
    assert_eq!(error(&answer, -32_000), "genesis is not traceable");
}

#[test]
fn a_call_is_told_without_being_made() {
    let (node, contract, _) = counted();
    let options = json!({ "tracer": "callTracer" });
    let traced = ask(&node, "debug_traceCall", json!([{ "to": contract }, "latest", options]));
    assert_eq!(traced["to"], contract, "{traced}");
    let traced = ask(&node, "trace_call", json!([{ "to": contract }, ["trace"], "latest"]));
    assert_eq!(traced["trace"][0]["action"]["to"], contract, "{traced}");
}

#[test]
fn calls_are_told_one_after_the_other() {
    let (node, contract, hash) = counted();
    let flat = ask(&node, "trace_transaction", json!([hash]));
    assert_eq!(flat[0]["action"]["to"], contract, "{flat}");
    assert_eq!(flat[0]["transactionHash"], hash, "{flat}");
    assert_eq!(ask(&node, "trace_block", json!(["latest"])), flat);
    let unknown = json!([format!("0x{:064x}", 9)]);
    let answer = call(node.address(), &path(MARKET), "trace_transaction", unknown);
    assert_eq!(error(&answer, -32_000), "transaction not found");
}

#[test]
fn blocks_and_transactions_are_given_in_bytes() {
    let (node, _, hash) = counted();
    let tip = node.shards().get(MARKET).unwrap().tip();
    let raw = ask(&node, "debug_getRawTransaction", json!([hash]));
    assert_eq!(raw, json!(tip.transactions[0].encoded()));
    let header: alloy_primitives::Bytes =
        serde_json::from_value(ask(&node, "debug_getRawHeader", json!(["latest"]))).unwrap();
    assert_eq!(alloy_primitives::keccak256(header), tip.hash);
    let block = ask(&node, "debug_getRawBlock", json!(["latest"]));
    let raw = raw.as_str().unwrap().trim_start_matches("0x").to_owned();
    assert!(block.as_str().unwrap().contains(&raw));
    let receipts = ask(&node, "debug_getRawReceipts", json!(["latest"]));
    assert_eq!(receipts.as_array().unwrap().len(), 1);
}

#[test]
fn what_waits_for_a_nonce_is_in_the_pool() {
    let node = start(|_| {});
    let alice = &node.accounts()[0];
    let waiting = transfer(&node, MARKET, 3);
    ask(&node, "eth_sendRawTransaction", json!([sign(alice, waiting)]));
    let status = ask(&node, "txpool_status", json!([]));
    assert_eq!(status, json!({ "pending": "0x0", "queued": "0x1" }));
    let sender = alice.address().to_string();
    let content = ask(&node, "txpool_content", json!([]));
    assert_eq!(content["queued"][&sender]["3"]["nonce"], "0x3", "{content}");
    let from = ask(&node, "txpool_contentFrom", json!([alice.address()]));
    assert_eq!(from["queued"]["3"], content["queued"][&sender]["3"]);
    assert_eq!(from["pending"], json!({}));
    let inspected = ask(&node, "txpool_inspect", json!([]));
    let line = format!("{MARKET}: 5 wei + 21000 gas × 2000000000 wei");
    assert_eq!(inspected["queued"][&sender]["3"], line);
}
