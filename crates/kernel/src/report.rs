//! What a runtime has to say that nobody asked for: a contained panic, a turn without end.

use std::{fmt, time::Duration};

use crate::attributes::WorkerId;

/// Something that the owner of a runtime should know of.
///
/// Reports go to the function given to [`Builder::on_report`](crate::Builder::on_report), or
/// without one to standard error.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Report {
    /// A strand or a job panicked. It has ended as failed; the worker goes on.
    Panicked {
        /// The strand's name, or `job`.
        name: String,
        /// Where it ran.
        worker: WorkerId,
        /// What it said.
        text: String,
    },
    /// A turn has used its quantum many times over.
    Overrun {
        /// The strand's name, or `job`.
        name: String,
        /// Where it runs.
        worker: WorkerId,
        /// How long at least.
        age: Duration,
    },
}

/// What has become of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerChange {
    /// It takes turns: it has started, or was resumed.
    Ready,
    /// It takes nothing until it is resumed.
    Paused,
    /// It ends.
    Stopping,
}

/// Who is told of a worker's changes.
pub(crate) type Observer = Box<dyn Fn(WorkerId, WorkerChange) + Send + Sync>;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Panicked { name, worker, text } => {
                write!(f, "{name} panicked on {worker} and has ended as failed: {text}")
            }
            Report::Overrun { name, worker, age } => write!(
                f,
                "{name} has been in its turn on {worker} for {age:?}; \
                 it should look at Turn::expired and yield"
            ),
        }
    }
}

/// Where reports go.
pub(crate) type Reporter = Box<dyn Fn(&Report) + Send + Sync>;

pub(crate) fn to_stderr() -> Reporter {
    Box::new(|report| eprintln!("shiftwork: {report}"))
}
