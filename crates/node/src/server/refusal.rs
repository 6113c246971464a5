//! What is turned away at the door, and who is told?

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// A warning of one kind comes at most this often: who is turned away a thousand times a second
/// must not fill the disk with it.
const WARN_EVERY: Duration = Duration::from_secs(10);

/// Why something is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Connections,
    HeaderTimeout,
    BodyTimeout,
    BodyBytes,
    AnswerBytes,
    Depth,
    Subscriptions,
    Host,
    Origin,
    Dashboards,
}

impl Refusal {
    pub(crate) const ALL: [Refusal; 10] = [
        Refusal::Connections,
        Refusal::HeaderTimeout,
        Refusal::BodyTimeout,
        Refusal::BodyBytes,
        Refusal::AnswerBytes,
        Refusal::Depth,
        Refusal::Subscriptions,
        Refusal::Host,
        Refusal::Origin,
        Refusal::Dashboards,
    ];

    /// Its name in metrics and logs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Refusal::Connections => "connections",
            Refusal::HeaderTimeout => "header_timeout",
            Refusal::BodyTimeout => "body_timeout",
            Refusal::BodyBytes => "body_bytes",
            Refusal::AnswerBytes => "answer_bytes",
            Refusal::Depth => "json_depth",
            Refusal::Subscriptions => "subscriptions",
            Refusal::Host => "host",
            Refusal::Origin => "origin",
            Refusal::Dashboards => "dashboards",
        }
    }
}

/// How often each kind has happened, and when it was last written to the log.
#[derive(Debug, Default)]
pub(crate) struct Refusals([Kind; Refusal::ALL.len()]);

#[derive(Debug, Default)]
struct Kind {
    count: AtomicU64,
    /// How many of them the log knows of.
    told: AtomicU64,
    /// When the next warning may come, in nanoseconds of the runtime's clock.
    next: AtomicU64,
}

impl Refusals {
    /// Counts one, and warns if none of its kind was warned of lately.
    pub(crate) fn note(&self, refusal: Refusal, now: Duration) {
        let kind = &self.0[refusal as usize];
        let count = kind.count.fetch_add(1, Relaxed) + 1;
        let (now, next) = (now.as_nanos() as u64, kind.next.load(Relaxed));
        let after = now + WARN_EVERY.as_nanos() as u64;
        if now < next || kind.next.compare_exchange(next, after, Relaxed, Relaxed).is_err() {
            return;
        }
        let since_last = count - kind.told.swap(count, Relaxed).min(count);
        tracing::warn!(limit = refusal.name(), count = since_last, "requests were turned away");
    }

    pub(crate) fn count(&self, refusal: Refusal) -> u64 {
        self.0[refusal as usize].count.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_place_and_a_name_of_its_own() {
        let refusals = Refusals::default();
        for refusal in Refusal::ALL {
            assert_eq!(refusals.count(refusal), 0);
            refusals.note(refusal, Duration::ZERO);
            assert_eq!(refusals.count(refusal), 1);
        }
        let mut names = Refusal::ALL.map(Refusal::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Refusal::ALL.len());
    }

    #[test]
    fn a_flood_is_told_once_in_a_while_and_with_its_number() {
        let refusals = Refusals::default();
        let told = || refusals.0[Refusal::Depth as usize].told.load(Relaxed);
        for _ in 0..1_000 {
            refusals.note(Refusal::Depth, Duration::from_secs(1));
        }
        assert_eq!(told(), 1);
        refusals.note(Refusal::Depth, WARN_EVERY + Duration::from_secs(1));
        assert_eq!(told(), 1_001);
    }
}
