//! Which worker gets an entry.

use std::{fmt, sync::Arc};

use crate::attributes::{Attributes, WorkerId};

/// Chooses a worker for a strand or a job when it is made, or leaves the choice open.
pub type AffinityFn = Arc<dyn Fn(&Attributes) -> Option<WorkerId> + Send + Sync>;

/// Which worker gets a strand or a job that becomes ready.
///
/// `Any` is one shared queue, or the stealing set. Every other placement deals into per-worker
/// inboxes, each in the discipline's order, and the order is then promised per worker. A worker
/// that is idle is unparked for what is dealt to it; the others take from its inbox only while
/// it is in a turn or paused. So a placement is visible, and nothing waits behind a long turn.
///
/// Under [`Discipline::Stealing`](crate::Discipline::Stealing) the placement deals what comes
/// from outside; what a turn wakes or submits stays on its worker's own deque, except where an
/// affinity names another.
///
/// ```
/// use std::sync::{Arc, atomic::{AtomicUsize, Ordering}};
/// use kernel::{Discipline, Placement, Runtime, WorkerId};
///
/// // Every strand with an even key on worker 0, every other one on worker 1.
/// let placement = Placement::affinity(|about| Some(WorkerId::new(about.key? as usize % 2)));
/// let runtime = Runtime::builder()
///     .workers(2)
///     .discipline(Discipline::Fifo)
///     .placement(placement)
///     .build()?;
/// # drop(runtime);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Placement {
    /// Whoever comes first.
    #[default]
    Any,
    /// Each worker in turn.
    RoundRobin,
    /// The worker with the least to do now: what waits in its inbox and deque, and its turn.
    LeastLoaded,
    /// An idle worker with the shortest turns of late (a moving average); with none idle, the one
    /// whose load times that average is least. Turns are timed exactly for it.
    Fastest,
    /// The worker that the function names; the least loaded if it names none, or a paused one.
    Affinity(AffinityFn),
    /// An idle worker if there is one, else each in turn.
    IdleFirst,
}

impl Placement {
    /// [`Placement::Affinity`] from a plain closure.
    pub fn affinity(
        choose: impl Fn(&Attributes) -> Option<WorkerId> + Send + Sync + 'static,
    ) -> Placement {
        Placement::Affinity(Arc::new(choose))
    }
}

impl fmt::Debug for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Placement::Any => "Any",
            Placement::RoundRobin => "RoundRobin",
            Placement::LeastLoaded => "LeastLoaded",
            Placement::Fastest => "Fastest",
            Placement::Affinity(_) => "Affinity",
            Placement::IdleFirst => "IdleFirst",
        })
    }
}
