//! Processes that start others, and start them again when they fail.

mod backoff;
mod change;
mod children;
mod error;
mod first_turn;
mod handle;
mod intensity;
mod restart;
mod spec;
mod start;
mod stop;
mod tree;

pub use backoff::Backoff;
pub use error::SupervisorError;
pub use handle::{ChildCounts, ChildInfo, ChildState, SupervisorHandle};
pub use spec::{
    CHILD_START_TIMEOUT, CHILD_STOP_TIMEOUT, ChildKind, ChildSpec, ChildStart, Restart,
};

use std::{
    collections::{HashSet, VecDeque},
    fmt,
    sync::Arc,
    time::Duration,
};

use kernel::Handle;

use crate::{
    context::Context,
    processes::Processes,
    spawn::{MailboxKind, ProcessBuilder},
    supervisor::{
        children::Children,
        intensity::{Intensity, Restarts},
        tree::Tree,
    },
};

/// So many restarts are allowed in [`RESTART_PERIOD`] when nothing else is said.
pub const RESTARTS_MAX: u32 = 5;

/// The time in which restarts are counted, when nothing else is said. It is longer than the first
/// [`RESTARTS_MAX`] delays of the back-off together.
pub const RESTART_PERIOD: Duration = Duration::from_secs(60);

/// Who is started again when a child fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// The child.
    #[default]
    OneForOne,
    /// All children: those that are left are stopped first, the last one first. For children that
    /// can not do without each other.
    OneForAll,
    /// The child and those that were started after it, which are stopped first, the last one first.
    /// For children that need those before them.
    RestForOne,
}

/// A process that starts others in order, starts them again when they fail, and stops them in the
/// reverse order when it ends.
///
/// **Restarts.** A child that ends is started again as its [`Restart`] says, after a delay
/// ([`Backoff`]: 1 s, doubled each time up to 90 s, some of it taken off by chance; the first delay
/// again after the child has run for 90 s). A start that fails counts like an end. With
/// [`Strategy::OneForAll`] and [`Strategy::RestForOne`] others are started again with it: temporary
/// ones are stopped and forgotten, those that somebody terminated stay stopped.
///
/// **Too many restarts.** More than [`RESTARTS_MAX`] within [`RESTART_PERIOD`], and the supervisor
/// stops its children and exits with an error that says so. Its own supervisor, if it has one, may
/// then start all of it again. A child that fails at every start gets there too, however long it
/// waits in between: see [`intensity`](Supervisor::intensity).
///
/// **Start and stop.** Children are started one after the other: the next when the one before has run
/// up to where it first waits. If one can not be started at first,
/// the supervisor stops those that were and exits with an error. A child is stopped by asking it
/// ([`cancel`](crate::Addr::cancel)), and killed if it does not end in time; one that is stuck in a
/// turn that does not end is left behind a second later. Children are linked to the supervisor: if
/// it is killed, they end too, unless they trap exits.
///
/// ```
/// use std::time::Duration;
/// use process::{ChildSpec, Context, Processes, Supervisor};
///
/// async fn worker(mut ctx: Context<u32>) {
///     while let Some(number) = ctx.receive().await {
///         assert_ne!(number, 13, "it can not do that");
///     }
/// }
///
/// let mut simulation = kernel::Runtime::builder().workers(2).simulate(1)?;
/// let pool = Supervisor::one_for_one()
///     .child(ChildSpec::new("first", worker).name("first"))
///     .child(ChildSpec::new("second", worker).name("second"))
///     .spawn(&simulation)?;
/// simulation.block_on(pool.ready())??;
///
/// simulation.send_to_named("first", 13_u32)?;
/// simulation.run_for(Duration::from_secs(2)); // longer than the first delay
/// let counts = simulation.block_on(pool.count_children())??;
/// assert_eq!((counts.running, counts.restarts), (2, 1));
/// simulation.send_to_named("first", 12_u32)?;
///
/// pool.stop();
/// assert_eq!(simulation.block_on(pool.exited())?, process::ExitReason::Shutdown);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a supervisor is made by `spawn`"]
pub struct Supervisor {
    strategy: Strategy,
    intensity: Intensity,
    backoff: Backoff,
    name: Option<Arc<str>>,
    children: Vec<ChildSpec>,
}

