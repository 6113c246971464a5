//! What a pool counts and measures of itself.
//!
//! Every worker has a seat of its own, written by nobody else, and added up when somebody asks.
//! What ends outside of the workers is counted on a last seat that all share.

use std::time::Duration;

use kernel::Histogram;

use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number that one thread writes and any thread reads.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// For the one writer.
    #[inline(always)]
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// For many writers.
    pub(crate) fn add_shared(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    /// For many writers of what may be very large.
    pub(crate) fn add_saturating(&self, n: u64) {
        let sum = |was: u64| Some(was.saturating_add(n));
        let _ = self.0.fetch_update(Relaxed, Relaxed, sum);
    }

    #[inline]
    pub(crate) fn set(&self, n: u64) {
        self.0.store(n, Relaxed);
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// What one worker counts.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) completed: Count,
    pub(crate) failed: Count,
    pub(crate) cancelled: Count,
    /// Execution time, where one job in so many is measured and counts for all of them.
    pub(crate) executing: Count,
    pub(crate) measured: Count,
    /// The job that runs, and since when; 0 for none, and for unknown.
    pub(crate) job: Count,
    pub(crate) since: Count,
    /// Since when it runs if its time will be counted, otherwise 0.
    pub(crate) counted_since: Count,
    /// How long others ran inside of the turn that runs, if it is timed.
    pub(crate) inside: Count,
    waiting: [Count; 64],
    pub(crate) waited: Count,
    pub(crate) waits: Count,
    /// After a job of which batch the clock was last read, when, and how many had ended here.
    marked_batch: Count,
    marked: Count,
    ended_by_then: Count,
}

impl Default for Seat {
    fn default() -> Seat {
        Seat {
            completed: Count::default(),
            failed: Count::default(),
            cancelled: Count::default(),
            executing: Count::default(),
            measured: Count::default(),
            job: Count::default(),
            since: Count::default(),
            counted_since: Count::default(),
            inside: Count::default(),
            waiting: std::array::from_fn(|_| Count::default()),
            waited: Count::default(),
            waits: Count::default(),
            marked_batch: Count::default(),
            marked: Count::default(),
            ended_by_then: Count::default(),
        }
    }
}

impl Seat {
    /// A job waited for so long between being ready and its start; it stands for `weight` jobs.
    pub(crate) fn note_wait(&self, nanos: u64, weight: u64) {
        let bucket = (64 - nanos.leading_zeros() as usize).min(63);
        self.waiting[bucket].add(weight);
        self.waited.add(nanos.saturating_mul(weight));
        self.waits.add(weight);
    }

    /// A turn took so long. What is `measured` is counted by job, when it ends.
    pub(crate) fn note_execution(&self, nanos: u64, weight: u64) {
        self.executing.add(nanos.saturating_mul(weight));
    }

    /// After a job of a batch: how far its jobs were apart here on average since this was last asked. `None`:
    /// not known, since that was after one of another batch.
    pub(crate) fn pace(&self, batch: u64, now: u64) -> Option<u64> {
        let (of, since) = (self.marked_batch.get(), self.marked.get());
        let (ended, before) = (self.ended(), self.ended_by_then.get());
        self.marked_batch.set(batch);
        self.marked.set(now);
        self.ended_by_then.set(ended);
        if of == batch { now.saturating_sub(since).checked_div(ended - before) } else { None }
    }

    /// Jobs that have ended here.
    pub(crate) fn ended(&self) -> u64 {
        self.completed.get() + self.failed.get() + self.cancelled.get()
    }

    /// Execution time until `now`, with that of the turn that runs. Should that end meanwhile, it is
    /// missed rather than counted twice: so this may go back, and what has ended does not.
    pub(crate) fn executed(&self, now: u64) -> u64 {
        let ended = self.executing.get();
        match self.counted_since.get() {
            0 => ended,
            since => ended.saturating_add(now.saturating_sub(since)),
        }
    }

    pub(crate) fn add_to(&self, waiting: &mut Histogram) {
        for (sum, count) in waiting.buckets.iter_mut().zip(&self.waiting) {
            *sum += count.get();
        }
        waiting.total += Duration::from_nanos(self.waited.get());
    }
}

/// What a pool has done since it started.
///
/// Execution and waiting times are measured for every job of a batch of fewer than
/// [`EXACT_MAX`](crate::EXACT_MAX) jobs, and of every [timed](crate::Batch::timed) batch. Of larger
/// batches one job in 64 is measured and counts for 64, or for as many as are left; while these take
/// 100 µs or more on average, the execution of every job of the batch is measured.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// Jobs that were taken.
    pub scheduled: u64,
    /// Jobs that completed.
    pub completed: u64,
    /// Jobs that failed: of themselves, or since a predecessor did.
    pub failed: u64,
    /// Jobs that were cancelled, or stopped with the pool.
    pub cancelled: u64,
    /// Jobs that wait or run.
    pub queue_depth: u64,
    /// Deadlines that were missed.
    pub deadlines_missed: u64,
    /// All execution time of turns that have ended.
    pub execution_total: Duration,
    /// The mean of it, per job that has ended.
    pub execution_average: Duration,
    /// The mean time between being ready and the start.
    pub waiting_average: Duration,
    /// The distribution of that time.
    pub waiting: Histogram,
    /// How far estimates were off, on average; `None` before the first job that had one.
    pub estimate_error_average: Option<Duration>,
    /// The same as a share of what the jobs took: 0 is perfect.
    pub estimate_error_ratio: Option<f64>,
    /// By worker.
    pub workers: Vec<WorkerMetrics>,
    /// The time since the pool started.
    pub uptime: Duration,
}

/// What one worker of a pool has done.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// Jobs that ended there.
    pub jobs: u64,
    /// The execution time of turns that have ended there.
    pub execution: Duration,
    /// The share of the time since the pool started that it executed jobs, with what it executes now if
    /// that is timed: 0 to 1.
    pub utilization: f64,
}
