//! What a simulated turn has set off, and when it takes effect.
//!
//! A simulated turn runs at once in real time, but it lasts in virtual time. What it does after
//! having worked for a while happens later than what a neighbour does meanwhile; so its wakes and
//! submissions wait here until the clock has come to them.

use std::{cmp::Ordering, collections::BinaryHeap};

use crate::{
    attributes::Rank, entry::Entry, shared::Place, strand::Strand, turn::Turn, world::Nanos,
};

pub(crate) enum Effect {
    Wake { worker: Option<usize>, strand: Strand },
    Place { worker: Option<usize>, entry: Entry, rank: Rank, place: Place },
    Call { worker: usize, call: Call },
}

/// The rest of a turn.
pub(crate) type Call = Box<dyn FnOnce(&mut Turn<'_>) + Send>;

struct Due {
    at: Nanos,
    number: u64,
    effect: Effect,
}

/// Effects in order of time; at the same time, in the order they were caused.
#[derive(Default)]
pub(crate) struct Events {
    queue: BinaryHeap<Due>,
    numbers: u64,
}

impl Events {
    pub(crate) fn wake_at(&mut self, at: Nanos, worker: Option<usize>, strand: Strand) {
        self.push(at, Effect::Wake { worker, strand });
    }

    pub(crate) fn place_at(
        &mut self,
        at: Nanos,
        worker: Option<usize>,
        entry: Entry,
        rank: Rank,
        place: Place,
    ) {
        self.push(at, Effect::Place { worker, entry, rank, place });
    }

    pub(crate) fn call_at(&mut self, at: Nanos, worker: usize, call: Call) {
        self.push(at, Effect::Call { worker, call });
    }

    fn push(&mut self, at: Nanos, effect: Effect) {
        self.numbers += 1;
        self.queue.push(Due { at, number: self.numbers, effect });
    }

    pub(crate) fn next(&self) -> Option<Nanos> {
        self.queue.peek().map(|due| due.at)
    }

    /// The first effect that is due at `now`.
    pub(crate) fn pop(&mut self, now: Nanos) -> Option<Effect> {
        if self.next()? > now {
            return None;
        }
        self.queue.pop().map(|due| due.effect)
    }

    pub(crate) fn take_all(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.queue).into_iter().map(|due| due.effect).collect()
    }
}

impl Ord for Due {
    /// The earliest is the greatest, since a heap gives the greatest first.
    fn cmp(&self, other: &Due) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Due {}
