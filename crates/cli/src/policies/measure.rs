//! What became of a workload: how long it took, who waited, how evenly, and how busy workers were.

use std::time::Duration;

use super::{pairs::Pair, trace::Trace};

/// When things happened to one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Life {
    /// It had arrived, and all that it depends on had ended.
    pub(crate) ready: Duration,
    pub(crate) ended: Duration,
    /// What its turns took together.
    pub(crate) execution: Duration,
}

impl Life {
    /// How long it was ready and did not run, also between its turns.
    fn waiting(&self) -> Duration {
        (self.ended - self.ready).saturating_sub(self.execution)
    }

    /// Its share of the speed that it would have had alone: 1 if it never waited.
    fn speed(&self) -> f64 {
        let took = (self.ended - self.ready).max(self.execution);
        self.execution.as_secs_f64() / took.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// What one replay has shown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) pair: Pair,
    pub(crate) workers: usize,
    /// From the first arrival to the last end.
    pub(crate) makespan: Duration,
    pub(crate) waiting_p50: Duration,
    pub(crate) waiting_p99: Duration,
    /// Jain's index of the jobs' speeds: 1 if all were slowed down alike, 1/n if one had it all.
    pub(crate) fairness: f64,
    /// The share of the workers' time, over the makespan, in which they ran jobs.
    pub(crate) utilization: f64,
}

impl Outcome {
    pub(crate) fn of(trace: &Trace, pair: Pair, workers: usize, lives: &[Life]) -> Outcome {
        let last_end = lives.iter().map(|life| life.ended).max().unwrap_or_default();
        let makespan = last_end.saturating_sub(trace.first_arrival());
        let mut waits: Vec<Duration> = lives.iter().map(Life::waiting).collect();
        waits.sort_unstable();
        let executed: Duration = lives.iter().map(|life| life.execution).sum();
        let capacity = makespan.as_secs_f64() * workers as f64;
        Outcome {
            pair,
            workers,
            makespan,
            waiting_p50: quantile(&waits, 50),
            waiting_p99: quantile(&waits, 99),
            fairness: jain(lives.iter().map(Life::speed)),
            utilization: (executed.as_secs_f64() / capacity.max(f64::MIN_POSITIVE)).min(1.0),
        }
    }
}

/// The smallest value that so many in a hundred do not exceed.
fn quantile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

/// Jain's index: the square of the sum over n times the sum of the squares.
fn jain(values: impl Iterator<Item = f64>) -> f64 {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        n += 1.0;
        sum += value;
        squares += value * value;
    }
    if squares == 0.0 { 1.0 } else { sum * sum / (n * squares) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_one_for_equals_and_a_share_for_one_who_has_it_all() {
        assert_eq!(jain([0.5, 0.5, 0.5].into_iter()), 1.0);
        assert_eq!(jain([1.0, 0.0, 0.0, 0.0].into_iter()), 0.25);
        assert_eq!(jain([1.0, 0.5].into_iter()), 0.9);
        assert_eq!(jain([].into_iter()), 1.0);
    }

    #[test]
    fn a_quantile_is_a_value_that_was_there() {
        let values: Vec<Duration> = (1..=100).map(Duration::from_micros).collect();
        assert_eq!(quantile(&values, 50), Duration::from_micros(50));
        assert_eq!(quantile(&values, 99), Duration::from_micros(99));
        assert_eq!(quantile(&values[..1], 99), Duration::from_micros(1));
        assert_eq!(quantile(&[], 50), Duration::ZERO);
    }

    #[test]
    fn waiting_counts_also_between_turns() {
        let micros = Duration::from_micros;
        let life = Life { ready: micros(10), ended: micros(50), execution: micros(10) };
        assert_eq!(life.waiting(), micros(30));
        assert_eq!(life.speed(), 0.25);
    }
}
