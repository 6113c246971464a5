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
    error::CallError,
    reply::{self, Reply, Seen, Waiting},
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

impl<M, R: Send, F> Call<'_, M, R, F> {
    /// Waits so long at most. A reply that comes later is refused.
    pub fn within(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }
}

/// Nothing in it is pinned.
impl<M, R: Send, F> Unpin for Call<'_, M, R, F> {}

impl<M, R, F> Future for Call<'_, M, R, F>
where
    M: Send + 'static,
    R: Send,
    F: FnOnce(Reply<R>) -> M,
{
    type Output = Result<R, CallError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Some(make) = this.make.take() {
            if this.addr.0.own_turn().is_some() {
                return Poll::Ready(Err(CallError::ToSelf));
            }
            let (reply, waiting) = reply::pair(task.waker().clone());
            if let Err(refused) = this.addr.hand_off(make(reply)) {
                return Poll::Ready(Err(refused.into()));
            }
            if this.limit.is_none() {
                this.waiting = Some(waiting);
                return Poll::Pending;
            }
            this.waiting = Some(waiting);
            this.sleep = this.limit.map(|limit| this.addr.0.runtime().sleep(limit));
        }
        let waiting = this.waiting.as_ref().expect("a call is not polled after its end");
        match waiting.look(task.waker()) {
            Seen::Value(value) => Poll::Ready(Ok(value)),
            Seen::Dropped => Poll::Ready(Err(this.lost())),
            Seen::Nothing => {
                let Some(sleep) = &mut this.sleep else { return Poll::Pending };
                let limit = this.limit.unwrap_or_default();
                let slept = Pin::new(sleep).poll(task).map(|()| Err(CallError::Timeout(limit)));
                // Asked after the timer was set: one that has stopped sets none.
                if slept.is_pending() && this.addr.0.runtime().is_closed() {
                    return Poll::Ready(Err(CallError::Stopped));
                }
                slept
            }
        }
    }
}

impl<M: Send + 'static, R: Send, F> Call<'_, M, R, F> {
    /// Why a request was dropped without a reply.
    #[cold]
    fn lost(&self) -> CallError {
        if self.addr.0.runtime().is_closed() { CallError::Stopped } else { CallError::NoReply }
    }
}

impl<M, R: Send, F> fmt::Debug for Call<'_, M, R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("sent", &self.make.is_none()).finish_non_exhaustive()
    }
}
