//! What time is it, for a worker that asks at every turn?
//!
//! The system's clock takes some 25 ns to read, a third of what a small turn costs. Processors have
//! a counter that takes less, but does not say what time it is. So a worker reads both now and then
//! (an *anchor*), learns from anchors that are far enough apart how long a tick is, and in between
//! counts ticks.
//!
//! 1. The time never goes back, and is never before a moment that was handed over
//!    ([`Ticks::not_before`]): so causes come before effects also between two workers.
//! 2. It is that of the runtime's clock to within some tens of nanoseconds: an anchor is trusted for
//!    [`TRUST`] only. Where the counter jumps, or the thread was off its core between the two
//!    readings, the clock itself is asked.
//! 3. A pace is trusted if the one learnt before it was much the same. A machine that slept has counted
//!    on while its clock stood still, and a counter may be set back: such a pace would stop the clock
//!    or make it race. Until two in a row agree, the clock is asked.
//! 4. Where there is no such counter, or it changes its pace with the processor's, or time is
//!    virtual, every question goes to the clock.

use std::cell::Cell;

use crate::world::{Clock, Nanos};

/// An anchor is good for so long.
const TRUST: Nanos = 1_000_000;
/// Anchors that are further apart tell how long a tick is.
const BASE: Nanos = 10_000_000;
/// Readings of the counter around one of the clock that are further apart tell nothing.
const APART_MAX: u64 = 1_000;
/// Paces that counters may have, of 10 GHz and of 0.1 GHz: nanoseconds per tick, times 2^32.
const PACE_MIN: u64 = (1 << 32) / 10;
const PACE_MAX: u64 = 10 << 32;
/// Two paces agree if they differ by less than this part of the one before.
const AGREE: u64 = 64;

/// A moment, by both.
#[derive(Clone, Copy, Default)]
struct Anchor {
    ticks: u64,
    nanos: Nanos,
}

/// A worker's own clock.
pub(crate) struct Ticks {
    /// Whether the counter is good for anything.
    counts: bool,
    anchor: Cell<Anchor>,
    /// So many ticks after the anchor it is trusted.
    trust: Cell<u64>,
    /// Nanoseconds per tick, times 2^32, as it was learnt last; 0: that made no sense.
    pace: Cell<u64>,
    /// The anchor that the next pace is reckoned from.
    base: Cell<Anchor>,
    last: Cell<Nanos>,
}

impl Ticks {
    pub(crate) fn new(clock: &Clock) -> Ticks {
        Ticks {
            counts: matches!(clock, Clock::Real(_)) && counter::is_steady(),
            anchor: Cell::default(),
            trust: Cell::new(0),
            pace: Cell::new(0),
            base: Cell::default(),
            last: Cell::new(0),
        }
    }

    #[inline]
    pub(crate) fn now(&self, clock: &Clock) -> Nanos {
        if self.counts {
            let anchor = self.anchor.get();
            let since = counter::read().wrapping_sub(anchor.ticks);
            if since < self.trust.get() {
                // The product is less than that of `TRUST` and 2^32.
                return self.never_back(anchor.nanos + ((since * self.pace.get()) >> 32));
            }
        }
        self.ask(clock)
    }

    #[inline]
    fn never_back(&self, now: Nanos) -> Nanos {
        let now = now.max(self.last.get());
        self.last.set(now);
        now
    }

    /// From now on it is not earlier than `at`, which another's clock has shown: what that led to must
    /// not seem to come before it.
    #[inline]
    pub(crate) fn not_before(&self, at: Nanos) {
        self.last.set(self.last.get().max(at));
    }

    #[cold]
    #[inline(never)]
    fn ask(&self, clock: &Clock) -> Nanos {
        if !self.counts {
            return clock.now();
        }
        let before = counter::read();
        let nanos = clock.now();
        let ticks = counter::read();
        if ticks.wrapping_sub(before) > APART_MAX {
            self.trust.set(0);
            return self.never_back(nanos);
        }
        let (now, base) = (Anchor { ticks, nanos }, self.base.get());
        self.anchor.set(now);
        if base.ticks == 0 {
            self.base.set(now);
        } else if nanos.saturating_sub(base.nanos) >= BASE {
            self.base.set(now);
            self.learn(base, now);
        }
        self.never_back(nanos)
    }

    /// How long a tick is, from two anchors. It is trusted if it agrees with what was learnt before.
    fn learn(&self, from: Anchor, to: Anchor) {
        let before = self.pace.replace(pace(from, to).unwrap_or(0));
        let pace = self.pace.get();
        let agrees = pace != 0 && pace.abs_diff(before) < before / AGREE;
        self.trust.set(if agrees {
            ((u128::from(TRUST) << 32) / u128::from(pace)) as u64
        } else {
            0
        });
    }
}

/// How long a tick is, from two anchors, if that is possible.
fn pace(from: Anchor, to: Anchor) -> Option<u64> {
    let ticks = to.ticks.checked_sub(from.ticks)?;
    let pace = (u128::from(to.nanos.checked_sub(from.nanos)?) << 32).checked_div(ticks.into())?;
    u64::try_from(pace).ok().filter(|pace| (PACE_MIN..=PACE_MAX).contains(pace))
}

