//! How the end of a strand reaches whoever waits for it.
//!
//! A [`Completer`] goes with the body, a [`JoinHandle`] with the owner; between them is one cell
//! (see [`super::cell`]). The completer writes the result once; dropped without a word it writes
//! that the runtime stopped. A runtime that stops tells all who still wait through [`Joiners`].
//!
//! A handle counts no reference to the runtime unless it has a seat among the joiners: one word that
//! every submission counts in would wait for all that was written to the queue before. While nothing
//! is complete the runtime's memory is there all the same, since the completer is: in a job, which
//! lies in the runtime's own queues or in the hands of its workers, or in a strand, which has a
//! [lease](crate::lease). And [`Reader::while_waiting`] keeps it from becoming complete.

use std::{
    fmt,
    future::Future,
    mem::{self, ManuallyDrop},
    num::NonZeroU64,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll, Wake, Waker},
};

use crate::{
    error::JoinError,
    panics::{self, Payload},
    shared::Shared,
    strand::{
        Strand,
        cell::{self, Found, Reader, Writer},
    },
    sync::{Mutex, thread},
};

/// Why a strand or a job ended without a result.
pub(crate) enum Failure {
    Panicked(Payload),
    Cancelled,
    Stopped,
    /// Nobody could ever wake it again.
    Abandoned,
}

impl From<Failure> for JoinError {
    fn from(failure: Failure) -> JoinError {
        match failure {
            Failure::Panicked(payload) => {
                let text = panics::text(&payload);
                panics::discard(payload);
                JoinError::Panicked(text)
            }
            Failure::Cancelled => JoinError::Cancelled,
            Failure::Stopped => JoinError::Stopped,
            Failure::Abandoned => JoinError::Abandoned,
        }
    }
}

/// The body's side.
pub(crate) struct Completer<R>(Option<Writer<Result<R, JoinError>>>);

impl<R> Completer<R> {
    pub(crate) fn complete(&mut self, result: Result<R, Failure>) {
        if let Some(writer) = self.0.take() {
            writer.complete(result.map_err(JoinError::from));
        }
    }
}

impl<R> Drop for Completer<R> {
    fn drop(&mut self) {
        self.complete(Err(Failure::Stopped));
    }
}

/// Waits for the end of a strand, a job or a future, and takes its result.
///
/// It is a future for asynchronous code, and [`join`](JoinHandle::join) waits on an ordinary
/// thread. Dropping it detaches: the strand goes on.
pub struct JoinHandle<R> {
    cell: Reader<Result<R, JoinError>>,
    /// Counted while we have a seat; otherwise to be looked at while nothing is complete.
    shared: ManuallyDrop<Weak<Shared>>,
    /// Our place among those who are told when the runtime stops.
    seat: Option<NonZeroU64>,
}

/// A cell, and its two sides.
pub(crate) fn pair<R>(shared: &Arc<Shared>) -> (Completer<R>, JoinHandle<R>) {
    let (writer, cell) = cell::pair();
    // SAFETY: it is never dropped, so it needs no count of its own.
    let shared = ManuallyDrop::new(unsafe { Weak::from_raw(Arc::as_ptr(shared)) });
    (Completer(Some(writer)), JoinHandle { cell, shared, seat: None })
}

impl<R> JoinHandle<R> {
    pub(crate) fn of(self, of: &Strand) -> JoinHandle<R> {
        self.cell.while_waiting(|notes| notes.strand = Some(of.0));
        self
    }

    /// The strand that is waited for: `None` for a job, and once it has ended.
    pub fn strand(&self) -> Option<Strand> {
        // While nothing is complete the body is there, and so is the strand's memory.
        self.cell.while_waiting(|notes| notes.strand?.try_handle())?
    }

    /// The runtime, unless all is over or it is just being dropped.
    fn runtime(&self) -> Option<Arc<Shared>> {
        // Its memory is there while nothing is complete.
        self.cell.while_waiting(|_| self.shared.upgrade())?
    }

