//! The deque and the global queue: crossbeam's, or in models a small one with the same interface.
//!
//! crossbeam-deque can not run on our facade, so models trust it and put a lock and a `VecDeque`
//! in its place. What matters of the interface: a worker pushes and pops at the near end (LIFO),
//! thieves take from the far end, at most half of it; a batch from the global queue arrives so
//! that its new owner pops it oldest first.

#[cfg(not(any(loom, shuttle)))]
pub(crate) use crossbeam_deque::{Injector, Steal, Stealer, Worker};

#[cfg(any(loom, shuttle))]
pub(crate) use model::{Injector, Steal, Stealer, Worker};

#[cfg(any(loom, shuttle))]
#[path = "model_deque.rs"]
mod model;

/// How many entries a worker takes from the global queue at once: one, and a batch.
pub(crate) const BATCH: usize = if cfg!(any(loom, shuttle)) { 2 } else { 16 };

/// The next entry of the global queue; a batch behind it goes to `deque`, oldest on top.
#[inline]
pub(crate) fn take_batch<T>(global: &Injector<T>, deque: &Worker<T>) -> Option<T> {
    settle(|| global.steal_batch_with_limit_and_pop(deque, BATCH + 1))
}

/// The oldest entry of a deque or of the global queue, and nothing else.
#[inline]
pub(crate) fn settle<T>(mut steal: impl FnMut() -> Steal<T>) -> Option<T> {
    loop {
        match steal() {
            Steal::Success(entry) => return Some(entry),
            Steal::Empty => return None,
            Steal::Retry => crate::sync::spin_loop(),
        }
    }
}
