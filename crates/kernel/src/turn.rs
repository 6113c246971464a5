//! What a strand or a job may do in its turn.

use std::{fmt, sync::Arc, time::Duration};

use crate::{
    attributes::{Attributes, WorkerId},
    entry::Entry,
    error::ScheduleError,
    panics,
    report::Report,
    runtime::handle::Handle,
    shared::{Place, Shared},
    strand::{Strand, StrandRef},
    sync::atomic::Ordering::Relaxed,
    worker::{self, Worker},
    world,
};

/// Virtual nanoseconds per operation spent in a simulated turn.
pub(crate) const NANOS_PER_OPERATION: u64 = 1;

/// One exclusive run of a strand or a job on a worker.
///
/// A turn ends when the body returns; nothing takes it away. So that nobody else waits too long,
/// long work looks at [`expired`](Turn::expired) now and then, and yields.
pub struct Turn<'a> {
    worker: &'a Worker,
    strand: Option<StrandRef>,
    target: Option<Strand>,
    /// Handles that the strand gives back with its end.
    given_back: u32,
}

impl<'a> Turn<'a> {
    #[inline]
    pub(crate) fn new(worker: &'a Worker, strand: Option<StrandRef>) -> Turn<'a> {
        Turn { worker, strand, target: None, given_back: 0 }
    }

    /// Whether the turn should end: its quantum is over and others wait, its budget is spent, or
    /// the worker is asked to pause or stop. A load and a count: ask as often as you like.
    ///
    /// A turn that nobody waits behind may go on past its quantum.
    #[inline]
    pub fn expired(&self) -> bool {
        self.worker.expired()
    }

    /// Whether something waits on this worker's own deque, which others may steal. For work that
    /// can be split: as long as something waits there, nobody goes away empty-handed.
    #[inline]
    pub fn has_near(&self) -> bool {
        self.worker.has_near()
    }

    /// Counts operations against the budget of the turn. In a simulation each also takes a
    /// nanosecond of virtual time, so that quanta end there too.
    #[inline]
    pub fn spend(&mut self, operations: u64) {
        let worker = self.worker;
        let spent = worker.spent.get().saturating_add(operations);
        worker.spent.set(spent);
        if spent >= worker.shared.config.budget {
            worker.slot().expired.store(true, Relaxed);
        }
        if worker.shared.is_simulated() {
            worker.pass(operations.saturating_mul(NANOS_PER_OPERATION));
        }
    }

    /// In a simulation, lets virtual time pass, as if this turn had worked for so long. On real
    /// threads it does nothing: there work takes its own time.
    pub fn simulate(&mut self, work: Duration) {
        if self.worker.shared.is_simulated() {
            self.worker.pass(world::nanos(work));
        }
    }

    /// Submits a job from inside a turn: the cheapest way to spawn.
    ///
    /// A runtime that is being shut down still runs it, since this turn belongs to what it
    /// finishes; after a deadline it is dropped.
    #[inline]
    pub fn submit(&mut self, job: impl FnOnce(&mut Turn<'_>) + Send + 'static) {
        let worker = self.worker;
        let measured = worker::sampled(Some(worker)) || worker.shared.recorder.is_on();
        if measured || !worker.pushes_plainly() {
            return submit_with_care(worker, job, measured);
        }
        worker.slot().counters.wakes.add(1);
        worker.push_near(Entry::job(job));
        worker.shared.placed_near();
    }

    /// As [`submit`](Turn::submit), with a priority, a level or a key.
    ///
    /// # Errors
    /// If the priority is not finite, or the affinity names no worker.
    pub fn submit_with(
        &mut self,
        attributes: Attributes,
        job: impl FnOnce(&mut Turn<'_>) + Send + 'static,
    ) -> Result<(), ScheduleError> {
        let worker = self.worker;
        let shared = &worker.shared;
        let rank = shared.rank(&attributes)?;
        let measured = worker::sampled(Some(worker)) || shared.recorder.is_on();
        let entry = if measured { stamped(shared.now(), job) } else { Entry::job(job) };
        shared.place_in(Some(worker), entry, &rank, Place::Near);
        Ok(())
    }

    /// Names the strand that this worker runs next.
    ///
    /// It takes effect at the end of this turn. If the target is idle or queued it then runs
    /// here, within what is left of the quantum, and no queue is touched; if it is running
    /// elsewhere this was a wake, and if it has ended, nothing. Once the quantum is spent, and
    /// under every discipline but [`Stealing`](crate::Discipline::Stealing), whose order others
    /// rely on, a hand-off is a wake. A second one in the same turn makes the first a wake.
    ///
    /// ```
    /// use kernel::{Runtime, Step};
    ///
    /// let runtime = Runtime::builder().workers(1).build()?;
    /// let (target, mut last) = runtime.strand().name("target").idle(|_| Step::End("handed to"))?;
    /// let (_, mut first) = runtime.strand().name("sender").start(move |turn| {
    ///     turn.hand_off(&target);
    ///     Step::End("handed off")
    /// })?;
    /// assert_eq!(first.join()?, "handed off");
    /// assert_eq!(last.join()?, "handed to");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hand_off(&mut self, target: &Strand) {
        if let Some(earlier) = self.target.replace(target.clone()) {
            let _ = earlier.wake();
        }
    }

    #[inline]
    pub(crate) fn give_back(&mut self, handles: u32) {
        self.given_back = handles;
    }

    #[inline]
    pub(crate) fn given_back(&self) -> u32 {
        self.given_back
    }

    #[inline]
    pub(crate) fn take_target(&mut self) -> Option<Strand> {
        self.target.take()
    }

    /// Which worker this is.
    pub fn worker(&self) -> WorkerId {
        WorkerId(self.worker.id)
    }

    /// A handle of the runtime.
    pub fn handle(&self) -> Handle {
        Handle::new(self.worker.shared.clone())
    }

    /// A handle of the strand whose turn this is; `None` for a job.
    pub fn strand(&self) -> Option<Strand> {
        self.strand.map(StrandRef::handle)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.worker.shared
    }

    #[inline]
    pub(crate) fn strand_ref(&self) -> Option<StrandRef> {
        self.strand
    }

    /// Whether [`Strand::cancel`] or [`Strand::abort`] was called for this strand.
    pub fn cancelled(&self) -> bool {
        self.strand.is_some_and(StrandRef::cancelled)
    }

    /// The time since the runtime started; in a simulation, virtual time with what this turn has
    /// spent so far.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.nanos())
    }

    /// Does the rest of what a turn does to others. On real threads that is now.
    ///
    /// A simulated turn runs at once, but lasts in virtual time; what it writes to shared memory
    /// would be seen by others too early. So there `rest` is called when the clock has come to
    /// where this turn is now: still on this worker, and it should spend nothing more.
    ///
    /// ```
    /// use std::{sync::{Arc, Mutex}, time::Duration};
    ///
    /// let mut simulation = kernel::Runtime::builder().workers(2).simulate(7)?;
    /// let ended = Arc::new(Mutex::new(Vec::new()));
    /// for millis in [20, 10] {
    ///     let ended = ended.clone();
    ///     simulation.submit(move |turn| {
    ///         turn.simulate(Duration::from_millis(millis));
    ///         turn.later(move |_| ended.lock().unwrap().push(millis));
    ///     })?;
    /// }
    /// simulation.run();
    /// assert_eq!(*ended.lock().unwrap(), [10, 20]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn later(&mut self, rest: impl FnOnce(&mut Turn<'_>) + Send + 'static) {
        let worker = self.worker;
        match &worker.shared.events {
            Some(events) if worker.turn_nanos() > 0 => {
                events.lock().call_at(self.nanos(), worker.id, Box::new(rest));
            }
            _ => rest(self),
        }
    }

