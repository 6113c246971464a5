//! How many restarts are too many.

use std::{collections::VecDeque, time::Duration};

/// At most `max` restarts within `period`, over all children of a supervisor.
///
/// A restart counts when its child has failed. The time that a child waits for its back-off does not
/// hide it: by the time that it ran alone, it may not fail more often within `period` either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Intensity {
    pub(super) max: u32,
    pub(super) period: Duration,
}

impl Intensity {
    pub(super) const UNLIMITED: u32 = u32::MAX;
}

/// The restarts of late.
#[derive(Debug)]
pub(super) struct Restarts {
    pub(super) intensity: Intensity,
    times: VecDeque<Duration>,
}

impl Restarts {
    pub(super) fn new(intensity: Intensity) -> Restarts {
        Restarts { intensity, times: VecDeque::new() }
    }

    /// Counts a restart. True: it is one too many.
    #[must_use]
    pub(super) fn count(&mut self, now: Duration) -> bool {
        let Intensity { max, period } = self.intensity;
        if max == Intensity::UNLIMITED {
            return false;
        }
        self.times.push_back(now);
        while self.times.front().is_some_and(|first| now - *first >= period) {
            self.times.pop_front();
        }
        self.times.len() > max as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(max: u32, period: u64, times: &[u64]) -> Vec<bool> {
        let intensity = Intensity { max, period: Duration::from_secs(period) };
        let mut restarts = Restarts::new(intensity);
        times.iter().map(|at| restarts.count(Duration::from_secs(*at))).collect()
    }

    #[test]
    fn one_more_than_the_most_in_the_period_is_too_many() {
        assert_eq!(count(2, 5, &[0, 1, 4]), [false, false, true]);
    }

    #[test]
    fn those_that_are_older_than_the_period_do_not_count() {
        assert_eq!(count(2, 5, &[0, 1, 5, 6, 10]), [false; 5]);
    }

    #[test]
    fn with_none_allowed_the_first_is_too_many() {
        assert_eq!(count(0, 5, &[3]), [true]);
    }

    #[test]
    fn without_a_limit_none_is_too_many() {
        assert_eq!(count(Intensity::UNLIMITED, 5, &[0; 100]), [false; 100]);
    }
}
