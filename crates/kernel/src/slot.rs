//! What of a worker the others may see: is it in a turn, is its quantum over, what is it asked.

use crate::{
    metrics::Counters,
    sharing::{Share, Sharing},
    sync::{
        Mutex,
        atomic::{
            AtomicBool, AtomicI32, AtomicU8, AtomicU64,
            Ordering::{Relaxed, SeqCst},
            fence,
        },
        thread,
    },
};

/// Asked of a worker: take nothing until resumed.
pub(crate) const PAUSE: u8 = 1;
/// Asked of a worker: end after this turn.
pub(crate) const STOP: u8 = 2;
/// The runtime is shutting down: no pause counts any more, whenever it was asked.
const DRAIN: u8 = 4;

#[derive(Default)]
pub(crate) struct Slot {
    /// Raised when the turn should end: quantum over, budget spent, or something is asked.
    pub(crate) expired: AtomicBool,
    /// Counts windows, the stretches of turns that share one quantum. The monitor compares.
    pub(crate) window: AtomicU64,
    /// The last window of one who has used up a quantum before.
    pub(crate) spent_window: AtomicU64,
    /// Raised when others have had their turns before those who have used up a quantum for long
    /// enough.
    pub(crate) owes_spent: AtomicBool,
    /// When it last looked at the time by itself, and so ended its quantum if that was over.
    pub(crate) looked_at: AtomicU64,
    /// Whom what lies on its deque is meant for.
    pub(crate) sharing: Sharing,
    /// Between the start and the end of a turn.
    in_turn: AtomicBool,
    paused: AtomicBool,
    asked: AtomicU8,
    /// To unpark it when it is paused.
    pub(crate) thread: Mutex<Option<thread::Thread>>,
    /// The strand in its turn; 0 for a job.
    pub(crate) strand: AtomicU64,
    /// Moving average of the length of turns, in nanoseconds; 0 before the first.
    pub(crate) average: AtomicU64,
    /// The worker thread's CPU clock; 0 before it has started.
    pub(crate) cpu_clock: AtomicI32,
    pub(crate) counters: Counters,
}

impl Slot {
    /// In a turn or paused: others may take from this worker's inbox.
    pub(crate) fn is_occupied(&self) -> bool {
        self.in_turn.load(Relaxed) || self.paused.load(Relaxed)
    }

    /// Paused, or in a turn that should have ended: it may not come to what waits for it. The window
    /// in which that is so.
    pub(crate) fn kept_since(&self) -> Option<u64> {
        let late = self.in_turn.load(Relaxed) && self.expired.load(Relaxed);
        (late || self.paused.load(Relaxed)).then(|| self.window.load(Relaxed))
    }

    pub(crate) fn is_in_turn(&self) -> bool {
        self.in_turn.load(Relaxed)
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused.load(Relaxed)
    }

    /// In a turn of one who has used up a quantum before.
    pub(crate) fn is_in_spent_turn(&self) -> bool {
        self.is_in_turn() && self.spent_window.load(Relaxed) == self.window.load(Relaxed)
    }

    #[inline]
    pub(crate) fn enter_turn(&self) {
        self.in_turn.store(true, Relaxed);
    }

    /// Begins a stretch of turns. Pairs with the monitor's nap: it sees that we work, or our turns
    /// see that it naps (rule 5 of the idle protocol).
    pub(crate) fn begin_work(&self) {
        self.sharing.set(Share::Usual);
        self.in_turn.store(true, Relaxed);
        fence(SeqCst);
    }

    /// Enters a turn so that whoever deals to the inbox at this moment is not missed: it sees us
    /// occupied and calls somebody, or `inbox_waits` sees its entry.
    pub(crate) fn enter_turn_with_inbox(&self, inbox_waits: impl Fn() -> bool) -> bool {
        self.in_turn.store(true, Relaxed);
        fence(SeqCst);
        inbox_waits()
    }

    #[inline]
    pub(crate) fn leave_turn(&self) {
        self.in_turn.store(false, Relaxed);
    }

    pub(crate) fn set_paused(&self, paused: bool) {
        self.paused.store(paused, Relaxed);
    }

    /// Asks for something, and for the end of the turn.
    pub(crate) fn ask(&self, what: u8) {
        self.asked.fetch_or(what, Relaxed);
        // Pairs with the fence in `new_window`: it sees what is asked, or our flag comes after
        // its own store.
        fence(SeqCst);
        self.expired.store(true, Relaxed);
    }

    pub(crate) fn unask(&self, what: u8) {
        self.asked.fetch_and(!what, Relaxed);
    }

    /// From now on no pause is honoured.
    pub(crate) fn drain(&self) {
        self.asked.fetch_or(DRAIN, Relaxed);
    }

    #[inline]
    pub(crate) fn asked(&self) -> u8 {
        let asked = self.asked.load(Relaxed);
        if asked < DRAIN { asked } else { asked & STOP }
    }

    /// A new quantum begins, for one who has used one up before, or not.
    #[inline]
    pub(crate) fn new_window(&self, spent: bool) {
        let window = self.window.load(Relaxed) + 1;
        self.window.store(window, Relaxed);
        if spent {
            self.spent_window.store(window, Relaxed);
            self.owes_spent.store(false, Relaxed);
        }
        if self.expired.load(Relaxed) {
            self.expired.store(false, Relaxed);
            // See `ask`: without the fence a worker could be asked and never look up.
            fence(SeqCst);
            if self.asked() != 0 {
                self.expired.store(true, Relaxed);
            }
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use std::sync::Arc;

    /// A worker that begins a new quantum while something is asked of it still looks up.
    #[test]
    fn asked_while_a_window_begins_ends_the_turn_all_the_same() {
        loom::model(|| {
            let slot = Arc::new(Slot::default());
            slot.expired.store(true, Relaxed);
            let asker = loom::thread::spawn({
                let slot = slot.clone();
                move || slot.ask(STOP)
            });
            slot.new_window(false);
            asker.join().unwrap();
            assert!(slot.expired.load(Relaxed), "asked, and its turn does not know");
        });
    }

    /// An entry is dealt while the inbox's owner enters a turn: somebody is called.
    #[test]
    fn dealt_while_the_owner_enters_a_turn_is_seen_by_one_of_the_two() {
        loom::model(|| {
            let slot = Arc::new(Slot::default());
            let inbox = Arc::new(AtomicBool::new(false));
            let dealer = loom::thread::spawn({
                let (slot, inbox) = (slot.clone(), inbox.clone());
                move || {
                    inbox.store(true, Relaxed);
                    fence(SeqCst);
                    slot.is_occupied()
                }
            });
            let seen = slot.enter_turn_with_inbox(|| inbox.load(Relaxed));
            assert!(dealer.join().unwrap() || seen, "dealt behind a turn, and nobody knows");
        });
    }
}
