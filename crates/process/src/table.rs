//! Which process has a pid: an array of words, looked up without a lock.
//!
//! ```text
//!   taken   63....48 47............0      free   63.......33 32......1  0
//!           pins     pointer     0               0           generation 1
//! ```
//!
//! 1. A lookup adds a pin to a place that is taken: its strand is not freed while the pin counts.
//!    A place that is free never has one.
//! 2. A process leaves by exchanging the word for the next generation. Pins that were on it become
//!    handles of the strand: who finds the word changed gives back a handle instead of a pin.
//! 3. The generation goes up with every use, and a place whose generations are used up is never
//!    used again. So no pid comes twice.
//!
//! Ordering: taking a place releases the process, a lookup acquires it. Giving back a pin releases
//! what was done under it, and whoever leaves acquires that. A pin that has become a handle is given
//! back after it was counted: a fence on either side sees to that.

mod places;

use std::{mem::ManuallyDrop, ptr};

use kernel::{Handle, StrandWith};

use crate::{
    core::Core,
    pid::{GENERATION_MAX, Pid},
    sync::atomic::{
        AtomicPtr, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
        fence,
    },
};
use places::Places;

const PIN: u64 = 1 << 48;
const WORD: u64 = PIN - 1;
const FREE: u64 = 1;
/// More than there can be pins on one word.
const PINS_MAX: u32 = 1 << 16;

/// The first chunk has so many places, each further one twice as many.
const FIRST: u32 = if cfg!(any(loom, shuttle)) { 4 } else { 1024 };
const CHUNKS: usize = 23;

pub(crate) struct Table {
    chunks: [AtomicPtr<AtomicU64>; CHUNKS],
    places: Places,
}

fn free_word(generation: u32) -> u64 {
    u64::from(generation) << 1 | FREE
}

/// The chunk of a place, and where in it.
fn at(index: u32) -> (usize, usize) {
    let shifted = u64::from(index) + u64::from(FIRST);
    let chunk = shifted.ilog2() - FIRST.ilog2();
    (chunk as usize, (shifted - (u64::from(FIRST) << chunk)) as usize)
}

fn size(chunk: usize) -> usize {
    (FIRST as usize) << chunk
}

impl Table {
    pub(crate) fn new(workers: usize) -> Table {
        Table { chunks: Default::default(), places: Places::new(workers) }
    }

    #[inline]
    fn word(&self, index: u32) -> Option<&AtomicU64> {
        let (chunk, offset) = at(index);
        let chunk = self.chunks.get(chunk)?.load(Acquire);
        // SAFETY: a chunk that is there has `size` words, and stays until the table is dropped.
        (!chunk.is_null()).then(|| unsafe { &*chunk.add(offset) })
    }

    /// The word of a place that may be the first of its chunk.
    #[inline]
    fn word_or_new(&self, index: u32) -> &AtomicU64 {
        self.word(index).unwrap_or_else(|| self.new_word(index))
    }

