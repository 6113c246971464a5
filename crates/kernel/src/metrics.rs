//! What the scheduler counts and measures of itself.
//!
//! Every worker has its own counters, written by nobody else, and added up when somebody asks: a
//! shared counter per job would cost more than the job. Waiting and running times are sampled
//! (one turn in [`SAMPLE`]), since reading the clock costs more than a dispatch; while recording
//! they are exact.

use std::time::Duration;

use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One turn in so many is timed.
pub(crate) const SAMPLE: u64 = 128;

/// A number that one thread writes and any thread reads.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// For the one writer. Returns the sum.
    #[inline]
    pub(crate) fn add(&self, n: u64) -> u64 {
        let sum = self.0.load(Relaxed) + n;
        self.0.store(sum, Relaxed);
        sum
    }

    /// For many writers.
    #[inline]
    pub(crate) fn add_shared(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The counters of one worker.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) turns: Count,
    pub(crate) wakes: Count,
    pub(crate) steals: Count,
    pub(crate) parks: Count,
    pub(crate) hand_offs: Count,
    pub(crate) panics: Count,
    pub(crate) overruns: Count,
    pub(crate) waiting: Buckets,
    pub(crate) running: Buckets,
}

/// A histogram of nanoseconds by powers of two.
#[derive(Debug)]
pub(crate) struct Buckets {
    counts: [Count; 64],
    nanos: Count,
}

impl Default for Buckets {
    fn default() -> Buckets {
        let counts = std::array::from_fn(|_| Count::default());
        Buckets { counts, nanos: Count::default() }
    }
}

impl Buckets {
    pub(crate) fn note(&self, nanos: u64) {
        self.counts[bucket(nanos)].add(1);
        self.nanos.add(nanos);
    }

    pub(crate) fn read(&self) -> Histogram {
        Histogram {
            buckets: std::array::from_fn(|i| self.counts[i].get()),
            total: Duration::from_nanos(self.nanos.get()),
        }
    }
}

fn bucket(nanos: u64) -> usize {
    (64 - nanos.leading_zeros() as usize).min(63)
}

/// A distribution of durations. Bucket `i` holds those below `2^i` nanoseconds that are not in an
/// earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    /// How many samples fell into each bucket.
    pub buckets: [u64; 64],
    /// All samples added up.
    pub total: Duration,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { buckets: [0; 64], total: Duration::ZERO }
    }
}

impl Histogram {
    /// How many samples there are.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// An upper bound of the `q` quantile (0 to 1): at most twice the true value. `None` without
    /// samples.
    ///
    /// ```
    /// let mut waits = kernel::Histogram::default();
    /// waits.buckets[10] = 99; // 512 to 1023 ns
    /// waits.buckets[20] = 1;
    /// assert_eq!(waits.quantile(0.5), Some(std::time::Duration::from_nanos(1024)));
    /// ```
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let wanted = (self.count() as f64 * q).ceil().max(1.0) as u64;
        let mut seen = 0;
        self.buckets.iter().enumerate().find_map(|(i, n)| {
            seen += n;
            (seen >= wanted && *n > 0).then(|| Duration::from_nanos(1 << i))
        })
    }

    fn add(&mut self, other: &Histogram) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.total += other.total;
    }
}

/// What one worker has done since its runtime started.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// Turns taken: of strands and jobs.
    pub turns: u64,
    /// Strands and jobs that turns on this worker put in line.
    pub wakes: u64,
    /// Times it stole from another worker's deque or inbox.
    pub steals: u64,
    /// Times it parked.
    pub parks: u64,
    /// Turns that a hand-off gave.
    pub hand_offs: u64,
    /// Panics that were contained.
    pub panics: u64,
    /// Turns that ignored their quantum grossly.
    pub overruns: u64,
    /// CPU time of the thread, where the system tells it.
    pub cpu: Option<Duration>,
    /// From queued to running, sampled.
    pub waiting: Histogram,
    /// Length of turns, sampled.
    pub running: Histogram,
}

/// What a runtime has done since it started.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// By worker.
    pub workers: Vec<WorkerMetrics>,
    /// Entries that wait now.
    pub queued: usize,
    /// Timers that wait now.
    pub timers: usize,
    /// What was queued and dropped without a turn, when the runtime stopped.
    pub dropped: u64,
}

impl Metrics {
    /// All workers together.
    pub fn total(&self) -> WorkerMetrics {
        let mut total = WorkerMetrics::default();
        for worker in &self.workers {
            total.turns += worker.turns;
            total.wakes += worker.wakes;
            total.steals += worker.steals;
            total.parks += worker.parks;
            total.hand_offs += worker.hand_offs;
            total.panics += worker.panics;
            total.overruns += worker.overruns;
            total.cpu = match (total.cpu, worker.cpu) {
                (Some(a), Some(b)) => Some(a + b),
                (one, other) => one.or(other),
            };
            total.waiting.add(&worker.waiting);
            total.running.add(&worker.running);
        }
        total
    }
}

impl Counters {
    pub(crate) fn read(&self, cpu: Option<Duration>) -> WorkerMetrics {
        WorkerMetrics {
            turns: self.turns.get(),
            wakes: self.wakes.get(),
            steals: self.steals.get(),
            parks: self.parks.get(),
            hand_offs: self.hand_offs.get(),
            panics: self.panics.get(),
            overruns: self.overruns.get(),
            cpu,
            waiting: self.waiting.read(),
            running: self.running.read(),
        }
    }
}
