//! A pool: workers that run jobs under a policy, and what can be asked of them.

pub(crate) mod builder;
pub(crate) mod registry;
pub(crate) mod room;
pub(crate) mod shared;
mod submit;
mod view;

pub use submit::{SubmitBatch, SubmitJob, Submitted};
pub use view::WorkerStatus;

use std::{
    fmt,
    ops::{Deref, DerefMut},
    time::Duration,
};

use kernel::{Discipline, Handle, Runtime, Simulation};

use crate::{
    error::{PoolError, ShutdownTimeout},
    event::Events,
    metrics::Metrics,
    policy::Policy,
    pool::{
        builder::PoolBuilder,
        shared::{Settings, Shared},
    },
};

/// Runs jobs: owns the workers, or uses those of a runtime that is there already.
///
/// Dropping a pool that owns its workers stops it without waiting: jobs that run finish on their
/// own, those that wait end as stopped. [`shutdown`](Pool::shutdown) runs what waits first.
///
/// ```
/// use job::{Job, Pool};
///
/// let pool = Pool::new()?;
/// let answer = pool.submit(Job::new(|_| 6 * 7))?;
/// assert_eq!(answer.join()?, 42);
/// pool.shutdown();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Pool {
    runtime: Option<Runtime>,
    handle: Handle,
}

impl Pool {
    /// A pool with all defaults: work stealing, one worker per core.
    ///
    /// # Errors
    /// As for [`PoolBuilder::build`].
    pub fn new() -> Result<Pool, PoolError> {
        Pool::builder().build()
    }

    /// Chooses what is not to be the default.
    pub fn builder() -> PoolBuilder {
        PoolBuilder::new()
    }

    pub(crate) fn of(runtime: Option<Runtime>, handle: Handle) -> Pool {
        Pool { runtime, handle }
    }

    /// A pool on the workers of a runtime that somebody else owns, in the order of its discipline.
    /// All pools on the same runtime are one. It takes jobs also while every worker is paused, as one
    /// that was built to [accept them](PoolBuilder::accept_while_paused).
    ///
    /// ```
    /// use job::{Job, Pool};
    ///
    /// let runtime = kernel::Runtime::new()?;
    /// let pool = Pool::on(&runtime.handle());
    /// assert_eq!(pool.submit(Job::new(|_| 42))?.join()?, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on(handle: &Handle) -> Pool {
        let policy = match handle.discipline() {
            Discipline::Stealing => Policy::WorkStealing,
            Discipline::Priority { .. } => Policy::HighestPriority,
            Discipline::Feedback { levels, slice } => {
                Policy::MultilevelFeedback { queue_count: levels, time_slice: slice }
            }
            _ => Policy::Fcfs,
        };
        let simulated = handle.is_simulated();
        let plain = policy == Policy::WorkStealing;
        handle.tenant(|| {
            let settings = Settings {
                policy,
                capacity: usize::MAX,
                jobs_per_cycle_max: 1,
                prioritizer: None,
                affinity: None,
                accept_while_paused: true,
                plain,
                inline: plain && !simulated,
                simulated,
            };
            Shared::new(settings, handle)
        });
        Pool::of(None, handle.clone())
    }

    /// A further handle on the same pool, for other threads and for jobs that submit. It owns no
    /// workers.
    pub fn share(&self) -> Pool {
        Pool::of(None, self.handle.clone())
    }

    pub(crate) fn shared(&self) -> &Shared {
        self.handle.tenant(|| unreachable!("the pool has settled on its runtime"))
    }

    /// The kernel's handle of the workers.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// The order in which ready jobs run.
    pub fn policy(&self) -> Policy {
        self.shared().settings.policy
    }

    /// What has been done so far, and what waits.
    pub fn metrics(&self) -> Metrics {
        self.shared().metrics(&self.handle)
    }

    /// What happens from now on. While somebody listens, every job is timed.
    pub fn events(&self) -> Events {
        self.shared().events.listen()
    }

    /// Stops when all is done: nothing more is taken, everything that waits runs. Waits for as long
    /// as that takes. A pool that owns no workers is only dropped.
    pub fn shutdown(mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown();
        }
    }

    /// As [`shutdown`](Pool::shutdown), for `timeout` at most: then what waits ends as stopped.
    ///
    /// # Errors
    /// If a job still runs at the deadline. Its thread ends when it does.
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Result<(), ShutdownTimeout> {
        let Some(runtime) = self.runtime.take() else { return Ok(()) };
        match runtime.shutdown_timeout(timeout) {
            Ok(_) => Ok(()),
            Err(_) => Err(ShutdownTimeout { timeout, running: self.running() }),
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("policy", &self.policy())
            .field("handle", &self.handle)
            .field("owns_workers", &self.runtime.is_some())
            .finish()
    }
}

/// A pool in virtual time, on the calling thread, with every open choice made by a seed.
///
/// It derefs to a [`Pool`], so code under test is given that; the [`Simulation`] is what runs it.
///
/// ```
/// use std::time::Duration;
/// use job::{Job, Pool};
///
/// let mut pool = Pool::builder().workers(2).simulate(7)?;
/// for _ in 0..8 {
///     let job = Job::new(|cx| cx.simulate(Duration::from_millis(10)));
///     drop(pool.submit(job)?);
/// }
/// let time = pool.simulation().run();
/// assert_eq!(time.as_millis(), 40); // 8 jobs of 10 ms on 2 workers
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SimulatedPool {
    pool: Pool,
    simulation: Simulation,
}

impl SimulatedPool {
    pub(crate) fn new(pool: Pool, simulation: Simulation) -> SimulatedPool {
        SimulatedPool { pool, simulation }
    }

    /// What runs the pool.
    pub fn simulation(&mut self) -> &mut Simulation {
        &mut self.simulation
    }
}

impl Deref for SimulatedPool {
    type Target = Pool;

    fn deref(&self) -> &Pool {
        &self.pool
    }
}

impl DerefMut for SimulatedPool {
    fn deref_mut(&mut self) -> &mut Pool {
        &mut self.pool
    }
}
