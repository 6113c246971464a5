//! What is left when everything stops, in whichever order?

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use alloy_primitives::B256;
use kernel::{Discipline, Runtime};
use shard::{
    Shards,
    shard::TransactionStatus,
    store::{MemoryStore, Store},
};

use crate::{
    QUANTUM,
    common::{config, open, shard, transfer},
    simulation,
};

/// How long a shutdown may take. With a backlog of seconds it does not come near.
const DEADLINE: Duration = Duration::from_secs(60);

fn runtime() -> Runtime {
    Runtime::builder().workers(2).discipline(Discipline::Fifo).quantum(QUANTUM).build().unwrap()
}

/// A backlog, of which some is acknowledged.
fn load(shards: &Shards) -> Vec<B256> {
    let config = config();
    let mut waiting = Vec::new();
    for nonce in 0..200 {
        for to in 1..=4 {
            waiting.push(shards.accept(shard(to), transfer(&config, shard(to), 0, nonce)).unwrap());
        }
    }
    waiting.into_iter().map(|one| one.wait().unwrap()).collect()
}

/// All of them are in blocks, after what was stopped was opened again.
fn check(store: &MemoryStore, acknowledged: &[B256]) {
    let mut simulation = simulation(2, 1);
    let shards = open(&simulation, &config(), Arc::new(store.crash()));
    simulation.run_for(Duration::from_secs(10));
    let all = shards.all();
    for hash in acknowledged {
        let found = all.iter().find_map(|one| one.transaction_status(*hash).unwrap());
        assert!(matches!(found, Some(TransactionStatus::Included(_))), "{hash} is {found:?}");
    }
}

#[test]
fn shards_first_then_the_runtime() {
    let (runtime, store) = (runtime(), Arc::new(MemoryStore::new()));
    let shards = open(&runtime, &config(), store.clone());
    let acknowledged = load(&shards);
    drop(shards);
    runtime.shutdown_timeout(DEADLINE).unwrap();
    assert_eq!(Arc::strong_count(&store), 1, "somebody still holds the store");
    check(&store, &acknowledged);
}

#[test]
fn the_runtime_first_then_the_shards() {
    let (runtime, store) = (runtime(), Arc::new(MemoryStore::new()));
    let shards = open(&runtime, &config(), store.clone());
    let acknowledged = load(&shards);
    runtime.shutdown_timeout(DEADLINE).unwrap();
    drop(shards);
    assert_eq!(Arc::strong_count(&store), 1, "somebody still holds the store");
    check(&store, &acknowledged);
}

#[test]
fn a_deadline_that_is_over_at_once() {
    let (runtime, store) = (runtime(), Arc::new(MemoryStore::new()));
    let shards = open(&runtime, &config(), store.clone());
    // Nobody executes anything until it is too late.
    crate::common::pause(&runtime);
    let acknowledged = load(&shards);
    assert_eq!(shards.included(), 0);
    // A turn that has begun meanwhile ends by itself; whether there was one does not matter.
    let _ = runtime.shutdown_timeout(Duration::ZERO);
    drop(shards);
    check(&store, &acknowledged);
}

#[test]
fn an_idle_shard_goes_with_the_last_handle() {
    let (runtime, store) = (runtime(), Arc::new(MemoryStore::new()));
    let weak: Weak<dyn Store> = Arc::downgrade(&store) as Weak<dyn Store>;
    let shards = open(&runtime, &config(), store);
    let one = transfer(&config(), shard(1), 0, 0);
    shards.accept(shard(1), one).unwrap().wait().unwrap();
    let handle = shards.get(shard(1)).unwrap();
    runtime.shutdown();
    drop(shards);
    // Whoever still has a handle can still ask.
    assert_eq!(handle.address(), shard(1));
    assert!(handle.block(0).unwrap().is_some());
    drop(handle);
    assert!(weak.upgrade().is_none(), "the store was not given back");
}
