//! Names and web pages that may not ask.

use super::{
    common::{client::Client, start},
    metric,
};

const BODY: &str = r#"{"jsonrpc":"2.0","id":1,"method":"web3_clientVersion"}"#;

#[test]
fn a_node_that_is_called_by_a_strange_name_does_not_answer() {
    let node = start(|settings| settings.http.hosts = vec!["node.example".to_owned()]);
    for (host, status) in [
        ("localhost", 200),
        ("127.0.0.1:1", 200),
        ("node.example:80", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
    ] {
        for line in ["POST /", "GET /health", "GET /metrics"] {
            let host = format!("host: {host}");
            let answer = Client::open(node.address()).request(line, &[&host], BODY);
            assert_eq!(answer.status, status, "{line}, {host}");
            assert!(status == 200 || answer.body.contains("--http.hosts"), "{answer:?}");
        }
    }
    assert_eq!(metric(&node, r#"shiftwork_http_refusals_total{limit="host"}"#), Some(6.0));
}

#[test]
fn a_web_page_that_was_not_allowed_gets_no_answer() {
    let node = start(|settings| settings.http.origins = vec!["https://app.example".to_owned()]);
    let ask = |line: &str, origin: &str| {
        let origin = format!("origin: {origin}");
        // As a page can send it without asking before.
        let headers = [origin.as_str(), "content-type: text/plain"];
        Client::open(node.address()).request(line, &headers, BODY)
    };
    let evil = ask("POST /", "https://evil.example");
    assert_eq!((evil.status, evil.header("access-control-allow-origin")), (403, None));
    assert!(evil.body.contains("--http.corsdomain"), "{evil:?}");
    let preflight = ask("OPTIONS /", "https://evil.example");
    assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (403, None));

    let friend = ask("POST /", "https://app.example");
    assert_eq!(friend.status, 200);
    assert_eq!(friend.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(friend.header("vary"), Some("origin"));
    let preflight = ask("OPTIONS /", "https://app.example");
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(preflight.header("access-control-allow-methods"), Some("get, post"));
    assert_eq!(preflight.header("access-control-allow-headers"), Some("*"));
    // No page at all: no word about pages.
    let tool = Client::open(node.address()).request("POST /", &[], BODY);
    assert_eq!((tool.status, tool.header("access-control-allow-origin")), (200, None));
}

#[test]
fn a_websocket_of_a_web_page_that_was_not_allowed_is_refused() {
    let node = start(|settings| settings.http.origins = vec!["https://app.example".to_owned()]);
    let upgrade = |origin: &str| {
        let origin = format!("origin: {origin}");
        let headers = [
            origin.as_str(),
            "connection: upgrade",
            "upgrade: websocket",
            "sec-websocket-version: 13",
            "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
        ];
        Client::open(node.address()).request("GET /", &headers, "").status
    };
    assert_eq!(upgrade("https://evil.example"), 403);
    assert_eq!(upgrade("null"), 403);
    assert_eq!(upgrade("https://app.example"), 101);
    assert_eq!(upgrade("http://localhost"), 101);
}

#[test]
fn any_content_type_will_do() {
    let node = start(|_| {});
    for kind in [
        "application/json",
        "application/json; charset=UTF-8",
        "application/json-rpc",
        "application/x-www-form-urlencoded",
        "text/plain",
        "nonsense",
    ] {
        let header = format!("content-type: {kind}");
        let answer = Client::open(node.address()).request("POST /", &[&header], BODY);
        assert_eq!(answer.json()["id"], 1, "{kind}");
    }
    assert_eq!(Client::open(node.address()).request("POST /", &[], BODY).json()["id"], 1);
}

#[test]
fn other_methods_and_paths_are_refused_with_what_there_is() {
    let node = start(|_| {});
    let ask = |line: &str| Client::open(node.address()).request(line, &[], "");
    // As geth answers load balancers.
    assert_eq!((ask("GET /").status, ask("GET /").body), (200, String::new()));
    assert_eq!((ask("PUT /").status, ask("DELETE /health").status), (405, 405));
    assert_eq!(ask("PUT /").header("allow"), Some("post, get, options"));
    assert!(ask("POST /shard/0x12").body.contains("an address of 20 bytes"));
    assert!(ask("POST /nowhere").body.contains("JSON-RPC is at /"));
    assert_eq!((ask("POST /shard/0x12").status, ask("POST /nowhere").status), (404, 404));
    let mut upgrade = Client::open(node.address());
    let odd = upgrade.request("GET /", &["connection: upgrade", "upgrade: websocket"], "");
    assert_eq!(odd.status, 400, "{odd:?}");
}
