//! Where the memories of tasks are: in slots of reserved address space, so that untouched pages cost
//! nothing.
//!
//! ```text
//!   Arena ── chunk (one mapping) ──> | slot | slot | slot | …        a slot: as many bytes as a task's
//!         └─ chunk                                                   memory may reach, pages on demand
//! ```
//!
//! A chunk is private, anonymous memory that is reserved and not committed. A page is committed when it
//! is first written, and given back by [`Slot::give_pages_back`]. Huge pages are off: with them one written byte
//! would commit two megabytes.
//!
//! What the `unsafe` code relies on:
//!
//! 1. A slot is given out once at a time: [`Arena::take`] hands out a place that was never given out, or
//!    one that a dropped [`Slot`] gave back, and a place is not cloned.
//! 2. The places of a chunk do not overlap, and lie within it.
//! 3. A slot holds its chunk, so the mapping lives as long as the slot.
//! 4. The slice of [`Slot::bytes`] is said to live for ever, since that is what an interpreter takes for
//!    a memory. Whoever asks for it promises that nothing uses it once the slot is dropped: the store
//!    that has the memory is dropped first.

use std::{
    io,
    ptr::NonNull,
    sync::{Arc, Mutex, PoisonError},
};

use memmap2::{MmapOptions, MmapRaw};

/// Address space that is reserved at once, unless a single slot needs more. It costs nothing until it
/// is used; fewer mappings make the kernel's lists shorter.
const CHUNK: usize = 1 << 30;

/// Slots of one size.
#[derive(Debug)]
pub(crate) struct Arena {
    slot_bytes: usize,
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    /// Given back.
    free: Vec<Place>,
    /// Never given out: the next place in the newest chunk.
    next: Option<Place>,
}

/// Where a slot is.
#[derive(Debug)]
struct Place {
    chunk: Arc<MmapRaw>,
    offset: usize,
}

/// A stretch of zeroes that belongs to whoever holds this.
#[derive(Debug)]
pub(crate) struct Slot {
    arena: Arc<Arena>,
    /// Taken when the slot is dropped.
    place: Option<Place>,
    /// How many bytes of it may be other than zero.
    used: usize,
}

impl Arena {
    /// Slots of this many bytes. Nothing is reserved before the first is taken.
    pub(crate) fn new(slot_bytes: usize) -> Arc<Arena> {
        Arc::new(Arena { slot_bytes, places: Mutex::default() })
    }

    /// A slot that holds zeroes.
    ///
    /// # Errors
    /// If the system has no more address space for us.
    pub(crate) fn take(self: &Arc<Arena>) -> io::Result<Slot> {
        let place = self.place()?;
        Ok(Slot { arena: self.clone(), place: Some(place), used: 0 })
    }

    fn place(&self) -> io::Result<Place> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.free.pop() {
            return Ok(place);
        }
        let place = match places.next.take() {
            Some(place) => place,
            None => Place { chunk: Arc::new(reserve(CHUNK.max(self.slot_bytes))?), offset: 0 },
        };
        let offset = place.offset + self.slot_bytes;
        // What is left of a chunk that the slots do not divide stays unused.
        if place.chunk.len() - offset >= self.slot_bytes {
            places.next = Some(Place { chunk: place.chunk.clone(), offset });
        }
        Ok(place)
    }
}

fn reserve(bytes: usize) -> io::Result<MmapRaw> {
    let chunk = MmapRaw::from(MmapOptions::new().len(bytes).no_reserve_swap().map_anon()?);
    #[cfg(target_os = "linux")]
    chunk.advise(memmap2::Advice::NoHugePage)?;
    Ok(chunk)
}

