//! A worker: what it runs next, and how a turn begins and ends.
//!
//! A stretch of turns that share one quantum is a *window*. Under `Stealing` a strand that was
//! popped from the near end of the worker's own deque, or that got its turn by a hand-off, stays
//! in the window of the one before it; what comes from anywhere else opens a new one. Once the
//! window's quantum is spent, wakes go to the back, no hand-off is honoured, what waits on the
//! worker's own deque joins the line, and the worker serves the head of it. So strands that wake
//! or hand off to each other can not starve a third.

mod branches;
pub(crate) mod held;
mod kept;
pub(crate) mod look;
pub(crate) mod next;
mod search;
mod turns;

pub(crate) use turns::{Begun, Ended};

use std::{
    cell::{Cell, RefCell},
    ptr,
    sync::Arc,
};

use crossbeam_utils::CachePadded;

use crate::{
    entry::Entry,
    lease::{self, LEASES, LEASES_MAX, Lease},
    metrics::SAMPLE,
    panics,
    placement::Placement,
    queue::{Discipline, deque::Deque},
    record::{EventKind, Note, Writer},
    report::WorkerChange,
    shared::{Place, Shared},
    sharing::Share,
    slot::{PAUSE, STOP, Slot},
    stock::{Stock, Store},
    strand::{StrandId, StrandRef},
    sync::{
        self,
        atomic::{AtomicPtr, Ordering::Relaxed},
        thread,
    },
    ticks::Ticks,
    world::{Dice, Nanos},
};

sync::thread_cell! {
    /// The worker whose turn this thread is in.
    static CURRENT: *const Worker = ptr::null();
    /// Counts what threads that are no workers place.
    static OUTSIDE: u64 = 0;
}

pub(crate) struct Worker {
    /// Goes before the runtime, which then drops what is left there while its tenants are.
    deque: Deque<Entry>,
    pub(crate) shared: Arc<Shared>,
    /// Ours of `shared.slots`.
    slot: Arc<CachePadded<Slot>>,
    pub(crate) id: usize,
    dice: RefCell<Dice>,
    stealing: bool,
    /// Whether a turn may leave branches to others.
    forks: bool,
    has_inbox: bool,
    /// What this worker makes or wakes goes to its own deque with nothing else to be done about it, within
    /// the quantum: nothing is dealt, no time is simulated.
    plain: bool,
    /// Every turn is timed, not one in so many.
    exact: bool,
    /// How many entries on the deque our own turns have put there; those below came as a batch.
    /// Too high where thieves took some of them.
    near: Cell<usize>,
    /// Batches taken from lines, and whose back line to take from, since it is longer than ours.
    batches: Cell<u32>,
    helps: Cell<Option<usize>>,
    /// How often we went to the line, and who was kept from what waits there, and in which window.
    asides: Cell<u32>,
    kept: Cell<Option<(usize, u64)>>,
    /// Turns until the global queue comes first.
    countdown: Cell<u32>,
    /// How often it has.
    looks: Cell<u32>,
    /// Its own oldest entry comes half-way to the next time.
    owes_oldest: Cell<bool>,
    /// Operations spent in this window.
    pub(crate) spent: Cell<u64>,
    /// Virtual time used by this turn, and by this window: only in simulations.
    turn_nanos: Cell<Nanos>,
    window_nanos: Cell<Nanos>,
    /// Whether the window was opened for the turn that is next or now, or this turn has had a share
    /// of its own.
    fresh: Cell<bool>,
    /// Virtual time used by others since one who has used up a quantum was served.
    favoured: Cell<Nanos>,
    /// A strand that this turn has claimed, to run next. Its turn is ours.
    held: Cell<Option<StrandRef>>,
    /// Turns that are nested in the one that this worker is in, while it waits for a branch.
    inside: Cell<u32>,
    /// Whose turn on this thread we are nested in: a simulation inside a turn.
    outer: AtomicPtr<Worker>,
    /// Leases for new strands. Half a word: a whole one beside the stock's flag is counted together with
    /// it, in 16 bytes, and so wide a read waits for the narrow writes before it.
    leases: Cell<u32>,
    stock: Stock,
    /// The turn that last asked for the coarse time, and what it was told.
    coarse: Cell<(u64, Nanos)>,
    /// Questions whether the turn should end, until we look at the clock.
    questions: Cell<u32>,
    looked: Cell<look::Looked>,
    /// The pace of the deque that we last left alone, see [`Worker::steal`].
    pace: Cell<usize>,
    /// When it last came out of parking.
    unparked_at: Cell<Nanos>,
    numbers: Cell<u64>,
    placed: Cell<u64>,
    pub(crate) ticks: Ticks,
    /// Writes what is recorded of us, unless this is a simulation.
    log: RefCell<Option<Writer>>,
    /// The last event since a recorded turn has ended, as long as what runs next was this worker's by
    /// then: its turn begins at that moment. 0: ask the clock.
    moment: Cell<Nanos>,
}

