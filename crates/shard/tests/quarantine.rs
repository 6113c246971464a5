//! A shard fails for a reason of its own: nothing of what it has taken is lost.

mod common;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
        mpsc,
    },
    time::Duration,
};

use alloy_primitives::Address;
use common::{account, config, shard, transfer};
use kernel::{Runtime, Simulation};
use shard::{
    Config, Shard, Shards,
    shard::TransactionStatus,
    shards::Totals,
    store::{Around, Change, Epoch, MemoryStore, Store, StoreError, Table},
};

/// What happens to whoever reads a node of the state trie, or an account.
#[derive(Clone, Debug)]
enum Trap {
    Panics,
    PanicsAt(Address),
    Fails(StoreError),
    /// All shards are dropped. Who comes again and again panics.
    Closes(Arc<Mutex<Option<Shards>>>),
    /// Whoever appends panics, once.
    PanicsOnAppend,
    /// Whoever folds panics, once.
    PanicsOnFold,
}

/// A store in memory with a trap.
#[derive(Default)]
struct Trapped {
    store: MemoryStore,
    trap: Mutex<Option<Trap>>,
    sprung: AtomicU64,
}

impl Trapped {
    fn set(&self, trap: Option<Trap>) {
        *self.trap.lock().unwrap() = trap;
    }

    /// Springs a trap that is for whoever writes.
    fn spring(&self, is_it: fn(&Trap) -> bool) {
        let trap = self.trap.lock().unwrap().take_if(|trap| is_it(trap));
        if trap.is_some() {
            self.sprung.fetch_add(1, Relaxed);
            panic!("the floor is a trap");
        }
    }
}

impl Around for Trapped {
    fn inner(&self) -> &dyn Store {
        &self.store
    }

    fn append(&self, records: &[&[u8]], sync: bool) -> Result<(), StoreError> {
        self.spring(|trap| matches!(trap, Trap::PanicsOnAppend));
        self.store.append(records, sync)
    }

