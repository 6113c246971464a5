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
//! 3. Where there is no such counter, or it changes its pace with the processor's, or time is
//!    virtual, every question goes to the clock.

use std::cell::Cell;

use crate::world::{Clock, Nanos};

/// An anchor is good for so long.
const TRUST: Nanos = 1_000_000;
/// Anchors that are further apart tell how long a tick is.
const BASE: Nanos = 10_000_000;
/// Readings of the counter around one of the clock that are further apart tell nothing.
const APART_MAX: u64 = 1_000;

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
    /// Nanoseconds per tick, times 2^32.
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
        if !self.counts {
            return clock.now();
        }
        let anchor = self.anchor.get();
        let since = counter::read().wrapping_sub(anchor.ticks);
        if since >= self.trust.get() {
            return self.ask(clock);
        }
        // Fewer ticks than are trusted, so the product is less than that of `TRUST` and 2^32.
        self.never_back(anchor.nanos + ((since * self.pace.get()) >> 32))
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
    fn ask(&self, clock: &Clock) -> Nanos {
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

    /// How long a tick is, from two anchors.
    fn learn(&self, from: Anchor, to: Anchor) {
        let ticks = u128::from(to.ticks.wrapping_sub(from.ticks)).max(1);
        let pace = (u128::from(to.nanos - from.nanos) << 32) / ticks;
        let trust = (u128::from(TRUST) << 32) / pace.max(1);
        match (u64::try_from(trust), u64::try_from(pace)) {
            (Ok(trust), Ok(pace)) => {
                self.pace.set(pace);
                self.trust.set(trust);
            }
            _ => self.trust.set(0),
        }
    }
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
