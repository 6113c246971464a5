//! A queue in exact order of a key: the highest first, and among equals the one that came first.
//!
//! The key is `priority − arrival × ageing`, where arrival counts pushes. With an ageing rate of
//! 0 the order is strict, and a low priority can wait for ever. With a positive rate each later
//! arrival starts a little lower, so an entry that waits is overtaken by a bounded number of
//! others: by those of priority `p` above its own, for at most `p / ageing` arrivals.

use std::{cmp::Ordering, collections::BinaryHeap};

use crate::{
    entry::Entry,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

pub(crate) struct PriorityQueue {
    ageing: f64,
    heap: Mutex<Heap>,
    /// A copy of the heap's length, for those who only look.
    len: AtomicUsize,
}

#[derive(Default)]
struct Heap {
    arrivals: u64,
    entries: BinaryHeap<Keyed>,
}

struct Keyed {
    key: f64,
    arrival: u64,
    entry: Entry,
}

impl Ord for Keyed {
    fn cmp(&self, other: &Keyed) -> Ordering {
        self.key.total_cmp(&other.key).then(other.arrival.cmp(&self.arrival))
    }
}

impl PartialOrd for Keyed {
    fn partial_cmp(&self, other: &Keyed) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Keyed {
    fn eq(&self, other: &Keyed) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Keyed {}

impl PriorityQueue {
    pub(crate) fn new(ageing: f64) -> PriorityQueue {
        PriorityQueue { ageing, heap: Mutex::new(Heap::default()), len: AtomicUsize::new(0) }
    }

    pub(crate) fn push(&self, entry: Entry, priority: f64) {
        let mut heap = self.heap.lock();
        let arrival = heap.arrivals;
        heap.arrivals += 1;
        // Adding 0.0 turns −0.0 into 0.0, so that the two are ties.
        let key = priority - arrival as f64 * self.ageing + 0.0;
        heap.entries.push(Keyed { key, arrival, entry });
        self.len.store(heap.entries.len(), Relaxed);
    }

    pub(crate) fn pop(&self) -> Option<Entry> {
        if self.len.load(Relaxed) == 0 {
            return None;
        }
        let mut heap = self.heap.lock();
        let popped = heap.entries.pop();
        self.len.store(heap.entries.len(), Relaxed);
        popped.map(|keyed| keyed.entry)
    }

    pub(crate) fn len(&self) -> usize {
        self.len.load(Relaxed)
    }
}
