//! What do the workers of a runtime do?

use kernel::{Handle, Histogram, WorkerMetrics, WorkerState};

use super::{
    Distribution, Family, Samples, Value,
    families::kernel::{
        CPU, DROPPED, HAND_OFFS, OVERRUNS, PANICS, PARKS, QUEUED, RUNNING, STEALS, TIMERS, TURNS,
        WAITING, WAKES, WORKERS,
    },
};

type Count = fn(&WorkerMetrics) -> u64;

/// What workers count, each for itself.
static COUNTERS: [(&Family, Count); 7] = [
    (&TURNS, |worker| worker.turns),
    (&WAKES, |worker| worker.wakes),
    (&STEALS, |worker| worker.steals),
    (&PARKS, |worker| worker.parks),
    (&HAND_OFFS, |worker| worker.hand_offs),
    (&PANICS, |worker| worker.panics),
    (&OVERRUNS, |worker| worker.overruns),
];

/// Every state of a worker, so that none is missing because nobody is in it now.
const STATES: [&str; 5] = ["running", "searching", "idle", "paused", "stopped"];

impl Samples {
    /// Adds what a runtime tells of itself, under this name.
    pub fn runtime(&mut self, name: &str, runtime: &Handle) {
        let metrics = runtime.metrics();
        let numbers: Vec<_> = (0..metrics.workers.len()).map(|number| number.to_string()).collect();
        let workers = || numbers.iter().zip(&metrics.workers);
        for (family, count) in &COUNTERS {
            for (number, worker) in workers() {
                self.add(family, &[name, number], count(worker));
            }
        }
        self.family(&CPU);
        for (number, worker) in workers() {
            if let Some(cpu) = worker.cpu {
                self.add(&CPU, &[name, number], cpu);
            }
        }
        let states: Vec<_> = runtime.workers().iter().map(state).collect();
        for state in STATES {
            let count = states.iter().filter(|is| **is == state).count();
            self.add(&WORKERS, &[name, state], count);
        }
        self.add(&QUEUED, &[name], metrics.queued);
        self.add(&TIMERS, &[name], metrics.timers);
        self.add(&DROPPED, &[name], metrics.dropped);
        let total = metrics.total();
        self.add(&WAITING, &[name], &total.waiting);
        self.add(&RUNNING, &[name], &total.running);
    }
}

fn state(state: &WorkerState) -> &'static str {
    match state {
        WorkerState::Running(_) => "running",
        WorkerState::Idle => "idle",
        WorkerState::Paused => "paused",
        WorkerState::Stopped => "stopped",
        _ => "searching",
    }
}

/// The first bound is `2^10` ns, a microsecond, and the last `2^33`, nine seconds. They are the same
/// whatever was measured: Prometheus adds up histograms by their bounds.
const BOUNDS: std::ops::RangeInclusive<usize> = 10..=33;

impl From<&Histogram> for Value {
    fn from(histogram: &Histogram) -> Value {
        let buckets = &histogram.buckets;
        let (first, last) = (*BOUNDS.start(), *BOUNDS.end());
        let mut counts = vec![buckets[..=first].iter().sum()];
        counts.extend(&buckets[first + 1..=last]);
        counts.push(buckets[last + 1..].iter().sum());
        let bounds = BOUNDS.map(|bits| (1_u64 << bits) as f64 / 1e9).collect();
        Distribution::new(bounds, counts, histogram.total.as_secs_f64()).into()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_sample_of_a_histogram_is_lost_at_its_ends() {
        let mut histogram = Histogram::default();
        histogram.buckets.iter_mut().for_each(|bucket| *bucket = 1);
        histogram.total = Duration::from_millis(1_500);
        let Value::Distribution(all) = Value::from(&histogram) else { unreachable!() };
        assert_eq!(all.counts().iter().sum::<u64>(), 64);
        assert_eq!((all.counts()[0], all.counts()[1], all.counts().last()), (11, 1, Some(&30)));
        assert_eq!((all.bounds()[0], all.bounds().last()), (0.000_001_024, Some(&8.589_934_592)));
        assert_eq!(all.sum(), 1.5);
    }
}
