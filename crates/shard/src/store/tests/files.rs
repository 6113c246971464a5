//! What happens with files that are locked, foreign, newer, damaged or missing?

use std::sync::Arc;

use redb::{Database, TableDefinition};

use super::{
    directory::Directory,
    model::{Model, Step, open, read},
};
use crate::{
    disk::{Disk, OsDisk, SimDisk},
    store::{Change, DiskStore, Epoch, Options, Store, StoreError, Table},
};

const TABLES: &str = "tables.redb";

/// A disk with something in the tables and something in the log.
fn used() -> (SimDisk, Model) {
    let disk = SimDisk::new(1);
    let mut model = Model::new();
    let store = open(&disk).expect("the disk is healthy");
    let besides = |n: u32| Change::Put {
        table: Table::Accounts,
        key: n.to_be_bytes().to_vec(),
        value: vec![n as u8; 40],
    };
    let steps = [
        Step::Append { records: vec![vec![1; 300], vec![2; 10]], sync: true },
        Step::Rotate,
        Step::Fold { besides: (0..200).map(besides).collect() },
        Step::Append { records: vec![vec![3; 20], vec![4; 700]], sync: true },
        Step::Rotate,
        Step::Append { records: vec![vec![5; 20]], sync: true },
    ];
    for step in steps {
        model.run(&store, &step).expect("the disk is healthy");
    }
    drop(store);
    (disk, model)
}

#[test]
fn a_real_directory_keeps_everything_and_takes_one_process_at_a_time() {
    let directory = Directory::new("store-locked");
    let open = || {
        let disk = OsDisk::open(directory.path())?;
        DiskStore::open(Arc::new(disk) as Arc<dyn Disk>, Options::default())
    };
    let mut model = Model::new();
    let store = open().expect("nobody else has it");
    let append = Step::Append { records: vec![vec![1; 5_000], vec![2]], sync: true };
    for step in [append.clone(), Step::Rotate, append, Step::Fold { besides: vec![] }] {
        model.run(&store, &step).expect("the disk is healthy");
    }
    assert!(matches!(open(), Err(StoreError::Locked(_))));
    drop(store);
    let store = open().expect("it was given back");
    model.check_all(&store, "opened again");
    store.reopen().expect("the disk is healthy");
    model.check_all(&store, "opened again in the same process");
}

#[test]
fn foreign_files_are_refused_by_name_and_left_alone() {
    for name in [TABLES, "log-0", "log-1"] {
        let disk = SimDisk::new(1);
        let foreign = b"a letter to somebody else ".repeat(400);
        disk.put(name, foreign.clone());
        assert_eq!(open(&disk).err(), Some(StoreError::Foreign(disk.path(name))), "{name}");
        assert_eq!(disk.read(name), Some(foreign), "{name} was changed");
    }
}

/// What redb holds in a file of its own, made by `make`.
fn redb_file(make: impl FnOnce(&redb::WriteTransaction)) -> Vec<u8> {
    let directory = Directory::new("store-redb-file");
    std::fs::create_dir_all(directory.path()).expect("the temporary directory is ours");
    let path = directory.path().join("file");
    let database = Database::create(&path).expect("there is room");
    let transaction = database.begin_write().expect("nobody else writes");
    make(&transaction);
    transaction.commit().expect("there is room");
    drop(database);
    std::fs::read(path).expect("it was just written")
}

#[test]
fn tables_of_another_program_are_foreign_and_newer_ones_say_so() {
    let disk = SimDisk::new(1);
    let theirs: TableDefinition<'_, &str, u64> = TableDefinition::new("theirs");
    disk.put(TABLES, redb_file(|transaction| drop(transaction.open_table(theirs))));
    assert_eq!(open(&disk).err(), Some(StoreError::Foreign(disk.path(TABLES))));

    let disk = SimDisk::new(1);
    let meta: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("meta");
    let newer = redb_file(|transaction| {
        let mut meta = transaction.open_table(meta).expect("it is new");
        meta.insert(b"schema".as_slice(), [9, 0, 0, 0].as_slice()).expect("there is room");
    });
    disk.put(TABLES, newer);
    assert_eq!(open(&disk).err(), Some(StoreError::Newer { found: 9, known: 3 }));
}

#[test]
fn tables_of_an_older_program_get_what_they_lack_and_keep_what_they_have() {
    (1..=2).for_each(tables_of_version);
}

fn tables_of_version(version: u8) {
    let bytes = |name: &'static str| TableDefinition::<&[u8], &[u8]>::new(name);
    let older = redb_file(|transaction| {
        let is_there = |table: &Table| *table != Table::Pruned || version > 1;
        for table in Table::ALL.into_iter().filter(is_there) {
            drop(transaction.open_table(bytes(table.name())).expect("it is new"));
        }
        let mut meta = transaction.open_table(bytes("meta")).expect("it is there");
        meta.insert(b"schema".as_slice(), [version, 0, 0, 0].as_slice()).expect("there is room");
        meta.insert(b"folded".as_slice(), [0; 8].as_slice()).expect("there is room");
        let mut codes = transaction.open_table(bytes("codes")).expect("it is there");
        codes.insert(b"key".as_slice(), b"kept".as_slice()).expect("there is room");
    });
    let disk = SimDisk::new(1);
    disk.put(TABLES, older);
    for _ in 0..2 {
        let store = open(&disk).expect("older files can be opened");
        let mut schema = Vec::new();
        let read = &mut |value: &[u8]| schema = value.to_vec();
        assert!(store.get(Table::Meta, b"schema", read).expect("the disk is healthy"));
        assert_eq!(schema, [3, 0, 0, 0]);
        let kept = store.get(Table::Codes, b"key", &mut |value| assert_eq!(value, b"kept"));
        assert!(kept.expect("the disk is healthy"));
        assert!(!store.get(Table::Pruned, b"key", &mut |_| {}).expect("the table is there"));
    }
}

