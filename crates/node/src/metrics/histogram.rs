//! How long did things take? Counts by duration, cheap to add to.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use observe::metrics::Distribution;

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

    /// As it is now, in seconds.
    pub(crate) fn read(&self) -> Distribution {
        let bounds = BOUNDS.iter().map(|micros| *micros as f64 / 1e6).collect();
        let counts = self.counts.iter().map(|count| count.load(Relaxed)).collect();
        Distribution::new(bounds, counts, self.nanos.load(Relaxed) as f64 / 1e9)
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
    fn a_duration_is_counted_at_its_bound() {
        let histogram = Histogram::default();
        histogram.note(Duration::from_micros(25));
        histogram.note(Duration::from_micros(26));
        histogram.note(Duration::from_secs(100));
        let seen = histogram.read();
        let counts = seen.counts();
        assert_eq!((counts[0], counts[1], counts[15], counts[16]), (1, 1, 0, 1));
        assert_eq!((seen.bounds()[0], seen.bounds()[15]), (0.000_025, 5.0));
        assert!((seen.sum() - 100.000_051).abs() < 1e-9);
        assert_eq!(histogram.count(), 3);
    }
}
