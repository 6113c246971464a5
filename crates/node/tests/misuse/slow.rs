//! Those who take their time.

use std::{
    io::{Read, Write},
    time::Duration,
};

use serde_json::json;

use super::{
    common::{client::Client, socket::Socket, start},
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
