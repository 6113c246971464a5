//! The runtime as all its threads see it: where entries are placed, and who is told.
//!
//! The life of a wake: [`Shared::wake`] steps the strand's word; if that owes a push,
//! [`Shared::place_in`] chooses a queue (the worker's own deque, the global queue or an inbox),
//! pushes, and follows rule 1 of [`crate::idle`]. The word changes first, the queue second.

use std::{collections::HashMap, ptr, sync::Arc, time::Duration};

use crossbeam_utils::CachePadded;

use crate::{
    attributes::{Attributes, Home, Rank, WorkerId},
    entry::Entry,
    error::{NoSuchWorker, ScheduleError},
    idle::Idle,
    lease::Leases,
    metrics::Count,
    placement::Placement,
    queue::{Discipline, Queue, Queues},
    record::{EventKind, Note, Recorder, Recording},
    report::{Observer, Report, Reporter, WorkerChange},
    sim::events::Events,
    slot::Slot,
    stock::Store,
    strand::{StrandId, StrandRef, join::Joiners, state::Wake},
    sync::{
        self, Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    tenant::Tenants,
    timer::Timers,
    vigil::Vigil,
    worker::{self, Worker},
    world::{Clock, Nanos, SharedDice},
};

sync::thread_cell! {
    /// The runtime whose queues this thread empties.
    static EMPTYING: *const Shared = ptr::null();
}

/// What the builder has checked.
pub(crate) struct Config {
    pub(crate) discipline: Discipline,
    pub(crate) placement: Placement,
    pub(crate) quantum: Nanos,
    pub(crate) budget: u64,
    pub(crate) name: String,
    /// For [`Shared::chance`].
    pub(crate) seed: u64,
}

pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) queues: Queues,
    pub(crate) idle: CachePadded<Idle>,
    pub(crate) slots: Vec<Arc<CachePadded<Slot>>>,
    pub(crate) vigil: CachePadded<Vigil>,
    pub(crate) clock: Clock,
    pub(crate) chance: SharedDice,
    pub(crate) timers: Timers,
    pub(crate) recorder: Recorder,
    pub(crate) leases: CachePadded<Leases>,
    pub(crate) store: CachePadded<Store>,
    pub(crate) joiners: Joiners,
    /// In a simulation: what will happen at its time. Before the tenants: it may be about theirs.
    pub(crate) events: Option<Mutex<Events>>,
    /// After the queues: what is left there may need them.
    pub(crate) tenants: Tenants,
    pub(crate) reporter: Reporter,
    /// Who is told of changes of workers.
    pub(crate) observer: Option<Observer>,
    /// No more work is taken from outside.
    refusing: AtomicBool,
    /// The names of strands that have one.
    pub(crate) names: Mutex<HashMap<StrandId, Box<str>>>,
    next_id: AtomicU64,
    /// For placements that deal in turn.
    next_worker: AtomicUsize,
    pub(crate) dropped: Count,
}

/// Where in line an entry goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Near the worker that placed it, where the discipline has such a place, within its quantum.
    Near,
    /// As `Near`, also when the quantum is spent: a new strand stays with its maker, whose turn may
    /// make many more, and joins the line with what else lies there when that turn is over. Until
    /// then thieves come for it once they have served the line.
    New,
    /// Behind all that wait.
    Back,
    /// Behind all who have used up a quantum, where the discipline has such a place.
    Spent,
}

