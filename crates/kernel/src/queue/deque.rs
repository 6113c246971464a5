//! A worker's own deque: it pushes and takes at the near end, thieves take from the far end.
//!
//! Entries lie in a ring, numbered from `top`, the oldest, up to but not including `bottom`. The
//! owner moves `bottom`; whoever takes the oldest moves `top`, always upwards. Thieves hold the
//! ring's lock while they steal, so there is one at a time; the owner needs no lock and no
//! read-modify-write, unless it makes room or wants what a thief is just about to take.
//!
//! 1. *Nobody takes what another has.* The owner announces that it takes entry `b` (it lowers
//!    `bottom`), fences, and looks at `claim`; a thief announces that it takes all below `claim`,
//!    fences, and looks at `bottom`. So of an owner and a thief that want the same entry at least
//!    one sees the other. A thief that sees the owner takes only what is below `bottom`, and
//!    lowers its claim to that; an owner that sees a thief waits for the lock, and then `top` says
//!    whose the entry is. With no thief at work `claim` is `top`. A claim is for many at once: to
//!    look at `bottom` for each would take its line from the owner each time. Under the lock a thief
//!    only copies, so an owner waits for long only if the thief is kept off its core meanwhile; what
//!    is above the claim it takes without waiting.
//! 2. *A thief sees what was pushed.* Every store that a thief may read `bottom` from and find an
//!    entry below releases; thieves acquire.
//! 3. *Nobody writes where a thief reads.* A thief reads an entry that is its own by (1), under the
//!    lock, and then moves `top` past it. The owner writes only below `limit`, one ring's length
//!    above a `top` that it has read under the same lock: whatever lay in those slots was read
//!    by then.
//! 4. *An entry in place.* [`Deque::take`] leaves the entry in its slot, for its owner to move
//!    out before anything else is pushed. Nobody else touches the slot meanwhile (1 and 3).

use std::{
    cell::Cell,
    mem::MaybeUninit,
    ptr::{self, NonNull},
    sync::Arc,
};

use crossbeam_utils::CachePadded;

use crate::sync::{
    Mutex, UnsafeCell,
    atomic::{
        AtomicUsize,
        Ordering::{Acquire, Relaxed, Release, SeqCst},
        fence,
    },
};

/// The shortest ring.
const RING_MIN: usize = if cfg!(any(loom, shuttle)) { 2 } else { 256 };

/// A thief takes half of what is there, and at most so many at once.
const HALF_MAX: usize = if cfg!(any(loom, shuttle)) { 2 } else { 32 };

type Slot<T> = UnsafeCell<MaybeUninit<T>>;

/// The owner's side.
pub(crate) struct Deque<T> {
    ends: Arc<Ends<T>>,
    /// The owner's copies: of `bottom`, of how far it may write, and of where the ring is.
    bottom: Cell<usize>,
    limit: Cell<usize>,
    slots: Cell<NonNull<Slot<T>>>,
    mask: Cell<usize>,
}

// SAFETY: entries are `Send`, and one thread at a time is the owner.
unsafe impl<T: Send> Send for Deque<T> {}

/// The side of the thieves.
pub(crate) struct Stealer<T>(Arc<Ends<T>>);

struct Ends<T> {
    bottom: CachePadded<AtomicUsize>,
    top: CachePadded<Top>,
    ring: Mutex<Ring<T>>,
}

/// Written under the lock only.
struct Top {
    /// The oldest entry.
    is: AtomicUsize,
    /// The first one that no thief wants.
    claim: AtomicUsize,
}

/// Slots on the heap, a power of two of them. What is in them is the deque's business.
struct Ring<T> {
    slots: NonNull<Slot<T>>,
    len: usize,
}

// SAFETY: the ring owns its slots, and whoever touches one has its entry (see above).
unsafe impl<T: Send> Send for Ring<T> {}
// SAFETY: as above; the ring itself is touched under its lock.
unsafe impl<T: Send> Sync for Ends<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Ends<T> {}

impl<T> Ring<T> {
    fn new(len: usize) -> Ring<T> {
        let slots: Box<[Slot<T>]> =
            (0..len).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect();
        Ring { slots: NonNull::from(Box::leak(slots)).cast(), len }
    }

