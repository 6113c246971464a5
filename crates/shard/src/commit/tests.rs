//! Is a failure ever slept through, is the back-off kept, what is begun while it closes, after what
//! does it pause, and what is not put off by a fold?

use std::sync::{
    atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    mpsc,
};

use alloy_primitives::{Address, U256};

use super::{driver::GATHER_MIN, reopen::REOPEN_FIRST, *};
use crate::{
    commit::record::{ShardIndex, What},
    disk::{Fails, Operation, SimDisk},
    store::{DiskStore, MemoryStore, Options},
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
    commit_with(disk, Durability::Sync)
}

fn commit_with(disk: &SimDisk, durability: Durability) -> Commit {
    let options = Options { salt: 1, ..Options::default() };
    commit_to(Arc::new(DiskStore::open(Arc::new(disk.clone()), options).unwrap()), durability)
}

fn commit_to(store: Arc<dyn Store>, durability: Durability) -> Commit {
    let (folded, clock) = (Box::new(|_| {}), Box::new(|| Duration::ZERO));
    let cuts = Box::new(|_| Vec::new());
    Commit::new(store, durability, 1, Arc::new(Nothing), folded, cuts, clock)
}

fn submit(commit: &Commit) {
    submit_with(commit, |_| {});
}

fn submit_with(commit: &Commit, done: impl FnOnce(Result<Epoch, StoreError>) + Send + 'static) {
    let what = What::Created { address: Address::ZERO, chain_id: 1 };
    let taken = commit.submit([Submission {
        records: vec![Record { shard: ShardIndex(0), what }],
        done: Box::new(done),
    }]);
    assert!(taken.is_ok());
}

#[test]
fn one_that_panics_when_it_is_told_takes_nobody_with_it() {
    let disk = SimDisk::new(1);
    let commit = commit(&disk);
    let (told, all) = std::sync::mpsc::channel();
    for fails in [false, true] {
        submit_with(&commit, |_| panic!("a waker of somebody else's"));
        let told = told.clone();
        submit_with(&commit, move |result| told.send(result.is_err()).unwrap());
        if fails {
            disk.fail_after(0, Fails::Once);
        }
        assert_eq!(commit.step(), Next::Again);
        assert_eq!(all.try_recv(), Ok(fails));
    }
}

