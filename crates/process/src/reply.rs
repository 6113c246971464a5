//! Where a reply waits for its caller, and how each side hears that the other is gone.
//!
//! ```text
//!             send                    read
//!   WAITING --------> REPLIED ----------------------> (value taken)
//!    ^  |  \   drop
//!    |  |   +-------> DROPPED       caller leaves: GONE from any of these
//!    v  |
//!   CHANGING  the caller is exchanging its waker
//! ```
//!
//! 1. The value is written by the one reply before REPLIED, and read by the one caller after it.
//! 2. The waker is the caller's before the request is sent and in CHANGING, and else belongs to
//!    whoever leaves WAITING. Who finds CHANGING wakes nobody: the caller sees it by itself.
//!
//! Ordering: the value is released with REPLIED, and acquired by the look that sees it. A waker is
//! released with the step back to WAITING, and acquired by the step that leaves it for good. The
//! rest is kept by the count of the cell's owners.

use std::{fmt, sync::Arc, task::Waker};

use crate::sync::{
    UnsafeCell,
    atomic::{
        AtomicU8,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
};

const WAITING: u8 = 0;
const CHANGING: u8 = 1;
const REPLIED: u8 = 2;
const DROPPED: u8 = 3;
const GONE: u8 = 4;

struct Cell<R> {
    state: AtomicU8,
    waker: UnsafeCell<Option<Waker>>,
    value: UnsafeCell<Option<R>>,
}

// SAFETY: value and waker are each touched by one side at a time, by rules 1 and 2.
unsafe impl<R: Send> Send for Cell<R> {}
// SAFETY: as above.
unsafe impl<R: Send> Sync for Cell<R> {}

/// The right to answer a call, once. Dropping it tells the caller that there is no reply.
#[must_use = "a reply that is dropped tells the caller that there is none"]
pub struct Reply<R>(Option<Arc<Cell<R>>>);

/// A reply that nobody waits for any more: the caller gave up, or is gone. The value comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LateReply<R>(pub R);

impl<R> fmt::Display for LateReply<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the reply came too late: nobody waits for it any more")
    }
}

impl<R: fmt::Debug> std::error::Error for LateReply<R> {}

/// The caller's side.
pub(crate) struct Waiting<R>(Arc<Cell<R>>);

/// What the caller sees.
pub(crate) enum Seen<R> {
    Nothing,
    Value(R),
    Dropped,
}

pub(crate) fn pair<R>(waker: Waker) -> (Reply<R>, Waiting<R>) {
    let cell = Arc::new(Cell {
        state: AtomicU8::new(WAITING),
        waker: UnsafeCell::new(Some(waker)),
        value: UnsafeCell::new(None),
    });
    (Reply(Some(cell.clone())), Waiting(cell))
}

impl<R> Cell<R> {
    /// The end of the replier's side.
    fn finish(&self, state: u8) -> u8 {
        let mut was = WAITING;
        while let Err(now) = self.state.compare_exchange(was, state, AcqRel, Relaxed) {
            if now == GONE {
                return GONE;
            }
            was = now;
        }
        if was == WAITING {
            // SAFETY: we have left WAITING, so the waker is ours (rule 2).
            let waker = self.waker.with_mut(|waker| unsafe { (*waker).take() });
            if let Some(waker) = waker {
                // If both share a worker, the caller runs next and no queue is touched.
                kernel::hand_off_to(waker);
            }
        }
        was
    }
}

impl<R: Send> Reply<R> {
    /// Answers the call, once: a second reply does not compile.
    ///
    /// ```compile_fail,E0382
    /// fn answer(reply: process::Reply<u32>) {
    ///     let _ = reply.send(1);
    ///     let _ = reply.send(2);
    /// }
    /// ```
    ///
    /// # Errors
    /// The value, if nobody waits for it any more.
    pub fn send(mut self, value: R) -> Result<(), LateReply<R>> {
        let cell = self.0.take().expect("a reply is there until it is sent");
        // SAFETY: the only reply writes it, before REPLIED (rule 1).
        cell.value.with_mut(|place| unsafe { *place = Some(value) });
        if cell.finish(REPLIED) != GONE {
            return Ok(());
        }
        // SAFETY: the caller has gone without REPLIED, and never looks at it again.
        let value = cell.value.with_mut(|place| unsafe { (*place).take() });
        Err(LateReply(value.expect("it was written above")))
    }

