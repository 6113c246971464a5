//! What a supervisor knows of a child before it runs: how to start it, when again, how to stop it.

use std::{
    fmt::{self, Display},
    future::Future,
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use kernel::{Handle, StrandWith};

use crate::{
    addr::Addr,
    context::Context,
    core::Core,
    driver,
    exit::Outcome,
    payload::Payload,
    pid::Pid,
    processes::Processes,
    spawn::{MailboxKind, ProcessBuilder},
    step::Process,
    supervisor::{Backoff, Supervisor, first_turn},
    sync::Mutex,
};

/// How long a child may take to end once it is asked to, when nothing else is said.
pub const CHILD_STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a child may take to start, when nothing else is said.
pub const CHILD_START_TIMEOUT: Duration = Duration::from_secs(30);

/// Whether a child that has ended is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Restart {
    /// Always.
    #[default]
    Permanent,
    /// Unless it was done or was asked to end: see
    /// [`ExitReason::is_orderly`](crate::ExitReason::is_orderly).
    Transient,
    /// Never. Once it has ended, the supervisor forgets it.
    Temporary,
}

/// Whether a child is a supervisor itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildKind {
    /// It does the work.
    Worker,
    /// It supervises others.
    Supervisor,
}

/// The process, which may have ended already, or why there is none.
pub(super) type Started = Result<StrandWith<Core>, String>;
pub(super) type Starting = Pin<Box<dyn Future<Output = Started> + Send>>;
type Factory = Box<dyn FnMut(ChildStart) -> Starting + Send>;

/// How a supervisor starts, restarts and stops a child. Unless it says otherwise, the child is
/// [permanent](Restart::Permanent), has [`CHILD_START_TIMEOUT`] to start and
/// [`CHILD_STOP_TIMEOUT`] to stop.
///
/// ```
/// use std::time::Duration;
/// use process::{ChildSpec, Context, Reply, Restart};
///
/// // A function or a closure: it is cloned for every start.
/// async fn worker(mut ctx: Context<u32>) {
///     while let Some(_job) = ctx.receive().await {}
/// }
/// let simple = ChildSpec::new("worker", worker)
///     .restart(Restart::Transient)
///     .stop_within(Duration::from_secs(1));
///
/// // A factory, for what is to be done before the next child may start.
/// let careful = ChildSpec::with_factory("database", |start| async move {
///     let addr = start.process().spawn(|mut ctx: Context<Reply<()>>| async move {
///         while let Some(reply) = ctx.receive().await {
///             let _ = reply.send(());
///         }
///     })?;
///     addr.call(|reply| reply).await?; // it has connected
///     Ok::<_, Box<dyn std::error::Error + Send + Sync>>(addr)
/// });
/// # let _ = (simple, careful);
/// ```
#[must_use = "a child is started by the supervisor that it is given to"]
pub struct ChildSpec {
    pub(super) id: Arc<str>,
    pub(super) factory: Factory,
    pub(super) kind: ChildKind,
    pub(super) restart: Restart,
    /// Zero: it is killed at once. `None`: without a limit.
    pub(super) stop_within: Option<Duration>,
    pub(super) start_within: Duration,
    pub(super) backoff: Option<Backoff>,
    name: Option<Arc<str>>,
    mailbox: MailboxKind,
}

impl ChildSpec {
    /// A child that is an `async` function or closure, cloned for every start. It has started when it
    /// has run up to where it first waits. Its id is for the supervisor; see
    /// [`name`](ChildSpec::name) for others.
    pub fn new<M, F, Fut>(id: impl Into<Arc<str>>, start: F) -> ChildSpec
    where
        M: Send + 'static,
        F: FnOnce(Context<M>) -> Fut + Clone + Send + 'static,
        Fut: Future<Output: Outcome> + Send + 'static,
    {
        let factory = move |child: ChildStart| -> Starting {
            Box::pin(first_turn::spawn(child.process(), start.clone()))
        };
        ChildSpec::make(id.into(), Box::new(factory))
    }

    /// A child that a factory starts. The supervisor waits for it before it starts the next one.
    ///
    /// The process it gives is linked to the supervisor, however it was made. What it fails with, or
    /// panics with, is why the child was not started; processes that it made by
    /// [`ChildStart::process`] until then are stopped as the child would be.
    pub fn with_factory<M, E, F, Fut>(id: impl Into<Arc<str>>, mut factory: F) -> ChildSpec
    where
        M: Send + 'static,
        E: Display,
        F: FnMut(ChildStart) -> Fut + Send + 'static,
        Fut: Future<Output = Result<Addr<M>, E>> + Send + 'static,
    {
        let factory = move |child: ChildStart| -> Starting {
            let starting = factory(child);
            Box::pin(async move { started(starting.await) })
        };
        ChildSpec::make(id.into(), Box::new(factory))
    }

