//! A channel: who gets a message, and who waits for one.
//!
//! 1. Receivers wait only while there is neither a buffered message nor a waiting sender.
//! 2. Senders wait only while the buffer is full. One without room (capacity 0) is always full, so its
//!    senders wait until a receiver has taken their message.
//! 3. Whoever selects is told of everything that makes the channel ready, and takes nothing: all who
//!    wait are told, since the first may not come for the message.
//! 4. Once it is closed nobody waits, and nothing is added.
//! 5. Receivers whose buffers are too small for a message are told of it when somebody has it: a
//!    receiver, the buffer, or a sender that waits. One that is refused they never hear of.

use std::collections::VecDeque;

use crate::{
    abi::Code,
    object::{
        Attempt, Commons,
        line::{Line, SteppedOut, Ticket, shrink},
        message::{Message, OVERHEAD},
    },
    sync::Mutex,
    task::{
        wait::Outcome,
        waiter::{Readies, Waiter},
    },
};

#[derive(Debug)]
pub(crate) struct Channel {
    pub(crate) id: u64,
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    buffer: VecDeque<Message>,
    receivers: Line<Receiver>,
    senders: Line<Sender>,
    watchers: Line<Watcher>,
}

#[derive(Debug)]
struct Receiver {
    waiter: Waiter,
    /// Bytes that it has room for.
    room: usize,
}

#[derive(Debug)]
struct Sender {
    waiter: Waiter,
    message: Message,
}

/// Somebody who selects, and under which index.
#[derive(Debug)]
struct Watcher {
    waiter: Waiter,
    index: u32,
}

impl Channel {
    pub(crate) fn new(id: u64, capacity: usize) -> Channel {
        Channel { id, capacity, state: Mutex::default() }
    }

    /// Sends a message. `begin` begins a wait, unless the task is cancelled.
    #[inline]
    pub(crate) fn send(
        &self,
        commons: &Commons,
        bytes: &[u8],
        ready: &mut Readies,
        begin: impl FnOnce() -> Option<Waiter>,
    ) -> Attempt {
        let mut state = self.state.lock();
        if state.closed {
            return Attempt::Over(Code::Closed);
        }
        while let Some(receiver) = state.receivers.pop_if(|first| bytes.len() <= first.room) {
            let answered = receiver.waiter.answer(&commons.counts, Outcome::Bytes, bytes);
            if answered.is_some() {
                ready.add(answered);
                return Attempt::Over(Code::Ok);
            }
        }
        if state.receivers.is_empty() {
            state.keep(self.capacity, commons, bytes, ready, begin)
        } else {
            state.send_past_small(self.capacity, commons, bytes, ready, begin)
        }
    }

    /// Receives a message of up to `room` bytes: `take` gets it if there is one now. The second is
    /// whether nothing will ever come again.
    #[inline]
    pub(crate) fn receive(
        &self,
        commons: &Commons,
        room: usize,
        ready: &mut Readies,
        take: impl FnOnce(&[u8]),
        begin: impl FnOnce() -> Option<Waiter>,
    ) -> (Attempt, bool) {
        let mut state = self.state.lock();
        let attempt = match state.next(commons, room, ready) {
            Some(Ok(message)) => {
                take(message.bytes());
                Attempt::Over(Code::Ok)
            }
            Some(Err(needed)) => Attempt::TooSmall(needed),
            None if state.closed => Attempt::Over(Code::Closed),
            None => match begin() {
                None => Attempt::Over(Code::Cancelled),
                Some(waiter) => Attempt::Waits(state.receivers.push(Receiver { waiter, room })),
            },
        };
        (attempt, state.closed && state.buffer.is_empty())
    }

    /// Whether a receiver would not wait now.
    pub(crate) fn is_ready(&self) -> bool {
        self.state.lock().is_ready()
    }

    /// Waits for the channel to be ready. `None`: it is.
    pub(crate) fn watch(&self, waiter: Waiter, index: u32) -> Option<Ticket> {
        let mut state = self.state.lock();
        if state.is_ready() {
            return None;
        }
        Some(state.watchers.push(Watcher { waiter, index }))
    }

    /// Closes it: what is buffered stays, whoever waits is told, and messages of those who wait to
    /// send are dropped. False: it was closed. The second is whether nothing is left.
    pub(crate) fn close(&self, commons: &Commons, ready: &mut Readies) -> (bool, bool) {
        let mut state = self.state.lock();
        if state.closed {
            return (false, state.buffer.is_empty());
        }
        state.closed = true;
        let closed = || Outcome::Code(Code::Closed);
        for receiver in state.receivers.take_all() {
            ready.add(receiver.waiter.answer(&commons.counts, closed(), &[]));
        }
        for Sender { waiter, message } in state.senders.take_all() {
            commons.in_flight.give_back(message.weight());
            ready.add(waiter.answer(&commons.counts, closed(), &[]));
        }
        state.tell_watchers(commons, ready);
        (true, state.buffer.is_empty())
    }

    /// A receiver does not wait any more.
    pub(crate) fn leave_receivers(&self, ticket: Ticket) {
        let left = self.state.lock().receivers.leave(ticket);
        drop(left);
    }

    /// A sender does not wait any more, and takes its message along.
    pub(crate) fn leave_senders(&self, commons: &Commons, ticket: Ticket) {
        let left = self.state.lock().senders.leave(ticket);
        if let Some(Sender { message, .. }) = left {
            commons.in_flight.give_back(message.weight());
        }
    }