impl Shared {
    pub(crate) fn new(
        config: Config,
        queues: Queues,
        clock: Clock,
        recorder: Recorder,
        reporter: Reporter,
        workers: usize,
        events: Option<Mutex<Events>>,
    ) -> Shared {
        Shared {
            chance: SharedDice::seeded(config.seed),
            config,
            queues,
            idle: CachePadded::new(Idle::new(workers)),
            slots: (0..workers).map(|_| Arc::default()).collect(),
            vigil: CachePadded::default(),
            clock,
            timers: Timers::default(),
            recorder,
            leases: CachePadded::default(),
            store: CachePadded::new(Store::new()),
            joiners: Joiners::default(),
            tenants: Tenants::default(),
            reporter,
            observer: None,
            events,
            refusing: AtomicBool::new(false),
            names: Mutex::new(HashMap::new()),
            next_id: AtomicU64::new(1),
            next_worker: AtomicUsize::new(0),
            dropped: Count::default(),
        }
    }

    /// Whether work is taken from the calling thread: after shutdown, only from turns that are
    /// still to finish.
    #[inline]
    pub(crate) fn accepts(&self) -> Result<(), ScheduleError> {
        if !self.refusing.load(Relaxed) || (self.on_worker() && !self.idle.is_closed()) {
            Ok(())
        } else {
            Err(ScheduleError::Stopped)
        }
    }

    pub(crate) fn is_refusing(&self) -> bool {
        self.refusing.load(Relaxed)
    }

    pub(crate) fn refuse(&self) {
        self.refusing.store(true, Relaxed);
    }

    /// Whether this thread is in a turn of ours, be it that a simulation runs inside of it.
    pub(crate) fn on_worker(&self) -> bool {
        worker::is_inside(ptr::from_ref(self).addr())
    }

    pub(crate) fn is_simulated(&self) -> bool {
        self.events.is_some()
    }

    /// The time; inside a simulated turn, the time that turn has come to.
    pub(crate) fn now(&self) -> Nanos {
        let now = self.clock.now();
        if self.is_simulated() {
            now + worker::with_current(self, |worker| worker.map_or(0, Worker::turn_nanos))
        } else {
            now
        }
    }

    /// Wakes a strand, and places its entry if one is owed.
    #[inline]
    pub(crate) fn wake(&self, strand: StrandRef) {
        worker::with_current(self, |worker| {
            if let Some(events) = &self.events
                && let Some(at) = self.later(worker)
            {
                return events.lock().wake_at(at, worker.map(|w| w.id), strand.handle());
            }
            if strand.state().wake() == Wake::Push {
                self.queue(worker, strand, Place::Near);
            }
        });
    }

    /// Places the entry that a strand is owed.
    #[inline]
    pub(crate) fn queue(&self, worker: Option<&Worker>, strand: StrandRef, place: Place) {
        self.stamp(worker, strand);
        match worker {
            Some(worker) if worker.pushes_plainly_to(place) && !self.recorder.is_on() => {
                worker.slot().counters.wakes.add(1);
                worker.push_strand_near(strand);
                self.placed_near();
            }
            _ => self.queue_with_care(worker, strand, place),
        }
    }

    #[inline(never)]
    fn queue_with_care(&self, worker: Option<&Worker>, strand: StrandRef, place: Place) {
        // A copy: once its entry is placed, the strand may be run and freed by another worker.
        let rank = strand.header().rank();
        self.place_in(worker, Entry::strand(strand), &rank, place, 0);
    }

    /// Whether a job from this thread goes to the global queue with nothing else to be done about
    /// it: this is no worker, and nothing is dealt.
    #[inline(always)]
    pub(crate) fn pushes_plainly_from_outside(&self) -> bool {
        self.queues.inboxes.is_empty() && worker::is_outside()
    }

    /// Places an entry of which nothing is said. It is made when its place is known, so that it
    /// is written there and nowhere before.
    #[inline(always)]
    pub(crate) fn push_to_global(&self, entry: impl FnOnce() -> Entry) {
        let Queue::Fifo(line) = &*self.queues.global else {
            self.queues.global.push(entry(), &Rank::default());
            return self.placed();
        };
        let spot = line.claim();
        let call = self.idle.claimed();
        spot.fill(entry());
        if call && self.idle.call_for_help(|| self.clock.now()) {
            self.drop_all();
        }
    }

