//! A queue in exact order of a key: the highest first, and among equals the one that came first.
//!
//! The key is `priority − arrival × ageing`, where arrival counts pushes. With an ageing rate of
//! 0 the order is strict, and a low priority can wait for ever. With a positive rate each later
//! arrival starts a little lower, so an entry that waits is overtaken by a bounded number of
//! others: by those of priority `p` above its own, for at most `p / ageing` arrivals.
//!
//! ```text
//!   heap   [ key, arrival, slot ]   16 bytes each, in groups of four: a cache line
//!   slots  [ entry ]                where they were put, and not moved
//! ```
//!
//! What is compared and moved is small, and a node has four children in one cache line: taking the
//! first of a million touches ten lines. All of it is under one lock, which is held for so short a
//! time that nobody sleeps for it.

use std::mem::MaybeUninit;

use crate::{
    entry::Entry,
    prefetch::prefetch,
    queue::heap::{Heap, Key},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

pub(crate) struct PriorityQueue {
    ageing: f64,
    sorted: Mutex<Sorted>,
    /// A copy of the length, for those who only look.
    len: AtomicUsize,
}

#[derive(Default)]
struct Sorted {
    arrivals: u64,
    heap: Heap,
    slots: Slots,
}

impl PriorityQueue {
    pub(crate) fn new(ageing: f64) -> PriorityQueue {
        PriorityQueue { ageing, sorted: Mutex::default(), len: AtomicUsize::new(0) }
    }

    pub(crate) fn push(&self, entry: Entry, priority: f64) {
        let mut sorted = self.sorted.lock_soon();
        let Sorted { arrivals, heap, slots } = &mut *sorted;
        let key = priority - *arrivals as f64 * self.ageing;
        *arrivals += 1;
        heap.push(Key::new(key), slots.put(entry));
        self.len.store(heap.len(), Relaxed);
    }

    pub(crate) fn pop(&self) -> Option<Entry> {
        if self.len.load(Relaxed) == 0 {
            return None;
        }
        let mut sorted = self.sorted.lock_soon();
        let Sorted { heap, slots, .. } = &mut *sorted;
        let slot = heap.peek()?;
        // SAFETY: what is in the heap was put there once, with the slot, and goes out below.
        let entry = unsafe { slots.take(slot) };
        // While the heap is put in order, what the entry is about comes nearer.
        entry.prefetch();
        heap.pop();
        if let Some(next) = heap.peek() {
            slots.prefetch(next);
        }
        self.len.store(heap.len(), Relaxed);
        Some(entry)
    }

    pub(crate) fn len(&self) -> usize {
        self.len.load(Relaxed)
    }
}

impl Drop for PriorityQueue {
    fn drop(&mut self) {
        while let Some(entry) = self.pop() {
            drop(entry);
        }
    }
}

/// Where entries lie while they wait.
#[derive(Default)]
struct Slots {
    all: Vec<MaybeUninit<Entry>>,
    /// Those that are empty, the latest last.
    free: Vec<u32>,
}

impl Slots {
    /// Puts an entry into a slot, and returns which.
    #[inline]
    fn put(&mut self, entry: Entry) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.all[slot as usize].write(entry);
            return slot;
        }
        let slot = u32::try_from(self.all.len()).expect("a queue has fewer than 2^32 entries");
        self.all.push(MaybeUninit::new(entry));
        slot
    }

    /// It will be taken soon.
    #[inline]
    fn prefetch(&self, slot: u32) {
        let slot = &raw const self.all[slot as usize];
        prefetch(slot);
        // It may reach into the next line.
        prefetch(slot.cast::<u8>().wrapping_add(size_of::<Entry>() - 1));
    }

    /// # Safety
    /// There is an entry, and it is the caller's.
    #[inline]
    unsafe fn take(&mut self, slot: u32) -> Entry {
        self.free.push(slot);
        // SAFETY: by the caller's promise.
        unsafe { self.all[slot as usize].assume_init_read() }
    }
}
