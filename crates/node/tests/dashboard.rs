//! Does who looks at a node see what it does, and only as much as it takes?

#![allow(clippy::disallowed_methods, reason = "clients are threads of their own")]

mod common;

use std::thread;

use alloy_primitives::Address;
use bytes::Bytes;
use common::{
    MARKET,
    client::{Answer, Client},
    path, result, sign,
    socket::Socket,
    start, transfer, until_height,
};
use http::Request;
use kernel::Phase;
use node::Node;
use observe::Snapshot;
use serde_json::{Value, json};

fn get(node: &Node, path: &str) -> Answer {
    Client::open(node.address()).request(&format!("GET {path}"), &[], "")
}

fn metric(node: &Node, name: &str) -> Option<f64> {
    let page = node.ask(Request::get("/metrics").body(Bytes::new()).unwrap());
    let page = std::str::from_utf8(page.body()).unwrap();
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

/// A transfer in a shard, which is then in a block and out of the pool. Its hash.
fn pay(node: &Node, shard: Address, nonce: u64) -> Value {
    let raw = sign(&node.accounts()[0], transfer(node, shard, nonce));
    let hash = result(node.address(), &path(shard), "eth_sendRawTransaction", json!([raw]));
    until_height(node, shard, nonce + 1);
    settle(node, shard);
    hash
}

/// Waits until a shard has nothing to do.
fn settle(node: &Node, shard: Address) {
    let shard = node.shards().get(shard).unwrap();
    while shard.status().pool_len > 0 || shard.status().phase != Phase::Idle {
        thread::yield_now();
    }
}

/// Somebody who looks.
struct Viewer {
    socket: Socket,
    frame: Value,
}

impl Viewer {
    /// Has seen the first frame, and not said so.
    fn open(node: &Node) -> Viewer {
        let mut socket = Socket::open(node.address(), "/dashboard/feed");
        let frame = socket.next();
        Viewer { socket, frame }
    }

    fn ack(&mut self) {
        let ack = json!({ "ack": self.frame["seq"] });
        self.socket.send(&ack.to_string());
    }

    /// The next frame.
    fn next(&mut self) -> &Value {
        self.ack();
        self.frame = self.socket.next();
        &self.frame
    }

    /// The next frame with such a thing in it.
    fn until(&mut self, mut found: impl FnMut(&Value) -> bool) -> &Value {
        while !found(&self.frame) {
            self.next();
        }
        &self.frame
    }
}

fn row(frame: &Value, shard: Address) -> Option<&Value> {
    let rows = frame["shards"]["rows"].as_array().unwrap();
    rows.iter().find(|row| row[0] == json!(shard))
}

#[test]
fn the_page_is_served_with_a_strict_policy_and_not_twice() {
    let node = start(|_| {});
    let there = get(&node, "/dashboard");
    assert_eq!((there.status, there.header("location")), (308, Some("dashboard/")));
    let page = get(&node, "/dashboard/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'self';") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    let tag = format!("if-none-match: {}", page.header("etag").unwrap());
    let mut again = Client::open(node.address());
    let known = again.request("GET /dashboard/", &[&tag], "");
    assert_eq!((known.status, known.body.as_str()), (304, ""));
    assert_eq!(get(&node, "/dashboard/nothing.js").status, 404);
    let post = Client::open(node.address()).request("POST /dashboard/", &[], "");
    assert_eq!(post.status, 405);
}

#[test]
fn a_node_without_a_dashboard_says_how_to_get_it() {
    let node = start(|settings| settings.dashboard = false);
    for path in ["/dashboard", "/dashboard/", "/dashboard/state", "/dashboard/feed"] {
        let answer = get(&node, path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.body.contains("--no-dashboard"), "{answer:?}");
    }
}

#[test]
fn the_state_is_a_snapshot_with_the_busiest_shards_first() {
    let node = start(|_| {});
    let [busy, lazy] = [7, 8].map(Address::repeat_byte);
    pay(&node, lazy, 0);
    for nonce in 0..3 {
        pay(&node, busy, nonce);
    }
    let answer = get(&node, "/dashboard/state");
    assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
    let snapshot: Snapshot = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((snapshot.program.as_str(), snapshot.entries_total), ("node", 2));
    let names: Vec<_> = snapshot.runtimes.iter().map(|runtime| runtime.name.as_str()).collect();
    assert_eq!(names, ["shards", "queries"]);
    let entries: Vec<_> = snapshot.entries.iter().map(|entry| (&entry.name, entry.done)).collect();
    assert_eq!(entries, [(&busy.to_string(), 3), (&lazy.to_string(), 1)]);
    assert!(snapshot.entries.iter().all(|entry| entry.kind == "shard" && entry.error.is_none()));
    let done = snapshot.done.iter().find(|done| done.what == "transactions").unwrap();
    assert_eq!(done.count, 4);
    let numbers = &answer.json()["node"];
    assert_eq!((&numbers["transactions"], &numbers["failed"]), (&json!(4), &json!(0)));
    assert_eq!((&numbers["shards"], &numbers["blocks"]), (&json!(2), &json!(4)));
    assert_eq!((&numbers["pooled"], &numbers["base_chain"]), (&json!(0), &json!(null)));
}

#[test]
fn what_waits_for_a_nonce_is_in_the_state_at_once() {
    let node = start(|_| {});
    let raw = sign(&node.accounts()[0], transfer(&node, MARKET, 5));
    result(node.address(), &path(MARKET), "eth_sendRawTransaction", json!([raw]));
    let state = get(&node, "/dashboard/state").json();
    assert_eq!((&state["node"]["pooled"], &state["entries"][0]["waiting"]), (&json!(1), &json!(1)));
}

#[test]
fn each_run_of_a_node_has_a_name_of_its_own() {
    let [one, other] = [0, 1].map(|_| start(|_| {}));
    let name = |node| get(node, "/dashboard/state").json()["run"].as_str().unwrap().to_owned();
    assert_eq!(Viewer::open(&one).frame["run"], name(&one));
    assert_ne!(name(&one), name(&other));
}

/// To ask looks at all shards, and anybody may ask.
#[test]
fn who_asks_for_the_state_again_and_again_gets_the_same_for_a_while() {
    let node = start(|_| {});
    let mut client = Client::open(node.address());
    let mut ask = || client.request("GET /dashboard/state", &[], "").body;
    let mut last = ask();
    let mut is_known = |now: &String| std::mem::replace(&mut last, now.clone()) == *now;
    assert!((0..1_000).any(|_| is_known(&ask())), "each one is new");
    pay(&node, MARKET, 0);
    let transactions = || get(&node, "/dashboard/state").json()["node"]["transactions"].clone();
    while transactions() != 1 {}
}

#[test]
fn a_viewer_sees_all_and_then_each_block_as_it_is_committed() {
    let node = start(|_| {});
    let [first, second] = [7, 8].map(Address::repeat_byte);
    pay(&node, first, 0);
    pay(&node, second, 0);
    let mut viewer = Viewer::open(&node);
    let frame = &viewer.frame;
    assert_eq!((&frame["seq"], &frame["shards"]["whole"]), (&json!(1), &json!(true)));
    assert_eq!(frame["shards"]["total"], 2);
    assert_eq!(row(frame, first), Some(&json!([first, "idle", 1, 0, 1, null])));
    assert!(row(frame, second).is_some());
    assert_eq!(frame["blocks"].as_array().unwrap().len(), 2);
    assert_eq!((&frame["timeline"], &frame["node"]["transactions"]), (&json!(null), &json!(2)));

    let hash = pay(&node, second, 1);
    let mut others = 0;
    let frame = viewer.until(|frame| {
        let new = frame["shards"]["whole"] == false;
        others += usize::from(new && row(frame, first).is_some());
        new && frame["blocks"].as_array().is_some_and(|blocks| !blocks.is_empty())
    });
    let block = &frame["blocks"][0];
    assert_eq!((&block["shard"], &block["number"]), (&json!(second), &json!(2)));
    assert_eq!((&block["count"], &block["transactions"]), (&json!(1), &json!([hash])));
    assert_eq!((&block["gas_used"], &frame["blocks_skipped"]), (&json!(21_000), &json!(0)));
    assert_eq!(frame["blocks"].as_array().unwrap().len(), 1);
    assert_eq!(others, 0, "only what has changed is sent");
    // It may have been seen on its way.
    viewer.until(|frame| row(frame, second).is_some_and(|row| row[4] == 2));
}

#[test]
fn a_new_shard_appears() {
    let node = start(|_| {});
    let mut viewer = Viewer::open(&node);
    assert_eq!(viewer.frame["shards"], json!({ "total": 0, "whole": true, "rows": [] }));
    pay(&node, MARKET, 0);
    let frame = viewer.until(|frame| row(frame, MARKET).is_some());
    assert_eq!((&frame["shards"]["total"], &frame["shards"]["whole"]), (&json!(1), &json!(false)));
}

#[test]
fn who_does_not_acknowledge_gets_no_second_frame_and_misses_nothing() {
    let node = start(|_| {});
    pay(&node, MARKET, 0);
    let mut slow = Viewer::open(&node);
    let mut quick = Viewer::open(&node);
    for nonce in 1..4 {
        pay(&node, MARKET, nonce);
        quick.until(|frame| frame["node"]["transactions"] == nonce + 1);
    }
    // All that it was sent is read before the answer to what it says now.
    assert!(!slow.socket.has_more(), "the first frame was not acknowledged");
    let frame = slow.next();
    assert_eq!((&frame["seq"], &frame["node"]["transactions"]), (&json!(2), &json!(4)));
    let numbers: Vec<_> =
        frame["blocks"].as_array().unwrap().iter().map(|block| &block["number"]).collect();
    assert_eq!(numbers, [4, 3, 2]);
}

#[test]
fn failed_transactions_are_counted() {
    let node = start(|settings| settings.shards.rules.no_account_validation = true);
    let from = node.accounts()[0].address();
    // Its creation ends with INVALID.
    let transaction = json!({ "from": from, "data": "0xfe", "gas": "0x186a0" });
    common::send(&node, MARKET, transaction);
    settle(&node, MARKET);
    let numbers = &get(&node, "/dashboard/state").json()["node"];
    assert_eq!((&numbers["transactions"], &numbers["failed"]), (&json!(1), &json!(1)));
}

#[test]
fn who_says_something_else_is_shown_out() {
    let node = start(|_| {});
    for (said, code) in [
        (format!("{{\"ack\":1{}}}", " ".repeat(1 << 10)), 1009),
        ("{\"ack\":2}".to_owned(), 1008),
        ("{\"ack\":-1}".to_owned(), 1008),
        ("{\"shout\":true}".to_owned(), 1008),
        ("nonsense".to_owned(), 1008),
        ("[".repeat(1_000), 1008),
    ] {
        let mut viewer = Viewer::open(&node);
        viewer.socket.send(&said);
        let (told, why) = viewer.socket.closed();
        assert_eq!(told, code, "{said}: {why}");
        assert!(!why.is_empty());
    }
    Viewer::open(&node).next();
}

#[test]
fn only_so_many_may_look_at_once() {
    let node = start(|_| {});
    let mut viewers: Vec<_> = (0..16).map(|_| Viewer::open(&node)).collect();
    assert_eq!(metric(&node, "shiftwork_dashboard_connections"), Some(16.0));
    // Of an answer to an upgrade a page sees nothing; why a socket was closed it does.
    let (code, why) = Socket::open(node.address(), "/dashboard/feed").closed();
    assert_eq!((code, &*why), (1013, "16 look at the dashboard already: close one of them"));
    let refusals = r#"shiftwork_http_refusals_total{limit="dashboards"}"#;
    assert_eq!(metric(&node, refusals), Some(1.0));
    // The others go on, and when one goes there is room.
    viewers.pop();
    while metric(&node, "shiftwork_dashboard_connections") != Some(15.0) {}
    viewers.push(Viewer::open(&node));
    pay(&node, MARKET, 0);
    for viewer in &mut viewers {
        viewer.until(|frame| row(frame, MARKET).is_some());
    }
    drop(viewers);
    while metric(&node, "shiftwork_dashboard_connections") != Some(0.0) {}
    // Nobody looks, nothing is done.
    while node.shards().events().subscribers() != 0 {
        thread::yield_now();
    }
}

#[test]
fn strangers_and_their_pages_may_not_look() {
    let node = start(|_| {});
    let upgrade = |header: &str| {
        let headers = [
            header,
            "connection: upgrade",
            "upgrade: websocket",
            "sec-websocket-version: 13",
            "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
        ];
        Client::open(node.address()).request("GET /dashboard/feed", &headers, "").status
    };
    assert_eq!(upgrade("origin: https://evil.example"), 403);
    assert_eq!(upgrade("origin: null"), 403);
    assert_eq!(upgrade("host: evil.example"), 403);
    assert_eq!(upgrade("origin: http://localhost"), 101);
    let image = ["sec-fetch-site: cross-site", "sec-fetch-mode: no-cors", "sec-fetch-dest: image"];
    for path in ["/dashboard/state", "/admin/timeline"] {
        let line = format!("GET {path}");
        assert_eq!(Client::open(node.address()).request(&line, &image, "").status, 403);
    }
    for path in ["/dashboard/", "/dashboard/state"] {
        let line = format!("GET {path}");
        let mut client = Client::open(node.address());
        assert_eq!(client.request(&line, &["host: evil.example"], "").status, 403);
        assert_eq!(client.request(&line, &["origin: https://evil.example"], "").status, 403);
    }
    let mut plain = Client::open(node.address());
    assert_eq!(plain.request("GET /dashboard/feed", &[], "").status, 426);
    let odd = ["connection: upgrade", "upgrade: websocket", "sec-websocket-version: 12"];
    assert_eq!(plain.request("GET /dashboard/feed", &odd, "").status, 400);
}

#[test]
fn a_shutdown_says_good_bye() {
    let node = start(|_| {});
    let mut viewer = Viewer::open(&node);
    viewer.ack();
    let end = thread::spawn(move || node.shutdown());
    let (code, why) = viewer.socket.closed();
    assert_eq!((code, why.as_str()), (1001, "the node is shutting down"));
    drop(viewer);
    assert!(end.join().unwrap().clean());
}

#[test]
fn turns_of_workers_are_shown_to_who_wants_them() {
    let node = start(|_| {});
    let mut viewer = Viewer::open(&node);
    assert_eq!(viewer.frame["timeline"], Value::Null);
    viewer.socket.send(r#"{"timeline":true}"#);
    // Nothing is recorded before it was heard.
    viewer.until(|frame| frame["timeline"].is_object());
    pay(&node, MARKET, 0);
    let name = format!("shard {MARKET}");
    let frame = viewer.until(|frame| {
        let workers = frame["timeline"]["workers"].as_array().unwrap();
        let mut slices = workers.iter().flat_map(|worker| worker["slices"].as_array().unwrap());
        slices.any(|slice| slice[2] == name)
    });
    let timeline = frame["timeline"].clone();
    let until = timeline["to_us"].as_u64().unwrap();
    assert!(timeline["from_us"].as_u64().unwrap() < until);
    assert_eq!(
        (&timeline["workers"][0]["name"], &timeline["dropped"]),
        (&json!("shards 0"), &json!(0))
    );
    assert_eq!(viewer.next()["timeline"]["from_us"], until, "nothing is left out between frames");
    viewer.socket.send(r#"{"timeline":false}"#);
    viewer.until(|frame| frame["timeline"].is_null());
}

#[test]
fn workers_are_paused_only_by_who_runs_the_node() {
    let stranger = start(|_| {});
    for method in ["admin_pauseWorker", "admin_resumeWorker"] {
        let answer = common::call(stranger.address(), "/", method, json!(["shards", 0]));
        assert!(common::error(&answer, -32_601).contains("--admin-api"), "{answer}");
    }
    let timeline = get(&stranger, "/admin/timeline?seconds=1");
    assert_eq!(timeline.status, 404);
    assert!(timeline.body.contains("--admin-api"), "{timeline:?}");

    let node = start(|settings| {
        settings.admin_api = true;
        settings.workers = std::num::NonZeroUsize::new(1);
    });
    let switch = |method, params| common::call(node.address(), "/", method, params);
    let worker = |place: usize| {
        get(&node, "/dashboard/state").json()["runtimes"][place]["workers"][0]["state"].clone()
    };
    for (place, runtime) in [(0, "shards"), (1, "queries")] {
        assert_eq!(switch("admin_pauseWorker", json!([runtime, 0]))["result"], true);
        while worker(place) != "paused" {}
    }
    // With all of them paused it can still be looked at, and woken.
    let mut viewer = Viewer::open(&node);
    assert_eq!(viewer.frame["runtimes"][0]["workers"][0]["state"], "paused");
    let numbers = get(&node, "/metrics");
    assert!(numbers.status == 200 && numbers.body.contains("shiftwork_shard_"), "{numbers:?}");
    for (place, runtime) in [(0, "shards"), (1, "queries")] {
        assert_eq!(switch("admin_resumeWorker", json!([runtime, "0x0"]))["result"], true);
        while worker(place) == "paused" {}
    }
    viewer.until(|frame| frame["runtimes"][0]["workers"][0]["state"] != "paused");
    pay(&node, MARKET, 0);
    let error = |params| common::error(&switch("admin_pauseWorker", params), -32_602);
    assert!(error(json!(["shards", 1])).contains("there is no worker 1"));
    assert!(error(json!(["shards", "0xffffffffffffffff"])).contains("there is no worker"));
    assert!(error(json!(["tills", 0])).contains("`shards` and `queries`"));
    assert!(error(json!(["shards"])).contains("worker"));
}

#[test]
fn a_timeline_is_recorded_on_demand() {
    let node = start(|settings| settings.admin_api = true);
    for odd in ["seconds=0", "seconds=61", "seconds=soon"] {
        let answer = get(&node, &format!("/admin/timeline?{odd}"));
        assert_eq!(answer.status, 400, "{odd}");
        assert!(answer.body.contains("from 1 to 60"), "{answer:?}");
    }
    let look = node.ask(Request::head("/admin/timeline?seconds=60").body(Bytes::new()).unwrap());
    assert_eq!(look.status().as_u16(), 405);
    assert_eq!(look.headers()["allow"], "GET, OPTIONS");
    let trace = thread::scope(|scope| {
        let trace = scope.spawn(|| get(&node, "/admin/timeline?seconds=1"));
        let mut nonce = 0;
        while !trace.is_finished() {
            pay(&node, MARKET, nonce);
            nonce += 1;
        }
        trace.join().unwrap()
    });
    assert_eq!(trace.status, 200);
    let name = trace.header("content-disposition").unwrap();
    assert!(name.starts_with("attachment;"), "{name}");
    let events = trace.json()["traceEvents"].as_array().unwrap().clone();
    let name = format!("shard {MARKET}");
    assert!(events.iter().any(|event| event["cat"] == "turn" && event["name"] == name));
}
