//! A worker: what it runs next, and how a turn begins and ends.
//!
//! A stretch of turns that share one quantum is a *window*. Under `Stealing` a strand that was
//! popped from the near end of the worker's own deque, or that got its turn by a hand-off, stays
//! in the window of the one before it; what comes from anywhere else opens a new one. Once the
//! window's quantum is spent, wakes go to the back, no hand-off is honoured, and the worker
//! serves the head of the global queue, then its own oldest entry. So strands that wake or hand
//! off to each other can not starve a third. For the same reason every so many turns the worker
//! looks at the global queue first, and every so many at its own oldest entry.

use std::{
    cell::{Cell, RefCell},
    ptr,
    sync::Arc,
};

use crate::{
    entry::{Entry, JobEntry, Opened},
    idle::Parked,
    metrics::SAMPLE,
    panics,
    queue::{
        Discipline, Queue,
        deque::{self, settle},
    },
    record::EventKind,
    shared::{Place, Shared},
    slot::{PAUSE, STOP, Slot},
    strand::{
        Strand, StrandId, StrandRef,
        run::After,
        state::{Claim, Pop, Rest},
    },
    sync::{self, atomic::Ordering::Relaxed, thread},
    turn::Turn,
    world::{Dice, Nanos},
};

/// The worker looks at the global queue first every so many turns.
const GLOBAL_EVERY: u32 = if cfg!(any(loom, shuttle)) { 5 } else { 61 };
/// And half-way between, at its own oldest entry.
const OLDEST_AT: u32 = GLOBAL_EVERY / 2;

/// Rounds of searching: so many tight, so many with a thread yield, then park.
const SPIN_TIGHT: u32 = if cfg!(any(loom, shuttle)) { 1 } else { 4 };
const SPIN_MAX: u32 = if cfg!(any(loom, shuttle)) { 2 } else { 16 };

sync::thread_cell! {
    /// The worker whose turn this thread is in.
    static CURRENT: *const Worker = ptr::null();
    /// Counts what threads that are no workers place.
    static OUTSIDE: u64 = 0;
}

pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) id: usize,
    deque: deque::Worker<Entry>,
    dice: RefCell<Dice>,
    stealing: bool,
    has_inbox: bool,
    /// Turns until the global queue comes first.
    countdown: Cell<u32>,
    /// Operations spent in this window.
    pub(crate) spent: Cell<u64>,
    /// Virtual time used by this turn, and by this window: only in simulations.
    turn_nanos: Cell<Nanos>,
    window_nanos: Cell<Nanos>,
    numbers: Cell<u64>,
    placed: Cell<u64>,
}

/// A turn that is about to be taken.
pub(crate) enum Begun {
    Strand(StrandRef),
    Job(JobEntry),
}

/// A turn that was taken, and what must be done about it.
#[must_use = "a strand whose turn is not finished never runs again"]
pub(crate) struct Ended {
    strand: Option<StrandRef>,
    after: After,
    target: Option<Strand>,
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

/// Whether this is one of those that are measured.
#[inline]
pub(crate) fn sampled(worker: Option<&Worker>) -> bool {
    let next = |count: &Cell<u64>| {
        count.set(count.get().wrapping_add(1));
        count.get() % SAMPLE == 0
    };
    match worker {
        Some(worker) => next(&worker.placed),
        None => OUTSIDE.with(next),
    }
}

impl Worker {
    pub(crate) fn new(
        shared: Arc<Shared>,
        id: usize,
        deque: deque::Worker<Entry>,
        seed: u64,
    ) -> Worker {
        let stealing = shared.config.discipline == Discipline::Stealing;
        let has_inbox = !shared.queues.inboxes.is_empty();
        Worker {
            shared,
            id,
            deque,
            dice: RefCell::new(Dice::seeded(seed)),
            stealing,
            has_inbox,
            countdown: Cell::new(GLOBAL_EVERY),
            spent: Cell::new(0),
            turn_nanos: Cell::new(0),
            window_nanos: Cell::new(0),
            numbers: Cell::new(0),
            placed: Cell::new(0),
        }
    }

