//! What those who watch a node see.

use super::{
    common::{MARKET, client::Client, path, result, sign, start, transfer, until_height},
    metric,
};
use serde_json::json;

#[test]
fn a_node_that_is_well_says_so() {
    let node = start(|_| {});
    let mut client = Client::open(node.address());
    for (path, body) in [("/health", "ok\n"), ("/ready", "ready\n")] {
        let answer = client.request(&format!("GET {path}"), &[], "");
        assert_eq!((answer.status, answer.body.as_str()), (200, body));
    }
}

#[test]
fn the_numbers_tell_what_was_done() {
    let node = start(|_| {});
    let (address, own) = (node.address(), path(MARKET));
    for nonce in 0..3 {
        let raw = sign(&node.accounts()[0], transfer(&node, MARKET, nonce));
        result(address, &own, "eth_sendRawTransaction", json!([raw]));
    }
    until_height(&node, MARKET, 1);
    while metric(&node, "shiftwork_shard_transactions_included_total") != Some(3.0) {}
    let sent = r#"shiftwork_rpc_requests_total{method="eth_sendRawTransaction",outcome="ok"}"#;
    assert_eq!(metric(&node, sent), Some(3.0));
    let count = r#"shiftwork_rpc_request_duration_seconds_count{method="eth_sendRawTransaction"}"#;
    assert_eq!(metric(&node, count), Some(3.0));
    let infinite = r#"shiftwork_rpc_request_duration_seconds_bucket{method="eth_sendRawTransaction",le="+Inf"}"#;
    assert_eq!(metric(&node, infinite), Some(3.0));
    assert_eq!(metric(&node, "shiftwork_shard_shards"), Some(1.0));
    assert_eq!(metric(&node, r#"shiftwork_shard_pool_transactions{state="ready"}"#), Some(0.0));
    assert!(metric(&node, "shiftwork_shard_blocks") >= Some(1.0));
    let commits = metric(&node, "shiftwork_shard_commits_total").unwrap();
    let appends = metric(&node, r#"shiftwork_store_append_duration_seconds_count{sync="yes"}"#);
    assert!(commits >= 1.0 && appends >= Some(1.0), "{commits} {appends:?}");
    let turns = r#"shiftwork_kernel_turns_total{runtime="queries",worker="0"}"#;
    assert!(metric(&node, turns).is_some());
    // What strangers invent does not become a name here.
    let page = Client::open(address).request("GET /metrics", &[], "");
    assert_eq!(page.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(!page.body.contains("eth_invented"));
}

#[test]
fn invented_methods_are_one_in_the_numbers() {
    let node = start(|_| {});
    for number in 0..50 {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"eth_{number}\"}}\n"}}"#);
        let answer = super::ask(&node, "/", body).1.unwrap();
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
    }
    let unknown = r#"shiftwork_rpc_requests_total{method="unknown",outcome="error"}"#;
    assert_eq!(metric(&node, unknown), Some(50.0));
}

#[test]
fn every_answer_names_its_request() {
    let node = start(|_| {});
    let mut client = Client::open(node.address());
    let mut id = |header: &str| {
        let answer = client.request("GET /health", &[header], "");
        answer.header("x-request-id").expect("a name").to_owned()
    };
    assert_eq!(id("x-request-id: trace-17"), "trace-17");
    let own = id("x-request-id: with spaces, \"quotes\"");
    assert!(own.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-'), "{own}");
    assert_ne!(id("accept: */*"), own);
}
