//! Is a failure ever slept through, and is the back-off kept?

use alloy_primitives::{Address, U256};

use super::*;
use crate::{
    commit::record::{ShardIndex, What},
    disk::{Fails, SimDisk},
    store::{DiskStore, Options},
};

struct Nothing;

impl Beginning for Nothing {
    fn has_slot(&self, _: Address, _: U256) -> bool {
        false
    }

    fn has_node(&self, _: &[u8]) -> bool {
        false
    }
}

/// A committer on a disk that folds whatever it has appended, at a time that stands still.
fn commit(disk: &SimDisk) -> Commit {
    let options = Options { salt: 1, ..Options::default() };
    let store = Arc::new(DiskStore::open(Arc::new(disk.clone()), options).unwrap());
    let (folded, clock) = (Box::new(|_| {}), Box::new(|| Duration::ZERO));
    Commit::new(store, Durability::Sync, 1, Arc::new(Nothing), folded, clock)
}

fn submit(commit: &Commit) {
    let what = What::Created { address: Address::ZERO, chain_id: 1 };
    let taken = commit.submit(vec![Record { shard: ShardIndex(0), what }], Box::new(|_| {}));
    assert!(taken.is_ok());
}

#[test]
fn a_fold_that_fails_between_a_step_and_its_sleep_is_not_slept_through() {
    let disk = SimDisk::new(1);
    let commit = commit(&disk);
    submit(&commit);
    assert_eq!(commit.step(), Next::Again);
    assert_eq!(commit.step(), Next::Wait);
    // The other thread fails, and has called before this one sleeps.
    disk.fail_after(0, Fails::Once);
    assert_eq!(commit.fold(), Next::Again);
    assert!(commit.failure().is_some());
    assert!(commit.is_step_due(&commit.state()), "it would sleep, and nobody would wake it");

    assert_eq!(commit.step(), Next::Again);
    assert_eq!(commit.failure(), None);
    assert_eq!(commit.fold(), Next::Again);
    assert_eq!(commit.counts().folds, 1);
}

#[test]
fn a_fold_that_fails_again_after_reopening_is_not_tried_without_a_pause() {
    let disk = SimDisk::new(1);
    let commit = commit(&disk);
    submit(&commit);
    assert_eq!(commit.step(), Next::Again);
    let mut waits = Vec::new();
    for _ in 0..3 {
        // Reopening works, folding does not: as if there were no room for it.
        disk.fail_after(0, Fails::Once);
        assert_eq!(commit.fold(), Next::Again);
        assert!(commit.failure().is_some());
        match commit.step() {
            Next::WaitFor(wait) => waits.push(wait),
            other => assert_eq!((other, waits.len()), (Next::Again, 0)),
        }
        commit.state().reopen_at = None;
        let _ = commit.step();
        assert_eq!(commit.failure(), None);
    }
    assert_eq!(waits, [REOPEN_FIRST, 2 * REOPEN_FIRST]);

    assert_eq!(commit.fold(), Next::Again);
    assert_eq!(commit.counts().folds, 1);
    assert!(commit.state().reopen_after.is_zero(), "all is well");
}

#[test]
fn whoever_looks_early_does_not_shorten_the_wait_before_reopening() {
    let disk = SimDisk::new(1);
    let commit = commit(&disk);
    disk.fail_after(0, Fails::FromThenOn);
    submit(&commit);
    assert_eq!(commit.step(), Next::Again);
    assert_eq!(commit.step(), Next::Again, "it tries at once");
    assert_eq!(commit.step(), Next::WaitFor(REOPEN_FIRST));
    disk.repair();
    assert!(!commit.is_step_due(&commit.state()));
    assert_eq!(commit.step(), Next::WaitFor(REOPEN_FIRST));
    assert!(commit.failure().is_some());
}
