//! The call `select`: which of several channels is ready.

use std::{sync::Arc, time::Duration};

use crate::{
    abi::Code,
    engine::Answer,
    host::{
        Called, Host,
        memory::Memory,
        pending::{Alarm, Pending, Selecting},
    },
    id::ChannelId,
    object::{channel::Channel, line::Ticket},
    task::waiter::Waiter,
};

/// For so many channels room is made at once.
const ROOM: usize = 1_024;

/// What a channel of a select that waits counts in the limit of bytes: a place in its line, and what
/// is noted about it.
const WEIGHT: usize = 64;

impl Host {
    pub(super) fn select(
        &mut self,
        list: u64,
        count: u64,
        timeout: u64,
        memory: &Memory<'_>,
    ) -> Called {
        let count = usize::try_from(count as u32 as i32).map_err(|_| Code::BadArgument)?;
        if count == 0 {
            return Err(Code::BadArgument);
        }
        if count > self.shared.options.limits.select {
            return Err(Code::Limit);
        }
        let bytes = memory.read(list, 8 * count as u64)?;
        self.must_not_be_cancelled()?;
        let mut channels = Vec::with_capacity(count.min(ROOM));
        for id in bytes.as_chunks::<8>().0 {
            match self.channel(u64::from_le_bytes(*id)) {
                Ok(channel) => {
                    self.recent.put(channel.clone());
                    channels.push(Some(channel));
                }
                Err(Code::Closed) => channels.push(None),
                Err(code) => return Err(code),
            }
        }
        // One that is gone is closed, and so it is ready.
        let ready = channels.iter().position(|at| at.as_ref().is_none_or(|at| at.is_ready()));
        if let Some(index) = ready {
            return Ok(Answer::Return(index as u64));
        }
        match timeout as i64 {
            0 => Err(Code::TimedOut),
            timeout => {
                let timeout = u64::try_from(timeout).ok().map(Duration::from_nanos);
                self.wait_for_one(channels.into_iter().flatten().collect(), timeout)
            }
        }
    }

    fn wait_for_one(&mut self, channels: Vec<Arc<Channel>>, timeout: Option<Duration>) -> Called {
        let (own, in_flight) = (&self.own, &self.shared.commons.in_flight);
        let weight = channels.len() * WEIGHT;
        if !in_flight.take(weight) {
            return Err(Code::Limit);
        }
        own.note_channels(channels.iter().map(|channel| ChannelId::of(channel.id)).collect());
        let Some(epoch) = own.wait.begin(timeout.is_some()) else {
            in_flight.give_back(weight);
            return Err(Code::Cancelled);
        };
        let mut watched: Vec<(Arc<Channel>, Ticket)> = Vec::with_capacity(channels.len());
        for (index, channel) in channels.into_iter().enumerate() {
            let waiter = Waiter { task: own.clone(), epoch };
            if let Some(ticket) = channel.watch(waiter, index as u32) {
                watched.push((channel, ticket));
                continue;
            }
            // It has become ready meanwhile. Unless somebody has told us of another already, we need
            // not wait.
            let Some(_) = own.wait.claim_own() else { break };
            for (channel, ticket) in watched {
                channel.leave_watchers(ticket);
            }
            in_flight.give_back(weight);
            return Ok(Answer::Return(index as u64));
        }
        match timeout {
            // It stays counted: its timer wakes it.
            Some(timeout) => {
                let alarm = Some(self.alarm(timeout));
                self.pending = Pending::Select(Box::new(Selecting { watched, weight, alarm }));
                Ok(Answer::Wait)
            }
            None => {
                let selecting = Selecting { watched, weight, alarm: None };
                Ok(self.block(Pending::Select(Box::new(selecting))))
            }
        }
    }

    /// Wakes the task after a time.
    pub(super) fn alarm(&self, after: Duration) -> Alarm {
        Alarm(self.shared.runtime.wake_after(after, self.own.strand()).ok())
    }
}
