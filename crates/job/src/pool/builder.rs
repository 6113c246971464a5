//! What a pool is made of, checked before anything starts.

use std::{fmt, sync::Arc, time::Duration};

use kernel::{Runtime, Simulation};

use crate::{
    about::{JobInfo, Prioritizer},
    error::PoolError,
    policy::{Balancer, Policy},
    pool::{
        Pool, SimulatedPool,
        shared::{Settings, Shared},
    },
};

/// Builds a [`Pool`], or a simulation of one.
///
/// ```
/// use job::{Balancer, Policy, Pool};
///
/// let pool = Pool::builder()
///     .workers(2)
///     .policy(Policy::HighestPriority)
///     .balancer(Balancer::LeastLoaded)
///     .capacity(10_000)
///     .build()?;
/// # drop(pool);
/// # Ok::<(), job::PoolError>(())
/// ```
#[must_use = "a builder builds nothing until it is told to"]
pub struct PoolBuilder {
    kernel: kernel::Builder,
    policy: Policy,
    balancer: Option<Balancer>,
    ageing: f64,
    capacity: usize,
    jobs_per_cycle_max: usize,
    prioritizer: Option<Prioritizer>,
    accept_while_paused: bool,
}

impl PoolBuilder {
    pub(crate) fn new() -> PoolBuilder {
        PoolBuilder {
            kernel: Runtime::builder().name("job"),
            policy: Policy::default(),
            balancer: None,
            ageing: 0.0,
            capacity: usize::MAX,
            jobs_per_cycle_max: 1,
            prioritizer: None,
            accept_while_paused: false,
        }
    }

    /// How many workers. Otherwise `SHIFTWORK_WORKERS` says it, otherwise there is one per core.
    pub fn workers(mut self, workers: usize) -> PoolBuilder {
        self.kernel = self.kernel.workers(workers);
        self
    }

    /// In which order ready jobs run: [`Policy::WorkStealing`] unless said otherwise.
    pub fn policy(mut self, policy: Policy) -> PoolBuilder {
        self.policy = policy;
        self
    }

    /// Which worker gets a ready job: whoever comes first unless said otherwise.
    pub fn balancer(mut self, balancer: Balancer) -> PoolBuilder {
        self.balancer = Some(balancer);
        self
    }

    /// Under [`Policy::HighestPriority`], how much of its priority a job has lost per job that was
    /// ready before it; under [`Policy::ShortestFirst`], by how many nanoseconds it counts as longer.
    /// With 0 the order is strict, with more nobody starves. The other policies do not look at it.
    pub fn ageing(mut self, rate: f64) -> PoolBuilder {
        self.ageing = rate;
        self
    }

    /// How many jobs may wait or run; more are refused as [`QueueFull`](crate::Error::QueueFull).
    /// Without a limit unless said otherwise.
    pub fn capacity(mut self, jobs: usize) -> PoolBuilder {
        self.capacity = jobs;
        self
    }

    /// How many ready jobs one hand-out to a worker may take under
    /// [`Policy::WorkStealing`](Policy): 1 unless said otherwise. More is cheaper for very small
    /// jobs; but nobody else runs what a worker has taken, so jobs may not wait for each other by
    /// other means than dependencies then, and a long one holds back as many. With another policy, or
    /// a balancer, each hand-out takes one.
    pub fn max_jobs_per_cycle(mut self, jobs: usize) -> PoolBuilder {
        self.jobs_per_cycle_max = jobs;
        self
    }

    /// Computes the priority of each job when it is submitted, instead of taking what it was given.
    pub fn prioritizer(
        mut self,
        prioritize: impl Fn(&JobInfo) -> f64 + Send + Sync + 'static,
    ) -> PoolBuilder {
        self.prioritizer = Some(Arc::new(prioritize));
        self
    }

    /// How long a turn may take while others wait: one millisecond unless said otherwise.
    pub fn quantum(mut self, quantum: Duration) -> PoolBuilder {
        self.kernel = self.kernel.quantum(quantum);
        self
    }

    /// The name of the worker threads, `job` unless said otherwise.
    pub fn name(mut self, name: impl Into<String>) -> PoolBuilder {
        self.kernel = self.kernel.name(name);
        self
    }

    /// Takes jobs also while every worker is paused, instead of refusing them; they run when one is
    /// resumed.
    pub fn accept_while_paused(mut self) -> PoolBuilder {
        self.accept_while_paused = true;
        self
    }

    /// Where reports go, instead of standard error: a job that keeps its worker for very long while
    /// others wait.
    pub fn on_report(
        mut self,
        reporter: impl Fn(&kernel::Report) + Send + Sync + 'static,
    ) -> PoolBuilder {
        self.kernel = self.kernel.on_report(reporter);
        self
    }

    /// Records what the kernel does from the start, and keeps so many events per worker.
    pub fn record(mut self, events_per_worker: usize) -> PoolBuilder {
        self.kernel = self.kernel.record(events_per_worker);
        self
    }

    /// Starts the pool.
    ///
    /// # Errors
    /// What is wrong with the choices. Nothing is left running then.
    pub fn build(self) -> Result<Pool, PoolError> {
        let (kernel, settings) = self.plan(false)?;
        let runtime = kernel.build()?;
        let handle = runtime.handle();
        handle.tenant(|| Shared::new(settings, &handle));
        Ok(Pool::of(Some(runtime), handle))
    }

    /// The same pool as a simulation: one thread, virtual time, and every choice that the policy
    /// leaves open made by `seed`.
    ///
    /// # Errors
    /// As for [`build`](PoolBuilder::build).
    pub fn simulate(self, seed: u64) -> Result<SimulatedPool, PoolError> {
        let (kernel, settings) = self.plan(true)?;
        let simulation: Simulation = kernel.simulate(seed)?;
        let handle = simulation.handle();
        handle.tenant(|| Shared::new(settings, &handle));
        Ok(SimulatedPool::new(Pool::of(None, handle), simulation))
    }

    fn plan(self, simulated: bool) -> Result<(kernel::Builder, Settings), PoolError> {
        let placement = self.policy.placement(self.balancer.as_ref())?;
        if self.capacity == 0 {
            return Err(PoolError::ZeroCapacity);
        }
        if self.jobs_per_cycle_max == 0 {
            return Err(PoolError::ZeroJobsPerCycle);
        }
        let plain = self.policy == Policy::WorkStealing && self.balancer.is_none();
        let settings = Settings {
            policy: self.policy,
            capacity: self.capacity,
            jobs_per_cycle_max: u32::try_from(self.jobs_per_cycle_max).unwrap_or(u32::MAX),
            prioritizer: self.prioritizer,
            affinity: match self.balancer {
                Some(Balancer::Affinity(choose)) => choose,
                _ => None,
            },
            accept_while_paused: self.accept_while_paused,
            plain,
            inline: plain && !simulated,
            simulated,
        };
        let discipline = self.policy.discipline(self.ageing);
        Ok((self.kernel.discipline(discipline).placement(placement), settings))
    }
}

impl fmt::Debug for PoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("kernel", &self.kernel)
            .field("policy", &self.policy)
            .field("balancer", &self.balancer)
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}
