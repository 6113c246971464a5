//! The state word of a strand: who may queue it, who may run it, and who frees it.
//!
//! ```text
//!            wake              pop               pause
//!    IDLE ----------> QUEUED ----------> RUNNING ----------> IDLE
//!      |                ^  |               |  |
//!      |                |  |     claim     |  |   end
//!      +----------------|--+-------------->+  +----------> DONE
//!            claim      |                  |
//!                       +------------------+
//!                   yield, or pause when WOKEN
//! ```
//!
//! Four flags go with the state. WOKEN: woken while RUNNING. LINKED: an entry for the strand is
//! in a queue, or in the hands of someone who must push or pop it. LATE: that entry's place is
//! older than the strand's turn in line. FILLED: whoever queued it leaves something in its open
//! part before pushing the entry. The bits above the flags count the strand's handles. A
//! `hold` and an `end` can give back some of the caller's with the same step.
//!
//! 1. At rest, LINKED if and only if exactly one entry exists, and QUEUED implies LINKED. So a
//!    strand never has more than one entry, however long two of them hand off to each other.
//! 2. The body is touched only from a pop or claim that says *run* to the end of that turn.
//! 3. A wake is seen by a turn that starts after it, or a turn is owed.
//! 4. The strand is freed once, by whoever makes the last of these end: its turn, its entry, its
//!    handles. All three are in the one word, so the step that ends the last one knows it.
//! 5. From a `fill` that says yes until its entry is pushed, no turn begins by a pop, since there
//!    is no entry to pop; and one that begins by a claim knows from FILLED that it must first
//!    see whether the filler is done. So the filler may write what only turns read.
//!
//! Ordering: there is a single word, so only what we promise the outside matters. A turn sees
//! whatever was written before each wake that asked for it, and by the turn before it. `wake`,
//! `pause` and `yield` release, `pop` and `claim` acquire, and every step is one
//! read-modify-write, also those that change nothing: each prolongs the release sequences that
//! it finds, so one acquire sees them all. A wake that only looked would release nothing, and
//! the turn it relies on could miss what it announces. `fill` acquires, to write after the turn
//! before has read; what it leaves reaches the next turn through the queue. For freeing, every step
//! that gives up a hold on the strand releases, and the one that frees acquires with a fence, as in
//! `Arc`. A `hold` that gives back handles only acquires: it takes the turn in their place, and
//! whoever has the turn releases at its end what was done by them. Nobody frees the strand before.

use crate::sync::atomic::{
    AtomicU64, Ordering,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};

const IDLE: u64 = 0;
const QUEUED: u64 = 1;
const RUNNING: u64 = 2;
const DONE: u64 = 3;
const STATE: u64 = 3;

const WOKEN: u64 = 1 << 2;
const LINKED: u64 = 1 << 3;
const LATE: u64 = 1 << 4;
const FILLED: u64 = 1 << 5;

/// One handle, in the bits above the flags.
const HANDLE: u64 = 1 << 6;

#[derive(Debug)]
pub(crate) struct State(AtomicU64);

/// What the caller of [`State::wake`] now owes the strand.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
#[must_use = "a strand that is owed a push and never gets it never runs again"]
pub(crate) enum Wake {
    Push,
    Nothing,
}

/// What a popped entry turned out to be.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
#[must_use = "an entry in hand stands for a turn, a push or a hold on the strand"]
pub(crate) enum Pop {
    /// Take the turn.
    Run,
    /// The entry was older than its strand's turn in line: push it at the back.
    Requeue,
    /// The strand had its turn by a claim: forget the entry.
    Stale,
    /// As `Stale`, and that was the last hold on the strand: free it.
    Free,
}

/// What came of naming a strand to run next.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
#[must_use = "a claimed strand is RUNNING until somebody ends its turn"]
pub(crate) enum Claim {
    /// Take the turn.
    Run,
    /// It runs elsewhere: the claim was a wake.
    Woken,
    /// It has ended.
    Done,
}

/// What came of claiming a strand now, to leave something in its open part.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
#[must_use = "a claimed strand is RUNNING until somebody ends its turn"]
pub(crate) enum Hold {
    /// Its turn is the caller's.
    Held,
    /// Its turn is the caller's, but someone else may still be filling it: see whether that one
    /// is done, or else `give_back`.
    Filled,
    /// It runs elsewhere or has ended; nothing was changed.
    Refused,
}

/// What the worker owes a strand whose turn it has just ended.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
#[must_use = "a strand that is owed a push and never gets it never runs again"]
pub(crate) enum Rest {
    /// Push it at the back.
    Push,
    Nothing,
    /// Nobody holds it any more: free it.
    Free,
}