/// Calls `user` with the worker of `shared` that this thread is in a turn of, if any.
#[inline]
pub(crate) fn with_current<R>(shared: &Shared, user: impl FnOnce(Option<&Worker>) -> R) -> R {
    let current = CURRENT.with(Cell::get);
    // SAFETY: `Worker::enter` sets the pointer on this thread and takes it back before the
    // worker goes, so while it is set it points to a worker that only this thread uses.
    let worker = unsafe { current.as_ref() };
    user(worker.filter(|worker| ptr::eq(Arc::as_ptr(&worker.shared), shared)))
}

/// Whether this thread is in a turn of the runtime whose shared part lies at this address, also one that
/// another runtime's turn is nested in.
pub(crate) fn is_inside(shared: usize) -> bool {
    let mut current = CURRENT.with(Cell::get);
    // SAFETY: as in `with_current`; whoever is outside of the current worker waits for it.
    while let Some(worker) = unsafe { current.as_ref() } {
        if Arc::as_ptr(&worker.shared).addr() == shared {
            return true;
        }
        current = worker.outer.load(Relaxed);
    }
    false
}

/// Whether this thread is in a turn of `shared` that was told to end.
pub(crate) fn is_in_expired_turn(shared: &Shared) -> bool {
    with_current(shared, |worker| worker.is_some_and(|worker| worker.slot().expired.load(Relaxed)))
}

/// Whether this thread is in no turn at all.
#[inline(always)]
pub(crate) fn is_outside() -> bool {
    CURRENT.with(Cell::get).is_null()
}

/// Whether this is one of those that are measured.
#[inline(always)]
pub(crate) fn sampled(worker: Option<&Worker>) -> bool {
    let next = |count: &Cell<u64>| {
        count.set(count.get().wrapping_add(1));
        count.get().is_multiple_of(SAMPLE)
    };
    match worker {
        Some(worker) => next(&worker.placed),
        None => OUTSIDE.with(next),
    }
}

impl Worker {
    pub(crate) fn new(shared: Arc<Shared>, id: usize, deque: Deque<Entry>, seed: u64) -> Worker {
        let stealing = shared.config.discipline == Discipline::Stealing;
        let forks = stealing && !shared.is_simulated();
        let has_inbox = !shared.queues.inboxes.is_empty();
        let plain = stealing && !has_inbox && !shared.is_simulated();
        let exact = matches!(shared.config.placement, Placement::Fastest);
        let ticks = Ticks::new(&shared.clock);
        let log = RefCell::new(shared.recorder.writer(id));
        Worker {
            slot: shared.slots[id].clone(),
            shared,
            id,
            deque,
            dice: RefCell::new(Dice::seeded(seed)),
            stealing,
            forks,
            has_inbox,
            plain,
            exact,
            near: Cell::new(0),
            batches: Cell::new(0),
            helps: Cell::new(None),
            asides: Cell::new(0),
            kept: Cell::new(None),
            countdown: Cell::new(next::GLOBAL_EVERY),
            looks: Cell::new(0),
            owes_oldest: Cell::new(false),
            spent: Cell::new(0),
            turn_nanos: Cell::new(0),
            window_nanos: Cell::new(0),
            fresh: Cell::new(false),
            favoured: Cell::new(0),
            held: Cell::new(None),
            inside: Cell::new(0),
            outer: AtomicPtr::new(ptr::null_mut()),
            leases: Cell::new(0),
            stock: Stock::new(),
            coarse: Cell::new((u64::MAX, 0)),
            questions: Cell::new(0),
            looked: Cell::default(),
            pace: Cell::new(0),
            unparked_at: Cell::new(0),
            numbers: Cell::new(0),
            placed: Cell::new(0),
            ticks,
            log,
            moment: Cell::new(0),
        }
    }

