//! What is found after the power went at any call, and after the disk failed at any call?

use super::model::{Model, Step, Steps, open};
use crate::{
    disk::{Fails, SimDisk, Unsynced},
    store::{DiskStore, Store, StoreError},
};

/// Runs steps until one fails. Whether all were done.
fn run(store: &DiskStore, model: &mut Model, steps: &mut Steps, count: usize) -> bool {
    for _ in 0..count {
        let step = steps.next();
        if model.allows(&step) && model.run(store, &step).is_err() {
            return false;
        }
    }
    true
}

/// Crashes at each call that changes the disk in turn, in each way, and goes on after it.
fn crash_at_every_call(seed: u64, count: usize, unsynced: Unsynced) {
    for n in 0.. {
        let context = format!("seed {seed}, call {n}, {unsynced:?}");
        let disk = SimDisk::new(seed + n);
        disk.fail_after(n, Fails::FromThenOn);
        let mut model = Model::new();
        let mut steps = Steps::new(seed);
        let done = match open(&disk) {
            Ok(store) => run(&store, &mut model, &mut steps, count),
            Err(_) => false,
        };
        let disk = disk.crash(unsynced);
        let store = open(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
        model.check(&store, &context);
        // It is a store as any other, also after the next crash.
        assert!(run(&store, &mut model, &mut steps, 12), "{context}: the disk is healthy");
        model.check_all(&store, &context);
        drop(store);
        let store = open(&disk.crash(Unsynced::Lost)).expect("the disk is healthy");
        model.check(&store, &format!("{context}, and once more"));
        if done {
            return;
        }
    }
}

#[test]
fn a_crash_at_every_call_that_loses_what_was_not_synced() {
    (0..2).for_each(|seed| crash_at_every_call(seed, 40, Unsynced::Lost));
}

#[test]
fn a_crash_at_every_call_that_tears_what_was_not_synced() {
    (10..13).for_each(|seed| crash_at_every_call(seed, 40, Unsynced::Torn));
}

#[test]
fn a_process_that_dies_at_every_call_on_a_machine_that_runs_on() {
    (20..22).for_each(|seed| crash_at_every_call(seed, 40, Unsynced::Kept));
}

/// The disk fails once, the store is opened again in the same process, and goes on; then the
/// power goes. What was discarded does not come back.
#[test]
fn the_disk_fails_once_at_every_call_then_the_store_is_opened_again() {
    for seed in 30..32 {
        for n in 0.. {
            let context = format!("seed {seed}, call {n}");
            let disk = SimDisk::new(seed + n);
            let mut model = Model::new();
            let mut steps = Steps::new(seed);
            let store = open(&disk).expect("the disk is healthy");
            disk.fail_after(n, Fails::Once);
            let done = run(&store, &mut model, &mut steps, 40);
            if !done {
                let append = Step::Append { records: vec![vec![1]], sync: true };
                let refused = model.clone().run(&store, &append);
                assert_eq!(refused, Err(StoreError::Failed), "{context}");
            }
            disk.repair();
            store.reopen().unwrap_or_else(|error| panic!("{context}: {error}"));
            model.check(&store, &context);
            assert!(run(&store, &mut model, &mut steps, 12), "{context}: the disk is healthy");
            for unsynced in [Unsynced::Lost, Unsynced::Torn, Unsynced::Kept] {
                let store = open(&disk.crash(unsynced)).expect("the disk is healthy");
                model.clone().check(&store, &format!("{context}, then a crash: {unsynced:?}"));
            }
            if done {
                break;
            }
        }
    }
}

/// As above, but opening again fails too, at every call of it in turn: where only the log has to be seen
/// to, and where the tables have failed as well.
#[test]
fn opening_again_fails_at_every_call_and_then_succeeds() {
    for seed in 40..43 {
        opening_again_fails_at_every_call(seed, false);
        opening_again_fails_at_every_call(seed, true);
    }
}

fn opening_again_fails_at_every_call(seed: u64, tables_have_failed: bool) {
    for n in 0.. {
        let context = format!("seed {seed}, tables have failed: {tables_have_failed}, call {n}");
        let disk = SimDisk::new(seed + n);
        let (mut model, mut steps) = (Model::new(), Steps::new(seed));
        let store = open(&disk).expect("the disk is healthy");
        assert!(run(&store, &mut model, &mut steps, 20), "{context}: the disk is healthy");
        disk.fail_syncs(true);
        let append = Step::Append { records: vec![vec![2; 600], vec![3]], sync: true };
        assert!(model.run(&store, &append).is_err(), "{context}: syncs fail");
        if tables_have_failed {
            store.snapshot.load().as_ref().expect("it was opened").fail();
        }
        disk.repair();
        disk.fail_after(n, Fails::Once);
        let first = store.reopen();
        let has_failed = disk.has_failed();
        disk.repair();
        if first.is_err() {
            store.reopen().unwrap_or_else(|error| panic!("{context}: {error}"));
        }
        model.check(&store, &context);
        assert!(run(&store, &mut model, &mut steps, 12), "{context}: the disk is healthy");
        let store = open(&disk.crash(Unsynced::Torn)).expect("the disk is healthy");
        model.check(&store, &format!("{context}, then a crash"));
        if !has_failed {
            assert!(n > 1, "{context}: it has to cut the log and sync that");
            break;
        }
    }
}

/// What a dead process could not sync is still shown by the system. The next process builds on
/// it, so it has to be made durable first.
#[test]
fn a_sync_fails_the_process_dies_the_next_one_goes_on_and_the_power_goes() {
    for seed in 0..50 {
        let disk = SimDisk::new(seed);
        let mut model = Model::new();
        let store = open(&disk).expect("the disk is healthy");
        disk.fail_syncs(true);
        let append = Step::Append { records: vec![vec![1; 2_000]], sync: true };
        assert!(model.run(&store, &append).is_err(), "syncs fail");
        let disk = disk.crash(Unsynced::Kept);
        let store = open(&disk).expect("the disk is healthy");
        model.check(&store, "after the process died");
        model.run(&store, &append).expect("the disk is healthy");
        let store = open(&disk.crash(Unsynced::Lost)).expect("the disk is healthy");
        model.check(&store, &format!("seed {seed}, after the power went"));
    }
}
