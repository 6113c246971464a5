//! An orderly end: what is on disk when it is over, and what it says.

mod common;

use std::{sync::Arc, time::Duration};

use alloy_primitives::B256;
use common::{block_on, config, open, settle, shard, transfer};
use kernel::{Discipline, Runtime};
use shard::{
    Config, Shards,
    config::Durability,
    disk::SimDisk,
    shard::TransactionStatus,
    shards::SubmitError,
    store::{DiskStore, MemoryStore, Options},
};

/// Nothing here comes near.
const LONG: Duration = Duration::from_secs(60);

fn runtime() -> Runtime {
    Runtime::builder().workers(2).discipline(Discipline::Fifo).build().unwrap()
}

/// Accepts so many for each of four shards, and waits for the acknowledgements.
fn load(shards: &Shards, config: &Config, count: u64) -> Vec<B256> {
    let all = (0..count).flat_map(|nonce| (1..=4).map(move |to| (nonce, shard(to))));
    let accept = |(nonce, to)| shards.accept(to, transfer(config, to, 0, nonce)).unwrap();
    let waiting: Vec<_> = all.map(accept).collect();
    waiting.into_iter().map(|one| one.wait().unwrap()).collect()
}

/// All of them are in blocks at last, when the store is opened as a crash would leave it now.
fn check(store: &MemoryStore, config: &Config, acknowledged: &[B256]) {
    let mut simulation = Runtime::builder().discipline(Discipline::Fifo).simulate(1).unwrap();
    let shards = open(&simulation, config, Arc::new(store.crash()));
    simulation.run_for(LONG);
    let all = shards.all();
    for hash in acknowledged {
        let found = all.iter().find_map(|one| one.transaction_status(*hash).unwrap());
        assert!(matches!(found, Some(TransactionStatus::Included(_))), "{hash} is {found:?}");
    }
}

#[test]
fn under_load_the_blocks_in_hand_are_finished_and_the_rest_waits() {
    let config = config();
    for durability in [Durability::Sync, Durability::Batch(LONG), Durability::None] {
        let config = Config { durability, ..config.clone() };
        let (runtime, store) = (runtime(), Arc::new(MemoryStore::new()));
        let shards = open(&runtime, &config, store.clone());
        let acknowledged = load(&shards, &config, 100);
        let closed = shards.close(LONG);
        assert!(closed.is_clean(), "{closed:?}");
        let included = usize::try_from(shards.included()).unwrap();
        assert_eq!(included + closed.waiting, acknowledged.len());
        assert_eq!(shards.close(LONG), closed, "the second time nothing is left to do");
        check(&store, &config, &acknowledged);
        drop(shards);
        runtime.shutdown();
        assert_eq!(Arc::strong_count(&store), 1, "somebody still holds the store");
    }
}

#[test]
fn afterwards_nothing_is_accepted_and_queries_are_answered() {
    let (runtime, config) = (runtime(), config());
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    let acknowledged = load(&shards, &config, 1);
    settle(&shards, 4);
    let mut news = shards.subscribe(std::num::NonZeroUsize::MIN, Default::default());
    let closed = shards.close(LONG);
    assert!(closed.is_clean() && closed.waiting == 0, "{closed:?}");
    let later = shards.accept(shard(1), transfer(&config, shard(1), 0, 1));
    assert_eq!(later.unwrap_err(), SubmitError::Stopped);
    let unknown = shards.accept(shard(9), transfer(&config, shard(9), 0, 0));
    assert_eq!(unknown.unwrap_err(), SubmitError::Stopped);
    assert_eq!(block_on(shards.create(shard(9))).unwrap_err(), SubmitError::Stopped);
    assert!(block_on(news.next()).is_err());
    let one = shards.get(shard(1)).unwrap();
    assert!(one.transaction(acknowledged[0]).unwrap().is_some());
}

#[test]
fn those_who_accept_meanwhile_are_refused_or_find_it_again() {
    for _ in 0..20 {
        let (runtime, config) = (runtime(), config());
        let store = Arc::new(MemoryStore::new());
        let shards = open(&runtime, &config, store.clone());
        let mut acknowledged = load(&shards, &config, 1);
        let closed = std::thread::scope(|scope| {
            let accepts = scope.spawn(|| {
                let mut accepted = Vec::new();
                for nonce in 1..1_000 {
                    match shards.accept(shard(1), transfer(&config, shard(1), 0, nonce)) {
                        Ok(one) => accepted.push(one.wait().unwrap()),
                        Err(error) => {
                            assert_eq!(error, SubmitError::Stopped);
                            break;
                        }
                    }
                }
                accepted
            });
            let closed = shards.close(LONG);
            acknowledged.extend(accepts.join().unwrap());
            closed
        });
        assert!(closed.is_clean(), "{closed:?}");
        check(&store, &config, &acknowledged);
    }
}

#[test]
fn a_deadline_that_passes_is_said_and_nothing_is_lost() {
    let (runtime, config) = (runtime(), config());
    let store = Arc::new(MemoryStore::new());
    let shards = open(&runtime, &config, store.clone());
    // Nobody gives the shards a turn.
    common::pause(&runtime);
    let acknowledged = load(&shards, &config, 10);
    let closed = shards.close(Duration::ZERO);
    assert!(closed.deadline_passed && !closed.is_clean(), "{closed:?}");
    runtime.resume();
    drop(shards);
    runtime.shutdown();
    check(&store, &config, &acknowledged);
}

#[test]
fn a_last_sync_that_fails_is_said() {
    let (runtime, disk) = (runtime(), SimDisk::new(1));
    let config = Config { durability: Durability::None, ..config() };
    let store = DiskStore::open(Arc::new(disk.clone()), Options::default()).unwrap();
    let shards = open(&runtime, &config, Arc::new(store));
    load(&shards, &config, 1);
    settle(&shards, 4);
    disk.fail_syncs(true);
    let closed = shards.close(LONG);
    assert!(!closed.is_clean() && !closed.deadline_passed, "{closed:?}");
    assert!(closed.failure.is_some());
}