#[test]
fn a_sync_may_be_as_late_as_a_duration_can_say() {
    let mut commit = commit_with(&SimDisk::new(1), Durability::Batch(Duration::MAX));
    commit.clock = Box::new(|| Duration::from_secs(1));
    submit(&commit);
    assert_eq!(commit.step(), Next::Again);
    assert!(matches!(commit.step(), Next::WaitFor(_)));
    commit.close();
    assert_eq!(commit.step(), Next::Again);
    assert_eq!(commit.step(), Next::Closed);
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

#[test]
fn no_fold_begins_while_it_closes_and_what_is_submitted_is_still_appended() {
    let commit = commit(&SimDisk::new(1));
    submit(&commit);
    assert_eq!(commit.step(), Next::Again);
    // An epoch is complete, and the next is filled far beyond what a fold may be behind.
    (0..20).for_each(|_| submit(&commit));
    commit.close();
    assert_eq!(commit.fold(), Next::Closed);
    assert_eq!(commit.step(), Next::Again, "it does not wait for a fold that nobody begins");
    assert_eq!(commit.step(), Next::Closed);
    assert_eq!((commit.counts().records, commit.counts().folds), (21, 0));
}

#[test]
fn a_sync_is_not_put_off_when_enough_waits_or_when_it_closes() {
    // The clock of this one stands still: what is put off here is put off for ever.
    let long = Duration::from_secs(1);
    let full = commit(&SimDisk::new(1));
    (0..ENOUGH).for_each(|_| submit(&full));
    full.state().shared_sync = Some(long);
    full.gather();
    assert_eq!(full.step(), Next::Again);
    assert_eq!(full.counts().records, ENOUGH as u64);

    let closing = commit(&SimDisk::new(2));
    submit(&closing);
    closing.close();
    closing.state().shared_sync = Some(long);
    closing.gather();
    assert_eq!(closing.step(), Next::Again);
    assert_eq!(closing.step(), Next::Closed);
}

#[test]
fn only_a_sync_that_several_have_shared_is_followed_by_a_pause() {
    let mut commit = commit(&SimDisk::new(1));
    commit.checkpoint_bytes = u64::MAX;
    // Whoever looks at this clock takes time: an append has taken one look.
    let looks = AtomicU32::new(0);
    commit.clock = Box::new(move || GATHER_MIN * looks.fetch_add(1, Relaxed));
    submit(&commit);
    assert_eq!(commit.step(), Next::Again);
    assert_eq!(commit.state().shared_sync, None, "a lone one's block would come late");
    (0..2).for_each(|_| submit(&commit));
    assert_eq!(commit.step(), Next::Again);
    assert_eq!(commit.state().shared_sync, Some(GATHER_MIN));
    commit.gather();
    commit.doubt();
    assert_eq!(commit.step(), Next::Again);
    assert_eq!(commit.state().shared_sync, None, "nothing was appended");
}

#[test]
fn where_there_is_no_disk_or_a_sync_is_short_nobody_waits_for_others() {
    // The clock of these stands still: a pause would have no end.
    let memory = commit_to(Arc::new(MemoryStore::new()), Durability::Sync);
    memory.state().shared_sync = Some(Duration::from_secs(1));
    memory.gather();

    let quick = commit(&SimDisk::new(1));
    quick.state().shared_sync = Some(GATHER_MIN - Duration::from_nanos(1));
    quick.gather();
}

#[test]
fn a_fold_that_fails_between_a_step_and_its_sleep_is_slept_off_and_not_for_ever() {
    let disk = SimDisk::new(1);
    let commit = commit(&disk);
    submit(&commit);
    assert_eq!(commit.step(), Next::Again);
    assert_eq!(commit.step(), Next::Wait);
    // The other thread fails, for the second time: this one has to wait before it reopens.
    commit.state().reopen_after = REOPEN_FIRST;
    disk.fail_after(0, Fails::Once);
    assert_eq!(commit.fold(), Next::Again);
    assert!(!commit.is_step_due(&commit.state()));
    // No submission is taken, so nobody wakes it. However it rests, it ends by itself.
    for time in [None, Some(Duration::MAX)] {
        commit.await_submission(time);
        assert_eq!(commit.step(), Next::WaitFor(REOPEN_FIRST));
    }
}

#[test]
fn what_was_acknowledged_is_synced_in_time_while_appending_waits_for_a_fold() {
    let disk = SimDisk::new(1);
    let mut commit = commit_with(&disk, Durability::Batch(Duration::from_millis(9)));
    // Whoever looks at this clock takes time.
    let looks = AtomicU32::new(0);
    commit.clock = Box::new(move || Duration::from_millis(1) * looks.fetch_add(1, Relaxed));
    submit(&commit);
    assert_eq!(commit.step(), Next::Again);

    // The fold writes nothing before the log was synced.
    let (folding, fold_begins) = mpsc::channel();
    let (synced, sync_comes) = mpsc::channel();
    let sync_comes = Mutex::new(sync_comes);
    let is_first = AtomicBool::new(true);
    let in_time = Arc::new(AtomicBool::new(false));
    let came = in_time.clone();
    disk.on_call(move |call| match (call.operation, call.name) {
        (Operation::Write, "tables.redb") if is_first.swap(false, Relaxed) => {
            folding.send(()).unwrap();
            let sync = sync_comes.lock().unwrap().recv_timeout(Duration::from_secs(20));
            came.store(sync.is_ok(), Relaxed);
        }
        (Operation::Sync, "log-0") => synced.send(()).unwrap(),
        _ => {}
    });
    std::thread::scope(|scope| {
        scope.spawn(|| while commit.fold() != Next::Again {});
        fold_begins.recv().unwrap();
        submit(&commit);
        while commit.counts().records < 2 {
            assert_eq!(commit.step(), Next::Again);
        }
    });
    assert!(
        in_time.load(Relaxed),
        "it was still not synced when the fold gave up waiting for that"
    );
    assert!(commit.state().unsynced.is_none());
}

#[test]
fn whoever_sleeps_until_something_is_submitted_is_woken_by_it() {
    let commit = commit(&SimDisk::new(1));
    assert_eq!(commit.step(), Next::Wait);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while commit.step() != Next::Again {
                commit.await_submission(None);
            }
        });
        submit(&commit);
    });
    assert_eq!(commit.counts().commits, 1);
}
