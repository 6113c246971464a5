//! Is every body of a request answered, at `/` and at a shard's endpoint?
//!
//! The first byte chooses the path, the rest is the body: the same way that it takes when it comes
//! over HTTP, without the socket. There is one node for all inputs, in memory and with little room, so
//! what one input has sent the next one may find: starting a node takes too long to do it each time.

use std::sync::OnceLock;

use node::{Node, Settings};

/// The shard whose endpoint is asked.
const SHARD: &str = "/shard/0x3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a";

/// The code of an error that nobody has foreseen.
const INTERNAL: i64 = -32603;

const PATHS: [&str; 2] = ["/", SHARD];

fn node() -> &'static Node {
    static NODE: OnceLock<Node> = OnceLock::new();
    NODE.get_or_init(|| {
        let mut settings = Settings::in_memory();
        settings.http.port = 0;
        settings.dev_api = true;
        settings.admin_api = true;
        settings.shards.shards_max = 16;
        settings.shards.pool.transactions_max = 64;
        // Calls that go on for long find nothing new.
        settings.limits.call_gas = 1_000_000;
        settings.limits.answer_bytes = 1 << 20;
        Node::start(settings).expect("a node in memory starts")
    })
}

/// Sends a body and checks the form of the answer.
pub fn request_path(data: &[u8]) {
    let Some((first, body)) = data.split_first() else { return };
    let path = PATHS[usize::from(*first) % PATHS.len()];
    check(path, body);
    // It goes on.
    let alive = check("/", br#"{"jsonrpc":"2.0","id":1,"method":"web3_clientVersion"}"#);
    assert!(alive.contains("\"result\":\"shiftwork"), "{alive}");
}

fn check(path: &str, body: &[u8]) -> String {
    let request = http::Request::post(path).body(body.to_vec().into()).expect("a request");
    let answer = node().ask(request);
    let status = answer.status().as_u16();
    assert!(matches!(status, 200 | 400 | 413), "{status}");
    let text = String::from_utf8(answer.body().to_vec()).expect("answers are text");
    // Notifications get no answer.
    if !text.is_empty() {
        let json: serde_json::Value = serde_json::from_str(&text).expect("answers are JSON");
        let all = json.as_array().cloned().unwrap_or_else(|| vec![json]);
        assert!(!all.is_empty());
        for one in all {
            assert_eq!(one["jsonrpc"], "2.0", "{one}");
            assert!(one.get("id").is_some(), "{one}");
            assert!(one.get("result").is_some() != one["error"]["code"].is_i64(), "{one}");
            // Words alone would not tell: answers repeat what they were asked.
            let message = one["error"]["message"].as_str().unwrap_or_default();
            let failed = one["error"]["code"] == INTERNAL;
            assert!(!(failed && message.contains("panicked")), "{one}");
        }
    }
    text
}