#[test]
fn a_log_that_is_missing_is_an_error_and_not_an_empty_log() {
    for name in ["log-0", "log-1"] {
        let (disk, _) = used();
        disk.remove(name).expect("it is there");
        let error = open(&disk).expect_err("records are missing");
        assert!(matches!(&error, StoreError::Corrupt(what) if what.contains("log-")), "{error}");
    }
}

#[test]
fn a_log_that_is_missing_before_the_first_fold_is_an_error_too() {
    for name in ["log-0", "log-1"] {
        let disk = SimDisk::new(1);
        let store = open(&disk).expect("the disk is healthy");
        store.append(&[b"first"], true).expect("the disk is healthy");
        store.rotate().expect("the disk is healthy");
        store.append(&[b"second"], true).expect("the disk is healthy");
        drop(store);
        disk.remove(name).expect("it is there");
        assert!(matches!(open(&disk), Err(StoreError::Corrupt(_))), "{name}");
    }
}

/// Without the tables the logs say that something was folded, and it is not there.
#[test]
fn tables_that_are_missing_are_an_error_and_not_empty_tables() {
    let (disk, _) = used();
    disk.remove(TABLES).expect("it is there");
    assert!(matches!(open(&disk), Err(StoreError::Corrupt(_))));
}

/// Epoch 2 is in `log-0` and over, so all of it is known to be on disk; epoch 3 in `log-1` may
/// have been torn by a crash.
#[test]
fn garbage_at_every_offset_of_a_log_ends_it_or_is_reported_and_nothing_false_is_read() {
    let (disk, _) = used();
    let all = read(&open(&disk).expect("nothing is wrong")).expect("nothing is wrong");
    // Where the records end: two of 20 and 700 bytes, one of 20, each with a head of 8.
    for (name, end) in [("log-0", 4_096 + 736), ("log-1", 4_096 + 28)] {
        let bytes = disk.read(name).expect("it is there");
        for at in (0..44).chain(4_096..bytes.len().min(end + 100)) {
            let disk = disk.crash(crate::disk::Unsynced::Kept);
            let mut garbled = bytes.clone();
            garbled[at] ^= 0x55;
            disk.put(name, garbled);
            match open(&disk) {
                Ok(store) => {
                    let found = read(&store).expect("what was opened can be read");
                    let len = found.records.len();
                    assert_eq!(found.records, all.records[..len], "{name}, byte {at}");
                    assert_eq!(found.entries, all.entries, "{name}, byte {at}");
                    if at >= end {
                        assert_eq!(found, all, "{name}, byte {at}: what counts is before it");
                    } else {
                        assert_eq!(name, "log-1", "byte {at}: an epoch that is over is cut short");
                        assert!(found.records.iter().all(|record| record.0 < Epoch(3)));
                    }
                }
                Err(StoreError::Corrupt(_) | StoreError::Foreign(_)) => {}
                Err(error) => panic!("{name}, byte {at}: {error}"),
            }
        }
    }
}

/// redb may find the damage, or not look there; it must not take the process down.
#[test]
fn garbage_anywhere_in_the_tables_never_panics() {
    let (disk, _) = used();
    let bytes = disk.read(TABLES).expect("it is there");
    let mut found = 0;
    for at in (0..320).chain((320..bytes.len()).step_by(bytes.len() / 200)) {
        let disk = disk.crash(crate::disk::Unsynced::Kept);
        let mut garbled = bytes.clone();
        garbled[at..].iter_mut().take(40).for_each(|byte| *byte ^= 0x55);
        disk.put(TABLES, garbled);
        let checked = open(&disk).and_then(|mut store| {
            read(&store)?;
            store.check()
        });
        found += u32::from(checked.is_err());
    }
    assert!(found > 40, "only {found} damages were found");
}

#[test]
fn a_file_cut_short_at_any_page_is_an_error_or_reads_as_before() {
    let (disk, _) = used();
    let bytes = disk.read(TABLES).expect("it is there");
    let all = read(&open(&disk.crash(crate::disk::Unsynced::Kept)).expect("nothing is wrong"));
    for len in (1..bytes.len()).step_by(bytes.len() / 64) {
        let disk = disk.crash(crate::disk::Unsynced::Kept);
        disk.put(TABLES, bytes[..len].to_vec());
        if let Ok(found) = open(&disk).and_then(|store| read(&store)) {
            assert_eq!(Ok(found), all, "{len} bytes");
        }
    }
}
