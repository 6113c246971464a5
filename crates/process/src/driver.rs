//! How a [`Process`] is run: its events are gathered, its commands dispatched, its end is seen to.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    future::poll_fn,
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    task::Poll,
    time::Duration,
};

use kernel::Timer;

use crate::{
    addr::Addr,
    context::Context,
    core::{self, BLOCKED},
    dispatch::{self, Command, SLEEP},
    ending,
    error::SpawnError,
    event::Event,
    exit::ExitReason,
    monitor::MonitorId,
    output::{Status, StepOutput, Yield},
    payload::Payload,
    pid::Pid,
    receive,
    signal::{Signal, YieldId},
    spawn::ProcessBuilder,
    step::{InitContext, Process},
    system,
};

/// So many events a step gets at most.
const EVENTS_MAX: usize = 64;

/// The serial of yields that were refused, which have never been open. The first other one is 1.
const REFUSED: u64 = 0;

impl ProcessBuilder<'_> {
    /// Spawns a [`Process`], which begins with the entry `method`.
    ///
    /// # Errors
    /// As for [`spawn`](ProcessBuilder::spawn). What `init` refuses, an unknown method for one,
    /// ends the process: see [`Addr::exited`].
    pub fn start<P: Process>(
        mut self,
        process: P,
        method: impl Into<String>,
        input: impl Into<Payload>,
    ) -> Result<Addr<Payload>, SpawnError> {
        let (method, input) = (method.into(), input.into());
        let (values, deadline) = self.take_context();
        self.spawn(move |ctx| async move {
            let mut driver = Driver::new(ctx, process, deadline);
            driver.run(values, deadline, &method, input).await
        })
    }
}

/// Runs a [`Process`] as this process, with no values and no deadline.
pub(crate) async fn drive<P: Process>(
    ctx: Context<Payload>,
    process: P,
    method: String,
    input: Payload,
) -> ExitReason {
    let mut driver = Driver::new(ctx, process, None);
    driver.run(BTreeMap::new(), None, &method, input).await
}

/// A process with its open yields. Dropping it closes the process, whatever happened.
struct Driver<P: Process> {
    ctx: Context<Payload>,
    process: P,
    closed: bool,
    /// The yields that are not complete, by their tags, with their timer if they have one.
    open: HashMap<u64, (YieldId, Option<Timer>)>,
    /// Whom it monitors, until it has heard of the exit.
    monitors: BTreeSet<(Pid, MonitorId)>,
    /// How many yields there were.
    yields: u64,
    /// Asks it to end at its deadline.
    _deadline: Option<Timer>,
}

impl<P: Process> Driver<P> {
    fn new(ctx: Context<Payload>, process: P, deadline: Option<Duration>) -> Driver<P> {
        let timer = deadline.and_then(|deadline| {
            let own = ctx.untyped();
            let after = deadline.saturating_sub(ctx.runtime().now());
            ctx.runtime().call_after(after, move || core::signal(&own, Signal::Cancel)).ok()
        });
        Driver {
            ctx,
            process,
            closed: false,
            open: HashMap::new(),
            monitors: BTreeSet::new(),
            yields: 0,
            _deadline: timer,
        }
    }

    async fn run(
        &mut self,
        values: BTreeMap<String, Payload>,
        deadline: Option<Duration>,
        method: &str,
        input: Payload,
    ) -> ExitReason {
        let context = InitContext {
            pid: self.ctx.pid(),
            parent: self.ctx.parent(),
            deadline,
            values,
            runtime: self.ctx.runtime().clone(),
            own: self.ctx.untyped(),
        };
        if let Err(error) = self.process.init(&context, method, input) {
            return self.close(ExitReason::error(error));
        }
        let (mut events, mut out) = (Vec::new(), StepOutput::default());
        loop {
            out.status = Status::default();
            // It may have been taken out.
            out.own.get_or_insert_with(|| context.own.clone());
            let stepped = self.process.step(&mut events, &mut out);
            events.clear();
            if let Err(error) = stepped {
                return self.close(ExitReason::error(error));
            }
            for command in mem::take(&mut out.yields) {
                self.dispatch(command);
            }
            if self.ctx.runtime().turn_expired() && out.status != Status::Done {
                kernel::yield_now().await;
            }
            match out.status {
                Status::Done => return self.close(ExitReason::Normal),
                Status::Continue => {
                    kernel::yield_now().await;
                    self.gather(&mut events, true);
                }
                Status::Idle => self.wait(&mut events, true).await,
                Status::Blocked => {
                    self.ctx.core().set(BLOCKED, true);
                    self.wait(&mut events, false).await;
                    self.ctx.core().set(BLOCKED, false);
                }
            }
        }
    }