    /// Rule 1 of the idle protocol: something was placed where everyone looks.
    #[inline(always)]
    pub(crate) fn placed(&self) {
        if self.idle.placed(|| self.clock.now()) {
            self.drop_all();
        }
    }

    /// Rule 5 of the idle protocol: a worker at work has placed something.
    #[inline(always)]
    pub(crate) fn placed_near(&self) {
        if self.idle.placed_near(|| self.clock.now()) {
            self.drop_all();
        }
    }

    /// Whether the monitor has something to watch: somebody is in a turn, or something waits that
    /// somebody could run.
    pub(crate) fn is_busy(&self) -> bool {
        self.slots.iter().any(|slot| slot.is_in_turn())
            || (!self.queues.all_empty() && self.slots.iter().any(|slot| !slot.is_paused()))
    }

    /// Whether something waits in this worker's own deque or inbox.
    pub(crate) fn has_own_entries(&self, worker: usize) -> bool {
        self.queues.inboxes.get(worker).is_some_and(|inbox| !inbox.is_empty())
            || self.queues.stealers.get(worker).is_some_and(|deque| !deque.is_empty())
    }

    /// Whether something waits that any worker would take or steal.
    pub(crate) fn has_entries_for_all(&self) -> bool {
        let queues = &self.queues;
        !queues.lines_are_empty()
            || queues.spent.as_ref().is_some_and(|spent| !spent.is_empty())
            || self.somebody_offers()
            || (queues.inboxes.iter().zip(&self.slots))
                .any(|(inbox, slot)| !inbox.is_empty() && slot.is_occupied())
    }

    /// Whether something waits on the deque of a worker that does not keep it.
    pub(crate) fn somebody_offers(&self) -> bool {
        let mut both = self.queues.stealers.iter().zip(&self.slots);
        both.any(|(deque, slot)| !deque.is_empty() && !slot.sharing.is_kept())
    }

    /// In a simulated turn that has used time: when what it does now really happens.
    fn later(&self, worker: Option<&Worker>) -> Option<Nanos> {
        match worker.map_or(0, Worker::turn_nanos) {
            0 => None,
            spent => Some(self.clock.now() + spent),
        }
    }

    /// Places an entry; `worker` is the one that this thread runs, if any. A job that is recorded says
    /// since when it waits.
    #[inline]
    pub(crate) fn place_in(
        &self,
        worker: Option<&Worker>,
        entry: Entry,
        rank: &Rank,
        place: Place,
        since: Nanos,
    ) {
        if let Some(events) = &self.events
            && let Some(at) = self.later(worker)
        {
            return events.lock().place_at(at, worker.map(|w| w.id), entry, *rank, place);
        }
        if self.recorder.is_on() {
            self.record_wake(worker, entry.peek(), since);
        }
        let near = worker.filter(|worker| {
            worker.slot().counters.wakes.add(1);
            worker.keeps(place) && rank.home.is_none_or(|home| home.worker() == worker.id)
        });
        if let Some(worker) = near {
            worker.push_near(entry);
        } else if place == Place::Spent && self.queues.inboxes.is_empty() {
            self.queues.spent.as_ref().unwrap_or(&self.queues.global).push(entry, rank);
        } else if self.queues.inboxes.is_empty() {
            self.queues.global.push(entry, rank);
        } else {
            return self.deal(entry, rank);
        }
        // With inboxes a worker is in a turn from turn to turn only, which rule 5 can not rely on.
        if worker.is_some() && self.queues.inboxes.is_empty() {
            self.placed_near();
        } else {
            self.placed();
        }
    }

    /// Notes when a strand was queued, for one wait in so many.
    #[inline]
    pub(crate) fn stamp(&self, worker: Option<&Worker>, strand: StrandRef) {
        if worker::sampled(worker) {
            self.stamp_now(strand);
        }
    }