    /// Somebody does not select any more.
    pub(crate) fn leave_watchers(&self, ticket: Ticket) {
        let left = self.state.lock().watchers.leave(ticket);
        drop(left);
    }

    /// How many wait: to receive, to send, and in a select.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> (usize, usize, usize) {
        let state = self.state.lock();
        (
            state.receivers.iter().count(),
            state.senders.iter().count(),
            state.watchers.iter().count(),
        )
    }
}

impl State {
    fn is_ready(&self) -> bool {
        self.closed
            || !self.buffer.is_empty()
            || self.senders.iter().any(|sender| sender.waiter.is_there())
    }

    /// Sends a message while the first receiver in line has too small a buffer for it.
    #[cold]
    fn send_past_small(
        &mut self,
        capacity: usize,
        commons: &Commons,
        bytes: &[u8],
        ready: &mut Readies,
        begin: impl FnOnce() -> Option<Waiter>,
    ) -> Attempt {
        let (mut small, mut answered) = (Vec::new(), None);
        while answered.is_none()
            && let Some(out) = self.receivers.step_out()
        {
            if bytes.len() > out.who.room {
                small.push(out);
            } else {
                answered = out.who.waiter.answer(&commons.counts, Outcome::Bytes, bytes);
            }
        }
        let attempt = match answered {
            Some(_) => Attempt::Over(Code::Ok),
            None => self.keep(capacity, commons, bytes, ready, begin),
        };
        ready.add(answered);
        if let Attempt::Over(Code::Limit | Code::Cancelled) = attempt {
            self.receivers.step_in(small);
            return attempt;
        }
        for SteppedOut { who, .. } in small {
            let too_small = Outcome::TooSmall(bytes.len());
            ready.add(who.waiter.answer(&commons.counts, too_small, &[]));
        }
        attempt
    }

    /// Nobody who waits takes the message: it goes into the buffer, or its sender waits with it.
    #[inline]
    fn keep(
        &mut self,
        capacity: usize,
        commons: &Commons,
        bytes: &[u8],
        ready: &mut Readies,
        begin: impl FnOnce() -> Option<Waiter>,
    ) -> Attempt {
        let weight = bytes.len() + OVERHEAD;
        if !commons.in_flight.take(weight) {
            return Attempt::Over(Code::Limit);
        }
        let attempt = if self.buffer.len() < capacity {
            self.buffer.push_back(Message::new(bytes));
            Attempt::Over(Code::Ok)
        } else {
            let Some(waiter) = begin() else {
                commons.in_flight.give_back(weight);
                return Attempt::Over(Code::Cancelled);
            };
            Attempt::Waits(self.senders.push(Sender { waiter, message: Message::new(bytes) }))
        };
        self.tell_watchers(commons, ready);
        attempt
    }

    /// The next message, if it has no more than `room` bytes, or else how many it has.
    #[inline]
    fn next(
        &mut self,
        commons: &Commons,
        room: usize,
        ready: &mut Readies,
    ) -> Option<Result<Message, usize>> {
        if let Some(message) = self.buffer.front() {
            let needed = message.bytes().len();
            if needed > room {
                return Some(Err(needed));
            }
            let message = self.buffer.pop_front()?;
            shrink(&mut self.buffer);
            commons.in_flight.give_back(message.weight());
            if !self.senders.is_empty() {
                self.refill(commons, ready);
            }
            return Some(Ok(message));
        }
        // A rendezvous: from a sender that waits.
        while let Some(first) = self.senders.first() {
            let needed = first.message.bytes().len();
            if needed > room && first.waiter.is_there() {
                return Some(Err(needed));
            }
            let Sender { waiter, message } = self.senders.pop()?;
            commons.in_flight.give_back(message.weight());
            if let Some(sender) = waiter.answer(&commons.counts, Outcome::Code(Code::Ok), &[]) {
                ready.add(Some(sender));
                return Some(Ok(message));
            }
        }
        None
    }

    /// There is room for the message of the sender that waits longest.
    fn refill(&mut self, commons: &Commons, ready: &mut Readies) {
        while let Some(Sender { waiter, message }) = self.senders.pop() {
            if let Some(sender) = waiter.answer(&commons.counts, Outcome::Code(Code::Ok), &[]) {
                ready.add(Some(sender));
                self.buffer.push_back(message);
                return;
            }
            commons.in_flight.give_back(message.weight());
        }
    }

    fn tell_watchers(&mut self, commons: &Commons, ready: &mut Readies) {
        if self.watchers.is_empty() {
            return;
        }
        for Watcher { waiter, index } in self.watchers.take_all() {
            ready.add(waiter.answer(&commons.counts, Outcome::Index(index), &[]));
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::{object::message::Allowance, program::counts::Counts};

    /// No limit counts the room that a channel has kept.
    #[test]
    fn a_flood_that_was_drained_leaves_no_room_behind() {
        let commons = Commons { counts: Counts::new(), in_flight: Allowance::new(usize::MAX) };
        let channel = Channel::new(1, 10_000);
        let mut readies = Readies::default();
        for _ in 0..10_000 {
            let sent = channel.send(&commons, b"", &mut readies, || None);
            assert_eq!(sent, Attempt::Over(Code::Ok));
        }
        for _ in 0..10_000 {
            let received = channel.receive(&commons, 0, &mut readies, |_| (), || None);
            assert_eq!(received, (Attempt::Over(Code::Ok), false));
        }
        readies.wake_all();
        let room = channel.state.lock().buffer.capacity();
        assert!(room < 100, "room for {room}");
    }
}