    /// Waits until there is something for the next step.
    async fn wait(&mut self, events: &mut Vec<Event<Payload>>, messages: bool) {
        poll_fn(|_| {
            self.gather(events, messages);
            // A message, a signal or a completion brings the next turn.
            if events.is_empty() { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }

    /// Takes what has come: news that is not behind messages, then messages if they are wanted.
    fn gather(&mut self, events: &mut Vec<Event<Payload>>, messages: bool) {
        while events.len() < EVENTS_MAX {
            match receive::next_news(&self.ctx, messages) {
                // What is not wanted any more.
                Some(Signal::Completed { of, .. }) if !self.is_over(of) => {}
                Some(Signal::Down { pid, monitor, .. })
                    if !self.monitors.remove(&(pid, monitor)) => {}
                Some(news) => events.push(news.into()),
                None => match messages.then(|| self.ctx.try_receive()).flatten() {
                    Some(message) => events.push(Event::Message(message)),
                    None => break,
                },
            }
        }
    }

    /// A yield is complete. False: it was revoked, and its tag may have another by now.
    fn is_over(&mut self, of: YieldId) -> bool {
        if of.serial == REFUSED {
            return true;
        }
        let ours = self.open.get(&of.tag).is_some_and(|(open, _)| *open == of);
        if ours {
            self.open.remove(&of.tag);
        }
        ours
    }

    fn dispatch(&mut self, command: Yield) {
        let own = self.ctx.untyped();
        let (tag, name, input) = match command {
            Yield::Revoke { tag } => {
                self.open.remove(&tag);
                return;
            }
            Yield::Monitor(pid) => {
                // Its step knows it by the pid.
                self.monitors.insert((pid, self.ctx.monitor(pid)));
                return;
            }
            Yield::Demonitor(pid) => return self.demonitor(pid),
            Yield::Join(group) => return self.ctx.join_group(&group),
            Yield::Leave(group) => {
                self.ctx.leave_group(&group);
                return;
            }
            Yield::Link(pid) => return self.ctx.link(pid),
            Yield::Unlink(pid) => return self.ctx.unlink(pid),
            Yield::Timer { tag, after } => (tag, SLEEP.to_owned(), nanos_of(after)),
            Yield::Command { tag, name, input } => (tag, name, input),
        };
        if self.open.contains_key(&tag) {
            let text = format!("the tag {tag} belongs to a yield that is not complete");
            let of = YieldId { tag, serial: REFUSED };
            return core::signal(&own, Signal::Completed { of, result: Err(text) });
        }
        self.yields += 1;
        let of = YieldId { tag, serial: self.yields };
        if name == SLEEP {
            let after = input.as_int().and_then(|nanos| u64::try_from(nanos).ok());
            let Some(after) = after else {
                self.open.insert(tag, (of, None));
                let text = "sleep wants a whole number of nanoseconds".to_owned();
                return core::signal(&own, Signal::Completed { of, result: Err(text) });
            };
            let timer = dispatch::timer(&own, of, Duration::from_nanos(after));
            self.open.insert(tag, (of, timer));
            return;
        }
        self.open.insert(tag, (of, None));
        let command = Command::new(own, of, &name, input);
        if let Err(text) = system::of(self.ctx.runtime()).dispatcher.dispatch(command) {
            // Whatever the command has said of itself is not its completion, this is.
            self.yields += 1;
            let of = YieldId { tag, serial: self.yields };
            self.open.insert(tag, (of, None));
            core::signal(&self.ctx.untyped(), Signal::Completed { of, result: Err(text) });
        }
    }

    /// Ends all monitors of a process. What they have told already is not wanted any more.
    fn demonitor(&mut self, pid: Pid) {
        let all = (pid, MonitorId(0))..=(pid, MonitorId(u64::MAX));
        for (pid, monitor) in self.monitors.extract_if(all, |_| true) {
            self.ctx.demonitor(pid, monitor);
        }
    }

    /// Closes the process, once. If that panics, a good end is none, and the kernel is told as of any
    /// panic; else the first reason stays.
    fn close(&mut self, reason: ExitReason) -> ExitReason {
        self.closed = true;
        match catch_unwind(AssertUnwindSafe(|| self.process.close())) {
            Err(payload) if reason.is_orderly() => resume_unwind(payload),
            Err(payload) => {
                ending::contain(|| drop(payload));
                reason
            }
            Ok(()) => reason,
        }
    }
}

impl<P: Process> Drop for Driver<P> {
    fn drop(&mut self) {
        if !self.closed {
            self.close(ExitReason::Killed);
        }
    }
}

fn nanos_of(duration: Duration) -> Payload {
    Payload::Int(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}
