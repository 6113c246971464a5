//! What tasks share: channels, and mutexes with a cell each.
//!
//! Each has a lock of its own, under which it is decided who gets what. A task that waits is put into
//! its line under that lock, and taken out of it and answered under the same: so nobody waits for
//! what has come already. Tasks are woken when the lock is given back.

pub(crate) mod channel;
pub(crate) mod guarded;
pub(crate) mod line;
pub(crate) mod message;
pub(crate) mod table;

use crate::{
    abi::Code,
    object::{line::Ticket, message::Allowance},
    program::counts::Counts,
};

/// What all objects of a program have in common.
#[derive(Debug)]
pub(crate) struct Commons {
    pub(crate) counts: Counts,
    /// Bytes of messages, cells, inputs, and selects that wait.
    pub(crate) in_flight: Allowance,
}

/// What came of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// It is over, with this code.
    Over(Code),
    /// What there is has so many bytes, and does not fit. It is still there.
    TooSmall(usize),
    /// The task is in line.
    Waits(Ticket),
}
