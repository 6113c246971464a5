//! What a process may do: its own side of its address.

use std::{fmt, future::poll_fn, mem::ManuallyDrop, task::Waker, time::Duration};

use kernel::{Handle, Sleep, StrandWith, Timeout};

use crate::{
    addr::Addr,
    cancelled,
    core::{self, CANCELLED, Core, Front, TRAPS},
    exit::ExitReason,
    link,
    monitor::{self, MonitorId, Watcher},
    names,
    pid::Pid,
    processes::Processes,
    receive::{EventFuture, Receive, ReceiveIf},
    signal::Signal,
    spawn::ProcessBuilder,
    system,
};

/// Who has given away his address is often asked for it again: to count several at once costs what one does.
const SPARES: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 15 };

/// The side of a process that the process itself has: it receives, spawns, links and monitors.
///
/// It belongs to the process it was given to, and works inside that process only: receiving
/// elsewhere panics.
pub struct Context<M> {
    pub(crate) own: ManuallyDrop<StrandWith<Front<M>>>,
}

impl<M> Drop for Context<M> {
    #[inline]
    fn drop(&mut self) {
        if self.own.own_turn().is_some() {
            // Given back with the end of the process: one step less.
            self.own.core.leave_context();
        } else {
            // SAFETY: it is not used any more.
            unsafe { ManuallyDrop::drop(&mut self.own) };
        }
    }
}

