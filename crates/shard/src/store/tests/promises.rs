//! Does each store do what the trait says, on disk and in memory alike?

use super::model::{Model, Step, Steps, both, open};
use crate::{
    disk::SimDisk,
    store::{Change, Epoch, Store, StoreError, Table, log::RECORD_BYTES_MAX},
};

fn put(table: Table, key: &[u8], value: &[u8]) -> Change {
    Change::Put { table, key: key.to_vec(), value: value.to_vec() }
}

fn get(store: &dyn Store, table: Table, key: &[u8]) -> Option<Vec<u8>> {
    let mut found = None;
    let was = store.get(table, key, &mut |value| found = Some(value.to_vec()));
    assert_eq!(was, Ok(found.is_some()));
    found
}

#[test]
fn random_steps_do_the_same_on_disk_and_in_memory() {
    for seed in 100..110 {
        for (name, store) in both() {
            let (mut model, mut steps) = (Model::new(), Steps::new(seed));
            for _ in 0..60 {
                let step = steps.next();
                if model.allows(&step) {
                    model.run(&*store, &step).expect("the disk is healthy");
                }
            }
            model.check_all(&*store, &format!("seed {seed}, {name}"));
        }
    }
}

#[test]
fn a_scan_gives_the_keys_in_order_from_the_first_to_before_the_last() {
    for (name, store) in both() {
        let epoch = store.current().0;
        store.rotate().expect("the disk is healthy");
        let keys: [&[u8]; 5] = [b"b", b"a", b"ab", b"c", b"aa"];
        let changes = keys.map(|key| put(Table::Codes, key, key));
        store.fold(epoch, &mut changes.into_iter()).expect("the disk is healthy");
        let scan = |from: &[u8], end: &[u8], max: usize| {
            let mut found = Vec::new();
            let each = &mut |key: &[u8], _: &[u8]| {
                found.push(key.to_vec());
                found.len() < max
            };
            store.scan(Table::Codes, from, end, each).expect("the disk is healthy");
            found
        };
        assert_eq!(scan(b"aa", b"c", 9), [b"aa".as_slice(), b"ab", b"b"], "{name}");
        assert_eq!(scan(b"a", b"c", 2), [b"a".as_slice(), b"aa"], "{name}: it was told to stop");
        assert_eq!(scan(b"c", b"a", 9), [b""; 0], "{name}: the end is before the beginning");
    }
}

#[test]
fn a_put_replaces_and_a_delete_removes() {
    for (name, store) in both() {
        let epoch = store.current().0;
        store.rotate().expect("the disk is healthy");
        let first = [put(Table::Pool, b"a", b"1"), put(Table::Pool, b"b", b"2")];
        store.fold(epoch, &mut first.into_iter()).expect("the disk is healthy");
        let delete = Change::Delete { table: Table::Pool, key: b"b".to_vec() };
        let second = [put(Table::Pool, b"a", b"3"), delete];
        store.fold(epoch, &mut second.into_iter()).expect("an epoch may be folded again");
        assert_eq!(get(&*store, Table::Pool, b"a").as_deref(), Some(b"3".as_slice()), "{name}");
        assert_eq!(get(&*store, Table::Pool, b"b"), None, "{name}");
        assert_eq!(get(&*store, Table::Dropped, b"a"), None, "{name}: another table");
    }
}

#[test]
fn epochs_count_up_and_their_bytes_begin_anew() {
    for (name, store) in both() {
        assert_eq!(store.current(), (Epoch(1), 0), "{name}");
        store.append(&[b"abc"], true).expect("the disk is healthy");
        assert!(store.current().1 >= 3, "{name}");
        assert_eq!(store.rotate(), Ok(Epoch(2)), "{name}");
        assert_eq!(store.current(), (Epoch(2), 0), "{name}");
    }
}

#[test]
#[should_panic(expected = "was not folded")]
fn two_rotations_without_a_fold_between_are_a_mistake_of_the_caller() {
    let store = open(&SimDisk::new(1)).expect("the disk is healthy");
    store.rotate().expect("nothing is before the first epoch");
    let _ = store.rotate();
}

#[test]
#[should_panic(expected = "when it is over")]
fn a_fold_of_the_epoch_that_goes_on_is_a_mistake_of_the_caller() {
    let store = open(&SimDisk::new(1)).expect("the disk is healthy");
    let _ = store.fold(Epoch(1), &mut std::iter::empty());
}

