//! How a turn that asks whether it should end, or says that it has had its share, looks at the time by
//! itself.
//!
//! Whoever has used up a quantum runs when nobody else wants to, and is to end soon after somebody
//! does. The monitor would tell it, but on a machine whose cores are all taken the system may let
//! the monitor in late. A turn that asks often therefore looks at the clock now and then: at most
//! every few microseconds, so that asking stays cheap. If others wait for its worker, or a timer is due, it
//! ends its turn, and its worker rings the timer.

use crate::{
    metrics::SAMPLE, monitor::SLICE_MIN, sync::atomic::Ordering::Relaxed, worker::Worker,
    world::Nanos,
};

/// The clock is read about so often, if the turn asks so often.
const LOOK_EVERY: Nanos = 5_000;
/// The most questions between two looks.
const ASKED_MAX: u32 = 1024;

/// In models time stands still.
const LOOKS: bool = !cfg!(any(loom, shuttle));

/// What a worker remembers of its last look.
#[derive(Clone, Copy, Default)]
pub(super) struct Looked {
    window: u64,
    /// The first look in this window.
    since: Nanos,
    last: Nanos,
    /// Questions from one look to the next.
    every: u32,
}

impl Worker {
    /// Whether the turn should end.
    #[inline]
    pub(crate) fn expired(&self) -> bool {
        if self.slot().expired.load(Relaxed) {
            return true;
        }
        let left = self.questions.get();
        if left > 0 {
            self.questions.set(left - 1);
            return false;
        }
        self.look_up()
    }

    #[cold]
    fn look_up(&self) -> bool {
        let slot = self.slot();
        self.questions.set(ASKED_MAX);
        if !LOOKS || self.shared.is_simulated() || !slot.is_in_spent_turn() {
            return false;
        }
        let now = self.shared.clock.now();
        let window = slot.window.load(Relaxed);
        let mut looked = self.looked.get();
        if looked.window != window {
            looked = Looked { window, since: now, every: 1, ..looked };
        } else if now.saturating_sub(looked.last) < LOOK_EVERY {
            looked.every = (looked.every * 2).min(ASKED_MAX);
        } else {
            looked.every = (looked.every / 2).max(1);
        }
        looked.last = now;
        self.looked.set(looked);
        self.questions.set(looked.every);
        let others = || self.shared.queues.somebody_waits_for(self.id);
        let wanted = || others() || self.shared.timers.is_due(now);
        let over = now.saturating_sub(looked.since) >= SLICE_MIN && wanted();
        if over {
            slot.expired.store(true, Relaxed);
        }
        over
    }

    /// This turn has had its share. Says whether it is alone: then it goes on as if nothing were.
    pub(crate) fn use_up(&self) -> bool {
        let alone = self.shared.queues.all_empty() && !self.timer_seems_due();
        if !alone {
            self.slot().expired.store(true, Relaxed);
            // Whoever opened the window.
            self.fresh.set(true);
        }
        alone
    }

    /// A strand that was alone when its share was used up has yielded. Whether it takes its next turn
    /// at once, in a window of its own: to put it into line would call another worker, which takes it
    /// away from its cache. What comes meanwhile waits as for any other turn, since the next share ends
    /// with the same look. A turn that joins waits below those inside of it, where no look finds it, so
    /// these do not go on. The simulator interleaves turns itself.
    pub(super) fn goes_on(&self) -> bool {
        let goes_on = self.stealing
            && self.slot().asked() == 0
            && self.inside.get() == 0
            && !self.shared.is_simulated();
        if goes_on {
            self.open_window(false);
        }
        goes_on
    }

    /// The next turn of a strand that [goes on](Worker::goes_on), inside of its last one: nothing of the
    /// end of a turn and the beginning of another would be seen by anybody. Not if one of the two is
    /// timed or recorded, or one who was handed to is next.
    pub(crate) fn goes_on_inside(&self) -> bool {
        let turns = &self.slot().counters.turns;
        let sampled = |turn: u64| turn.is_multiple_of(SAMPLE);
        let timed = sampled(turns.get()) || sampled(turns.get() + 1) || self.exact;
        let plain = !timed && !self.has_inbox && !self.shared.recorder.is_on();
        let goes_on = plain && self.held.get().is_none() && self.goes_on();
        if goes_on {
            turns.add(1);
        }
        goes_on
    }

    /// Rings timers that are due, between two turns.
    pub(super) fn ring_timers(&self) {
        if let Some(now) = self.timer_is_due() {
            self.shared.timers.ring(now);
        }
    }

    /// Whether a timer is due by this worker's own clock, which may be wrong by some nanoseconds: good
    /// enough for a look at each share, and cheaper.
    fn timer_seems_due(&self) -> bool {
        LOOKS && !self.shared.is_simulated() && self.shared.timers.is_due(self.now())
    }

    /// The time, if a timer is due. The simulator sees to its timers itself.
    fn timer_is_due(&self) -> Option<Nanos> {
        if !LOOKS || self.shared.is_simulated() {
            return None;
        }
        let now = self.shared.clock.now();
        self.shared.timers.is_due(now).then_some(now)
    }
}
