//! The reader's side of a mailbox: what a turn does at its start, with each message, at its end.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use super::{
    Mailbox,
    chain::{Chain, Node},
    ring::Ring,
    store::Ends,
};
use crate::sync::atomic::Ordering::{Acquire, Relaxed};

impl<M: Send> Mailbox<'_, M> {
    /// The start of a turn: everything into its order.
    ///
    /// # Safety
    /// The caller holds the strand's turn, here and for all functions below.
    #[inline]
    pub(crate) unsafe fn settle(&self) {
        let spill = self.store.waiting.load(Relaxed) != 0 && self.gauge.full.load(Acquire);
        if !spill && self.stack.is_empty() {
            return;
        }
        // SAFETY: by the caller's promise, also that the slot is full.
        unsafe {
            self.with_backlog(|backlog| {
                if spill {
                    backlog.push_back(Node::alone(self.empty_slot()));
                }
                backlog.append(self.stack.take());
            });
        }
    }

    /// Calls `user` with the backlog.
    ///
    /// # Safety
    /// As for `settle`.
    #[inline]
    pub(super) unsafe fn with_backlog<R>(&self, user: impl FnOnce(&mut Chain<M>) -> R) -> R {
        self.store.backlog.with_mut(|ends| {
            // SAFETY: by the caller's promise nobody else touches it.
            let ends = unsafe { &mut *ends };
            let mut chain =
                Chain { head: ends.0, tail: ends.1, len: self.store.waiting.load(Relaxed) };
            let result = user(&mut chain);
            *ends = Ends(chain.head, chain.tail);
            self.store.waiting.store(chain.len, Relaxed);
            result
        })
    }

    /// The next message.
    ///
    /// # Safety
    /// As for `settle`.
    #[inline]
    pub(crate) unsafe fn take(&self) -> Option<M> {
        if Self::FITS && self.gauge.full.load(Acquire) {
            // SAFETY: by the caller's promise, and the slot is full.
            return Some(unsafe { self.empty_slot() });
        }
        if self.store.waiting.load(Relaxed) == 0 && self.stack.is_empty() {
            return self.ring().and_then(Ring::pop);
        }
        if let Some(ring) = self.ring() {
            // SAFETY: by the caller's promise.
            unsafe { self.keep_to_bound(ring) };
            if self.store.waiting.load(Relaxed) == 0 {
                return ring.pop();
            }
        }
        let take = |backlog: &mut Chain<M>| {
            if backlog.len == 0 {
                *backlog = self.stack.take();
            }
            backlog.pop_node()
        };
        // SAFETY: by the caller's promise; a node of the backlog is ours, and from a box.
        unsafe { Some(Box::from_raw(self.with_backlog(take)?).item) }
    }

    /// Drops the oldest of what a selective receive has left in the backlog, as far as newer messages in
    /// the ring have come in their place.
    ///
    /// # Safety
    /// As for `settle`.
    #[cold]
    unsafe fn keep_to_bound(&self, ring: &Ring<M>) {
        let mut excess = Chain::EMPTY;
        let newer = ring.len();
        // SAFETY: by the caller's promise.
        unsafe {
            self.with_backlog(|backlog| drop_beyond(backlog, ring, newer, &mut excess));
        }
        excess.drop_all();
    }

    /// The first message that `wanted` gives something for; the others stay, in order.
    ///
    /// # Safety
    /// As for `settle`.
    pub(crate) unsafe fn take_if(&self, wanted: impl FnMut(&M) -> bool) -> Option<M> {
        // SAFETY: by the caller's promise.
        unsafe { self.unsettle() };
        let mut excess = Chain::EMPTY;
        let find = |backlog: &mut Chain<M>| {
            backlog.append(self.stack.take());
            if let Some(ring) = self.ring() {
                while let Some(message) = ring.pop() {
                    backlog.push_back(Node::alone(message));
                }
                drop_beyond(backlog, ring, 0, &mut excess);
            }
            backlog.take_first(wanted)
        };
        // What `wanted` does is the user's: if it panics, the backlog must be whole.
        // SAFETY: by the caller's promise.
        let found = unsafe {
            self.with_backlog(|backlog| catch_unwind(AssertUnwindSafe(|| find(backlog))))
        };
        excess.drop_all();
        match found {
            // SAFETY: it is in no list any more, and from a box.
            Ok(node) => node.map(|node| unsafe { Box::from_raw(node) }.item),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// The end of a turn: the slot must be empty for whoever comes.
    ///
    /// # Safety
    /// As for `settle`.
    #[inline]
    pub(crate) unsafe fn unsettle(&self) {
        // Acquired as in `take`: who filled it may be known to us from this word alone.
        if !Self::FITS || !self.gauge.full.load(Acquire) {
            return;
        }
        // SAFETY: by the caller's promise, and the slot is full.
        let node = Node::alone(unsafe { self.empty_slot() });
        // SAFETY: by the caller's promise.
        unsafe { self.with_backlog(|backlog| backlog.push_front(node)) };
    }

    /// Lets nothing more in, and drops what is there. Returns how many there were.
    ///
    /// # Safety
    /// As for `settle`.
    pub(crate) unsafe fn close(&self) -> u32 {
        // SAFETY: by the caller's promise.
        unsafe { self.unsettle() };
        let last = self.stack.close();
        // SAFETY: by the caller's promise.
        let backlog = unsafe { self.with_backlog(|chain| mem::replace(chain, Chain::EMPTY)) };
        let count = backlog.drop_all() + last.drop_all();
        count + self.ring().map_or(0, Ring::close)
    }

    /// # Safety
    /// As for `settle`, and the slot is full.
    #[inline]
    pub(super) unsafe fn empty_slot(&self) -> M {
        let message = self.store.slot.with_mut(|slot| {
            // SAFETY: by the caller's promise there is a message, and nobody else touches it.
            unsafe { slot.cast::<M>().read() }
        });
        self.gauge.full.store(false, Relaxed);
        message
    }
}

/// Moves the oldest messages of the backlog to `excess`, until it and so many newer ones keep to the bound.
/// They are dropped when the backlog is whole: to drop one is anybody's code.
fn drop_beyond<M>(backlog: &mut Chain<M>, ring: &Ring<M>, newer: u32, excess: &mut Chain<M>) {
    while backlog.len > 0 && backlog.len + newer > ring.bound() {
        ring.count_dropped();
        backlog.pop_node().into_iter().for_each(|node| excess.push_back(node));
    }
}

impl<M> Mailbox<'_, M> {
    /// Drops what is left in a mailbox that was never closed: its process never ran. And the ring.
    ///
    /// # Safety
    /// Nobody else touches it any more, and nobody does afterwards.
    pub(crate) unsafe fn empty(&self) {
        let mut left = self.stack.take();
        while left.pop().is_some() {}
        let mut node = self.store.backlog.with_mut(|ends| {
            // SAFETY: by the caller's promise.
            unsafe { (*ends).0 }
        });
        while !node.is_null() {
            // SAFETY: nodes of the backlog are ours, each from a box.
            let boxed = unsafe { Box::from_raw(node) };
            node = boxed.next;
        }
        if self.gauge.full.load(Relaxed) {
            // SAFETY: the slot is full, and we are the last.
            self.store.slot.with_mut(|slot| unsafe { slot.cast::<M>().drop_in_place() });
        }
        if !self.is_plain() {
            // SAFETY: it is from a box, and we are the last.
            drop(unsafe { Box::from_raw(self.ring_address()) });
        }
    }
}
