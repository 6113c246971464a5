//! When is it not worth unparking one more worker?
//!
//! Unparking a thread costs some microseconds on both sides. Where work comes in small pieces,
//! faster than a worker takes to wake, a second worker finds nothing left when it arrives, parks
//! again, and is called again by the next piece. So a stay (from unpark to park) that was too
//! short to pay for itself holds back further calls for a while, twice as long each time, as long
//! as somebody else is awake; a stay that paid ends that.
//!
//! Nothing relies on the damper for being right: whoever is held back wakes the monitor instead,
//! which calls for help at its next look if something still waits. All accesses are relaxed: the
//! damper is a guess, and a stale guess costs a call too many or one look of the monitor.

use crate::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    world::Nanos,
};

/// A stay shorter than this did not pay for its unpark.
const STAY_MIN: Nanos = 50_000;
/// The shortest and the longest time that calls are held back.
const HOLD_MIN: Nanos = 100_000;
const HOLD_MAX: Nanos = 1_600_000;
/// The clock costs more than a push: it is read once in so many calls that are held back.
const CALLS_PER_LOOK: u32 = 16;

#[derive(Default)]
pub(crate) struct Damper {
    /// Calls are held back until then; 0: they are not.
    until: AtomicU64,
    /// How long the last hold was.
    hold: AtomicU64,
    calls: AtomicU32,
}

impl Damper {
    /// A worker parks again after a stay of `stay`.
    pub(crate) fn stayed(&self, stay: Nanos, now: Nanos) {
        if stay >= STAY_MIN {
            self.hold.store(0, Relaxed);
            self.until.store(0, Relaxed);
            return;
        }
        let hold = (self.hold.load(Relaxed) * 2).clamp(HOLD_MIN, HOLD_MAX);
        self.hold.store(hold, Relaxed);
        self.calls.store(0, Relaxed);
        self.until.store(now + hold, Relaxed);
    }

    /// Whether a call is to be held back.
    pub(crate) fn holds(&self, now: impl FnOnce() -> Nanos) -> bool {
        let until = self.until.load(Relaxed);
        if until == 0 {
            return false;
        }
        let calls = self.calls.load(Relaxed);
        self.calls.store(calls.wrapping_add(1), Relaxed);
        if !calls.is_multiple_of(CALLS_PER_LOOK) || now() < until {
            return true;
        }
        self.until.store(0, Relaxed);
        false
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn short_stays_hold_back_for_longer_each_time() {
        let damper = Damper::default();
        assert!(!damper.holds(|| 0));
        damper.stayed(STAY_MIN - 1, 1_000);
        assert!(damper.holds(|| 1_000));
        damper.stayed(STAY_MIN - 1, 2_000);
        assert_eq!(damper.until.load(Relaxed), 2_000 + 2 * HOLD_MIN);
    }

    #[test]
    fn a_stay_that_paid_ends_the_hold() {
        let damper = Damper::default();
        damper.stayed(0, 1_000);
        damper.stayed(STAY_MIN, 2_000);
        assert!(!damper.holds(|| 2_000));
    }

    #[test]
    fn a_call_after_the_hold_goes_through() {
        let damper = Damper::default();
        damper.stayed(0, 1_000);
        assert!(!damper.holds(|| 1_000 + HOLD_MIN));
    }
}
