//! What can go wrong, and what to do about it.

use std::{fmt, time::Duration};

/// Why a runtime could not be built.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// `workers(0)`.
    NoWorkers,
    /// More workers than a runtime can number.
    TooManyWorkers(usize),
    /// `SHIFTWORK_WORKERS` is set to something that is not a positive number.
    WorkersVariable(String),
    /// A quantum, or a feedback slice, of no time at all.
    ZeroQuantum,
    /// A budget of no operations at all.
    ZeroBudget,
    /// A feedback discipline without a level.
    NoLevels,
    /// A feedback discipline with more than [`LEVELS_MAX`](crate::LEVELS_MAX) levels.
    TooManyLevels(usize),
    /// An ageing rate that is NaN, infinite or negative.
    Ageing(f64),
    /// A name with a NUL character, which no thread can have.
    Name,
    /// The operating system refused a thread.
    Thread(std::io::Error),
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::NoWorkers => f.write_str(
                "a runtime needs at least one worker; leave the number out for one per core",
            ),
            BuildError::TooManyWorkers(n) => {
                write!(
                    f,
                    "{n} workers are more than the {} that a runtime can have",
                    crate::WORKERS_MAX
                )
            }
            BuildError::WorkersVariable(text) => {
                write!(f, "SHIFTWORK_WORKERS is {text:?}; set it to a positive number, or unset it")
            }
            BuildError::ZeroQuantum => {
                f.write_str("the quantum (or feedback slice) is zero; a turn needs some time")
            }
            BuildError::ZeroBudget => {
                f.write_str("the budget is zero; a turn needs some operations, or leave it out")
            }
            BuildError::NoLevels => f.write_str("a feedback discipline needs at least one level"),
            BuildError::TooManyLevels(n) => {
                write!(
                    f,
                    "{n} levels are more than the {} that a feedback discipline can have",
                    crate::LEVELS_MAX
                )
            }
            BuildError::Ageing(rate) => {
                write!(f, "the ageing rate is {rate}; it must be 0 (strict) or a positive number")
            }
            BuildError::Name => {
                f.write_str("the name has a NUL character, which threads can not have")
            }
            BuildError::Thread(error) => write!(f, "could not start a worker thread: {error}"),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BuildError::Thread(error) => Some(error),
            _ => None,
        }
    }
}

/// Why something was not scheduled. Nothing of it was queued.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The runtime has been shut down.
    Stopped,
    /// A priority that is NaN or infinite.
    PriorityNotFinite(f64),
    /// The affinity function named a worker that does not exist.
    NoSuchWorker(NoSuchWorker),
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleError::Stopped => {
                f.write_str("the runtime has been shut down and takes no more work")
            }
            ScheduleError::PriorityNotFinite(priority) => {
                write!(f, "the priority is {priority}; it must be a finite number")
            }
            ScheduleError::NoSuchWorker(error) => {
                write!(f, "the affinity function failed: {error}")
            }
        }
    }
}

impl std::error::Error for ScheduleError {}

/// A worker was named that the runtime does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoSuchWorker {
    /// The worker that was named.
    pub worker: crate::WorkerId,
    /// How many workers there are.
    pub workers: usize,
}

impl fmt::Display for NoSuchWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no {}; the runtime has {}, numbered from 0", self.worker, self.workers)
    }
}

impl std::error::Error for NoSuchWorker {}

/// Why a wait for a strand's end gave no result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinError {
    /// It panicked, with this text.
    Panicked(String),
    /// It was cancelled or aborted.
    Cancelled,
    /// The runtime stopped before it ended.
    Stopped,
    /// It was idle and nobody was left who could wake it.
    Abandoned,
    /// The result was taken before.
    Taken,
    /// Waiting here could never end: this is a turn of the same runtime, or a simulation that
    /// nobody runs meanwhile.
    WouldBlock,
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Panicked(text) => write!(f, "it panicked: {text}"),
            JoinError::Cancelled => f.write_str("it was cancelled"),
            JoinError::Stopped => f.write_str("the runtime stopped before it ended"),
            JoinError::Abandoned => f.write_str("it was idle and nobody could wake it any more"),
            JoinError::Taken => f.write_str("its result was taken before"),
            JoinError::WouldBlock => f.write_str(
                "waiting here could never end: inside a turn use `.await` or a wake, \
                 in a simulation run it first",
            ),
        }
    }
}

impl std::error::Error for JoinError {}

/// A deadline passed before a future was ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed(pub(crate) Duration);

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not ready within {:?}", self.0)
    }
}

impl std::error::Error for Elapsed {}

/// A shutdown reached its deadline while turns were still running, or before all threads had ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShutdownTimeout {
    /// The deadline it was given.
    pub timeout: Duration,
    /// What still ran: the names of strands, or `job`. Their threads end when their turns do. Empty
    /// if no turn did, and only threads were about to end.
    pub running: Vec<String>,
    /// How many turns there were, and how much was dropped by then.
    pub report: crate::Shutdown,
}

impl fmt::Display for ShutdownTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ShutdownTimeout { timeout, running, report } = self;
        if running.is_empty() {
            write!(f, "after {timeout:?} no turn was running, but not all threads had ended")?;
        } else {
            let running = running.join(", ");
            write!(f, "after {timeout:?} still running: {running}; ")?;
            f.write_str("their workers stop when these turns end")?;
        }
        match report.dropped {
            0 => Ok(()),
            1 => f.write_str("; one entry that was queued was dropped"),
            n => write!(f, "; {n} entries that were queued were dropped"),
        }
    }
}

impl std::error::Error for ShutdownTimeout {}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Shutdown;

    #[test]
    fn shutdown_that_reached_its_deadline_says_what_ran_and_how_much_was_dropped() {
        let text = |running: &[&str], dropped| {
            let running = running.iter().map(|name| (*name).to_owned()).collect();
            let report = Shutdown { turns: 7, dropped };
            ShutdownTimeout { timeout: Duration::ZERO, running, report }.to_string()
        };
        let nothing = "after 0ns no turn was running, but not all threads had ended";
        assert_eq!(text(&[], 0), nothing);
        assert_eq!(text(&[], 2), format!("{nothing}; 2 entries that were queued were dropped"));
        let two = "after 0ns still running: job, hog; their workers stop when these turns end";
        assert_eq!(text(&["job", "hog"], 0), two);
        let one = format!("{two}; one entry that was queued was dropped");
        assert_eq!(text(&["job", "hog"], 1), one);
    }
}
