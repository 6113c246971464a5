//! How long a child waits before it is started again.

use std::time::Duration;

/// How long a child waits before it is started again: `first`, then twice as long each time, up to
/// `max`. A child that has run for `well_after` begins with `first` again.
///
/// ```
/// use std::time::Duration;
/// use process::Backoff;
///
/// let usual = Backoff::default();
/// assert_eq!((usual.first, usual.max), (Duration::from_secs(1), Duration::from_secs(90)));
/// let hasty = Backoff { first: Duration::from_millis(10), ..usual };
/// assert_eq!(hasty.max, usual.max);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// Before the first restart. By default 1 s.
    pub first: Duration,
    /// It does not get longer than this. By default 90 s.
    pub max: Duration,
    /// Up to this part of each delay is taken off by chance, so that many children that failed
    /// together do not come back together. From 0 to 1; by default 0.25.
    pub jitter: f64,
    /// A child that has run for so long has run well: its next delay is the first. By default 90 s.
    pub well_after: Duration,
}

impl Default for Backoff {
    fn default() -> Backoff {
        Backoff {
            first: Duration::from_secs(1),
            max: Duration::from_secs(90),
            jitter: 0.25,
            well_after: Duration::from_secs(90),
        }
    }
}

impl Backoff {
    /// Children are started again at once.
    pub fn none() -> Backoff {
        Backoff { first: Duration::ZERO, max: Duration::ZERO, ..Backoff::default() }
    }

    /// What is wrong with it, if anything.
    pub(super) fn flaw(&self) -> Option<&'static str> {
        if !(0.0..=1.0).contains(&self.jitter) {
            return Some("the jitter of a back-off is from 0 to 1");
        }
        (self.first > self.max).then_some("the first delay of a back-off is not above its longest")
    }

    /// The delay after so many failures in a row; `chance` decides the jitter.
    pub(super) fn delay(&self, failures: u32, chance: u64) -> Duration {
        let factor = 1u32.checked_shl(failures).unwrap_or(u32::MAX);
        let whole = self.first.saturating_mul(factor).min(self.max);
        let part = self.jitter * (chance as f64 / u64::MAX as f64);
        whole - whole.mul_f64(part).min(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_from_the_first_to_the_longest() {
        let backoff = Backoff::default();
        let delays: Vec<u64> = (0..10).map(|n| backoff.delay(n, 0).as_secs()).collect();
        assert_eq!(delays, [1, 2, 4, 8, 16, 32, 64, 90, 90, 90]);
        assert_eq!(backoff.delay(u32::MAX, 0), backoff.max);
    }

    #[test]
    fn jitter_takes_off_up_to_its_part() {
        let backoff = Backoff::default();
        assert_eq!(backoff.delay(0, u64::MAX), Duration::from_millis(750));
        assert_eq!(backoff.delay(9, u64::MAX), Duration::from_millis(67_500));
        let wild = Backoff { jitter: 1.0, ..backoff };
        assert_eq!(wild.delay(3, u64::MAX), Duration::ZERO);
        assert_eq!(Backoff::none().delay(5, 7), Duration::ZERO);
    }

    #[test]
    fn longest_possible_delays_do_not_overflow() {
        let backoff = Backoff { first: Duration::MAX, max: Duration::MAX, ..Backoff::default() };
        assert_eq!(backoff.delay(40, 0), Duration::MAX);
    }
}
