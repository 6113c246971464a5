//! What a runtime is made of, checked before anything starts.

use std::{fmt, sync::Arc, time::Duration};

use crate::{
    attributes::WorkerId,
    entry::Entry,
    error::BuildError,
    idle::WORKERS_MAX,
    monitor,
    placement::Placement,
    queue::{Discipline, Queues, deque::Deque, feedback::LEVELS_MAX},
    record::Recorder,
    report::{self, Observer, Report, Reporter, WorkerChange},
    runtime::{Crew, Runtime, handle::Handle, worker_main},
    shared::{Config, Shared},
    sim::{Simulation, events::Events},
    sync::{Mutex, thread},
    worker::Worker,
    world::{self, Clock, Dice},
};

/// The environment variable that says how many workers a runtime has when the builder does not.
const WORKERS_VARIABLE: &str = "SHIFTWORK_WORKERS";

/// The quantum of a turn when nothing else is said.
const QUANTUM_DEFAULT: Duration = Duration::from_millis(1);

/// Builds a [`Runtime`], or a [`Simulation`] of one.
///
/// ```
/// use std::time::Duration;
/// use kernel::{Discipline, Placement, Runtime};
///
/// let runtime = Runtime::builder()
///     .workers(2)
///     .discipline(Discipline::Fifo)
///     .placement(Placement::Any)
///     .quantum(Duration::from_millis(100))
///     .name("shards")
///     .build()?;
/// # drop(runtime);
/// # Ok::<(), kernel::BuildError>(())
/// ```
#[must_use = "a builder builds nothing until it is told to"]
#[derive(Default)]
pub struct Builder {
    workers: Option<usize>,
    discipline: Discipline,
    placement: Placement,
    quantum: Option<Duration>,
    budget: Option<u64>,
    name: Option<String>,
    events: Option<usize>,
    reporter: Option<Reporter>,
    observer: Option<Observer>,
}

/// A checked builder: everything but the threads.
struct Plan {
    shared: Arc<Shared>,
    workers: Vec<Worker>,
    name: String,
}

impl Builder {
    /// How many workers. Otherwise `SHIFTWORK_WORKERS` says it, otherwise there is one per core.
    pub fn workers(mut self, workers: usize) -> Builder {
        self.workers = Some(workers);
        self
    }

    /// The order in which strands get turns.
    pub fn discipline(mut self, discipline: Discipline) -> Builder {
        self.discipline = discipline;
        self
    }

    /// Which worker gets a strand.
    pub fn placement(mut self, placement: Placement) -> Builder {
        self.placement = placement;
        self
    }

    /// How long a turn may take while others wait: one millisecond unless said otherwise. Under
    /// `Feedback` the slice is the quantum.
    pub fn quantum(mut self, quantum: Duration) -> Builder {
        self.quantum = Some(quantum);
        self
    }

    /// How many operations a turn may spend. Unlimited unless said otherwise.
    pub fn budget(mut self, operations: u64) -> Builder {
        self.budget = Some(operations);
        self
    }

    /// The name of the worker threads, `shiftwork` unless said otherwise.
    pub fn name(mut self, name: impl Into<String>) -> Builder {
        self.name = Some(name.into());
        self
    }

    /// Records from the start, and keeps so many events per worker.
    pub fn record(mut self, events_per_worker: usize) -> Builder {
        self.events = Some(events_per_worker);
        self
    }

    /// Where reports go, instead of standard error.
    pub fn on_report(mut self, reporter: impl Fn(&Report) + Send + Sync + 'static) -> Builder {
        self.reporter = Some(Box::new(reporter));
        self
    }

    /// Who is told when a worker gets ready, has paused, or ends: on that worker's thread, so it
    /// should be short.
    pub fn on_worker(
        mut self,
        observer: impl Fn(WorkerId, WorkerChange) + Send + Sync + 'static,
    ) -> Builder {
        self.observer = Some(Box::new(observer));
        self
    }

    /// Starts the runtime.
    ///
    /// # Errors
    /// What is wrong with the choices, or with `SHIFTWORK_WORKERS`, or that the system gave no
    /// thread. Nothing is left running then.
    pub fn build(self) -> Result<Runtime, BuildError> {
        let clock = if cfg!(any(loom, shuttle)) { Clock::simulated() } else { Clock::real() };
        let Plan { shared, workers, name } = self.plan(clock, None, Dice::fresh())?;
        let crew = Arc::new(Crew::new(workers.len()));
        let mut threads = Vec::with_capacity(workers.len() + 1);
        let mut failed = None;
        for worker in workers {
            let worker_name = format!("{name}-{}", worker.id);
            let theirs = crew.clone();
            match thread::start(worker_name, move || worker_main(worker, &theirs)) {
                Ok(thread) => threads.push(thread),
                Err(error) => failed = Some(error),
            }
        }
        if !cfg!(any(loom, shuttle)) {
            let watched = shared.clone();
            match thread::start(format!("{name}-mon"), move || monitor::run(&watched)) {
                Ok(thread) => threads.push(thread),
                Err(error) => failed = Some(error),
            }
        }
        let runtime = Runtime::assemble(Handle::new(shared), crew, threads);
        match failed {
            None => Ok(runtime),
            // Dropping the runtime stops the threads that did start.
            Some(error) => Err(BuildError::Thread(error)),
        }
    }

