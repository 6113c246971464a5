//! A mutex and the cell it guards: who owns it, and who is next.
//!
//! 1. The owner's bytes come with the lock and go back with the unlock; nobody else sees the cell.
//! 2. An unlock makes the longest waiter the owner, if its buffer has room for the cell. Those who
//!    have too little are answered, and own nothing.
//! 3. An owner that ends without an unlock poisons it: what the cell should be nobody knows.
//! 4. Once it is closed nobody owns it, waits for it or finds it any more.

use crate::{
    abi::Code,
    id::TaskId,
    object::{
        Attempt, Commons,
        line::{Line, Ticket},
        message::Message,
    },
    sync::Mutex,
    task::{
        wait::Outcome,
        waiter::{Readies, Waiter},
    },
};

#[derive(Debug)]
pub(crate) struct Guarded {
    pub(crate) id: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    owner: Option<TaskId>,
    poisoned: bool,
    closed: bool,
    cell: Message,
    line: Line<Claimant>,
}

#[derive(Debug)]
struct Claimant {
    waiter: Waiter,
    /// Bytes that it has room for.
    room: usize,
}

impl Guarded {
    /// The caller has taken the cell's weight from the allowance.
    pub(crate) fn new(id: u64, cell: Message) -> Guarded {
        let line = Line::default();
        let state = State { owner: None, poisoned: false, closed: false, cell, line };
        Guarded { id, state: Mutex::new(state) }
    }

    /// Locks it for `who`, whose buffer has `room` bytes: `take` gets the cell if it is free.
    pub(crate) fn lock(
        &self,
        who: TaskId,
        room: usize,
        take: impl FnOnce(&[u8]),
        begin: impl FnOnce() -> Option<Waiter>,
    ) -> Attempt {
        let mut state = self.state.lock();
        if state.closed {
            return Attempt::Over(Code::Closed);
        }
        if state.poisoned {
            return Attempt::Over(Code::Poisoned);
        }
        match state.owner {
            Some(owner) if owner == who => Attempt::Over(Code::BadArgument),
            Some(_) => match begin() {
                None => Attempt::Over(Code::Cancelled),
                Some(waiter) => Attempt::Waits(state.line.push(Claimant { waiter, room })),
            },
            None if state.cell.bytes().len() > room => Attempt::TooSmall(state.cell.bytes().len()),
            None => {
                state.owner = Some(who);
                take(state.cell.bytes());
                Attempt::Over(Code::Ok)
            }
        }
    }

    /// Puts new bytes into the cell, and passes the lock on.
    pub(crate) fn unlock(
        &self,
        commons: &Commons,
        who: TaskId,
        bytes: &[u8],
        ready: &mut Readies,
    ) -> Code {
        let mut state = self.state.lock();
        if state.closed {
            return Code::Closed;
        }
        if state.owner != Some(who) {
            return Code::BadArgument;
        }
        let (before, after) = (state.cell.bytes().len(), bytes.len());
        if after > before && !commons.in_flight.take(after - before) {
            return Code::Limit;
        }
        if before > after {
            commons.in_flight.give_back(before - after);
        }
        state.cell = Message::new(bytes);
        state.owner = None;
        while let Some(Claimant { waiter, room }) = state.line.pop() {
            if after > room {
                ready.add(waiter.answer(&commons.counts, Outcome::TooSmall(after), &[]));
                continue;
            }
            let next = waiter.task.id;
            if let Some(owner) = waiter.answer(&commons.counts, Outcome::Bytes, bytes) {
                ready.add(Some(owner));
                state.owner = Some(next);
                break;
            }
        }
        Code::Ok
    }

    /// `who` ends. If it is the owner, the mutex is poisoned, and whoever waits is told.
    pub(crate) fn abandon(&self, commons: &Commons, who: TaskId, ready: &mut Readies) {
        let mut state = self.state.lock();
        if state.owner != Some(who) {
            return;
        }
        state.owner = None;
        state.poisoned = true;
        // Nobody reads the cell any more.
        commons.in_flight.give_back(state.cell.bytes().len());
        state.cell = Message::new(&[]);
        state.tell_all(commons, Code::Poisoned, ready);
    }

    /// Closes it, whoever owns it, and tells whoever waits. False: it was closed.
    pub(crate) fn close(&self, commons: &Commons, ready: &mut Readies) -> bool {
        let mut state = self.state.lock();
        if state.closed {
            return false;
        }
        state.closed = true;
        state.owner = None;
        commons.in_flight.give_back(state.cell.weight());
        state.cell = Message::new(&[]);
        state.tell_all(commons, Code::Closed, ready);
        true
    }

    /// Somebody does not wait any more.
    pub(crate) fn leave(&self, ticket: Ticket) {
        let left = self.state.lock().line.leave(ticket);
        drop(left);
    }

    pub(crate) fn owner(&self) -> Option<TaskId> {
        self.state.lock().owner
    }
}

impl State {
    /// Nobody gets it any more.
    fn tell_all(&mut self, commons: &Commons, code: Code, ready: &mut Readies) {
        for claimant in self.line.take_all() {
            ready.add(claimant.waiter.answer(&commons.counts, Outcome::Code(code), &[]));
        }
    }
}
