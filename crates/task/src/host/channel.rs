//! Calls about channels: open, send, receive, close.

use std::sync::Arc;

use crate::{
    abi::Code,
    engine::Answer,
    host::{
        Called, Host,
        memory::{Buffer, Memory},
        pending::Pending,
    },
    object::{Attempt, channel::Channel, table::Lookup},
    task::{cell::Noted, waiter::Readies},
};

impl Host {
    pub(super) fn open_channel(&mut self, capacity: u64) -> Called {
        let capacity = usize::try_from(capacity as u32 as i32).map_err(|_| Code::BadArgument)?;
        if capacity > self.shared.options.limits.channel_capacity {
            return Err(Code::Limit);
        }
        let id = self.shared.channels.open(|id| Channel::new(id, capacity));
        id.map(Answer::Return).ok_or(Code::Limit)
    }

    /// The channel with this id; it goes back with `self.recent.put`. One that was given out and is
    /// gone is closed.
    #[inline(always)]
    pub(super) fn channel(&mut self, id: u64) -> Result<Arc<Channel>, Code> {
        self.recent.take(id).map_or_else(|| self.unused_channel(id), Ok)
    }

    /// A channel that the task has not used of late.
    #[cold]
    fn unused_channel(&self, id: u64) -> Result<Arc<Channel>, Code> {
        match self.shared.channels.find(id) {
            Lookup::There(channel) => Ok(channel),
            Lookup::Gone => Err(Code::Closed),
            Lookup::Never => Err(Code::NoSuch),
        }
    }

    #[inline]
    pub(super) fn send(&mut self, id: u64, bytes: &[u8]) -> Called {
        self.must_not_be_cancelled()?;
        let channel = self.channel(id)?;
        if bytes.len() > self.shared.options.limits.message_bytes {
            self.recent.put(channel);
            return Err(Code::Limit);
        }
        let mut readies = Readies::default();
        let attempt = channel.send(&self.shared.commons, bytes, &mut readies, || {
            Host::waiter(&self.own, Noted::send(id))
        });
        self.wake(readies);
        match attempt {
            Attempt::Waits(ticket) => Ok(self.block(Pending::Send { channel, ticket })),
            Attempt::Over(code) => {
                self.recent.put(channel);
                Err(code)
            }
            Attempt::TooSmall(_) => unreachable!("a sender has no buffer"),
        }
    }

    #[inline]
    pub(super) fn receive(
        &mut self,
        id: u64,
        memory: &mut Memory<'_>,
        arguments: [u64; 3],
    ) -> Called {
        let buffer = Buffer::new(memory, arguments)?;
        self.must_not_be_cancelled()?;
        let channel = self.channel(id)?;
        let mut readies = Readies::default();
        let (attempt, drained) = channel.receive(
            &self.shared.commons,
            buffer.room as usize,
            &mut readies,
            |bytes| buffer.fill(memory, bytes),
            || Host::waiter(&self.own, Noted::receive(id)),
        );
        self.wake(readies);
        let code = match attempt {
            Attempt::Waits(ticket) => {
                return Ok(self.block(Pending::Receive { channel, ticket, buffer }));
            }
            Attempt::Over(code) => code,
            Attempt::TooSmall(needed) => {
                buffer.tell(memory, needed);
                Code::TooSmall
            }
        };
        self.put_back(channel, drained);
        Err(code)
    }

    pub(super) fn close_channel(&mut self, id: u64) -> Called {
        let channel = self.channel(id)?;
        let mut readies = Readies::default();
        let (closed, drained) = channel.close(&self.shared.commons, &mut readies);
        self.wake(readies);
        self.put_back(channel, drained);
        Err(if closed { Code::Ok } else { Code::Closed })
    }

    /// Keeps a channel for its next use, unless it is closed and empty, and will be for ever.
    #[inline]
    fn put_back(&mut self, channel: Arc<Channel>, drained: bool) {
        if drained {
            self.shared.channels.remove(channel.id);
        } else {
            self.recent.put(channel);
        }
    }

    /// Refuses what is longer than a message may be.
    #[inline]
    pub(super) fn must_be_short(&self, bytes: &[u8]) -> Result<(), Code> {
        let fits = bytes.len() <= self.shared.options.limits.message_bytes;
        if fits { Ok(()) } else { Err(Code::Limit) }
    }
}
