//! Room for jobs: how many may wait or run, who waits for a place, and when all is over.
//!
//! How many have been taken is one number, how many have ended is counted by each worker, and the
//! difference is what waits or runs.
//!
//! 1. Whoever waits sees the room that there is, or is called when there is more.
//! 2. All who wait are called at once, and those who find room take it: one that nobody polls keeps
//!    no other waiting. So there is no order among them.
//! 3. Whoever does the last part of the pool's end sees that all is over.
//!
//! Ordering: whoever waits enters itself, fences, and adds up again; a worker counts, fences, and
//! looks whether somebody waits. So either the one sees the room, or the other sees who waits for
//! it. In the same way each who does a part of the end fences, and then looks at the other parts.

use std::{mem, task::Waker};

use crossbeam_utils::CachePadded;

use crate::{
    graph::cell::contain,
    sync::{
        Mutex,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Relaxed, SeqCst},
            fence,
        },
    },
};

pub(crate) struct Room {
    capacity: u64,
    admitted: CachePadded<Admitted>,
    /// Somebody waits. It changes under the lock of those who do.
    crowded: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
    /// Nothing more is taken.
    closing: AtomicBool,
}

/// What every submission changes.
#[derive(Default)]
struct Admitted {
    jobs: AtomicU64,
    batches: AtomicU64,
}

impl Room {
    pub(crate) fn new(capacity: usize) -> Room {
        Room {
            capacity: capacity as u64,
            admitted: CachePadded::default(),
            crowded: AtomicBool::new(false),
            waiting: Mutex::new(Vec::new()),
            closing: AtomicBool::new(false),
        }
    }

    /// Jobs that were ever taken.
    pub(crate) fn taken(&self) -> u64 {
        self.admitted.jobs.load(Relaxed)
    }

    /// Jobs that wait or run, where so many have ended.
    pub(crate) fn queued(&self, ended: impl FnOnce() -> u64) -> u64 {
        // Ended first: what is taken meanwhile would make it too small otherwise.
        let ended = ended();
        self.taken().saturating_sub(ended)
    }

    /// Takes places. Returns a number for their batch, or `None` if there are too few.
    #[inline]
    pub(crate) fn admit(&self, wanted: u64, ended: impl Fn() -> u64) -> Option<u64> {
        let Admitted { jobs, batches } = &*self.admitted;
        let mut taken = jobs.load(Relaxed);
        loop {
            let sum = taken.saturating_add(wanted);
            // Cheap to know for as long as fewer were ever taken than there are places.
            if sum > self.capacity && sum - ended().min(taken) > self.capacity {
                return None;
            }
            match jobs.compare_exchange_weak(taken, sum, Relaxed, Relaxed) {
                Ok(_) => return Some(batches.fetch_add(1, Relaxed) + 1),
                Err(now) => taken = now,
            }
        }
    }

    /// Gives back places that were taken for a batch that is refused after all.
    pub(crate) fn give_back(&self, places: u64) {
        self.admitted.jobs.fetch_sub(places, Relaxed);
        self.made();
    }

    /// Somebody waits for room. The caller tries again afterwards.
    pub(crate) fn wait(&self, waker: &Waker) {
        let waker = waker.clone();
        let mut waiting = self.waiting.lock();
        if waiting.iter().all(|other| !other.will_wake(&waker)) {
            waiting.push(waker);
        }
        self.crowded.store(true, Relaxed);
        drop(waiting);
        fence(SeqCst);
    }

    /// Jobs have ended, and were counted.
    #[inline(always)]
    pub(crate) fn made(&self) {
        if self.capacity == usize::MAX as u64 {
            return;
        }
        fence(SeqCst);
        self.made_before_another();
    }

    /// A job has ended and another follows on the same worker. Should this miss one who comes to
    /// wait at this moment, the call at the end of the turn does not.
    #[inline(always)]
    pub(crate) fn made_before_another(&self) {
        if self.crowded.load(Relaxed) {
            self.call();
        }
    }

    /// Lets all who wait try again.
    #[cold]
    pub(crate) fn call(&self) {
        let mut waiting = self.waiting.lock();
        self.crowded.store(false, Relaxed);
        let wakers = mem::take(&mut *waiting);
        drop(waiting);
        for waker in wakers {
            contain(|| waker.wake());
        }
    }

    /// Nothing more is taken.
    pub(crate) fn close(&self) {
        self.closing.store(true, Relaxed);
    }

    /// Whether nothing more happens: it is closed, every job has ended, and so has all else that the
    /// caller knows of. For whoever has done a part of that.
    pub(crate) fn is_over(&self, ended: impl FnOnce() -> u64, rest: impl FnOnce() -> bool) -> bool {
        fence(SeqCst);
        self.closing.load(Relaxed) && rest() && self.queued(ended) == 0
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::{sync::Arc, thread};
    use std::task::Wake;

    /// A room for one job, which is taken, and how many have ended.
    fn full() -> Arc<(Room, AtomicU64)> {
        let both = Arc::new((Room::new(1), AtomicU64::new(0)));
        assert!(both.0.admit(1, || 0).is_some());
        both
    }

    #[derive(Default)]
    struct Alarm(AtomicBool);

    impl Wake for Alarm {
        fn wake(self: std::sync::Arc<Alarm>) {
            self.0.store(true, Relaxed);
        }
    }

    /// Rule 1.
    #[test]
    fn room_made_while_somebody_comes_to_wait_is_seen_or_told() {
        loom::model(|| {
            let both = full();
            let worker = thread::spawn({
                let both = both.clone();
                move || {
                    let (room, ended) = &*both;
                    ended.fetch_add(1, Relaxed);
                    room.made();
                }
            });
            let (room, ended) = &*both;
            let alarm = std::sync::Arc::new(Alarm::default());
            room.wait(&alarm.clone().into());
            let admitted = room.admit(1, || ended.load(Relaxed)).is_some();
            worker.join().unwrap();
            assert!(admitted || alarm.0.load(Relaxed), "there is room, and nobody has said so");
        });
    }

    /// Rule 3.
    #[test]
    fn closed_while_the_last_job_ends_is_seen_to_be_over() {
        loom::model(|| {
            let both = full();
            let worker = thread::spawn({
                let both = both.clone();
                move || {
                    let (room, ended) = &*both;
                    ended.fetch_add(1, Relaxed);
                    room.is_over(|| ended.load(Relaxed), || true)
                }
            });
            let (room, ended) = &*both;
            room.close();
            let over = room.is_over(|| ended.load(Relaxed), || true);
            assert!(worker.join().unwrap() || over, "all is over, and nobody has noticed");
        });
    }
}