impl<M: Send + 'static> Context<M> {
    pub(crate) fn new(own: StrandWith<Front<M>>) -> Context<M> {
        Context { own: ManuallyDrop::new(own) }
    }

    pub(crate) fn core(&self) -> &Core {
        &self.own.core
    }

    pub(crate) fn untyped(&self) -> StrandWith<Core> {
        core::untyped(&self.own)
    }

    /// The process's own pid.
    pub fn pid(&self) -> Pid {
        self.core().pid()
    }

    /// The process's own address.
    #[inline]
    pub fn addr(&self) -> Addr<M> {
        if self.own.own_turn().is_none() {
            return Addr(StrandWith::clone(&self.own));
        }
        if !self.core().take_spare() {
            self.count_spares();
        }
        // SAFETY: it was counted, and is not spare any more.
        Addr(unsafe { StrandWith::from_raw(self.own.as_raw()) })
    }

    /// Counts one handle and some more, which go with the end of the process if nobody asks for them.
    #[cold]
    fn count_spares(&self) {
        self.own.retain_many(1 + SPARES);
        self.core().set_spares(SPARES);
    }

    /// The process that spawned this one, if one did.
    pub fn parent(&self) -> Option<Pid> {
        self.core().parent()
    }

    /// The runtime it runs on.
    pub fn runtime(&self) -> &Handle {
        self.own.runtime()
    }

    /// The next message, in the order of their arrival. `None` once the process has been asked to
    /// end; [`try_receive`](Context::try_receive) still gives what waits then.
    ///
    /// A process that always has mail lets others run when its quantum is over.
    #[inline]
    pub fn receive(&mut self) -> Receive<'_, M> {
        Receive::new(self)
    }

    /// The next message if there is one.
    pub fn try_receive(&mut self) -> Option<M> {
        Receive::new(self).take()
    }

    /// The next message that `wanted` says yes to. The others stay in the mailbox, in order.
    ///
    /// ```
    /// use process::{Context, Processes};
    ///
    /// let runtime = kernel::Runtime::new()?;
    /// let (tell, told) = std::sync::mpsc::channel();
    /// let picky = runtime.spawn_process(move |mut ctx: Context<u32>| async move {
    ///     let even = ctx.receive_if(|number| number % 2 == 0).await;
    ///     let first = ctx.receive().await;
    ///     tell.send((even, first)).unwrap();
    /// })?;
    /// picky.send_many([1, 3, 4])?;
    /// assert_eq!(told.recv()?, (Some(4), Some(1)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn receive_if<W: FnMut(&M) -> bool>(&mut self, wanted: W) -> ReceiveIf<'_, M, W> {
        ReceiveIf::new(self, wanted)
    }

    /// The next message, or an error if none comes in time.
    pub fn receive_within(&mut self, time: Duration) -> Timeout<Receive<'_, M>> {
        let runtime = self.runtime().clone();
        runtime.timeout(time, self.receive())
    }

    /// Whatever comes next. A request to end comes before all messages; news of an exit comes behind
    /// those that were there when it was heard, so behind all that the one who exited had sent.
    pub fn event(&mut self) -> EventFuture<'_, M> {
        EventFuture::new(self)
    }

    /// Waits. Messages that come meanwhile stay in the mailbox.
    pub fn sleep(&self, time: Duration) -> Sleep {
        self.runtime().sleep(time)
    }

    /// Whether the process has been asked to end.
    pub fn is_cancelled(&self) -> bool {
        self.core().has(CANCELLED)
    }

    /// Waits until the process is asked to end. [`receive`](Context::receive) tells by itself; this is
    /// for beside something that does not, such as a call or a sleep.
    ///
    /// ```
    /// use std::{future::{Future, pending, poll_fn}, pin::pin};
    /// use process::{Context, Processes, block_on};
    ///
    /// let runtime = kernel::Runtime::new()?;
    /// let process = runtime.spawn_process(|ctx: Context<()>| async move {
    ///     let (mut work, mut cancelled) = (pin!(pending::<()>()), pin!(ctx.cancelled()));
    ///     poll_fn(|cx| match work.as_mut().poll(cx).is_ready() {
    ///         true => std::task::Poll::Ready(()),
    ///         false => cancelled.as_mut().poll(cx),
    ///     })
    ///     .await;
    /// })?;
    /// process.cancel();
    /// block_on(process.exited());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn cancelled(&self) {
        let mut wait = cancelled::Wait::new(self.core());
        poll_fn(|task| {
            let foreign = |own: &Waker| !own.will_wake(task.waker());
            wait.poll(self.own.with_waker(foreign).then(|| task.waker()))
        })
        .await;
    }

    /// From now on, exits of links come as [`Event::Exit`](crate::Event::Exit), and do not end
    /// this process.
    pub fn trap_exits(&mut self, on: bool) {
        self.core().set(TRAPS, on);
    }

    /// Ties this process to another: if one exits otherwise than normally, so does the other,
    /// unless it traps exits. A process that is not there counts as exiting now, with
    /// [`ExitReason::NoProcess`].
    pub fn link(&self, pid: Pid) {
        let own = self.untyped();
        match system::of(self.runtime()).table.find(pid) {
            Some(other) => link::link(&own, &other),
            None => link::link_to_nobody(&own, pid),
        }
    }

    /// Unties this process from another. From now on it hears nothing of that one's exit, also if
    /// that has exited already.
    pub fn unlink(&self, pid: Pid) {
        link::unlink(&self.untyped(), pid);
    }

    /// Asks to be told when a process exits, by [`Event::Down`](crate::Event::Down). One that is
    /// not there is told of at once, with [`ExitReason::NoProcess`].
    pub fn monitor(&self, pid: Pid) -> MonitorId {
        let system = system::of(self.runtime());
        let own = self.untyped();
        match system.table.find(pid) {
            Some(other) => monitor::watch(&other, Watcher::Process(own)),
            None => {
                let monitor = system.next_monitor();
                let reason = ExitReason::NoProcess;
                core::signal(&own, Signal::Down { monitor, pid, reason });
                monitor
            }
        }
    }

    /// Ends a monitor of `pid`. False: its process has exited, and the news is on its way or was
    /// read.
    pub fn demonitor(&self, pid: Pid, monitor: MonitorId) -> bool {
        let other = system::of(self.runtime()).table.find(pid);
        other.is_some_and(|other| monitor::unwatch(&other, monitor))
    }

    /// Joins a group, in which [`Processes::group`] finds it until it leaves or exits.
    pub fn join_group(&self, group: &str) {
        names::join(&self.untyped(), group);
    }

    /// Leaves a group. False: it was not in it.
    pub fn leave_group(&self, group: &str) -> bool {
        names::leave(&self.untyped(), group)
    }

    /// Spawns a process that is linked to this one. See [`process`](Context::process) for more.
    ///
    /// # Errors
    /// As for [`ProcessBuilder::spawn`].
    pub fn spawn<N, F, Fut>(&self, start: F) -> Result<Addr<N>, crate::SpawnError>
    where
        N: Send + 'static,
        F: FnOnce(Context<N>) -> Fut + Send + 'static,
        Fut: Future<Output: crate::Outcome> + Send + 'static,
    {
        self.process().spawn(start)
    }

    /// Makes a process whose parent this is, linked to it unless it is made
    /// [`detached`](ProcessBuilder::detached).
    pub fn process(&self) -> ProcessBuilder<'_> {
        self.runtime().process().child_of(&self.untyped())
    }
}

impl<M> fmt::Debug for Context<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.own.core.pid())
    }
}
