//! How jobs get into a pool: checked as a whole, then put in line, or refused and given back.

use std::{
    convert::Infallible,
    fmt,
    future::Future,
    marker::PhantomData,
    mem,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
    time::Duration,
};

use crate::{
    about::{About, JobInfo, Kept, nanos},
    batch::{
        Batch, Content, UNNAMED,
        handle::BatchHandle,
        node::{After, Outside},
    },
    body::Body,
    error::{Error, Refused},
    graph::{
        Core, Parts,
        cell::Fate,
        end,
        line::Submission,
        times::Times,
        word::{Duty, Word},
    },
    handle::JobHandle,
    id::JobId,
    job::Job,
    pool::{Pool, registry::Known, shared::Shared},
};

/// The handle of a job that was taken, or the job that was not.
pub type Submitted<B> = Result<JobHandle<<B as Body>::Output, <B as Body>::Error>, Refused<Job<B>>>;

/// What a batch was found to need before it is put in line.
pub(crate) struct Ticket {
    number: u64,
    /// What is kept of each job, with what the prioritizer and the affinity say.
    kept: Vec<Kept>,
    needs: Needs,
}

/// Predecessors in other batches.
#[derive(Default)]
struct Needs {
    live: Vec<(u32, Outside)>,
    /// Those that ended so long ago that only how they ended is known.
    ended: Vec<(u32, Option<Fate>)>,
}

impl Pool {
    /// Submits a job.
    ///
    /// # Errors
    /// Why it was refused; the job comes back.
    pub fn submit<B: Body>(&self, job: Job<B>) -> Submitted<B> {
        if job.is_alone() {
            return self.submit_alone(job);
        }
        let Job { body, about, after } = job;
        match self.take(Batch::single(body, about.as_ref(), &after)) {
            Ok(core) => Ok(JobHandle::new(core, 0)),
            Err(refused) => {
                let (error, batch) = refused.into_parts();
                Err(Refused::new(error, Job { body: batch.into_single(), about, after }))
            }
        }
    }

    /// Submits a job that waits for nobody, and of which no more is to be known than its place in
    /// line: with one allocation.
    #[inline]
    fn submit_alone<B: Body>(&self, job: Job<B>) -> Submitted<B> {
        let shared = self.shared();
        let kept = job.about.as_ref().map(Kept::new);
        let admitted = self.accepts(shared).and_then(|()| {
            let kept = self.complete_alone(kept, shared)?;
            Ok((kept, shared.admit(1)?))
        });
        match admitted {
            Ok((kept, number)) => {
                let now = nanos(self.handle.now());
                let core = Core::alone(job.body, &kept, now, number, shared);
                let mut submission = Submission { handle: &self.handle, now };
                end::start_alone(&core, &kept, shared, &mut submission);
                Ok(JobHandle::new(core, 0))
            }
            Err(error) => Err(Refused::new(error, job)),
        }
    }

