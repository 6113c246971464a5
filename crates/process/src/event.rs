//! What a process may be told.

use crate::{exit::ExitReason, monitor::MonitorId, payload::Payload, pid::Pid, signal::Signal};

/// Something that reached a process. From [`Context::event`](crate::Context::event), and in the
/// steps of a [`Process`](crate::Process).
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<M> {
    /// A message.
    Message(M),
    /// It is asked to end.
    Cancel,
    /// A process that it is linked to has exited. Only those who trap exits are told.
    Exit {
        /// Who exited.
        pid: Pid,
        /// Why.
        reason: ExitReason,
    },
    /// A process that it monitors has exited.
    Down {
        /// The monitor that saw it.
        monitor: MonitorId,
        /// Who exited.
        pid: Pid,
        /// Why.
        reason: ExitReason,
    },
    /// A yield is done, or a timer has fired.
    Completed {
        /// The tag of the yield.
        tag: u64,
        /// What its handler said.
        result: Result<Payload, String>,
    },
}

impl<M> From<Signal> for Event<M> {
    fn from(signal: Signal) -> Event<M> {
        match signal {
            Signal::Cancel => Event::Cancel,
            Signal::Exit { from, reason } => Event::Exit { pid: from, reason },
            Signal::Down { monitor, pid, reason } => Event::Down { monitor, pid, reason },
            Signal::Completed { of, result } => Event::Completed { tag: of.tag, result },
        }
    }
}
