//! A multi-level feedback queue: who uses up the slice sinks, who pauses early rises.
//!
//! Level 0 is served first, each level in order of arrival. A strand that yields with its slice
//! used up sinks one level; one that pauses before that rises one. So short turns overtake long
//! ones without anybody saying which is which.
//!
//! So that nobody starves at the bottom, from time to time there is a *boost*: everything queued
//! moves to level 0 in its order, and every strand starts anew from there. A boost comes after
//! [`BOOST`] pops or after as many as there were entries at the last one, whichever is more: an
//! entry waits through at most one such period before it is at the top. Since what was moved stays
//! there until it is popped, moving costs a constant per entry.
//!
//! Where each worker has a queue of its own, strands go from one to another, and keep their level on
//! the way. So boosts are counted for all queues together, in an [`Epoch`]: the first queue whose
//! pops are up begins a new one, and each other queue follows when it is next used.

use std::{collections::VecDeque, sync::Arc};

use crate::{
    entry::Entry,
    strand::StrandRef,
    sync::{
        Mutex,
        atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
    },
};

/// Most levels of [`Discipline::Feedback`](crate::Discipline::Feedback): to find the next entry is
/// to look at one level after the other.
pub const LEVELS_MAX: usize = 1024;

/// The least number of pops between two boosts.
const BOOST: u64 = 1024;

/// A strand's level is in the lowest bits of a word, and the epoch in which it was set above them: a
/// strand that rests for as many boosts as there are epochs may keep its level once.
const LEVEL: u32 = LEVELS_MAX as u32;

/// In place of an epoch: the strand was never queued, its level is what its attributes say.
const NEW: u32 = u32::MAX / LEVEL;

/// The level of a new strand, as its header keeps it.
pub(crate) fn new_level(level: u32) -> u32 {
    NEW * LEVEL + level.min(LEVEL - 1)
}

/// Counts boosts, for all queues of a runtime. A strand's level counts only if it was set in this
/// epoch.
#[derive(Default)]
pub(crate) struct Epoch(AtomicU32);

impl Epoch {
    fn now(&self) -> u32 {
        self.0.load(Relaxed)
    }

    /// Begins the one after `epoch`, unless somebody has. Returns the one that it is now.
    fn after(&self, epoch: u32) -> u32 {
        let next = epoch.wrapping_add(1) % NEW;
        match self.0.compare_exchange(epoch, next, Relaxed, Relaxed) {
            Ok(_) => next,
            Err(now) => now,
        }
    }
}

pub(crate) struct FeedbackQueue {
    levels: Mutex<Levels>,
    len: AtomicUsize,
    lowest: u32,
    epoch: Arc<Epoch>,
}

struct Levels {
    queues: Vec<VecDeque<Entry>>,
    /// That of the last boost here.
    epoch: u32,
    pops_to_boost: u64,
}

impl FeedbackQueue {
    /// `levels`: from 1 to [`LEVELS_MAX`].
    pub(crate) fn new(levels: usize, epoch: Arc<Epoch>) -> FeedbackQueue {
        let queues = (0..levels).map(|_| VecDeque::new()).collect();
        let lowest = levels as u32 - 1;
        let levels = Levels { queues, epoch: epoch.now(), pops_to_boost: BOOST };
        FeedbackQueue { levels: Mutex::new(levels), len: AtomicUsize::new(0), lowest, epoch }
    }

    /// `start`: the level of a job, which has no history.
    pub(crate) fn push(&self, entry: Entry, start: u32) {
        let levels = &mut *self.levels.lock();
        levels.follow(self.epoch.now());
        let level = match entry.peek() {
            Some(strand) => {
                let level = self.level_of(strand);
                self.set(strand, level);
                level
            }
            None => start.min(self.lowest),
        };
        levels.queues[level as usize].push_back(entry);
        self.len.fetch_add(1, Relaxed);
    }

