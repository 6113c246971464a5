//! A node in memory, and somebody who asks it.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use node::{Node, Settings};
use serde_json::{Value, json};

/// A node on any free port, with what `change` chooses.
pub fn start(change: impl FnOnce(&mut Settings)) -> Node {
    let mut settings = Settings::in_memory();
    settings.http.port = 0;
    change(&mut settings);
    Node::start(settings).expect("it starts")
}

/// Sends a request's body and gives the status and the body of the answer.
pub fn post(address: SocketAddr, path: &str, body: &str) -> (u16, String) {
    let mut socket = TcpStream::connect(address).expect("it listens");
    // A guard against hanging, no more.
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let length = body.len();
    write!(
        socket,
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("an answer in UTF-8");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), body.to_owned())
}

/// Calls a method and gives the whole answer.
pub fn call(address: SocketAddr, path: &str, method: &str, params: Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let (_, body) = post(address, path, &request.to_string());
    serde_json::from_str(&body).unwrap_or_else(|why| panic!("{why}: {body}"))
}

/// Calls a method and gives its result.
pub fn result(address: SocketAddr, path: &str, method: &str, params: Value) -> Value {
    let mut answer = call(address, path, method, params);
    assert!(answer.get("error").is_none(), "{method}: {answer}");
    answer["result"].take()
}