    #[inline]
    pub(crate) fn slot(&self) -> &Slot {
        &self.shared.slots[self.id]
    }

    pub(crate) fn turn_nanos(&self) -> Nanos {
        self.turn_nanos.get()
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

    #[inline]
    pub(crate) fn push_near(&self, entry: Entry) {
        self.deque.push(entry);
    }

    /// Makes this the current worker of this thread while `inside` runs.
    pub(crate) fn enter<R>(&self, inside: impl FnOnce() -> R) -> R {
        struct Restore(*const Worker);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.with(|current| current.set(self.0));
            }
        }
        let _restore = Restore(CURRENT.with(|current| current.replace(self)));
        inside()
    }

    /// The life of a worker thread.
    pub(crate) fn work(&self) {
        let guard = panics::AbortOnUnwind::new("a worker");
        self.enter(|| {
            while self.slot().asked() == 0 || self.obey() {
                match self.next().or_else(|| self.search()) {
                    Some(entry) => self.run(entry),
                    None if self.shared.idle.is_closed() => break,
                    None => {}
                }
            }
        });
        drop(guard);
    }

    /// Does what was asked. False: end.
    #[cold]
    fn obey(&self) -> bool {
        let slot = self.slot();
        if slot.asked() & PAUSE != 0 {
            slot.set_paused(true);
            self.shared.idle.leave(|| !self.shared.queues.all_empty());
            while slot.asked() & (PAUSE | STOP) == PAUSE {
                thread::park();
            }
            slot.set_paused(false);
        }
        slot.asked() & STOP == 0
    }

    // ---- What runs next.

    /// The next entry that this worker would run, without stealing.
    #[inline]
    pub(crate) fn next(&self) -> Option<Entry> {
        if !self.stealing {
            return self.next_in_order();
        }
        if self.slot().expired.load(Relaxed) {
            return self.next_in_fairness();
        }
        let countdown = self.countdown.get() - 1;
        self.countdown.set(countdown);
        if countdown == OLDEST_AT || countdown == 0 {
            return self.next_now_and_then(countdown == 0);
        }
        // In the same window, on purpose.
        self.deque.pop().or_else(|| self.next_in_line())
    }

    fn next_in_order(&self) -> Option<Entry> {
        let entry = self.inbox().and_then(Queue::pop).or_else(|| self.shared.queues.global.pop());
        self.opened_window(entry)
    }

    /// From the line that everyone shares: a batch of it, the oldest on top.
    fn next_in_line(&self) -> Option<Entry> {
        let entry = self.inbox().and_then(Queue::pop).or_else(|| {
            let Queue::Fifo(global) = &*self.shared.queues.global else { return None };
            let entry = deque::take_batch(global, &self.deque)?;
            self.batch_arrived();
            Some(entry)
        });
        self.opened_window(entry)
    }

    /// The quantum is spent: the head of the line, then our own oldest.
    #[cold]
    fn next_in_fairness(&self) -> Option<Entry> {
        let entry = self.head_of_line().or_else(|| self.oldest());
        self.opened_window(entry)
    }

    #[cold]
    fn next_now_and_then(&self, global: bool) -> Option<Entry> {
        let entry = if global {
            self.countdown.set(GLOBAL_EVERY);
            self.head_of_line().or_else(|| self.oldest())
        } else {
            self.oldest().or_else(|| self.head_of_line())
        };
        self.opened_window(entry)
    }

    fn head_of_line(&self) -> Option<Entry> {
        self.inbox().and_then(Queue::pop).or_else(|| self.shared.queues.global.pop())
    }

    fn oldest(&self) -> Option<Entry> {
        let deque = self.shared.queues.stealers.get(self.id)?;
        settle(|| deque.steal())
    }

    fn inbox(&self) -> Option<&Queue> {
        self.shared.queues.inboxes.get(self.id).map(|inbox| &**inbox)
    }

