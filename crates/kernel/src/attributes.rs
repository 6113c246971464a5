//! What is said about a strand or a job when it is made: its name, its priority, its place.

use std::num::NonZeroU16;

use crate::error::ScheduleError;

/// Names a worker of a runtime: 0, 1, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub(crate) usize);

impl WorkerId {
    /// The worker with this number. Whether it exists is checked where it is used.
    pub fn new(index: usize) -> WorkerId {
        WorkerId(index)
    }

    /// The worker's number, from 0.
    pub fn get(self) -> usize {
        self.0
    }
}

impl std::fmt::Display for WorkerId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "worker {}", self.0)
    }
}

/// What disciplines and placements may know of a strand or a job.
///
/// ```
/// use kernel::{Attributes, Discipline, Runtime};
///
/// let runtime = Runtime::builder().discipline(Discipline::Priority { ageing: 0.0 }).build()?;
/// runtime.submit_with(Attributes { priority: 7.5, ..Attributes::default() }, |_| {})?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Attributes {
    /// For logs and recordings.
    pub name: Option<String>,
    /// Higher runs first under [`Discipline::Priority`](crate::Discipline::Priority). Finite.
    pub priority: f64,
    /// The level it starts at under [`Discipline::Feedback`](crate::Discipline::Feedback); the lowest
    /// if there are not so many.
    pub level: u32,
    /// A key for [`Placement::Affinity`](crate::Placement::Affinity)'s function.
    pub key: Option<u64>,
}

impl Attributes {
    pub(crate) fn check(&self) -> Result<(), ScheduleError> {
        if self.priority.is_finite() {
            Ok(())
        } else {
            Err(ScheduleError::PriorityNotFinite(self.priority))
        }
    }
}

/// The part of the attributes that orders and places an entry.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rank {
    pub(crate) priority: f64,
    pub(crate) level: u32,
    /// The worker that an affinity chose, if it chose one.
    pub(crate) home: Option<Home>,
}

/// A worker's number plus one, so that a strand needs no more room to say that it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home(NonZeroU16);

impl Home {
    pub(crate) fn at(worker: usize) -> Home {
        let number = u16::try_from(worker + 1).ok().and_then(NonZeroU16::new);
        Home(number.expect("a runtime has fewer workers"))
    }

    #[inline]
    pub(crate) fn worker(self) -> usize {
        self.0.get() as usize - 1
    }
}
