//! What a step of a [`Process`](crate::Process) writes: commands, children, and how it goes on.

use std::{sync::Arc, time::Duration};

use kernel::StrandWith;

use crate::{
    addr::Addr, context::Context, core::Core, error::SpawnError, exit::Outcome, payload::Payload,
    pid::Pid, processes::Processes, spawn::ProcessBuilder,
};

/// What a process wants after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Status {
    /// To go on, after everyone who waits already.
    Continue,
    /// To wait for whatever comes.
    #[default]
    Idle,
    /// To wait for its yields; messages wait meanwhile, but news of an exit does not.
    Blocked,
    /// To end.
    Done,
}

/// What a step has written, to be done when it is over.
#[derive(Debug)]
pub(crate) enum Yield {
    Command { tag: u64, name: String, input: Payload },
    Timer { tag: u64, after: Duration },
    Revoke { tag: u64 },
    Monitor(Pid),
    Demonitor(Pid),
    Link(Pid),
    Unlink(Pid),
    Join(Arc<str>),
    Leave(Arc<str>),
}

/// What a step writes: commands, and a status. Unless it says otherwise, the process is
/// [`Idle`](Status::Idle) afterwards.
#[derive(Debug, Default)]
pub struct StepOutput {
    pub(crate) yields: Vec<Yield>,
    pub(crate) status: Status,
    /// The process, in its steps.
    pub(crate) own: Option<StrandWith<Core>>,
}

impl StepOutput {
    /// Yields a command to the handler of that name. Its completion is an event with this tag.
    /// Several may be open at once, each with a tag of its own; a tag that is open already makes
    /// the new command fail.
    pub fn command(&mut self, tag: u64, name: impl Into<String>, input: impl Into<Payload>) {
        self.yields.push(Yield::Command { tag, name: name.into(), input: input.into() });
    }

    /// Completes `tag` after a time: the command [`SLEEP`](crate::SLEEP).
    pub fn sleep(&mut self, tag: u64, after: Duration) {
        self.yields.push(Yield::Timer { tag, after });
    }

    /// Does not want the completion of `tag` any more: a timer is cancelled, any other result is
    /// dropped when it comes.
    pub fn revoke(&mut self, tag: u64) {
        self.yields.push(Yield::Revoke { tag });
    }