    /// Takes from another worker: half of its deque, or of its inbox the first while it can not
    /// serve it.
    pub(crate) fn steal(&self) -> Option<Entry> {
        let queues = &self.shared.queues;
        let workers = self.shared.slots.len();
        let first = self.dice.borrow_mut().below(workers);
        let entry = (0..workers).map(|i| (first + i) % workers).filter(|v| *v != self.id).find_map(
            |victim| {
                if let Some(deque) = queues.stealers.get(victim)
                    && let Some(entry) = settle(|| deque.steal_batch_and_pop(&self.deque))
                {
                    self.batch_arrived();
                    return Some(entry);
                }
                let inbox = queues.inboxes.get(victim)?;
                if self.shared.slots[victim].is_occupied() { inbox.pop() } else { None }
            },
        )?;
        self.slot().counters.steals.add(1);
        self.record(EventKind::Steal, entry.peek().map(|strand| strand.header().id));
        self.opened_window(Some(entry))
    }

    /// A batch was in nobody's queue for a moment; whoever looked then must be told.
    fn batch_arrived(&self) {
        if !self.deque.is_empty() && self.shared.idle.placed() {
            self.shared.drop_all();
        }
    }

    #[inline]
    fn opened_window(&self, entry: Option<Entry>) -> Option<Entry> {
        if entry.is_some() {
            self.slot().new_window();
            self.spent.set(0);
            self.window_nanos.set(0);
        }
        entry
    }

    // ---- Searching and parking.

    /// Searches until there is something to run. `None`: something is asked instead.
    #[cold]
    fn search(&self) -> Option<Entry> {
        let idle = &self.shared.idle;
        let anything = || !self.shared.queues.all_empty();
        self.slot().leave_turn();
        let mut searching = idle.search();
        // One spinner is enough on a small machine.
        let crowded = idle.searching() > (self.shared.slots.len() / 2).max(1);
        let mut rounds = if crowded { SPIN_MAX } else { 0 };
        loop {
            if self.slot().asked() != 0 {
                searching.give_up(anything);
                return None;
            }
            if let Some(entry) = self.next().or_else(|| self.steal()) {
                self.slot().enter_turn();
                searching.found_work(anything);
                return Some(entry);
            }
            if rounds < SPIN_TIGHT {
                sync::spin_loop();
            } else if rounds < SPIN_MAX {
                thread::yield_now();
            } else {
                self.slot().counters.parks.add(1);
                self.record(EventKind::Park, None);
                match searching.park(self.id, || self.may_take_anything()) {
                    Parked::Search(again) => searching = again,
                    Parked::Closed => return None,
                }
                self.record(EventKind::Unpark, None);
                rounds = 0;
                continue;
            }
            rounds += 1;
        }
    }

    /// Whether anything waits that this worker may take.
    fn may_take_anything(&self) -> bool {
        let queues = &self.shared.queues;
        self.slot().asked() != 0
            || !queues.global.is_empty()
            || queues.stealers.iter().any(|deque| !deque.is_empty())
            || queues.inboxes.iter().enumerate().any(|(owner, inbox)| {
                !inbox.is_empty() && (owner == self.id || self.shared.slots[owner].is_occupied())
            })
    }

    // ---- Turns.

    /// Runs an entry, and whatever is handed off to after it.
    #[inline]
    pub(crate) fn run(&self, entry: Entry) {
        match entry.open() {
            Opened::Job(job) => self.take_job_turn(job),
            Opened::Strand(strand) => {
                let mut next = self.pop(strand);
                while let Some(strand) = next {
                    let ended = self.take_strand_turn(strand);
                    next = self.finish(ended).and_then(|claimed| self.keep_claim(claimed));
                }
            }
        }
    }

    /// What an entry in hand is good for.
    pub(crate) fn begin(&self, entry: Entry) -> Option<Begun> {
        match entry.open() {
            Opened::Job(job) => Some(Begun::Job(job)),
            Opened::Strand(strand) => self.pop(strand).map(Begun::Strand),
        }
    }

