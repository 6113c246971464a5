//! Does the log find what it was given, and nothing else?

use super::*;
use crate::disk::{Fails, SimDisk, Unsynced};

fn open(disk: &SimDisk, folded: u64) -> Log {
    try_open(disk, folded, false).expect("nothing is wrong")
}

fn try_open(disk: &SimDisk, folded: u64, cut_damaged: bool) -> Result<Log, StoreError> {
    let options = Options { log_step_bytes: 2_000, salt: 9, cut_damaged, ..Options::default() };
    Log::open(Arc::new(disk.clone()) as Arc<dyn Disk>, Epoch(folded), &options)
}

fn records(log: &Log) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let each = &mut |_, record: &[u8]| {
        found.push(record.to_vec());
        Ok(())
    };
    log.replay(each).expect("nothing is wrong");
    found
}

/// Invariant 3, as it would go wrong: the first record of a batch is replaced by one of the same
/// length, and the second, which was discarded, would follow it.
#[test]
fn a_record_that_was_discarded_does_not_come_back_behind_one_of_the_same_length() {
    let disk = SimDisk::new(1);
    let mut log = open(&disk, 0);
    log.append(&[b"first"], true).expect("the disk is healthy");
    log.append(&[b"second", b"discarded"], false).expect("the disk is healthy");
    disk.fail_syncs(true);
    assert!(log.sync().is_err());
    disk.repair();
    log.reopen().expect("the disk is healthy");
    log.append(&[b"SECOND"], true).expect("the disk is healthy");
    for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Torn] {
        let log = open(&disk.crash(unsynced), 0);
        assert_eq!(records(&log), [b"first".as_slice(), b"SECOND"], "{unsynced:?}");
    }
}

/// The same after a crash that has torn a batch: its first record is lost, its second is there.
#[test]
fn a_record_behind_a_torn_one_does_not_come_back_behind_one_of_the_same_length() {
    let disk = SimDisk::new(1);
    let mut log = open(&disk, 0);
    log.append(&[&[1; 100], &[2; 100]], true).expect("the disk is healthy");
    let mut bytes = disk.read("log-1").expect("it is there");
    bytes[FIRST as usize + 20] ^= 1;
    disk.put("log-1", bytes);
    let mut log = open(&disk, 0);
    assert_eq!(records(&log), [[0; 0]; 0]);
    log.append(&[&[3; 100]], true).expect("the disk is healthy");
    assert_eq!(records(&open(&disk, 0)), [[3; 100]]);
}

/// Invariant 1 of the format: the file of epoch 3 still holds the records of epoch 1, each where
/// one of epoch 3 could be.
#[test]
fn what_an_earlier_epoch_left_is_not_read() {
    let disk = SimDisk::new(1);
    let mut log = open(&disk, 0);
    log.append(&[&[1; 50], &[2; 50], &[3; 50]], true).expect("the disk is healthy");
    for folded in 1..3 {
        log.rotate().expect("the disk is healthy");
        log.forget(Epoch(folded));
    }
    log.append(&[&[4; 50]], true).expect("the disk is healthy");
    let stale = disk.read("log-1").expect("it is there");
    assert!(stale.windows(50).any(|bytes| bytes == [3; 50]), "the file was not used again");
    assert_eq!(records(&open(&disk, 2)), [[4; 50]]);
}

#[test]
fn an_append_is_one_write_and_one_sync() {
    let disk = SimDisk::new(1);
    let mut log = open(&disk, 0);
    log.append(&[b"grows"], true).expect("the disk is healthy");
    let before = disk.changes();
    log.append(&[b"one", b"two", b"three"], true).expect("the disk is healthy");
    assert_eq!(disk.changes() - before, 2);
    log.append(&[b"four"], false).expect("the disk is healthy");
    assert_eq!(disk.changes() - before, 3);
    log.sync().expect("the disk is healthy");
    log.sync().expect("there is nothing to sync");
    assert_eq!(disk.changes() - before, 4);
}

