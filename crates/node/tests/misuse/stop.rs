//! The end, while others still want something.

use std::{fs, io::Write, path::PathBuf, thread, time::Duration};

use node::{Node, Settings};
use serde_json::json;

use super::{
    common::{MARKET, bare, client::Client, path, sign, socket::Socket, start, transfer},
    metric,
};

/// A temporary directory of its own, removed at the end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("node-{name}-{}", std::process::id()));
        // A process with this id may have died here before.
        let _ = fs::remove_dir_all(&path);
        Directory(path)
    }

    fn start(&self) -> Node {
        let mut settings = Settings::in_directory(self.0.clone());
        settings.http.port = 0;
        Node::start(settings).expect("it starts")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn nothing_that_was_acknowledged_is_lost_when_a_node_stops_under_load() {
    let directory = Directory::new("stop-under-load");
    let node = directory.start();
    let address = node.address();
    let signed: Vec<Vec<_>> = node
        .accounts()
        .iter()
        .take(4)
        .map(|account| {
            (0..400).map(|nonce| sign(account, transfer(&node, MARKET, nonce))).collect()
        })
        .collect();
    let (some, enough) = std::sync::mpsc::channel();
    let senders: Vec<_> = signed
        .into_iter()
        .map(|signed| {
            let some = some.clone();
            thread::spawn(move || {
                let mut client = Client::open(address);
                let mut acknowledged = Vec::new();
                for raw in signed {
                    let body = bare(1, "eth_sendRawTransaction", json!([raw])).to_string();
                    let head = format!(
                        "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
                        path(MARKET),
                        body.len()
                    );
                    let sent = client.stream.get_mut().write_all((head + &body).as_bytes());
                    // Closed: it has stopped.
                    if sent.is_err() || client.is_closed() {
                        break;
                    }
                    let answer = client.answer();
                    if answer.status != 200 {
                        break;
                    }
                    match answer.json()["result"].as_str() {
                        Some(hash) => acknowledged.push(hash.parse().unwrap()),
                        None => break,
                    }
                    let _ = some.send(());
                }
                acknowledged
            })
        })
        .collect();
    for _ in 0..100 {
        enough.recv().expect("they send");
    }
    let ended = node.shutdown();
    assert!(ended.clean(), "{ended}");
    let acknowledged: Vec<alloy_primitives::B256> =
        senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect();
    assert!(acknowledged.len() >= 100);
    let node = directory.start();
    let shard = node.shards().get(MARKET).expect("it is there");
    for hash in acknowledged {
        let status = shard.transaction_status(hash).unwrap();
        assert!(status.is_some(), "{hash} is lost");
    }
}

#[test]
fn idle_connections_and_websockets_do_not_hold_a_node_up() {
    let node = start(|settings| settings.shutdown_deadline = Duration::from_secs(60));
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"web3_clientVersion"}"#;
    let mut used = Client::open(node.address());
    assert_eq!(used.request("POST /", &[], body).status, 200);
    let mut silent = Client::open(node.address());
    let mut half = Client::open(node.address());
    half.send("POST / HTTP/1.1\r\nho");
    let mut half_body = Client::open(node.address());
    half_body.send("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{");
    let mut socket = Socket::open(node.address(), &path(MARKET));
    socket.result("eth_subscribe", json!(["newHeads"]));
    while metric(&node, "shiftwork_http_connections") != Some(5.0) {}
    while metric(&node, r#"shiftwork_rpc_requests_under_way{transport="http"}"#) != Some(2.0) {}
    let ended = node.shutdown();
    assert!(ended.clean(), "{ended}");
    assert_eq!((used.closed(), silent.closed(), half.closed()), Default::default());
    let answer = half_body.answer();
    assert_eq!(answer.status, 503);
    assert!(answer.error().contains("shutting down"), "{answer:?}");
}

#[test]
fn who_waits_for_a_receipt_is_told_of_the_end_and_does_not_hold_it_up() {
    let node = start(|settings| settings.shutdown_deadline = Duration::from_secs(20));
    // A nonce is missing before it, so it is in no block in half a minute either.
    let raw = sign(&node.accounts()[0], transfer(&node, MARKET, 7));
    let hash = alloy_primitives::keccak256(&raw);
    let body = bare(1, "eth_sendRawTransactionSync", json!([raw, 30_000])).to_string();
    let length = body.len();
    let mut waiting = Client::open(node.address());
    waiting.send(format!(
        "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}",
        path(MARKET)
    ));
    let waits = |shard: shard::Shard| shard.pool_counts().waiting == 1;
    while !node.shards().get(MARKET).is_some_and(waits) {
        thread::yield_now();
    }
    let ended = node.shutdown();
    assert!(ended.clean(), "{ended}");
    let answer = waiting.answer().json();
    assert_eq!((&answer["error"]["code"], &answer["error"]["data"]), (&json!(4), &json!(hash)));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("the node is shutting down"), "{message}");
}

#[test]
fn who_does_not_take_his_answer_is_cut_off_and_that_is_told() {
    let node = start(|settings| {
        settings.shutdown_deadline = Duration::from_secs(4);
        settings.limits.body_timeout = Duration::from_secs(600);
        settings.limits.body_bytes = 100_000_000;
        settings.limits.answer_bytes = 100_000_000;
    });
    // The id comes back: more than the buffers of two sockets hold.
    let id = "x".repeat(16_000_000);
    let body = format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"web3_clientVersion"}}"#);
    let length = body.len();
    let mut greedy = Client::open(node.address());
    greedy.send(format!("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n"));
    greedy.send(body);
    let answered = r#"shiftwork_rpc_requests_total{method="web3_clientVersion",outcome="ok"}"#;
    while metric(&node, answered) != Some(1.0) {
        thread::yield_now();
    }
    let ended = node.shutdown();
    assert_eq!(ended.connections_cut, 1, "{ended}");
    assert!(!ended.clean() && ended.shards.is_clean(), "{ended}");
}