    #[inline]
    fn pop(&self, strand: StrandRef) -> Option<StrandRef> {
        match strand.state().pop() {
            Pop::Run => return Some(strand),
            Pop::Requeue => {
                let rank = &strand.header().rank;
                self.shared.place_in(Some(self), Entry::strand(strand), rank, Place::Back);
            }
            Pop::Stale => {}
            Pop::Free => strand.free(),
        }
        assert!(self.stealing, "only a claim makes an entry stale, and only `Stealing` claims");
        None
    }

    /// A worker that was paused or stopped while it held a claim gives it back.
    pub(crate) fn keep_claim(&self, claimed: StrandRef) -> Option<StrandRef> {
        if self.slot().asked() == 0 {
            return Some(claimed);
        }
        self.rest(claimed, claimed.state().requeue());
        None
    }

    /// Takes a turn of either kind: for the simulator, which finishes it later.
    pub(crate) fn take_turn(&self, begun: Begun) -> Ended {
        self.turn_nanos.set(0);
        self.slot().enter_turn();
        match begun {
            Begun::Strand(strand) => self.take_strand_turn(strand),
            Begun::Job(job) => {
                self.take_job_turn(job);
                Ended { strand: None, after: After::End, target: None }
            }
        }
    }

    #[inline]
    fn take_job_turn(&self, job: JobEntry) {
        let started = self.enter_turn(None);
        let mut turn = Turn::new(self, None);
        if let Err(payload) = panics::catch(|| job.run(&mut turn)) {
            turn.note_panic(&payload);
        }
        if let Some(target) = turn.take_target() {
            // A job has no further turn, so nothing is gained by claiming: a wake is enough.
            self.shared.wake(target.0);
        }
        self.leave_turn(None, EventKind::End, started);
    }

    #[inline]
    fn take_strand_turn(&self, strand: StrandRef) -> Ended {
        let header = strand.header();
        let started = self.enter_turn(Some(strand));
        let mut turn = Turn::new(self, Some(strand));
        let after = strand.take_turn(&mut turn);
        let target = turn.take_target();
        let kind = match after {
            After::Pause => EventKind::Pause,
            After::Yield => EventKind::Yield,
            After::End => EventKind::End,
        };
        self.leave_turn(Some(header.id), kind, started);
        Ended { strand: Some(strand), after, target }
    }

    /// Counts a turn, and starts the clock if it is one of those that are timed.
    #[inline]
    fn enter_turn(&self, strand: Option<StrandRef>) -> Option<Nanos> {
        let slot = self.slot();
        slot.counters.turns.add(1);
        if self.has_inbox {
            let inbox = &self.shared.queues.inboxes[self.id];
            if slot.enter_turn_with_inbox(|| !inbox.is_empty()) && self.shared.idle.placed() {
                self.shared.drop_all();
            }
        }
        if let Some(strand) = strand {
            slot.strand.store(strand.header().id.0, Relaxed);
        }
        let timed = slot.counters.turns.get() % SAMPLE == 0 || self.shared.times_all();
        if timed || strand.is_some_and(|s| s.header().queued_at.load(Relaxed) != 0) {
            return self.start_clock(strand, timed);
        }
        None
    }

    #[cold]
    fn start_clock(&self, strand: Option<StrandRef>, timed: bool) -> Option<Nanos> {
        let now = self.shared.now();
        if let Some(strand) = strand {
            let queued_at = strand.header().queued_at.load(Relaxed);
            if queued_at != 0 {
                strand.header().queued_at.store(0, Relaxed);
                self.slot().counters.waiting.note(now.saturating_sub(queued_at));
            }
        }
        self.record(EventKind::Run, strand.map(|strand| strand.header().id));
        timed.then_some(now)
    }