    fn slot(&self, index: usize) -> &Slot<T> {
        // SAFETY: the masked index is below the length.
        unsafe { self.slots.add(index & (self.len - 1)).as_ref() }
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        let slots = NonNull::slice_from_raw_parts(self.slots, self.len);
        // SAFETY: `new` leaked such a box, and a ring is dropped once.
        drop(unsafe { Box::from_raw(slots.as_ptr()) });
    }
}

/// Moves an entry out of its slot.
///
/// # Safety
/// There is one, and the caller has it to itself.
unsafe fn read<T>(slot: &Slot<T>) -> T {
    // SAFETY: by the caller's promise.
    slot.with_mut(|entry| unsafe { (*entry).assume_init_read() })
}

impl<T> Deque<T> {
    pub(crate) fn new() -> Deque<T> {
        let ring = Ring::new(RING_MIN);
        let (slots, mask) = (Cell::new(ring.slots), Cell::new(ring.len - 1));
        Deque {
            ends: Arc::new(Ends {
                bottom: CachePadded::new(AtomicUsize::new(0)),
                top: CachePadded::new(Top { is: AtomicUsize::new(0), claim: AtomicUsize::new(0) }),
                ring: Mutex::new(ring),
            }),
            bottom: Cell::new(0),
            limit: Cell::new(RING_MIN),
            slots,
            mask,
        }
    }

    pub(crate) fn stealer(&self) -> Stealer<T> {
        Stealer(self.ends.clone())
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline(always)]
    pub(crate) fn push(&self, entry: T) {
        // SAFETY: it is written whole.
        unsafe { self.push_with(|slot| (*slot).as_mut_ptr().write(entry)) };
    }

    /// Pushes what `fill` writes to the slot it is given. Returns the entry's place.
    ///
    /// # Safety
    /// `fill` writes an entry, and does nothing else.
    #[inline(always)]
    pub(crate) unsafe fn push_with(&self, fill: impl FnOnce(*mut MaybeUninit<T>)) -> usize {
        let bottom = self.bottom.get();
        if bottom == self.limit.get() {
            self.make_room(1);
        }
        // Nobody else touches a slot above the bottom and below the limit (3).
        self.slot(bottom).with_mut(fill);
        self.publish(bottom.wrapping_add(1));
        bottom
    }

    /// Takes over `n` entries that came as a batch. `fill` writes one after the other, oldest
    /// first, to the place it is given; the oldest will be on top.
    #[inline(always)]
    fn adopt(&self, n: usize, mut fill: impl FnMut(*mut MaybeUninit<T>)) {
        self.reserve(n);
        let bottom = self.bottom.get();
        for i in (0..n).rev() {
            // As in `push_with`, nobody else touches these slots.
            self.slot(bottom.wrapping_add(i)).with_mut(&mut fill);
        }
        self.publish(bottom.wrapping_add(n));
    }

    /// Makes sure that `n` entries have room.
    #[inline(always)]
    fn reserve(&self, n: usize) {
        if self.limit.get().wrapping_sub(self.bottom.get()) < n {
            self.make_room(n);
        }
    }

    #[inline(always)]
    fn slot(&self, index: usize) -> &Slot<T> {
        // SAFETY: the masked index is below the length of the ring, which only we replace.
        unsafe { self.slots.get().add(index & self.mask.get()).as_ref() }
    }

    #[inline(always)]
    fn publish(&self, bottom: usize) {
        self.bottom.set(bottom);
        self.ends.bottom.store(bottom, Release);
    }

    /// Takes the newest entry, which stays in its slot: the caller moves it out before it pushes.
    #[inline(always)]
    pub(crate) fn take(&self) -> Option<NonNull<T>> {
        let slot = self.take_slot()?;
        NonNull::new(slot.with_mut(<*mut MaybeUninit<T>>::cast::<T>))
    }