#[test]
fn a_log_grows_within_the_write_by_zeros_that_its_sync_brings_to_disk() {
    let disk = SimDisk::new(1);
    let mut log = open(&disk, 0);
    let before = disk.changes();
    log.append(&[b"grows"], true).expect("the disk is healthy");
    assert_eq!(disk.changes() - before, 2, "a write and a sync");
    let crashed = disk.crash(Unsynced::Lost);
    let bytes = crashed.read("log-1").expect("it is there");
    assert_eq!(bytes.len() as u64, (FIRST + 1).next_multiple_of(2_000));
    let end = FIRST as usize + HEAD_LEN + b"grows".len();
    assert!(bytes[end..].iter().all(|byte| *byte == 0));
    assert_eq!(records(&open(&crashed, 0)), [b"grows"]);
    // What fits is written over the zeros.
    log.append(&[b"fits"], true).expect("the disk is healthy");
    assert_eq!(disk.read("log-1").expect("it is there").len(), bytes.len());
}

#[test]
fn a_failed_write_keeps_what_was_acknowledged_without_a_sync() {
    let disk = SimDisk::new(1);
    let mut log = open(&disk, 0);
    log.append(&[b"acknowledged"], false).expect("the disk is healthy");
    disk.fail_after(0, Fails::Once);
    assert!(log.append(&[b"failed"], true).is_err());
    assert_eq!(log.append(&[b"refused"], true), Err(StoreError::Failed));
    log.reopen().expect("the disk is healthy");
    let found = records(&open(&disk.crash(Unsynced::Lost), 0));
    assert_eq!(found, [b"acknowledged"]);
}

#[test]
fn records_longer_than_what_is_read_at_a_time_are_found() {
    let disk = SimDisk::new(1);
    let mut log = open(&disk, 0);
    let long: Vec<Vec<u8>> = [1_999, 2_000, 2_001, 9_000, 1].map(|len| vec![len as u8; len]).into();
    let all: Vec<&[u8]> = long.iter().map(Vec::as_slice).collect();
    log.append(&all, true).expect("the disk is healthy");
    assert_eq!(records(&log), long);
    assert_eq!(records(&open(&disk, 0)), long);
}

#[test]
#[should_panic(expected = "at least one byte")]
fn an_empty_record_is_a_mistake_of_the_caller() {
    let _ = open(&SimDisk::new(1), 0).append(&[b""], true);
}

/// Invariant 5, as it would go wrong: the header of the next epoch is on disk though beginning it
/// failed, and says that this epoch ends before the record that follows.
#[test]
fn a_rotation_fails_then_the_epoch_goes_on_and_its_later_records_are_found() {
    for seed in 0..20 {
        let disk = SimDisk::new(seed);
        let mut log = open(&disk, 0);
        log.append(&[b"before"], true).expect("the disk is healthy");
        disk.fail_syncs(true);
        assert!(log.rotate().is_err());
        assert_eq!(log.append(&[b"refused"], true), Err(StoreError::Failed));
        disk.repair();
        log.reopen().expect("the disk is healthy");
        log.append(&[b"after"], true).expect("the disk is healthy");
        for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Torn] {
            let log = open(&disk.crash(unsynced), 0);
            assert_eq!(log.current().epoch, Epoch(1));
            assert_eq!(records(&log), [b"before".as_slice(), b"after"], "{seed}, {unsynced:?}");
        }
    }
}

/// Invariant 4 while opening again: what a failed sync may have given up does not count, though
/// it still reads well.
#[test]
fn opening_again_fails_to_sync_then_succeeds_and_no_record_is_behind_a_gap() {
    for seed in 0..20 {
        let disk = SimDisk::new(seed);
        let mut log = open(&disk, 0);
        log.append(&[b"synced"], true).expect("the disk is healthy");
        log.append(&[&[1; 3_000]], false).expect("the disk is healthy");
        disk.fail_after(0, Fails::Once);
        assert!(log.append(&[b"failed"], true).is_err());
        disk.fail_syncs(true);
        assert!(log.reopen().is_err());
        disk.repair();
        log.reopen().expect("the disk is healthy");
        log.append(&[b"after"], true).expect("the disk is healthy");
        let found = records(&open(&disk.crash(Unsynced::Lost), 0));
        assert_eq!(found, [b"synced".as_slice(), b"after"], "{seed}");
    }
}