#[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    /// Leaf of the processor's description that says whether the counter is steady, and its bit.
    const POWER: u32 = 0x8000_0007;
    const STEADY: u32 = 1 << 8;

    pub(super) fn is_steady() -> bool {
        __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & STEADY != 0
    }

    #[inline(always)]
    pub(super) fn read() -> u64 {
        // SAFETY: every x86-64 has it.
        unsafe { _rdtsc() }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle, miri)))))]
mod counter {
    pub(super) fn is_steady() -> bool {
        false
    }

    pub(super) fn read() -> u64 {
        0
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_is_the_clocks_own() {
        let clock = Clock::simulated();
        let ticks = Ticks::new(&clock);
        for at in [0, 5, 5, 1_000_000, 3] {
            clock.set(at);
            assert_eq!(ticks.now(&clock), at);
        }
    }

    #[test]
    fn time_never_goes_back() {
        let clock = Clock::real();
        let ticks = Ticks::new(&clock);
        let mut last = 0;
        // Long enough for some anchors, and for a pace to be learnt from them.
        while last < 3 * BASE {
            let now = ticks.now(&clock);
            assert!(now >= last, "{now} comes after {last}");
            last = now;
        }
    }

    #[test]
    fn time_is_not_before_what_was_handed_over() {
        let clock = Clock::real();
        let ticks = Ticks { counts: true, ..Ticks::new(&clock) };
        let later = clock.now() + 1_000_000_000;
        ticks.not_before(later);
        assert_eq!(ticks.now(&clock), later);
    }

    /// Anchors at three ticks per nanosecond, as far apart as a pace is learnt from.
    fn anchor(number: u64) -> Anchor {
        Anchor { ticks: 1_000 + 3 * BASE * number, nanos: 100 + BASE * number }
    }

    #[test]
    fn pace_is_that_of_two_anchors_and_trust_a_millisecond_of_it() {
        let ticks = Ticks::new(&Clock::real());
        ticks.learn(anchor(0), anchor(1));
        assert_eq!(ticks.trust.get(), 0, "nothing agrees with it yet");
        ticks.learn(anchor(1), anchor(2));
        assert_eq!(ticks.trust.get() / 1000, 3 * TRUST / 1000);
        assert_eq!((ticks.pace.get() * 3) >> 22, (1 << 32 >> 22) - 1);
    }

    #[test]
    fn counter_that_stands_still_is_not_trusted() {
        let ticks = Ticks::new(&Clock::real());
        let same = |nanos| Anchor { ticks: 7, nanos };
        for number in 0..3 {
            ticks.learn(same(BASE * number), same(BASE * (number + 1)));
            assert_eq!(ticks.trust.get(), 0);
        }
    }

    /// The counter of a machine that slept, one that is a little off, and one that was set back.
    #[test]
    fn counter_that_jumped_is_trusted_again_when_two_paces_agree() {
        let hour = 3 * 3_600_000_000_000;
        let jumps: [fn(u64, u64) -> u64; 3] = [
            |ticks, hour| ticks + hour,
            |ticks, _| ticks + 3 * BASE / 32,
            |ticks, _| ticks - 3 * BASE - 500,
        ];
        for jump in jumps {
            let ticks = Ticks::new(&Clock::real());
            ticks.learn(anchor(0), anchor(1));
            ticks.learn(anchor(1), anchor(2));
            let trusted = ticks.trust.get();
            assert_ne!(trusted, 0);
            let after = |number| {
                let Anchor { ticks, nanos } = anchor(number);
                Anchor { ticks: jump(ticks, hour), nanos }
            };
            ticks.learn(anchor(2), after(3));
            assert_eq!(ticks.trust.get(), 0, "it has jumped");
            ticks.learn(after(3), after(4));
            assert_eq!(ticks.trust.get(), 0, "the one before made no sense");
            ticks.learn(after(4), after(5));
            assert_eq!(ticks.trust.get(), trusted);
        }
    }

    #[test]
    fn time_goes_on_whatever_the_counter_has_done() {
        let clock = Clock::real();
        let hour = 3 * 3_600_000_000_000;
        // Since the last anchor it went on for an hour, or was set back by one.
        for jump in [u64::wrapping_sub, u64::wrapping_add] {
            let ticks = Ticks { counts: true, ..Ticks::new(&clock) };
            let then = Anchor { ticks: jump(counter::read(), hour), nanos: 0 };
            ticks.anchor.set(then);
            ticks.base.set(then);
            ticks.pace.set((1 << 32) / 3);
            ticks.trust.set(3 * TRUST);
            while clock.now() < BASE {}
            for _ in 0..3 {
                let before = clock.now();
                assert!(ticks.now(&clock) >= before);
            }
            assert_eq!(ticks.trust.get(), 0, "the clock is asked until paces agree");
        }
    }
}
