//! Futures of those who wait for a process: for room in its mailbox, or for its end.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    thread,
};

use crate::{
    addr::Addr,
    error::SendError,
    exit::ExitReason,
    monitor::{self, MonitorId, Watcher},
    room::Room,
    sync::Mutex,
};

/// A message that waits for room. From [`Addr::send_wait`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct SendWait<'a, M> {
    message: Option<M>,
    room: Room<'a, M>,
}

impl<M: Send + 'static> Addr<M> {
    /// Sends a message; if the mailbox is full, waits until there is room. No worker is blocked
    /// meanwhile.
    ///
    /// Room is made by a process that receives. One that waits for room in its own mailbox, or in that of
    /// another who waits for room in its, and does nothing beside it, waits for ever.
    ///
    /// # Errors
    /// The message, if the process has exited, or the runtime has been shut down.
    pub fn send_wait(&self, message: M) -> SendWait<'_, M> {
        SendWait { message: Some(message), room: Room::of(self) }
    }

    /// Waits until the process has exited, and says why.
    pub fn exited(&self) -> Exited<M> {
        Exited { addr: self.clone(), watch: None, cell: Arc::default() }
    }
}

/// Nothing in it is pinned.
impl<M> Unpin for SendWait<'_, M> {}

impl<M: Send + 'static> Future for SendWait<'_, M> {
    type Output = Result<(), SendError<M>>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let SendWait { message, room } = &mut *self;
        room.poll_send(message, task.waker())
    }
}

impl<M> fmt::Debug for SendWait<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendWait").finish_non_exhaustive()
    }
}

/// The end of a process. From [`Addr::exited`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Exited<M: Send + 'static> {
    addr: Addr<M>,
    watch: Option<MonitorId>,
    cell: Arc<Mutex<Cell>>,
}

#[derive(Default)]
struct Cell {
    reason: Option<ExitReason>,
    waker: Option<Waker>,
}

/// Nothing in it is pinned.
impl<M: Send + 'static> Unpin for Exited<M> {}

impl<M: Send + 'static> Future for Exited<M> {
    type Output = ExitReason;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<ExitReason> {
        // Cloned before, and dropped after: a waker is anybody's code.
        let waker = task.waker().clone();
        let old = self.cell.lock().waker.replace(waker);
        drop(old);
        if self.watch.is_none() {
            let cell = self.cell.clone();
            let tell = move |reason| {
                let waker = {
                    let mut cell = cell.lock();
                    cell.reason = Some(reason);
                    cell.waker.take()
                };
                waker.into_iter().for_each(Waker::wake);
            };
            let who = Watcher::Call(Box::new(tell));
            self.watch = Some(monitor::watch(&self.addr.untyped(), who));
        }
        let reason = self.cell.lock().reason.take();
        reason.map_or(Poll::Pending, Poll::Ready)
    }
}

impl<M: Send + 'static> Drop for Exited<M> {
    fn drop(&mut self) {
        if let Some(watch) = self.watch {
            monitor::unwatch(&self.addr.untyped(), watch);
        }
    }
}

impl<M: Send + 'static> fmt::Debug for Exited<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Exited").field(&self.addr).finish()
    }
}

struct Unpark(thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on an ordinary thread, which parks meanwhile: for programs and tests that
/// are not asynchronous themselves. Never call it in a turn: it would block the worker.
///
/// ```
/// use process::{Context, ExitReason, Processes, block_on};
///
/// let runtime = kernel::Runtime::new()?;
/// let brief = runtime.spawn_process(|_: Context<()>| async {})?;
/// assert_eq!(block_on(brief.exited()), ExitReason::Normal);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut task = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut task) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
