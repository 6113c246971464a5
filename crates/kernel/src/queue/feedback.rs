//! A multi-level feedback queue: who uses up the slice sinks, who pauses early rises.
//!
//! Level 0 is served first, each level in order of arrival. A strand that yields with its slice
//! used up sinks one level; one that pauses before that rises one. So short turns overtake long
//! ones without anybody saying which is which.
//!
//! So that nobody starves at the bottom, from time to time there is a *boost*: everything queued
//! moves to level 0 in its order, and every strand starts anew from there. A boost comes after
//! [`BOOST`] pops or after as many as there were entries at the last one, whichever is more:
//! then moving them costs a constant per pop, and an entry waits through at most one such period
//! before it is at the top.

use std::collections::VecDeque;

use crate::{
    entry::Entry,
    strand::StrandRef,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// The least number of pops between two boosts.
const BOOST: u64 = 1024;

/// In place of an epoch: the strand was never queued, its level is what its attributes say.
const NEW: u32 = u32::MAX;

/// The level of a new strand, as its header keeps it.
pub(crate) fn new_level(level: u32) -> u64 {
    u64::from(NEW) << 32 | u64::from(level)
}

pub(crate) struct FeedbackQueue {
    levels: Mutex<Levels>,
    len: AtomicUsize,
}

struct Levels {
    queues: Vec<VecDeque<Entry>>,
    /// Counts boosts. A strand's level counts only if it was set in this epoch.
    epoch: u32,
    pops_to_boost: u64,
}

impl FeedbackQueue {
    pub(crate) fn new(levels: usize) -> FeedbackQueue {
        let queues = (0..levels).map(|_| VecDeque::new()).collect();
        let levels = Mutex::new(Levels { queues, epoch: 0, pops_to_boost: BOOST });
        FeedbackQueue { levels, len: AtomicUsize::new(0) }
    }

    /// `start`: the level of a job, which has no history.
    pub(crate) fn push(&self, entry: Entry, start: u32) {
        let mut levels = self.levels.lock();
        let level = match entry.peek() {
            Some(strand) => {
                let level = levels.level_of(strand);
                levels.set(strand, level);
                level
            }
            None => start,
        };
        let lowest = levels.queues.len() - 1;
        levels.queues[(level as usize).min(lowest)].push_back(entry);
        self.len.fetch_add(1, Relaxed);
    }

    pub(crate) fn pop(&self) -> Option<Entry> {
        if self.len.load(Relaxed) == 0 {
            return None;
        }
        let mut levels = self.levels.lock();
        levels.pops_to_boost -= 1;
        if levels.pops_to_boost == 0 {
            levels.boost();
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

    /// The strand used up its slice: one level down.
    pub(crate) fn sink(&self, strand: StrandRef) {
        let levels = self.levels.lock();
        let lowest = levels.queues.len() as u32 - 1;
        levels.set(strand, (levels.level_of(strand) + 1).min(lowest));
    }

    /// The strand paused before its slice was used up: one level up.
    pub(crate) fn rise(&self, strand: StrandRef) {
        let levels = self.levels.lock();
        levels.set(strand, levels.level_of(strand).saturating_sub(1));
    }
}

impl Levels {
    fn level_of(&self, strand: StrandRef) -> u32 {
        let level = strand.header().level.load(Relaxed);
        let set_in = (level >> 32) as u32;
        if set_in == self.epoch || set_in == NEW { level as u32 } else { 0 }
    }

    fn set(&self, strand: StrandRef, level: u32) {
        strand.header().level.store(u64::from(self.epoch) << 32 | u64::from(level), Relaxed);
    }

    fn boost(&mut self) {
        self.epoch = self.epoch.wrapping_add(1) % NEW;
        let (top, rest) = self.queues.split_first_mut().expect("there is at least one level");
        for queue in rest {
            top.append(queue);
        }
        self.pops_to_boost = BOOST.max(top.len() as u64);
    }
}
