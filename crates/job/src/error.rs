//! What can go wrong, and what to do about it.

use std::{error, fmt, sync::Arc, time::Duration};

use kernel::{BuildError, WorkerId};

use crate::id::JobId;

/// Why a pool refused something. Nothing of it was queued.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// There is no room for all of it.
    QueueFull {
        /// How many jobs may wait or run.
        capacity: usize,
        /// How many do.
        queued: usize,
        /// How many were to be added.
        wanted: usize,
    },
    /// Every worker is paused or shut down.
    NoAvailableWorkers,
    /// A worker was named that the pool does not have.
    InvalidWorkerId {
        /// The worker that was named.
        worker: WorkerId,
        /// How many workers there are.
        workers: usize,
    },
    /// The worker was shut down, and does not come back.
    WorkerShutDown(WorkerId),
    /// All other workers were shut down: without this one what waits would wait for ever.
    LastWorker(WorkerId),
    /// The pool has been shut down.
    Stopped,
    /// Jobs wait for each other: each of them for the one after it, the last for the first.
    Cycle(Vec<JobId>),
    /// A dependency on a job that the pool does not know (any more).
    UnknownJob(JobId),
    /// The id is taken by a job that has not ended, or that ended not long ago.
    DuplicateJob(JobId),
    /// A dependency on a job of another pool.
    OtherPool(JobId),
    /// A priority that is NaN or infinite.
    PriorityNotFinite {
        /// The job that was given it, or for which the prioritizer returned it.
        job: JobId,
        /// The priority.
        priority: f64,
    },
    /// More jobs, or more dependencies, than a batch can number.
    TooLarge {
        /// How many jobs or dependencies it has.
        size: usize,
        /// How many it may have.
        max: usize,
    },
    /// Waiting here could never end: this is a turn of the same pool, or a simulation that nobody
    /// runs meanwhile.
    WouldBlock,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::QueueFull { capacity, queued, wanted } => write!(
                f,
                "the queue is full: {queued} of {capacity} places are taken, and {wanted} more \
                 were wanted; wait for room, or raise the capacity"
            ),
            Error::NoAvailableWorkers => {
                f.write_str("every worker is paused or shut down; resume one first")
            }
            Error::InvalidWorkerId { worker, workers } => {
                write!(f, "there is no {worker}; the pool has {workers}, numbered from 0")
            }
            Error::WorkerShutDown(worker) => {
                write!(f, "{worker} was shut down and does not come back")
            }
            Error::LastWorker(worker) => write!(
                f,
                "{worker} is the last one that was not shut down; pause it, or shut down the pool"
            ),
            Error::Stopped => f.write_str("the pool has been shut down and takes no more jobs"),
            Error::Cycle(jobs) => {
                f.write_str("jobs wait for each other: ")?;
                for job in jobs {
                    write!(f, "{job} waits for ")?;
                }
                match jobs.first() {
                    Some(first) => write!(f, "{first}"),
                    None => Ok(()),
                }
            }
            Error::UnknownJob(job) => write!(
                f,
                "a dependency names {job}, which this pool does not know: it was never submitted, \
                 or ended too long ago"
            ),
            Error::DuplicateJob(job) => {
                write!(f, "{job} exists already; choose another id, or leave it out")
            }
            Error::OtherPool(job) => {
                write!(f, "a dependency names {job} of another pool; wait for it instead")
            }
            Error::PriorityNotFinite { job, priority } => {
                write!(f, "the priority of {job} is {priority}; it must be a finite number")
            }
            Error::TooLarge { size, max } => {
                write!(f, "a batch can have up to {max} of them, and this has {size}; split it")
            }
            Error::WouldBlock => f.write_str(
                "waiting here could never end: inside a job use a dependency or `.await`, \
                 in a simulation run it first",
            ),
        }
    }
}

impl error::Error for Error {}

/// Something that was refused, given back with the reason.
pub struct Refused<T>(Box<(Error, T)>);

