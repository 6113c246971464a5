//! Those who take their time.

use std::{
    io::{Read, Write},
    time::Duration,
};

use alloy_primitives::Address;
use node::Node;
use serde_json::{Value, json};
use shard::config::GenesisAccount;

use super::{
    common::{MARKET, bare, client::Client, path, socket::Socket, start},
    goes_on, metric,
};

const SOON: Duration = Duration::from_millis(200);

#[test]
fn a_head_that_does_not_end_is_not_waited_for() {
    let node = start(|settings| settings.limits.header_timeout = SOON);
    let mut clients: Vec<_> = (0..50).map(|_| Client::open(node.address())).collect();
    for client in &mut clients {
        client.send("POST / HTTP/1.1\r\nhost: local");
    }
    for client in &mut clients {
        assert_eq!(client.closed(), "");
    }
    assert_eq!(
        metric(&node, r#"shiftwork_http_refusals_total{limit="header_timeout"}"#),
        Some(50.0)
    );
    goes_on(&node);
}

#[test]
fn who_connects_and_says_nothing_is_not_waited_for() {
    let node = start(|settings| settings.limits.header_timeout = SOON);
    assert_eq!(Client::open(node.address()).closed(), "");
    goes_on(&node);
}

#[test]
fn a_body_that_does_not_end_is_not_waited_for() {
    let node = start(|settings| settings.limits.body_timeout = SOON);
    let mut client = Client::open(node.address());
    client.send("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{\"jsonrpc\"");
    let answer = client.answer();
    assert_eq!((answer.status, answer.json()["error"]["code"].clone()), (408, json!(-32005)));
    assert!(answer.error().contains("200ms"), "{answer:?}");
    assert_eq!(client.closed(), "");
    assert_eq!(metric(&node, r#"shiftwork_http_refusals_total{limit="body_timeout"}"#), Some(1.0));
    goes_on(&node);
}

#[test]
fn a_connection_that_is_kept_alive_and_not_used_is_closed() {
    let node = start(|settings| settings.limits.idle_timeout = SOON);
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"web3_clientVersion"}"#;
    let mut client = Client::open(node.address());
    assert_eq!(client.request("POST /", &[], body).status, 200);
    assert_eq!(client.closed(), "");
    goes_on(&node);
}

#[test]
fn a_websocket_that_answers_no_ping_is_closed() {
    let node = start(|settings| settings.limits.idle_timeout = SOON);
    let mut socket = Socket::open(node.address(), "/");
    // Pings, and then the end.
    let mut pings = Vec::new();
    let _ = socket.stream.read_to_end(&mut pings);
    assert!(pings.contains(&0x89), "{pings:?}");
    while metric(&node, "shiftwork_http_connections") != Some(0.0) {}
    goes_on(&node);
}

/// What it asks for would otherwise pile up in memory.
#[test]
fn a_websocket_that_reads_no_answers_is_not_read_from_and_then_closed() {
    let node = start(|settings| settings.limits.idle_timeout = SOON);
    let socket = Socket::open(node.address(), "/");
    let mut stream = socket.stream.into_inner();
    // A guard against hanging, no more.
    stream.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
    // The id comes back.
    let id = "x".repeat(60_000);
    let request = format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"web3_clientVersion"}}"#);
    let mut frame = vec![0x81, 0x80 | 126];
    frame.extend(u16::try_from(request.len()).unwrap().to_be_bytes());
    frame.extend([0; 4]);
    frame.extend(request.as_bytes());
    let mut taken = 0;
    let error = loop {
        match stream.write_all(&frame) {
            Ok(()) => taken += frame.len(),
            Err(error) => break error,
        }
    };
    assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "it was never closed");
    // What fits into the buffers of two sockets, and what was under way.
    assert!(taken < 100 << 20, "{taken} bytes");
    while metric(&node, "shiftwork_http_connections") != Some(0.0) {}
    goes_on(&node);
}

/// A contract whose code is long. That is asked for in a few bytes.
const LONG: Address = Address::repeat_byte(0x10);
/// Bytes of an answer with it.
const ANSWER: usize = 2 * 25_000;
/// So many calls are asked for.
const CALLS: usize = 1_000;

fn start_with_long_code() -> Node {
    start(|settings| {
        let code = vec![0x5b; ANSWER / 2].into();
        let contract = GenesisAccount { code, ..GenesisAccount::default() };
        settings.shards.genesis.accounts.insert(LONG, contract);
    })
}

/// How many calls of `eth_getCode` were made.
fn made(node: &Node) -> usize {
    let name = r#"shiftwork_rpc_requests_total{method="eth_getCode",outcome="ok"}"#;
    metric(node, name).unwrap_or_default() as usize
}

/// All is asked for before anything is read; then others ask; then everything is read.
fn ask_and_read_later(requests: &[Value], per_request: usize) {
    let node = start_with_long_code();
    let mut socket = Socket::open(node.address(), &path(MARKET));
    for request in requests {
        socket.send(&request.to_string());
    }
    // Others are answered, and their calls wait in the same line as those before.
    let mut other = Socket::open(node.address(), &path(MARKET));
    let others = 200;
    for _ in 0..others {
        assert_eq!(other.result("eth_getCode", json!([LONG])).as_str().unwrap().len(), ANSWER + 2);
    }
    goes_on(&node);
    // What may wait, what eight are making, and what is in the buffers of two sockets.
    let most = (5 << 20) + 8 * per_request * ANSWER + (10 << 20);
    let held = (made(&node) - others) * ANSWER;
    assert!(held < most, "{held} bytes of {}", requests.len() * per_request * ANSWER);
    for _ in requests {
        let answer = socket.next_text();
        assert!(answer.len() > per_request * ANSWER, "{}", String::from_utf8_lossy(&answer));
    }
    assert!(!socket.has_more());
    assert_eq!(made(&node) - others, requests.len() * per_request);
}

#[test]
fn answers_that_are_not_read_are_not_made_until_they_are() {
    let requests: Vec<_> = (0..CALLS).map(|id| bare(id, "eth_getCode", json!([LONG]))).collect();
    ask_and_read_later(&requests, 1);
}

#[test]
fn answers_to_batches_that_are_not_read_are_not_made_until_they_are() {
    let batch: Value = (0..10).map(|id| bare(id, "eth_getCode", json!([LONG]))).collect();
    ask_and_read_later(&vec![batch; CALLS / 10], 10);
}