    /// The same runtime as a simulation: one thread, virtual time, and every choice that the
    /// discipline leaves open made by `seed`.
    ///
    /// # Errors
    /// As for [`build`](Builder::build).
    pub fn simulate(self, seed: u64) -> Result<Simulation, BuildError> {
        let events = Some(Mutex::new(Events::default()));
        let Plan { shared, workers, .. } = self.plan(Clock::simulated(), events, seed)?;
        Ok(Simulation::new(Handle::new(shared), workers, seed))
    }

    fn plan(
        self,
        clock: Clock,
        events: Option<Mutex<Events>>,
        seed: u64,
    ) -> Result<Plan, BuildError> {
        let workers = self.worker_count()?;
        let config = self.config(seed)?;
        let deques: Vec<Deque<Entry>> = (0..workers).map(|_| Deque::new()).collect();
        let stealers = if config.discipline == Discipline::Stealing {
            deques.iter().map(Deque::stealer).collect()
        } else {
            Vec::new()
        };
        let inboxes = if matches!(config.placement, Placement::Any) { 0 } else { workers };
        let queues = Queues::new(config.discipline, inboxes, stealers);
        let recorder = Recorder::new(workers, self.events, events.is_some());
        let reporter = self.reporter.unwrap_or_else(report::to_stderr);
        let name = config.name.clone();
        let mut shared = Shared::new(config, queues, clock, recorder, reporter, workers, events);
        shared.observer = self.observer;
        let shared = Arc::new(shared);
        let mut dice = Dice::seeded(seed);
        let workers = deques
            .into_iter()
            .enumerate()
            .map(|(id, deque)| Worker::new(shared.clone(), id, deque, dice.next()))
            .collect();
        Ok(Plan { shared, workers, name })
    }

    fn config(&self, seed: u64) -> Result<Config, BuildError> {
        let quantum = match self.discipline {
            Discipline::Feedback { levels: 0, .. } => return Err(BuildError::NoLevels),
            Discipline::Feedback { levels, .. } if levels > LEVELS_MAX => {
                return Err(BuildError::TooManyLevels(levels));
            }
            Discipline::Feedback { slice, .. } => slice,
            Discipline::Priority { ageing } if !(ageing.is_finite() && ageing >= 0.0) => {
                return Err(BuildError::Ageing(ageing));
            }
            _ => self.quantum.unwrap_or(QUANTUM_DEFAULT),
        };
        if quantum.is_zero() || self.quantum.is_some_and(|quantum| quantum.is_zero()) {
            return Err(BuildError::ZeroQuantum);
        }
        if self.name.as_ref().is_some_and(|name| name.contains('\0')) {
            return Err(BuildError::Name);
        }
        if self.budget == Some(0) {
            return Err(BuildError::ZeroBudget);
        }
        Ok(Config {
            discipline: self.discipline,
            placement: self.placement.clone(),
            quantum: world::nanos(quantum),
            budget: self.budget.unwrap_or(u64::MAX),
            name: self.name.clone().unwrap_or_else(|| "shiftwork".to_owned()),
            seed,
        })
    }

    fn worker_count(&self) -> Result<usize, BuildError> {
        let workers = match (self.workers, std::env::var_os(WORKERS_VARIABLE)) {
            (Some(workers), _) => workers,
            (None, Some(text)) => match text.to_str().map(str::parse) {
                Some(Ok(workers)) if workers > 0 => workers,
                _ => return Err(BuildError::WorkersVariable(text.to_string_lossy().into_owned())),
            },
            (None, None) => std::thread::available_parallelism().map_or(1, |cores| cores.get()),
        };
        match workers {
            0 => Err(BuildError::NoWorkers),
            workers if workers > WORKERS_MAX => Err(BuildError::TooManyWorkers(workers)),
            workers => Ok(workers),
        }
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("workers", &self.workers)
            .field("discipline", &self.discipline)
            .field("placement", &self.placement)
            .field("quantum", &self.quantum)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}
