//! Which process has a pid: an array of words, looked up without a lock.
//!
//! ```text
//!   taken   63....48 47............0      free   63....48 47.......33 32......1  0
//!           pins     pointer     0               pins     0           generation 1
//! ```
//!
//! 1. A lookup adds a pin, and with it gets the word as it was: of a place that is taken, a strand
//!    that can not be freed while the pin counts.
//! 2. A process leaves by exchanging the word for the next generation. Pins that were on it become
//!    handles of the strand: who finds the word changed gives back a handle instead of a pin.
//! 3. A place is taken only while nobody has a pin on it, so that a pin on a free place is given
//!    back to a free place.
//! 4. The generation goes up with every use, and a place whose generations are used up is never
//!    used again. So no pid comes twice.
//!
//! Ordering: taking a place releases the process, a lookup acquires it. Giving back a pin releases
//! what was done under it, and whoever leaves acquires that.

mod places;

use std::{mem::ManuallyDrop, ptr};

use kernel::{Handle, StrandWith};

use crate::{
    core::Core,
    pid::{GENERATION_MAX, Pid},
    sync::atomic::{
        AtomicPtr, AtomicU64,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
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

/// A place that is about to be taken.
#[must_use]
pub(crate) struct Claimed(pub(crate) Pid);

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

    fn word(&self, index: u32) -> Option<&AtomicU64> {
        let (chunk, offset) = at(index);
        let chunk = self.chunks.get(chunk)?.load(Acquire);
        // SAFETY: a chunk that is there has `size` words, and stays until the table is dropped.
        (!chunk.is_null()).then(|| unsafe { &*chunk.add(offset) })
    }

    /// The word of a place that may be the first of its chunk.
    fn word_or_new(&self, index: u32) -> &AtomicU64 {
        if let Some(word) = self.word(index) {
            return word;
        }
        let (chunk, offset) = at(index);
        let new: Box<[AtomicU64]> =
            (0..size(chunk)).map(|_| AtomicU64::new(free_word(1))).collect();
        let new = Box::into_raw(new).cast::<AtomicU64>();
        let slot = &self.chunks[chunk];
        let chunk_at = match slot.compare_exchange(ptr::null_mut(), new, AcqRel, Acquire) {
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
    pub(crate) fn claim(&self, runtime: &Handle) -> Claimed {
        loop {
            let index = self.places.take(runtime);
            let word = self.word_or_new(index).load(Relaxed);
            debug_assert!(word & FREE != 0, "a place was given out twice");
            // A pin on a free place is gone in a moment; it costs nothing to try another.
            if word < PIN {
                return Claimed(Pid::new(index, (word >> 1) as u32));
            }
            self.places.put_last(index);
        }
    }

    /// The place is not needed after all.
    pub(crate) fn unclaim(&self, runtime: &Handle, claimed: Claimed) {
        self.places.put(runtime, claimed.0.index());
    }

    /// Enters a process under the pid it was made with. The table has a handle of it from now on.
    #[inline]
    pub(crate) fn enter(&self, process: StrandWith<Core>) {
        let pid = process.pid();
        let word = self.word(pid.index()).expect("a claimed place exists");
        let free = free_word(pid.generation());
        let taken = process.into_raw() as usize as u64;
        debug_assert!(taken & (FREE | !WORD) == 0, "a pointer of 48 bits, aligned");
        // Rule 3: a stray lookup is over in a moment, and there is no other place for this pid.
        while word.compare_exchange_weak(free, taken, Release, Relaxed).is_err() {
            std::hint::spin_loop();
        }
    }

    /// Takes a process out, and gives back the table's handle. For the process itself, once.
    #[inline]
    pub(crate) fn leave(&self, runtime: &Handle, pid: Pid) -> StrandWith<Core> {
        let word = self.word(pid.index()).expect("a process has a place");
        let last = pid.generation() == GENERATION_MAX;
        let free = if last { FREE } else { free_word(pid.generation() + 1) };
        let taken = word.load(Relaxed) & WORD;
        let raw = ptr::with_exposed_provenance::<()>(taken as usize);
        // SAFETY: `enter` gave it away with its count, and only here it is taken back.
        let process = unsafe { StrandWith::<Core>::from_raw(raw) };
        if word.compare_exchange(taken, free, AcqRel, Relaxed).is_err() {
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
        // A look first: pids of processes that are gone are common, and a pin is dear.
        if word.load(Relaxed) & FREE != 0 {
            return None;
        }
        let pin = Pin::new(word);
        let process = pin.process()?;
        (process.pid() == pid).then(|| user(process))
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
                if word.load(Relaxed) & FREE == 0
                    && let Some(process) = Pin::new(word).process()
                {
                    user(process);
                }
            }
        }
    }
}

/// Rule 2: so many handles that no pin can be given back too early, then the exact number.
#[cold]
fn leave_pinned(word: &AtomicU64, free: u64, process: &StrandWith<Core>) {
    process.retain_many(PINS_MAX);
    let was = word.swap(free, AcqRel);
    // SAFETY: counted above; those that stay belong to the pins that were on the word.
    unsafe { process.release_many(PINS_MAX - (was / PIN) as u32) };
}

/// A pin on a word.
struct Pin<'a> {
    word: &'a AtomicU64,
    /// The word without its pins, as it was when the pin was added.
    was: u64,
    process: Option<ManuallyDrop<StrandWith<Core>>>,
}

impl<'a> Pin<'a> {
    #[inline]
    fn new(word: &'a AtomicU64) -> Pin<'a> {
        let was = word.fetch_add(PIN, Acquire) & WORD;
        let process = (was & FREE == 0).then(|| {
            let raw = ptr::with_exposed_provenance::<()>(was as usize);
            // SAFETY: `enter` put it there; the pin keeps it, and it is given back as a pin or, if
            // the pin has become one, as a handle.
            ManuallyDrop::new(unsafe { StrandWith::from_raw(raw) })
        });
        Pin { word, was, process }
    }

    fn process(&self) -> Option<&StrandWith<Core>> {
        self.process.as_deref()
    }
}

impl Drop for Pin<'_> {
    #[inline]
    fn drop(&mut self) {
        let mut word = self.word.load(Relaxed);
        while word & WORD == self.was {
            match self.word.compare_exchange_weak(word, word - PIN, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
        // Rule 2; and by rule 3 a free place does not change under a pin.
        let process = self.process.take().expect("a free place changed under a pin");
        drop(ManuallyDrop::into_inner(process));
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
