//! What a call that waits needs to go on: where its answer goes, and which lines it is in.

use std::sync::Arc;

use kernel::Timer;

use crate::{
    abi::Code,
    engine::Answer,
    host::{
        Host,
        memory::{Buffer, Memory},
    },
    id::TaskId,
    object::{channel::Channel, guarded::Guarded, line::Ticket},
    program::registry::Place,
    task::wait::Outcome,
};

/// A call that waits.
#[derive(Debug)]
pub(crate) enum Pending {
    Nothing,
    Yield,
    Sleep(Alarm),
    Await { task: TaskId, place: Place, out: u32 },
    Send { channel: Arc<Channel>, ticket: Ticket },
    Receive { channel: Arc<Channel>, ticket: Ticket, buffer: Buffer },
    Select(Box<Selecting>),
    Lock { mutex: Arc<Guarded>, ticket: Ticket, buffer: Buffer },
}

/// In which lines a select is. Behind a pointer, so that what waits for one thing is small.
#[derive(Debug)]
pub(crate) struct Selecting {
    pub(crate) watched: Vec<(Arc<Channel>, Ticket)>,
    /// What was taken of the bytes in flight for it.
    pub(crate) weight: usize,
    pub(crate) alarm: Option<Alarm>,
}

/// When a wait is over in any case. `None` if the runtime has stopped, which ends its tasks itself.
#[derive(Debug)]
pub(crate) struct Alarm(pub(crate) Option<Timer>);

impl Alarm {
    fn is_over(&self) -> bool {
        self.0.as_ref().is_some_and(Timer::is_over)
    }
}

impl Host {
    /// The task was woken: finishes the call if its wait is over.
    #[inline]
    pub(super) fn resume_pending(&mut self, memory: &mut Memory<'_>) -> Answer {
        if self.yields() {
            self.pending = Pending::Nothing;
            return Answer::Return(0);
        }
        if self.own.wait.is_waiting() && !self.time_is_over() {
            return Answer::Wait;
        }
        let Host { own, pending, .. } = self;
        // The memory is filled where the bytes are, before they are cleared.
        let fill = |outcome: Outcome, bytes: &[u8]| {
            match (&outcome, &*pending) {
                (
                    Outcome::Bytes,
                    Pending::Receive { buffer, .. } | Pending::Lock { buffer, .. },
                ) => buffer.fill(memory, bytes),
                (
                    Outcome::TooSmall(needed),
                    Pending::Receive { buffer, .. } | Pending::Lock { buffer, .. },
                ) => buffer.tell(memory, *needed),
                (Outcome::Value(value), Pending::Await { out, .. }) => {
                    memory.put(*out, value.to_le_bytes());
                }
                _ => {}
            }
            outcome
        };
        // SAFETY: a guest runs in turns of its task only.
        let taken = unsafe { own.wait.take(fill) };
        // If there is none, whoever has claimed the wait is about to deliver it, and to wake us.
        taken.map_or(Answer::Wait, |outcome| self.finish(outcome))
    }

    /// Whether there is a deadline and it has passed. Then the wait is ended here, unless somebody
    /// else just has.
    fn time_is_over(&self) -> bool {
        let alarm = match &self.pending {
            Pending::Sleep(alarm) => alarm,
            Pending::Select(selecting) => match &selecting.alarm {
                Some(alarm) => alarm,
                None => return false,
            },
            _ => return false,
        };
        if alarm.is_over() && self.own.wait.claim_own().is_some() {
            // SAFETY: the claim was ours.
            unsafe { self.own.wait.deliver(Outcome::Code(Code::TimedOut), &[]) };
        }
        !self.own.wait.is_waiting()
    }

    /// The answer to a call whose wait has ended so.
    fn finish(&mut self, outcome: Outcome) -> Answer {
        let pending = std::mem::replace(&mut self.pending, Pending::Nothing);
        // Whoever ends a wait takes the task out of its own line. There are none but in a select, and
        // when it is cancelled.
        let left_behind = matches!(outcome, Outcome::Code(Code::Cancelled));
        if left_behind || matches!(pending, Pending::Select(_)) {
            self.leave_lines(&pending);
        }
        let answer = match (&outcome, &pending) {
            (Outcome::Code(_), Pending::Sleep(_)) => 0,
            (Outcome::Code(code), Pending::Select(_)) => code.negative(),
            (Outcome::Code(code), _) => code.plain(),
            (Outcome::Bytes | Outcome::Value(_), _) => Code::Ok.plain(),
            (Outcome::TooSmall(_), _) => Code::TooSmall.plain(),
            (Outcome::Index(index), _) => (*index).into(),
            (Outcome::Deadlock(_), _) => unreachable!("a doomed task gets no step"),
        };
        match pending {
            Pending::Lock { mutex, .. } if matches!(outcome, Outcome::Bytes) => {
                self.hold(mutex);
            }
            // It will be used again.
            Pending::Send { channel, .. } | Pending::Receive { channel, .. } => {
                self.recent.put(channel);
            }
            _ => {}
        }
        Answer::Return(answer)
    }

    /// The task ends while it may be waiting.
    pub(super) fn give_up(&mut self) {
        let pending = std::mem::replace(&mut self.pending, Pending::Nothing);
        if matches!(pending, Pending::Nothing | Pending::Yield) {
            return;
        }
        // It goes on, to end. If it is not counted yet, for its timer or by whoever has claimed it, it
        // is from here on.
        self.shared.commons.counts.claim(|| self.own.wait.claim_own());
        self.leave_lines(&pending);
        if let Pending::Lock { mutex, .. } = pending {
            // It may be ours without our knowing.
            self.hold(mutex);
        }
    }

    fn leave_lines(&self, pending: &Pending) {
        match pending {
            Pending::Nothing | Pending::Yield | Pending::Sleep(_) => {}
            Pending::Await { task, place, .. } => self.shared.registry.leave(*task, *place),
            Pending::Send { channel, ticket } => {
                channel.leave_senders(&self.shared.commons, *ticket);
            }
            Pending::Receive { channel, ticket, .. } => channel.leave_receivers(*ticket),
            Pending::Select(selecting) => {
                for (channel, ticket) in &selecting.watched {
                    channel.leave_watchers(*ticket);
                }
                self.own.forget_channels();
                self.shared.commons.in_flight.give_back(selecting.weight);
            }
            Pending::Lock { mutex, ticket, .. } => mutex.leave(*ticket),
        }
    }
}
