//! How many jobs are done, without the counting being what is measured?
//!
//! Each thread adds to a slot of its own, on its own cache line, with a plain load and store: a
//! shared counter would cost more than the scheduling. The waiting side sums the slots now and
//! then, and sleeps in between so that it takes no core from the workers. Everyone who is
//! measured counts like this.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

/// Threads that may ever count in one process. More is a mistake in a program.
const SLOTS: usize = 64;

/// Between two looks at least. Small beside the shortest run, some 10 ms.
const LOOK_EVERY: Duration = Duration::from_micros(40);

/// After a longer wait, looks become as rare as this share of it: the looks of a run that is
/// slow, because its instructions are counted, shall not count.
const LOOK_RELAXES: u32 = 200;

static NEXT_SLOT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SLOT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Two cache lines, since the prefetcher fetches them in pairs.
#[repr(align(128))]
struct Slot(AtomicU64);

/// A count that many threads add to.
pub struct Tally {
    slots: [Slot; SLOTS],
}

impl Default for Tally {
    fn default() -> Tally {
        Tally::new()
    }
}

impl Tally {
    pub const fn new() -> Tally {
        Tally { slots: [const { Slot(AtomicU64::new(0)) }; SLOTS] }
    }

    /// A tally for closures that must be `'static`. The program ends soon; it is not freed.
    pub fn leaked() -> &'static Tally {
        Box::leak(Box::new(Tally::new()))
    }

    /// Counts one.
    #[inline]
    pub fn add(&self) {
        let slot = SLOT.get();
        let Some(slot) = self.slots.get(slot) else { return self.add_first() };
        slot.0.store(slot.0.load(Relaxed) + 1, Relaxed);
    }

    /// A thread that counts for the first time takes a slot.
    #[cold]
    fn add_first(&self) {
        let slot = NEXT_SLOT.fetch_add(1, Relaxed);
        assert!(slot < SLOTS, "more than {SLOTS} threads count");
        SLOT.set(slot);
        self.add();
    }

    pub fn sum(&self) -> u64 {
        let used = NEXT_SLOT.load(Relaxed).min(SLOTS);
        self.slots[..used].iter().map(|slot| slot.0.load(Relaxed)).sum()
    }

    /// Returns when `total` has been counted since the tally was made.
    ///
    /// # Panics
    /// When more than that was counted: then something ran twice.
    pub fn wait_for(&self, total: u64) {
        let start = Instant::now();
        while self.sum() < total {
            thread::sleep(LOOK_EVERY.max(start.elapsed() / LOOK_RELAXES));
        }
        assert_eq!(self.sum(), total, "more jobs ran than were given");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_several_threads_add_up() {
        let tally = Tally::new();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| tally.add()));
            }
            tally.wait_for(4000);
        });
    }
}
