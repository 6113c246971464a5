//! Can a program that is no node be watched in the same way, and by this machine only?

mod common;

use bytes::Bytes;
use common::{call, client::Client, error};
use kernel::Runtime;
use node::watch::{Watch, WatchError, Watched};
use observe::{
    Snapshot,
    snapshot::{self, Entry},
};
use serde_json::json;

/// A name that would do harm in a page and in a terminal.
const EVIL: &str = "</script><img src=x onerror=alert(1)>\u{1b}[2J\u{0}\"";

fn watch(runtime: &Runtime) -> Watch {
    let handle = runtime.handle().clone();
    let watched = Watched {
        runtimes: vec![("tills", handle.clone())],
        snapshot: Box::new(move || Snapshot {
            program: "shop".to_owned(),
            runtimes: vec![snapshot::Runtime::of("tills", &handle)],
            entries: vec![Entry { name: EVIL.to_owned(), ..Entry::default() }],
            ..Snapshot::default()
        }),
    };
    Watch::start("127.0.0.1:0".parse().unwrap(), watched).expect("it listens")
}

#[test]
fn its_state_is_a_snapshot_in_which_names_are_text() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let watch = watch(&runtime);
    let mut client = Client::open(watch.address());
    let answer = client.request("GET /dashboard/state", &[], "");
    assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert!(!answer.body.contains(['\u{1b}', '\u{0}']), "{}", answer.body);
    let seen: Snapshot = serde_json::from_str(&answer.body).unwrap();
    assert_eq!((seen.program.as_str(), seen.entries[0].name.as_str()), ("shop", EVIL));
    assert_eq!(client.request("GET /dashboard/", &[], "").status, 404);
    assert_eq!(client.request("GET /dashboard/state", &["host: evil.example"], "").status, 403);
    let image = ["sec-fetch-site: cross-site", "sec-fetch-mode: no-cors", "sec-fetch-dest: image"];
    assert_eq!(client.request("GET /dashboard/state", &image, "").status, 403);
}

#[test]
fn its_workers_are_paused_and_go_on() {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let watch = watch(&runtime);
    let address = watch.address();
    let state = || {
        let answer = Client::open(address).request("GET /dashboard/state", &[], "");
        answer.json()["runtimes"][0]["workers"][1]["state"].clone()
    };
    assert_eq!(call(address, "/", "admin_pauseWorker", json!(["tills", 1]))["result"], true);
    while state() != "paused" {}
    assert_eq!(call(address, "/", "admin_resumeWorker", json!(["tills", 1]))["result"], true);
    while state() == "paused" {}
    let none = call(address, "/", "admin_pauseWorker", json!(["tills", 2]));
    assert!(error(&none, -32_602).contains("there is no worker 2"));
    error(&call(address, "/", "eth_chainId", json!([])), -32_601);
    let body = Bytes::from(vec![b' '; 20 << 10]);
    let long = std::str::from_utf8(&body).unwrap();
    assert_eq!(Client::open(address).request("POST /", &[], long).status, 400);
    let page = ["origin: https://evil.example"];
    assert_eq!(Client::open(address).request("POST /", &page, "{}").status, 403);
}

#[test]
fn nobody_but_this_machine_may_watch() {
    let watched = Watched { runtimes: Vec::new(), snapshot: Box::new(Snapshot::default) };
    let refused = Watch::start("0.0.0.0:7777".parse().unwrap(), watched).unwrap_err();
    assert!(matches!(refused, WatchError::NotLoopback(_)));
    assert!(refused.to_string().contains("127.0.0.1:7777"), "{refused}");
}
