//! What the submitter of a job holds: its status, its result, its timings.

use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use crate::{
    batch::node::{After, Outside, Predecessor},
    error::{Error, JobError},
    graph::{Core, look::Phase, times::Timings, watch::Place, word::Ended},
    id::JobId,
    pool::shared::Shared,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// How far a job has come.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub enum Status<'a, R, E> {
    /// It waits for others.
    Created,
    /// It waits for a worker.
    Ready,
    /// It runs.
    Running,
    /// It has completed, with this result.
    Completed(&'a R),
    /// It has failed.
    Failed(&'a JobError<E>),
    /// It was cancelled, or the pool stopped, before it ended.
    Cancelled,
    /// It has completed or failed, and its result or error was taken: the handle was awaited.
    Taken,
}

impl<R, E> Clone for Status<'_, R, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R, E> Copy for Status<'_, R, E> {}

/// Owns the result of a job. The job runs all the same when it is dropped.
#[must_use = "drop it if the result is not wanted; the job runs all the same"]
pub struct JobHandle<R, E> {
    core: Arc<Core>,
    index: u32,
    /// References were given out, so the result can not be moved any more; or it was.
    shared: AtomicBool,
    /// Where it stands among those who wait, while it is awaited.
    place: Place,
    types: PhantomData<fn() -> (R, E)>,
}

/// Reads the result of a job that somebody else owns: for jobs of other batches that depend on it.
pub struct JobRef<R, E> {
    core: Arc<Core>,
    index: u32,
    types: PhantomData<fn() -> (R, E)>,
}

impl<R: 'static, E: 'static> JobHandle<R, E> {
    /// For whoever knows that the job's outcome has these types, and that it has no other handle.
    pub(crate) fn new(core: Arc<Core>, index: u32) -> JobHandle<R, E> {
        let (shared, place) = (AtomicBool::new(false), Place::default());
        JobHandle { core, index, shared, place, types: PhantomData }
    }

    /// What the job is called.
    pub fn id(&self) -> JobId {
        self.core.id_of(self.index)
    }

    /// How far it has come. For one that waits for others of its batch, this looks at all of them:
    /// to see the end of a job, wait for it or ask [`is_done`](JobHandle::is_done).
    pub fn status(&self) -> Status<'_, R, E> {
        status(&self.core, self.index)
    }

    /// Its result or error, if it has ended.
    pub fn result(&self) -> Option<Result<&R, &JobError<E>>> {
        result(&self.core, self.index)
    }

    /// When it was created, ready, started and ended. `None` if it was not timed, as most jobs of large
    /// batches: see [`Batch::timed`](crate::Batch::timed).
    pub fn timings(&self) -> Option<Timings> {
        self.core.timings(self.index)
    }

    /// Whether it has ended.
    pub fn is_done(&self) -> bool {
        self.core.word(self.index).is_done()
    }

    /// Asks that it does not run, or if it is resumable, that it gets no further turn. False if it
    /// has ended. A plain job that runs is not interrupted; it may ask
    /// [`cancelled`](crate::Context::cancelled).
    ///
    /// It takes effect when the job would have run: until its turn comes it keeps its place in line
    /// and its room under the capacity, and those who wait for it are not told.
    pub fn cancel(&self) -> bool {
        self.core.word(self.index).cancel()
    }

    /// Waits until it has ended; [`done`](JobHandle::done) for tasks.
    ///
    /// # Errors
    /// [`Error::WouldBlock`] inside a job of the same pool, and in a simulation.
    pub fn wait(&self) -> Result<(), Error> {
        if self.is_done() {
            return Ok(());
        }
        may_block(&self.core)?;
        block_on(self.done());
        Ok(())
    }

    /// Ready when it has ended.
    pub fn done(&self) -> Done<'_> {
        Done { core: &self.core, index: Some(self.index), place: Place::default() }
    }

    /// Waits for the result, and takes it: for tasks, `.await` the handle.
    ///
    /// If jobs of the same batch depend on this one, it waits for the batch, since they may read
    /// the result.
    ///
    /// # Errors
    /// Why there is none; [`JobError::Shared`] if there are references to it, through which it is
    /// to be read; [`JobError::WouldBlock`] as in [`wait`](JobHandle::wait).
    pub fn join(self) -> Result<R, JobError<E>> {
        if !self.can_take() {
            if may_block(&self.core).is_err() {
                return Err(JobError::WouldBlock);
            }
            block_on(Done { core: &self.core, index: self.awaited(), place: Place::default() });
        }
        self.take()
    }

    /// A reference through which others can read the result.
    pub fn share(&self) -> JobRef<R, E> {
        self.shared.store(true, Relaxed);
        JobRef { core: self.core.clone(), index: self.index, types: PhantomData }
    }

    /// What is to be waited for before the result can be taken: the job, or its batch.
    fn awaited(&self) -> Option<u32> {
        (!self.core.has_successors(self.index)).then_some(self.index)
    }

    fn can_take(&self) -> bool {
        match self.awaited() {
            Some(_) => self.is_done(),
            None => self.core.has_ended(),
        }
    }

    fn take(&self) -> Result<R, JobError<E>> {
        if self.shared.swap(true, Relaxed) {
            return Err(JobError::Shared);
        }
        // SAFETY: it has ended, and so have those of its batch that depend on it. There is no other
        // handle and no reference, and the types are those of the job.
        unsafe { self.core.take(self.index) }
    }
}