// SAFETY: a shared reference to it gives no access to what it carries.
unsafe impl<T: Send> Sync for Refused<T> {}

impl<T> Refused<T> {
    pub(crate) fn new(error: Error, given: T) -> Refused<T> {
        Refused(Box::new((error, given)))
    }

    /// Why.
    pub fn error(&self) -> &Error {
        &self.0.0
    }

    /// Why, and what was given, for another try.
    pub fn into_parts(self) -> (Error, T) {
        *self.0
    }
}

impl<T> fmt::Debug for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Refused").field(&self.0.0).finish()
    }
}

impl<T> fmt::Display for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.0.fmt(f)
    }
}

impl<T> error::Error for Refused<T> {}

impl<T> From<Refused<T>> for Error {
    fn from(refused: Refused<T>) -> Error {
        refused.0.0
    }
}

/// Why a job has no result.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum JobError<E> {
    /// It returned this error.
    Failed(E),
    /// It panicked, with this text.
    Panicked(String),
    /// It was not run, since a job that it depends on failed or was cancelled.
    Predecessor {
        /// The job where it began.
        job: JobId,
        /// What went wrong there.
        reason: Arc<str>,
    },
    /// It was cancelled before it ended.
    Cancelled,
    /// The pool stopped before it ended.
    Stopped,
    /// The result is shared: read it through the references.
    Shared,
    /// Waiting here could never end: see [`Error::WouldBlock`].
    WouldBlock,
}

impl<E: fmt::Display> fmt::Display for JobError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobError::Failed(error) => write!(f, "the job failed: {error}"),
            JobError::Panicked(text) => write!(f, "the job panicked: {text}"),
            JobError::Predecessor { job, reason } => {
                write!(f, "not run, since it depends on {job}: {reason}")
            }
            JobError::Cancelled => f.write_str("the job was cancelled"),
            JobError::Stopped => f.write_str("the pool stopped before the job ended"),
            JobError::Shared => {
                f.write_str("the result is shared; read it through the references to it")
            }
            JobError::WouldBlock => Error::WouldBlock.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> error::Error for JobError<E> {}

/// Why a pool could not be built.
#[derive(Debug)]
#[non_exhaustive]
pub enum PoolError {
    /// The policy and the balancer have no meaning together.
    Pair {
        /// The policy's name.
        policy: &'static str,
        /// The balancer's name.
        balancer: &'static str,
        /// Why not, and what to use instead.
        reason: &'static str,
    },
    /// No job could ever be taken.
    ZeroCapacity,
    /// A hand-out of no jobs at all.
    ZeroJobsPerCycle,
    /// The runtime under it could not be built.
    Runtime(BuildError),
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolError::Pair { policy, balancer, reason } => {
                write!(
                    f,
                    "the policy {policy} and the balancer {balancer} do not go together: {reason}"
                )
            }
            PoolError::ZeroCapacity => {
                f.write_str("the capacity is zero; a pool needs room for one job at least")
            }
            PoolError::ZeroJobsPerCycle => {
                f.write_str("max_jobs_per_cycle is zero; a hand-out takes one job at least")
            }
            PoolError::Runtime(error) => error.fmt(f),
        }
    }
}

impl error::Error for PoolError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            PoolError::Runtime(error) => Some(error),
            _ => None,
        }
    }
}

impl From<BuildError> for PoolError {
    fn from(error: BuildError) -> PoolError {
        PoolError::Runtime(error)
    }
}

/// A shutdown reached its deadline while jobs were still running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShutdownTimeout {
    /// The deadline it was given.
    pub timeout: Duration,
    /// The jobs that still ran. Their threads end when they do.
    pub running: Vec<JobId>,
}

impl fmt::Display for ShutdownTimeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "after {:?} still running: {:?}", self.timeout, self.running)
    }
}

impl error::Error for ShutdownTimeout {}