    #[inline(always)]
    fn take_slot(&self) -> Option<&Slot<T>> {
        let ends = &*self.ends;
        let bottom = self.bottom.get();
        if ends.top.is.load(Relaxed) == bottom {
            return None;
        }
        let newest = bottom.wrapping_sub(1);
        // A thief may find an older entry below this bottom, so it releases too.
        self.publish(newest);
        fence(SeqCst);
        if (newest.wrapping_sub(ends.top.claim.load(Relaxed)) as isize) < 0 {
            return self.take_from_a_thief(newest);
        }
        Some(self.slot(newest))
    }

    /// The entry that is [`AHEAD`] from the top, left where it is. A thief may have taken it, but not
    /// changed its bytes: good for guessing what comes soon, and for nothing else.
    #[cfg(not(any(loom, shuttle)))]
    #[inline(always)]
    pub(crate) fn guess(&self) -> Option<NonNull<T>> {
        let at = self.bottom.get().wrapping_sub(AHEAD);
        if (at.wrapping_sub(self.ends.top.is.load(Relaxed)) as isize) < 0 {
            return None;
        }
        NonNull::new(self.slot(at).with_mut(<*mut MaybeUninit<T>>::cast::<T>))
    }

    /// Takes an entry that a thief wanted at the same moment, unless that one has it.
    #[cold]
    fn take_from_a_thief(&self, newest: usize) -> Option<&Slot<T>> {
        let ring = self.ends.ring.lock_soon();
        let stolen = (newest.wrapping_sub(self.ends.top.is.load(Relaxed)) as isize) < 0;
        drop(ring);
        if stolen {
            // Nothing is below, so there is nothing to release.
            self.bottom.set(newest.wrapping_add(1));
            self.ends.bottom.store(newest.wrapping_add(1), Relaxed);
            return None;
        }
        Some(self.slot(newest))
    }

    /// Where the next entry will lie.
    #[inline(always)]
    pub(crate) fn next_place(&self) -> usize {
        self.bottom.get()
    }

    /// Takes the entry that was pushed to `place`, if it is the newest, and leaves it in its slot.
    /// An entry has that place for good: once a thief took it, nothing is pushed there again.
    #[inline(always)]
    pub(crate) fn take_back(&self, place: usize) -> bool {
        self.bottom.get() == place.wrapping_add(1) && self.take_slot().is_some()
    }

    /// Takes the newest entry.
    pub(crate) fn pop(&self) -> Option<T> {
        // SAFETY: `take_slot` gives it to us alone.
        self.take_slot().map(|slot| unsafe { read(slot) })
    }

    /// Moves the limit up, or makes the ring longer.
    #[cold]
    fn make_room(&self, n: usize) {
        let mut ring = self.ends.ring.lock();
        let top = self.ends.top.is.load(Relaxed);
        let needed = self.bottom.get().wrapping_sub(top) + n;
        if needed > ring.len {
            self.replace(&mut ring, top, needed.next_power_of_two());
        }
        self.limit.set(top.wrapping_add(ring.len));
    }

    /// Before the owner sleeps: gives the memory of a ring that has grown back.
    pub(crate) fn tidy(&self) {
        if self.mask.get() >= 16 * RING_MIN && self.is_empty() {
            let mut ring = self.ends.ring.lock();
            let top = self.ends.top.is.load(Relaxed);
            self.replace(&mut ring, top, RING_MIN);
            self.limit.set(top.wrapping_add(RING_MIN));
        }
    }

    /// Moves all from `top` to `bottom` to another ring. Thieves wait for the lock meanwhile.
    fn replace(&self, ring: &mut Ring<T>, top: usize, len: usize) {
        let other = Ring::<T>::new(len);
        for i in 0..self.bottom.get().wrapping_sub(top) {
            let index = top.wrapping_add(i);
            // SAFETY: it is below the bottom, which only we move, and no thief can take it.
            let entry = unsafe { read(ring.slot(index)) };
            other.slot(index).with_mut(|slot| {
                // SAFETY: nobody else knows this ring yet.
                unsafe { (*slot).as_mut_ptr().write(entry) };
            });
        }
        self.slots.set(other.slots);
        self.mask.set(len - 1);
        *ring = other;
    }
}

impl<T> Ends<T> {
    fn len(&self) -> usize {
        let top = self.top.is.load(Relaxed);
        let waiting = self.bottom.load(Relaxed).wrapping_sub(top) as isize;
        waiting.max(0) as usize
    }

