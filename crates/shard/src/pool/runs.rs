//! Which nonces of a sender follow each other without a gap?
//!
//! Runs of consecutive numbers, each as its first and the one after its last. They never touch.

use std::collections::BTreeMap;

/// A set of numbers that knows its gaps. Everything is O(log n) in the number of gaps.
#[derive(Debug, Default)]
pub(super) struct Runs(BTreeMap<u64, u64>);

impl Runs {
    /// Adds a number that is not in it. Not the largest that there is: nothing comes after it.
    pub(super) fn add(&mut self, number: u64) {
        let start = match self.0.range(..=number).next_back() {
            Some((&start, &end)) if end == number => start,
            _ => number,
        };
        let end = self.0.remove(&(number + 1)).unwrap_or(number + 1);
        self.0.insert(start, end);
    }

    /// Removes a number that is in it.
    pub(super) fn remove(&mut self, number: u64) {
        let (&start, &end) = self.0.range(..=number).next_back().expect("it is in a run");
        assert!(number < end, "{number} is in no run");
        self.0.remove(&start);
        if start < number {
            self.0.insert(start, number);
        }
        if number + 1 < end {
            self.0.insert(number + 1, end);
        }
    }

    /// The first number from `from` on that is missing.
    pub(super) fn missing_from(&self, from: u64) -> u64 {
        match self.0.range(..=from).next_back() {
            Some((_, &end)) => end.max(from),
            None => from,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_number_that_fills_a_gap_joins_both_runs() {
        let mut runs = Runs::default();
        for number in [1, 2, 4, 5] {
            runs.add(number);
        }
        assert_eq!(runs.missing_from(1), 3);
        runs.add(3);
        assert_eq!(runs.missing_from(1), 6);
    }

    #[test]
    fn a_number_that_is_removed_leaves_a_gap() {
        let mut runs = Runs::default();
        for number in 0..5 {
            runs.add(number);
        }
        runs.remove(2);
        assert_eq!([0, 2, 3, 9].map(|from| runs.missing_from(from)), [2, 2, 5, 9]);
    }

    #[test]
    fn runs_are_those_of_a_set_after_any_changes() {
        let (mut runs, mut set) = (Runs::default(), BTreeSet::new());
        let mut seed = 1u64;
        for _ in 0..10_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = seed >> 60;
            if set.insert(number) {
                runs.add(number);
            } else {
                set.remove(&number);
                runs.remove(number);
            }
            for from in 0..17 {
                let missing = (from..).find(|number| !set.contains(number)).expect("it ends");
                assert_eq!(runs.missing_from(from), missing, "{set:?}");
            }
        }
    }
}
