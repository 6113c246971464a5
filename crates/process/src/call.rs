//! Request and reply.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use kernel::Sleep;

use crate::{
    addr::Addr,
    error::{CallError, SendError},
    reply::{self, Reply, Seen, Waiting},
    room::Room,
};

/// A call on its way. From [`Addr::call`]; it is sent when it is first polled.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Call<'a, M, R: Send, F> {
    addr: &'a Addr<M>,
    make: Option<F>,
    waiting: Option<Waiting<R>>,
    limit: Option<Duration>,
    sleep: Option<Sleep>,
}

impl<M: Send + 'static> Addr<M> {
    /// Asks something and waits for the answer: `make` puts the right to answer into a message.
    ///
    /// The call ends when the reply comes, when it is dropped, or when the process exits; see
    /// [`within`](Call::within) for a limit. It is a hand-off: where both share a worker, neither
    /// the request nor the reply touches a queue.
    ///
    /// ```
    /// use process::{Context, Processes, Reply};
    ///
    /// enum Ask {
    ///     Double(u32, Reply<u32>),
    /// }
    ///
    /// let runtime = kernel::Runtime::new()?;
    /// let server = runtime.spawn_process(|mut ctx: Context<Ask>| async move {
    ///     while let Some(Ask::Double(number, reply)) = ctx.receive().await {
    ///         let _ = reply.send(2 * number); // an error if nobody waits any more
    ///     }
    /// })?;
    /// let mut asked = runtime.spawn(async move {
    ///     server.call(|reply| Ask::Double(21, reply)).await
    /// })?;
    /// assert_eq!(asked.join()?, Ok(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn call<R, F>(&self, make: F) -> Call<'_, M, R, F>
    where
        R: Send,
        F: FnOnce(Reply<R>) -> M,
    {
        Call { addr: self, make: Some(make), waiting: None, limit: None, sleep: None }
    }
}

impl<'a, M, R: Send, F> Call<'a, M, R, F> {
    /// Waits so long at most. A reply that comes later is refused.
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// If the mailbox is full, waits until there is room, as [`Addr::send_wait`] does; without this the
    /// call ends with [`CallError::Full`]. A limit counts from the beginning, so it is for both waits.
    ///
    /// ```
    /// use process::{Context, MailboxKind, Processes, Reply};
    ///
    /// let runtime = kernel::Runtime::new()?;
    /// let small = runtime.process().mailbox(MailboxKind::Bounded(1));
    /// let echo = small.spawn(|mut ctx: Context<(u32, Reply<u32>)>| async move {
    ///     while let Some((number, reply)) = ctx.receive().await {
    ///         let _ = reply.send(number);
    ///     }
    /// })?;
    /// let ask = |number| {
    ///     let echo = echo.clone();
    ///     runtime.spawn(async move { echo.call(|reply| (number, reply)).wait_for_room().await })
    /// };
    /// let asked = (0..100).map(ask).collect::<Result<Vec<_>, _>>()?;
    /// for (number, mut answer) in asked.into_iter().enumerate() {
    ///     assert_eq!(answer.join()?, Ok(number as u32));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_for_room(self) -> CallWait<'a, M, R, F> {
        CallWait { room: Room::of(self.addr), unsent: None, call: self }
    }
}

/// A call that waits for room if there is none. From [`Call::wait_for_room`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct CallWait<'a, M, R: Send, F> {
    call: Call<'a, M, R, F>,
    /// The request, while there is no room for it.
    unsent: Option<M>,
    room: Room<'a, M>,
}

/// Nothing in it is pinned.
impl<M, R: Send, F> Unpin for Call<'_, M, R, F> {}
/// As above.
impl<M, R: Send, F> Unpin for CallWait<'_, M, R, F> {}

impl<M, R, F> Future for Call<'_, M, R, F>
where
    M: Send + 'static,
    R: Send,
    F: FnOnce(Reply<R>) -> M,
{
    type Output = Result<R, CallError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(make) = self.make.take() {
            if let Err(refused) = self.ask(make, task)? {
                return Poll::Ready(Err(refused.into()));
            }
            if self.sleep.is_none() {
                return Poll::Pending;
            }
        }
        self.answer(task)
    }
}

impl<M, R, F> Future for CallWait<'_, M, R, F>
where
    M: Send + 'static,
    R: Send,
    F: FnOnce(Reply<R>) -> M,
{
    type Output = Result<R, CallError>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let CallWait { call, unsent, room } = &mut *self;
        if let Some(make) = call.make.take() {
            match call.ask(make, task)? {
                Ok(()) => {}
                Err(SendError::Full(message)) => *unsent = Some(message),
                Err(refused) => return Poll::Ready(Err(refused.into())),
            }
        }
        // Sent or not: a timer runs, and whoever is asked once more knows of its waker.
        if unsent.is_some()
            && let Poll::Ready(Err(refused)) = room.poll_send(unsent, task.waker())
        {
            return Poll::Ready(Err(refused.into()));
        }
        call.answer(task)
    }
}

impl<M: Send + 'static, R: Send, F: FnOnce(Reply<R>) -> M> Call<'_, M, R, F> {
    /// Sends the request: what is refused comes back.
    #[inline]
    fn ask(&mut self, make: F, task: &Context<'_>) -> Result<Result<(), SendError<M>>, CallError> {
        if self.addr.0.own_turn().is_some() {
            return Err(CallError::ToSelf);
        }
        let (reply, waiting) = reply::pair(task.waker().clone());
        let sent = self.addr.hand_off(make(reply));
        self.waiting = Some(waiting);
        self.sleep = self.limit.map(|limit| self.addr.0.runtime().sleep(limit));
        Ok(sent)
    }
}

impl<M: Send + 'static, R: Send, F> Call<'_, M, R, F> {
    /// The answer to what was sent, or what there is instead.
    #[inline]
    fn answer(&mut self, task: &mut Context<'_>) -> Poll<Result<R, CallError>> {
        let waiting = self.waiting.as_ref().expect("a call is not polled after its end");
        match waiting.look(task.waker()) {
            Seen::Value(value) => Poll::Ready(Ok(value)),
            Seen::Dropped => Poll::Ready(Err(self.lost())),
            Seen::Nothing => {
                let Some(sleep) = &mut self.sleep else { return Poll::Pending };
                let limit = self.limit.unwrap_or_default();
                let slept = Pin::new(sleep).poll(task).map(|()| Err(CallError::Timeout(limit)));
                // Asked after the timer was set: one that has stopped sets none.
                if slept.is_pending() && self.addr.0.runtime().is_closed() {
                    return Poll::Ready(Err(CallError::Stopped));
                }
                slept
            }
        }
    }

    /// Why a request was dropped without a reply.
    #[cold]
    fn lost(&self) -> CallError {
        if self.addr.0.runtime().is_closed() { CallError::Stopped } else { CallError::NoReply }
    }
}

impl<M, R: Send, F> fmt::Debug for CallWait<'_, M, R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallWait").field("waits", &self.unsent.is_some()).finish_non_exhaustive()
    }
}

impl<M, R: Send, F> fmt::Debug for Call<'_, M, R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("sent", &self.make.is_none()).finish_non_exhaustive()
    }
}