/// Invariant 7, for each byte of five appends: before the last one it is told and nothing is changed;
/// there it looks like an append that a crash has torn.
#[test]
fn damage_before_the_last_append_is_told_and_in_the_last_one_is_cut() {
    let disk = SimDisk::new(1);
    let mut log = open(&disk, 0);
    let mut last = 0;
    for n in 1..=5 {
        last = log.current().end;
        let records: [&[u8]; 2] = [&[n; 30], &[0xff; 40]];
        log.append(&records, true).expect("the disk is healthy");
    }
    let (end, bytes) = (log.current().end, disk.read("log-1").expect("it is there"));
    assert_eq!(records(&open(&disk.crash(Unsynced::Lost), 0)).len(), 10, "marks are no records");
    for at in FIRST..end {
        let mut damaged = bytes.clone();
        damaged[at as usize] ^= 0x10;
        let disk = disk.crash(Unsynced::Lost);
        disk.put("log-1", damaged.clone());
        match try_open(&disk, 0, false) {
            Ok(log) => {
                assert!(at >= last, "byte {at} was acknowledged, and what is behind it was cut");
                assert!(records(&log).len() >= 8, "byte {at}: what is before it was cut");
            }
            Err(StoreError::Corrupt(what)) => {
                assert!(at < last, "byte {at} may be torn: {what}");
                assert!(what.contains("log-1") && what.contains("--cut"), "{what}");
                assert_eq!(disk.read("log-1"), Some(damaged), "byte {at}: the file was changed");
                let log = try_open(&disk, 0, true).expect("the loss is accepted");
                let left = records(&log).len();
                assert!(left < 8, "byte {at}");
                drop(log);
                assert_eq!(records(&open(&disk, 0)).len(), left, "it was cut once and for all");
            }
            Err(other) => panic!("byte {at}: {other}"),
        }
    }
}

/// Marks of the epoch before the last are behind the end, at the places where they were written.
#[test]
fn marks_that_an_earlier_epoch_left_say_nothing() {
    let disk = SimDisk::new(1);
    let mut log = open(&disk, 0);
    for n in 1..=9 {
        log.append(&[&[n; 50]], true).expect("the disk is healthy");
    }
    for folded in 1..3 {
        log.rotate().expect("the disk is healthy");
        log.forget(Epoch(folded));
    }
    log.append(&[&[10; 50]], true).expect("the disk is healthy");
    log.append(&[&[11; 50]], true).expect("the disk is healthy");
    assert_eq!(records(&open(&disk, 2)), [[10; 50], [11; 50]]);
}

#[test]
fn without_a_sync_there_is_no_mark_and_damage_looks_torn() {
    let disk = SimDisk::new(1);
    let mut log = open(&disk, 0);
    for n in 1..=3 {
        log.append(&[&[n; 50]], false).expect("the disk is healthy");
    }
    let mut bytes = disk.read("log-1").expect("it is there");
    bytes[FIRST as usize + 70] ^= 1;
    disk.put("log-1", bytes);
    assert_eq!(records(&open(&disk, 0)), [[1; 50]]);
}

#[test]
fn a_log_of_version_1_is_read_and_goes_on_with_marks() {
    let disk = SimDisk::new(1);
    let mut log = open(&disk, 0);
    log.append(&[b"first", b"second"], true).expect("the disk is healthy");
    for name in NAMES {
        let mut bytes = disk.read(name).expect("it is there");
        bytes[8..12].copy_from_slice(&1u32.to_le_bytes());
        let crc = crc32fast::hash(&bytes[..40]);
        bytes[40..44].copy_from_slice(&crc.to_le_bytes());
        disk.put(name, bytes);
    }
    let mut log = open(&disk, 0);
    log.append(&[b"third"], true).expect("the disk is healthy");
    assert_eq!(records(&open(&disk, 0)), [b"first".as_slice(), b"second", b"third"]);
    let mut bytes = disk.read("log-1").expect("it is there");
    assert_eq!(bytes[8], 2, "older programs would take a mark for the end");
    bytes[FIRST as usize + 10] ^= 1;
    disk.put("log-1", bytes);
    assert!(matches!(try_open(&disk, 0, false), Err(StoreError::Corrupt(_))));
}
