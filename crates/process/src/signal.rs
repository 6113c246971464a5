//! What reaches a process besides its messages, and is never refused.

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
    Completed { of: YieldId, result: Result<Payload, String> },
}

/// A yield of a process. A tag may be used again once its yield is revoked; the serial tells apart
/// what is still under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct YieldId {
    pub(crate) tag: u64,
    pub(crate) serial: u64,
}
