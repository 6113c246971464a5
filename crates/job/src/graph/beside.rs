//! What a batch seldom needs: made when it is, and looked at under a lock.
//!
//! ```text
//!   nothing ------> SIDE          somebody waits, a job has failed, there are timers
//!      | end         | end
//!      v             v
//!    ENDED ------> SIDE | ENDED
//! ```
//!
//! One word says both whether the batch has ended and where its side is, so that for most batches
//! the end is one step, and there is nothing to lock.
//!
//! 1. Whoever finds that the batch has not ended, while it holds the lock of the side, keeps its
//!    last job from ending: [`end`](Beside::end) returns the side, whose lock that job then takes.
//! 2. What is entered into the side by whoever finds so is found by the last job.
//!
//! Ordering: whoever makes a side releases it, and whoever finds it acquires, also the last job with
//! the step by which it ends the batch. That step releases too: whoever sees the end sees what the
//! jobs have done.

use std::ptr;

use kernel::Timer;

use crate::{
    about::Kept,
    graph::watch::Watchers,
    sync::{
        Mutex,
        atomic::{
            AtomicPtr,
            Ordering::{AcqRel, Acquire, Relaxed, Release},
        },
    },
};

/// In the address, which is even.
const ENDED: usize = 1;

pub(super) struct Beside(AtomicPtr<Mutex<Side>>);

#[derive(Default)]
pub(super) struct Side {
    pub(super) watchers: Watchers,
    pub(super) timers: Vec<Timer>,
    /// What is said about a job that was submitted alone, where that is needed after its start.
    pub(super) kept: Option<Kept>,
    /// How long others ran inside of the turn of a job that was submitted alone.
    pub(super) inside: u64,
}

impl Beside {
    #[inline]
    pub(super) fn new() -> Beside {
        Beside(AtomicPtr::new(ptr::null_mut()))
    }

    #[inline]
    pub(super) fn has_ended(&self) -> bool {
        self.0.load(Acquire).addr() & ENDED != 0
    }

    /// The side, if there is one.
    #[inline]
    pub(super) fn get(&self) -> Option<&Mutex<Side>> {
        // SAFETY: it stays until we are dropped.
        unsafe { side_of(self.0.load(Acquire)).as_ref() }
    }

    /// The side, made now if there is none.
    pub(super) fn open(&self) -> &Mutex<Side> {
        self.get().unwrap_or_else(|| self.make())
    }

    #[cold]
    fn make(&self) -> &Mutex<Side> {
        let new: *mut Mutex<Side> = Box::into_raw(Box::default());
        // Only a guess: whoever finds a side has failed at the exchange, and acquires there.
        let mut word = ptr::null_mut();
        while side_of(word).is_null() {
            let with_side = new.map_addr(|address| address | word.addr() & ENDED);
            match self.0.compare_exchange(word, with_side, Release, Acquire) {
                // SAFETY: it stays until we are dropped.
                Ok(_) => return unsafe { &*new },
                Err(now) => word = now,
            }
        }
        // SAFETY: we have made it, and nobody else knows of it.
        drop(unsafe { Box::from_raw(new) });
        // SAFETY: it stays until we are dropped.
        unsafe { &*side_of(word) }
    }

    /// The batch has ended. Returns the side, if there is one: its lock is to be taken before
    /// anything goes that others may look at.
    #[inline]
    #[must_use = "somebody may still look"]
    pub(super) fn end(&self) -> Option<&Mutex<Side>> {
        let mut word = self.0.load(Relaxed);
        loop {
            let ended = word.map_addr(|address| address | ENDED);
            match self.0.compare_exchange_weak(word, ended, AcqRel, Relaxed) {
                // SAFETY: it stays until we are dropped.
                Ok(_) => return unsafe { side_of(word).as_ref() },
                Err(now) => word = now,
            }
        }
    }
}

#[inline]
fn side_of(word: *mut Mutex<Side>) -> *mut Mutex<Side> {
    word.map_addr(|address| address & !ENDED)
}