impl Supervisor {
    /// A supervisor without children yet.
    pub fn new(strategy: Strategy) -> Supervisor {
        Supervisor {
            strategy,
            intensity: Intensity { max: RESTARTS_MAX, period: RESTART_PERIOD },
            backoff: Backoff::default(),
            name: None,
            children: Vec::new(),
        }
    }

    /// A supervisor with [`Strategy::OneForOne`].
    pub fn one_for_one() -> Supervisor {
        Supervisor::new(Strategy::OneForOne)
    }

    /// A supervisor with [`Strategy::OneForAll`].
    pub fn one_for_all() -> Supervisor {
        Supervisor::new(Strategy::OneForAll)
    }

    /// A supervisor with [`Strategy::RestForOne`].
    pub fn rest_for_one() -> Supervisor {
        Supervisor::new(Strategy::RestForOne)
    }

    /// Allows `max` restarts within `period`, over all children: [`RESTARTS_MAX`] within
    /// [`RESTART_PERIOD`] unless this is said. With 0 the first failure ends the supervisor.
    ///
    /// A restart counts when its child has failed; with others started again it is one. The time in
    /// which a child waits for its back-off does not hide that: a child that fails more than `max` times
    /// within a `period` of the time that it ran has failed too often, however long that took.
    pub fn intensity(mut self, max: u32, period: Duration) -> Supervisor {
        self.intensity = Intensity { max: max.min(Intensity::UNLIMITED - 1), period };
        self
    }

    /// Allows any number of restarts: a child that fails at every start is tried for ever, as seldom
    /// as the back-off says.
    pub fn unlimited_restarts(mut self) -> Supervisor {
        self.intensity.max = Intensity::UNLIMITED;
        self
    }

    /// How long children wait before they are started again.
    pub fn backoff(mut self, backoff: Backoff) -> Supervisor {
        self.backoff = backoff;
        self
    }

    /// A name under which [`Processes::named`] finds it.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Supervisor {
        self.name = Some(name.into());
        self
    }

    /// Adds a child, to be started after those that were added before.
    pub fn child(mut self, child: ChildSpec) -> Supervisor {
        self.children.push(child);
        self
    }

    /// Adds several children.
    pub fn children(mut self, children: impl IntoIterator<Item = ChildSpec>) -> Supervisor {
        self.children.extend(children);
        self
    }

    /// Spawns it. It starts its children in turns of its own: see [`SupervisorHandle::ready`].
    ///
    /// # Errors
    /// If two children have the same id, the back-off or the intensity is not possible, or as for
    /// [`ProcessBuilder::spawn`].
    pub fn spawn(self, on: &Handle) -> Result<SupervisorHandle, SupervisorError> {
        self.spawn_with(on.process())
    }

    /// Spawns it as a child of a process that is not a supervisor, linked to it: when that ends,
    /// however it does, the supervisor stops its children and ends.
    ///
    /// # Errors
    /// As for [`spawn`](Supervisor::spawn).
    pub fn spawn_linked<M: Send + 'static>(
        self,
        parent: &Context<M>,
    ) -> Result<SupervisorHandle, SupervisorError> {
        self.spawn_with(parent.process())
    }

    pub(crate) fn spawn_with(
        self,
        builder: ProcessBuilder<'_>,
    ) -> Result<SupervisorHandle, SupervisorError> {
        let Supervisor { strategy, intensity, backoff, name, children: specs } = self;
        if intensity.period.is_zero() {
            return Err(SupervisorError::Config("the period of an intensity is not zero"));
        }
        if let Some(flaw) = backoff.flaw() {
            return Err(SupervisorError::Config(flaw));
        }
        let mut children = Children::default();
        for spec in specs {
            children.add(spec)?;
        }
        let builder = match name {
            Some(name) => builder.name(name),
            None => builder,
        };
        let builder = builder.mailbox(MailboxKind::default()).trap_exits();
        let addr = builder.spawn(move |ctx| {
            let recent = Restarts::new(intensity);
            let (later, leaving) = (VecDeque::new(), HashSet::new());
            Tree { ctx, children, strategy, backoff, recent, later, leaving, end: None }.run()
        })?;
        Ok(SupervisorHandle(addr))
    }
}

impl fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervisor")
            .field("strategy", &self.strategy)
            .field("children", &self.children)
            .finish_non_exhaustive()
    }
}