impl Slot {
    /// The whole slot. Its first `used` bytes may be written.
    ///
    /// # Safety
    /// The slice is not used after the slot is dropped or [`Slot::bytes`] is called again. What is
    /// written beyond `used` bytes is told to [`Slot::set_used`].
    pub(crate) unsafe fn bytes(&mut self, used: usize) -> &'static mut [u8] {
        self.set_used(used);
        // SAFETY: the place is this slot's alone (1, 2), mapped as long as the slot lives (3), and the
        // caller promises not to use it longer (4).
        unsafe { std::slice::from_raw_parts_mut(self.start().as_ptr(), self.arena.slot_bytes) }
    }

    /// Says how many bytes of the slot may be other than zero.
    pub(crate) fn set_used(&mut self, used: usize) {
        assert!(used <= self.arena.slot_bytes, "a memory larger than its slot");
        self.used = used;
    }

    /// Commits the pages of its first `used` bytes at once. Whoever is about to write to all of them
    /// saves a fault for each; where the system can not do it, nothing happens.
    pub(crate) fn commit(&self) {
        #[cfg(target_os = "linux")]
        {
            let place = self.place();
            let populate = memmap2::Advice::PopulateWrite;
            // Not known to older systems. Then there are faults.
            let _ = place.chunk.advise_range(populate, place.offset, self.used);
        }
    }

    /// Makes it all zero by giving its pages back. Says whether the system can do that.
    ///
    /// # Safety
    /// There is no reference into the slot meanwhile.
    pub(crate) unsafe fn give_pages_back(&mut self) -> bool {
        #[cfg(target_os = "linux")]
        {
            let place = self.place();
            // SAFETY: the range lies within the chunk (2), and nobody refers to it. In private, anonymous
            // memory, pages that are given back so are zero when they are touched again.
            let given_back = unsafe {
                place.chunk.unchecked_advise_range(
                    memmap2::UncheckedAdvice::DontNeed,
                    place.offset,
                    self.used,
                )
            };
            given_back.is_ok()
        }
        #[cfg(not(target_os = "linux"))]
        false
    }

    fn start(&self) -> NonNull<u8> {
        let place = self.place();
        // SAFETY: the offset is within the chunk (2).
        let start = unsafe { place.chunk.as_mut_ptr().add(place.offset) };
        NonNull::new(start).expect("nothing is mapped at address zero")
    }

    fn place(&self) -> &Place {
        self.place.as_ref().expect("a slot has its place until it is dropped")
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // SAFETY: whoever asked for the bytes promised not to use them any more.
        if self.used > 0 && !unsafe { self.give_pages_back() } {
            // SAFETY: the first `used` bytes are within the slot, which is this one's alone (1, 2).
            unsafe { self.start().as_ptr().write_bytes(0, self.used) };
        }
        let place = self.place.take().expect("a slot is dropped once");
        let mut places = self.arena.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.free.push(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: usize = 1 << 16;

    fn bytes(slot: &mut Slot) -> &mut [u8] {
        // SAFETY: the slice is tied to the borrow of the slot.
        unsafe { slot.bytes(SLOT) }
    }

    #[test]
    fn slots_do_not_overlap() {
        let arena = Arena::new(SLOT);
        let mut slots: Vec<Slot> = (0..100).map(|_| arena.take().unwrap()).collect();
        for (number, slot) in slots.iter_mut().enumerate() {
            bytes(slot).fill(number as u8 + 1);
        }
        for (number, slot) in slots.iter_mut().enumerate() {
            assert!(bytes(slot).iter().all(|&byte| byte == number as u8 + 1), "slot {number}");
        }
    }

    #[test]
    fn slot_that_was_given_back_is_zero_when_it_is_taken_again() {
        let arena = Arena::new(SLOT);
        let mut slot = arena.take().unwrap();
        let place = slot.start();
        bytes(&mut slot).fill(7);
        drop(slot);
        let mut again = arena.take().unwrap();
        assert_eq!(again.start(), place, "the place that was given back comes first");
        assert!(bytes(&mut again).iter().all(|&byte| byte == 0));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn slot_whose_pages_were_given_back_is_zero_and_can_be_written_again() {
        let arena = Arena::new(SLOT);
        let mut slot = arena.take().unwrap();
        bytes(&mut slot).fill(7);
        // SAFETY: the slice above is gone.
        assert!(unsafe { slot.give_pages_back() });
        assert!(bytes(&mut slot).iter().all(|&byte| byte == 0));
        bytes(&mut slot)[SLOT - 1] = 1;
        assert_eq!(bytes(&mut slot)[SLOT - 1], 1);
    }

    #[test]
    fn slots_larger_than_a_chunk_have_a_chunk_each() {
        let arena = Arena::new(CHUNK + SLOT);
        let mut slots = [arena.take().unwrap(), arena.take().unwrap()];
        for slot in &mut slots {
            // SAFETY: the slice is gone before the slot is.
            let bytes = unsafe { slot.bytes(CHUNK + SLOT) };
            bytes[CHUNK] = 1;
        }
        assert_ne!(slots[0].start(), slots[1].start());
    }

    #[test]
    fn chunk_ends_with_its_last_whole_slot() {
        let third = CHUNK / 3 + 1;
        let arena = Arena::new(third);
        let slots: Vec<Slot> = (0..3).map(|_| arena.take().unwrap()).collect();
        assert!(Arc::ptr_eq(&slots[0].place().chunk, &slots[1].place().chunk));
        assert!(!Arc::ptr_eq(&slots[1].place().chunk, &slots[2].place().chunk));
    }

    #[test]
    fn slot_outlives_the_arena() {
        let mut slot = Arena::new(SLOT).take().unwrap();
        bytes(&mut slot)[0] = 1;
        assert_eq!(bytes(&mut slot)[0], 1);
    }
}