    /// Submits a closure that can not fail, with nothing said about it.
    ///
    /// ```
    /// let pool = job::Pool::new()?;
    /// assert_eq!(pool.compute(|| 6 * 7)?.join()?, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Why it was refused.
    pub fn compute<R: Send + Sync + 'static>(
        &self,
        run: impl FnOnce() -> R + Send + 'static,
    ) -> Result<JobHandle<R, Infallible>, Error> {
        Ok(self.submit(Job::new(move |_| run()))?)
    }

    /// Submits the jobs of a batch, or none of them.
    ///
    /// # Errors
    /// Why it was refused; the batch comes back.
    pub fn submit_batch(&self, batch: Batch) -> Result<BatchHandle, Refused<Batch>> {
        self.take(batch).map(BatchHandle::new)
    }

    /// As [`submit`](Pool::submit), but waits for room, and for a worker to be resumed.
    pub fn submit_wait<B: Body>(&self, job: Job<B>) -> SubmitJob<'_, B> {
        let Job { body, about, after } = job;
        let batch = Some(Batch::single(body, about.as_ref(), &after));
        SubmitJob { inner: SubmitBatch { pool: self, batch }, about, after, body: PhantomData }
    }

    /// As [`submit_batch`](Pool::submit_batch), but waits for room, and for a worker to be resumed.
    /// Whoever finds room takes it: a large batch may wait for as long as small submissions keep coming.
    pub fn submit_batch_wait(&self, batch: Batch) -> SubmitBatch<'_> {
        SubmitBatch { pool: self, batch: Some(batch) }
    }

    fn take(&self, mut batch: Batch) -> Result<Arc<Core>, Refused<Batch>> {
        match self.prepare(&mut batch) {
            Ok(ticket) => Ok(self.launch(batch, ticket)),
            Err(error) => Err(Refused::new(error, batch)),
        }
    }

    /// Submits a batch whose content is made only if nothing is wrong with it.
    pub(crate) fn take_with(
        &self,
        mut batch: Batch,
        content: impl FnOnce() -> Content,
    ) -> Result<Arc<Core>, Error> {
        let ticket = self.prepare(&mut batch)?;
        batch.cells = content();
        Ok(self.launch(batch, ticket))
    }

    /// Checks all that can be wrong, and takes the places for its jobs. A panic of the prioritizer or
    /// the affinity passes through, and leaves nothing behind.
    fn prepare(&self, batch: &mut Batch) -> Result<Ticket, Error> {
        let shared = self.shared();
        self.accepts(shared)?;
        batch.seal()?;
        let kept = self.complete(batch, shared)?;
        let number = shared.admit(batch.len())?;
        match self.find(batch, shared) {
            Ok(needs) => Ok(Ticket { number, kept, needs }),
            Err(error) => {
                shared.dismiss(batch.len());
                Err(error)
            }
        }
    }

    /// Whether jobs are taken at all.
    #[inline]
    fn accepts(&self, shared: &Shared) -> Result<(), Error> {
        if self.handle.refuses() {
            return Err(Error::Stopped);
        }
        if shared.is_deserted() && !self.serves_the_deserted(shared) {
            return Err(Error::NoAvailableWorkers);
        }
        Ok(())
    }

    /// Whether jobs are taken while every worker is paused or shut down. While the pool is shut down
    /// all of them run what there is.
    #[cold]
    fn serves_the_deserted(&self, shared: &Shared) -> bool {
        shared.settings.accept_while_paused || self.handle.is_shutting_down()
    }

    /// Asks the prioritizer and the affinity about a job that is submitted alone.
    #[inline]
    fn complete_alone(&self, kept: Option<Kept>, shared: &Shared) -> Result<Kept, Error> {
        if kept.is_none() && !shared.asks() {
            return Ok(Kept::default());
        }
        let mut kept = kept.unwrap_or_default();
        let info = JobInfo {
            id: JobId::ours(0, 0),
            priority: kept.priority,
            estimate: shared.estimate(&kept).map(Duration::from_nanos),
            class: kept.class(),
            affinity: kept.worker(),
            deadline: None,
            predecessors: 0,
            successors: 0,
        };
        shared.complete(&mut kept, &info, shared.workers_count)?;
        Ok(kept)
    }

    /// Asks the prioritizer and the affinity about each job.
    fn complete(&self, batch: &Batch, shared: &Shared) -> Result<Vec<Kept>, Error> {
        if batch.kept.is_empty() && !shared.asks() {
            return Ok(Vec::new());
        }
        let workers = self.handle.worker_count();
        let mut all = batch.kept.clone();
        all.resize(batch.len(), Kept::default());
        for (index, kept) in (0u32..).zip(&mut all) {
            let deadline = batch.deadlines.binary_search_by_key(&index, |(at, _)| *at);
            let info = JobInfo {
                id: batch.name(index),
                priority: kept.priority,
                estimate: shared.estimate(kept).map(Duration::from_nanos),
                class: kept.class(),
                affinity: kept.worker(),
                deadline: deadline.ok().map(|at| batch.deadlines[at].1),
                predecessors: batch.words[index as usize].count(),
                successors: batch.successors(index),
            };
            shared.complete(kept, &info, workers)?;
        }
        Ok(all)
    }

    /// Finds the jobs of other batches that some depend on, and reserves its ids.
    fn find(&self, batch: &Batch, shared: &Shared) -> Result<Needs, Error> {
        let mut needs = Needs::default();
        if batch.open.is_empty() && batch.ids.is_empty() {
            return Ok(needs);
        }
        let mut registry = shared.registry.lock();
        for (index, after) in &batch.open {
            match after {
                After::Outside(outside) if !outside.core.is_of(shared) => {
                    return Err(Error::OtherPool(outside.core.id_of(outside.index)));
                }
                After::Outside(outside) => needs.live.push((*index, outside.clone())),
                After::Id(id) => match registry.find(*id) {
                    None => return Err(Error::UnknownJob(*id)),
                    Some(Known::Live(core, at)) => {
                        needs.live.push((*index, Outside { core, index: at }));
                    }
                    Some(Known::Ended(fate)) => needs.ended.push((*index, fate)),
                },
                After::Node { .. } => unreachable!("a batch resolves its own"),
            }
        }
        registry.reserve(&batch.ids).map_err(Error::DuplicateJob)?;
        Ok(needs)
    }

    /// Puts a batch in line that was found good.
    pub(crate) fn launch(&self, batch: Batch, ticket: Ticket) -> Arc<Core> {
        let shared = self.shared();
        let Ticket { number, kept, needs } = ticket;
        let Batch {
            forgiving,
            ticket,
            mut words,
            cells,
            some_resumable,
            ids,
            deadlines,
            on_failure,
            timed,
            by_levels,
            layout,
            ..
        } = batch;
        let layout = layout.expect("it was sealed");
        let shape = layout.clone();
        let guarded = guard(&mut words, &needs);
        let now = nanos(self.handle.now());
        let parts = Parts {
            ticket,
            times: Times::new(words.len(), timed, now, shared.apart.holds(now)),
            words: words.into_boxed_slice(),
            cells: cells.into_cells(),
            some_resumable,
            layout,
            kept: kept.into_boxed_slice(),
            ids: ids.into_boxed_slice(),
            on_failure,
            forgiving,
            watched: ticket != UNNAMED,
            by_levels: by_levels && !some_resumable && guarded.is_empty() && shared.settings.inline,
        };
        let core = Core::new(parts, number, shared);
        if !core.chosen().is_empty() {
            shared.registry.lock().enter(&core);
        }
        self.watch_deadlines(&core, &deadlines);
        if core.len() == 0 {
            // SAFETY: it has no jobs.
            unsafe { Core::finish(Core::pointer(&core)) };
            return core;
        }
        if core.runs_by_levels() {
            let mut submission = Submission { handle: &self.handle, now };
            end::start_by_levels(&core, &shape, &mut submission);
            return core;
        }
        let (free, doomed) = self.watch(&core, needs, &guarded);
        let roots = shape.roots.iter().flat_map(|(from, to)| *from..*to);
        let mut submission = Submission { handle: &self.handle, now };
        if guarded.is_empty() {
            end::start(&core, roots, shared, &mut submission);
        } else {
            let free = roots.filter(|index| guarded.binary_search(index).is_err()).chain(free);
            end::start(&core, free, shared, &mut submission);
            end::doom_at_submission(&core, doomed, shared, &mut submission);
        }
        core
    }

    /// Makes jobs wait for those of other batches. Returns those that need not, and those that will
    /// not run.
    fn watch(&self, core: &Arc<Core>, needs: Needs, guarded: &[u32]) -> (Vec<u32>, Vec<u32>) {
        for (index, Outside { core: before, index: at }) in needs.live {
            if !before.add_dependent(at, core.clone(), index) {
                let duty = end::release_at_submission(core, index, before.fate(at).as_ref());
                assert_eq!(duty, Duty::Nothing, "it waits for us");
            }
        }
        for (index, fate) in needs.ended {
            let duty = end::release_at_submission(core, index, fate.as_ref());
            assert_eq!(duty, Duty::Nothing, "it waits for us");
        }
        let (mut free, mut doomed) = (Vec::new(), Vec::new());
        for index in guarded {
            match end::release_at_submission(core, *index, None) {
                Duty::Nothing => {}
                Duty::Run => free.push(*index),
                Duty::Doom => doomed.push(*index),
            }
        }
        (free, doomed)
    }

    fn watch_deadlines(&self, core: &Arc<Core>, deadlines: &[(u32, Duration)]) {
        for (index, deadline) in deadlines {
            let (index, core_at) = (*index, Arc::downgrade(core));
            let look = move || {
                if let Some(core) = Weak::upgrade(&core_at)
                    && !core.word(index).is_done()
                {
                    // SAFETY: timers are called by a thread of the runtime.
                    unsafe { core.shared() }.miss_deadline(core.id_of(index));
                }
            };
            // A pool that stops meanwhile ends the jobs anyway.
            if let Ok(timer) = self.handle.call_after(*deadline, look) {
                core.keep_timer(timer);
            }
        }
    }

    /// Tries, and if there is no room asks to be called when there is.
    fn poll_take(
        &self,
        batch: &mut Option<Batch>,
        context: &mut Context<'_>,
    ) -> Poll<Result<Arc<Core>, Refused<Batch>>> {
        for waits in [false, true] {
            let refused = match self.take(batch.take().expect("polled after it was ready")) {
                Ok(core) => return Poll::Ready(Ok(core)),
                Err(refused) => refused,
            };
            let worth_it = match refused.error() {
                // What can never fit is not worth waiting for.
                Error::QueueFull { capacity, wanted, .. } => wanted <= capacity,
                // One that is paused may be resumed.
                Error::NoAvailableWorkers => true,
                _ => false,
            };
            if !worth_it {
                return Poll::Ready(Err(refused));
            }
            *batch = Some(refused.into_parts().1);
            if !waits {
                // And try again: there may be room since we looked.
                self.shared().room.wait(context.waker());
            }
        }
        Poll::Pending
    }
}

