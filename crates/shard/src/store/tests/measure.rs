//! What do appends, folds and reads cost on this machine?
//!
//! `cargo test --release -p shiftwork-shard -- --ignored --nocapture --test-threads=1 measure`. The
//! figures of `docs/design/storage.md` are from here. They go to the directory for temporary
//! files, which must be on a disk.

#![expect(clippy::disallowed_methods, reason = "measures with the real clock, and asserts nothing")]

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use redb::{Database, ReadableDatabase, TableDefinition};

use super::directory::Directory;
use crate::{
    disk::{Disk, OsDisk},
    store::{Change, DiskStore, Options, Store, Table},
};

/// A block of 1,000 transactions with receipts and changes.
const BLOCK_BYTES: usize = 400_000;
const APPENDS: usize = 100;

fn open(directory: &Directory) -> DiskStore {
    let disk = OsDisk::open(directory.path()).expect("nobody else has it");
    DiskStore::open(Arc::new(disk) as Arc<dyn Disk>, Options::default()).expect("it is ours")
}

/// Times of one thing, taken in turn with those of others: what else the machine does then
/// concerns all alike.
struct Times(&'static str, Vec<Duration>);

impl Times {
    fn new(what: &'static str) -> Times {
        Times(what, Vec::new())
    }

    fn take<T>(&mut self, run: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = run();
        self.1.push(start.elapsed());
        done
    }
}

impl Drop for Times {
    fn drop(&mut self) {
        let Times(what, times) = self;
        times.sort();
        let at = |percent: usize| times[(times.len() - 1) * percent / 100];
        println!("{what}: p10 {:?}, p50 {:?}, p90 {:?}", at(10), at(50), at(90));
    }
}

/// A log of ascending keys in redb, of which the last 300 are kept.
struct RedbLog(Database, u64);

impl RedbLog {
    fn new(directory: &Directory) -> RedbLog {
        std::fs::create_dir_all(directory.path()).expect("there is room");
        let database = Database::create(directory.path().join("redb")).expect("there is room");
        RedbLog(database, 0)
    }

    fn append(&mut self, block: &[u8], quick_repair: bool) {
        let table: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("log");
        let mut transaction = self.0.begin_write().expect("nobody else writes");
        transaction.set_quick_repair(quick_repair);
        {
            let mut table = transaction.open_table(table).expect("it is ours");
            table.insert(self.1, block).expect("there is room");
            if let Some(old) = self.1.checked_sub(300) {
                table.remove(old).expect("there is room");
            }
        }
        transaction.commit().expect("there is room");
        self.1 += 1;
    }
}

#[test]
#[ignore = "measures"]
fn measure_appends_to_the_file_and_to_redb() {
    let block: Vec<u8> = (0..BLOCK_BYTES).map(|at| (at * 7) as u8).collect();
    let directories = ["file", "floor", "one-phase", "quick"]
        .map(|name| Directory::new(&format!("measure-append-{name}")));
    let store = open(&directories[0]);
    let disk = OsDisk::open(directories[1].path()).expect("nobody else has it");
    let floor = disk.open("floor").expect("there is room");
    let (mut one, mut two) = (RedbLog::new(&directories[2]), RedbLog::new(&directories[3]));
    for round in ["first use of the files", "later", "later", "later"] {
        println!("400 KB each, {round}");
        let mut times = [
            "checksummed file",
            "floor: a write and a sync",
            "ascending keys in redb",
            "ascending keys in redb, quick repair",
            "checksummed file, without sync",
            "checksummed file, 300 bytes",
        ]
        .map(Times::new);
        for at in 0..APPENDS as u64 {
            times[0].take(|| store.append(&[&block], true).expect("there is room"));
            times[1].take(|| {
                floor.write_at(at * BLOCK_BYTES as u64, &block).expect("there is room");
                floor.sync().expect("there is room");
            });
            times[2].take(|| one.append(&block, false));
            times[3].take(|| two.append(&block, true));
            times[4].take(|| store.append(&[&block], false).expect("there is room"));
            store.sync().expect("there is room");
            times[5].take(|| store.append(&[&block[..300]], true).expect("there is room"));
        }
        let (over, _) = store.current();
        store.rotate().expect("there is room");
        store.fold(over, &mut std::iter::empty()).expect("there is room");
    }
}

fn account(n: u64) -> Change {
    let spread = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut key = vec![0; 24];
    key[4..12].copy_from_slice(&spread.to_be_bytes());
    key[12..20].copy_from_slice(&n.to_be_bytes());
    Change::Put { table: Table::Accounts, key, value: vec![n as u8; 72] }
}

fn key(change: &Change) -> &[u8] {
    match change {
        Change::Put { key, .. } | Change::Delete { key, .. } => key,
    }
}

fn fold(store: &DiskStore, mut changes: Vec<Change>) -> Duration {
    changes.sort_by(|a, b| key(a).cmp(key(b)));
    let (over, _) = store.current();
    store.rotate().expect("there is room");
    let start = Instant::now();
    store.fold(over, &mut changes.into_iter()).expect("there is room");
    start.elapsed()
}

#[test]
#[ignore = "measures"]
fn measure_folds_and_reads() {
    for accounts in [1_000, 1_000_000] {
        let directory = Directory::new("measure-fold");
        let store = open(&directory);
        fold(&store, (0..accounts).map(account).collect());
        for touched in [1_000, 100_000] {
            let mut n = 1u64;
            let mut some = || {
                n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                account((n >> 20) % accounts)
            };
            let folds = (0..5).map(|_| fold(&store, (0..touched).map(|_| some()).collect()));
            let best = folds.min().expect("five");
            let each = best / touched;
            println!("fold {touched} of {accounts} accounts: {best:?}, {each:?} per key");
        }
        let keys: Vec<Vec<u8>> = (0..100_000u64)
            .map(|n| key(&account(n.wrapping_mul(7_919) % accounts)).to_vec())
            .collect();
        let start = Instant::now();
        let mut sum = 0;
        for key in &keys {
            store.get(Table::Accounts, key, &mut |value| sum += value.len()).expect("it is there");
        }
        assert_eq!(sum, 72 * keys.len());
        println!("get of {accounts} accounts: {:?}", start.elapsed() / keys.len() as u32);
        drop(store);
        let start = Instant::now();
        let store = open(&directory);
        println!("open with {accounts} accounts: {:?}", start.elapsed());
        drop(store);
        let path = directory.path().join("tables.redb");
        let database = Database::create(path).expect("it is ours");
        let table: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("accounts");
        let start = Instant::now();
        for key in &keys {
            let transaction = database.begin_read().expect("it is ours");
            let table = transaction.open_table(table).expect("it is ours");
            assert!(table.get(&**key).expect("it is ours").is_some());
        }
        let each = start.elapsed() / keys.len() as u32;
        println!("get with a transaction of its own, of {accounts} accounts: {each:?}");
    }
}

/// What a process that was killed leaves: a log of 64 MiB that was not folded.
#[test]
#[ignore = "measures"]
fn measure_opening_a_long_log() {
    let block: Vec<u8> = (0..BLOCK_BYTES).map(|at| (at * 7) as u8).collect();
    let directory = Directory::new("measure-open");
    let store = open(&directory);
    for _ in 0..(64 << 20) / BLOCK_BYTES {
        store.append(&[&block], true).expect("there is room");
    }
    drop(store);
    let start = Instant::now();
    let store = open(&directory);
    let opened = start.elapsed();
    store.replay(&mut |_, _| Ok(())).expect("it was written");
    println!("open with a log of 64 MiB: {opened:?}, and replay: {:?}", start.elapsed());
}
