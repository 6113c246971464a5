//! Is what many folds have brought found, whether it is in runs, in B-trees or on its way?

use std::{collections::BTreeMap, sync::Arc};

use redb::{Database, ReadableDatabase, backends::InMemoryBackend};

use super::{FOLDS, MANY, Pass, Runs, run::Run, take};
use crate::{
    disk::{Disk, SimDisk, Unsynced},
    store::{Change, DiskStore, Options, Store, Table, tables::BLOCKS},
};

type Entries = BTreeMap<(Table, Vec<u8>), Vec<u8>>;

const TABLES: [Table; 4] =
    [Table::Accounts, Table::AccountHistory, Table::StorageHistory, Table::Codes];

/// The next of a sequence that looks random.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        (self.0 >> 33) % end
    }

    /// Changes as a fold brings them, and often of the same keys as those before.
    fn changes(&mut self) -> Vec<Change> {
        let count = self.below(60);
        (0..count).map(|_| self.change()).collect()
    }

    fn change(&mut self) -> Change {
        let table = TABLES[self.below(4) as usize];
        let mut key = vec![0, 0, 0, self.below(2) as u8];
        key.extend([self.below(12) as u8; 20]);
        match table {
            Table::AccountHistory => key.extend(self.below(9).to_be_bytes()),
            Table::StorageHistory => {
                key.extend([self.below(2) as u8; 32]);
                key.extend(self.below(9).to_be_bytes());
            }
            _ => {}
        }
        let value = vec![self.below(256) as u8; self.below(90) as usize];
        match self.below(4) {
            0 => Change::Delete { table, key },
            _ => Change::Put { table, key, value },
        }
    }
}

fn open(disk: &SimDisk) -> DiskStore {
    let disk = Arc::new(disk.clone()) as Arc<dyn Disk>;
    DiskStore::open(disk, Options { cache_bytes: 1 << 20, ..Options::default() }).expect("healthy")
}

fn fold(store: &DiskStore, changes: Vec<Change>) {
    let (over, _) = store.current();
    store.rotate().expect("the disk is healthy");
    store.fold(over, &mut changes.into_iter()).expect("the disk is healthy");
}

fn scan(store: &DiskStore, table: Table, from: &[u8], end: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut found = Vec::new();
    let mut each = |key: &[u8], value: &[u8]| {
        found.push((key.to_vec(), value.to_vec()));
        true
    };
    store.scan(table, from, end, &mut each).expect("the disk is healthy");
    found
}

#[track_caller]
fn compare(store: &DiskStore, expected: &Entries, draw: &mut Draw) {
    for table in TABLES {
        let of = |from: &[u8], end: &[u8]| -> Vec<_> {
            let range = (table, from.to_vec())..(table, end.to_vec());
            expected.range(range).map(|((_, key), value)| (key.clone(), value.clone())).collect()
        };
        assert_eq!(scan(store, table, &[], &[9; 9]), of(&[], &[9; 9]), "{table:?}");
        for _ in 0..40 {
            // Of all keys and of one account or slot, from somewhere in its history on.
            let mut change = draw.change();
            while change.place().0 != table {
                change = draw.change();
            }
            let key = change.place().1;
            let mut found = None;
            store.get(table, key, &mut |value| found = Some(value.to_vec())).expect("healthy");
            assert_eq!(found.as_ref(), expected.get(&(table, key.to_vec())), "{table:?} {key:?}");
            for len in [24, 56] {
                let Some(stem) = key.get(..len) else { continue };
                let mut end = stem.to_vec();
                *end.last_mut().expect("it is not empty") += 1;
                assert_eq!(scan(store, table, key, &end), of(key, &end), "{table:?} {key:?}");
            }
        }
    }
}

#[test]
fn what_folds_have_brought_is_found_in_runs_and_in_trees() {
    for seed in 0..6 {
        let (disk, mut draw) = (SimDisk::new(seed), Draw(seed));
        let (mut store, mut expected) = (open(&disk), Entries::new());
        let (mut most, mut passes) = (0, 0);
        for _ in 0..40 {
            let changes = draw.changes();
            for change in &changes {
                let (table, key) = change.place();
                match change.value() {
                    Some(value) => expected.insert((table, key.to_vec()), value.to_vec()),
                    None => expected.remove(&(table, key.to_vec())),
                };
            }
            let before = store.runs();
            fold(&store, changes);
            compare(&store, &expected, &mut draw);
            let runs = store.runs();
            most = most.max(runs);
            passes += usize::from(runs < before);
            if draw.below(3) == 0 {
                drop(store);
                store = open(&disk.crash(Unsynced::Lost));
                assert_eq!(store.runs(), runs);
                compare(&store, &expected, &mut draw);
                drop(store);
                store = open(&disk);
            }
        }
        assert!(most <= MANY + FOLDS as usize, "there were {most} runs");
        assert!(passes > 3, "runs went {passes} times only");
        let statistics = store.statistics().expect("the disk is healthy");
        for table in TABLES {
            let entries = expected.keys().filter(|(other, _)| *other == table).count() as u64;
            let found = statistics.tables.iter().find(|found| found.table == table);
            assert_eq!(found.expect("it is there").entries, entries, "{table:?}");
        }
        store.check().expect("nothing is wrong");
        assert!(take(Table::Accounts) && !take(Table::Codes));
    }
}

#[test]
fn a_scan_ends_when_it_is_told_to() {
    let (disk, mut draw) = (SimDisk::new(1), Draw(1));
    let store = open(&disk);
    (0..2).for_each(|_| fold(&store, (0..60).map(|_| draw.change()).collect()));
    let mut count = 0;
    let mut each = |_: &[u8], _: &[u8]| {
        count += 1;
        count < 5
    };
    store.scan(Table::AccountHistory, &[], &[9; 9], &mut each).expect("the disk is healthy");
    assert_eq!(count, 5);
}

/// Makes a run of what no fold writes, and gives what a check and a pass over it say.
fn check_and_pass(table: Table, keys: &[u8]) -> (bool, bool) {
    let database = Database::builder().create_with_backend(InMemoryBackend::new()).unwrap();
    let changes: Vec<_> =
        keys.iter().map(|key| Change::Put { table, key: vec![*key], value: vec![7; 60] }).collect();
    let transaction = database.begin_write().unwrap();
    let run = {
        let mut blocks = transaction.open_table(BLOCKS).unwrap();
        Arc::new(Run::make(0, &mut blocks, &changes).unwrap())
    };
    transaction.commit().unwrap();
    let blocks = database.begin_read().unwrap().open_table(BLOCKS).unwrap();
    let runs = Runs { all: vec![run], pass: None };
    let mut pass = Pass { runs: 1, reached: Vec::new() };
    let passed = pass.go_on(&runs.all, &blocks, 100, &mut |_, _, _| Ok(()));
    (runs.check(&blocks).is_ok(), passed.is_ok())
}

#[test]
fn what_is_no_run_is_damage_for_a_check_and_for_a_pass() {
    assert_eq!(check_and_pass(Table::Accounts, &[1, 2, 3, 4, 5]), (true, true));
    // Else a pass that has been further would go back.
    assert_eq!(check_and_pass(Table::Accounts, &[1, 2, 4, 3, 5]), (false, false));
    // Else what a fold never puts into a run would come to lie in its tree.
    assert_eq!(check_and_pass(Table::Shards, &[1, 2, 3, 4, 5]), (false, false));
}
