//! Does a node stay well whatever is sent to it?

#![allow(clippy::disallowed_methods, reason = "clients are threads of their own")]

#[path = "../common/mod.rs"]
mod common;

mod access;
mod arguments;
mod flood;
mod json;
mod limits;
mod pages;
mod slow;
mod stop;

use bytes::Bytes;
use http::Request;
use node::Node;
use serde_json::Value;

/// Sends a body without a socket. The answer's status and its JSON, if there is any.
fn ask(node: &Node, path: &str, body: impl Into<Bytes>) -> (u16, Option<Value>) {
    let answer = node.ask(Request::post(path).body(body.into()).unwrap());
    let json = (!answer.body().is_empty())
        .then(|| serde_json::from_slice(answer.body()).expect("answers are JSON"));
    (answer.status().as_u16(), json)
}

/// The node still answers.
fn goes_on(node: &Node) {
    let (status, answer) =
        ask(node, "/", r#"{"jsonrpc":"2.0","id":7,"method":"web3_clientVersion"}"#);
    assert_eq!((status, &answer.unwrap()["id"]), (200, &7.into()));
}

/// A number of `/metrics`, by its name with its labels.
fn metric(node: &Node, name: &str) -> Option<f64> {
    let page = node.ask(Request::get("/metrics").body(Bytes::new()).unwrap());
    let page = std::str::from_utf8(page.body()).unwrap();
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}