    /// The clock's time, and what this turn has spent since it started.
    fn nanos(&self) -> world::Nanos {
        self.worker.shared.clock.now().saturating_add(self.worker.turn_nanos())
    }

    pub(crate) fn note_wait(&self, since: world::Nanos) {
        let waited = self.worker.shared.now().saturating_sub(since);
        self.worker.slot().counters.waiting.note(waited);
    }

    #[cold]
    pub(crate) fn note_panic(&self, payload: &panics::Payload) {
        self.worker.slot().counters.panics.add(1);
        self.worker.shared.report(Report::Panicked {
            name: self.strand.map_or_else(|| "job".to_owned(), StrandRef::label),
            worker: self.worker(),
            text: panics::text(payload),
        });
    }
}

/// A job that is measured, recorded or simulated, or that goes to the back.
#[inline(never)]
fn submit_with_care(
    worker: &Worker,
    job: impl FnOnce(&mut Turn<'_>) + Send + 'static,
    measured: bool,
) {
    let shared = &worker.shared;
    let entry = if measured { stamped(shared.now(), job) } else { Entry::job(job) };
    // An affinity that names no worker of ours was an error at the first `Handle::submit`; here
    // nobody could be told, and anyone may run it.
    let rank = shared.rank(&Attributes::default()).unwrap_or_default();
    shared.place_in(Some(worker), entry, &rank, Place::Near);
}

/// A job whose waiting time is measured.
#[cold]
pub(crate) fn stamped(
    now: world::Nanos,
    job: impl FnOnce(&mut Turn<'_>) + Send + 'static,
) -> Entry {
    Entry::job(move |turn: &mut Turn<'_>| {
        turn.note_wait(now);
        job(turn);
    })
}

impl fmt::Debug for Turn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn")
            .field("worker", &self.worker.id)
            .field("strand", &self.strand.map(StrandRef::label))
            .field("expired", &self.expired())
            .finish()
    }
}
