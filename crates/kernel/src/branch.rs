//! A branch of a turn: work that another worker may take while the turn goes on with the rest.
//!
//! [`Turn::join`] keeps the branch in its own frame on the stack, and puts an entry that points
//! to it on its worker's deque. Then it does the other half of the work, and takes the entry back.
//! If somebody else was faster, it waits for the branch's latch.
//!
//! ```text
//!                 finish (the thief has run it)
//!   OPEN ------------------------------------------> DONE
//!     |           give back (its entry was dropped)
//!     +--------------------------------------------> RETURNED
//! ```
//!
//! ASLEEP is set beside OPEN by a joiner that is about to park: whoever settles the branch then
//! brings it out.
//!
//! 1. *One has it.* A branch has one entry, which never leaves the deque of its joiner but into the
//!    hands of whoever runs or drops it: thieves put no branch on a deque of theirs, and none joins
//!    a line. Who has the entry in hand has the body; the joiner has it back once it has taken the
//!    entry, or the latch is RETURNED.
//! 2. *The frame outlives the entry.* The joiner does not leave the frame, not even by a panic,
//!    before it has the entry or the latch is settled. Settling is the last that anybody else does
//!    to the frame; what is needed to bring the joiner out is taken from it before.
//! 3. *No joiner sleeps for ever.* To sleep, it sets ASLEEP, which fails once the latch is settled;
//!    who settles it after that sees the flag. Then it takes the joiner off the stack of parked
//!    workers, and unparks it: a joiner that goes on that stack later looks at the latch
//!    once more, and one lock orders the two.
//! 4. *Joiners do not wait for each other in a ring.* A worker starts a branch only after it was
//!    forked, and whatever it forks or waits for on top of it comes later still. So along a chain of
//!    waiting the time of forking grows, and the last of them waits for one who works.
//!
//! Ordering: to settle releases, to look acquires. So the joiner sees the result, and all that the
//! branch has done; and whoever gave it back has read all that it needs of the frame. That the thief
//! sees the body whole is the deque's promise.

use std::{mem::MaybeUninit, sync::Arc};