    #[inline]
    fn leave_turn(&self, strand: Option<StrandId>, kind: EventKind, started: Option<Nanos>) {
        let slot = self.slot();
        if strand.is_some() {
            slot.strand.store(0, Relaxed);
        }
        if self.has_inbox && !self.shared.is_simulated() {
            slot.leave_turn();
        }
        if let Some(started) = started {
            self.stop_clock(strand, kind, started);
        }
    }

    #[cold]
    fn stop_clock(&self, strand: Option<StrandId>, kind: EventKind, started: Nanos) {
        let slot = self.slot();
        let took = self.shared.now().saturating_sub(started);
        slot.counters.running.note(took);
        // An average that forgets: each turn counts an eighth of all later ones.
        let average = slot.average.load(Relaxed);
        let next = if average == 0 { took } else { average - average / 8 + took / 8 };
        slot.average.store(next.max(1), Relaxed);
        self.record(kind, strand);
    }

    /// Ends a turn: claims whom it handed off to, then lets the strand rest.
    #[inline]
    pub(crate) fn finish(&self, ended: Ended) -> Option<StrandRef> {
        let Ended { strand, after, target } = ended;
        self.turn_nanos.set(0);
        let strand = strand?;
        let claimed = target.and_then(|target| self.claim(&target));
        if let Queue::Feedback(levels) = self.inbox().unwrap_or(&self.shared.queues.global) {
            match (after, self.slot().expired.load(Relaxed)) {
                (After::Yield, true) => levels.sink(strand),
                (After::Pause, false) => levels.rise(strand),
                _ => {}
            }
        }
        let rest = match after {
            After::Pause => strand.state().pause(),
            After::Yield => strand.state().requeue(),
            After::End => strand.state().end(),
        };
        self.rest(strand, rest);
        claimed
    }

    #[inline]
    fn rest(&self, strand: StrandRef, rest: Rest) {
        match rest {
            Rest::Push => {
                self.shared.stamp(Some(self), strand);
                let rank = &strand.header().rank;
                self.shared.place_in(Some(self), Entry::strand(strand), rank, Place::Back);
            }
            Rest::Free => strand.free(),
            Rest::Nothing => {}
        }
    }

    /// Takes the turn of the strand that was handed to. Where the quantum is spent, or the
    /// discipline's order would be jumped, the hand-off is a wake.
    fn claim(&self, target: &Strand) -> Option<StrandRef> {
        if !self.keeps_near() || self.slot().asked() != 0 {
            self.shared.wake(target.0);
            return None;
        }
        match target.0.state().claim() {
            Claim::Run => {
                self.slot().counters.hand_offs.add(1);
                self.record(EventKind::HandOff, Some(target.id()));
                Some(target.0)
            }
            Claim::Woken | Claim::Done => None,
        }
    }

    /// Lets virtual time pass in a simulated turn.
    pub(crate) fn pass(&self, nanos: Nanos) {
        self.turn_nanos.set(self.turn_nanos.get().saturating_add(nanos));
        self.window_nanos.set(self.window_nanos.get().saturating_add(nanos));
        if self.window_nanos.get() >= self.shared.config.quantum {
            self.slot().expired.store(true, Relaxed);
        }
    }

    /// The simulated turn is over as far as its body is concerned.
    pub(crate) fn rest_the_clock(&self) {
        self.turn_nanos.set(0);
    }

    /// Ends a turn for good, whatever it wanted: the simulation is dropped.
    pub(crate) fn abandon(&self, ended: Ended) {
        drop(ended.target);
        let Some(strand) = ended.strand else { return };
        match ended.after {
            After::End => self.rest(strand, strand.state().end()),
            After::Pause | After::Yield => strand.end_unrun(),
        }
    }

    #[inline]
    fn record(&self, kind: EventKind, strand: Option<StrandId>) {
        if self.shared.recorder.is_on() {
            self.shared.recorder.write(self.shared.now(), Some(self.id), kind, strand);
        }
    }

    /// Drops what is left on the worker's own deque.
    pub(crate) fn clear(&self) {
        while let Some(entry) = self.deque.pop() {
            self.shared.dropped.add_shared(1);
            drop(entry);
        }
    }
}
