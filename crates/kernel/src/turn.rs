//! What a strand or a job may do in its turn.

use std::{
    fmt,
    mem::{self, ManuallyDrop},
    panic,
    sync::Arc,
    time::Duration,
};

use crate::{
    attributes::{Attributes, Rank, WorkerId},
    branch::{Branch, Settled},
    entry::Entry,
    error::ScheduleError,
    panics,
    report::Report,
    runtime::handle::Handle,
    shared::{Place, Shared},
    sharing::Share,
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
    /// It has had its share, and nobody waited.
    alone: bool,
}

impl<'a> Turn<'a> {
    #[inline]
    pub(crate) fn new(worker: &'a Worker, strand: Option<StrandRef>) -> Turn<'a> {
        Turn { worker, strand, target: None, given_back: 0, alone: false }
    }

    /// Whether the turn should end: its quantum is over and others wait, its budget is spent, or
    /// the worker is asked to pause or stop. A load and a count: ask as often as you like.
    ///
    /// A turn that nobody waits behind may go on past its quantum. Others are told within another
    /// quantum after it; one that hardly asks within four, where those that ran before it on all workers
    /// had asked often.
    #[inline]
    pub fn expired(&self) -> bool {
        self.worker.expired()
    }

    /// How much waits on this worker's own deque, where others may steal it. For work that can be
    /// split: as long as something waits there, nobody goes away empty-handed.
    #[inline]
    pub fn near(&self) -> usize {
        self.worker.near_len()
    }

    /// Says whom what this worker leaves on its own deque is meant for. It counts until the worker says
    /// otherwise, or has nothing to do.
    ///
    /// What is [kept](Share::Kept) is so for as long as that is said again: where a worker has not said
    /// it for about a quantum, it counts as stuck in something else, and others may take what waits
    /// there. So say it with each piece of work. Where a [`Placement`](crate::Placement) deals to the
    /// workers, nothing is kept.
    ///
    /// ```
    /// use kernel::{Runtime, Share, Turn};
    ///
    /// let runtime = Runtime::new()?;
    /// runtime.submit(|turn: &mut Turn<'_>| {
    ///     turn.share(Share::Eager);
    ///     turn.submit(|_| { /* large: better begun elsewhere than left until this turn ends */ });
    /// })?;
    /// runtime.shutdown();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn share(&mut self, share: Share) {
        self.worker.share(share);
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

    /// Says that this turn has had its share, by a measure of its own: the operations of a guest
    /// that an engine counts, for example. If others wait, or a timer is due, it is
    /// [`expired`](Turn::expired) from now on.
    ///
    /// A strand that then yields waits with those who have used up a quantum, and whoever wants a
    /// short turn comes before it. To those who wait there each worker gives at least one turn in 62.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use kernel::{Runtime, Step, Turn};
    ///
    /// let mut simulation = Runtime::builder().workers(1).simulate(7)?;
    /// let order = Arc::new(Mutex::new(Vec::new()));
    /// for (name, slices) in [("long", 3), ("short", 1)] {
    ///     let (order, mut left) = (order.clone(), slices);
    ///     simulation.strand().start(move |turn: &mut Turn<'_>| {
    ///         order.lock().unwrap().push(name);
    ///         left -= 1;
    ///         if left == 0 {
    ///             return Step::End(());
    ///         }
    ///         turn.use_up();
    ///         Step::Yield
    ///     })?;
    /// }
    /// simulation.run();
    /// assert_eq!(*order.lock().unwrap(), ["long", "short", "long", "long"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// One that is alone and yields takes its next turn at once, on the same worker.
    pub fn use_up(&mut self) {
        self.alone = self.worker.use_up();
    }

    /// For a strand that has had its share ([`use_up`](Turn::use_up)): whether it takes its next turn here
    /// and now, since it is alone and nothing is asked of it or of its worker. Then it goes on as if it
    /// had yielded and were called again, with another share, which costs less. If not, it yields.
    ///
    /// ```
    /// use kernel::{Runtime, Step, Turn};
    ///
    /// let runtime = Runtime::new()?;
    /// let mut left = 1_000;
    /// let (_, mut join) = runtime.strand().start(move |turn: &mut Turn<'_>| loop {
    ///     left -= 1; // a share of work
    ///     if left == 0 {
    ///         return Step::End("done");
    ///     }
    ///     turn.use_up();
    ///     if !turn.goes_on() {
    ///         return Step::Yield;
    ///     }
    /// })?;
    /// assert_eq!(join.join()?, "done");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn goes_on(&mut self) -> bool {
        let goes_on = self.alone
            && self.target.is_none()
            && self.strand.is_some_and(|strand| !strand.cancelled())
            && self.worker.goes_on_inside();
        self.alone &= !goes_on;
        goes_on
    }

    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.alone
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
        let now = if measured { worker.now() } else { 0 };
        let entry = if measured { stamped(now, job) } else { Entry::job(job) };
        shared.place_in(Some(worker), entry, &rank, Place::Near, now);
        Ok(())
    }

    /// Does two things, at the same time if another worker has nothing to do, and returns both
    /// results.
    ///
    /// `here` runs in this turn. Meanwhile `there` waits on the worker's own deque, where others may
    /// take it; if nobody did, it runs in this turn too, after `here`. Both may borrow from the
    /// caller, and may join in turn: this is how a large piece of work is split over all workers.
    ///
    /// A branch that another worker has taken gets the turn of that worker: its quantum and budget,
    /// and its [`worker`](Turn::worker), but the same [`strand`](Turn::strand). Until it has ended,
    /// this worker runs what it can take from the deques, its own and those of others, inside
    /// of this turn; so keep no lock over a join that others may want in a turn of theirs.
    ///
    /// Where the order of turns is a promise, under every discipline but
    /// [`Stealing`](crate::Discipline::Stealing), both run in this turn, one after the other. In a
    /// [`Simulation`](crate::Simulation) as well, and under `Stealing` the seed says which one goes
    /// first.
    ///
    /// # Panics
    /// If one of the two panics, that panic goes on here as soon as both have ended; if both do,
    /// that of `here`.
    ///
    /// ```
    /// use kernel::{Runtime, Turn};
    ///
    /// fn sum(turn: &mut Turn<'_>, numbers: &[u64]) -> u64 {
    ///     if numbers.len() < 100 {
    ///         return numbers.iter().sum();
    ///     }
    ///     let (left, right) = numbers.split_at(numbers.len() / 2);
    ///     let (left, right) = turn.join(|turn| sum(turn, left), |turn| sum(turn, right));
    ///     left + right
    /// }
    ///
    /// let runtime = Runtime::new()?;
    /// let numbers: Vec<u64> = (1..=10_000).collect();
    /// let mut total = runtime.compute(move |turn| sum(turn, &numbers))?;
    /// assert_eq!(total.join()?, 50_005_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn join<A, B, RA, RB>(&mut self, here: A, there: B) -> (RA, RB)
    where
        A: FnOnce(&mut Turn<'_>) -> RA,
        B: FnOnce(&mut Turn<'_>) -> RB + Send,
        RB: Send,
    {
        let worker = self.worker;
        if !worker.may_fork() {
            return self.join_in_place(here, there);
        }
        // Whoever runs it elsewhere moves it out, and here it is not even moved then.
        let there = ManuallyDrop::new(there);
        let branch = Branch::new(worker, self.strand, &raw const *there);
        // From here on the frame must not be left before the branch is ours or settled.
        let guard = panics::MustNotUnwind;
        // SAFETY: it is the only one, and the frame is there until we have it back, or whoever has
        // it has settled the branch.
        let place = unsafe { worker.fork(branch.head()) };
        let here = panics::catch(|| here(self));
        let ours = worker.reclaim(place) || worker.wait_for(branch.latch()) == Settled::Returned;
        mem::forget(guard);
        if ours {
            let there = ManuallyDrop::into_inner(there);
            match here {
                Ok(here) => (here, there(self)),
                Err(payload) => self.go_on_panicking(payload, there),
            }
        } else {
            // SAFETY: it is done, and its result is taken once.
            both(here, unsafe { branch.result() })
        }
    }

    /// As `join`, where nobody else may take a part in it.
    #[inline(never)]
    fn join_in_place<A, B, RA, RB>(&mut self, here: A, there: B) -> (RA, RB)
    where
        A: FnOnce(&mut Turn<'_>) -> RA,
        B: FnOnce(&mut Turn<'_>) -> RB,
    {
        let (here, there) = if self.worker.reverses_a_join() {
            let there = panics::catch(|| there(self));
            (panics::catch(|| here(self)), there)
        } else {
            let here = panics::catch(|| here(self));
            (here, panics::catch(|| there(self)))
        };
        both(here, there)
    }

    /// One half has panicked: the other one runs all the same.
    #[cold]
    fn go_on_panicking<B, R>(&mut self, payload: panics::Payload, there: B) -> !
    where
        B: FnOnce(&mut Turn<'_>) -> R,
    {
        panics::contain(|| drop(there(self)));
        panic::resume_unwind(payload)
    }

    /// A turn of the same worker for a branch of `strand`'s turn.
    pub(crate) fn lend_to<R>(
        &mut self,
        strand: Option<StrandRef>,
        branch: impl FnOnce(&mut Turn<'_>) -> R,
    ) -> R {
        let mut turn = Turn::new(self.worker, strand);
        let result = branch(&mut turn);
        if let Some(target) = turn.take_target() {
            // It is not the strand's own worker that ends this turn: a wake is enough.
            target.0.wake();
        }
        result
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

    /// The time by this worker's own clock, which costs less than [`now`](Turn::now) and may differ from
    /// it by some tens of nanoseconds: for what lies between two readings of one turn.
    ///
    /// ```
    /// let runtime = kernel::Runtime::new()?;
    /// let mut took = runtime.compute(|turn| {
    ///     let began = turn.worker_now();
    ///     std::hint::black_box((1..=1_000).sum::<u64>());
    ///     turn.worker_now() - began // never below zero
    /// })?;
    /// assert!(took.join()? < std::time::Duration::from_secs(60));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn worker_now(&self) -> Duration {
        Duration::from_nanos(self.worker.now())
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
        let worker = self.worker;
        worker.ticks.not_before(since);
        let began = worker.began_after(since).unwrap_or_else(|| worker.now());
        worker.slot().counters.waiting.note(began.saturating_sub(since));
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

/// The results of both halves, or the panic of the first that did.
fn both<A, B>(here: Result<A, panics::Payload>, there: Result<B, panics::Payload>) -> (A, B) {
    match (here, there) {
        (Ok(here), Ok(there)) => (here, there),
        (Err(payload), other) => {
            panics::contain(|| drop(other));
            panic::resume_unwind(payload)
        }
        (here, Err(payload)) => {
            panics::contain(|| drop(here));
            panic::resume_unwind(payload)
        }
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
    let now = if measured { worker.now() } else { 0 };
    let entry = if measured { stamped(now, job) } else { Entry::job(job) };
    // An affinity that names no worker of ours, or panics, was an error at the first
    // `Handle::submit`; here nobody could be told, and anyone may run it.
    let rank = match panics::catch(|| shared.rank(&Attributes::default())) {
        Ok(rank) => rank.unwrap_or_default(),
        Err(payload) => {
            panics::discard(payload);
            Rank::default()
        }
    };
    shared.place_in(Some(worker), entry, &rank, Place::Near, now);
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