#[test]
fn a_record_that_is_too_long_is_refused_and_the_store_goes_on() {
    let long = vec![0; RECORD_BYTES_MAX as usize + 1];
    for (name, store) in both() {
        let refused = store.append(&[b"before", &long], true);
        let bytes = long.len() as u64;
        assert_eq!(refused, Err(StoreError::TooLong { bytes, max: RECORD_BYTES_MAX }), "{name}");
        assert_eq!(store.current().1, 0, "{name}: nothing was written");
        store.append(&[b"after"], true).expect("nothing has failed");
    }
}

#[test]
fn a_full_disk_refuses_and_after_making_room_the_store_goes_on() {
    let disk = SimDisk::new(1);
    let store = open(&disk).expect("the disk is healthy");
    let mut model = Model::new();
    let append = Step::Append { records: vec![vec![1; 3_000]], sync: true };
    model.run(&store, &append).expect("there is room");
    disk.set_capacity(disk.used() + 50_000);
    let long = Step::Append { records: vec![vec![2; 60_000]], sync: true };
    let error = model.run(&store, &long).expect_err("there is no room").to_string();
    assert!(error.contains("no storage space"), "{error}");
    store.reopen().expect("opening again needs no room");
    model.check(&store, "still full");
    model.run(&store, &append).expect("there is room for a short one");
    disk.set_capacity(u64::MAX);
    model.run(&store, &long).expect("there is room");
    model.check_all(&store, "there is room again");
}

#[test]
fn a_fold_that_finds_the_disk_full_changes_nothing() {
    let disk = SimDisk::new(1);
    let store = open(&disk).expect("the disk is healthy");
    let mut model = Model::new();
    let append = Step::Append { records: vec![b"a record".to_vec()], sync: true };
    model.run(&store, &append).expect("there is room");
    model.run(&store, &Step::Rotate).expect("there is room");
    disk.set_capacity(disk.used());
    let besides = (0..2_000u32).map(|n| put(Table::Codes, &n.to_be_bytes(), &[7; 2_000]));
    let fold = Step::Fold { besides: besides.collect() };
    assert!(model.run(&store, &fold).is_err(), "there is no room");
    disk.set_capacity(u64::MAX);
    store.reopen().expect("there is room");
    model.check(&store, "after the fold that failed");
    model.run(&store, &fold).expect("there is room");
    model.check_all(&store, "after the fold");
}

#[test]
fn reading_goes_on_when_appending_has_failed() {
    let disk = SimDisk::new(1);
    let store = open(&disk).expect("the disk is healthy");
    store.rotate().expect("the disk is healthy");
    let changes = [put(Table::Codes, b"a", b"1")];
    store.fold(Epoch(1), &mut changes.into_iter()).expect("the disk is healthy");
    disk.fail_syncs(true);
    assert!(store.append(&[b"x"], true).is_err());
    assert_eq!(store.append(&[b"y"], true), Err(StoreError::Failed));
    assert_eq!(store.rotate(), Err(StoreError::Failed));
    assert_eq!(get(&store, Table::Codes, b"a").as_deref(), Some(b"1".as_slice()));
}

#[test]
fn reading_goes_on_while_opening_again_fails() {
    let disk = SimDisk::new(1);
    let store = open(&disk).expect("the disk is healthy");
    store.rotate().expect("the disk is healthy");
    // More than the cache of these tests holds.
    let changes = (0..4_000u32).map(|n| put(Table::Codes, &n.to_be_bytes(), &[1; 1_000]));
    store.fold(Epoch(1), &mut changes.into_iter()).expect("the disk is healthy");
    disk.fail_syncs(true);
    assert!(store.append(&[b"x"], true).is_err());
    for _ in 0..3 {
        assert!(store.reopen().is_err(), "no sync works");
        assert_eq!(store.append(&[b"x"], true), Err(StoreError::Failed));
        for n in 0..4_000u32 {
            assert_eq!(store.get(Table::Codes, &n.to_be_bytes(), &mut |_| {}), Ok(true));
        }
    }
    disk.repair();
    store.reopen().expect("the disk is healthy");
    store.append(&[b"x"], true).expect("it was opened again");
    assert!(get(&store, Table::Codes, &[0; 4]).is_some());
}