    /// Takes the oldest entries, up to `most` of them, and gives each to `user`, which says whether
    /// it wants another. The caller holds the lock.
    fn steal(&self, ring: &Ring<T>, most: usize, mut user: impl FnMut(T) -> bool) {
        let top = self.top.is.load(Relaxed);
        self.top.claim.store(top.wrapping_add(most), Relaxed);
        fence(SeqCst);
        let waiting = self.bottom.load(Acquire).wrapping_sub(top) as isize;
        let mut next = top;
        for _ in 0..most.min(waiting.max(0) as usize) {
            // SAFETY: it is below our claim, and was there below a bottom that the owner has not
            // lowered since without seeing the claim, so it is ours (1); it is whole (2), and nobody
            // writes over it while we hold the lock (3).
            let entry = unsafe { read(ring.slot(next)) };
            next = next.wrapping_add(1);
            if !user(entry) {
                break;
            }
        }
        self.top.is.store(next, Relaxed);
        self.top.claim.store(next, Relaxed);
    }
}

impl<T> Drop for Ends<T> {
    fn drop(&mut self) {
        let ring = self.ring.lock();
        self.steal(&ring, self.len(), |entry| {
            drop(entry);
            true
        });
    }
}

impl<T> Stealer<T> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A number that changes when the owner pushes or takes.
    pub(crate) fn pace(&self) -> usize {
        self.0.bottom.load(Relaxed)
    }

    /// Takes the oldest entry.
    pub(crate) fn steal(&self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut oldest = None;
        self.0.steal(&self.0.ring.lock(), 1, |entry| {
            oldest = Some(entry);
            false
        });
        oldest
    }

    /// Takes half of the entries, from the far end: returns the oldest, and gives the others to
    /// the caller's own deque, the older on top. An entry that is to be run at once ends the
    /// batch, and is the one that is returned.
    pub(crate) fn steal_half(&self, own: &Deque<T>, at_once: impl Fn(&T) -> bool) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let mut batch: [MaybeUninit<T>; HALF_MAX] = [const { MaybeUninit::uninit() }; HALF_MAX];
        let (mut taken, mut first) = (0, 0);
        {
            // The batch leaves the lock before it enters the other deque: two who steal from each
            // other do not wait for each other.
            let ring = self.0.ring.lock();
            let half = self.len().div_ceil(2).min(HALF_MAX);
            self.0.steal(&ring, half, |entry| {
                let last = at_once(&entry);
                batch[taken].write(entry);
                taken += 1;
                if last {
                    first = taken - 1;
                }
                !last
            });
        }
        let (before, rest) = batch[..taken].split_at(first);
        let (chosen, after) = rest.split_first()?;
        let mut others = before.iter().chain(after);
        own.adopt(taken - 1, |to| {
            let entry = others.next().expect("it has so many");
            // SAFETY: it is moved once, to a place of ours.
            unsafe { ptr::copy_nonoverlapping(entry, to, 1) };
        });
        // SAFETY: it was written, and is read once.
        Some(unsafe { chosen.assume_init_read() })
    }
}

/// The entry that is guessed at, counted from the newest as 1: a line comes from another core within
/// about as many short turns.
#[cfg(not(any(loom, shuttle)))]
const AHEAD: usize = 3;

/// How many entries a worker takes from a line at once.
pub(crate) const BATCH: usize = if cfg!(any(loom, shuttle)) { 2 } else { 16 };

impl<T> super::line::Line<T> {
    /// The next entry of the line; a batch behind it goes to `own`, oldest on top, `most` in all.
    #[inline]
    pub(crate) fn take_batch(&self, own: &Deque<T>, most: usize) -> Option<T> {
        own.reserve(BATCH);
        self.take(most.min(BATCH), |batch| {
            let oldest = batch.next();
            // SAFETY: `adopt` gives places of its own.
            own.adopt(batch.len(), |to| unsafe { batch.move_to(to) });
            oldest
        })?
    }
}

#[cfg(all(test, loom))]
#[path = "deque_models.rs"]
mod models;

#[cfg(all(test, not(any(loom, shuttle))))]
#[path = "deque_tests.rs"]
mod tests;
