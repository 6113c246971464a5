//! A job's word: how many predecessors it waits for, and who is to be told of its end.
//!
//! ```text
//!    release      release          end
//!   n ------> … ---------> ready -------> DONE
//!        with POISONED or CANCELLED: it ends without having run
//! ```
//!
//! 1. A job is ready once, for whoever releases it as the last of its predecessors.
//! 2. It then sees all that its predecessors did.
//! 3. Whoever watches a job is told of its end, or learns from `watch` that it has ended, and then
//!    sees its outcome.
//! 4. A predecessor that failed poisons before it releases, so the last one knows.
//!
//! Ordering: `release` is a read-modify-write that releases what its caller did and acquires what
//! the others did: each prolongs the release sequences it finds, so the last sees them all. The
//! last of all needs no write, since nobody comes after it; it only acquires. `end` releases the
//! outcome; `is_done` and `watch` acquire it. A watcher enters itself into the table, under a lock,
//! before it sets WATCHED: whoever sees the flag finds the entry.

use crate::sync::atomic::{
    AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// Nothing more happens to the job.
const DONE: u32 = 1 << 31;
/// Somebody waits for its end, and stands in the batch's table.
const WATCHED: u32 = 1 << 30;
/// It is not to be run.
const CANCELLED: u32 = 1 << 29;
/// A predecessor failed, and the batch says that it is not to be run then.
const POISONED: u32 = 1 << 28;
/// Every release is written, since nobody could tell otherwise whether it is ready.
const EXACT: u32 = 1 << 27;

const COUNT: u32 = EXACT - 1;

/// After the end: how it ended, and whether its outcome was moved out.
const HOW: u32 = 3;
const TAKEN: u32 = 4;

#[derive(Debug)]
pub(crate) struct Word(AtomicU32);

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Ended {
    Completed,
    Failed,
    Cancelled,
    /// The pool stopped before.
    Stopped,
}

/// What the caller now owes the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a job that is ready and is not put in line never runs"]
pub(crate) enum Duty {
    /// Others will release it.
    Nothing,
    /// To put it in line.
    Run,
    /// To end it without having run it.
    Doom,
}

impl Word {
    pub(crate) fn new(predecessors: u32) -> Word {
        Word(AtomicU32::new(predecessors))
    }

    /// Before anybody else knows of it: one more predecessor.
    pub(crate) fn expect_one_more(&mut self) {
        let count = self.0.load(Relaxed);
        assert!(count < COUNT, "a batch with too many dependencies was let through");
        self.0 = AtomicU32::new(count + 1);
    }

    /// Before anybody else knows of it: counts exactly from now on.
    pub(crate) fn be_exact(&mut self) {
        self.0 = AtomicU32::new(self.0.load(Relaxed) | EXACT);
    }

    /// How many it waits for. Unless it counts exactly, the last of them is not taken off.
    pub(crate) fn count(&self) -> u32 {
        self.0.load(Relaxed) & COUNT
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.0.load(Relaxed) & EXACT != 0
    }

    /// A predecessor has ended.
    #[inline(always)]
    pub(crate) fn release(&self) -> Duty {
        let mut word = self.0.load(Acquire);
        if word & (COUNT | EXACT) != 1 {
            word = self.0.fetch_sub(1, AcqRel);
            if word & COUNT != 1 {
                return Duty::Nothing;
            }
        }
        if word & (CANCELLED | POISONED) == 0 { Duty::Run } else { Duty::Doom }
    }

    /// A predecessor has failed; the caller releases afterwards.
    pub(crate) fn poison(&self) {
        self.0.fetch_or(POISONED, Relaxed);
    }

    /// Asks that it is not run. False: it has ended.
    pub(crate) fn cancel(&self) -> bool {
        self.0.fetch_or(CANCELLED, Relaxed) & DONE == 0
    }

    /// Whether it was asked not to run. For whoever is about to run it.
    #[inline(always)]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.0.load(Relaxed) & CANCELLED != 0
    }

    /// Whether it was asked not to run, or a predecessor failed. For whoever is about to run it.
    #[inline(always)]
    pub(crate) fn is_doomed(&self) -> bool {
        self.0.load(Relaxed) & (CANCELLED | POISONED) != 0
    }

    /// Its outcome stands. True: there are watchers to be told.
    #[inline(always)]
    #[must_use = "watchers that are not told wait for ever"]
    pub(crate) fn end(&self, ended: Ended) -> bool {
        self.0.swap(DONE | ended as u32, Release) & WATCHED != 0
    }

    /// As `end`, of a job that nobody can watch or cancel.
    #[inline(always)]
    pub(crate) fn end_unwatched(&self, ended: Ended) {
        self.0.store(DONE | ended as u32, Release);
    }

    /// How it ended, if it has.
    #[inline]
    pub(crate) fn ended(&self) -> Option<Ended> {
        const ALL: [Ended; 4] = [Ended::Completed, Ended::Failed, Ended::Cancelled, Ended::Stopped];
        let word = self.0.load(Acquire);
        (word & DONE != 0).then(|| ALL[(word & HOW) as usize])
    }

    /// It has ended, and its outcome is moved out by the caller.
    pub(crate) fn take(&self) {
        self.0.fetch_or(TAKEN, Relaxed);
    }

    pub(crate) fn is_taken(&self) -> bool {
        self.0.load(Relaxed) & TAKEN != 0
    }

    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.0.load(Acquire) & DONE != 0
    }

    /// The caller stands in the table. True: too late, it has ended.
    pub(crate) fn watch(&self) -> bool {
        self.0.fetch_or(WATCHED, Acquire) & DONE != 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_last_release_makes_it_ready() {
        let word = Word::new(2);
        assert_eq!(word.release(), Duty::Nothing);
        assert_eq!(word.release(), Duty::Run);
    }

    #[test]
    fn poisoned_before_the_last_release_is_doomed() {
        let word = Word::new(2);
        word.poison();
        assert_eq!(word.release(), Duty::Nothing);
        assert_eq!(word.release(), Duty::Doom);
    }

    #[test]
    fn cancelled_while_it_waits_is_doomed() {
        let word = Word::new(1);
        assert!(word.cancel());
        assert_eq!(word.release(), Duty::Doom);
    }

    #[test]
    fn watched_before_the_end_is_told_and_after_it_learns() {
        let word = Word::new(1);
        assert!(!word.watch());
        assert!(word.end(Ended::Failed));
        assert_eq!(word.ended(), Some(Ended::Failed));
        assert!(word.watch());
        assert!(!word.cancel());
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::sync::UnsafeCell;
    use loom::{sync::Arc, thread};

    /// Invariants 1, 2 and 4: one of three predecessors makes it ready, sees what all of them
    /// wrote, and knows if one failed.
    #[test]
    fn the_last_predecessor_sees_what_the_others_did() {
        loom::model(|| {
            let word = Arc::new(Word::new(3));
            let cells = Arc::new([const { 0 }; 3].map(UnsafeCell::new));
            let predecessor = |at: usize, fails: bool| {
                let (word, cells) = (word.clone(), cells.clone());
                move || {
                    // SAFETY: each writes its own, before it releases.
                    cells[at].with_mut(|cell| unsafe { *cell = at + 1 });
                    if fails {
                        word.poison();
                    }
                    let duty = word.release();
                    if duty != Duty::Nothing {
                        assert_eq!(duty, Duty::Doom, "one of them failed");
                        for (at, cell) in cells.iter().enumerate() {
                            // SAFETY: all have released, and we are the last; the model checks it.
                            cell.with_mut(|cell| unsafe { assert_eq!(*cell, at + 1) });
                        }
                    }
                    duty
                }
            };
            let first = thread::spawn(predecessor(0, false));
            let second = thread::spawn(predecessor(1, true));
            let third = predecessor(2, false)();
            let duties = [first.join().unwrap(), second.join().unwrap(), third];
            assert_eq!(duties.iter().filter(|duty| **duty == Duty::Doom).count(), 1);
        });
    }

    /// Invariant 3.
    #[test]
    fn a_watcher_is_told_or_sees_the_outcome() {
        loom::model(|| {
            let word = Arc::new(Word::new(1));
            let outcome = Arc::new(UnsafeCell::new(0));
            let runner = thread::spawn({
                let (word, outcome) = (word.clone(), outcome.clone());
                move || {
                    // SAFETY: nobody reads it before the end.
                    outcome.with_mut(|outcome| unsafe { *outcome = 7 });
                    word.end(Ended::Completed)
                }
            });
            let late = word.watch();
            if late {
                // SAFETY: it has ended; the model checks it.
                outcome.with_mut(|outcome| unsafe { assert_eq!(*outcome, 7) });
            }
            assert!(runner.join().unwrap() != late, "told, or late, and not both");
        });
    }

    /// A job ends like this, and a poller that finds it so sees the outcome.
    fn the_outcome_is_seen(end: fn(&Word), is_over: fn(&Word) -> bool) {
        loom::model(move || {
            let word = Arc::new(Word::new(1));
            let outcome = Arc::new(UnsafeCell::new(0));
            let runner = thread::spawn({
                let (word, outcome) = (word.clone(), outcome.clone());
                move || {
                    // SAFETY: nobody reads it before the end.
                    outcome.with_mut(|outcome| unsafe { *outcome = 7 });
                    end(&word);
                }
            });
            if is_over(&word) {
                // SAFETY: it has ended; the model checks it.
                outcome.with_mut(|outcome| unsafe { assert_eq!(*outcome, 7) });
            }
            runner.join().unwrap();
        });
    }

    #[test]
    fn done_shows_the_outcome() {
        let end = |word: &Word| assert!(!word.end(Ended::Completed));
        the_outcome_is_seen(end, Word::is_done);
    }

    #[test]
    fn ended_unwatched_shows_the_outcome() {
        let end = |word: &Word| word.end_unwatched(Ended::Completed);
        the_outcome_is_seen(end, |word| word.ended() == Some(Ended::Completed));
    }
}
