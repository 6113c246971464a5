//! How a message waits for room in a mailbox: its sender takes a seat, and is called when there may be some.
//!
//! Nothing is lost between "it is full" and "I wait": the flag is set before the mailbox is looked at once
//! more, and then the receiver is woken. So the flag is seen by a turn that makes room, or that has. That
//! wake is given once for a seat. Whoever is asked again and finds his still taken gives none: two who wait
//! for each other's room would else wake each other for ever.

use std::task::{Poll, Waker};

use crate::{addr::Addr, core::CROWDED, error::SendError, seats::Seat};

/// A place among those who wait for room, which is given back when it is dropped.
pub(crate) struct Room<'a, M> {
    addr: &'a Addr<M>,
    /// Where its waker is, if it has waited. Once it was woken, the seat is nobody's.
    seat: Option<Seat>,
}

impl<'a, M> Room<'a, M> {
    pub(crate) fn of(addr: &'a Addr<M>) -> Room<'a, M> {
        Room { addr, seat: None }
    }
}

impl<M: Send + 'static> Room<'_, M> {
    /// Sends the message, or leaves it where it is and has the waker called when there may be room.
    pub(crate) fn poll_send(
        &mut self,
        message: &mut Option<M>,
        waker: &Waker,
    ) -> Poll<Result<(), SendError<M>>> {
        if let ready @ Poll::Ready(_) = self.attempt(message) {
            return ready;
        }
        // Cloned before, and dropped after: a waker is anybody's code.
        let waker = waker.clone();
        let core = &self.addr.0.core;
        let before = core.with_extras(|state| {
            core.set(CROWDED, true);
            state.senders.sit(&mut self.seat, waker)
        });
        let is_new = matches!(before, Some(None));
        drop(before);
        let again = self.attempt(message);
        if again.is_pending() && is_new {
            let _ = self.addr.0.strand().wake();
        }
        again
    }

    fn attempt(&self, message: &mut Option<M>) -> Poll<Result<(), SendError<M>>> {
        match self.addr.send(message.take().expect("a future is not polled after its end")) {
            Err(SendError::Full(back)) => {
                *message = Some(back);
                Poll::Pending
            }
            result => Poll::Ready(result),
        }
    }
}

impl<M> Drop for Room<'_, M> {
    fn drop(&mut self) {
        let Some(seat) = self.seat else { return };
        let core = &self.addr.0.core;
        let left = core.if_extras(|state| {
            let left = state.senders.leave(seat);
            if state.senders.is_empty() {
                core.set(CROWDED, false);
            }
            left
        });
        drop(left);
    }
}
