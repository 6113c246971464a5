//! In which order jobs run, which worker gets one, and which of the two go together.
//!
//! A policy is a discipline of the kernel, a balancer a placement; nothing is scheduled here.

use std::{fmt, sync::Arc, time::Duration};

use kernel::{Discipline, Placement, WorkerId};

use crate::{about::JobInfo, error::PoolError};

/// The order in which ready jobs run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum Policy {
    /// First come, first served: one strict order over all workers.
    Fcfs,
    /// The highest priority first, ties in order of arrival; see
    /// [`ageing`](crate::PoolBuilder::ageing).
    HighestPriority,
    /// The shortest estimate first, ties in order of arrival.
    ShortestFirst,
    /// A FIFO per worker, dealt in turn.
    RoundRobin,
    /// Each worker serves what its own jobs release, the newest first (of neighbours that became ready
    /// together, the one that was added first), and steals when it has nothing. The fastest, and the
    /// default; priorities and estimates order nothing here. In a simulation what a job releases goes
    /// into line, where on threads the first of it may run at once: the order is another.
    #[default]
    WorkStealing,
    /// Several levels, the top one served first. A [resumable](crate::Job::resumable) job that
    /// uses up its slice sinks; any other starts at the level that its class has earned.
    MultilevelFeedback {
        /// How many levels there are.
        queue_count: usize,
        /// How long a turn may take; who uses it up sinks.
        time_slice: Duration,
    },
}

/// Chooses a worker for a job, or leaves the choice open.
pub type AffinityFn = Arc<dyn Fn(&JobInfo) -> Option<WorkerId> + Send + Sync>;

/// Which worker gets a job that becomes ready. Without one, whoever comes first.
#[derive(Clone)]
#[non_exhaustive]
pub enum Balancer {
    /// Each worker in turn.
    RoundRobin,
    /// The worker with the least to do now.
    LeastLoaded,
    /// An idle worker with the shortest turns of late; with none idle, the one that would be done
    /// first.
    Fastest,
    /// The worker that the job names, or else the function; without either, or where that one is
    /// paused, the least loaded.
    Affinity(Option<AffinityFn>),
}

impl Balancer {
    /// [`Balancer::Affinity`] from a plain closure, for jobs that name no worker themselves.
    pub fn affinity(
        choose: impl Fn(&JobInfo) -> Option<WorkerId> + Send + Sync + 'static,
    ) -> Balancer {
        Balancer::Affinity(Some(Arc::new(choose)))
    }

    /// Its name, as in the documentation.
    pub fn name(&self) -> &'static str {
        match self {
            Balancer::RoundRobin => "RoundRobin",
            Balancer::LeastLoaded => "LeastLoaded",
            Balancer::Fastest => "Fastest",
            Balancer::Affinity(_) => "Affinity",
        }
    }
}

impl fmt::Debug for Balancer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Policy {
    /// Its name, as in the documentation.
    pub fn name(&self) -> &'static str {
        match self {
            Policy::Fcfs => "Fcfs",
            Policy::HighestPriority => "HighestPriority",
            Policy::ShortestFirst => "ShortestFirst",
            Policy::RoundRobin => "RoundRobin",
            Policy::WorkStealing => "WorkStealing",
            Policy::MultilevelFeedback { .. } => "MultilevelFeedback",
        }
    }

    /// The kernel's discipline for it.
    pub(crate) fn discipline(&self, ageing: f64) -> Discipline {
        match *self {
            Policy::Fcfs | Policy::RoundRobin => Discipline::Fifo,
            Policy::HighestPriority | Policy::ShortestFirst => Discipline::Priority { ageing },
            Policy::WorkStealing => Discipline::Stealing,
            Policy::MultilevelFeedback { queue_count, time_slice } => {
                Discipline::Feedback { levels: queue_count, slice: time_slice }
            }
        }
    }

    /// The kernel's placement for it and the balancer.
    ///
    /// # Errors
    /// If the two have no meaning together.
    pub(crate) fn placement(&self, balancer: Option<&Balancer>) -> Result<Placement, PoolError> {
        let refused = |balancer: &Balancer, reason| {
            Err(PoolError::Pair { policy: self.name(), balancer: balancer.name(), reason })
        };
        match (self, balancer) {
            (Policy::RoundRobin, None | Some(Balancer::RoundRobin)) => Ok(Placement::RoundRobin),
            (Policy::RoundRobin, Some(other)) => refused(
                other,
                "RoundRobin deals in turn by itself; use Fcfs with this balancer instead",
            ),
            (_, None) => Ok(Placement::Any),
            (Policy::Fcfs, Some(other @ Balancer::RoundRobin)) => {
                refused(other, "that is what the policy RoundRobin does; use it instead")
            }
            (Policy::WorkStealing, Some(Balancer::Affinity(_))) => Ok(by_key()),
            (Policy::WorkStealing, Some(other)) => refused(
                other,
                "an idle worker steals whatever was dealt to another; leave the balancer out, or \
                 use Fcfs with it",
            ),
            (_, Some(Balancer::RoundRobin)) => Ok(Placement::RoundRobin),
            (_, Some(Balancer::LeastLoaded)) => Ok(Placement::LeastLoaded),
            (_, Some(Balancer::Fastest)) => Ok(Placement::Fastest),
            (_, Some(Balancer::Affinity(_))) => Ok(by_key()),
        }
    }
}

/// The worker was chosen when the job was submitted, and checked; the key carries it.
fn by_key() -> Placement {
    Placement::affinity(|about| Some(WorkerId::new(usize::try_from(about.key?).ok()?)))
}