    #[cold]
    fn stamp_now(&self, strand: StrandRef) {
        strand.header().queued_at.store(self.now().max(1), Relaxed);
    }

    /// Records that an entry is about to be placed, and notes the time with its strand. A job has
    /// noted it itself.
    #[cold]
    pub(crate) fn record_wake(
        &self,
        worker: Option<&Worker>,
        strand: Option<StrandRef>,
        since: Nanos,
    ) {
        let note = move |at: Nanos| {
            if let Some(strand) = strand {
                strand.header().queued_at.store(at.max(1), Relaxed);
            }
            Note::new(at, EventKind::Wake, strand.map(|strand| strand.header().id))
        };
        match worker {
            Some(worker) => worker.write(note(if since == 0 { worker.now() } else { since })),
            None => {
                let now = move || if since == 0 { self.now() } else { since };
                self.recorder.write_outside(now, note);
            }
        }
    }

    /// What was recorded from `since` on.
    pub(crate) fn recording(&self, since: Nanos) -> Recording {
        let origin = match &self.clock {
            Clock::Real(start) => Some(*start),
            Clock::Virtual(_) => None,
        };
        let recording = self.recorder.read(since, &self.names);
        // A simulated turn in progress has recorded its end.
        let last = recording.events.last().map_or(Duration::ZERO, |event| event.at);
        Recording { until: last.max(Duration::from_nanos(self.now())), origin, ..recording }
    }

    /// Deals an entry to the inbox of the worker that the placement chooses.
    fn deal(&self, entry: Entry, rank: &Rank) {
        let chosen = self.choose(rank);
        self.queues.inboxes[chosen].push(entry, rank);
        let occupied = || self.slots[chosen].is_occupied();
        if self.idle.placed_for(chosen, occupied, || self.clock.now()) {
            self.drop_all();
        }
    }

    fn choose(&self, rank: &Rank) -> usize {
        let workers = self.slots.len();
        let in_turn = || self.next_worker.fetch_add(1, Relaxed) % workers;
        match &self.config.placement {
            Placement::Any | Placement::RoundRobin => in_turn(),
            Placement::LeastLoaded => self.least(|worker| (self.load(worker), 0)),
            Placement::Fastest => self.least(|worker| {
                let average = self.slots[worker].average.load(Relaxed);
                match self.load(worker) {
                    0 => (0, average),
                    load => (1, (load as u64 + 1).saturating_mul(average.max(1))),
                }
            }),
            Placement::Affinity(_) => match rank.home {
                Some(home) if !self.slots[home.worker()].is_paused() => home.worker(),
                _ => self.least(|worker| (self.load(worker), 0)),
            },
            Placement::IdleFirst => self.an_idle_worker().unwrap_or_else(in_turn),
        }
    }

    /// The worker that is not paused and has the least of `weight`; among equals, one after the
    /// other.
    fn least(&self, weight: impl Fn(usize) -> (usize, u64)) -> usize {
        let workers = self.slots.len();
        let first = self.next_worker.fetch_add(1, Relaxed) % workers;
        (0..workers)
            .map(|i| (first + i) % workers)
            .min_by_key(|worker| (self.slots[*worker].is_paused(), weight(*worker)))
            .expect("a runtime has at least one worker")
    }

    /// What a worker has to do now.
    fn load(&self, worker: usize) -> usize {
        self.queues.inboxes[worker].len()
            + self.queues.stealers.get(worker).map_or(0, |deque| deque.len())
            + usize::from(self.slots[worker].is_in_turn())
    }

    fn an_idle_worker(&self) -> Option<usize> {
        if self.is_simulated() {
            return (0..self.slots.len())
                .find(|w| !self.slots[*w].is_occupied() && self.queues.inboxes[*w].is_empty());
        }
        self.idle.parked()
    }

