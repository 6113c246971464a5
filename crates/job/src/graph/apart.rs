//! Does it pay to share tiny jobs with other workers?
//!
//! That depends on how far the cores are from each other: on one machine a line of the cache takes 50 ns
//! there and back, on another 350, and under a hypervisor it changes while a program runs. So it is tried.
//! Workers share, and where the jobs of one of them are further apart than all of them alone would be, the
//! batch is from then on for who has its jobs, and so is every batch of tiny jobs for a while. Then it
//! is tried again.

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// So long, in nanoseconds, tiny jobs are not shared after it did not pay.
const HOLD: u64 = 50_000_000;

/// So many nanoseconds, about, a worker needs for a job beside the job itself, if it is alone.
const BESIDE: u64 = 15;

/// It did not pay if it did not for so many samples more than for which it did: a worker may lose its core,
/// or have to wait for work.
const DOUBTS_MAX: u32 = 16;

#[derive(Debug, Default)]
pub(crate) struct Apart {
    /// Until when tiny jobs are kept apart.
    until: AtomicU64,
    doubts: AtomicU32,
}

impl Apart {
    /// Whether jobs of a batch that comes now are not shared, if they are tiny.
    pub(crate) fn holds(&self, now: u64) -> bool {
        now < self.until.load(Relaxed)
    }

    /// On one of so many workers, jobs that take `least` each were `pace` apart. False: it does not pay.
    pub(crate) fn pays(&self, pace: u64, least: u64, workers: usize, now: u64) -> bool {
        let paid = pace <= least.saturating_add(BESIDE).saturating_mul(workers as u64);
        // Workers may miss each other's doubts: it is a guess.
        let was = self.doubts.load(Relaxed);
        let doubts = if paid { was.saturating_sub(1) } else { was + 1 };
        let pays = doubts < DOUBTS_MAX;
        if !pays {
            self.until.store(now.saturating_add(HOLD), Relaxed);
        }
        let doubts = if pays { doubts } else { 0 };
        if doubts != was {
            self.doubts.store(doubts, Relaxed);
        }
        pays
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn jobs_that_come_slower_than_one_worker_would_run_them_keep_others_apart_for_a_while() {
        let apart = Apart::default();
        let after = |pace: u64, workers: usize| {
            (0..DOUBTS_MAX).all(|_| apart.pays(pace, 30, workers, 1_000)) && !apart.holds(1_000)
        };
        assert!(after(80, 2));
        assert!(after(110, 8), "among more workers each may be slower");
        assert!(!after(110, 2));
        assert!(apart.holds(1_001) && !apart.holds(1_000 + HOLD));
    }

    /// As when a worker loses its core now and then.
    #[test]
    fn now_and_then_one_that_takes_long_changes_nothing() {
        let apart = Apart::default();
        for _ in 0..10 * DOUBTS_MAX {
            assert!(apart.pays(50_000, 30, 2, 0) && apart.pays(80, 30, 2, 0));
        }
    }
}
