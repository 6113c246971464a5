//! Processes on a runtime: what its handles can do with this crate.

use std::{future::Future, sync::Arc, time::Duration};

use kernel::{Handle, StrandWith};

use crate::{
    addr::Addr,
    context::Context,
    core::{self, Core},
    dispatch::Command,
    error::{SendError, SpawnError},
    exit::Outcome,
    faults::FaultPlan,
    inspect::{self, ProcessCounts, ProcessInfo},
    names,
    payload::Payload,
    pid::Pid,
    relay::Receiver,
    shutdown::{self, StopReport},
    signal::Signal,
    spawn::{self, ProcessBuilder},
    system,
};

/// Processes on a runtime: what a [`kernel::Runtime`], a [`kernel::Handle`] and a
/// [`kernel::Simulation`] can do with this crate in scope.
pub trait Processes {
    /// The runtime.
    fn on(&self) -> &Handle;

    /// Spawns a process with all defaults: a mailbox for [`BOUND`](crate::BOUND) messages, no
    /// name, no links.
    ///
    /// # Errors
    /// If the runtime has stopped, or is stopping its processes.
    #[inline]
    fn spawn_process<M, F, Fut>(&self, start: F) -> Result<Addr<M>, SpawnError>
    where
        M: Send + 'static,
        F: FnOnce(Context<M>) -> Fut + Send + 'static,
        Fut: Future<Output: Outcome> + Send + 'static,
    {
        spawn::spawn_plain(self.on(), start)
    }

    /// As [`spawn_process`](Processes::spawn_process), for a process whose address nobody needs: it costs
    /// less than to drop one. By its pid it can be found, cancelled and killed.
    ///
    /// ```
    /// use process::{Context, Processes};
    ///
    /// let runtime = kernel::Runtime::new()?;
    /// let pid = runtime.spawn_pid(|ctx: Context<()>| async move { ctx.cancelled().await })?;
    /// assert!(runtime.cancel_process(pid));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`spawn_process`](Processes::spawn_process).
    #[inline]
    fn spawn_pid<M, F, Fut>(&self, start: F) -> Result<Pid, SpawnError>
    where
        M: Send + 'static,
        F: FnOnce(Context<M>) -> Fut + Send + 'static,
        Fut: Future<Output: Outcome> + Send + 'static,
    {
        spawn::spawn_pid(self.on(), start)
    }

