//! The address of a process: whoever has it may send.

use std::{fmt, time::Duration};

use kernel::{ScheduleError, StrandWith, Timer};

use crate::{
    core::{self, Core, Front},
    error::{SendError, SendManyError},
    exit::ExitReason,
    faults,
    inspect::{self, ProcessState},
    mailbox::{
        links::Links,
        stack::{Pushed, Refused},
    },
    pid::Pid,
    signal::Signal,
};

/// So many messages go as one chain at most.
const CHAIN_MAX: u32 = 512;

/// The address of a process that takes messages of type `M`. Cheap to clone.
///
/// Messages from one sender to one process arrive in the order they were sent. A message that can
/// not be sent comes back with the reason. One that was sent is dropped if the process exits before it
/// reads it: a [`call`](Addr::call) ends with [`NoReply`](crate::CallError::NoReply) then, and who must
/// know of others [monitors](crate::Context::monitor) the process, or has them answered.
///
/// ```
/// use process::{Context, Processes, SendError};
///
/// let runtime = kernel::Runtime::new()?;
/// let (tell, told) = std::sync::mpsc::channel();
/// let adder = runtime.spawn_process(move |mut ctx: Context<u32>| async move {
///     let mut sum = 0;
///     while sum < 6 {
///         sum += ctx.receive().await.unwrap_or(6);
///     }
///     tell.send(sum).unwrap();
/// })?;
/// for number in [1, 2, 3] {
///     adder.send(number)?;
/// }
/// assert_eq!(told.recv()?, 6);
/// while adder.is_alive() {}
/// assert_eq!(adder.send(4), Err(SendError::Exited(4)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Addr<M>(pub(crate) StrandWith<Front<M>>);