    /// Whether the caller still waits. It may give up right after this said yes.
    pub fn is_wanted(&self) -> bool {
        self.0.as_ref().is_some_and(|cell| cell.state.load(Relaxed) != GONE)
    }
}

impl<R> Drop for Reply<R> {
    fn drop(&mut self) {
        if let Some(cell) = self.0.take() {
            cell.finish(DROPPED);
        }
    }
}

impl<R> fmt::Debug for Reply<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reply")
    }
}

impl<R: Send> Waiting<R> {
    /// Looks whether there is a reply; if not, `waker` is woken when there is.
    pub(crate) fn look(&self, waker: &Waker) -> Seen<R> {
        let cell = &*self.0;
        match cell.state.load(Acquire) {
            WAITING => self.change(waker),
            REPLIED => {
                // SAFETY: after REPLIED the value is the caller's (rule 1).
                let value = cell.value.with_mut(|place| unsafe { (*place).take() });
                value.map_or(Seen::Dropped, Seen::Value)
            }
            _ => Seen::Dropped,
        }
    }

    fn change(&self, new: &Waker) -> Seen<R> {
        let cell = &*self.0;
        // Cloned before, and dropped after: a waker is anybody's code, and may panic.
        let mine = new.clone();
        if cell.state.compare_exchange(WAITING, CHANGING, Relaxed, Relaxed).is_err() {
            return self.look(new);
        }
        // SAFETY: in CHANGING the waker is the caller's (rule 2).
        let old = cell.waker.with_mut(|waker| unsafe { (*waker).replace(mine) });
        let back = cell.state.compare_exchange(CHANGING, WAITING, Release, Relaxed);
        drop(old);
        if back.is_ok() { Seen::Nothing } else { self.look(new) }
    }
}

impl<R> Drop for Waiting<R> {
    fn drop(&mut self) {
        // A value that was not read is dropped with the cell, by the last of the two.
        self.0.state.swap(GONE, Relaxed);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::thread;
    use std::task::Wake;

    struct Count(loom::sync::atomic::AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Acquire);
        }
    }

    fn waker() -> (Arc<Count>, Waker) {
        let count = Arc::new(Count(loom::sync::atomic::AtomicUsize::new(0)));
        (count.clone(), Waker::from(count))
    }

    /// Either the look sees the reply, or the waker that it left is woken.
    #[test]
    fn reply_during_a_look_is_seen_or_wakes() {
        loom::model(|| {
            let (_, first) = waker();
            let (count, second) = waker();
            let (reply, waiting) = pair::<Box<u32>>(first);
            let replier = thread::spawn(move || reply.send(Box::new(7)).is_ok());
            let seen = waiting.look(&second);
            assert!(replier.join().unwrap());
            if let Seen::Nothing = seen {
                assert_eq!(count.0.load(Acquire), 1, "nobody is woken");
                assert!(matches!(waiting.look(&second), Seen::Value(value) if *value == 7));
            } else {
                assert!(matches!(seen, Seen::Value(value) if *value == 7));
            }
        });
    }

    /// Either the reply is taken, or it is given back: never both, never neither.
    #[test]
    fn reply_while_the_caller_leaves_is_taken_or_given_back() {
        loom::model(|| {
            let (_, waker) = waker();
            let dropped = Arc::new(());
            let (reply, waiting) = pair::<Arc<()>>(waker);
            let value = dropped.clone();
            let replier = thread::spawn(move || drop(reply.send(value)));
            drop(waiting);
            replier.join().unwrap();
            assert_eq!(Arc::strong_count(&dropped), 1, "the value is still somewhere");
        });
    }

    /// A reply that is dropped tells the caller.
    #[test]
    fn reply_dropped_during_a_look_is_seen_or_wakes() {
        loom::model(|| {
            let (count, waker) = waker();
            let (reply, waiting) = pair::<u32>(waker.clone());
            let replier = thread::spawn(move || drop(reply));
            let seen = waiting.look(&waker);
            replier.join().unwrap();
            assert!(matches!(seen, Seen::Dropped) || count.0.load(Acquire) == 1);
            assert!(matches!(waiting.look(&waker), Seen::Dropped));
        });
    }
}
