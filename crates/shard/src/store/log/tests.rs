//! Does the log find what it was given, and nothing else?

use super::*;
use crate::disk::{Fails, SimDisk, Unsynced};

fn open(disk: &SimDisk, folded: u64) -> Log {
    let options = Options { log_step_bytes: 2_000, salt: 9, ..Options::default() };
    let disk = Arc::new(disk.clone()) as Arc<dyn Disk>;
    Log::open(disk, Epoch(folded), &options).expect("nothing is wrong")
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
fn opening_says_how_many_bytes_were_ignored() {
    let disk = SimDisk::new(1);
    let mut log = open(&disk, 0);
    log.append(&[b"first"], true).expect("the disk is healthy");
    let end = log.current().end;
    assert_eq!(open(&disk, 0).ignored(), 6_000 - end, "room that was not used yet");
    assert_eq!(open(&disk, 0).ignored(), 0, "it was cut");
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