    #[inline(always)]
    pub(crate) fn slot(&self) -> &Slot {
        &self.slot
    }

    pub(crate) fn turn_nanos(&self) -> Nanos {
        self.turn_nanos.get()
    }

    /// Memory for strands: our own, and what all share.
    #[inline]
    pub(crate) fn stock(&self) -> (&Stock, &Store) {
        (&self.stock, &self.shared.store)
    }

    /// A lease for a new strand.
    #[inline]
    pub(crate) fn lease(&self) -> Lease {
        if self.leases.get() == 0 {
            self.take_leases();
        }
        self.leases.set(self.leases.get() - 1);
        // SAFETY: it is one of ours, and is ours no more.
        unsafe { Lease::of(&self.shared) }
    }

    #[cold]
    fn take_leases(&self) {
        lease::take(&self.shared, LEASES);
        self.leases.set(LEASES as u32);
    }

    /// Keeps the lease of a strand that is freed.
    #[inline]
    pub(crate) fn keep_lease(&self, _: Lease) {
        self.leases.set(self.leases.get() + 1);
        if self.leases.get() > LEASES_MAX as u32 {
            self.give_back_leases(LEASES_MAX as u32 / 2);
        }
    }

    #[cold]
    fn give_back_leases(&self, count: u32) {
        self.leases.set(self.leases.get() - count);
        // SAFETY: they were ours.
        unsafe { lease::give_back(Arc::as_ptr(&self.shared), count as usize) };
    }

    #[inline]
    pub(crate) fn coarse_now(&self) -> Nanos {
        let turn = self.slot().counters.turns.get();
        if self.coarse.get().0 != turn {
            self.coarse.set((turn, self.now()));
        }
        self.coarse.get().1
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.numbers.set(self.numbers.get() + 1);
        self.numbers.get()
    }

    /// Whether what is placed now may stay on this worker's own deque.
    #[inline]
    pub(crate) fn keeps_near(&self) -> bool {
        self.stealing && !self.slot().expired.load(Relaxed)
    }

    /// Whether what goes to `place` stays on this worker's own deque.
    #[inline]
    pub(crate) fn keeps(&self, place: Place) -> bool {
        match place {
            Place::Near => self.keeps_near(),
            Place::New => self.stealing && (!self.has_inbox || self.keeps_near()),
            Place::Back | Place::Spent => false,
        }
    }

    #[inline(always)]
    pub(crate) fn push_near(&self, entry: Entry) {
        self.near.set(self.near.get() + 1);
        self.deque.push(entry);
    }

    /// Says whom what lies on its deque is meant for.
    #[inline]
    pub(crate) fn share(&self, share: Share) {
        // There must be a monitor to see that a worker is stuck. In a simulation there is none, and with
        // inboxes it may nap beside a turn (see `Shared::place_in`).
        let share = if self.has_inbox && share == Share::Kept { Share::Usual } else { share };
        if self.forks {
            self.slot().sharing.set(share);
        }
    }

    #[inline(always)]
    pub(crate) fn near_len(&self) -> usize {
        self.deque.len()
    }

    /// Whether a job from this worker's turn goes to its own deque with nothing else to be done about it.
    #[inline(always)]
    pub(crate) fn pushes_plainly(&self) -> bool {
        self.plain && !self.slot().expired.load(Relaxed)
    }

    /// The same for what goes to `place`.
    #[inline(always)]
    pub(crate) fn pushes_plainly_to(&self, place: Place) -> bool {
        match place {
            Place::New => self.plain,
            Place::Near => self.pushes_plainly(),
            Place::Back | Place::Spent => false,
        }
    }