    /// Waits on this thread for the end, and takes the result.
    ///
    /// # Errors
    /// What ended it, if not its own word; [`JoinError::WouldBlock`] when called from inside a
    /// turn of the same runtime (waiting there could wait for the very worker it holds: use
    /// `.await`, or be woken), or on a simulation that has not finished it yet. The handle stays
    /// usable after that.
    pub fn join(&mut self) -> Result<R, JoinError> {
        match self.try_join() {
            Some(result) => result,
            None if self.runtime().is_some_and(|it| it.on_worker() || it.is_simulated()) => {
                Err(JoinError::WouldBlock)
            }
            None => block_on(self),
        }
    }

    /// The result if it is there already.
    pub fn try_join(&mut self) -> Option<Result<R, JoinError>> {
        match self.cell.take() {
            Found::Nothing => None,
            Found::Value(result) => Some(result),
            Found::Taken => Some(Err(JoinError::Taken)),
        }
    }

    /// Whether the result is there.
    pub fn is_finished(&self) -> bool {
        self.cell.is_complete()
    }

    /// Ends the strand without asking, as [`Strand::abort`] does; a job that has not started yet
    /// still runs.
    pub fn abort(&self) {
        if let Some(strand) = self.strand() {
            strand.abort();
        }
    }

    /// Asks the strand to end, as [`Strand::cancel`] does.
    pub fn cancel(&self) {
        if let Some(strand) = self.strand() {
            strand.cancel();
        }
    }

    /// Takes a seat, unless the runtime has stopped. We have none.
    fn sit(&mut self, waker: &Waker) {
        let Some(shared) = self.runtime() else { return };
        self.seat = shared.joiners.sit(waker);
        if self.seat.is_some() {
            mem::forget(shared);
        }
    }

    fn leave(&mut self) {
        if let Some(seat) = self.seat.take() {
            // SAFETY: the reference that `sit` has left to the seat.
            let shared = unsafe { Arc::from_raw(self.shared.as_ptr()) };
            shared.joiners.leave(seat);
        }
    }
}

impl<R> Drop for JoinHandle<R> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl<R> Future for JoinHandle<R> {
    type Output = Result<R, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.leave();
        if let Some(result) = this.try_join() {
            return Poll::Ready(result);
        }
        this.sit(context.waker());
        // Cloned and dropped outside of the lock: wakers are anybody's code.
        let mut ours = Some(context.waker().clone());
        this.cell.while_waiting(|notes| mem::swap(&mut notes.waker, &mut ours));
        drop(ours);
        // It may have ended, or the runtime stopped, before we were seated.
        match this.try_join() {
            Some(result) => {
                this.leave();
                Poll::Ready(result)
            }
            None if this.seat.is_none() => Poll::Ready(Err(JoinError::Stopped)),
            None => Poll::Pending,
        }
    }
}

impl<R> fmt::Debug for JoinHandle<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("finished", &self.is_finished()).finish()
    }
}

/// Those who wait for something of a runtime, and must be told when it stops.
#[derive(Default)]
pub(crate) struct Joiners(Mutex<Seats>);

#[derive(Default)]
struct Seats {
    closed: bool,
    /// How many have sat down so far.
    sat: u64,
    seated: std::collections::BTreeMap<NonZeroU64, Waker>,
}

impl Joiners {
    /// `None` once they are closed.
    fn sit(&self, waker: &Waker) -> Option<NonZeroU64> {
        let waker = waker.clone();
        let mut seats = self.0.lock();
        if seats.closed {
            drop(seats);
            return None;
        }
        seats.sat += 1;
        let seat = NonZeroU64::new(seats.sat)?;
        seats.seated.insert(seat, waker);
        Some(seat)
    }

    fn leave(&self, seat: NonZeroU64) {
        let waker = self.0.lock().seated.remove(&seat);
        drop(waker);
    }

    /// The runtime has stopped: nothing more will end.
    pub(crate) fn close(&self) {
        let seated = {
            let mut seats = self.0.lock();
            seats.closed = true;
            mem::take(&mut seats.seated)
        };
        for waker in seated.into_values() {
            panics::contain(|| waker.wake());
        }
    }
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a future on this thread, which parks in between.
pub(crate) fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match Pin::new(&mut future).poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