    /// Checks attributes, and asks the affinity where this one is at home.
    pub(crate) fn rank(&self, attributes: &Attributes) -> Result<Rank, ScheduleError> {
        attributes.check()?;
        let home = match &self.config.placement {
            Placement::Affinity(choose) => match choose(attributes) {
                Some(worker) => {
                    Some(Home::at(self.worker(worker).map_err(ScheduleError::NoSuchWorker)?))
                }
                None => None,
            },
            _ => None,
        };
        Ok(Rank { priority: attributes.priority, level: attributes.level, home })
    }

    pub(crate) fn worker(&self, worker: WorkerId) -> Result<usize, NoSuchWorker> {
        if worker.0 < self.slots.len() {
            Ok(worker.0)
        } else {
            Err(NoSuchWorker { worker, workers: self.slots.len() })
        }
    }

    /// An id for a new strand, and its name if it has one.
    #[inline]
    pub(crate) fn enlist(&self, name: Option<&str>) -> StrandId {
        let id = worker::with_current(self, |worker| match worker {
            // Each worker numbers its own, so that spawning shares nothing.
            Some(worker) => StrandId((worker.id as u64 + 1) << 40 | worker.next_number()),
            None => StrandId(self.next_id.fetch_add(1, Relaxed)),
        });
        if let Some(name) = name {
            self.note_name(id, name);
        }
        if self.recorder.is_on() {
            self.record_spawn(id);
        }
        id
    }

    #[cold]
    fn note_name(&self, id: StrandId, name: &str) {
        self.names.lock().insert(id, name.into());
    }

    #[cold]
    fn record_spawn(&self, id: StrandId) {
        let note = |at| Note::new(at, EventKind::Spawn, Some(id));
        worker::with_current(self, |worker| match worker {
            Some(worker) => worker.write(note(worker.now())),
            None => self.recorder.write_outside(|| self.now(), note),
        });
    }

    /// A named strand is gone.
    pub(crate) fn strike(&self, id: StrandId) {
        let name = self.names.lock().remove(&id);
        if let Some(name) = name.filter(|_| self.recorder.is_on()) {
            self.recorder.keep_name(id, name);
        }
    }

    /// What to call a strand; 0 is a job.
    pub(crate) fn name_of(&self, id: u64) -> String {
        if id == 0 {
            return "job".to_owned();
        }
        match self.names.lock().get(&StrandId(id)) {
            Some(name) => name.to_string(),
            None => format!("strand {id}"),
        }
    }

    pub(crate) fn report(&self, report: Report) {
        // A reporter that panics must not take a worker with it.
        crate::panics::contain(|| (self.reporter)(&report));
    }

    /// Tells whoever wants to know what has become of a worker.
    pub(crate) fn tell(&self, worker: usize, change: WorkerChange) {
        if let Some(observer) = &self.observer {
            crate::panics::contain(|| observer(WorkerId(worker), change));
        }
        self.tenants.worker_changed(WorkerId(worker), change);
    }

    /// The runtime has stopped: nothing that waits will run any more.
    #[cold]
    pub(crate) fn drop_all(&self) {
        // What a drop places is taken by the loop that is further out: a chain of drops that wake
        // others would use up the stack.
        let outer = EMPTYING.with(|emptying| emptying.replace(self));
        if !ptr::eq(outer, self) {
            while let Some(entry) = self.queues.take_any() {
                self.let_go(entry);
            }
        }
        EMPTYING.with(|emptying| emptying.set(outer));
    }

    /// Drops an entry that nobody will run. A branch goes back to its joiner instead.
    pub(crate) fn let_go(&self, entry: Entry) {
        if !entry.is_branch() {
            self.dropped.add_shared(1);
        }
        drop(entry);
    }

    /// Brings a worker out, wherever in its waiting it is.
    #[cold]
    pub(crate) fn bring_out(&self, worker: usize) {
        self.idle.call(worker);
        if let Some(thread) = &*self.slots[worker].thread.lock() {
            thread.unpark();
        }
    }
}
