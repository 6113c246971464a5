//! What can be done with a runtime from any thread.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use crate::{
    attributes::{Attributes, Rank, WorkerId},
    entry::{self, Entry},
    error::{NoSuchWorker, ScheduleError},
    lease::Tenure,
    metrics::Metrics,
    queue::Discipline,
    record::Recording,
    runtime::strand_builder::StrandBuilder,
    shared::{Place, Shared},
    slot::PAUSE,
    strand::{
        Strand, StrandId,
        join::{self, JoinHandle},
    },
    sync::atomic::Ordering::Relaxed,
    tenant::Tenant,
    timer::{Interval, Sleep, Timeout, Timer},
    turn::{self, Turn},
    worker::{self, Worker},
    world,
};

/// Schedules on a runtime, from any thread. Cheap to clone; it does not keep the runtime running.
#[derive(Clone)]
#[repr(transparent)]
pub struct Handle {
    pub(crate) shared: Arc<Shared>,
}

/// What a worker is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerState {
    /// Parked, with nothing to do.
    Idle,
    /// Looking for work.
    Searching,
    /// In a turn of this strand, or of a `job`.
    Running(String),
    /// Paused: it takes nothing.
    Paused,
    /// The runtime has stopped.
    Stopped,
}

/// Tells a runtime from others, for as long as it is there: it keeps nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RuntimeId(usize);