use crate::{
    panics::{self, Payload},
    strand::StrandRef,
    sync::{
        UnsafeCell,
        atomic::{
            AtomicU8,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    turn::Turn,
    worker::Worker,
};

const OPEN: u8 = 0;
const DONE: u8 = 1;
const RETURNED: u8 = 2;
const ASLEEP: u8 = 4;

/// How far a branch is that its joiner does not have any more.
pub(crate) struct Latch(AtomicU8);

/// What became of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a branch that was given back is still to be run"]
pub(crate) enum Settled {
    /// It has run, and its result is there.
    Done,
    /// Nobody will run it but its joiner.
    Returned,
}

impl Latch {
    fn new() -> Latch {
        Latch(AtomicU8::new(OPEN))
    }

    /// For the joiner: whether the branch is settled, and how.
    pub(crate) fn look(&self) -> Option<Settled> {
        match self.0.load(Acquire) & !ASLEEP {
            OPEN => None,
            DONE => Some(Settled::Done),
            _ => Some(Settled::Returned),
        }
    }

    /// For the joiner, before it parks. False: the branch is settled.
    #[must_use = "who parks beside a settled branch is not brought out"]
    pub(crate) fn fall_asleep(&self) -> bool {
        self.0.fetch_or(ASLEEP, Relaxed) & !ASLEEP == OPEN
    }

    /// For whoever has the entry. `bell` is asked for while the joiner waits, and rung if it
    /// sleeps.
    ///
    /// # Safety
    /// The caller has the branch's entry in hand. Its frame may be gone when this returns.
    unsafe fn settle<B: FnOnce()>(latch: *const Latch, how: u8, bell: impl Fn() -> B) {
        // SAFETY: by rule 2 the frame is there until the step below succeeds.
        let word = unsafe { &(*latch).0 };
        let mut was = word.load(Relaxed);
        loop {
            let bell = (was & ASLEEP != 0).then(&bell);
            match word.compare_exchange(was, was | how, Release, Relaxed) {
                Ok(_) => {
                    if let Some(bell) = bell {
                        bell();
                    }
                    return;
                }
                Err(now) => was = now,
            }
        }
    }
}

/// What is known of a branch without its types.
#[repr(C)]
pub(crate) struct Head {
    run: unsafe fn(*const Head, &mut Turn<'_>),
    latch: Latch,
    /// The joiner's.
    worker: *const Worker,
    /// Whose turn it belongs to.
    strand: Option<StrandRef>,
}

impl Head {
    /// Runs a branch, on another worker than its joiner's or on the same one.
    ///
    /// # Safety
    /// The caller has the branch's entry in hand, which is used up.
    pub(crate) unsafe fn run(head: *const Head, turn: &mut Turn<'_>) {
        // SAFETY: the frame is there as long as we have the entry (2).
        unsafe { ((*head).run)(head, turn) }
    }

    /// The entry is dropped: the joiner runs the branch itself.
    ///
    /// # Safety
    /// As for `run`.
    pub(crate) unsafe fn give_back(head: *const Head) {
        // SAFETY: as in `run`.
        unsafe { Head::settle(head, RETURNED) };
    }

    /// # Safety
    /// As for `run`; the frame may be gone when this returns.
    unsafe fn settle(head: *const Head, how: u8) {
        // Taken while the frame, and so the joiner's worker, is there.
        let bell = || {
            // SAFETY: as above; of another's worker only what never changes is touched.
            let (shared, id) = unsafe {
                let worker = (*head).worker;
                (Arc::clone(&(*worker).shared), (*worker).id)
            };
            move || shared.bring_out(id)
        };
        // SAFETY: by the caller's promise.
        unsafe { Latch::settle(&raw const (*head).latch, how, bell) };
    }
}

/// A branch, in the frame of its joiner. The body stays where the joiner has it: a copy of a closure
/// that was just made stalls the processor (see [`crate::entry`]).
#[repr(C)]
pub(crate) struct Branch<B, R> {
    head: Head,
    body: *const B,
    result: UnsafeCell<MaybeUninit<Result<R, Payload>>>,
}

impl<B, R> Branch<B, R>
where
    B: FnOnce(&mut Turn<'_>) -> R + Send,
    R: Send,
{
    #[inline(always)]
    pub(crate) fn new(worker: &Worker, strand: Option<StrandRef>, body: *const B) -> Branch<B, R> {
        let head = Head { run: run::<B, R>, latch: Latch::new(), worker, strand };
        Branch { head, body, result: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    #[inline(always)]
    pub(crate) fn head(&self) -> *const Head {
        (&raw const *self).cast()
    }

    pub(crate) fn latch(&self) -> &Latch {
        &self.head.latch
    }

    /// Takes the result out.
    ///
    /// # Safety
    /// The latch is DONE, and the result is taken once.
    pub(crate) unsafe fn result(&self) -> Result<R, Payload> {
        // SAFETY: by the caller's promise; it was written before the latch was settled.
        self.result.with_mut(|result| unsafe { (*result).assume_init_read() })
    }
}

/// # Safety
/// As for [`Head::run`]; `head` is that of a `Branch<B, R>`.
unsafe fn run<B, R>(head: *const Head, turn: &mut Turn<'_>)
where
    B: FnOnce(&mut Turn<'_>) -> R + Send,
    R: Send,
{
    // SAFETY: the head comes first, and the frame is there until we settle (2).
    let branch = unsafe { &*head.cast::<Branch<B, R>>() };
    // SAFETY: we have the entry, so the body is ours (1).
    let body = unsafe { branch.body.read() };
    let result = turn.lend_to(branch.head.strand, |turn| panics::catch(|| body(turn)));
    branch.result.with_mut(|to| {
        // SAFETY: the result is ours until we settle.
        unsafe { (*to).as_mut_ptr().write(result) };
    });
    // SAFETY: the entry is still ours, and nothing of the frame is used afterwards.
    unsafe { Head::settle(head, DONE) };
}

#[cfg(all(test, loom))]
#[path = "branch_models.rs"]
mod models;
