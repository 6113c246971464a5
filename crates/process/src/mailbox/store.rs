//! What a mailbox is made of: where messages lie, and what is known of them beside it.
//!
//! The parts lie apart, so that senders and the reader write to different cache lines: [`Inbox`] and
//! [`Gauge`] in the core of a process, [`Store`] behind it. The core does not know the type of
//! messages; its inbox is the [`Stack`] of them all the same.

use std::{
    mem::{ManuallyDrop, MaybeUninit},
    ptr,
};

use super::{chain::Node, ring::Ring, stack::Stack};
use crate::sync::{
    UnsafeCell,
    atomic::{AtomicBool, AtomicU8, AtomicU32},
};

/// The largest message, in bytes, that a mailbox holds in place while its process is idle.
pub(crate) const SLOT: usize = 32;

pub(super) type Bytes = MaybeUninit<[u64; SLOT / 8]>;

/// The first and the last node of the backlog; its length is beside it.
pub(super) struct Ends<M>(pub(super) *mut Node<M>, pub(super) *mut Node<M>);

/// In place of a bound: the mailbox drops its oldest message when it is full, and its slot holds the
/// address of a ring, never a message.
const RING: u16 = u16::MAX;

/// Where messages lie. What is known of them is in a [`Gauge`] beside it, also whether the slot is one.
pub(crate) struct Store<M> {
    pub(super) slot: UnsafeCell<Bytes>,
    pub(super) backlog: UnsafeCell<Ends<M>>,
    /// The length of the backlog; those who may not look at it may read this.
    pub(super) waiting: AtomicU32,
    /// The mean length of the process's turns that were timed, in nanoseconds, as the bits of an
    /// `f32`; 0 before one was.
    pub(crate) mean: AtomicU32,
}

// SAFETY: messages are moved from thread to thread; the slot and the backlog are each touched by
// one thread at a time, by rules 1 and 2 of the mailbox and the promises of those who call its
// unsafe functions.
unsafe impl<M: Send> Sync for Store<M> {}
// SAFETY: as above.
unsafe impl<M: Send> Send for Store<M> {}

impl<M> Store<M> {
    /// The store of a mailbox that never drops a message.
    #[inline]
    pub(crate) fn new() -> Store<M> {
        Store::with(MaybeUninit::uninit())
    }

    /// The store of a mailbox that drops the oldest of so many messages when it is full, and the gauge
    /// that belongs to it.
    pub(crate) fn dropping(bound: usize, flags: u8) -> (Gauge, Store<M>) {
        let mut slot = Bytes::uninit();
        let ring = Box::into_raw(Box::new(Ring::<M>::new(bound)));
        // SAFETY: the slot has room for a pointer, and is aligned for it.
        unsafe { slot.as_mut_ptr().cast::<*mut Ring<M>>().write(ring) };
        (Gauge::with(RING, flags), Store::with(slot))
    }

    #[inline]
    fn with(slot: Bytes) -> Store<M> {
        Store {
            slot: UnsafeCell::new(slot),
            backlog: UnsafeCell::new(Ends(ptr::null_mut(), ptr::null_mut())),
            waiting: AtomicU32::new(0),
            mean: AtomicU32::new(0),
        }
    }
}

/// What is known of a mailbox without the type of its messages, and the flags of its process.
pub(crate) struct Gauge {
    /// How many messages may wait; 0 for no bound, and RING if the ring says it.
    pub(super) bound: u16,
    /// The slot holds a message.
    pub(super) full: AtomicBool,
    pub(crate) flags: AtomicU8,
}

impl Gauge {
    /// For so many messages that are never dropped; 0 for no bound.
    #[inline]
    pub(crate) fn new(bound: u16, flags: u8) -> Gauge {
        debug_assert!(bound != RING, "more than a mailbox can have");
        Gauge::with(bound, flags)
    }

    /// Whether messages go to the slot and the stack.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        self.bound != RING
    }

    #[inline]
    fn with(bound: u16, flags: u8) -> Gauge {
        Gauge { bound, full: AtomicBool::new(false), flags: AtomicU8::new(flags) }
    }
}

/// The way in, before the type of messages is known.
#[repr(transparent)]
pub(crate) struct Inbox(ManuallyDrop<Stack<Untyped>>);

/// Stands for a type of messages.
pub(crate) struct Untyped;

impl Inbox {
    pub(crate) fn new() -> Inbox {
        Inbox(ManuallyDrop::new(Stack::new()))
    }

    /// The stack of a mailbox for messages of type `M`.
    ///
    /// # Safety
    /// It is always called with the same `M`.
    #[inline]
    pub(crate) unsafe fn of<M>(&self) -> &Stack<M> {
        // SAFETY: a stack is one word, whatever it holds (`repr(transparent)`); all nodes on this
        // one are of the caller's type.
        unsafe { &*ptr::from_ref(self).cast::<Stack<M>>() }
    }
}
