//! Which places of the table are free: a few with each worker, the rest behind a lock.

use std::collections::VecDeque;

use crossbeam_utils::CachePadded;
use kernel::Handle;

use crate::sync::{Mutex, UnsafeCell};

/// So many places a worker keeps at most; half of them come and go at a time.
const KEEP: usize = if cfg!(any(loom, shuttle)) { 2 } else { 256 };

pub(super) struct Places {
    /// One per worker, touched by its own thread only.
    own: Vec<CachePadded<UnsafeCell<Vec<u32>>>>,
    common: Mutex<Common>,
}

// SAFETY: a worker's own places are touched in `with_own` only, by the thread that is that worker.
unsafe impl Sync for Places {}
// SAFETY: as above; there is nothing else in it but numbers.
unsafe impl Send for Places {}

#[derive(Default)]
struct Common {
    free: VecDeque<u32>,
    /// The first place that was never used.
    fresh: u32,
}

impl Common {
    fn take(&mut self) -> u32 {
        self.free.pop_front().unwrap_or_else(|| {
            let place = self.fresh;
            self.fresh = place.checked_add(1).expect("more processes than there are pids");
            place
        })
    }
}

impl Places {
    pub(super) fn new(workers: usize) -> Places {
        let own = (0..workers).map(|_| CachePadded::new(UnsafeCell::new(Vec::new()))).collect();
        Places { own, common: Mutex::default() }
    }

    /// Calls `user` with the places of the worker that this thread is, if it is one.
    #[inline]
    fn with_own<R>(&self, runtime: &Handle, user: impl FnOnce(&mut Vec<u32>) -> R) -> Option<R> {
        let own = self.own.get(runtime.current_worker()?.get())?;
        // SAFETY: no other thread is this worker now, and `user` does not come back here.
        Some(own.with_mut(|own| user(unsafe { &mut *own })))
    }

    #[inline]
    pub(super) fn take(&self, runtime: &Handle) -> u32 {
        let own = self.with_own(runtime, |own| own.pop().unwrap_or_else(|| self.refill(own)));
        own.unwrap_or_else(|| self.take_common())
    }

    #[cold]
    fn take_common(&self) -> u32 {
        self.common.lock().take()
    }

    #[cold]
    fn refill(&self, own: &mut Vec<u32>) -> u32 {
        let mut common = self.common.lock();
        own.extend((0..KEEP / 2).map(|_| common.take()));
        common.take()
    }

    #[inline]
    pub(super) fn put(&self, runtime: &Handle, place: u32) {
        let kept = self.with_own(runtime, |own| {
            if own.len() == KEEP {
                self.relieve(own);
            }
            own.push(place);
        });
        if kept.is_none() {
            self.put_common(place);
        }
    }

    #[cold]
    fn relieve(&self, own: &mut Vec<u32>) {
        self.common.lock().free.extend(own.drain(KEEP / 2..));
    }

    #[cold]
    fn put_common(&self, place: u32) {
        self.common.lock().free.push_back(place);
    }
}