/// Makes each job that waits for others outside also wait for us, until all of these are found.
/// Returns which these are, in order.
fn guard(words: &mut [Word], needs: &Needs) -> Vec<u32> {
    let live = needs.live.iter().map(|(index, _)| *index);
    let mut guarded: Vec<u32> = live.chain(needs.ended.iter().map(|(index, _)| *index)).collect();
    for index in &guarded {
        words[*index as usize].expect_one_more();
    }
    guarded.sort_unstable();
    guarded.dedup();
    for index in &guarded {
        words[*index as usize].expect_one_more();
        words[*index as usize].be_exact();
    }
    guarded
}

/// A future of a batch that waits for room.
#[must_use = "a future does nothing unless it is awaited"]
pub struct SubmitBatch<'a> {
    pool: &'a Pool,
    batch: Option<Batch>,
}

impl Future for SubmitBatch<'_> {
    type Output = Result<BatchHandle, Refused<Batch>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let pool = self.pool;
        pool.poll_take(&mut self.batch, context).map_ok(BatchHandle::new)
    }
}

/// A future of a job that waits for room.
#[must_use = "a future does nothing unless it is awaited"]
pub struct SubmitJob<'a, B> {
    inner: SubmitBatch<'a>,
    about: Option<About>,
    after: Vec<After>,
    /// Invariant: a body goes in, and comes back as one of the same type, or as its handle.
    body: PhantomData<fn(B) -> B>,
}

