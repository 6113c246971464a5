//! Malformed JSON of every kind.

use serde_json::Value;

use super::{
    ask,
    common::{MARKET, path, start},
    goes_on,
};

/// Whatever came: an answer in the form of the specification.
fn check(node: &node::Node, path: &str, body: &[u8]) {
    let (status, answer) = ask(node, path, body.to_vec());
    let shown = || String::from_utf8_lossy(body).into_owned();
    assert!(matches!(status, 200 | 400), "{status}: {}", shown());
    // Only notifications get no answer.
    let Some(answer) = answer else {
        let request: Value = serde_json::from_slice(body).unwrap_or_default();
        assert!(request.is_object() && request.get("id").is_none(), "{}", shown());
        return;
    };
    let answers = answer.as_array().cloned().unwrap_or_else(|| vec![answer.clone()]);
    for answer in answers {
        assert_eq!(answer["jsonrpc"], "2.0", "{}", shown());
        assert!(answer.get("id").is_some(), "{}", shown());
        let error = answer["error"]["code"].as_i64();
        assert!(error.is_some() != answer.get("result").is_some(), "{answer}: {}", shown());
        assert_ne!(error, Some(-32603), "{answer}: {}", shown());
    }
}

#[test]
fn a_request_cut_off_anywhere_or_with_any_byte_changed_is_answered() {
    let node = start(|_| {});
    let own = path(MARKET);
    let request = br#"{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0x3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a","latest"]}"#;
    let batch = [b"[", &request[..], b",", &request[..], b"]"].concat();
    for (path, whole) in [(&own[..], &request[..]), ("/", request), (&own, &batch)] {
        check(&node, path, whole);
        for at in 1..whole.len() {
            check(&node, path, &whole[..at]);
        }
    }
    for at in 0..request.len() {
        for byte in *b"\"\\{}[],:0\0\xff \n" {
            let mut changed = request.to_vec();
            changed[at] = byte;
            check(&node, &own, &changed);
        }
    }
    goes_on(&node);
}

#[test]
fn whatever_is_no_request_is_answered() {
    let node = start(|_| {});
    let long = "9".repeat(100_000);
    let bodies = [
        "",
        " ",
        "\0",
        "null",
        "true",
        "1",
        "-",
        "\"",
        "\"x\"",
        "[",
        "]",
        "{",
        "}",
        "[]",
        "{}",
        "[[]]",
        "[{}]",
        "[null]",
        "[1,2,3]",
        "[[[[[[[[[[]]]]]]]]]]",
        "{\"",
        "{\"a\"",
        "{\"a\":",
        "\u{feff}{}",
        r#"{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}"#,
        r#"{"id":1,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":""}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":[[[]]],"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":-1,"method":"eth_chainId"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","method":"eth_blockNumber"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":{"address":"0x0"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","extra":[{"deep":[]}]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#,
        r#"{"jsonrpc":"2.0","id":"\u0000\u001b","method":"\u0000\n\r\u001b[2J"}"#,
        r#"{'jsonrpc':'2.0','id':1,'method':'eth_chainId'}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId",}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":[1e999999]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":[NaN]}"#,
        r#"{"jsonrpc":"2.0","method":"eth_chainId"}"#,
    ];
    let own = path(MARKET);
    for path in ["/", &own] {
        for body in bodies {
            check(&node, path, body.as_bytes());
        }
        let id = format!(r#"{{"jsonrpc":"2.0","id":{long},"method":"eth_chainId"}}"#);
        check(&node, path, id.as_bytes());
        let number =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":[{long}]}}"#);
        check(&node, path, number.as_bytes());
        check(&node, path, "{".repeat(1 << 20).as_bytes());
        check(&node, path, "{\"a\":".repeat(1 << 18).as_bytes());
        check(&node, path, &[0xff; 1_000]);
        check(&node, path, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xc3\x28\"}");
    }
    goes_on(&node);
}

#[test]
fn names_may_be_written_with_escapes() {
    let node = start(|_| {});
    let request = br#"{"jsonrpc":"2.0","\u0069d":"\u0041","method":"net_\u006cistening"}"#;
    let answer = ask(&node, &path(MARKET), request.to_vec()).1.unwrap();
    assert_eq!(answer, serde_json::json!({ "jsonrpc": "2.0", "id": "A", "result": true }));
}