    /// Asks to be told when a process exits, by [`Event::Down`](crate::Event::Down) with its pid. One that is not there is
    /// told of at once, with [`ExitReason::NoProcess`](crate::ExitReason::NoProcess).
    ///
    /// ```
    /// use process::{
    ///     Context, Event, ExitReason, Payload, Pid, Process, ProcessError, Processes, StepOutput,
    /// };
    ///
    /// /// Exits as another process does.
    /// struct Mourner(Pid);
    ///
    /// impl Process for Mourner {
    ///     fn step(
    ///         &mut self,
    ///         events: &mut Vec<Event<Payload>>,
    ///         out: &mut StepOutput,
    ///     ) -> Result<(), ProcessError> {
    ///         if events.is_empty() {
    ///             out.monitor(self.0); // the first step
    ///         }
    ///         for event in events.drain(..) {
    ///             if let Event::Down { pid, reason, .. } = event {
    ///                 return Err(format!("{pid}: {reason}").into());
    ///             }
    ///         }
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut simulation = kernel::Runtime::builder().simulate(1)?;
    /// let other = simulation.spawn_process(|mut ctx: Context<()>| async move {
    ///     ctx.receive().await;
    /// })?;
    /// let mourner = simulation.process().start(Mourner(other.pid()), "", ())?;
    /// simulation.run();
    /// other.kill();
    /// let expected = format!("{}: killed", other.pid());
    /// assert_eq!(simulation.block_on(mourner.exited())?, ExitReason::error(expected));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn monitor(&mut self, pid: Pid) {
        self.yields.push(Yield::Monitor(pid));
    }

    /// Ends all its monitors of a process: it hears nothing of that one's exit from now on, also if
    /// that has exited already.
    ///
    /// ```
    /// use process::{Pid, StepOutput};
    ///
    /// fn forget(other: Pid, out: &mut StepOutput) {
    ///     out.demonitor(other);
    /// }
    /// ```
    pub fn demonitor(&mut self, pid: Pid) {
        self.yields.push(Yield::Demonitor(pid));
    }

    /// Ties this process to another, as [`Context::link`](crate::Context::link) does. Its exit comes
    /// as [`Event::Exit`](crate::Event::Exit) if this process was made to
    /// [trap exits](crate::ProcessBuilder::trap_exits); else it ends this one too, unless it was
    /// normal.
    ///
    /// ```
    /// use process::{Pid, StepOutput};
    ///
    /// fn live_and_die_with(other: Pid, out: &mut StepOutput) {
    ///     out.link(other);
    /// }
    /// ```
    pub fn link(&mut self, pid: Pid) {
        self.yields.push(Yield::Link(pid));
    }

    /// Unties this process from another, as [`Context::unlink`](crate::Context::unlink) does.
    ///
    /// ```
    /// use process::{Pid, StepOutput};
    ///
    /// fn live_on_without(other: Pid, out: &mut StepOutput) {
    ///     out.unlink(other);
    /// }
    /// ```
    pub fn unlink(&mut self, pid: Pid) {
        self.yields.push(Yield::Unlink(pid));
    }

    /// Joins a group, as [`Context::join_group`] does, when the step is over.
    ///
    /// ```
    /// use process::StepOutput;
    ///
    /// fn change_sides(out: &mut StepOutput) {
    ///     out.leave_group("idle");
    ///     out.join_group("busy");
    /// }
    /// ```
    pub fn join_group(&mut self, group: impl Into<Arc<str>>) {
        self.yields.push(Yield::Join(group.into()));
    }

    /// Leaves a group when the step is over. One that it is not in stays as it is.
    ///
    /// ```
    /// use process::StepOutput;
    ///
    /// fn retire(out: &mut StepOutput) {
    ///     out.leave_group("workers");
    /// }
    /// ```
    pub fn leave_group(&mut self, group: impl Into<Arc<str>>) {
        self.yields.push(Yield::Leave(group.into()));
    }

    /// Spawns a process that is linked to this one: at once, not when the step is over. See
    /// [`process`](StepOutput::process) for more.
    ///
    /// ```
    /// use process::{
    ///     Context, Event, ExitReason, Payload, Process, ProcessError, Processes, StepOutput,
    /// };
    ///
    /// /// Has its work done by a child, and waits.
    /// struct Boss;
    ///
    /// impl Process for Boss {
    ///     fn step(
    ///         &mut self,
    ///         events: &mut Vec<Event<Payload>>,
    ///         out: &mut StepOutput,
    ///     ) -> Result<(), ProcessError> {
    ///         if events.is_empty() {
    ///             out.spawn(|_: Context<()>| async { Err::<(), _>("too much work") })?;
    ///         }
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let mut simulation = kernel::Runtime::builder().simulate(1)?;
    /// let boss = simulation.process().start(Boss, "", ())?;
    /// let reason = simulation.block_on(boss.exited())?;
    /// assert_eq!(reason, ExitReason::error("too much work"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`ProcessBuilder::spawn`].
    ///
    /// # Panics
    /// As for [`process`](StepOutput::process).
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
    /// use process::{Context, Pid, SpawnError, StepOutput};
    ///
    /// fn start_one_that_outlives_us(out: &mut StepOutput) -> Result<Pid, SpawnError> {
    ///     let child = out.process().detached().spawn(|mut ctx: Context<()>| async move {
    ///         ctx.receive().await;
    ///     })?;
    ///     out.monitor(child.pid());
    ///     Ok(child.pid())
    /// }
    /// ```
    ///
    /// # Panics
    /// If this is not the output that a step was given, but a default one.
    pub fn process(&self) -> ProcessBuilder<'_> {
        let own = self.own.as_ref().expect("an output that no process was given has no children");
        own.runtime().process().child_of(own)
    }

    /// Another step, after everyone who waits already.
    pub fn proceed(&mut self) {
        self.status = Status::Continue;
    }

    /// No step until something comes.
    pub fn idle(&mut self) {
        self.status = Status::Idle;
    }

    /// No step until a yield is complete, it is asked to end, or it hears of an exit. Messages wait
    /// meanwhile.
    pub fn blocked(&mut self) {
        self.status = Status::Blocked;
    }

    /// It has ended.
    pub fn done(&mut self) {
        self.status = Status::Done;
    }
}
