//! The line: a queue without bound that every thread may push to, oldest first.
//!
//! Entries lie in blocks of [`CAP`] slots, chained in order. Those who push compete for the next
//! number at the tail, without a lock; those who take hold the head's lock, and take many at a
//! time. A block that is used up is kept for the tail: blocks that one thread allocates and another
//! frees are what makes an allocator slow.
//!
//! Numbers run over all blocks, [`LAP`] for each: one for each slot, and one more, which stands for
//! *the next block is being put there*.
//!
//! 1. *One thread per slot.* Who moves the tail from a number to the next owns that slot. The tail
//!    points to the block of its number: the block is stored before the number of its first slot is
//!    released, and not changed before that lap's last number has passed. Who reads the number,
//!    then the block, and then moves the number on, had the right block, since numbers never come
//!    back; and the step that moves it on releases, so nobody sees a later block with an older number.
//! 2. *An entry is read once it is whole.* Who pushes writes the entry, then releases the slot's
//!    mark, which is its number plus one; who takes acquires it. A mark of an earlier use of the
//!    block is smaller.
//! 3. *A block is left when nobody needs it.* The taker leaves a block after it has seen all its
//!    marks. The one who pushed to its last slot has stored the next block before it released that
//!    mark. So nobody writes to the block any more, and the next one is known.
//! 4. *A block comes back clean.* It passes from taker to pusher under the lock of the spare ones,
//!    and from that pusher to the others by the tail's number.
//!
//! Whoever takes asks the slots, not the tail: a core that looks at the tail takes it from the one that
//! pushes, which then waits for it at its next step. Only where several in a row have found nothing
//! the tail is looked at first, since that needs no lock.
//!
//! Whoever has pushed is found by [`Line::is_empty`] from the moment the tail has moved. A taker
//! that comes before the entry is whole finds nothing yet; it looks again, as for any entry that it
//! has seen and not got.

use std::{
    marker::PhantomData,
    mem::MaybeUninit,
    ptr::{self, NonNull},
};

use crossbeam_utils::CachePadded;

use crate::sync::{
    self, Mutex, UnsafeCell,
    atomic::{
        AtomicPtr, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
    thread,
};

/// Slots in a block: with its head, a block of strands and jobs fills a page.
const CAP: usize = if cfg!(any(loom, shuttle)) { 2 } else { 63 };
/// Numbers per block.
const LAP: usize = CAP + 1;

/// Who gets a slot asks for the one so many further on, which the last taker's core may still have.
const AHEAD: usize = 4;

/// After so many takers in a row that have found nothing, the next one looks at the tail first.
const MISSES: usize = if cfg!(any(loom, shuttle)) { 1 } else { 4 };

/// Rounds of waiting for the next block before the thread yields.
const SPINS: usize = if cfg!(any(loom, shuttle)) { 0 } else { 64 };

pub(crate) struct Line<T> {
    tail: CachePadded<Tail<T>>,
    head: CachePadded<Mutex<Head<T>>>,
    served: CachePadded<Served>,
    spare: CachePadded<Mutex<Vec<Box<Block<T>>>>>,
    /// How many used blocks are kept.
    spare_max: usize,
}

/// What is known of the head without its lock.
struct Served {
    /// The head's number.
    number: AtomicUsize,
    /// How many takers in a row have found nothing.
    misses: AtomicUsize,
}

struct Tail<T> {
    number: AtomicUsize,
    block: AtomicPtr<Block<T>>,
}

struct Head<T> {
    number: usize,
    block: *mut Block<T>,
}

// One cache line each, where an entry is of the usual size.
#[repr(align(64))]
struct Slot<T> {
    mark: AtomicUsize,
    entry: UnsafeCell<MaybeUninit<T>>,
}

#[repr(align(64))]
struct Block<T> {
    next: AtomicPtr<Block<T>>,
    slots: [Slot<T>; CAP],
}

// SAFETY: entries are `Send`; who may touch a slot or a block is argued above.
unsafe impl<T: Send> Send for Line<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Line<T> {}

/// A slot that is claimed. Whoever takes waits for it to be filled.
#[must_use = "a spot that is never filled holds up the line"]
pub(crate) struct Spot<'a, T> {
    /// A pointer, since another thread may free the block once the slot is marked.
    slot: NonNull<Slot<T>>,
    mark: usize,
    line: PhantomData<&'a Line<T>>,
}

