//! How a task waits, and who ends its wait: one word, claimed once.
//!
//! ```text
//!            begin
//!    FREE ----------> WAITING
//!      ^                 |
//!      +-----------------+
//!        claim, by one of those who can end the wait
//! ```
//!
//! A wait has a number, its epoch, which is in the word too. Whoever can end the wait (a channel, a
//! mutex, the task that is awaited) keeps the epoch with the task's handle, so that an entry that was
//! left behind claims nothing. Flags go with the state: TIMED, the wait has a timer; CANCELLED, the
//! task is asked to end and waits no more; DOOMED, it was claimed since its program is deadlocked.
//!
//! 1. `begin` belongs to the task, in its turn. Everybody may claim, the task itself too.
//! 2. A wait is claimed once. Whoever claims it delivers an outcome and wakes the task, in this order;
//!    a task that is woken by somebody else meanwhile finds no outcome, and waits on. It does not
//!    begin another wait before it has taken the outcome.
//! 3. What is delivered needs no lock: it belongs to whoever has claimed the wait from the claim to
//!    the delivery, and to the task from there to its next `begin`.
//! 4. WAITING and CANCELLED never hold together: whoever cancels a task that waits claims it in the
//!    same step, and a task that is cancelled does not begin to wait. So no cancellation is missed.
//!
//! Ordering: by rule 3 alone. `begin` releases, after the task has looked at the outcome of its last
//! wait, and a claim acquires: not everyone who claims has the epoch from under a lock. `deliver`
//! releases and `take` acquires, since the task may look before it is woken.

use std::sync::Arc;

use crate::{
    abi::Code,
    program::deadlock::Deadlock,
    sync::{
        UnsafeCell,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
};

/// The state: FREE if it is not set.
const WAITING: u64 = 1;

const TIMED: u64 = 1 << 1;
const CANCELLED: u64 = 1 << 2;
const DOOMED: u64 = 1 << 3;

/// One more wait, in the bits above the flags.
const EPOCH: u64 = 1 << 4;

/// A delivered message of more bytes leaves its memory behind only until it is taken.
const KEPT_MAX: usize = 256;

/// What a wait ended with.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// The call is answered with this code.
    Code(Code),
    /// The bytes of a message or a cell, which were left with the outcome.
    Bytes,
    /// What there is has so many bytes, and they do not fit.
    TooSmall(usize),
    /// The channel with this index is ready.
    Index(u32),
    /// The awaited task has returned this.
    Value(i64),
    /// It can never end.
    Deadlock(Arc<Deadlock>),
}

/// What whoever has claimed a wait must know about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim {
    /// The task has a timer, so it was counted as busy all the time.
    pub(crate) timed: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Wait {
    word: AtomicU64,
    /// Whether the outcome is there.
    delivered: AtomicBool,
    delivery: UnsafeCell<Delivery>,
}

// SAFETY: the delivery has one owner at a time, by rule 3, and `Outcome` may be sent.
unsafe impl Sync for Wait {}

#[derive(Debug, Default)]
struct Delivery {
    outcome: Option<Outcome>,
    /// Used again and again, so that a message is handed over without an allocation.
    bytes: Vec<u8>,
}

impl Wait {
    /// Begins to wait; the epoch of this wait. `None`: the task is cancelled.
    #[inline]
    pub(crate) fn begin(&self, timed: bool) -> Option<u64> {
        let timed = if timed { TIMED } else { 0 };
        let mut word = self.word.load(Relaxed);
        while word & CANCELLED == 0 {
            debug_assert_eq!(word & WAITING, 0, "a task that waits began to wait");
            let to = (word & !(EPOCH - 1)) + EPOCH + WAITING + timed;
            match self.word.compare_exchange_weak(word, to, Release, Relaxed) {
                Ok(_) => return Some(to / EPOCH),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Claims the wait with this epoch. `None`: it is over, or somebody else has claimed it.
    #[inline]
    pub(crate) fn claim(&self, epoch: u64) -> Option<Claim> {
        self.claim_if(|word| word / EPOCH == epoch, 0)
    }

    /// Claims whatever the task waits for, since it can never end: one with a timer can.
    pub(crate) fn doom(&self) -> Option<Claim> {
        self.claim_if(|word| word & TIMED == 0, DOOMED)
    }

    /// The task claims its own wait. `None`: somebody else has.
    pub(crate) fn claim_own(&self) -> Option<Claim> {
        self.claim_if(|_| true, 0)
    }

    #[inline]
    fn claim_if(&self, fits: impl Fn(u64) -> bool, flag: u64) -> Option<Claim> {
        let mut word = self.word.load(Relaxed);
        while word & WAITING != 0 && fits(word) {
            match self.word.compare_exchange_weak(word, word - WAITING + flag, Acquire, Relaxed) {
                Ok(_) => return Some(Claim { timed: word & TIMED != 0 }),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Asks the task to end. If it waits, its wait is claimed; the outcome is the caller's to deliver.
    pub(crate) fn cancel(&self) -> Option<Claim> {
        let mut word = self.word.load(Relaxed);
        loop {
            let to = (word | CANCELLED) & !WAITING;
            match self.word.compare_exchange_weak(word, to, Acquire, Relaxed) {
                Ok(_) if word & WAITING == 0 => return None,
                Ok(_) => return Some(Claim { timed: word & TIMED != 0 }),
                Err(now) => word = now,
            }
        }
    }

    /// Whether the wait is still there to be claimed.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.word.load(Relaxed) & WAITING != 0
    }

    /// Whether the wait with this epoch is still there to be claimed.
    pub(crate) fn waits(&self, epoch: u64) -> bool {
        let word = self.word.load(Relaxed);
        word & WAITING != 0 && word / EPOCH == epoch
    }

    #[inline]
    pub(crate) fn is_cancelled(&self) -> bool {
        self.word.load(Relaxed) & CANCELLED != 0
    }

    #[inline]
    pub(crate) fn is_doomed(&self) -> bool {
        self.word.load(Relaxed) & DOOMED != 0
    }

    /// Leaves the outcome for the task.
    ///
    /// # Safety
    /// The caller has claimed the wait, and has not delivered yet.
    #[inline(always)]
    pub(crate) unsafe fn deliver(&self, outcome: Outcome, bytes: &[u8]) {
        self.delivery.with_mut(|delivery| {
            // SAFETY: by rule 3 it is the caller's, who has claimed the wait.
            let delivery = unsafe { &mut *delivery };
            debug_assert!(delivery.outcome.is_none(), "a wait had two outcomes");
            delivery.bytes.extend_from_slice(bytes);
            delivery.outcome = Some(outcome);
        });
        self.delivered.store(true, Release);
    }

    /// Takes the outcome, and lets `user` have the bytes. `None`: it is on its way.
    ///
    /// # Safety
    /// The caller is the task, in its turn.
    #[inline]
    pub(crate) unsafe fn take<R>(&self, user: impl FnOnce(Outcome, &[u8]) -> R) -> Option<R> {
        if !self.delivered.load(Acquire) {
            return None;
        }
        self.delivered.store(false, Relaxed);
        self.delivery.with_mut(|delivery| {
            // SAFETY: by rule 3 it is the task's, which is the caller.
            let delivery = unsafe { &mut *delivery };
            let result = user(delivery.outcome.take()?, &delivery.bytes);
            delivery.bytes.clear();
            if delivery.bytes.capacity() > KEPT_MAX {
                delivery.bytes = Vec::new();
            }
            Some(result)
        })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
#[path = "wait_tests.rs"]
mod tests;

#[cfg(all(test, loom))]
#[path = "wait_models.rs"]
mod models;
