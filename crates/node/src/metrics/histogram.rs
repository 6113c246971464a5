//! How long did things take? Counts by duration, cheap to add to.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Upper bounds, in microseconds: from what is read from memory to what a slow disk takes.
const BOUNDS: [u64; 16] = [
    25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 5_000_000,
];

/// Durations, counted by their size.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// The last one is for what is above all bounds.
    counts: [AtomicU64; BOUNDS.len() + 1],
    nanos: AtomicU64,
}

impl Histogram {
    pub(crate) fn note(&self, took: Duration) {
        let micros = took.as_micros() as u64;
        self.counts[BOUNDS.partition_point(|bound| *bound < micros)].fetch_add(1, Relaxed);
        self.nanos.fetch_add(took.as_nanos() as u64, Relaxed);
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.nanos.load(Relaxed) as f64 / 1e9
    }

    /// Upper bounds in seconds (`None`: there is none), each with how many are not above it.
    pub(crate) fn cumulated(&self) -> impl Iterator<Item = (Option<f64>, u64)> {
        let bounds = BOUNDS.iter().map(|micros| Some(*micros as f64 / 1e6)).chain([None]);
        bounds.zip(&self.counts).scan(0, |sum, (bound, count)| {
            *sum += count.load(Relaxed);
            Some((bound, *sum))
        })
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_counted_at_its_bound_and_above() {
        let histogram = Histogram::default();
        histogram.note(Duration::from_micros(25));
        histogram.note(Duration::from_micros(26));
        histogram.note(Duration::from_secs(100));
        let counts: Vec<u64> = histogram.cumulated().map(|(_, count)| count).collect();
        assert_eq!((counts[0], counts[1], counts[15], counts[16]), (1, 2, 2, 3));
        assert!((histogram.seconds() - 100.000_051).abs() < 1e-9);
        assert_eq!(histogram.count(), 3);
    }
}