impl<T> Spot<'_, T> {
    #[inline(always)]
    pub(crate) fn fill(self, entry: T) {
        // SAFETY: the slot is ours (1), and its block is not left before we mark it (3).
        let slot = unsafe { self.slot.as_ref() };
        // SAFETY: as above.
        slot.entry.with_mut(|to| unsafe { (*to).as_mut_ptr().write(entry) });
        slot.mark.store(self.mark, Release);
    }
}

/// Entries that are whole and taken: the head moves past them.
pub(crate) struct Batch<'a, T>(std::slice::Iter<'a, Slot<T>>);

impl<T> Batch<'_, T> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<T> {
        let slot = self.0.next()?;
        // SAFETY: it is whole (2), and read once.
        Some(slot.entry.with_mut(|entry| unsafe { (*entry).assume_init_read() }))
    }

    /// Moves the next entry to where it will lie, without a stop on the way.
    ///
    /// # Safety
    /// `to` is a place of the caller's own.
    #[inline(always)]
    pub(crate) unsafe fn move_to(&mut self, to: *mut MaybeUninit<T>) {
        let slot = self.0.next().expect("moved more than there is");
        // SAFETY: as in `next`, and by the caller's promise.
        slot.entry.with_mut(|entry| unsafe { ptr::copy_nonoverlapping(entry, to, 1) });
    }
}

impl<T> Block<T> {
    fn new() -> Box<Block<T>> {
        Box::new(Block {
            next: AtomicPtr::new(ptr::null_mut()),
            slots: std::array::from_fn(|_| Slot {
                mark: AtomicUsize::new(0),
                entry: UnsafeCell::new(MaybeUninit::uninit()),
            }),
        })
    }
}

impl<T> Line<T> {
    pub(crate) fn new(spare_max: usize) -> Line<T> {
        let block = Box::into_raw(Block::new());
        let tail = Tail { number: AtomicUsize::new(0), block: AtomicPtr::new(block) };
        Line {
            tail: CachePadded::new(tail),
            head: CachePadded::new(Mutex::new(Head { number: 0, block })),
            served: CachePadded::new(Served {
                number: AtomicUsize::new(0),
                misses: AtomicUsize::new(0),
            }),
            spare: CachePadded::new(Mutex::new(Vec::new())),
            spare_max,
        }
    }

    #[inline(always)]
    pub(crate) fn push(&self, entry: T) {
        self.claim().fill(entry);
    }

