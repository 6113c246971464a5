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

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::{
        idle::{Idle, Parked},
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
    };
    use std::sync::Arc;

    struct Pool {
        idle: Idle,
        global: Injector<u8>,
        stealer: Stealer<u8>,
        ran: AtomicUsize,
    }

    /// The hand-over from the global queue to a worker's deque: while the batch is in nobody's
    /// queue, another worker may look and park. The one that moved it must call.
    #[test]
    fn batch_moved_while_another_parks_is_seen_by_it() {
        loom::model(|| {
            let deque = Worker::new_lifo();
            let pool = Arc::new(Pool {
                idle: Idle::new(2),
                global: Injector::new(),
                stealer: deque.stealer(),
                ran: AtomicUsize::new(0),
            });
            pool.global.push(1);
            pool.global.push(2);
            let other = loom::thread::spawn({
                let pool = pool.clone();
                move || {
                    let anything = || !pool.global.is_empty() || !pool.stealer.is_empty();
                    let mine = Worker::new_lifo();
                    let mut searching = pool.idle.search();
                    loop {
                        let found = take_batch(&pool.global, &mine)
                            .or_else(|| settle(|| pool.stealer.steal_batch_and_pop(&mine)));
                        if found.is_some() {
                            searching.found_work(anything, || 0);
                            return pool.ran.fetch_add(1 + mine.len(), Relaxed);
                        }
                        let Parked::Search(again) = searching.park(1, anything, anything) else {
                            return 0;
                        };
                        searching = again;
                    }
                }
            });
            // This worker moves a batch, then is busy for ever with the first of it.
            if take_batch(&pool.global, &deque).is_some() {
                pool.ran.fetch_add(1, Relaxed);
                let _ = pool.idle.placed(|| 0);
                other.join().unwrap();
                assert_eq!(pool.ran.load(Relaxed), 2, "an entry was left behind a busy worker");
            } else {
                other.join().unwrap();
            }
        });
    }
}