    /// As `push_near`, for the entry that a strand is owed.
    #[inline(always)]
    pub(crate) fn push_strand_near(&self, strand: StrandRef) {
        self.near.set(self.near.get() + 1);
        // SAFETY: it is written whole, and owed to the strand.
        unsafe { self.deque.push_with(|slot| Entry::write_strand(slot, strand)) };
    }

    /// Makes this the current worker of this thread while `inside` runs.
    pub(crate) fn enter<R>(&self, inside: impl FnOnce() -> R) -> R {
        struct Restore(*const Worker);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.with(|current| current.set(self.0));
            }
        }
        let outer = CURRENT.with(|current| current.replace(self));
        if !ptr::eq(outer, self) {
            self.outer.store(outer.cast_mut(), Relaxed);
        }
        let _restore = Restore(outer);
        inside()
    }

    /// The life of a worker thread.
    pub(crate) fn work(&self) {
        let guard = panics::AbortOnUnwind::new("a worker");
        self.begin_work();
        self.enter(|| {
            self.shared.tell(self.id, WorkerChange::Ready);
            while self.slot().asked() == 0 || self.obey() {
                self.run_own();
                if !self.run_next() {
                    if self.shared.idle.is_closed() {
                        break;
                    }
                    // The search left the turn, and what was asked may be void by now.
                    self.begin_work();
                }
            }
            self.shared.tell(self.id, WorkerChange::Stopping);
        });
        self.slot().leave_turn();
        drop(guard);
    }

    /// Without an inbox a worker counts as in a turn whenever it is not searching.
    pub(super) fn begin_work(&self) {
        self.slot().begin_work();
        self.shared.vigil.begun();
    }

    /// Does what was asked. False: end.
    #[cold]
    fn obey(&self) -> bool {
        let slot = self.slot();
        self.moment.set(0);
        if slot.asked() & PAUSE != 0 {
            slot.leave_turn();
            // It does not come to what it has kept for itself.
            slot.sharing.set(Share::Usual);
            slot.set_paused(true);
            self.shared.tell(self.id, WorkerChange::Paused);
            self.shared.idle.leave(|| !self.shared.queues.all_empty());
            while slot.asked() & (PAUSE | STOP) == PAUSE {
                thread::park();
            }
            slot.set_paused(false);
            self.begin_work();
            // What waited meanwhile has called nobody who could come, and the monitor may nap: do
            // as a searcher that found something.
            let anything = || !self.shared.queues.all_empty();
            self.shared.idle.search().found_work(anything, || self.shared.clock.now());
            if slot.asked() & STOP == 0 {
                self.shared.tell(self.id, WorkerChange::Ready);
            }
        }
        slot.asked() & STOP == 0
    }

    /// The time; inside a simulated turn, the time that turn has come to. Cheaper than the runtime's
    /// clock, and on this worker it never goes back.
    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        // On real threads a turn has used no virtual time.
        self.ticks.now(&self.shared.clock) + self.turn_nanos()
    }

    #[inline]
    pub(super) fn record(&self, kind: EventKind, strand: Option<StrandId>) {
        if self.shared.recorder.is_on() {
            self.write(Note::new(self.now(), kind, strand));
        }
    }

    /// Writes an event of this worker.
    #[inline(always)]
    pub(crate) fn write(&self, note: Note) {
        if self.moment.get() != 0 {
            // The next turn begins after this.
            self.moment.set(note.at());
        }
        match &mut *self.log.borrow_mut() {
            Some(log) => log.write(note),
            None => self.shared.recorder.write_simulated(Some(self.id), note),
        }
    }

    /// Says of the turn of a job that has just begun here when it was put in line. Returns when it
    /// began, if that was recorded.
    pub(crate) fn began_after(&self, since: Nanos) -> Option<Nanos> {
        let recorder = &self.shared.recorder;
        if !recorder.is_on() {
            return None;
        }
        match &*self.log.borrow() {
            Some(log) => log.began_after(since),
            None => recorder.began_after_simulated(self.id, since),
        }
    }

    /// Drops what is left on the worker's own deque.
    pub(crate) fn clear(&self) {
        while let Some(entry) = self.deque.pop() {
            self.shared.let_go(entry);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.give_back_leases(self.leases.get());
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
