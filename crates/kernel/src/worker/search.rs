//! How a worker without work searches, parks, and comes back.

use crate::{
    entry::Entry,
    idle::Parked,
    record::EventKind,
    sync::{self, thread},
    worker::Worker,
    world::Nanos,
};

/// Rounds of searching: so many tight, so many with a thread yield, then park.
pub(super) const SPIN_TIGHT: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 4 };
/// Pauses in the first tight round, twice as many in each further one.
pub(super) const PAUSES: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 8 };
pub(super) const SPIN_MAX: u32 = if cfg!(any(loom, shuttle)) { 2 } else { 16 };

impl Worker {
    /// Searches until there is something to run. `None`: something is asked instead.
    #[cold]
    pub(super) fn search(&self) -> Option<Entry> {
        let idle = &self.shared.idle;
        let anything = || !self.shared.queues.all_empty();
        let now = || self.shared.clock.now();
        self.slot().leave_turn();
        let mut searching = idle.search();
        // One spinner is enough on a small machine.
        let crowded = idle.searching() > (self.shared.slots.len() / 2).max(1);
        let mut rounds = if crowded { SPIN_MAX } else { 0 };
        loop {
            if self.slot().asked() != 0 {
                searching.give_up(anything, now);
                return None;
            }
            if let Some(entry) = self.next().or_else(|| self.steal(rounds < SPIN_TIGHT)) {
                self.begin_work();
                searching.found_work(anything, now);
                return Some(entry);
            }
            if rounds < SPIN_TIGHT {
                // Longer each time: to look is to take a line of the cache from who pushes.
                (0..PAUSES << rounds).for_each(|_| sync::spin_loop());
            } else if rounds < SPIN_MAX {
                thread::yield_now();
            } else {
                self.note_park();
                let sleeps = || self.note_stay(now());
                match searching.park(self.id, || self.may_take_anything(), anything, sleeps) {
                    Parked::Search(again) => searching = again,
                    Parked::Closed => return None,
                }
                self.unparked_at.set(now());
                self.record(EventKind::Unpark, None);
                rounds = 0;
                continue;
            }
            rounds += 1;
        }
    }

    /// Before others can see that we park.
    pub(super) fn note_park(&self) {
        self.slot().counters.parks.add(1);
        self.record(EventKind::Park, None);
        self.deque.tidy();
    }

    /// We sleep now, after a stay that paid or not.
    pub(super) fn note_stay(&self, now: Nanos) {
        self.shared.vigil.slept();
        // In models time stands still, and so would the monitor that makes good for a hold.
        if !cfg!(any(loom, shuttle)) {
            let stay = now.saturating_sub(self.unparked_at.get());
            self.shared.idle.damper.stayed(stay, now);
        }
    }

    /// Whether anything waits that this worker may take.
    pub(super) fn may_take_anything(&self) -> bool {
        let queues = &self.shared.queues;
        self.slot().asked() != 0
            || !queues.lines_are_empty()
            || queues.spent.as_ref().is_some_and(|spent| !spent.is_empty())
            || self.shared.somebody_offers()
            || queues.inboxes.iter().enumerate().any(|(owner, inbox)| {
                !inbox.is_empty() && (owner == self.id || self.shared.slots[owner].is_occupied())
            })
    }
}