#[test]
fn one_who_still_reads_the_old_tables_does_not_fail_those_that_were_opened_since() {
    let disk = SimDisk::new(1);
    let store = open(&disk).expect("the disk is healthy");
    store.rotate().expect("the disk is healthy");
    // More than the cache of these tests holds.
    let changes = (0..4_000u32).map(|n| put(Table::Codes, &n.to_be_bytes(), &[1; 1_000]));
    store.fold(Epoch(1), &mut changes.into_iter()).expect("the disk is healthy");
    let read = |n: u32| store.get(Table::Codes, &n.to_be_bytes(), &mut |_| {});
    let mut is_first = true;
    let late = store.scan(Table::Codes, &[], &[0xff; 5], &mut |_, _| {
        if std::mem::take(&mut is_first) {
            disk.fail_reads(true);
            assert!((0..4_000).any(|n| read(n).is_err()), "everything was in memory");
            disk.repair();
            store.reopen().expect("the disk is healthy");
        }
        true
    });
    assert!(late.is_err(), "what it reads from is closed");
    store.append(&[b"x"], true).expect("nothing has failed since");
    assert!((0..4_000).all(|n| read(n) == Ok(true)));
}

#[test]
fn when_the_tables_can_not_be_read_the_store_has_failed_until_it_is_opened_again() {
    let disk = SimDisk::new(1);
    let store = open(&disk).expect("the disk is healthy");
    let epoch = store.current().0;
    store.rotate().expect("the disk is healthy");
    // More than the cache of these tests holds.
    let changes = (0..4_000u32).map(|n| put(Table::Codes, &n.to_be_bytes(), &[1; 1_000]));
    store.fold(epoch, &mut changes.into_iter()).expect("the disk is healthy");
    disk.fail_reads(true);
    let read = |n: u32| store.get(Table::Codes, &n.to_be_bytes(), &mut |_| {});
    let failed = (0..4_000).find(|n| read(*n).is_err());
    assert!(failed.is_some(), "everything was in memory");
    assert_eq!(store.append(&[b"x"], true), Err(StoreError::Failed));
    disk.repair();
    assert_eq!(store.append(&[b"x"], true), Err(StoreError::Failed));
    store.reopen().expect("the disk is healthy");
    assert!((0..4_000).all(|n| read(n) == Ok(true)));
    store.append(&[b"x"], true).expect("it was opened again");
}

#[test]
fn a_panic_of_the_one_who_folds_is_his_own_and_changes_nothing() {
    let disk = SimDisk::new(1);
    let store = open(&disk).expect("the disk is healthy");
    let epoch = store.current().0;
    store.rotate().expect("the disk is healthy");
    let fold = |bad: Change| {
        let changes = [put(Table::Codes, b"a", b"1"), bad];
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            store.fold(epoch, &mut changes.into_iter())
        }))
    };
    assert!(fold(put(Table::Meta, b"schema", b"mine")).is_err(), "the store's own key was taken");
    assert_eq!(get(&store, Table::Codes, b"a"), None);
    let fine = fold(put(Table::Meta, b"other", b"2"));
    assert_eq!(fine.expect("this key is nobody's"), Ok(()));
    assert_eq!(get(&store, Table::Codes, b"a").as_deref(), Some(b"1".as_slice()));
}

#[test]
fn statistics_count_what_is_there() {
    let mut store = open(&SimDisk::new(1)).expect("the disk is healthy");
    store.append(&[b"first"], true).expect("the disk is healthy");
    store.rotate().expect("the disk is healthy");
    let changes = [put(Table::Codes, b"key", b"value"), put(Table::Codes, b"k", b"v")];
    store.fold(Epoch(1), &mut changes.into_iter()).expect("the disk is healthy");
    store.append(&[b"second", b"third"], true).expect("the disk is healthy");

    let statistics = store.statistics().expect("the disk is healthy");
    let codes = statistics.tables[Table::Codes as usize];
    assert_eq!((codes.table, codes.entries, codes.bytes), (Table::Codes, 2, 10));
    assert_eq!((statistics.folded, statistics.current), (Epoch(1), Epoch(2)));
    assert_eq!(statistics.log_bytes, store.current().1);

    let checked = store.check().expect("nothing is wrong");
    // Two codes, and what the store says of itself.
    assert_eq!((checked.records, checked.entries), (2, 4));
    assert_eq!((checked.folded, checked.current), (Epoch(1), Epoch(2)));
}

#[test]
fn names_of_tables_differ_and_stand_in_the_order_of_the_list() {
    let names: std::collections::BTreeSet<_> = Table::ALL.map(Table::name).into();
    assert_eq!(names.len(), Table::ALL.len());
    assert!(Table::ALL.iter().enumerate().all(|(at, table)| at == *table as usize));
}
