//! How long did what was queued wait for its turn, and how is that drawn?

use std::{collections::VecDeque, time::Duration};

/// So many looks back. What happened before has passed.
const LOOKS_MAX: usize = 10;
/// The first column: what took less than 2^7 ns, 128 ns. The last is 17 s and more.
const FIRST_BUCKET: usize = 7;
/// So many columns a drawing has.
pub(crate) const COLUMNS: usize = 28;
/// Where 2^10 ns, 2^20 ns and 2^30 ns are: about 1 µs, 1 ms and 1 s.
pub(crate) const MARKS: [(usize, &str); 3] = [(3, "1µs"), (13, "1ms"), (23, "1s")];

/// Histograms of the last looks, the newest last. Bucket `i` counts what took less than `2^i` ns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent(VecDeque<(f64, Vec<u64>)>);

/// What waited.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Waiting {
    buckets: Vec<u64>,
    /// Counted over so long; `None`: since the program started.
    pub(crate) seconds: Option<f64>,
}

impl Recent {
    pub(crate) fn add(&mut self, uptime_seconds: f64, buckets: Vec<u64>) {
        self.0.push_back((uptime_seconds, buckets));
        if self.0.len() > LOOKS_MAX + 1 {
            self.0.pop_front();
        }
    }

    /// What waited since the oldest look that is kept; if nothing did, since the start.
    pub(crate) fn waiting(&self) -> Waiting {
        let (Some((from, old)), Some((to, new))) = (self.0.front(), self.0.back()) else {
            return Waiting::default();
        };
        let before = |i: usize| old.get(i).copied().unwrap_or(0);
        let buckets: Vec<u64> =
            new.iter().enumerate().map(|(i, n)| n.saturating_sub(before(i))).collect();
        if buckets.iter().all(|n| *n == 0) {
            return Waiting { buckets: new.clone(), seconds: None };
        }
        Waiting { buckets, seconds: Some(to - from) }
    }
}

impl Waiting {
    /// The share `q` waited less than this.
    pub(crate) fn quantile(&self, q: f64) -> Option<Duration> {
        let total = self.buckets.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
        let wanted = (total as f64 * q).ceil().max(1.0) as u64;
        let mut seen = 0u64;
        self.buckets.iter().enumerate().find_map(|(i, n)| {
            seen = seen.saturating_add(*n);
            let bound = || 1u64.checked_shl(i as u32).unwrap_or(u64::MAX);
            (seen >= wanted && *n > 0).then(|| Duration::from_nanos(bound()))
        })
    }

    /// A drawing of so many lines, each with [`COLUMNS`] characters, the highest first.
    pub(crate) fn drawing(&self, lines: usize) -> Vec<String> {
        const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let columns = self.columns();
        let most = columns.iter().copied().max().unwrap_or(0).max(1) as f64;
        let height = |n: u64| match n {
            0 => 0,
            // What happened is seen, however seldom it was.
            n => ((n as f64 / most * (lines * 8) as f64).round() as usize).max(1),
        };
        let line = |from: usize| {
            columns.iter().map(|n| EIGHTHS[height(*n).saturating_sub(from * 8).min(8)]).collect()
        };
        (0..lines).rev().map(line).collect()
    }

    fn columns(&self) -> [u64; COLUMNS] {
        let mut columns = [0u64; COLUMNS];
        for (i, n) in self.buckets.iter().enumerate() {
            let column = &mut columns[i.saturating_sub(FIRST_BUCKET).min(COLUMNS - 1)];
            *column = column.saturating_add(*n);
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(buckets: &[u64]) -> Waiting {
        Waiting { buckets: buckets.to_vec(), seconds: None }
    }

    #[test]
    fn what_waited_long_ago_is_forgotten() {
        let mut recent = Recent::default();
        assert_eq!(recent.waiting(), Waiting::default());
        recent.add(0.0, vec![100]);
        assert_eq!(recent.waiting(), waiting(&[100]), "nothing to compare with");
        for at in 1..=LOOKS_MAX {
            recent.add(at as f64, vec![100, at as u64]);
        }
        let counted = Waiting { buckets: vec![0, 10], seconds: Some(10.0) };
        assert_eq!(recent.waiting(), counted);
        recent.add(11.0, vec![100, 10]);
        assert_eq!(recent.waiting().buckets, [0, 9]);
        for at in 12..30 {
            recent.add(f64::from(at), vec![100, 10]);
        }
        assert_eq!(recent.waiting(), waiting(&[100, 10]), "since the start");
    }

    #[test]
    fn quantiles_are_upper_bounds() {
        let mut buckets = vec![0; 21];
        (buckets[10], buckets[20]) = (98, 2);
        let waiting = waiting(&buckets);
        assert_eq!(waiting.quantile(0.5), Some(Duration::from_nanos(1 << 10)));
        assert_eq!(waiting.quantile(0.99), Some(Duration::from_nanos(1 << 20)));
        assert_eq!(Waiting::default().quantile(0.5), None);
    }

    #[test]
    fn numbers_that_no_scheduler_has_are_drawn_too() {
        let absurd = waiting(&[u64::MAX; 300]);
        assert_eq!(absurd.quantile(1.0), Some(Duration::from_nanos(1)));
        assert!(absurd.drawing(3).iter().all(|line| line.chars().count() == COLUMNS));
    }

    #[test]
    fn columns_are_as_high_as_what_they_count() {
        let mut buckets = vec![0; 41];
        (buckets[10], buckets[20], buckets[40]) = (1, 100, 50);
        let drawing = waiting(&buckets).drawing(2);
        let at = |line: usize, column| drawing[line].chars().nth(column).unwrap();
        assert_eq!((at(0, 3), at(1, 3)), (' ', '▁'), "seldom is not never");
        assert_eq!((at(0, 13), at(1, 13)), ('█', '█'));
        assert_eq!((at(0, COLUMNS - 1), at(1, COLUMNS - 1)), (' ', '█'));
        assert_eq!(at(1, 4), ' ');
    }
}
