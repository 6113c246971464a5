//! What reaches a process besides its messages, never refused and never behind them.

use crate::{exit::ExitReason, monitor::MonitorId, payload::Payload, pid::Pid};

#[derive(Debug)]
pub(crate) enum Signal {
    /// It is asked to end.
    Cancel,
    /// One it is linked to has exited.
    Exit { from: Pid, reason: ExitReason },
    /// One that it monitors has exited.
    Down { monitor: MonitorId, pid: Pid, reason: ExitReason },
    /// A yield is done.
    Completed { tag: u64, result: Result<Payload, String> },
}
