//! The supervisor as a process: what it hears, and how it waits.
//!
//! ```text
//!               start              ends               delay is over
//!   Stopped ----------> Running ---------> Ended ---+               +--> Running
//!      ^                   |                        +--> Waiting ---+
//!      +---- terminate ----+                        +--> Done, or forgotten
//! ```
//!
//! One thing happens at a time: a start, a stop, a decision. Meanwhile it goes on to hear what comes
//! ([`Tree::note`]): ends of children are written down, those who look are answered, those who want
//! a change wait, and whatever ends the supervisor is remembered until the step is over.

use std::{
    collections::{HashSet, VecDeque},
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use kernel::Handle;

use crate::{
    context::Context,
    event::Event,
    exit::ExitReason,
    monitor::MonitorId,
    spawn::BOUND,
    supervisor::{
        Strategy,
        backoff::Backoff,
        children::Children,
        handle::{self, Request},
        intensity::Restarts,
    },
};

pub(super) struct Tree {
    pub(super) ctx: Context<Request>,
    pub(super) children: Children,
    pub(super) strategy: Strategy,
    pub(super) backoff: Backoff,
    pub(super) recent: Restarts,
    /// What was asked while something else went on.
    pub(super) later: VecDeque<Request>,
    /// Processes that are no children and are being stopped.
    pub(super) leaving: HashSet<MonitorId>,
    /// Why the supervisor is to end.
    pub(super) end: Option<ExitReason>,
}

impl Tree {
    /// Starts the children, keeps them running, and stops them.
    pub(super) async fn run(mut self) -> ExitReason {
        let Err(reason) = self.supervise().await;
        self.stop_all().await;
        reason
    }

    async fn supervise(&mut self) -> Result<std::convert::Infallible, ExitReason> {
        self.start_all().await?;
        let in_order = self.strategy != Strategy::OneForOne;
        loop {
            self.go_on()?;
            let due = self.children.next_due(in_order);
            if let Some(key) = self.children.next_ended() {
                self.decide(key).await?;
            } else if let Some(request) = self.later.pop_front() {
                self.answer(request).await?;
            } else if let Some((at, key)) = due
                && at <= self.now()
            {
                self.start_again(key).await?;
            } else {
                self.hear(due.map(|(at, _)| at)).await;
            }
        }
    }

    pub(super) fn runtime(&self) -> &Handle {
        self.ctx.runtime()
    }

    pub(super) fn now(&self) -> Duration {
        self.ctx.runtime().now()
    }

    /// An error if the supervisor is to end.
    pub(super) fn go_on(&self) -> Result<(), ExitReason> {
        self.end.clone().map_or(Ok(()), Err)
    }

    /// Waits for something to hear, until a time if there is one. False: that has come.
    pub(super) async fn hear(&mut self, until: Option<Duration>) -> bool {
        match self.hear_during(std::future::pending(), until).await {
            Heard::Something => true,
            Heard::Late => false,
            Heard::Over(never) => never,
        }
    }

    /// Waits for something to hear, the end of `work`, or a time.
    pub(super) async fn hear_during<T>(
        &mut self,
        work: impl Future<Output = T> + Unpin,
        until: Option<Duration>,
    ) -> Heard<T> {
        if until.is_some_and(|until| until <= self.now()) {
            return Heard::Late; // however much there is to hear
        }
        let mut work = pin!(work);
        let mut sleep = until.map(|until| self.runtime().sleep_until(until));
        let ctx = &mut self.ctx;
        let event = poll_fn(|task| {
            if let Poll::Ready(output) = work.as_mut().poll(task) {
                return Poll::Ready(Ok(output));
            }
            if let Poll::Ready(event) = Pin::new(&mut ctx.event()).poll(task) {
                return Poll::Ready(Err(Some(event)));
            }
            match &mut sleep {
                Some(sleep) => Pin::new(sleep).poll(task).map(|()| Err(None)),
                None => Poll::Pending,
            }
        });
        match event.await {
            Ok(output) => Heard::Over(output),
            Err(None) => Heard::Late,
            Err(Some(event)) => {
                self.note(event);
                Heard::Something
            }
        }
    }

    fn note(&mut self, event: Event<Request>) {
        match event {
            Event::Message(Request::Which(reply)) => {
                let _ = reply.send(handle::infos(&self.children)); // or nobody waits any more
            }
            Event::Message(request) if self.later.len() == BOUND => request.refuse(),
            Event::Message(request) => self.later.push_back(request),
            Event::Down { monitor, .. } if self.leaving.remove(&monitor) => {}
            Event::Down { monitor, reason, .. } => {
                let now = self.now();
                self.children.ended(monitor, reason, now);
            }
            Event::Cancel => {
                self.end.get_or_insert(ExitReason::Shutdown);
            }
            // The one that it is linked to above it has gone. Children are heard of by their
            // monitors, and whoever else has linked to it is on its own.
            Event::Exit { pid, reason } if self.ctx.parent() == Some(pid) => {
                let reason = if reason.is_normal() { ExitReason::Shutdown } else { reason };
                self.end.get_or_insert(reason);
            }
            _ => {}
        }
    }
}

/// What came first.
pub(super) enum Heard<T> {
    /// The work is over.
    Over(T),
    /// Something was heard, and noted.
    Something,
    /// The time has come.
    Late,
}
