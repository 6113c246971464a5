//! How long jobs of a class take: a moving average, learnt from those that ran.

use std::time::Duration;

use crate::{
    id::{CLASSES_MAX, Class},
    metrics::Count,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// Each new job counts for one part in so many.
const SHARE: u64 = 8;

/// What is learnt of each class, and how far off the estimates were.
pub(crate) struct Classes {
    /// Nanoseconds; 0: nothing is known.
    averages: Box<[AtomicU64]>,
    error: Count,
    of: Count,
    jobs: Count,
}

impl Classes {
    pub(crate) fn new() -> Classes {
        Classes {
            averages: (0..CLASSES_MAX).map(|_| AtomicU64::new(0)).collect(),
            error: Count::default(),
            of: Count::default(),
            jobs: Count::default(),
        }
    }

    /// A job of this class took so long. Relaxed: an average may miss one of two that end at the
    /// same moment.
    pub(crate) fn learn(&self, class: Class, took: u64) {
        let average = &self.averages[class.get() as usize];
        let was = average.load(Relaxed);
        let next = if was == 0 { took } else { was - was / SHARE + took / SHARE };
        average.store(next.max(1), Relaxed);
    }

    pub(crate) fn estimate(&self, class: Class) -> Option<u64> {
        Some(self.averages[class.get() as usize].load(Relaxed)).filter(|nanos| *nanos > 0)
    }

    /// A job that was to take `estimate` took so long.
    pub(crate) fn compare(&self, estimate: u64, took: u64) {
        self.error.add_saturating(estimate.abs_diff(took));
        self.of.add_saturating(took);
        self.jobs.add_shared(1);
    }

    /// How far off estimates were on average, and as a share of what the jobs took.
    pub(crate) fn error(&self) -> Option<(Duration, f64)> {
        let jobs = self.jobs.get();
        (jobs > 0).then(|| {
            let error = self.error.get();
            (Duration::from_nanos(error / jobs), error as f64 / self.of.get().max(1) as f64)
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_first_job_of_a_class_sets_the_estimate_and_later_ones_move_it() {
        let classes = Classes::new();
        let class = Class::new(3);
        assert_eq!(classes.estimate(class), None);
        classes.learn(class, 800);
        assert_eq!(classes.estimate(class), Some(800));
        classes.learn(class, 1600);
        assert_eq!(classes.estimate(class), Some(900));
    }
}