    fn fold(
        &self,
        epoch: Epoch,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> Result<(), StoreError> {
        self.spring(|trap| matches!(trap, Trap::PanicsOnFold));
        self.store.fold(epoch, changes)
    }

    fn get(
        &self,
        table: Table,
        key: &[u8],
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, StoreError> {
        let trap = self.trap.lock().unwrap().clone();
        let here = |trap: &Trap| match trap {
            Trap::PanicsAt(account) => table == Table::Accounts && key.ends_with(&account[..]),
            Trap::PanicsOnAppend | Trap::PanicsOnFold => false,
            _ => table == Table::TrieNodes,
        };
        if let Some(trap) = trap.filter(here) {
            let sprung = self.sprung.fetch_add(1, Relaxed);
            match trap {
                Trap::Closes(_) if sprung > 1_000 => panic!("there is no end to it"),
                Trap::Closes(shards) => drop(shards.lock().unwrap().take()),
                Trap::Panics | Trap::PanicsAt(_) => panic!("the floor is a trap"),
                Trap::Fails(error) => return Err(error),
                Trap::PanicsOnAppend | Trap::PanicsOnFold => unreachable!("nothing is written"),
            }
        }
        self.store.get(table, key, read)
    }
}

/// A shard with a state root, that has walked into a trap with two transactions.
fn caught(trap: Trap) -> (Simulation, Shards, Arc<Trapped>, Config) {
    let mut simulation = Runtime::builder().workers(2).simulate(1).unwrap();
    let mut config = config();
    config.rules.state_root = true;
    let store = Arc::new(Trapped::default());
    let handle = simulation.handle();
    let shards = Shards::open(&handle, config.clone(), store.clone(), 1_700_000_000).unwrap();
    store.set(Some(trap));
    for from in 0..2 {
        drop(shards.accept(shard(0), transfer(&config, shard(0), from, 0)).unwrap());
    }
    simulation.run_for(Duration::from_secs(600));
    (simulation, shards, store, config)
}

/// The totals, after a comparison with what every shard says for itself.
fn totals(shards: &Shards) -> Totals {
    let (all, totals) = (shards.all(), shards.totals());
    let sum = |of: fn(&Shard) -> u64| all.iter().map(of).sum::<u64>();
    assert_eq!(totals.shards, all.len());
    assert_eq!(totals.blocks, sum(|shard| shard.status().height));
    assert_eq!(totals.included, sum(|shard| shard.status().included));
    assert_eq!(totals.pools.pending as u64, sum(|shard| shard.pool_counts().pending as u64));
    assert_eq!(totals.pools.bytes as u64, sum(|shard| shard.pool_counts().bytes as u64));
    totals
}

fn released_includes_all(trap: Trap, why: &str) {
    let (mut simulation, shards, store, config) = caught(trap);
    let one = shards.get(shard(0)).unwrap();
    let quarantine = one.status().quarantine.expect("it fails whatever it does");
    assert!(quarantine.contains(why), "{quarantine}");
    let before = totals(&shards);
    assert_eq!(before.quarantined, 1);
    assert!(before.pools.pending > 0 && before.pools.bytes > 0, "{before:?}");
    store.set(None);
    one.release();
    simulation.run_for(Duration::from_secs(600));
    assert_eq!(one.status().quarantine, None);
    let after = totals(&shards);
    assert_eq!((after.quarantined, after.pools.pending), (0, 0));
    assert!(after.included > before.included && after.blocks > before.blocks, "{after:?}");
    for from in 0..2 {
        let hash = transfer(&config, shard(0), from, 0).hash();
        let status = one.transaction_status(hash).unwrap();
        assert!(matches!(status, Some(TransactionStatus::Included(_))), "{status:?}");
    }
}

#[test]
fn after_a_panic_outside_of_a_transaction_a_shard_that_is_released_goes_on() {
    released_includes_all(Trap::Panics, "the floor is a trap");
}

#[test]
fn a_shard_whose_data_is_corrupt_is_quarantined_and_goes_on_when_it_is_released() {
    let corrupt = StoreError::Corrupt("a node with three legs".to_owned());
    released_includes_all(Trap::Fails(corrupt), "three legs");
}

#[test]
fn a_shard_that_can_not_read_for_now_tries_until_it_can() {
    let (mut simulation, shards, store, config) = caught(Trap::Fails(StoreError::Failed));
    let one = shards.get(shard(0)).unwrap();
    assert_eq!(one.status().quarantine, None);
    assert!(store.sprung.load(Relaxed) > 50, "it has given up");
    store.set(None);
    simulation.run_for(Duration::from_secs(600));
    let status = one.transaction_status(transfer(&config, shard(0), 1, 0).hash()).unwrap();
    assert!(matches!(status, Some(TransactionStatus::Included(_))), "{status:?}");
}

#[test]
fn what_waits_in_a_shard_that_stands_still_does_not_expire() {
    for trap in [Trap::Panics, Trap::Fails(StoreError::Failed)] {
        let (mut simulation, shards, store, config) = caught(trap.clone());
        simulation.run_for(2 * config.pool.expiry);
        let one = shards.get(shard(0)).unwrap();
        let status = one.status();
        assert!(status.quarantine.is_some() || status.backing_off.is_some(), "{trap:?}");
        assert_eq!((shards.expire(), status.pool_len), (0, 2), "{trap:?}");
        store.set(None);
        one.release();
        simulation.run_for(Duration::from_secs(600));
        assert_eq!(shards.included(), 2, "{trap:?}");
    }
}

/// Those who wait are told, and all goes on.
fn a_panic_of_the_store_is_a_failure(trap: Trap) {
    let mut simulation = Runtime::builder().workers(2).simulate(1).unwrap();
    let config = Config { checkpoint_bytes: 1, ..config() };
    let store = Arc::new(Trapped::default());
    let handle = simulation.handle();
    let shards = Shards::open(&handle, config.clone(), store.clone(), 1_700_000_000).unwrap();
    let fails = matches!(trap, Trap::PanicsOnAppend);
    store.set(Some(trap));
    let accepted = shards.accept(shard(0), transfer(&config, shard(0), 0, 0)).unwrap();
    let told = simulation.block_on(accepted).expect("each is told");
    assert_eq!(told.is_err(), fails, "{told:?}");
    simulation.run_for(Duration::from_secs(600));
    assert_eq!((store.sprung.load(Relaxed), shards.commit_counts().failures), (1, 1));
    assert_eq!((shards.store_failure(), shards.included()), (None, 1));
    let accepted = shards.accept(shard(0), transfer(&config, shard(0), 0, 1)).unwrap();
    assert!(simulation.block_on(accepted).unwrap().is_ok());
    simulation.run_for(Duration::from_secs(600));
    assert_eq!(shards.included(), 2);
    assert!(shards.commit_counts().folds > 0);
}

#[test]
fn a_panic_while_appending_is_told_and_the_store_opened_again() {
    a_panic_of_the_store_is_a_failure(Trap::PanicsOnAppend);
}

#[test]
fn a_panic_while_folding_is_a_failure_and_the_fold_is_made_again() {
    a_panic_of_the_store_is_a_failure(Trap::PanicsOnFold);
}

/// The same on threads, which must not end by it.
#[test]
fn threads_that_commit_outlive_a_panic_of_the_store() {
    let runtime = Runtime::new().unwrap();
    let (config, store) = (config(), Arc::new(Trapped::default()));
    let shards = common::open(&runtime, &config, store.clone());
    store.set(Some(Trap::PanicsOnAppend));
    let accepted = shards.accept(shard(0), transfer(&config, shard(0), 0, 0)).unwrap();
    accepted.wait().unwrap_err();
    // It stays in the pool, and its block is written when the store was opened again.
    common::settle(&shards, 1);
    assert_eq!(shards.store_failure(), None);
    assert!(shards.close(Duration::from_secs(600)).is_clean());
}

#[test]
fn a_turn_that_outlives_the_store_ends() {
    let mut simulation = Runtime::builder().workers(2).simulate(1).unwrap();
    let mut config = config();
    config.rules.state_root = true;
    let store = Arc::new(Trapped::default());
    let handle = simulation.handle();
    let shards = Shards::open(&handle, config.clone(), store.clone(), 1_700_000_000).unwrap();
    drop(shards.accept(shard(0), transfer(&config, shard(0), 0, 0)).unwrap());
    // In the middle of its turn everything is closed.
    store.set(Some(Trap::Closes(Arc::new(Mutex::new(Some(shards))))));
    simulation.run_for(Duration::from_secs(1));
    let sprung = store.sprung.load(Relaxed);
    assert!((1..100).contains(&sprung), "it has read the state {sprung} times");
}

#[test]
fn one_of_several_whose_check_panics_takes_none_of_the_others_with_it() {
    let mut simulation = Runtime::builder().workers(2).simulate(1).unwrap();
    let (config, store) = (config(), Arc::new(Trapped::default()));
    let handle = simulation.handle();
    let shards = Shards::open(&handle, config.clone(), store.clone(), 1_700_000_000).unwrap();
    store.set(Some(Trap::PanicsAt(account(1))));
    let (told, hear) = mpsc::channel();
    let of = |from| {
        let told = told.clone();
        let tell = move |result: Result<_, _>| told.send((from, result.is_ok())).unwrap();
        (transfer(&config, shard(0), from, 0), tell)
    };
    let all = vec![of(0), of(1), of(2)];
    assert!(catch_unwind(AssertUnwindSafe(|| shards.accept_all(shard(0), all))).is_err());
    simulation.run_for(Duration::from_secs(1));
    assert_eq!(hear.try_iter().collect::<Vec<_>>(), [(0, true), (2, true)]);
    assert_eq!(shards.included(), 2);

    store.set(None);
    shards.accept_all(shard(0), vec![of(1)]);
    simulation.run_for(Duration::from_secs(1));
    assert_eq!((hear.try_recv(), shards.included()), (Ok((1, true)), 3));
}