impl<R, E> JobHandle<R, E> {
    pub(crate) fn outside(&self) -> Outside {
        Outside { core: self.core.clone(), index: self.index }
    }
}

impl<R: 'static, E: 'static> JobRef<R, E> {
    /// What the job is called.
    pub fn id(&self) -> JobId {
        self.core.id_of(self.index)
    }

    /// How far it has come.
    pub fn status(&self) -> Status<'_, R, E> {
        status(&self.core, self.index)
    }

    /// Its result or error, if it has ended.
    pub fn result(&self) -> Option<Result<&R, &JobError<E>>> {
        result(&self.core, self.index)
    }
}

impl<R, E> Clone for JobRef<R, E> {
    fn clone(&self) -> JobRef<R, E> {
        JobRef { core: self.core.clone(), index: self.index, types: PhantomData }
    }
}

impl<R, E> Predecessor for JobRef<R, E> {
    fn to_after(&self) -> After {
        After::Outside(Outside { core: self.core.clone(), index: self.index })
    }
}

fn result<R, E>(core: &Core, index: u32) -> Option<Result<&R, &JobError<E>>> {
    // SAFETY: whoever holds a handle or a reference knows the types. The outcome is taken only by
    // the handle, by value, and only if there are no references.
    unsafe { core.outcome::<R, E>(index) }
}

pub(crate) fn status<R, E>(core: &Core, index: u32) -> Status<'_, R, E> {
    match core.phase(index) {
        Phase::Created => Status::Created,
        Phase::Ready => Status::Ready,
        Phase::Running => Status::Running,
        Phase::Ended(Ended::Cancelled | Ended::Stopped) => Status::Cancelled,
        Phase::Ended(_) => match result(core, index) {
            Some(Ok(result)) => Status::Completed(result),
            Some(Err(error)) => Status::Failed(error),
            None => Status::Taken,
        },
    }
}

/// Awaiting the handle takes the result, as [`JobHandle::join`] does. If it is polled once more after
/// that, there is nothing left to take: [`JobError::Shared`].
impl<R: 'static, E: 'static> Future for JobHandle<R, E> {
    type Output = Result<R, JobError<E>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if !this.can_take() {
            let waiting = match this.awaited() {
                Some(index) => this.core.poll_job(index, &mut this.place, context),
                None => this.core.poll_batch(&mut this.place, context),
            };
            if waiting.is_pending() {
                return Poll::Pending;
            }
        }
        Poll::Ready(this.take())
    }
}

impl<R, E> Drop for JobHandle<R, E> {
    fn drop(&mut self) {
        if self.place.is_taken() {
            let awaited = (!self.core.has_successors(self.index)).then_some(self.index);
            self.core.leave(awaited, &mut self.place);
        }
    }
}

/// Ready when a job, or a batch, has ended.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Done<'a> {
    core: &'a Core,
    /// `None`: the batch.
    index: Option<u32>,
    place: Place,
}

impl<'a> Done<'a> {
    pub(crate) fn batch(core: &'a Core) -> Done<'a> {
        Done { core, index: None, place: Place::default() }
    }
}

impl Future for Done<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Done { core, index, place } = &mut *self;
        match index {
            Some(index) => core.poll_job(*index, place, context),
            None => core.poll_batch(place, context),
        }
    }
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.core.leave(self.index, &mut self.place);
    }
}

impl fmt::Debug for Done<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Done").field("index", &self.index).finish_non_exhaustive()
    }
}

/// Whether this thread may wait: no worker of the same runtime may, and in a simulation nobody.
pub(crate) fn may_block(core: &Core) -> Result<(), Error> {
    match core.look(Shared::would_block) {
        Some(true) => Err(Error::WouldBlock),
        // In a batch that has ended there is nothing to wait for.
        Some(false) | None => Ok(()),
    }
}

/// Parks this thread until the future is ready.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::park();
    }
}

impl<R: 'static, E: 'static> fmt::Debug for JobHandle<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobHandle")
            .field("id", &self.id())
            .field("phase", &self.core.phase(self.index))
            .finish()
    }
}

impl<R: 'static, E: 'static> fmt::Debug for JobRef<R, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobRef").field("id", &self.id()).finish_non_exhaustive()
    }
}
