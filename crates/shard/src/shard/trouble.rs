//! What does a shard do after a failure?
//!
//! A failure of the store concerns all shards and passes when it is reopened: the shard tries again,
//! for as long as it takes. A failure of its own may be for ever: after a few attempts the shard is
//! quarantined, and queries show why. Nothing is lost either way: the transactions are in its pool.

use std::time::Duration;

/// Attempts before quarantine.
pub const ATTEMPTS_MAX: u32 = 6;
const WAIT_FIRST: Duration = Duration::from_millis(50);
const WAIT_MAX: Duration = Duration::from_secs(5);

/// How a shard has fared lately.
#[derive(Debug, Default)]
pub(crate) struct Trouble {
    /// Failures since the last success: its own, and the store's.
    own: u32,
    store: u32,
}

/// What to do now.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Verdict {
    TryAfter(Duration),
    Quarantine,
}

impl Trouble {
    pub(crate) fn none(&mut self) {
        *self = Trouble::default();
    }

    /// It could not execute.
    pub(crate) fn failed(&mut self) -> Verdict {
        self.own += 1;
        if self.own >= ATTEMPTS_MAX {
            // Whoever is released begins anew.
            self.own = 0;
            Verdict::Quarantine
        } else {
            Verdict::TryAfter(wait(self.own))
        }
    }

    /// It could not commit.
    pub(crate) fn store_failed(&mut self) -> Verdict {
        self.store += 1;
        Verdict::TryAfter(wait(self.store))
    }
}

fn wait(failures: u32) -> Duration {
    WAIT_FIRST.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(WAIT_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_failures_end_in_quarantine_and_a_success_forgets_them() {
        let mut trouble = Trouble::default();
        for _ in 1..ATTEMPTS_MAX {
            assert!(matches!(trouble.failed(), Verdict::TryAfter(_)));
        }
        trouble.none();
        // And again after a release.
        for _ in 0..2 {
            for _ in 1..ATTEMPTS_MAX {
                assert!(matches!(trouble.failed(), Verdict::TryAfter(_)));
            }
            assert_eq!(trouble.failed(), Verdict::Quarantine);
        }
    }

    #[test]
    fn the_store_may_fail_for_long_and_the_waits_grow_to_a_limit() {
        let mut trouble = Trouble::default();
        let mut last = Duration::ZERO;
        for _ in 0..1_000 {
            let Verdict::TryAfter(wait) = trouble.store_failed() else {
                panic!("quarantined for a fault of the store")
            };
            assert!(wait >= last && wait <= WAIT_MAX);
            last = wait;
        }
        assert_eq!(last, WAIT_MAX);
    }
}
