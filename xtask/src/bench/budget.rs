//! How much time is there? Who is in a hurry has a deadline for all areas together.

use std::time::{Duration, Instant};

use super::plan::Speed;

/// What `--quick` may take, without building: all areas together, or the one that is asked for, stay
/// below five minutes.
const QUICK: Duration = Duration::from_secs(270);
/// Who takes longer than this for a small run is not waited for, at a glance.
const RUN_MAX: Duration = Duration::from_secs(20);
/// Whoever is begun gets so long, even if there is less.
const RUN_MIN: Duration = Duration::from_secs(1);

/// For all areas, from the first run to the last.
pub(super) struct Budget {
    begun: Instant,
    /// None: as long as it takes.
    end: Option<Instant>,
    speed: Speed,
}

/// For one area.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    /// Of the area, and of all.
    ends: Option<(Instant, Instant)>,
    speed: Speed,
}

/// For how long a run is waited for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Limit {
    pub(super) length: Duration,
    /// Is it the end of the time there is for one area, and no fault of who is run?
    pub(super) is_deadline: bool,
}

impl Budget {
    pub(super) fn new(speed: Speed) -> Budget {
        let begun = Instant::now();
        let end = speed.is_small().then_some(begun + QUICK);
        Budget { begun, end, speed }
    }

    /// An equal part of what is left, for the first of so many areas: what one does not use, all
    /// that come after it have.
    pub(super) fn share(&self, areas: usize) -> Share {
        self.share_at(Instant::now(), areas)
    }

    fn share_at(&self, now: Instant, areas: usize) -> Share {
        let part = |end: Instant| end.saturating_duration_since(now) / areas.max(1) as u32;
        Share { ends: self.end.map(|end| (now + part(end), end)), speed: self.speed }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }
}

impl Share {
    /// Of which nothing is left.
    #[cfg(test)]
    pub(super) fn over() -> Share {
        let now = Instant::now();
        Share { ends: Some((now, now)), speed: Speed::Glance }
    }

    /// Of all areas.
    pub(super) fn speed(&self) -> Speed {
        self.speed
    }

    /// Is nobody to be begun any more?
    pub(super) fn is_over(&self) -> bool {
        self.is_over_at(Instant::now())
    }

    fn is_over_at(&self, now: Instant) -> bool {
        self.ends.is_some_and(|(own, _)| now >= own)
    }

    /// For how long a run is waited for that usually is for so long.
    pub(super) fn limit(&self, usual: Duration) -> Limit {
        self.limit_at(Instant::now(), usual)
    }

    fn limit_at(&self, now: Instant, usual: Duration) -> Limit {
        let Some((_, all)) = self.ends else { return Limit { length: usual, is_deadline: false } };
        let left = all.saturating_duration_since(now).max(RUN_MIN);
        // One area alone may take its time, as long as there is some.
        let is_glance = self.speed == Speed::Glance;
        let most = if is_glance { usual.min(RUN_MAX) } else { usual };
        Limit { length: most.min(left), is_deadline: !is_glance && left < most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_an_area_does_not_use_the_later_ones_have() {
        let budget = Budget::new(Speed::Glance);
        let start = budget.begun;
        let first = budget.share_at(start, 3);
        assert!(!first.is_over_at(start + 89 * SECOND) && first.is_over_at(start + 90 * SECOND));
        // It took ten seconds of its ninety: 130 for each of the others.
        let second = budget.share_at(start + 10 * SECOND, 2);
        assert!(
            !second.is_over_at(start + 139 * SECOND) && second.is_over_at(start + 140 * SECOND)
        );
        let last = budget.share_at(start + 100 * SECOND, 1);
        assert!(!last.is_over_at(start + 269 * SECOND) && last.is_over_at(start + 270 * SECOND));
        assert!(budget.share_at(start + 300 * SECOND, 1).is_over_at(start + 300 * SECOND));
    }

    #[test]
    fn a_run_ends_with_the_time_of_all() {
        let budget = Budget::new(Speed::Glance);
        let (start, usual) = (budget.begun, 60 * SECOND);
        let share = budget.share_at(start, 2);
        let limit = |at: Instant, usual| share.limit_at(at, usual).length;
        assert_eq!(limit(start, usual), RUN_MAX);
        assert_eq!(limit(start, 5 * SECOND), 5 * SECOND);
        assert_eq!(limit(start + QUICK - 7 * SECOND, usual), 7 * SECOND);
        assert_eq!(limit(start + QUICK, usual), RUN_MIN);
    }

    #[test]
    fn one_area_alone_is_cut_at_the_end_and_nowhere_else() {
        let budget = Budget::new(Speed::Quick);
        let (start, usual) = (budget.begun, 60 * SECOND);
        let share = budget.share_at(start, 1);
        assert!(!share.is_over_at(start + 269 * SECOND) && share.is_over_at(start + QUICK));
        let limit = |at: Instant| share.limit_at(at, usual);
        assert_eq!(limit(start), Limit { length: usual, is_deadline: false });
        assert_eq!(limit(start + QUICK - usual), Limit { length: usual, is_deadline: false });
        let short = Limit { length: 7 * SECOND, is_deadline: true };
        assert_eq!(limit(start + QUICK - 7 * SECOND), short);
    }

    #[test]
    fn who_is_not_in_a_hurry_has_no_end() {
        let budget = Budget::new(Speed::Full);
        let share = budget.share_at(budget.begun, 1);
        assert!(!share.is_over_at(budget.begun + 10_000 * SECOND));
        assert_eq!(share.limit_at(budget.begun, 900 * SECOND).length, 900 * SECOND);
    }
}
