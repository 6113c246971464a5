//! What can go wrong, and what to do about it.

use std::{fmt, time::Duration};

use kernel::ScheduleError;

use crate::pid::Pid;

/// Why a message was not sent. The message comes back.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError<M> {
    /// The mailbox is full.
    Full(M),
    /// The process has exited.
    Exited(M),
    /// The runtime has been shut down.
    Stopped(M),
    /// No process has this pid or name, or its messages are of another type.
    Unknown(M),
}

impl<M> SendError<M> {
    /// The message that was not sent.
    pub fn into_message(self) -> M {
        match self {
            SendError::Full(m)
            | SendError::Exited(m)
            | SendError::Stopped(m)
            | SendError::Unknown(m) => m,
        }
    }

    fn text(&self) -> &'static str {
        match self {
            SendError::Full(_) => "the mailbox is full; try later, or wait with `send_wait`",
            SendError::Exited(_) => "the process has exited",
            SendError::Stopped(_) => "the runtime has been shut down and takes no more messages",
            SendError::Unknown(_) => "no process of that pid or name takes such messages",
        }
    }
}

impl<M> fmt::Display for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the message was not sent: {}", self.text())
    }
}

impl<M> fmt::Debug for SendError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SendError::Full(_) => "Full(..)",
            SendError::Exited(_) => "Exited(..)",
            SendError::Stopped(_) => "Stopped(..)",
            SendError::Unknown(_) => "Unknown(..)",
        })
    }
}

impl<M> std::error::Error for SendError<M> {}

/// Why some of many messages were not sent.
#[derive(Debug)]
pub struct SendManyError<M> {
    /// So many were sent, in order.
    pub sent: usize,
    /// Why the next one was not, and that one.
    pub error: SendError<M>,
    /// Those after it.
    pub rest: Vec<M>,
}

impl<M> fmt::Display for SendManyError<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} messages were sent, then: {}", self.sent, self.error.text())
    }
}

impl<M: fmt::Debug> std::error::Error for SendManyError<M> {}

/// Why a call gave no reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// The mailbox is full: the request was not sent.
    Full,
    /// The process has exited: the request was not sent.
    Exited,
    /// The runtime has been shut down.
    Stopped,
    /// No process has this pid or name, or it takes no such messages.
    Unknown,
    /// The request was dropped without a reply: the process did not answer, or exited.
    NoReply,
    /// There was no reply in time. One that comes later is refused.
    Timeout(Duration),
    /// A process called itself: it would wait for ever.
    ToSelf,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Full => f.write_str("the call was not sent: the mailbox is full"),
            CallError::Exited => f.write_str("the call was not sent: the process has exited"),
            CallError::Stopped => f.write_str("the runtime has been shut down"),
            CallError::Unknown => {
                f.write_str("the call was not sent: no process of that pid or name takes it")
            }
            CallError::NoReply => f.write_str("the call was dropped without a reply"),
            CallError::Timeout(after) => write!(f, "there was no reply within {after:?}"),
            CallError::ToSelf => {
                f.write_str("a process can not call itself: it would wait for ever")
            }
        }
    }
}

impl std::error::Error for CallError {}

impl<M> From<SendError<M>> for CallError {
    fn from(error: SendError<M>) -> CallError {
        match error {
            SendError::Full(_) => CallError::Full,
            SendError::Exited(_) => CallError::Exited,
            SendError::Stopped(_) => CallError::Stopped,
            SendError::Unknown(_) => CallError::Unknown,
        }
    }
}

/// Why a process was not spawned.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SpawnError {
    /// The runtime did not take it.
    Schedule(ScheduleError),
    /// Processes are being shut down.
    Stopping,
    /// Another process has the name.
    NameTaken(String, Pid),
    /// A mailbox needs room for 1 to [`BOUND_MAX`](crate::BOUND_MAX) messages.
    Bound(usize),
    /// A closure was given a [`value`](crate::ProcessBuilder::value) or a
    /// [`deadline`](crate::ProcessBuilder::deadline), which only a state machine can have.
    NotAMachine,
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpawnError::Schedule(error) => write!(f, "the process was not spawned: {error}"),
            SpawnError::Stopping => {
                f.write_str("the process was not spawned: processes are being shut down")
            }
            SpawnError::NameTaken(name, pid) => {
                write!(f, "the process was not spawned: process {pid} has the name {name:?}")
            }
            SpawnError::Bound(bound) => write!(
                f,
                "a mailbox of {bound} is not possible: from 1 to {}, or unbounded",
                crate::BOUND_MAX
            ),
            SpawnError::NotAMachine => f.write_str(
                "the process was not spawned: values and a deadline are for state machines",
            ),
        }
    }
}

impl std::error::Error for SpawnError {}

impl From<ScheduleError> for SpawnError {
    fn from(error: ScheduleError) -> SpawnError {
        SpawnError::Schedule(error)
    }
}