    /// A child that is a state machine: `make` gives it, and its input, for every start. It has
    /// started after its `init` and its first `step`. One with values or a deadline is made by
    /// [`with_factory`](ChildSpec::with_factory), from [`ChildStart::process`].
    pub fn machine<P, F>(
        id: impl Into<Arc<str>>,
        method: impl Into<String>,
        mut make: F,
    ) -> ChildSpec
    where
        P: Process,
        F: FnMut() -> (P, Payload) + Send + 'static,
    {
        let method = method.into();
        let factory = move |child: ChildStart| -> Starting {
            let (process, input) = make();
            let method = method.clone();
            let start = move |ctx| driver::drive(ctx, process, method, input);
            Box::pin(first_turn::spawn(child.process(), start))
        };
        ChildSpec::make(id.into(), Box::new(factory))
    }

    /// A child that is a supervisor: `make` gives it, with its children, for every start. It has
    /// started when its children have. There is no limit to how long it may take to start and to
    /// stop, since its children have theirs.
    pub fn supervisor<F>(id: impl Into<Arc<str>>, mut make: F) -> ChildSpec
    where
        F: FnMut() -> Supervisor + Send + 'static,
    {
        let factory = move |child: ChildStart| -> Starting {
            let supervisor = make();
            Box::pin(async move {
                let spawned = supervisor.spawn_with(child.process());
                let handle = spawned.map_err(|error| error.to_string())?;
                handle.ready().await.map_err(|error| error.to_string())?;
                Ok(handle.0.untyped())
            })
        };
        let spec = ChildSpec::make(id.into(), Box::new(factory));
        ChildSpec {
            kind: ChildKind::Supervisor,
            stop_within: None,
            start_within: Duration::MAX,
            ..spec
        }
    }

    fn make(id: Arc<str>, factory: Factory) -> ChildSpec {
        ChildSpec {
            id,
            factory,
            kind: ChildKind::Worker,
            restart: Restart::default(),
            stop_within: Some(CHILD_STOP_TIMEOUT),
            start_within: CHILD_START_TIMEOUT,
            backoff: None,
            name: None,
            mailbox: MailboxKind::default(),
        }
    }

    /// Whether it is started again when it has ended.
    pub fn restart(mut self, restart: Restart) -> ChildSpec {
        self.restart = restart;
        self
    }

    /// How long it may take to end once it is asked to; then it is killed. With
    /// [`Duration::ZERO`] it is not asked.
    pub fn stop_within(mut self, limit: Duration) -> ChildSpec {
        self.stop_within = Some(limit);
        self
    }

    /// It may take as long as it wants to end.
    pub fn stop_without_limit(mut self) -> ChildSpec {
        self.stop_within = None;
        self
    }

    /// How long its factory may take.
    pub fn start_within(mut self, limit: Duration) -> ChildSpec {
        self.start_within = limit;
        self
    }

    /// A back-off of its own, instead of its supervisor's.
    pub fn backoff(mut self, backoff: Backoff) -> ChildSpec {
        self.backoff = Some(backoff);
        self
    }

    /// A name under which [`named`](crate::Processes::named) finds it, after a restart
    /// too.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> ChildSpec {
        self.name = Some(name.into());
        self
    }

    /// How many messages may wait for it, and what happens when there are more. A supervisor has
    /// its own kind of mailbox and does not look at this.
    pub fn mailbox(mut self, mailbox: MailboxKind) -> ChildSpec {
        self.mailbox = mailbox;
        self
    }

    /// What its factory is given.
    pub(super) fn child_start(&self, supervisor: StrandWith<Core>) -> ChildStart {
        ChildStart {
            supervisor,
            id: self.id.clone(),
            name: self.name.clone(),
            mailbox: self.mailbox,
            made: Arc::default(),
        }
    }
}

fn started<M: Send + 'static, E: Display>(result: Result<Addr<M>, E>) -> Started {
    match result {
        Ok(addr) => Ok(addr.untyped()),
        Err(error) => Err(error.to_string()),
    }
}

impl fmt::Debug for ChildSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildSpec")
            .field("id", &self.id)
            .field("kind", &self.kind)
            .field("restart", &self.restart)
            .finish_non_exhaustive()
    }
}

/// What a factory starts a child with.
pub struct ChildStart {
    supervisor: StrandWith<Core>,
    id: Arc<str>,
    name: Option<Arc<str>>,
    mailbox: MailboxKind,
    /// The processes that were made with it.
    pub(super) made: Arc<Mutex<Vec<Pid>>>,
}

impl ChildStart {
    /// Makes a process whose parent is the supervisor, linked to it, with the name and the mailbox
    /// of the [`ChildSpec`].
    pub fn process(&self) -> ProcessBuilder<'_> {
        let builder = self.runtime().process().child_of(&self.supervisor).noted(&self.made);
        let builder = builder.mailbox(self.mailbox);
        match &self.name {
            Some(name) => builder.name(name.clone()),
            None => builder,
        }
    }

    /// The runtime.
    pub fn runtime(&self) -> &Handle {
        self.supervisor.runtime()
    }

    /// The id of the child.
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl fmt::Debug for ChildStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildStart").field("id", &self.id).finish_non_exhaustive()
    }
}