/// What the job leaves behind stays of its type, also where one type is more general than another.
///
/// ```compile_fail,E0308
/// use job::{Context, SubmitJob, Sure};
///
/// type Kept = fn(&mut Context<'_, '_>) -> fn(&'static str);
/// type Lent = fn(&mut Context<'_, '_>) -> for<'a> fn(&'a str);
///
/// fn generalize<'p>(submit: SubmitJob<'p, Sure<Kept>>) -> SubmitJob<'p, Sure<Lent>> {
///     submit
/// }
/// ```
#[cfg(doctest)]
struct TypeOfTheOutcome;

impl<B: Body> Future for SubmitJob<'_, B> {
    type Output = Submitted<B>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        this.inner.pool.poll_take(&mut this.inner.batch, context).map(|taken| match taken {
            Ok(core) => Ok(JobHandle::new(core, 0)),
            Err(refused) => {
                let (error, batch) = refused.into_parts();
                let (about, after) = (this.about.take(), mem::take(&mut this.after));
                Err(Refused::new(error, Job { body: batch.into_single(), about, after }))
            }
        })
    }
}

impl fmt::Debug for SubmitBatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubmitBatch").field("batch", &self.batch).finish_non_exhaustive()
    }
}

impl<B> fmt::Debug for SubmitJob<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubmitJob").field("about", &self.about).finish_non_exhaustive()
    }
}