    #[cold]
    fn new_word(&self, index: u32) -> &AtomicU64 {
        let (chunk, offset) = at(index);
        let new: Box<[AtomicU64]> =
            (0..size(chunk)).map(|_| AtomicU64::new(free_word(1))).collect();
        let new = Box::into_raw(new).cast::<AtomicU64>();
        let slot = &self.chunks[chunk];
        let chunk_at = match slot.compare_exchange(ptr::null_mut(), new, Release, Acquire) {
            Ok(_) => new,
            Err(there) => {
                // SAFETY: it was made above, and nobody has seen it.
                drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(new, size(chunk))) });
                there
            }
        };
        // SAFETY: as in `word`.
        unsafe { &*chunk_at.add(offset) }
    }

    /// A pid that nobody has.
    #[inline]
    pub(crate) fn claim(&self, runtime: &Handle) -> Pid {
        let index = self.places.take(runtime);
        let word = self.word_or_new(index).load(Relaxed);
        debug_assert!(word & FREE != 0, "a place was given out twice");
        Pid::new(index, (word >> 1) as u32)
    }

    /// The place is not needed after all.
    pub(crate) fn unclaim(&self, runtime: &Handle, pid: Pid) {
        self.places.put(runtime, pid.index());
    }

    /// Enters a process under the pid it was made with. One handle of it, which the caller has
    /// counted, is the table's from now on.
    #[inline]
    pub(crate) fn enter(&self, pid: Pid, process: *const ()) {
        let word = self.word(pid.index()).expect("a claimed place exists");
        let taken = process.expose_provenance() as u64;
        debug_assert!(taken & (FREE | !WORD) == 0, "a pointer of 48 bits, aligned");
        // The place is ours, and by rule 1 nobody else writes to it while it is free.
        word.store(taken, Release);
    }

    /// Takes a process out. The table's handle is the caller's to give back. For the process itself,
    /// once.
    #[inline]
    pub(crate) fn leave(&self, runtime: &Handle, pid: Pid) -> ManuallyDrop<StrandWith<Core>> {
        let word = self.word(pid.index()).expect("a process has a place");
        let last = pid.generation() == GENERATION_MAX;
        let free = if last { FREE } else { free_word(pid.generation() + 1) };
        let taken = word.load(Relaxed) & WORD;
        let raw = ptr::with_exposed_provenance::<()>(taken as usize);
        // SAFETY: `enter` gave it away with its count, and only here it is taken back.
        let process = ManuallyDrop::new(unsafe { StrandWith::<Core>::from_raw(raw) });
        if word.compare_exchange(taken, free, Acquire, Relaxed).is_err() {
            leave_pinned(word, free, &process);
        }
        if !last {
            self.places.put(runtime, pid.index());
        }
        process
    }

    /// Calls `user` with the process that has this pid, if there is one.
    #[inline]
    pub(crate) fn with<R>(&self, pid: Pid, user: impl FnOnce(&StrandWith<Core>) -> R) -> Option<R> {
        let word = self.word(pid.index())?;
        let pin = Pin::new(word)?;
        (pin.process.pid() == pid).then(|| user(&pin.process))
    }

    /// A handle of the process that has this pid.
    pub(crate) fn find(&self, pid: Pid) -> Option<StrandWith<Core>> {
        self.with(pid, StrandWith::clone)
    }

    /// Calls `user` with every process there is, one after the other.
    pub(crate) fn each(&self, mut user: impl FnMut(&StrandWith<Core>)) {
        for (chunk, start) in self.chunks.iter().enumerate() {
            let start = start.load(Acquire);
            if start.is_null() {
                continue;
            }
            for offset in 0..size(chunk) {
                // SAFETY: as in `word`.
                let word = unsafe { &*start.add(offset) };
                if let Some(pin) = Pin::new(word) {
                    user(&pin.process);
                }
            }
        }
    }
}

/// Rule 2: so many handles that no pin can be given back too early, then the exact number.
#[cold]
fn leave_pinned(word: &AtomicU64, free: u64, process: &StrandWith<Core>) {
    process.retain_many(PINS_MAX);
    // Pairs with the fence of a pin that finds the word changed: its handle is counted by then.
    // weaken: in loom no step of a count comes before one that was taken earlier
    fence(Release);
    let was = word.swap(free, Acquire);
    // SAFETY: counted above; those that stay belong to the pins that were on the word.
    unsafe { process.release_many(PINS_MAX - (was / PIN) as u32) };
}

/// A pin on a word.
struct Pin<'a> {
    word: &'a AtomicU64,
    /// The word without its pins, as it was when the pin was added.
    was: u64,
    process: ManuallyDrop<StrandWith<Core>>,
}

impl<'a> Pin<'a> {
    /// A pin, if the place is taken.
    fn new(word: &'a AtomicU64) -> Option<Pin<'a>> {
        let mut now = word.load(Relaxed);
        while now & FREE == 0 {
            match word.compare_exchange_weak(now, now + PIN, Acquire, Relaxed) {
                Ok(_) => {
                    let was = now & WORD;
                    let raw = ptr::with_exposed_provenance::<()>(was as usize);
                    // SAFETY: `enter` put it there; the pin keeps it, and is given back as a pin
                    // or, if it has become one, as a handle.
                    let process = ManuallyDrop::new(unsafe { StrandWith::from_raw(raw) });
                    return Some(Pin { word, was, process });
                }
                Err(other) => now = other,
            }
        }
        None
    }
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        let mut word = self.word.load(Relaxed);
        while word & WORD == self.was {
            match self.word.compare_exchange_weak(word, word - PIN, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
        // Rule 2. Pairs with the fence in `leave_pinned`.
        // weaken: in loom no step of a count comes before one that was taken earlier
        fence(Acquire);
        // SAFETY: it is not used any more.
        unsafe { ManuallyDrop::drop(&mut self.process) };
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        for (chunk, start) in self.chunks.iter_mut().enumerate() {
            let start = start.load(Relaxed);
            if !start.is_null() {
                let words = ptr::slice_from_raw_parts_mut(start, size(chunk));
                // SAFETY: it was made from such a box. Processes have left: each holds the
                // runtime, and with it this table.
                drop(unsafe { Box::from_raw(words) });
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn chunks_follow_each_other_without_a_gap() {
        assert_eq!(at(0), (0, 0));
        assert_eq!(at(FIRST - 1), (0, FIRST as usize - 1));
        assert_eq!(at(FIRST), (1, 0));
        assert_eq!(at(3 * FIRST), (2, 0));
        let (chunk, offset) = at(u32::MAX);
        assert!(chunk < CHUNKS && offset < size(chunk));
    }
}

#[cfg(all(test, loom))]
mod models;
