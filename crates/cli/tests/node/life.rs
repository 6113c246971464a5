//! What does a node tell at its start and at its end?

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use alloy_primitives::Address;
use serde_json::{Value, json};

use crate::{Running, path, place, signer, transfer};

const SHARD: Address = Address::repeat_byte(0x3a);

#[test]
fn a_node_tells_where_it_is_and_who_has_funds_and_ends_in_order() {
    for signal in ["-INT", "-TERM"] {
        let node = Running::start(&["--in-memory"]);
        for expect in [
            "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
            "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
            "(9) 0xa0Ee7A142d267C1f36714E4a8F75612F20a79720",
            "base 31337",
            "in memory",
            "10000 ether",
            "/dashboard\n",
        ] {
            assert!(node.banner.contains(expect), "no {expect}: {}", node.banner);
        }
        let alice = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
        let balance = node.result(&path(SHARD), "eth_getBalance", json!([alice, "latest"]));
        assert_eq!(balance, "0x21e19e0c9bab2400000");
        node.send(signal);
        let (code, said) = node.end();
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("shutting down") && said.contains("ended in order"), "{said}");
    }
}

#[test]
fn a_node_leaves_a_timeline_of_its_last_turns() {
    let file = place("timeline").join("trace.json");
    let node = Running::start(&["--in-memory", "--timeline", file.to_str().unwrap()]);
    let raw = transfer(&signer(0), SHARD, 0);
    node.result(&path(SHARD), "eth_sendRawTransactionSync", json!([raw]));
    node.send("-INT");
    let (code, said) = node.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("writing the timeline") && said.contains("trace.json"), "{said}");
    let trace: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let turn = format!("shard {SHARD}");
    let events = trace["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|event| event["cat"] == "turn" && event["name"] == turn));
    let (code, _, said) =
        crate::run(&["node", "--in-memory", "--timeline", "/nowhere/at/all.json"]);
    assert!(code == Some(2) && said.contains("/nowhere/at/all.json"), "{code:?}: {said}");
}

#[test]
fn a_dashboard_that_is_not_wanted_is_not_there() {
    let node = Running::start(&["--in-memory", "--no-dashboard"]);
    assert!(!node.banner.contains("/dashboard"), "{}", node.banner);
}

#[test]
fn what_is_chosen_holds() {
    let genesis = place("chosen").join("genesis.json");
    let account = "0x0101010101010101010101010101010101010101";
    std::fs::write(&genesis, format!(r#"{{"alloc":{{"{account}":{{"balance":"0x7"}}}}}}"#))
        .unwrap();
    let node = Running::start(&[
        "--in-memory",
        "--chain-id=5",
        "--shared-chain-id",
        "--accounts=2",
        "--balance=0.5",
        "--genesis",
        genesis.to_str().unwrap(),
        "--log-format=json",
    ]);
    assert!(node.banner.contains("(1) ") && !node.banner.contains("(2) "), "{}", node.banner);
    let path = path(SHARD);
    assert_eq!(node.result(&path, "eth_chainId", json!([])), "0x5");
    assert_eq!(node.result(&path, "eth_getBalance", json!([account, "latest"])), "0x7");
    let alice = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
    let balance = node.result(&path, "eth_getBalance", json!([alice, "latest"]));
    assert_eq!(balance, "0x6f05b59d3b20000");
    node.send("-TERM");
    let (code, said) = node.end();
    assert_eq!(code, Some(0), "{said}");
    // The warning, the start and the end, each an object.
    let lines: Vec<serde_json::Value> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let has = |level: &str, text: &str| {
        lines.iter().any(|line| {
            line["level"] == level && line["message"].as_str().is_some_and(|m| m.contains(text))
        })
    };
    assert!(has("WARN", "replay") && has("INFO", "listens"), "{said}");
}

#[test]
fn what_is_called_over_a_websocket_is_logged_with_the_name_of_the_request_that_opened_it() {
    let node = Running::start(&["--in-memory", "--log-format=json", "--log-level=debug"]);
    let mut socket = TcpStream::connect(node.address).unwrap();
    // A guard against hanging, no more.
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"web3_clientVersion"}"#;
    let head = "GET / HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
                sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                x-request-id: trace-17\r\n\r\n";
    // One text, under a mask of zeros.
    let frame = [&[0x81, 0x80 | call.len() as u8, 0, 0, 0, 0][..], call].concat();
    socket.write_all(&[head.as_bytes(), &frame].concat()).unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"}") {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        answer.extend(byte);
    }
    let other = node.result("/", "web3_clientVersion", json!([]));
    assert!(String::from_utf8_lossy(&answer).contains(other.as_str().unwrap()));
    node.send("-TERM");
    let (code, said) = node.end();
    assert_eq!(code, Some(0), "{said}");
    let called: Vec<_> = said.lines().filter(|line| line.contains(r#""called""#)).collect();
    let named = |line: &&&str| line.contains("trace-17") && line.contains("web3_clientVersion");
    assert_eq!((called.len(), called.iter().filter(named).count()), (2, 1), "{said}");
}

#[test]
fn where_others_reach_it_what_is_dangerous_is_told() {
    let node = Running::start(&["--in-memory", "--http.addr=0.0.0.0", "--dev-api"]);
    node.send("-TERM");
    let (code, said) = node.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("--dev-api: whoever reaches it"), "{said}");
    assert!(said.contains("keys that everybody knows"), "{said}");
}

#[test]
fn data_that_is_in_use_is_refused_and_stays_after_an_end() {
    let data = place("in-use");
    let data = data.to_str().unwrap();
    let node = Running::start(&["--data-dir", data]);
    let raw = crate::transfer(&crate::signer(0), SHARD, 0);
    let hash = node.result(&path(SHARD), "eth_sendRawTransaction", json!([raw]));
    let (code, _, said) = crate::run(&["node", "--http.port", "0", "--data-dir", data]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(data) && said.contains("in use"), "{said}");
    node.send("-TERM");
    let (code, said) = node.end();
    assert_eq!(code, Some(0), "{said}");

    let node = Running::start(&["--data-dir", data]);
    let status = node.result("/", "shard_getTransactionStatus", json!([SHARD, hash]));
    assert!(!status.is_null(), "it was acknowledged");
    drop(node);
    // Other accounts would be another beginning of the same chain.
    let arguments = ["node", "--http.port", "0", "--data-dir", data, "--accounts", "3"];
    let (code, _, said) = crate::run(&arguments);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("genesis"), "{said}");
}
