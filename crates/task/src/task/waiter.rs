//! Who waits for something, and how the one who has it tells them.

use crate::{
    program::counts::Counts,
    task::{
        cell::{self, Task},
        wait::Outcome,
    },
};

/// An entry in the queue of whatever a task waits for.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) task: Task,
    pub(crate) epoch: u64,
}

impl Waiter {
    /// Whether it is still there to be answered.
    pub(crate) fn is_there(&self) -> bool {
        self.task.wait.waits(self.epoch)
    }

    /// Ends the wait with this outcome. `None`: somebody else has ended it, or the task is gone.
    // Always inline: most callers know the outcome beforehand, and to pass it takes longer than the rest.
    #[inline(always)]
    pub(crate) fn answer(self, counts: &Counts, outcome: Outcome, bytes: &[u8]) -> Option<Ready> {
        counts.claim(|| self.task.wait.claim(self.epoch))?;
        // SAFETY: the claim was ours.
        unsafe { self.task.wait.deliver(outcome, bytes) };
        Some(Ready(self.task))
    }
}

/// A task whose wait was ended, and that must be woken: when the caller holds no lock any more, since
/// a runtime that has stopped ends the task there and then.
#[derive(Debug)]
#[must_use = "a task whose wait was ended and that is not woken never goes on"]
pub(crate) struct Ready(pub(crate) Task);

impl Ready {
    /// Puts it into line.
    #[inline]
    pub(crate) fn wake(self) {
        // A runtime that refuses ends its tasks itself.
        let _ = self.0.strand().wake();
    }

    /// Lets it run next on this worker, if this is a turn.
    #[inline]
    pub(crate) fn run_next(self) {
        match self.0.hand_off_with((), |_| true, |_, ()| ()) {
            // Its turn is ours until this one ends.
            Ok(()) => cell::leave_handle(self.0),
            Err(()) => self.wake(),
        }
    }
}

/// A task to be woken, or none, when this is dropped: a panic on the way there loses no wake.
#[derive(Debug)]
pub(crate) struct Due(Option<Ready>);

impl Due {
    #[inline]
    pub(crate) fn new(ready: Option<Ready>) -> Due {
        Due(ready)
    }

    /// Lets it run next on this worker instead, if this is a turn.
    #[inline]
    pub(crate) fn run_next(mut self) {
        if let Some(ready) = self.0.take() {
            ready.run_next();
        }
    }
}

impl Drop for Due {
    #[inline]
    fn drop(&mut self) {
        if let Some(ready) = self.0.take() {
            ready.wake();
        }
    }
}

/// Several tasks to be woken; usually one or none.
#[derive(Debug, Default)]
#[must_use = "a task whose wait was ended and that is not woken never goes on"]
pub(crate) struct Readies {
    first: Option<Ready>,
    more: Vec<Ready>,
}

impl Readies {
    #[inline]
    pub(crate) fn add(&mut self, ready: Option<Ready>) {
        let Some(ready) = ready else { return };
        if self.first.is_none() {
            self.first = Some(ready);
        } else {
            self.more.push(ready);
        }
    }

    /// The only one, if there is one and no more; the others are woken.
    #[inline]
    pub(crate) fn only(self) -> Option<Ready> {
        if self.more.is_empty() {
            return self.first;
        }
        self.wake_all();
        None
    }

    pub(crate) fn wake_all(self) {
        self.first.into_iter().chain(self.more).for_each(Ready::wake);
    }
}
