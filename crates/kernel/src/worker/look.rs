//! How a worker looks at the time by itself: in turns that ask whether they should end or say that they
//! have had their share, and between turns.
//!
//! The monitor tells a worker that its quantum is over. But where all cores are taken each of its looks
//! is taken from a worker, and the system may let it in late. So a worker that comes by a clock anyway,
//! at the end of a turn that is timed, or is asked often, ends its quantum itself, and says when it has
//! looked. While all do so the monitor rests (see [`crate::monitor`]).
//!
//! Whoever has used up a quantum runs when nobody else wants to, and is to end soon after somebody
//! does. A turn of its that asks often looks at the clock every few microseconds. If others wait for its
//! worker, or a timer is due, it ends its turn, and its worker rings the timer.
//!
//! Questions are counted, and the clock is read once in so many that asking stays cheap.

use crate::{
    metrics::SAMPLE,
    monitor::{self, SLICE_MIN},
    sync::atomic::Ordering::Relaxed,
    worker::Worker,
    world::Nanos,
};

/// The clock is read about so often by one who has used up a quantum, if the turn asks so often.
const LOOK_EVERY: Nanos = 5_000;
/// And by others about so many times while the monitor would look once, but no more often.
const LOOKS: Nanos = 4;
/// The most questions between two looks.
const ASKED_MAX: u32 = 1024;

/// A shorter quantum is left to the monitor, whose looks are close enough then. Where workers ended it,
/// more turns were cut short by it (the fairness benchmark).
pub(crate) const OWN_QUANTUM_MIN: Nanos = 500_000;

/// In models time stands still.
const TIME_PASSES: bool = !cfg!(any(loom, shuttle));

/// A quantum and a half, as the monitor may let one have: one that ends its turns by a measure of its
/// own just when the quantum is over has not used it up.
fn with_grace(quantum: Nanos) -> Nanos {
    quantum.saturating_add(quantum / 2)
}

/// What a worker remembers of its looks.
#[derive(Clone, Copy, Default)]
pub(super) struct Looked {
    window: u64,
    /// The first look in this window.
    since: Nanos,
    /// The last one that a question led to.
    last: Nanos,
    /// Questions from one of these to the next.
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
        self.questions.set(ASKED_MAX);
        if !self.lives_in_real_time() {
            return false;
        }
        let quantum = self.shared.config.quantum;
        let spent = self.slot().is_in_spent_turn();
        if !spent && quantum < OWN_QUANTUM_MIN {
            return false;
        }
        let now = self.shared.clock.now();
        let age = self.note_look(now);
        let mut looked = self.looked.get();
        let usual = (monitor::look_every(quantum) / LOOKS).max(LOOK_EVERY);
        let aim = if spent { LOOK_EVERY } else { usual };
        looked.every = if now.saturating_sub(looked.last) < aim {
            (looked.every * 2).clamp(1, ASKED_MAX)
        } else {
            (looked.every / 2).max(1)
        };
        looked.last = now;
        self.looked.set(looked);
        self.questions.set(looked.every);
        let others = || self.shared.queues.somebody_waits_for(self.id);
        let wanted = || others() || self.shared.timers.is_due(now);
        let over = if spent { age >= SLICE_MIN && wanted() } else { age >= with_grace(quantum) };
        if over {
            self.slot().expired.store(true, Relaxed);
        }
        over
    }

    /// A turn was timed, and it is so late: the window may be over.
    pub(super) fn glance(&self, now: Nanos) {
        let quantum = self.shared.config.quantum;
        if quantum >= OWN_QUANTUM_MIN
            && self.lives_in_real_time()
            && self.note_look(now) >= with_grace(quantum)
            && !self.slot().is_in_spent_turn()
        {
            self.slot().expired.store(true, Relaxed);
        }
    }

    /// Notes that we have looked at the time, for the monitor too. Returns how long ago we first did
    /// so in this window.
    fn note_look(&self, now: Nanos) -> Nanos {
        let slot = self.slot();
        slot.looked_at.store(now, Relaxed);
        let (window, mut looked) = (slot.window.load(Relaxed), self.looked.get());
        if looked.window != window {
            // One who has used up a quantum should end soon after somebody comes.
            let every = if slot.is_in_spent_turn() { 1 } else { looked.every };
            looked = Looked { window, since: now, every, ..looked };
            self.looked.set(looked);
        }
        now.saturating_sub(looked.since)
    }

    /// The simulator ends quanta by the time that turns spend.
    fn lives_in_real_time(&self) -> bool {
        TIME_PASSES && !self.shared.is_simulated()
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
        self.lives_in_real_time() && self.shared.timers.is_due(self.now())
    }

    /// The time, if a timer is due. The simulator sees to its timers itself.
    fn timer_is_due(&self) -> Option<Nanos> {
        if !self.lives_in_real_time() {
            return None;
        }
        let now = self.shared.clock.now();
        self.shared.timers.is_due(now).then_some(now)
    }
}