impl RuntimeId {
    /// Whether this thread is in a turn of that runtime, be it that a simulation runs inside of it.
    /// Whoever waits there for another turn may wait for the very worker that it holds.
    ///
    /// ```
    /// use kernel::Runtime;
    ///
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// let id = runtime.id();
    /// assert!(!id.is_current());
    /// let mut inside = runtime.compute(move |_| {
    ///     let mut simulation = Runtime::builder().workers(1).simulate(7).unwrap();
    ///     let mut nested = simulation.compute(move |_| id.is_current()).unwrap();
    ///     simulation.run();
    ///     (id.is_current(), nested.join().unwrap())
    /// })?;
    /// assert_eq!(inside.join()?, (true, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_current(self) -> bool {
        worker::is_inside(self.0)
    }
}

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Handle {
        Handle { shared }
    }

    /// What is shared, seen as a handle.
    #[inline]
    pub(crate) fn of(shared: &Arc<Shared>) -> &Handle {
        // SAFETY: a handle is nothing but such an `Arc` (`repr(transparent)`).
        unsafe { &*std::ptr::from_ref(shared).cast::<Handle>() }
    }

    /// Submits a job that nobody waits for. A closure of up to 40 bytes is stored in the queue
    /// itself, so that this allocates nothing.
    ///
    /// ```
    /// use std::sync::mpsc;
    ///
    /// let runtime = kernel::Runtime::new()?;
    /// let (send, receive) = mpsc::channel();
    /// runtime.submit(move |turn| send.send(turn.worker()).unwrap())?;
    /// println!("ran on {}", receive.recv()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the runtime has stopped.
    #[inline]
    pub fn submit(
        &self,
        job: impl FnOnce(&mut Turn<'_>) + Send + 'static,
    ) -> Result<(), ScheduleError> {
        let shared = &*self.shared;
        shared.accepts()?;
        let measured = worker::sampled(None) || shared.recorder.is_on();
        if measured || !shared.pushes_plainly_from_outside() {
            return self.submit_with_care(job, measured);
        }
        if entry::lies_inline(&job) {
            shared.push_to_global(|| Entry::job(job));
        } else {
            // Allocate before others wait for the place in line.
            let entry = Entry::job(job);
            shared.push_to_global(|| entry);
        }
        Ok(())
    }

    /// A job that is not simply pushed on the global queue.
    #[inline(never)]
    fn submit_with_care(
        &self,
        job: impl FnOnce(&mut Turn<'_>) + Send + 'static,
        measured: bool,
    ) -> Result<(), ScheduleError> {
        // An affinity is asked even about a job of which nothing is said.
        let rank = self.shared.rank(&Attributes::default())?;
        self.place_job(job, &rank, measured);
        Ok(())
    }

    /// Submits a job with a priority, a level or a key.
    ///
    /// # Errors
    /// As for [`StrandBuilder::start`].
    pub fn submit_with(
        &self,
        attributes: Attributes,
        job: impl FnOnce(&mut Turn<'_>) + Send + 'static,
    ) -> Result<(), ScheduleError> {
        self.shared.accepts()?;
        let rank = self.shared.rank(&attributes)?;
        let measured = worker::sampled(None) || self.shared.recorder.is_on();
        self.place_job(job, &rank, measured);
        Ok(())
    }

    /// Submits a job whose result somebody waits for.
    ///
    /// # Errors
    /// If the runtime has stopped.
    pub fn compute<R: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Turn<'_>) -> R + Send + 'static,
    ) -> Result<JoinHandle<R>, ScheduleError> {
        let (mut completer, join) = join::pair(&self.shared);
        self.submit(move |turn: &mut Turn<'_>| {
            let result = crate::panics::catch(|| job(turn)).map_err(|payload| {
                turn.note_panic(&payload);
                join::Failure::Panicked(payload)
            });
            completer.complete(result);
        })?;
        Ok(join)
    }

    /// Submits many jobs. Returns how many.
    ///
    /// # Errors
    /// If the runtime has stopped; what was submitted before it did is run or dropped with the
    /// rest.
    pub fn submit_all<J>(&self, jobs: impl IntoIterator<Item = J>) -> Result<usize, ScheduleError>
    where
        J: FnOnce(&mut Turn<'_>) + Send + 'static,
    {
        self.shared.accepts()?;
        let mut count = 0;
        for job in jobs {
            self.submit(job)?;
            count += 1;
        }
        Ok(count)
    }

    fn place_job(
        &self,
        job: impl FnOnce(&mut Turn<'_>) + Send + 'static,
        rank: &Rank,
        measured: bool,
    ) {
        let shared = &*self.shared;
        worker::with_current(shared, |worker| {
            // By the worker's own clock, as all that it records.
            let now = match worker {
                _ if !measured => 0,
                Some(worker) => worker.now(),
                None => shared.now(),
            };
            let entry = if measured { turn::stamped(now, job) } else { Entry::job(job) };
            shared.place_in(worker, entry, rank, Place::Near, now);
        });
    }

    /// Runs a future as a strand. No other runtime is needed, and its wakers work from any
    /// thread.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let runtime = kernel::Runtime::new()?;
    /// let handle = runtime.handle();
    /// let mut join = runtime.spawn(async move {
    ///     handle.sleep(Duration::from_millis(1)).await;
    ///     "rested"
    /// })?;
    /// assert_eq!(join.join()?, "rested");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the runtime has stopped.
    pub fn spawn<F>(&self, future: F) -> Result<JoinHandle<F::Output>, ScheduleError>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.strand().spawn(future)
    }

    /// Makes a strand.
    pub fn strand(&self) -> StrandBuilder<'_> {
        StrandBuilder::new(self)
    }

    /// A future that is ready after `duration`.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        Sleep::new(Tenure::new(&self.shared), duration)
    }

    /// A future that is ready when the runtime's time, as [`now`](Handle::now) tells it, is
    /// `deadline`.
    pub fn sleep_until(&self, deadline: Duration) -> Sleep {
        Sleep::until(Tenure::new(&self.shared), world::nanos(deadline))
    }

    /// `future`, or an error if it is not ready in time.
    ///
    /// ```
    /// use std::{future, time::Duration};
    ///
    /// let runtime = kernel::Runtime::new()?;
    /// let handle = runtime.handle();
    /// let mut join = runtime.spawn(async move {
    ///     handle.timeout(Duration::from_millis(1), future::pending::<()>()).await
    /// })?;
    /// assert!(join.join()?.is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn timeout<F: Future>(&self, duration: Duration, future: F) -> Timeout<F> {
        Timeout::new(future, self.sleep(duration), duration)
    }

    /// Ticks every `period`, for the first time after one period.
    pub fn interval(&self, period: Duration) -> Interval {
        Interval::new(Tenure::new(&self.shared), period)
    }

    /// Wakes a strand after a time.
    ///
    /// # Errors
    /// If the runtime has stopped.
    pub fn wake_after(&self, after: Duration, strand: &Strand) -> Result<Timer, ScheduleError> {
        Timer::start(&self.shared, after, strand)
    }

    /// Calls a function after a time. It should be short, and must not wait for others: the thread
    /// that looks after timers calls it, or a worker between two turns, and all later timers wait
    /// until it has returned.
    ///
    /// # Errors
    /// If the runtime has stopped.
    pub fn call_after(
        &self,
        after: Duration,
        call: impl FnOnce() + Send + 'static,
    ) -> Result<Timer, ScheduleError> {
        Timer::call(&self.shared, after, Box::new(call))
    }

    /// The worker that this thread is, while it is one of this runtime. No other thread is the
    /// same worker at the same time.
    #[inline]
    pub fn current_worker(&self) -> Option<WorkerId> {
        worker::with_current(&self.shared, |worker| worker.map(|worker| WorkerId(worker.id)))
    }

    /// Tells this runtime from others.
    pub fn id(&self) -> RuntimeId {
        RuntimeId(Arc::as_ptr(&self.shared).addr())
    }

    /// The strand whose turn this thread is in, if it is one of this runtime.
    pub fn current_strand(&self) -> Option<StrandId> {
        worker::with_current(&self.shared, |worker| {
            Some(StrandId(worker?.slot().strand.load(Relaxed))).filter(|id| id.0 != 0)
        })
    }

    /// Whether this thread is in a turn of this runtime that should end, as
    /// [`Turn::expired`] says it: for code that has no `Turn`, such as a future.
    #[inline]
    pub fn turn_expired(&self) -> bool {
        worker::with_current(&self.shared, |worker| worker.is_some_and(Worker::expired))
    }

    /// Whether this runtime is a [`Simulation`](crate::Simulation).
    pub fn is_simulated(&self) -> bool {
        self.shared.is_simulated()
    }

    /// Whether work from this thread is refused, since the runtime has been shut down.
    #[inline]
    pub fn refuses(&self) -> bool {
        self.shared.accepts().is_err()
    }

    /// Whether the runtime is being shut down, or has been: work is taken only from turns that are still
    /// to finish, and no pause is honoured.
    ///
    /// ```
    /// use kernel::Runtime;
    ///
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// let handle = runtime.handle();
    /// assert!(!handle.is_shutting_down());
    /// runtime.shutdown();
    /// assert!(handle.is_shutting_down());
    /// # Ok::<(), kernel::BuildError>(())
    /// ```
    pub fn is_shutting_down(&self) -> bool {
        self.shared.is_refusing()
    }

    /// Whether the runtime has stopped: nothing gets a turn any more.
    pub fn is_closed(&self) -> bool {
        self.shared.idle.is_closed()
    }

    /// What has settled on this runtime as a `T`; made now if there is none yet.
    #[inline]
    pub fn tenant<T: Tenant>(&self, make: impl FnOnce() -> T) -> &T {
        self.shared.tenants.get(make)
    }

    /// The time since the runtime started; in a simulation, virtual time.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.shared.now())
    }

    /// The time as it was when the turn that this thread is in first asked for it; outside of
    /// turns, the time. It costs less than [`now`](Handle::now) where a turn asks often.
    #[inline]
    pub fn coarse_now(&self) -> Duration {
        worker::with_current(&self.shared, |worker| match worker {
            Some(worker) => Duration::from_nanos(worker.coarse_now()),
            None => self.now(),
        })
    }

    /// A random number, for jitter and the like, not for secrets. In a simulation it comes from the
    /// seed, so that a run can be replayed.
    ///
    /// ```
    /// let roll = |seed| kernel::Runtime::builder().simulate(seed).map(|s| (s.random(), s.random()));
    /// assert_eq!(roll(1)?, roll(1)?);
    /// assert_ne!(roll(1)?, roll(2)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn random(&self) -> u64 {
        self.shared.chance.next()
    }

    /// The order in which it gives turns.
    pub fn discipline(&self) -> Discipline {
        self.shared.config.discipline
    }

    /// How many workers there are.
    pub fn worker_count(&self) -> usize {
        self.shared.slots.len()
    }

    /// What has been done so far, and what waits.
    pub fn metrics(&self) -> Metrics {
        let shared = &self.shared;
        let workers = shared
            .slots
            .iter()
            .map(|slot| slot.counters.read(world::cpu::read(slot.cpu_clock.load(Relaxed))))
            .collect();
        Metrics {
            workers,
            queued: shared.queues.len(),
            timers: shared.timers.len(),
            dropped: shared.dropped.get(),
        }
    }

    /// What each worker is doing. It may do something else the next moment.
    pub fn workers(&self) -> Vec<WorkerState> {
        (0..self.shared.slots.len()).map(|worker| self.state_of(worker)).collect()
    }

    fn state_of(&self, worker: usize) -> WorkerState {
        let slot = &self.shared.slots[worker];
        if slot.is_paused() {
            WorkerState::Paused
        } else if slot.is_in_turn() {
            // It may be parked in it, and wait for a branch.
            WorkerState::Running(self.shared.name_of(slot.strand.load(Relaxed)))
        } else if self.shared.idle.is_parked(worker) {
            WorkerState::Idle
        } else if self.shared.idle.is_closed() {
            WorkerState::Stopped
        } else {
            WorkerState::Searching
        }
    }

    /// The names of what runs.
    pub(crate) fn running(&self) -> Vec<String> {
        self.workers()
            .into_iter()
            .filter_map(|state| match state {
                WorkerState::Running(name) => Some(name),
                _ => None,
            })
            .collect()
    }

    /// Asks a worker to take nothing more. The turn it is in ends first; when it has,
    /// [`workers`](Handle::workers) shows it as paused. What it has queued is left to the others.
    ///
    /// # Errors
    /// If there is no such worker.
    pub fn pause_worker(&self, worker: WorkerId) -> Result<(), NoSuchWorker> {
        let worker = self.shared.worker(worker)?;
        self.shared.slots[worker].ask(PAUSE);
        self.shared.idle.call(worker);
        Ok(())
    }

    /// Lets a paused worker go on.
    ///
    /// # Errors
    /// If there is no such worker.
    pub fn resume_worker(&self, worker: WorkerId) -> Result<(), NoSuchWorker> {
        let worker = self.shared.worker(worker)?;
        let slot = &self.shared.slots[worker];
        slot.unask(PAUSE);
        if let Some(thread) = &*slot.thread.lock() {
            thread.unpark();
        }
        Ok(())
    }

    /// Asks all workers to take nothing more. What is scheduled meanwhile waits.
    pub fn pause(&self) {
        for worker in 0..self.shared.slots.len() {
            self.pause_worker(WorkerId(worker)).expect("it is one of ours");
        }
    }

    /// Lets all workers go on.
    pub fn resume(&self) {
        for worker in 0..self.shared.slots.len() {
            self.resume_worker(WorkerId(worker)).expect("it is one of ours");
        }
    }

    /// Switches the recorder. Off, it costs nothing. Switched on, it begins anew: what was recorded
    /// before is gone.
    pub fn record(&self, on: bool) {
        self.shared.recorder.switch(on);
    }

    /// Gives back the memory of what was recorded, but for some 32 KB per worker. While the recorder is
    /// on, nothing happens.
    ///
    /// ```
    /// let runtime = kernel::Runtime::builder().workers(1).build()?;
    /// runtime.record(true);
    /// runtime.compute(|_| ())?.join()?;
    /// runtime.record(false);
    /// assert!(!runtime.recording().events.is_empty());
    /// runtime.forget_recording();
    /// assert!(runtime.recording().events.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn forget_recording(&self) {
        self.shared.recorder.forget();
    }

    /// Whether the recorder is on.
    pub fn is_recording(&self) -> bool {
        self.shared.recorder.is_on()
    }

    /// What was recorded, in order of time.
    ///
    /// ```
    /// use kernel::{EventKind, Runtime, Step};
    ///
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// runtime.record(true);
    /// let (_, mut join) = runtime.strand().name("till").start(|_| Step::End(()))?;
    /// join.join()?;
    /// let handle = runtime.handle();
    /// runtime.shutdown();
    /// let recording = handle.recording();
    /// let began = recording.events.iter().find(|event| event.kind == EventKind::Run).unwrap();
    /// assert_eq!(recording.name_of(began.strand), "till");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recording(&self) -> Recording {
        self.recording_since(Duration::ZERO)
    }

    /// What was recorded from `since` on, as [`now`](Handle::now) tells the time: for those who look
    /// again and again. Turns that had not ended by then are there with their beginning, unless they
    /// have done thousands of things since.
    pub fn recording_since(&self, since: Duration) -> Recording {
        self.shared.recording(world::nanos(since))
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("name", &self.shared.config.name)
            .field("discipline", &self.shared.config.discipline)
            .field("placement", &self.shared.config.placement)
            .field("workers", &self.shared.slots.len())
            .finish()
    }
}