/// What a strand is doing.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub enum Phase {
    /// It waits for a wake.
    Idle,
    /// It waits for its turn.
    Queued,
    /// It is in its turn, or was handed to and is next.
    Running,
    /// It has ended.
    Done,
}

impl State {
    /// An idle strand with `handles` handles.
    pub(crate) fn idle(handles: u64) -> State {
        State(AtomicU64::new(IDLE + handles * HANDLE))
    }

    /// A strand whose creator now pushes its first entry.
    pub(crate) fn queued(handles: u64) -> State {
        State(AtomicU64::new((QUEUED | LINKED) + handles * HANDLE))
    }

    /// Asks for a turn that sees all the caller has written so far.
    #[inline]
    pub(crate) fn wake(&self) -> Wake {
        self.step(|word| match word & STATE {
            IDLE if word & LINKED == 0 => (word + QUEUED + LINKED, Release, Wake::Push),
            IDLE => (word + QUEUED, Release, Wake::Nothing),
            RUNNING => (word | WOKEN, Release, Wake::Nothing),
            _ => (word, Release, Wake::Nothing),
        })
    }

    /// Decides what an entry in hand stands for.
    #[inline]
    pub(crate) fn pop(&self) -> Pop {
        let verdict = self.step(|word| {
            debug_assert!(word & LINKED != 0, "popped an entry of a strand that has none");
            match word & STATE {
                QUEUED if word & LATE != 0 => (word - LATE, Relaxed, Pop::Requeue),
                QUEUED => ((word & !FILLED) - QUEUED + RUNNING - LINKED, Acquire, Pop::Run),
                RUNNING => (word - LINKED, Release, Pop::Stale),
                _ if word < HANDLE => (word - LINKED, Relaxed, Pop::Free),
                _ => (word - LINKED, Release, Pop::Stale),
            }
        });
        self.acquire_if(verdict == Pop::Free);
        verdict
    }