    pub(crate) fn pop(&self) -> Option<Entry> {
        if self.len.load(Relaxed) == 0 {
            return None;
        }
        let levels = &mut *self.levels.lock();
        levels.follow(self.epoch.now());
        levels.pops_to_boost -= 1;
        if levels.pops_to_boost == 0 {
            levels.boost(self.epoch.after(levels.epoch));
        }
        let popped = levels.queues.iter_mut().find_map(VecDeque::pop_front);
        if popped.is_some() {
            self.len.fetch_sub(1, Relaxed);
        }
        popped
    }

    pub(crate) fn len(&self) -> usize {
        self.len.load(Relaxed)
    }

    /// The strand used up its slice: one level down. For the worker whose turn it was.
    pub(crate) fn sink(&self, strand: StrandRef) {
        self.set(strand, (self.level_of(strand) + 1).min(self.lowest));
    }

    /// The strand paused before its slice was used up: one level up. For the worker whose turn it
    /// was.
    pub(crate) fn rise(&self, strand: StrandRef) {
        self.set(strand, self.level_of(strand).saturating_sub(1));
    }

    /// One that says it is below the lowest level is at the lowest.
    fn level_of(&self, strand: StrandRef) -> u32 {
        let level = strand.header().level.load(Relaxed);
        let set_in = level / LEVEL;
        let counts = set_in == self.epoch.now() || set_in == NEW;
        if counts { (level % LEVEL).min(self.lowest) } else { 0 }
    }

    fn set(&self, strand: StrandRef, level: u32) {
        strand.header().level.store(self.epoch.now() * LEVEL + level, Relaxed);
    }
}

impl Levels {
    /// Does as another queue has done, if it has begun another epoch.
    fn follow(&mut self, epoch: u32) {
        if self.epoch != epoch {
            self.boost(epoch);
        }
    }

    fn boost(&mut self, epoch: u32) {
        self.epoch = epoch;
        let (top, rest) = self.queues.split_first_mut().expect("there is at least one level");
        for queue in rest {
            top.append(queue);
        }
        self.pops_to_boost = BOOST.max(top.len() as u64);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::{Runtime, Simulation, Step, Strand, Turn, strand::state::Wake};

    /// Two queues of one runtime.
    fn two() -> [FeedbackQueue; 2] {
        let epoch = Arc::new(Epoch::default());
        [(); 2].map(|()| FeedbackQueue::new(2, epoch.clone()))
    }

    fn strand() -> (Simulation, Strand) {
        let simulation = Runtime::builder().workers(1).simulate(0).unwrap();
        let body = |_: &mut Turn<'_>| Step::End(());
        let (strand, _) = simulation.strand().idle(body).unwrap();
        (simulation, strand)
    }

    fn push(queue: &FeedbackQueue, strand: &Strand) {
        assert_eq!(strand.0.state().wake(), Wake::Push);
        queue.push(Entry::strand(strand.0), 0);
    }

    /// As many pops as make a boost.
    fn use_until_a_boost(queue: &FeedbackQueue) {
        for _ in 0..BOOST {
            queue.push(Entry::job(|_| {}), 0);
            drop(queue.pop());
        }
    }

    fn next_is_a_strand(queue: &FeedbackQueue) -> bool {
        queue.pop().is_some_and(|entry| entry.peek().is_some())
    }

    #[test]
    fn who_has_sunk_stays_below_in_a_queue_that_was_used_less() {
        let (_simulation, strand) = strand();
        let [used, other] = two();
        use_until_a_boost(&used);
        used.sink(strand.0);
        push(&other, &strand);
        other.push(Entry::job(|_| {}), 0);
        assert!(!next_is_a_strand(&other), "it is at the top again");
        assert!(next_is_a_strand(&other));
    }

    #[test]
    fn boost_of_one_queue_lifts_who_waits_in_another() {
        let (_simulation, strand) = strand();
        let [used, other] = two();
        other.sink(strand.0);
        push(&other, &strand);
        use_until_a_boost(&used);
        other.push(Entry::job(|_| {}), 0);
        assert!(next_is_a_strand(&other), "it was left at the bottom");
    }
}
