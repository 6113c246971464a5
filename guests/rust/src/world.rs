//! What does a task see of the world outside? A log, a clock and chance, all of them the host's.

use core::time::Duration;

use crate::host;

/// How much a line of the log matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Something went wrong.
    Error = 0,
    /// Something may go wrong.
    Warn = 1,
    /// What a user wants to know.
    Info = 2,
    /// What its author wants to know.
    Debug = 3,
    /// Every step.
    Trace = 4,
}

/// Writes a line to the log.
pub fn log(level: Level, text: &str) {
    // SAFETY: the text is readable.
    unsafe { host::log(level as i32, text.as_ptr(), text.len() as i32) }
}

/// The time since a start that the host chooses.
pub fn now() -> Duration {
    Duration::from_nanos(host::now() as u64)
}

/// Fills `buffer` with random bytes.
pub fn random(buffer: &mut [u8]) {
    // SAFETY: the slice is ours to write.
    unsafe { host::random(buffer.as_mut_ptr(), buffer.len() as i32) }
}

/// The version of the interface that the host has.
pub fn abi_version() -> i32 {
    host::abi_version()
}