    /// Queues an idle strand, to leave something in its open part before the entry is pushed. False:
    /// it is not idle, or somebody else has an entry of it; nothing was changed.
    #[inline]
    #[must_use = "a strand that is owed a push and never gets it never runs again"]
    pub(crate) fn fill(&self) -> bool {
        let mut word = self.0.load(Relaxed);
        while word & (STATE | LINKED) == IDLE {
            let to = word + QUEUED + LINKED + FILLED;
            match self.0.compare_exchange_weak(word, to, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Takes the turn of a strand that is idle or queued, to leave something in its open part. If it is
    /// `Held`, so many handles of the caller's are given back with the same step.
    #[inline]
    pub(crate) fn hold(&self, handles: u64) -> Hold {
        let mut word = self.0.load(Relaxed);
        while matches!(word & STATE, IDLE | QUEUED) {
            let given_back = if word & FILLED == 0 { handles * HANDLE } else { 0 };
            debug_assert!(word >= given_back, "gave back handles that were not counted");
            let to = (word & !(STATE | LATE)) + RUNNING - given_back;
            match self.0.compare_exchange_weak(word, to, Acquire, Relaxed) {
                Ok(_) if word & FILLED != 0 => return Hold::Filled,
                Ok(_) => return Hold::Held,
                Err(now) => word = now,
            }
        }
        Hold::Refused
    }

    /// Gives back what `hold` took while somebody else fills it. That one's entry is its place in
    /// line, unless it has come and gone meanwhile.
    #[cold]
    pub(crate) fn give_back(&self) -> Rest {
        self.step(|word| {
            debug_assert!(word & FILLED != 0, "gave back a strand that nobody fills");
            // Nothing was touched meanwhile, so there is nothing to release.
            if word & LINKED == 0 {
                let (to, rest) = to_the_back(word);
                return (to, Relaxed, rest);
            }
            ((word & !WOKEN) - RUNNING + QUEUED, Relaxed, Rest::Nothing)
        })
    }

    /// Takes the turn of a strand that was named to run next.
    #[inline]
    pub(crate) fn claim(&self) -> Claim {
        self.step(|word| match word & STATE {
            QUEUED if word & FILLED != 0 => (word, Release, Claim::Woken),
            IDLE | QUEUED => ((word & !(STATE | LATE)) + RUNNING, Acquire, Claim::Run),
            RUNNING => (word | WOKEN, Release, Claim::Woken),
            _ => (word, Relaxed, Claim::Done),
        })
    }

    /// Ends a turn; the strand waits for its next wake.
    #[inline]
    pub(crate) fn pause(&self) -> Rest {
        self.end_turn(|word| {
            if word & WOKEN != 0 {
                return to_the_back(word);
            }
            let rest = if word & LINKED == 0 && word < HANDLE { Rest::Free } else { Rest::Nothing };
            ((word & !FILLED) - RUNNING + IDLE, rest)
        })
    }

    /// Ends a turn, or gives back a claim; the strand goes to the back of the line.
    #[inline]
    pub(crate) fn requeue(&self) -> Rest {
        self.end_turn(to_the_back)
    }

    /// Whether the turn and so many handles, all of them the caller's, are the only holds on the
    /// strand. Then nobody else can get one any more, unless from a place where the caller has left
    /// one of these.
    #[inline]
    pub(crate) fn is_sole(&self, handles: u64) -> bool {
        self.0.load(Acquire) == RUNNING + handles * HANDLE
    }

    /// Ends the last turn, and counts so many handles less. The caller has dropped the body.
    #[inline]
    pub(crate) fn end(&self, handles: u64) -> Rest {
        // Whoever gives back handles has no joiner, who would look at the word without one.
        if handles > 0 && self.is_sole(handles) {
            return Rest::Free;
        }
        self.end_turn(|word| {
            debug_assert!(word / HANDLE >= handles, "gave back handles that were not counted");
            let word = word - handles * HANDLE;
            let rest = if word & LINKED == 0 && word < HANDLE { Rest::Free } else { Rest::Nothing };
            ((word & !(WOKEN | FILLED)) - RUNNING + DONE, rest)
        })
    }

    /// Counts one more handle.
    #[inline]
    pub(crate) fn retain(&self) {
        self.retain_many(1);
    }

    /// Counts so many more handles.
    #[inline]
    pub(crate) fn retain_many(&self, handles: u64) {
        // As in `Arc`: the new handle comes from one that exists, which keeps the strand alive.
        let word = self.0.fetch_add(handles * HANDLE, Relaxed);
        assert!(word < u64::MAX / 2, "too many handles of one strand");
    }

    /// Counts one more handle, unless nobody holds the strand any more and it is being freed.
    pub(crate) fn try_retain(&self) -> bool {
        self.step(|word| {
            let held = word >= HANDLE || word & LINKED != 0;
            match word & STATE {
                IDLE | DONE if !held => (word, Relaxed, false),
                _ => (word + HANDLE, Relaxed, true),
            }
        })
    }

    /// Counts one handle less. True: that was the last hold on the strand, free it.
    #[inline]
    #[must_use = "a strand that nobody holds must be freed"]
    pub(crate) fn release(&self) -> bool {
        let word = self.0.fetch_sub(HANDLE, Release);
        debug_assert!(word >= HANDLE, "released a handle that was not counted");
        let last = word < 2 * HANDLE && word & LINKED == 0 && matches!(word & STATE, IDLE | DONE);
        self.acquire_if(last);
        last
    }

    /// Counts so many handles less. The caller keeps at least one, which releases for all.
    pub(crate) fn release_many(&self, handles: u64) {
        let word = self.0.fetch_sub(handles * HANDLE, Relaxed);
        debug_assert!(word / HANDLE > handles, "released handles that were not counted");
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.0.load(Relaxed) & STATE {
            IDLE => Phase::Idle,
            QUEUED => Phase::Queued,
            RUNNING => Phase::Running,
            _ => Phase::Done,
        }
    }

    #[inline]
    fn end_turn(&self, next: impl Fn(u64) -> (u64, Rest)) -> Rest {
        let rest = self.step(|word| {
            assert_eq!(word & STATE, RUNNING, "ended the turn of a strand that has none");
            let (to, rest) = next(word);
            (to, Release, rest)
        });
        self.acquire_if(rest == Rest::Free);
        rest
    }

    /// Before freeing: see what all who gave up their hold did before.
    #[inline]
    fn acquire_if(&self, last: bool) {
        if last {
            fence(Acquire);
        }
    }

    /// Moves the word to where `next` says, in one read-modify-write of the order it says.
    #[inline]
    fn step<V>(&self, next: impl Fn(u64) -> (u64, Ordering, V)) -> V {
        let mut word = self.0.load(Relaxed);
        loop {
            let (to, order, verdict) = next(word);
            match self.0.compare_exchange_weak(word, to, order, Relaxed) {
                Ok(_) => return verdict,
                Err(now) => word = now,
            }
        }
    }
}

/// RUNNING to QUEUED: a new entry at the back, or the old one marked LATE.
fn to_the_back(word: u64) -> (u64, Rest) {
    let queued = (word & !(WOKEN | FILLED)) - RUNNING + QUEUED;
    if word & LINKED == 0 { (queued | LINKED, Rest::Push) } else { (queued | LATE, Rest::Nothing) }
}

#[cfg(all(test, not(any(loom, shuttle))))]
#[path = "state_tests.rs"]
mod tests;

#[cfg(all(test, loom))]
#[path = "state_models.rs"]
mod models;
