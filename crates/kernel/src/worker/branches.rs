//! How a turn leaves a branch to others, and what its worker does until the branch has ended.
//!
//! A branch lies on the deque like any entry, and others steal it like any entry. Its joiner knows
//! the place where it lies. What lies above was put there since, and goes first: within the quantum
//! it is run, inside of the turn that joins; after that it joins the line.
//!
//! When the branch is gone, whoever took it runs it or gives it back. Until then the joiner searches
//! as a worker without work does, with the latch as one more thing to find, and runs what it finds
//! inside of its turn and its quantum. A worker that is asked to pause or stop takes nothing and
//! only waits; so does one with too many turns inside of each other, for the sake of its stack.

use std::mem::ManuallyDrop;

use crate::{
    attributes::Rank,
    branch::{Head, Latch, Settled},
    entry::{Entry, Opened},
    idle::Parked,
    queue::Queue,
    record::EventKind,
    sync::{self, atomic::Ordering::Relaxed, thread},
    worker::{
        Worker,
        search::{PAUSES, SPIN_MAX, SPIN_TIGHT},
    },
};

/// So many turns are nested in each other at most.
const INSIDE_MAX: u32 = 16;

impl Worker {
    /// Whether a turn may leave a branch to others: the order of turns is ours to change, and
    /// others are really there. Also when its quantum is spent: a branch is no turn that waits in
    /// line, but part of one that has begun.
    #[inline(always)]
    pub(crate) fn may_fork(&self) -> bool {
        self.forks
    }

    /// Whether the second half of a join goes first: in a simulation, where another worker might
    /// have been that fast.
    pub(crate) fn reverses_a_join(&self) -> bool {
        self.stealing && self.shared.slots.len() > 1 && self.roll(2) == 1
    }

    /// Leaves a branch to others. Returns the place of its entry.
    ///
    /// # Safety
    /// It is forked once, and its frame is there until it is reclaimed or its latch is settled.
    #[inline(always)]
    pub(crate) unsafe fn fork(&self, branch: *const Head) -> usize {
        // SAFETY: the slot is ours; the rest by the caller's promise.
        let place = unsafe { self.deque.push_with(|slot| Entry::write_branch(slot, branch)) };
        if self.has_inbox {
            // See `Shared::place_in`.
            self.shared.placed();
        } else {
            self.shared.placed_near();
        }
        place
    }

    /// Takes a branch back, unless somebody else has it.
    #[inline(always)]
    pub(crate) fn reclaim(&self, place: usize) -> bool {
        self.deque.take_back(place) || self.reclaim_from_below(place)
    }

    #[cold]
    fn reclaim_from_below(&self, place: usize) -> bool {
        // Places are numbered without an end.
        while self.deque.next_place().wrapping_sub(place) as isize > 1 {
            if !self.keeps_near() || self.inside.get() >= INSIDE_MAX {
                match self.pop_newest() {
                    Some(entry) => self.send_to_the_line(entry),
                    None => return false,
                }
            } else {
                let Some(entry) = self.take_newest() else { return false };
                // SAFETY: as in `run_own`.
                self.run_inside(unsafe { Entry::open(entry.as_ptr()) });
            }
        }
        self.deque.take_back(place)
    }

    /// Waits until whoever has the branch has run it or given it back, and works meanwhile.
    #[cold]
    pub(crate) fn wait_for(&self, latch: &Latch) -> Settled {
        loop {
            if let Some(settled) = latch.look() {
                return settled;
            }
            let closed = self.shared.idle.is_closed();
            if self.slot().asked() != 0 || closed || self.inside.get() >= INSIDE_MAX {
                if latch.fall_asleep() {
                    thread::park();
                }
            } else if let Some(entry) = self.search_beside(latch) {
                // Used up by its turn, as in `run_next`.
                let mut entry = ManuallyDrop::new(entry);
                // SAFETY: as in `run_next`.
                self.run_inside(unsafe { Entry::open(&raw mut *entry) });
            }
        }
    }

    /// Searches for something to run. `None`: the branch is settled, or something is asked.
    fn search_beside(&self, latch: &Latch) -> Option<Entry> {
        let idle = &self.shared.idle;
        let anything = || !self.shared.queues.all_empty();
        let now = || self.shared.clock.now();
        let mut searching = idle.search();
        let mut rounds = 0;
        loop {
            if latch.look().is_some() || self.slot().asked() != 0 {
                searching.give_up(anything, now);
                return None;
            }
            if let Some(entry) = self.pop_newest().or_else(|| self.rob(false)) {
                searching.found_work(anything, now);
                return Some(entry);
            }
            if rounds < SPIN_TIGHT {
                (0..PAUSES << rounds).for_each(|_| sync::spin_loop());
            } else if rounds < SPIN_MAX {
                thread::yield_now();
            } else if latch.fall_asleep() {
                self.note_park();
                let sleeps = || self.note_stay(now());
                let found = || latch.look().is_some() || self.may_rob();
                match searching.park_in_turn(self.id, found, anything, sleeps) {
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

    /// Whether anything waits that a turn which waits for a branch would take.
    fn may_rob(&self) -> bool {
        let queues = &self.shared.queues;
        self.slot().asked() != 0
            || !self.deque.is_empty()
            || self.shared.somebody_offers()
            || queues.inboxes.iter().enumerate().any(|(owner, inbox)| {
                owner != self.id && !inbox.is_empty() && self.shared.slots[owner].is_occupied()
            })
    }

    /// Runs an entry inside of the turn that this worker is in.
    fn run_inside(&self, entry: Opened) {
        let slot = self.slot();
        let strand = slot.strand.load(Relaxed);
        // A job would pass for a turn of the strand, and claim somebody whom nobody runs.
        slot.strand.store(0, Relaxed);
        let (held, fresh) = (self.held.take(), self.fresh.replace(false));
        self.inside.set(self.inside.get() + 1);
        self.moment.set(0);
        self.run(entry);
        self.moment.set(0);
        self.inside.set(self.inside.get() - 1);
        let left = self.held.replace(held);
        assert!(left.is_none(), "a turn has ended, and whom it had claimed was not run");
        self.fresh.set(fresh);
        slot.strand.store(strand, Relaxed);
        if self.has_inbox {
            self.enter_turn_with_inbox();
        }
    }

    /// What was placed near goes to the back of the line after all.
    fn send_to_the_line(&self, entry: Entry) {
        let rank = entry.peek().map_or_else(Rank::default, |strand| strand.header().rank());
        let line: &Queue = self.inbox().unwrap_or(&self.shared.queues.global);
        line.push(entry, &rank);
        self.shared.placed();
    }
}
