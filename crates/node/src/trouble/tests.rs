//! A node on a store with a trap in it.

use std::{
    fmt::Write,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{self, Sender},
    },
};

use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};
use shard::store::{Around, MemoryStore, Store, StoreError, Table};
use tracing::{
    Event, Metadata, Subscriber,
    field::Field,
    span::{Attributes, Id, Record},
};

use super::*;
use crate::{Node, Settings};

const MARKET: Address = Address::repeat_byte(0x3a);

/// Whoever reads a node of the state trie while the trap is set panics.
#[derive(Default)]
struct Trapped {
    store: MemoryStore,
    set: AtomicBool,
}

impl Around for Trapped {
    fn inner(&self) -> &dyn Store {
        &self.store
    }

    fn get(
        &self,
        table: Table,
        key: &[u8],
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, StoreError> {
        assert!(table != Table::TrieNodes || !self.set.load(Relaxed), "the floor is a trap");
        self.store.get(table, key, read)
    }
}

/// Hears what this file logs.
struct Ear(Mutex<Sender<String>>);

impl Subscriber for Ear {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("node::trouble")
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = event.metadata().level().to_string();
        event.record(&mut |field: &Field, value: &dyn std::fmt::Debug| {
            write!(line, " {field}={value:?}").unwrap();
        });
        // Whoever listened may be gone.
        let _ = self.0.lock().unwrap().send(line);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn call(node: &Node, method: &str, params: Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let request = Request::post("/").body(Bytes::from(body.to_string())).unwrap();
    serde_json::from_slice(node.ask(request).body()).unwrap()
}

#[test]
fn a_quarantine_is_logged_and_ended_by_whoever_runs_the_node() {
    let (tell, log) = mpsc::channel();
    tracing::subscriber::set_global_default(Ear(Mutex::new(tell))).unwrap();
    let store = Arc::new(Trapped::default());
    let mut settings = Settings::in_memory();
    settings.http.port = 0;
    settings.admin_api = true;
    settings.shards.rules.state_root = true;
    let node = Node::start_on(settings, |_| Ok(store.clone())).unwrap();
    let alice = node.accounts()[0].address();
    let send = || {
        let transfer = json!({ "from": alice, "to": MARKET, "value": "0x1" });
        call(&node, "shard_sendTransaction", json!([MARKET, transfer]))
    };
    // A guard against hanging, no more.
    let heard = || log.recv_timeout(Duration::from_secs(60)).unwrap();
    let release = || call(&node, "admin_releaseShard", json!([MARKET]));

    store.set.store(true, Relaxed);
    assert!(send()["result"].is_string());
    let said = heard();
    assert!(said.starts_with("ERROR") && said.contains(&MARKET.to_string()), "{said}");
    assert!(said.contains("the floor is a trap") && said.contains("quarantined"), "{said}");
    let refused = send()["error"]["message"].to_string();
    assert!(refused.contains("the floor is a trap"), "{refused}");
    assert!(refused.contains("admin_releaseShard"), "{refused}");

    store.set.store(false, Relaxed);
    assert_eq!(release()["result"], true);
    let said = heard();
    assert!(said.starts_with("INFO") && said.contains("well again"), "{said}");
    let status = call(&node, "shard_status", json!([MARKET]))["result"].take();
    assert_eq!(status["quarantine"], Value::Null);
    assert_eq!(release()["result"], false, "it was in none");
    let stranger = call(&node, "admin_releaseShard", json!([alice]));
    assert!(stranger["error"]["message"].to_string().contains("shard not found"), "{stranger}");
    // What it had accepted is executed.
    let shard = node.shards().get(MARKET).unwrap();
    while shard.tip().number() == 0 {
        std::thread::yield_now();
    }
}

fn wrong(store: Option<&str>, shards: &[(u8, Trouble)]) -> Troubles {
    let shard = |(shard, trouble): &(u8, Trouble)| (Address::repeat_byte(*shard), trouble.clone());
    Troubles { store: store.map(str::to_owned), shards: shards.iter().map(shard).collect() }
}

#[test]
fn each_change_is_told_once() {
    let quarantined = |why: &str| Trouble::Quarantined(why.to_owned());
    let backing_off = |why: &str| Trouble::BackingOff(why.to_owned());
    let [one, two] = [1, 2].map(Address::repeat_byte);
    let mut troubles = Troubles::default();
    assert_eq!(troubles.replace(wrong(None, &[])), []);
    let news = troubles
        .replace(wrong(Some("full"), &[(1, backing_off("full")), (2, quarantined("broken"))]));
    let expected = [
        News::StoreFailed("full".to_owned()),
        News::Shard(two, quarantined("broken")),
        News::Shard(one, backing_off("full")),
    ];
    assert_eq!(news, expected);
    // The same with other words.
    let again = wrong(Some("fuller"), &[(1, backing_off("fuller")), (2, quarantined("broken"))]);
    assert_eq!(troubles.replace(again), []);
    let news = troubles.replace(wrong(None, &[(1, quarantined("full"))]));
    let expected = [News::StoreWell, News::Shard(one, quarantined("full")), News::ShardWell(two)];
    assert_eq!(news, expected);
    assert_eq!(troubles.replace(wrong(None, &[])), [News::ShardWell(one)]);
}

#[test]
fn of_many_shards_some_are_named_and_the_others_counted() {
    let backing_off = Trouble::BackingOff("full".to_owned());
    let mut all: Vec<_> = (0..=99).map(|shard| (shard, backing_off.clone())).collect();
    all[99].1 = Trouble::Quarantined("broken".to_owned());
    let news = Troubles::default().replace(wrong(None, &all));
    assert_eq!(news.len(), NAMED_MAX + 1);
    assert_eq!(news[0], News::Shard(Address::repeat_byte(99), all[99].1.clone()));
    assert_eq!(news[NAMED_MAX], News::More(100 - NAMED_MAX));
}