impl<M: Send + 'static> Addr<M> {
    /// The pid behind the address.
    #[inline]
    pub fn pid(&self) -> Pid {
        self.0.core.pid()
    }

    /// Whether the process has not exited. It may exit right after this said yes.
    pub fn is_alive(&self) -> bool {
        !self.0.mail().is_closed()
    }

    /// What the process is doing. By its pid one that has exited is not found any more; here it is
    /// [`Complete`](ProcessState::Complete).
    ///
    /// ```
    /// use process::{Context, ProcessState, Processes, block_on};
    ///
    /// let runtime = kernel::Runtime::new()?;
    /// let brief = runtime.spawn_process(|_: Context<()>| async {})?;
    /// block_on(brief.exited());
    /// assert_eq!(brief.state(), ProcessState::Complete);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn state(&self) -> ProcessState {
        if self.is_alive() { inspect::state_of(&self.untyped()) } else { ProcessState::Complete }
    }

    /// How many messages wait.
    pub fn mailbox_len(&self) -> usize {
        self.0.mail().len() as usize
    }

    /// Why the process exited, if it has.
    pub fn exit_reason(&self) -> Option<ExitReason> {
        if self.is_alive() { None } else { self.0.core.exit_reason() }
    }

    /// Sends a message, and does not wait.
    ///
    /// # Errors
    /// The message, if the mailbox is full (unless it drops the oldest then), the process has
    /// exited, or the runtime has been shut down.
    #[inline]
    pub fn send(&self, message: M) -> Result<(), SendError<M>> {
        if self.0.mail().is_plain()
            && !self.0.mail().is_full()
            && !faults::may_delay(self.0.runtime())
        {
            // SAFETY: in `wake_with`.
            let left = self.0.wake_with(message, |front, m| unsafe { front.mail().leave(m) });
            return match left {
                Ok(()) => Ok(()),
                Err(message) => self.push(message),
            };
        }
        self.push(message)
    }

    /// Sends a message, and lets the process run next on this worker, within what is left of the
    /// quantum, when the sender's turn ends: at its next `.await` that has to wait.
    ///
    /// If the process runs elsewhere, or this is no turn of a process on the same runtime, it is
    /// an ordinary [`send`](Addr::send).
    ///
    /// # Errors
    /// As for [`send`](Addr::send).
    #[inline]
    pub fn hand_off(&self, message: M) -> Result<(), SendError<M>> {
        let message = match self.leave_with_held(message) {
            Ok(result) => return result,
            Err(message) => message,
        };
        match self.0.hand_off_with(message, Front::is_settled, leave) {
            Ok(()) => Ok(()),
            Err(message) => self.send(message),
        }
    }

    /// As [`hand_off`](Addr::hand_off), by an address that is used up, which mostly costs less than to drop
    /// it afterwards: for an answer, after which the sender ends. It is used up by an error too: who would
    /// try again keeps another one.
    ///
    /// ```
    /// use process::{Context, Processes, block_on};
    ///
    /// let runtime = kernel::Runtime::new()?;
    /// let sum = runtime.spawn_process(|mut ctx: Context<u32>| async move {
    ///     for number in 1..=10 {
    ///         let parent = ctx.addr();
    ///         let child = move |_: Context<()>| async move {
    ///             parent.hand_off_last(number * number)
    ///         };
    ///         ctx.runtime().spawn_pid(child).unwrap();
    ///     }
    ///     let mut sum = 0;
    ///     for _ in 1..=10 {
    ///         sum += ctx.receive().await.unwrap();
    ///     }
    ///     assert_eq!(sum, 385);
    /// })?;
    /// assert!(block_on(sum.exited()).is_normal());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`send`](Addr::send).
    #[inline]
    pub fn hand_off_last(self, message: M) -> Result<(), SendError<M>> {
        let message = match self.leave_with_held(message) {
            Ok(result) => return result,
            Err(message) => message,
        };
        match self.0.hand_off_last_with(message, Front::is_settled, leave) {
            Ok(()) => Ok(()),
            Err((own, message)) => Addr(own).send(message),
        }
    }

    /// Sends a message to a process that this turn has handed off to already, or one that can not be
    /// handed off.
    ///
    /// # Errors
    /// The message, if it is neither.
    #[inline]
    fn leave_with_held(&self, message: M) -> Result<Result<(), SendError<M>>, M> {
        if !self.0.mail().is_plain()
            || self.0.mail().is_full()
            || faults::may_delay(self.0.runtime())
        {
            return Ok(self.push(message));
        }
        if !self.0.is_held() {
            return Err(message);
        }
        // SAFETY: until our turn ends, the next one of the process is ours.
        unsafe { self.0.mail().leave_more(message) };
        Ok(Ok(()))
    }

    /// Sends many messages at once, in order, which costs less than one by one.
    ///
    /// # Errors
    /// How many were sent, why the next was not, and what is left.
    pub fn send_many(
        &self,
        messages: impl IntoIterator<Item = M>,
    ) -> Result<usize, SendManyError<M>> {
        let mut messages = messages.into_iter();
        let (mut sent, mut back) = (0, Vec::new());
        while back.is_empty() && self.0.mail().is_plain() && !self.0.runtime().is_simulated() {
            match self.send_chain(&mut messages) {
                Ok(0) => break,
                Ok(count) => sent += count,
                Err(refused) => back = refused,
            }
        }
        let mut one_by_one = back.into_iter().chain(messages);
        while let Some(message) = one_by_one.next() {
            if let Err(error) = self.send(message) {
                return Err(SendManyError { sent, error, rest: one_by_one.collect() });
            }
            sent += 1;
        }
        Ok(sent)
    }

    /// Sends as many as there is room for, as one chain. Breaks off with 0 where they are to be sent
    /// one by one, so that a refusal has its reason.
    fn send_chain(&self, messages: &mut impl Iterator<Item = M>) -> Result<usize, Vec<M>> {
        let room = self.0.mail().free().min(CHAIN_MAX);
        if room < 2 || self.0.runtime().refuses() {
            return Ok(0);
        }
        let Some(first) = messages.next() else { return Ok(0) };
        // The iterator is the caller's: if it panics, what it gave before is dropped.
        let mut links = Links::of(first);
        messages.take(room as usize - 1).for_each(|message| links.push(message));
        let count = links.count();
        match links.push_on(&self.0.mail()) {
            Ok(pushed) => {
                self.wake_if(pushed);
                Ok(count as usize)
            }
            Err(refused) => Err(refused.into_messages()),
        }
    }

    /// A message that is not simply left in the slot.
    #[inline(never)]
    fn push(&self, message: M) -> Result<(), SendError<M>> {
        if self.0.runtime().refuses() {
            return Err(SendError::Stopped(message));
        }
        if faults::may_delay(self.0.runtime()) {
            return faults::send(self, message);
        }
        self.push_now(message)
    }

    pub(crate) fn push_now(&self, message: M) -> Result<(), SendError<M>> {
        match self.0.mail().push(message) {
            Ok(pushed) => {
                self.wake_if(pushed);
                Ok(())
            }
            Err((Refused::Full, message)) => Err(SendError::Full(message)),
            Err((Refused::Closed, message)) => Err(SendError::Exited(message)),
        }
    }

    /// A message that was sent before arrives, whatever the bound says now.
    pub(crate) fn arrive(&self, message: M) {
        if self.0.mail().push_late(message) {
            let _ = self.0.strand().wake();
        }
    }

    #[inline]
    fn wake_if(&self, pushed: Pushed) {
        // In a simulation a wake takes effect at its own time, and can not stand for others.
        if pushed == Pushed::First || self.0.runtime().is_simulated() {
            let _ = self.0.strand().wake();
        }
    }

    /// Sends a message after a time, unless the timer is dropped or cancelled before. A message that
    /// can not be sent then is dropped.
    ///
    /// # Errors
    /// If the runtime has stopped.
    pub fn send_after(&self, after: Duration, message: M) -> Result<Timer, ScheduleError> {
        let to = self.clone();
        self.0.runtime().call_after(after, move || drop(to.send(message)))
    }

    /// Asks the process to end: its `receive` gives `None`, or it gets a
    /// [`Cancel`](crate::Event::Cancel) event. It decides when.
    pub fn cancel(&self) {
        core::signal(&self.untyped(), Signal::Cancel);
    }

    /// Ends the process without asking, after the turn it is in, if any.
    pub fn kill(&self) {
        self.0.strand().abort();
    }

    pub(crate) fn untyped(&self) -> StrandWith<Core> {
        core::untyped(&self.0)
    }
}

/// Leaves a message with a process that was claimed for it: in `hand_off_with`.
#[inline]
fn leave<M: Send>(front: &Front<M>, message: M) {
    // SAFETY: the process was claimed, and its turn has not begun.
    unsafe { front.mail().leave(message) };
}

impl<M> Clone for Addr<M> {
    #[inline]
    fn clone(&self) -> Addr<M> {
        Addr(self.0.clone())
    }
}

impl<M> PartialEq for Addr<M> {
    fn eq(&self, other: &Addr<M>) -> bool {
        self.0 == other.0
    }
}

impl<M> Eq for Addr<M> {}

impl<M> fmt::Debug for Addr<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Addr({})", self.0.core.pid())
    }
}
