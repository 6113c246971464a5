//! How many tasks there are, how many of them can go on, and who notices that none can.
//!
//! ```text
//!   63        62.......31   30.......0
//!   WATCHED   live          busy
//! ```
//!
//! *Live* are the tasks that have not ended. *Busy* is everyone who could end somebody's wait: the
//! live tasks that run, are in line or have a timer, and callers from outside while they are inside
//! one of our functions. A task that waits without a timer is live and not busy. WATCHED: somebody
//! waits for all tasks to end.
//!
//! 1. Who ends a wait is counted as busy itself, and counts the one it is about to claim before it
//!    does: a task that is claimed may end at once, and takes itself out of the count.
//! 2. A task leaves the busy ones when it is registered with all that it waits for. If it was claimed
//!    before it leaves, it is counted twice for a moment.
//! 3. So at 0 busy nobody can be claimed, except by someone who comes from outside and counts first:
//!    with live tasks left that is a deadlock. One of those who see it takes charge of it.
//!
//! Ordering: there is a single word, so what matters is what we promise the outside. Who takes charge
//! sees what each task has noted about its wait, and who sees that all have ended sees their results:
//! to leave releases, to take charge and to see the end acquire, and every step between is a
//! read-modify-write, which prolongs the release sequences that it finds.

use crate::{
    sync::atomic::{
        AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
    task::wait::Claim,
};

const BUSY: u64 = 1;
const LIVE: u64 = 1 << 31;
const WATCHED: u64 = 1 << 63;
const MASK: u64 = LIVE - 1;

/// More tasks than these can not be counted: at times one counts twice.
pub(crate) const TASKS_MAX: usize = 1 << 29;

#[derive(Debug)]
pub(crate) struct Counts(AtomicU64);

/// What the caller of a step has brought about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "whoever waits for all tasks is told by the one who brought it about"]
pub(crate) enum Verdict {
    GoesOn,
    /// No task is left.
    Finished,
    /// Tasks are left, none can go on, and somebody waits for them.
    Stuck,
}

fn live(word: u64) -> u64 {
    (word / LIVE) & MASK
}

fn verdict(word: u64) -> Verdict {
    match (live(word), word & MASK) {
        (0, _) => Verdict::Finished,
        (_, 0) if word & WATCHED != 0 => Verdict::Stuck,
        _ => Verdict::GoesOn,
    }
}

impl Counts {
    pub(crate) fn new() -> Counts {
        Counts(AtomicU64::new(0))
    }

    /// Counts a new task, live and busy; `None` if there are `limit` already. How many there are.
    pub(crate) fn add(&self, limit: usize) -> Option<usize> {
        let mut word = self.0.load(Relaxed);
        loop {
            let live = live(word) as usize;
            if live >= limit {
                return None;
            }
            match self.0.compare_exchange_weak(word, word + LIVE + BUSY, Relaxed, Relaxed) {
                Ok(_) => return Some(live + 1),
                Err(now) => word = now,
            }
        }
    }

    /// A task has ended, or was not made after all.
    pub(crate) fn end(&self) -> Verdict {
        let was = self.0.fetch_sub(LIVE + BUSY, Release);
        debug_assert!(was & MASK > 0 && live(was) > 0, "ended a task that was not counted");
        verdict(was - LIVE - BUSY)
    }

    /// Counts one more as busy: somebody who was claimed, or who comes from outside.
    #[inline]
    pub(crate) fn enter(&self) {
        self.0.fetch_add(BUSY, Relaxed);
    }

    /// Claims a wait, and counts whose it is as busy if they were not. The caller is busy itself, or
    /// claims its own wait.
    #[inline]
    pub(crate) fn claim(&self, claim: impl FnOnce() -> Option<Claim>) -> Option<Claim> {
        self.enter();
        let claim = claim();
        if claim.is_none_or(|claim| claim.timed) {
            // There was nobody, or they are counted for their timer.
            let verdict = self.leave();
            debug_assert_eq!(verdict, Verdict::GoesOn, "who claims is not counted");
        }
        claim
    }

    /// Counts one less: it waits from now on, or goes back outside.
    #[inline]
    pub(crate) fn leave(&self) -> Verdict {
        let was = self.0.fetch_sub(BUSY, Release);
        debug_assert!(was & MASK > 0, "left without having been counted");
        match verdict(was - BUSY) {
            // That was the word of whoever ended last.
            Verdict::Finished => Verdict::GoesOn,
            verdict => verdict,
        }
    }

    /// From now on somebody waits for all tasks.
    pub(crate) fn watch(&self) -> Verdict {
        verdict(self.0.fetch_or(WATCHED, Relaxed) | WATCHED)
    }

    /// Nobody waits for all tasks any more.
    pub(crate) fn unwatch(&self) {
        self.0.fetch_and(!WATCHED, Relaxed);
    }

    /// If the program is still stuck, the caller is counted as busy, and deals with it. One does.
    #[must_use = "who takes charge is counted as busy"]
    pub(crate) fn take_charge(&self) -> bool {
        let mut word = self.0.load(Relaxed);
        while verdict(word) == Verdict::Stuck {
            match self.0.compare_exchange_weak(word, word + BUSY, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Whether no task is left.
    pub(crate) fn is_finished(&self) -> bool {
        live(self.0.load(Acquire)) == 0
    }

    pub(crate) fn live(&self) -> usize {
        live(self.0.load(Relaxed)) as usize
    }

    #[cfg(test)]
    pub(crate) fn busy(&self) -> usize {
        (self.0.load(Relaxed) & MASK) as usize
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn all_wait_and_somebody_watches_then_one_takes_charge() {
        let counts = Counts::new();
        assert_eq!(counts.watch(), Verdict::Finished);
        assert_eq!((counts.add(2), counts.add(2), counts.add(2)), (Some(1), Some(2), None));
        assert_eq!(counts.leave(), Verdict::GoesOn);
        assert_eq!(counts.leave(), Verdict::Stuck);
        assert!(counts.take_charge());
        assert!(!counts.take_charge(), "somebody deals with it");
    }

    #[test]
    fn all_wait_and_nobody_watches_then_the_watcher_finds_them() {
        let counts = Counts::new();
        counts.add(1);
        assert_eq!(counts.leave(), Verdict::GoesOn);
        assert!(!counts.take_charge());
        assert_eq!(counts.watch(), Verdict::Stuck);
        counts.unwatch();
        assert!(!counts.take_charge());
    }

    #[test]
    fn the_last_to_end_finishes() {
        let counts = Counts::new();
        counts.add(2);
        counts.add(2);
        assert_eq!(counts.end(), Verdict::GoesOn);
        counts.enter();
        assert_eq!(counts.end(), Verdict::Finished);
        assert!(counts.is_finished());
        assert_eq!(counts.leave(), Verdict::GoesOn);
    }
}
