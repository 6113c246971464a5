//! Which task, channel or mutex is meant.
//!
//! Ids are given out once, counting from 1. A guest sees all of them as an `i64`, so the kind is in
//! the high bits: the id of a mutex is never that of a channel or a task, and none is negative.

use std::fmt;

/// Set in the ids of channels.
pub(crate) const CHANNEL: u64 = 1 << 60;

/// Set in the ids of mutexes.
pub(crate) const MUTEX: u64 = 1 << 61;

/// Names a task of a program. Never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(u64);

/// Names a channel of a program. Never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId(u64);

/// Names a mutex of a program. Never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MutexId(u64);

impl TaskId {
    /// The task with this number. Whether there is one is seen where it is used.
    pub fn new(number: u64) -> TaskId {
        TaskId(number)
    }

    /// Its number, which is also what guests see.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl ChannelId {
    pub(crate) fn of(raw: u64) -> ChannelId {
        ChannelId(raw)
    }

    /// What guests see.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl MutexId {
    pub(crate) fn of(raw: u64) -> MutexId {
        MutexId(raw)
    }

    /// What guests see.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.0)
    }
}

impl fmt::Display for ChannelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "channel {}", self.0 & !CHANNEL)
    }
}

impl fmt::Display for MutexId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mutex {}", self.0 & !MUTEX)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn kinds_do_not_meet_and_none_is_negative() {
        for number in [1, 2, u64::from(u32::MAX)] {
            let ids = [number, CHANNEL | number, MUTEX | number];
            assert!(ids.iter().all(|id| *id as i64 > 0));
            assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
        }
        assert_eq!(ChannelId::of(CHANNEL | 3).to_string(), "channel 3");
        assert_eq!(MutexId::of(MUTEX | 3).to_string(), "mutex 3");
        assert_eq!(TaskId::new(3).to_string(), "task 3");
    }
}
