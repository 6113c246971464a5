//! Calls about mutexes: open, lock, unlock, close.

use std::sync::Arc;

use crate::{
    abi::Code,
    engine::Answer,
    host::{
        Called, Host,
        memory::{Buffer, Memory},
        pending::Pending,
    },
    object::{Attempt, guarded::Guarded, message::Message, table::Lookup},
    task::{cell::Noted, waiter::Readies},
};

impl Host {
    pub(super) fn open_mutex(&mut self, bytes: &[u8]) -> Called {
        self.must_be_short(bytes)?;
        let cell = Message::new(bytes);
        let in_flight = &self.shared.commons.in_flight;
        let weight = cell.weight();
        if !in_flight.take(weight) {
            return Err(Code::Limit);
        }
        let id = self.shared.mutexes.open(|id| Guarded::new(id, cell));
        id.map(Answer::Return).ok_or_else(|| {
            in_flight.give_back(weight);
            Code::Limit
        })
    }

    /// The mutex with this id: one that the task holds is found at once. One that was given out and is
    /// gone is closed.
    fn mutex(&self, id: u64) -> Result<Arc<Guarded>, Code> {
        if let Some(held) = self.held.find(id) {
            return Ok(held.clone());
        }
        match self.shared.mutexes.find(id) {
            Lookup::There(mutex) => Ok(mutex),
            Lookup::Gone => Err(Code::Closed),
            Lookup::Never => Err(Code::NoSuch),
        }
    }

    pub(super) fn lock(&mut self, id: u64, memory: &mut Memory<'_>, arguments: [u64; 3]) -> Called {
        let buffer = Buffer::new(memory, arguments)?;
        self.must_not_be_cancelled()?;
        let mutex = self.mutex(id)?;
        let attempt = mutex.lock(
            self.own.id,
            buffer.room as usize,
            |cell| buffer.fill(memory, cell),
            || Host::waiter(&self.own, Noted::mutex(id)),
        );
        match attempt {
            Attempt::Over(Code::Ok) => {
                self.hold(mutex);
                Err(Code::Ok)
            }
            Attempt::Over(code) => Err(code),
            Attempt::TooSmall(needed) => {
                buffer.tell(memory, needed);
                Err(Code::TooSmall)
            }
            Attempt::Waits(ticket) => Ok(self.block(Pending::Lock { mutex, ticket, buffer })),
        }
    }

    /// The task owns this one now, or may own it.
    pub(super) fn hold(&mut self, mutex: Arc<Guarded>) {
        self.held.add(mutex, self.own.id, self.shared.options.limits.mutexes);
    }

    pub(super) fn unlock(&mut self, id: u64, bytes: &[u8]) -> Called {
        let mutex = self.mutex(id)?;
        self.must_be_short(bytes)?;
        let mut readies = Readies::default();
        let code = mutex.unlock(&self.shared.commons, self.own.id, bytes, &mut readies);
        self.wake(readies);
        if matches!(code, Code::Ok | Code::Closed) {
            self.held.remove(id);
        }
        Err(code)
    }

    pub(super) fn close_mutex(&mut self, id: u64) -> Called {
        let mutex = self.mutex(id)?;
        let mut readies = Readies::default();
        let closed = mutex.close(&self.shared.commons, &mut readies);
        self.wake(readies);
        self.held.remove(id);
        self.shared.mutexes.remove(id);
        Err(if closed { Code::Ok } else { Code::Closed })
    }
}
