//! Every limit, hit.

use serde_json::{Value, json};

use super::{
    ask,
    common::{MARKET, bare, client::Client, path, socket::Socket, start},
    goes_on, metric,
};

fn version(id: impl Into<Value>) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": "web3_clientVersion", "params": [] })
}

#[test]
fn a_body_may_be_as_large_as_the_limit_and_not_a_byte_larger() {
    let node = start(|settings| settings.limits.body_bytes = 1_000);
    let mut body = version(1).to_string();
    body += &" ".repeat(1_000 - body.len());
    let mut client = Client::open(node.address());
    assert_eq!(client.request("POST /", &[], &body).json()["id"], 1);
    let answer = client.request("POST /", &[], &(body.clone() + " "));
    assert_eq!((answer.status, answer.json()["error"]["code"].clone()), (413, json!(-32005)));
    assert!(answer.error().contains("at most 1000 bytes"), "{answer:?}");
    // Without a length that tells it.
    let chunk = format!("{:x}\r\n{body} \r\n0\r\n\r\n", body.len() + 1);
    let mut client = Client::open(node.address());
    client.send("POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n");
    assert_eq!(client.send(chunk).answer().status, 413);
    assert_eq!(metric(&node, r#"shiftwork_http_refusals_total{limit="body_bytes"}"#), Some(2.0));
    goes_on(&node);
}

#[test]
fn a_message_over_a_websocket_has_the_same_limit() {
    let node = start(|settings| settings.limits.body_bytes = 1_000);
    let mut socket = Socket::open(node.address(), "/");
    socket.send(&(version(1).to_string() + &" ".repeat(2_000)));
    let answer = socket.next();
    assert_eq!(answer["error"]["code"], -32007, "{answer}");
    assert!(answer["error"]["data"].as_str().unwrap().contains("1000"), "{answer}");
    goes_on(&node);
}

#[test]
fn a_batch_has_so_many_items_and_no_more() {
    let node = start(|settings| settings.limits.batch_items = 10);
    let batch = |items: usize| Value::from_iter((0..items).map(version)).to_string();
    let (_, answer) = ask(&node, "/", batch(10));
    let ids: Vec<_> =
        answer.unwrap().as_array().unwrap().iter().map(|one| one["id"].clone()).collect();
    assert_eq!(ids, (0..10).map(Value::from).collect::<Vec<_>>());
    let (_, answer) = ask(&node, "/", batch(11));
    let answer = answer.unwrap();
    assert_eq!(answer["error"]["code"], -32010, "{answer}");
    assert!(answer["error"]["data"].as_str().unwrap().contains("10"), "{answer}");
    goes_on(&node);
}

#[test]
fn a_batch_bomb_is_refused() {
    let node = start(|_| {});
    for bomb in ["[".to_owned() + &"1,".repeat(2_000_000) + "1]", "[".repeat(5_000_000)] {
        let (status, answer) = ask(&node, "/", bomb);
        assert_eq!(status, 200);
        assert!(answer.unwrap()["error"]["code"].is_i64());
    }
    goes_on(&node);
}

#[test]
fn the_answer_to_a_batch_has_a_limit_of_its_own() {
    let node = start(|settings| settings.limits.answer_bytes = 10_000);
    // The id comes back.
    let batch = |id: usize| Value::from_iter((0..10).map(|_| version("x".repeat(id)))).to_string();
    assert_eq!(ask(&node, "/", batch(800)).1.unwrap().as_array().map(Vec::len), Some(10));
    let answer = ask(&node, "/", batch(1_000)).1.unwrap();
    assert_eq!(answer["error"]["code"], -32011, "{answer}");
    assert!(answer["error"]["data"].as_str().unwrap().contains("10000"), "{answer}");
    assert_eq!(metric(&node, r#"shiftwork_http_refusals_total{limit="answer_bytes"}"#), Some(1.0));
    goes_on(&node);
}

#[test]
fn a_single_answer_has_a_limit() {
    let node = start(|settings| settings.limits.answer_bytes = 2_000);
    // Ten accounts are more than that as transactions would be; the receipts of a block are not there,
    // so the genesis block's many fields do it.
    let block = bare(1, "eth_getBlockByNumber", json!(["0x0", true])).to_string();
    let answer = ask(&node, &path(MARKET), block.clone()).1.unwrap();
    assert!(answer["result"].is_object(), "{answer}");
    drop(node);
    let node = start(|settings| settings.limits.answer_bytes = 300);
    let answer = ask(&node, &path(MARKET), block).1.unwrap();
    assert_eq!(answer["error"]["code"], -32008, "{answer}");
    assert!(answer["error"]["data"].as_str().unwrap().contains("300"), "{answer}");
}

#[test]
fn an_error_that_is_too_long_is_told_as_that() {
    let node = start(|settings| settings.limits.answer_bytes = 80);
    let wrong = bare(1, "eth_getBalance", json!(["0x12", "latest"])).to_string();
    let answer = ask(&node, &path(MARKET), wrong).1.unwrap();
    assert_eq!(answer["error"]["code"], -32008, "{answer}");
    assert_eq!(metric(&node, r#"shiftwork_http_refusals_total{limit="answer_bytes"}"#), Some(1.0));
}

#[test]
fn arguments_are_nested_only_so_deep() {
    let node = start(|_| {});
    let nested = |levels: usize| {
        let list = "[".repeat(levels) + &"]".repeat(levels);
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"web3_sha3","params":{list}}}"#)
    };
    let refused =
        |answer: &Value| answer["error"]["message"].as_str().unwrap().contains("64 levels");
    let deep = ask(&node, "/", nested(64)).1.unwrap();
    assert!(refused(&deep) && deep["error"]["code"] == -32005, "{deep}");
    assert!(!refused(&ask(&node, "/", nested(63)).1.unwrap()));
    let batch = ask(&node, "/", format!("[{}]", nested(64))).1.unwrap();
    assert!(refused(&batch[0]), "{batch}");
    let mut socket = Socket::open(node.address(), "/");
    socket.send(&nested(2_000_000));
    assert!(refused(&socket.next()));
    goes_on(&node);
}

#[test]
fn one_connection_too_many_is_told_so() {
    let node = start(|settings| settings.limits.connections = 3);
    let body = version(1).to_string();
    let mut clients: Vec<_> = (0..2).map(|_| Client::open(node.address())).collect();
    for client in &mut clients {
        assert_eq!(client.request("POST /", &[], &body).status, 200);
    }
    // A WebSocket counts to its end.
    let mut socket = Socket::open(node.address(), "/");
    socket.result("web3_clientVersion", json!([]));
    let mut refused = Client::open(node.address());
    let answer = refused.answer();
    assert_eq!((answer.status, answer.body.contains("too many connections")), (503, true));
    assert_eq!(metric(&node, "shiftwork_http_connections"), Some(3.0));
    assert_eq!(metric(&node, "shiftwork_websocket_connections"), Some(1.0));
    drop(socket);
    while metric(&node, "shiftwork_http_connections") != Some(2.0) {}
    assert_eq!(Client::open(node.address()).request("POST /", &[], &body).status, 200);
    for client in &mut clients {
        assert_eq!(client.request("POST /", &[], &body).status, 200);
    }
}

#[test]
fn a_connection_has_so_many_subscriptions_and_no_more() {
    let node = start(|settings| settings.limits.subscriptions = 5);
    let mut socket = Socket::open(node.address(), &path(MARKET));
    let ids: Vec<_> = (0..5).map(|_| socket.result("eth_subscribe", json!(["newHeads"]))).collect();
    let refused = socket.call("eth_subscribe", json!(["newHeads"]));
    assert_eq!(refused["error"]["code"], -32006, "{refused}");
    assert!(refused["error"]["data"].as_str().unwrap().contains('5'), "{refused}");
    assert_eq!(metric(&node, "shiftwork_rpc_subscriptions"), Some(5.0));
    assert_eq!(metric(&node, r#"shiftwork_http_refusals_total{limit="subscriptions"}"#), Some(1.0));
    assert_eq!(socket.result("eth_unsubscribe", json!([ids[0]])), true);
    socket.result("eth_subscribe", json!(["newHeads"]));
}

#[test]
fn a_subscription_over_http_says_what_is_missing() {
    let node = start(|_| {});
    let request = bare(1, "eth_subscribe", json!(["newHeads"])).to_string();
    let answer = ask(&node, &path(MARKET), request).1.unwrap();
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("WebSocket"), "{answer}");
}
