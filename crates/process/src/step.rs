//! A process as a state machine: events in, commands out.

use std::{collections::BTreeMap, fmt, time::Duration};

use kernel::{Handle, StrandWith};

use crate::{
    addr::Addr, context::Context, core::Core, error::SpawnError, event::Event, exit::Outcome,
    names, output::StepOutput, payload::Payload, pid::Pid, processes::Processes,
    spawn::ProcessBuilder,
};

/// What went wrong in a [`Process`]: it exits with this text.
pub type ProcessError = Box<dyn std::error::Error + Send + Sync>;

/// A process that is written as a state machine, for engines and languages that are not futures.
///
/// `init` is called once, with the name of an entry method; then `step` whenever there are events,
/// or it has said that it goes on by itself; then `close`, once, however it ended: done, failed,
/// panicked or killed. One that is ended before its first turn, killed or by a link, never began: it
/// is dropped, with neither `init` nor `close`. A panic in `init` or `step` ends it with
/// [`ExitReason::Panic`](crate::ExitReason::Panic), and so does one in `close` if it had ended
/// well until then.
///
/// ```
/// use std::time::Duration;
/// use process::{
///     Event, ExitReason, InitContext, Payload, Process, ProcessError, Processes, StepOutput,
///     UnknownMethod, block_on,
/// };
///
/// /// Says a word after a nap.
/// struct Sleeper(std::sync::mpsc::Sender<String>);
///
/// impl Process for Sleeper {
///     fn init(&mut self, _: &InitContext, method: &str, _: Payload) -> Result<(), ProcessError> {
///         if method == "main" { Ok(()) } else { Err(UnknownMethod(method.to_owned()).into()) }
///     }
///
///     fn step(
///         &mut self,
///         events: &mut Vec<Event<Payload>>,
///         out: &mut StepOutput,
///     ) -> Result<(), ProcessError> {
///         if events.is_empty() {
///             out.sleep(1, Duration::from_millis(1)); // the first step has no events
///             out.blocked();
///         }
///         for event in events.drain(..) {
///             if let Event::Completed { tag: 1, .. } = event {
///                 self.0.send("rested".to_owned())?;
///                 out.done();
///             }
///         }
///         Ok(())
///     }
/// }
///
/// let runtime = kernel::Runtime::new()?;
/// let (tell, told) = std::sync::mpsc::channel();
/// let sleeper = runtime.process().start(Sleeper(tell), "main", Payload::Empty)?;
/// assert_eq!(told.recv()?, "rested");
/// assert_eq!(block_on(sleeper.exited()), ExitReason::Normal);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Process: Send + 'static {
    /// Prepares for the entry `method` with its input. A method that it does not have is refused
    /// with an error, such as [`UnknownMethod`]. One that prepares nothing need not write this: it
    /// takes any method.
    ///
    /// # Errors
    /// What was wrong; the process exits with it.
    fn init(
        &mut self,
        context: &InitContext,
        method: &str,
        input: Payload,
    ) -> Result<(), ProcessError> {
        let _ = (context, method, input);
        Ok(())
    }

    /// Goes on: takes the events that have come, and writes commands and a status. The first step
    /// has no events, any other 64 at most: what else has come is for the next. What it leaves in
    /// `events` is dropped, so it should look at each of them.
    ///
    /// # Errors
    /// What was wrong; the process exits with it.
    fn step(
        &mut self,
        events: &mut Vec<Event<Payload>>,
        out: &mut StepOutput,
    ) -> Result<(), ProcessError>;

    /// Gives back what it holds. It is called if `init` was, also if that refused or panicked.
    fn close(&mut self) {}
}

/// An entry method that the process does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownMethod(pub String);

impl fmt::Display for UnknownMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the process has no method {:?}", self.0)
    }
}

impl std::error::Error for UnknownMethod {}

/// What a process is told when it begins.
#[derive(Debug)]
#[non_exhaustive]
pub struct InitContext {
    /// Its own pid.
    pub pid: Pid,
    /// Who spawned it, if a process did.
    pub parent: Option<Pid>,
    /// When it will be asked to end, in the runtime's time.
    pub deadline: Option<Duration>,
    /// What its spawner wanted it to know.
    pub values: BTreeMap<String, Payload>,
    /// The runtime it runs on.
    pub runtime: Handle,
    pub(crate) own: StrandWith<Core>,
}

impl InitContext {
    /// Joins a group, as [`Context::join_group`] does.
    ///
    /// ```
    /// use process::{
    ///     Event, InitContext, Payload, Process, ProcessError, Processes, StepOutput,
    /// };
    ///
    /// struct Singer;
    ///
    /// impl Process for Singer {
    ///     fn init(&mut self, ctx: &InitContext, _: &str, _: Payload) -> Result<(), ProcessError> {
    ///         ctx.join_group("choir");
    ///         Ok(())
    ///     }
    ///
    ///     fn step(
    ///         &mut self,
    ///         _: &mut Vec<Event<Payload>>,
    ///         _: &mut StepOutput,
    ///     ) -> Result<(), ProcessError> {
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut simulation = kernel::Runtime::builder().simulate(1)?;
    /// let singer = simulation.process().start(Singer, "sing", ())?;
    /// simulation.run();
    /// assert_eq!(simulation.group("choir"), [singer.pid()]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn join_group(&self, group: &str) {
        names::join(&self.own, group);
    }

    /// Spawns a process that is linked to this one. See [`process`](InitContext::process) for more.
    ///
    /// ```
    /// use process::{Context, InitContext, SpawnError};
    ///
    /// fn start_helper(ctx: &InitContext) -> Result<(), SpawnError> {
    ///     ctx.spawn(|mut ctx: Context<u32>| async move { while ctx.receive().await.is_some() {} })?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// As for [`ProcessBuilder::spawn`].
    pub fn spawn<N, F, Fut>(&self, start: F) -> Result<Addr<N>, SpawnError>
    where
        N: Send + 'static,
        F: FnOnce(Context<N>) -> Fut + Send + 'static,
        Fut: Future<Output: Outcome> + Send + 'static,
    {
        self.process().spawn(start)
    }

    /// Makes a process whose parent this is, linked to it unless it is made
    /// [`detached`](ProcessBuilder::detached).
    ///
    /// ```
    /// use process::{Addr, InitContext, Payload, Process, SpawnError};
    ///
    /// fn start_engine(
    ///     ctx: &InitContext,
    ///     engine: impl Process,
    /// ) -> Result<Addr<Payload>, SpawnError> {
    ///     ctx.process().name("engine").start(engine, "main", ())
    /// }
    /// ```
    pub fn process(&self) -> ProcessBuilder<'_> {
        self.own.runtime().process().child_of(&self.own)
    }
}