    /// Makes a process that is not all defaults.
    fn process(&self) -> ProcessBuilder<'_> {
        ProcessBuilder::new(self.on())
    }

    /// The address behind a pid. `None` if there is no such process, or its messages are of another
    /// type.
    fn find<M: Send + 'static>(&self, pid: Pid) -> Option<Addr<M>> {
        let typed = system::of(self.on()).table.with(pid, core::typed);
        typed.flatten().map(Addr)
    }

    /// The process with this name.
    fn named(&self, name: &str) -> Option<Pid> {
        names::find(system::of(self.on()), name)
    }

    /// The address behind a name, as [`find`](Processes::find) gives it for a pid.
    fn find_named<M: Send + 'static>(&self, name: &str) -> Option<Addr<M>> {
        self.find(self.named(name)?)
    }

    /// The processes in this group, in no particular order.
    fn group(&self, group: &str) -> Vec<Pid> {
        names::members(system::of(self.on()), group)
    }

    /// Sends a message to a process by its pid. Through an [`Addr`] it costs less.
    ///
    /// # Errors
    /// As for [`Addr::send`]; [`SendError::Unknown`] if there is no such process, or it takes no
    /// such messages.
    fn send_to<M: Send + 'static>(&self, pid: Pid, message: M) -> Result<(), SendError<M>> {
        match self.find(pid) {
            Some(addr) => addr.send(message),
            None => Err(SendError::Unknown(message)),
        }
    }

    /// Sends a message to the process with this name.
    ///
    /// # Errors
    /// As for [`send_to`](Processes::send_to).
    fn send_to_named<M: Send + 'static>(&self, name: &str, message: M) -> Result<(), SendError<M>> {
        match self.named(name) {
            Some(pid) => self.send_to(pid, message),
            None => Err(SendError::Unknown(message)),
        }
    }

    /// Sends a payload to whoever takes messages for this pid: a process of this runtime, or a
    /// [`Receiver`].
    ///
    /// # Errors
    /// As for [`send_to`](Processes::send_to), if nobody takes it.
    fn relay(&self, pid: Pid, message: Payload) -> Result<(), SendError<Payload>> {
        match self.send_to(pid, message) {
            Err(SendError::Unknown(message)) => system::of(self.on()).relays.relay(pid, message),
            result => result,
        }
    }

    /// From now on `receiver` is asked about messages for pids that are not of this runtime.
    fn add_receiver(&self, receiver: Arc<dyn Receiver>) {
        system::of(self.on()).relays.add(receiver);
    }

    /// Asks a process to end, as [`Addr::cancel`]. False: there is no such process.
    fn cancel_process(&self, pid: Pid) -> bool {
        let cancel = |process: &StrandWith<Core>| core::signal(process, Signal::Cancel);
        system::of(self.on()).table.with(pid, cancel).is_some()
    }

    /// Ends a process without asking, as [`Addr::kill`]. False: there is no such process.
    fn kill_process(&self, pid: Pid) -> bool {
        let kill = |process: &StrandWith<Core>| process.strand().abort();
        system::of(self.on()).table.with(pid, kill).is_some()
    }

    /// What is known of each process.
    fn processes(&self) -> Vec<ProcessInfo> {
        inspect::all(self.on())
    }

    /// How many there are, by state, and how many messages wait. It looks at each, and costs far less
    /// than [`processes`](Processes::processes).
    fn process_counts(&self) -> ProcessCounts {
        inspect::counts(self.on())
    }

    /// What is known of a process.
    fn process_info(&self, pid: Pid) -> Option<ProcessInfo> {
        system::of(self.on()).table.with(pid, inspect::info)
    }

    /// Registers a handler for commands of this name, which [`Process`](crate::Process)es yield.
    /// It is called in the turn of the process and must not block: it completes the command now or
    /// has somebody do it later. If it panics, the command fails with the text.
    ///
    /// The command [`SLEEP`](crate::SLEEP) is built in: a handler of that name is never called.
    fn handle_command<H>(&self, name: &str, handler: H)
    where
        H: Fn(Command) + Send + Sync + 'static,
    {
        system::of(self.on()).dispatcher.add(name, handler);
    }

    /// Registers a handler that may block. It runs on threads of its own, off the workers; in a
    /// simulation, in a turn of its own. All such handlers of a runtime have 64 threads at most: what
    /// comes while each is taken waits for one. If it panics, the command fails with the text. As for
    /// [`handle_command`](Processes::handle_command), none is called for `sleep`.
    fn handle_blocking<H>(&self, name: &str, handler: H)
    where
        H: Fn(Payload) -> Result<Payload, String> + Send + Sync + 'static,
    {
        system::of(self.on()).dispatcher.add_blocking(self.on(), name, handler);
    }

    /// Asks all processes to end, waits for `timeout` at most (see
    /// [`STOP_TIMEOUT`](crate::STOP_TIMEOUT)), then kills those that are left, and says how many
    /// did what. Those that are still in a turn then get one more second to end it; after that they
    /// are counted as [`left`](StopReport::left). No process is spawned from now on.
    ///
    /// On an ordinary thread, wait for it with [`block_on`](crate::block_on).
    ///
    /// ```
    /// use process::{Context, Processes, STOP_TIMEOUT, block_on};
    ///
    /// let runtime = kernel::Runtime::new()?;
    /// for _ in 0..3 {
    ///     runtime.spawn_process(|mut ctx: Context<()>| async move {
    ///         while ctx.receive().await.is_some() {}
    ///     })?;
    /// }
    /// let report = block_on(runtime.stop_processes(STOP_TIMEOUT));
    /// assert_eq!(report.orderly, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn stop_processes(
        &self,
        timeout: Duration,
    ) -> impl Future<Output = StopReport> + Send + 'static {
        shutdown::stop(self.on().clone(), timeout)
    }

    /// In a simulation: lets happen what goes wrong in the world, from now on.
    ///
    /// # Panics
    /// On a runtime that is not simulated.
    fn inject(&self, plan: FaultPlan) {
        crate::faults::inject(self.on(), plan);
    }
}

impl Processes for Handle {
    fn on(&self) -> &Handle {
        self
    }
}