    /// Makes the next slot ours. Whoever looks finds the line not empty from here on.
    #[inline(always)]
    pub(crate) fn claim(&self) -> Spot<'_, T> {
        let tail = &*self.tail;
        loop {
            let number = tail.number.load(Acquire);
            let block = tail.block.load(Relaxed);
            let (next, place) = (number.wrapping_add(1), number % LAP);
            let ours = if place < CAP - 1 {
                let announced = sync::announced();
                let moved = tail.number.compare_exchange_weak(number, next, announced, Relaxed);
                moved.inspect_err(|_| sync::back_off()).is_ok()
            } else {
                self.claim_last(number, block)
            };
            if ours {
                // SAFETY: the slot is ours (1), and its block is not left before we mark it (3).
                let slot = unsafe { NonNull::from(&(&(*block).slots)[place]) };
                // SAFETY: as above.
                let soon = unsafe { &raw const (&(*block).slots)[(place + AHEAD).min(CAP - 1)] };
                sync::prefetch(soon.cast(), 1);
                return Spot { slot, mark: next, line: PhantomData };
            }
        }
    }

    /// Makes the last slot of a block ours, and puts the next block there.
    #[cold]
    fn claim_last(&self, number: usize, block: *mut Block<T>) -> bool {
        let tail = &*self.tail;
        if number % LAP == CAP {
            let waits = || tail.number.load(Relaxed) == number;
            let soon = (0..SPINS).any(|_| {
                sync::spin_loop();
                !waits()
            });
            if !soon {
                // Whoever puts the block there is kept off its core.
                thread::yield_now();
            }
            return false;
        }
        // Before we own the slot, so that nobody waits for the allocator.
        let next = self.fresh();
        let passed = number.wrapping_add(1);
        if tail.number.compare_exchange(number, passed, sync::announced(), Relaxed).is_err() {
            self.keep(next);
            return false;
        }
        let next = Box::into_raw(next);
        tail.block.store(next, Relaxed);
        tail.number.store(passed.wrapping_add(1), Release);
        // SAFETY: the block is not left before we mark its last slot (3).
        unsafe { (*block).next.store(next, Relaxed) };
        true
    }

    fn fresh(&self) -> Box<Block<T>> {
        let spare = self.spare.lock().pop();
        spare.unwrap_or_else(Block::new)
    }

    fn keep(&self, block: Box<Block<T>>) {
        let mut spare = self.spare.lock();
        if spare.len() < self.spare_max {
            spare.push(block);
        }
    }

    /// Takes up to `most` of the oldest entries of one block; `user` must take them all.
    #[inline]
    pub(crate) fn take<R>(
        &self,
        most: usize,
        user: impl FnOnce(&mut Batch<'_, T>) -> R,
    ) -> Option<R> {
        // The head knows whether something is there, though behind a lock. Whoever looks at the tail
        // takes it from the core that pushes.
        if self.served.misses.load(Relaxed) >= MISSES && self.is_empty() {
            return None;
        }
        let mut head = self.head.lock();
        let misses = self.served.misses.load(Relaxed);
        let first = head.number;
        // SAFETY: the head's block is alive until the head leaves it, which only we do.
        let slots = unsafe { &(&(*head.block).slots)[first % LAP..] };
        let whole =
            |(i, slot): &(usize, &Slot<T>)| slot.mark.load(Acquire) == first.wrapping_add(i + 1);
        let n = slots.iter().take(most).enumerate().take_while(whole).count();
        if n == 0 {
            self.served.misses.store(misses.saturating_add(1), Relaxed);
            return None;
        }
        let mut batch = Batch(slots[..n].iter());
        let result = user(&mut batch);
        assert_eq!(batch.0.len(), 0, "left an entry behind");
        head.number = first.wrapping_add(n);
        if head.number % LAP == CAP {
            self.leave_block(&mut head);
        }
        self.served.number.store(head.number, Relaxed);
        if misses > 0 {
            self.served.misses.store(0, Relaxed);
        }
        Some(result)
    }

    #[cold]
    fn leave_block(&self, head: &mut Head<T>) {
        // SAFETY: every slot of it was marked and read, so nobody else uses it any more (3).
        let block = unsafe { Box::from_raw(head.block) };
        head.block = block.next.load(Relaxed);
        head.number = head.number.wrapping_add(1);
        self.keep(block);
    }

    /// Looks at the oldest entry, if there is one and it is whole.
    pub(crate) fn peek<R>(&self, look: impl FnOnce(&T) -> R) -> Option<R> {
        let head = self.head.lock();
        // SAFETY: as in `take`.
        let slot = unsafe { &(&(*head.block).slots)[head.number % LAP] };
        if slot.mark.load(Acquire) != head.number.wrapping_add(1) {
            return None;
        }
        // SAFETY: it is whole (2), and nobody takes it while we hold the lock.
        Some(slot.entry.with_mut(|entry| look(unsafe { (*entry).assume_init_ref() })))
    }

    /// A number that grows with each entry.
    #[inline]
    pub(crate) fn arrivals(&self) -> usize {
        self.tail.number.load(Relaxed)
    }

    /// About how many wait since before [`arrivals`](Line::arrivals) was `since`: none if it is 0.
    pub(crate) fn waiting_before(&self, since: usize) -> usize {
        (since.wrapping_sub(self.served.number.load(Relaxed)) as isize).max(0) as usize
    }

    /// Takes the oldest entry.
    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        self.take(1, |batch| batch.next())?
    }

    /// Takes the oldest entry, and waits for one that is claimed and not yet whole: for whoever
    /// must leave nothing behind.
    pub(crate) fn pop_surely(&self) -> Option<T> {
        loop {
            let entry = self.pop();
            if entry.is_some() || self.is_empty() {
                return entry;
            }
            thread::yield_now();
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        let served = self.served.number.load(Relaxed);
        self.tail.number.load(Relaxed).wrapping_sub(served) as isize <= 0
    }

    pub(crate) fn len(&self) -> usize {
        let served = self.served.number.load(Relaxed);
        let tail = self.tail.number.load(Relaxed);
        let entries = |number: usize| number / LAP * CAP + (number % LAP).min(CAP);
        entries(tail).saturating_sub(entries(served))
    }
}

impl<T> Drop for Line<T> {
    fn drop(&mut self) {
        while let Some(entry) = self.pop() {
            drop(entry);
        }
        // SAFETY: nobody else is there, and the head's block is the last.
        drop(unsafe { Box::from_raw(self.head.lock().block) });
    }
}

#[cfg(all(test, loom))]
#[path = "line_models.rs"]
mod models;
