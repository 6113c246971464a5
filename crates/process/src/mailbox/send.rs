//! The senders' side of a mailbox: is there room, and where does a message go.

use super::{
    Mailbox,
    chain::Node,
    ring::Ring,
    stack::{Pushed, Refused},
};
use crate::sync::atomic::Ordering::{Relaxed, Release};

impl<M: Send> Mailbox<'_, M> {
    /// How many more nodes the stack may have than it may have now.
    #[inline]
    fn room(&self) -> u32 {
        match self.bound() {
            // Not even looked at: the reader writes to it.
            u32::MAX => u32::MAX,
            bound => {
                let slot = u32::from(self.gauge.full.load(Relaxed));
                bound.saturating_sub(self.store.waiting.load(Relaxed) + slot)
            }
        }
    }

    /// Whether a sender would be refused.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.stack.len() >= self.room()
    }

    /// How many messages a sender may push at once.
    pub(crate) fn free(&self) -> u32 {
        self.room().saturating_sub(self.stack.len())
    }

    /// Puts a message on the stack.
    ///
    /// # Errors
    /// Why not, and the message.
    #[inline]
    pub(crate) fn push(&self, message: M) -> Result<Pushed, (Refused, M)> {
        match self.ring() {
            None => self.stack.push(message, self.room()),
            Some(ring) => self.push_on_ring(ring, message),
        }
    }

    /// Puts a message in whatever the bound says. False: it is closed, and the message dropped.
    pub(crate) fn push_late(&self, message: M) -> bool {
        match self.ring() {
            None => self.stack.push(message, u32::MAX).is_ok(),
            Some(ring) => self.push_on_ring(ring, message).is_ok(),
        }
    }

    #[cold]
    fn push_on_ring(&self, ring: &Ring<M>, message: M) -> Result<Pushed, (Refused, M)> {
        // The reader takes from the ring one by one, so each push calls for a turn.
        ring.push(self.stack, message).map(|()| Pushed::First)
    }

    /// Puts a chain on the stack, from `newest` to `oldest`.
    ///
    /// # Safety
    /// As for [`Stack::push_chain`](super::stack::Stack::push_chain).
    pub(crate) unsafe fn push_chain(
        &self,
        newest: *mut Node<M>,
        oldest: *mut Node<M>,
        count: u32,
    ) -> Result<Pushed, Refused> {
        // SAFETY: by the caller's promise.
        unsafe { self.stack.push_chain(newest, oldest, count, self.room()) }
    }

    /// Whether whoever was putting something into the slot is done. The turn that reads it acquires.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.gauge.full.load(Relaxed)
    }

    /// Leaves a message where the next turn finds it, whatever the bound says: the caller has asked
    /// before. No wake is owed.
    ///
    /// # Safety
    /// The caller has just queued or claimed the strand, and is in `wake_with` or
    /// `hand_off_with`.
    #[inline]
    pub(crate) unsafe fn leave(&self, message: M) {
        if Self::FITS && !self.gauge.full.load(Relaxed) && self.stack.is_empty() {
            self.store.slot.with_mut(|slot| {
                // SAFETY: the slot is ours by the caller's promise, it is empty, and `M` fits.
                unsafe { slot.cast::<M>().write(message) };
            });
            self.gauge.full.store(true, Release);
        } else {
            // A process that is queued or claimed has not exited, so its stack is open.
            let _ = self.stack.push(message, u32::MAX);
        }
    }

    /// Leaves a further message with a strand that the caller has claimed: behind what is there. No
    /// wake is owed.
    ///
    /// # Safety
    /// The caller has claimed the strand, and its turn has not begun.
    #[inline]
    pub(crate) unsafe fn leave_more(&self, message: M) {
        if !self.stack.is_empty() {
            // Some of ours may be among them. Nobody takes them meanwhile, so ours is not the first.
            let _ = self.stack.push(message, u32::MAX);
            return;
        }
        // It was ourselves who filled it: who claims a strand that another fills finds the slot full,
        // and pushes.
        let full = Self::FITS && self.gauge.full.load(Relaxed);
        // SAFETY: by the caller's promise nobody else touches the slot and the backlog.
        unsafe {
            self.with_backlog(|backlog| {
                if full {
                    backlog.push_back(Node::alone(self.empty_slot()));
                }
                backlog.push_back(Node::alone(message));
            });
        }
    }
}