impl Drop for Beside {
    #[inline]
    fn drop(&mut self) {
        // Whoever has the last reference has heard of all that others did with theirs.
        let side = side_of(self.0.load(Relaxed));
        if !side.is_null() {
            // SAFETY: `make` leaked such a box, and nobody else is left.
            drop(unsafe { Box::from_raw(side) });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn side_made_before_the_end_is_returned_by_it_and_stays() {
        let beside = Beside::new();
        assert!(beside.get().is_none());
        beside.open().lock().kept = Some(Kept::default());
        assert!(!beside.has_ended());
        assert!(beside.end().is_some_and(|side| side.lock().kept.is_some()));
        assert!(beside.has_ended());
        assert!(beside.open().lock().kept.is_some());
    }

    #[test]
    fn side_made_after_the_end_leaves_it_ended() {
        let beside = Beside::new();
        assert!(beside.end().is_none());
        assert!(beside.open().lock().kept.is_none());
        assert!(beside.has_ended());
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::sync::UnsafeCell;
    use loom::{sync::Arc, thread};

    /// Invariant 1: what goes after the end is not looked at any more.
    #[test]
    fn whoever_looks_before_the_end_is_waited_for() {
        loom::model(|| {
            let both = Arc::new((Beside::new(), UnsafeCell::new(1)));
            let looker = thread::spawn({
                let both = both.clone();
                move || {
                    let (beside, pool) = &*both;
                    let side = beside.open().lock();
                    if !beside.has_ended() {
                        // SAFETY: it has not ended; the model checks it.
                        pool.with(|pool| unsafe { assert_eq!(*pool, 1) });
                    }
                    drop(side);
                }
            });
            let (beside, pool) = &*both;
            if let Some(side) = beside.end() {
                drop(side.lock());
            }
            // SAFETY: it has ended, and nobody looks any more; the model checks it.
            pool.with_mut(|pool| unsafe { *pool = 0 });
            looker.join().unwrap();
        });
    }

    /// Invariant 2, and a side is one whoever makes it.
    #[test]
    fn sides_made_by_two_at_once_are_the_same() {
        loom::model(|| {
            let beside = Arc::new(Beside::new());
            let enter = |beside: &Beside| {
                let mut side = beside.open().lock();
                let sooner = side.kept.is_some();
                side.kept = Some(Kept::default());
                sooner
            };
            let other = thread::spawn({
                let beside = beside.clone();
                move || enter(&beside)
            });
            let sooner = enter(&beside);
            assert!(other.join().unwrap() != sooner, "one of them was the first");
        });
    }

    /// What is entered before the end is found by whoever ends it.
    #[test]
    fn entered_before_the_end_is_found_by_it() {
        loom::model(|| {
            let beside = Arc::new(Beside::new());
            let other = thread::spawn({
                let beside = beside.clone();
                move || {
                    let mut side = beside.open().lock();
                    let enters = !beside.has_ended();
                    if enters {
                        side.kept = Some(Kept::default());
                    }
                    enters
                }
            });
            let found = beside.end().is_some_and(|side| side.lock().kept.is_some());
            assert_eq!(other.join().unwrap(), found);
        });
    }

    /// A side is whole for one who only looks whether there is one.
    #[test]
    fn side_that_is_found_is_whole() {
        loom::model(|| {
            let beside = Arc::new(Beside::new());
            let other = thread::spawn({
                let beside = beside.clone();
                move || drop(beside.open().lock())
            });
            // By itself loom would not let the other go first.
            thread::yield_now();
            if let Some(side) = beside.get() {
                drop(side.lock());
            }
            other.join().unwrap();
        });
    }

    /// Whoever sees the end sees what the jobs have done.
    #[test]
    fn end_that_is_seen_shows_what_the_jobs_did() {
        loom::model(|| {
            let both = Arc::new((Beside::new(), UnsafeCell::new(0)));
            let last = thread::spawn({
                let both = both.clone();
                move || {
                    let (beside, outcome) = &*both;
                    // SAFETY: nobody reads it before the end.
                    outcome.with_mut(|outcome| unsafe { *outcome = 7 });
                    assert!(beside.end().is_none());
                }
            });
            let (beside, outcome) = &*both;
            // By itself loom would not let the other go first.
            thread::yield_now();
            if beside.has_ended() {
                // SAFETY: it has ended; the model checks it.
                outcome.with(|outcome| unsafe { assert_eq!(*outcome, 7) });
            }
            last.join().unwrap();
        });
    }
}
