//! A ring: the mailbox that drops its oldest message for a new one.
//!
//! It takes the place of slot and stack, and its address lies in the slot. Whoever pushes on a ring that
//! closes at the same moment must not leave its message behind: both step, fence, and look at what the
//! other does. Either the one who closes finds the message, or the pusher finds the mailbox closed and
//! empties the ring itself.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_queue::ArrayQueue;

use super::stack::{Refused, Stack};
use crate::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, SeqCst},
    fence,
};

pub(super) struct Ring<M> {
    messages: ArrayQueue<M>,
    dropped: AtomicU64,
}

impl<M> Ring<M> {
    /// For so many messages.
    pub(super) fn new(bound: usize) -> Ring<M> {
        Ring { messages: ArrayQueue::new(bound), dropped: AtomicU64::new(0) }
    }

    /// How many messages it takes.
    pub(super) fn bound(&self) -> u32 {
        self.messages.capacity() as u32
    }

    pub(super) fn len(&self) -> u32 {
        self.messages.len() as u32
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// How many messages were dropped for newer ones.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    pub(super) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Relaxed);
    }

    /// Puts a message in. `stack` is that of the same mailbox: it says whether that is closed.
    pub(super) fn push(&self, stack: &Stack<M>, message: M) -> Result<(), (Refused, M)> {
        if stack.is_closed() {
            return Err((Refused::Closed, message));
        }
        let oldest = self.messages.force_push(message);
        if oldest.is_some() {
            self.count_dropped();
        }
        // Pairs with the fence in `close`: it finds the message, or we find it closed.
        fence(SeqCst);
        if stack.is_closed() {
            while self.messages.pop().is_some() {}
        }
        Ok(())
    }

    /// The oldest message. For the one who reads.
    pub(super) fn pop(&self) -> Option<M> {
        self.messages.pop()
    }

    /// Drops what is there, and counts it. For the one who has closed the mailbox.
    pub(super) fn close(&self) -> u32 {
        // Pairs with the fence in `push`.
        fence(SeqCst);
        let mut count = 0;
        while let Some(message) = self.messages.pop() {
            count += 1;
            let _ = catch_unwind(AssertUnwindSafe(|| drop(message)));
        }
        count
    }
}
