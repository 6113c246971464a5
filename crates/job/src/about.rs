//! What may be said about a job, and what a prioritizer and an affinity get to know of it.

use std::{sync::Arc, time::Duration};

use kernel::WorkerId;

use crate::id::{Class, JobId};

/// What is said about a job when it is made. Everything may be left out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct About {
    pub(crate) id: Option<JobId>,
    pub(crate) priority: f64,
    pub(crate) estimate: Option<Duration>,
    pub(crate) class: Option<Class>,
    pub(crate) affinity: Option<WorkerId>,
    pub(crate) deadline: Option<Duration>,
}

/// A job, as a prioritizer and an affinity see it when it is submitted.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct JobInfo {
    /// Its name.
    pub id: JobId,
    /// The priority it was given.
    pub priority: f64,
    /// How long it should take: what its class was learnt to take, else what it was given.
    pub estimate: Option<Duration>,
    /// Its class, if it was given one.
    pub class: Option<Class>,
    /// The worker that it names itself.
    pub affinity: Option<WorkerId>,
    /// When it should have ended, counted from its submission.
    pub deadline: Option<Duration>,
    /// How many jobs it waits for.
    pub predecessors: u32,
    /// How many jobs of its batch wait for it.
    pub successors: u32,
}

/// Computes the priority by which a job is ordered; higher runs first.
pub type Prioritizer = Arc<dyn Fn(&JobInfo) -> f64 + Send + Sync>;

/// What is kept of all that for as long as the job waits: 24 bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Kept {
    pub(crate) priority: f64,
    /// Nanoseconds; 0: nothing is known.
    pub(crate) estimate: u64,
    /// The class's number plus one; 0: none.
    class: u32,
    /// The worker's number plus one; 0: none.
    worker: u32,
}

impl Kept {
    pub(crate) fn new(about: &About) -> Kept {
        Kept {
            priority: about.priority,
            estimate: about.estimate.map_or(0, |estimate| nanos(estimate).max(1)),
            class: about.class.map_or(0, |class| class.get() + 1),
            // A worker that does not exist is refused before this is used.
            worker: about.affinity.map_or(0, |worker| {
                u32::try_from(worker.get()).map_or(u32::MAX, |w| w.saturating_add(1))
            }),
        }
    }

    /// Whether something is said that is needed when the job has run.
    #[inline]
    pub(crate) fn is_to_be_compared(&self) -> bool {
        self.estimate > 0 || self.class > 0
    }

    pub(crate) fn class(&self) -> Option<Class> {
        self.class.checked_sub(1).map(Class::new)
    }

    pub(crate) fn worker(&self) -> Option<WorkerId> {
        self.worker.checked_sub(1).map(|worker| WorkerId::new(worker as usize))
    }

    pub(crate) fn set_worker(&mut self, worker: WorkerId) {
        self.worker = u32::try_from(worker.get()).map_or(u32::MAX, |worker| worker + 1);
    }
}

/// Nanoseconds, as many as fit.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
