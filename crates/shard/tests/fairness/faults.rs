//! What comes of a panic in a turn, and of a batch that fails again and again?

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use shard::{
    Config, Shards,
    execute::DropReason,
    pool::{Queued, Status},
    shard::TransactionStatus,
    shards::SubmitError,
    store::{Around, MemoryStore, Store, StoreError, Table},
};

use crate::{
    common::{account, config, open, shard, transfer},
    simulation,
};

/// What a read of a table does, where the key contains these bytes.
#[derive(Clone)]
struct Fault {
    table: Table,
    key: Vec<u8>,
    panics: bool,
}

/// A store in memory whose reads panic, or find nothing, on demand.
#[derive(Default)]
struct Cursed {
    inner: MemoryStore,
    fault: Mutex<Option<Fault>>,
    hits: AtomicU64,
}

impl Cursed {
    fn curse(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap() = fault;
    }

    fn hits(&self) -> u64 {
        self.hits.load(Relaxed)
    }
}

impl Around for Cursed {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    fn get(
        &self,
        table: Table,
        key: &[u8],
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, StoreError> {
        let fault = self.fault.lock().unwrap().clone();
        let concerns = |fault: &Fault| {
            fault.table == table && key.windows(fault.key.len()).any(|part| part == fault.key)
        };
        if let Some(fault) = fault.filter(concerns) {
            self.hits.fetch_add(1, Relaxed);
            assert!(!fault.panics, "the store is cursed");
            return Ok(false);
        }
        self.inner.get(table, key, read)
    }
}

/// Every block has a root, and everything is folded at once: the tables are read.
fn settings() -> Config {
    let mut config = config();
    config.rules.state_root = true;
    config.checkpoint_bytes = 1;
    config
}

fn accept(shards: &Shards, config: &Config, to: u8, from: u64, nonce: u64) {
    drop(shards.accept(shard(to), transfer(config, shard(to), from, nonce)).unwrap());
}

fn status(shards: &Shards, config: &Config, to: u8, nonce: u64) -> TransactionStatus {
    let hash = transfer(config, shard(to), 0, nonce).hash();
    let one = shards.get(shard(to)).unwrap();
    one.transaction_status(hash).unwrap().expect("it was accepted")
}

fn is_included(shards: &Shards, config: &Config, to: u8, nonce: u64) -> bool {
    matches!(status(shards, config, to, nonce), TransactionStatus::Included(_))
}

#[test]
fn a_panic_while_a_transaction_is_executed_drops_that_one_with_the_words() {
    let (config, store) = (settings(), Arc::new(Cursed::default()));
    let mut simulation = simulation(1, 1);
    let shards = open(&simulation, &config, store.clone());
    accept(&shards, &config, 1, 0, 0);
    // Nonce 1 pays to this account.
    let key = account(1_001).to_vec();
    store.curse(Some(Fault { table: Table::Accounts, key, panics: true }));
    accept(&shards, &config, 1, 0, 1);
    accept(&shards, &config, 1, 1, 0);
    accept(&shards, &config, 2, 0, 0);
    simulation.run();
    assert!(is_included(&shards, &config, 1, 0) && is_included(&shards, &config, 2, 0));
    let TransactionStatus::Dropped(DropReason::Panicked(words)) = status(&shards, &config, 1, 1)
    else {
        panic!("{:?}", status(&shards, &config, 1, 1))
    };
    assert!(words.contains("the store is cursed"), "{words}");
    assert_eq!(shards.included(), 3);
    // The shard goes on.
    store.curse(None);
    accept(&shards, &config, 1, 1, 1);
    simulation.run();
    assert_eq!(shards.included(), 4);
}

#[test]
fn a_panic_elsewhere_in_a_turn_quarantines_the_shard_and_loses_nothing() {
    let (config, store) = (settings(), Arc::new(Cursed::default()));
    let mut simulation = simulation(1, 1);
    let shards = open(&simulation, &config, store.clone());
    for to in [1, 2] {
        accept(&shards, &config, to, 0, 0);
    }
    simulation.run();
    // The first shard's tree can not be read without a panic.
    let key = 0u32.to_be_bytes().to_vec();
    store.curse(Some(Fault { table: Table::TrieNodes, key, panics: true }));
    for to in [1, 2] {
        accept(&shards, &config, to, 0, 1);
    }
    simulation.run();
    let one = shards.get(shard(1)).unwrap();
    let why = one.status().quarantine.expect("it is quarantined");
    assert!(why.contains("the store is cursed"), "{why}");
    assert!(is_included(&shards, &config, 2, 1), "the worker goes on with others");
    let ready = TransactionStatus::Queued(Status::Queued(Queued::Ready));
    assert_eq!(status(&shards, &config, 1, 1), ready, "it waits in the pool");
    store.curse(None);
    one.release();
    simulation.run();
    assert!(is_included(&shards, &config, 1, 1));
}

#[test]
fn a_batch_that_fails_is_tried_with_longer_and_longer_waits_and_then_quarantined() {
    let (config, store) = (settings(), Arc::new(Cursed::default()));
    let mut simulation = simulation(2, 1);
    let shards = open(&simulation, &config, store.clone());
    for to in [1, 2] {
        accept(&shards, &config, to, 0, 0);
    }
    simulation.run();
    // The first shard's tree is not the one that its newest block says.
    let key = 0u32.to_be_bytes().to_vec();
    store.curse(Some(Fault { table: Table::TrieNodes, key, panics: false }));
    for to in [1, 2] {
        accept(&shards, &config, to, 0, 1);
    }
    simulation.run_for(Duration::from_millis(20));
    let one = shards.get(shard(1)).unwrap();
    let first = store.hits();
    assert!(first > 0 && one.status().quarantine.is_none(), "it has failed once, and backs off");
    simulation.run();
    assert!(store.hits() > first, "it has tried again");
    let why = one.status().quarantine.expect("it is quarantined");
    assert!(why.contains("the executor has failed"), "{why}");
    assert!(is_included(&shards, &config, 2, 1), "others are not concerned");

    // Nothing is dropped, and nothing is tried any more.
    let ready = TransactionStatus::Queued(Status::Queued(Queued::Ready));
    assert_eq!(status(&shards, &config, 1, 1), ready);
    let last = store.hits();
    let error = shards.accept(shard(1), transfer(&config, shard(1), 0, 2)).unwrap_err();
    assert_eq!(error, SubmitError::Quarantined(why));
    simulation.run_for(Duration::from_secs(3_600));
    assert_eq!(store.hits(), last);

    // Released too early it is quarantined again; released in time it goes on.
    one.release();
    simulation.run();
    assert!(one.status().quarantine.is_some() && store.hits() > last);
    store.curse(None);
    one.release();
    simulation.run();
    assert_eq!(one.status().quarantine, None);
    assert!(is_included(&shards, &config, 1, 1));
}

#[test]
fn what_a_quarantined_shard_had_accepted_is_there_after_reopening() {
    let (config, store) = (settings(), Arc::new(Cursed::default()));
    let mut before = simulation(1, 1);
    let shards = open(&before, &config, store.clone());
    accept(&shards, &config, 1, 0, 0);
    before.run();
    let key = 0u32.to_be_bytes().to_vec();
    store.curse(Some(Fault { table: Table::TrieNodes, key, panics: true }));
    accept(&shards, &config, 1, 0, 1);
    before.run();
    assert!(shards.get(shard(1)).unwrap().status().quarantine.is_some());
    let found = Arc::new(store.inner.crash());
    let mut after = simulation(1, 2);
    let shards = open(&after, &config, found);
    after.run();
    assert!(is_included(&shards, &config, 1, 1));
}
