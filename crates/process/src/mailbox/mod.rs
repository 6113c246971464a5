//! A mailbox: who may put a message where, and in which order they are read.
//!
//! ```text
//!   idle process      sender ──► slot ─────────────┐
//!   any other state   senders ─► stack of nodes ───┤ at the start of a turn
//!                                                  ▼
//!                     turn:  slot, then backlog ──► receive
//! ```
//!
//! The **slot** holds one message in place. It is written by whoever queues the idle strand
//! (`wake_with`) or claims it (`hand_off_with`): that one owns it until the next turn begins. All
//! other messages are nodes on the **stack**. The **backlog** belongs to the turns.
//!
//! 1. Outside of turns of an idle strand the slot is empty: every turn ends with an empty slot.
//! 2. Every turn begins with [`settle`](Mailbox::settle), which moves all that was sent before into
//!    the order slot, backlog. Mid-turn nothing is put into the slot, since the strand runs.
//! 3. Who is first on an empty stack wakes the strand; who comes later need not (rule 2 of
//!    [`stack`]).
//!
//! The sides are in files of their own: [`send`] and [`read`]; what both touch is in [`store`].
//!
//! **Order per pair.** Let one sender send `a`, then `b`. If `a` went to the slot, it is read before
//! the stack, and `b` can not go to the slot before the turn that reads `a` has begun: `a` first.
//! If `a` went to the stack and `b` to the stack, the stack keeps their order. If `a` went to the
//! stack and `b` would go to the slot, its sender owns the slot and looks at the stack first: if
//! `a` is still there it pushes `b` as well. If it is not, a turn has taken `a` to the backlog, and
//! since rule 2 puts what it finds in the slot behind an older backlog, `a` comes first. Whoever has
//! claimed the strand and sends once more puts the slot's message and its own behind the backlog,
//! unless something lies on the stack: then it goes there as well.
//!
//! Ordering: see [`stack`] for nodes. The slot is written before the strand's entry is pushed, or
//! under a claim, and read in the turn that follows. A claim may find a filler still at work:
//! `full` is released by it last, and acquired by the turn that reads the slot. A mailbox that drops
//! its oldest message uses neither slot nor stack for messages, but a [`ring`].

pub(crate) mod chain;
pub(crate) mod links;
mod read;
mod ring;
mod send;
pub(crate) mod stack;
mod store;

use std::mem;

use crate::sync::atomic::Ordering::Relaxed;
use ring::Ring;
use stack::Stack;
use store::SLOT;
pub(crate) use store::{Gauge, Inbox, Store};

/// A mailbox: what senders write to, what is known, and where messages lie.
pub(crate) struct Mailbox<'a, M> {
    pub(crate) gauge: &'a Gauge,
    pub(crate) stack: &'a Stack<M>,
    pub(crate) store: &'a Store<M>,
}

impl<M: Send> Mailbox<'_, M> {
    /// Whether a message can lie in the slot.
    const FITS: bool = mem::size_of::<M>() <= SLOT && mem::align_of::<M>() <= 8;

    pub(crate) fn is_closed(&self) -> bool {
        self.stack.is_closed()
    }

    /// How many messages were dropped for newer ones.
    pub(crate) fn dropped(&self) -> u64 {
        self.ring().map_or(0, Ring::dropped)
    }

    /// How many messages may wait; `u32::MAX` for no bound.
    #[inline]
    pub(crate) fn bound(&self) -> u32 {
        match (self.ring(), self.gauge.bound) {
            (Some(ring), _) => ring.bound(),
            (None, 0) => u32::MAX,
            (None, bound) => bound.into(),
        }
    }

    /// How many messages wait; it may be another number the next moment.
    pub(crate) fn len(&self) -> u32 {
        let slot = u32::from(self.gauge.full.load(Relaxed));
        let rest = self.stack.len() + self.store.waiting.load(Relaxed) + slot;
        // What a selective receive has left is dropped for newer ones when something is read.
        self.ring().map_or(rest, |ring| (rest + ring.len()).min(ring.bound()))
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether anything has come since the last turn.
    pub(crate) fn has_arrivals(&self) -> bool {
        self.gauge.full.load(Relaxed)
            || !self.stack.is_empty()
            || self.ring().is_some_and(|ring| !ring.is_empty())
    }
}

impl<M> Mailbox<'_, M> {
    /// Whether messages go to the slot and the stack.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.gauge.is_plain()
    }

    /// Where messages wait instead, if the oldest is to be dropped when it is full.
    #[inline]
    fn ring(&self) -> Option<&Ring<M>> {
        if self.is_plain() {
            return None;
        }
        // SAFETY: it is there as long as the mailbox.
        Some(unsafe { &*self.ring_address() })
    }

    /// Where the ring lies. For a mailbox that has one.
    fn ring_address(&self) -> *mut Ring<M> {
        debug_assert!(!self.is_plain(), "its slot may hold a message");
        // SAFETY: a gauge that is not plain was made with a store whose slot holds the address, and
        // nobody writes to it.
        self.store.slot.with(|slot| unsafe { slot.cast::<*mut Ring<M>>().read() })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

#[cfg(all(test, loom))]
mod models;
