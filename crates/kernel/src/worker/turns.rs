//! How a turn begins, and what its end brings: rest, another place in line, or a hand-off.

use std::{
    mem::{self, ManuallyDrop},
    ptr,
    sync::Arc,
};

use crate::{
    entry::{Entry, InPlace, Opened},
    metrics::SAMPLE,
    panics,
    queue::Queue,
    record::{EventKind, Note},
    shared::Place,
    strand::{
        Strand, StrandId, StrandRef,
        run::After,
        state::{Claim, Pop, Rest},
    },
    sync::atomic::Ordering::Relaxed,
    turn::Turn,
    worker::Worker,
    world::Nanos,
};

/// Beside the time at which a turn started: its beginning was recorded, so its end must be.
const RECORDED: Nanos = 1 << 63;

/// A turn that is about to be taken.
pub(crate) enum Begun {
    Strand(StrandRef),
    Job(Entry),
}

/// A turn that was taken, and what must be done about it.
#[must_use = "a strand whose turn is not finished never runs again"]
pub(crate) struct Ended {
    strand: Option<StrandRef>,
    after: After,
    /// Handles that go with its end.
    given_back: u32,
    target: Option<Strand>,
    /// It has had its share, and nobody waited.
    alone: bool,
}

impl Worker {
    /// Runs our own entries, newest first, as long as nothing speaks against it. A function of its
    /// own, and kept small: an entry fills the registers.
    #[inline(never)]
    pub(super) fn run_own(&self) {
        while self.slot().asked() == 0 && self.may_take_newest() {
            let Some(entry) = self.take_newest() else { return };
            // SAFETY: it is ours, and its job leaves the slot before it pushes anything there.
            self.run(unsafe { Entry::open(entry.as_ptr()) });
        }
    }

    /// Fetches a strand that probably comes soon: it may have been made on another core.
    #[inline(always)]
    fn prefetch(&self) {
        #[cfg(not(any(loom, shuttle)))]
        if let Some(guess) = self.deque.guess()
            // SAFETY: it was written, and whoever takes it only reads it.
            && let Some(strand) = unsafe { guess.as_ref() }.peek()
        {
            crate::stock::prefetch(strand.into_raw().cast());
        }
    }

    /// Runs what comes next from elsewhere, however long that takes to find.
    #[inline(never)]
    pub(super) fn run_next(&self) -> bool {
        let found = self.next().or_else(|| self.search());
        // It may have been placed after our last turn.
        self.moment.set(0);
        let Some(entry) = found else { return false };
        // Used up by its turn, so it is never dropped, not even by a panic of ours.
        let mut entry = ManuallyDrop::new(entry);
        // SAFETY: it is ours, stays here, and is not used afterwards.
        self.run(unsafe { Entry::open(&raw mut *entry) });
        self.fresh.set(false);
        true
    }

    /// Runs an entry, and whatever is handed off to after it.
    #[inline(always)]
    pub(super) fn run(&self, entry: Opened) {
        match entry {
            Opened::Job(job) => self.take_job_turn(job),
            Opened::Strand(strand) => self.run_strand(strand),
        }
    }

    #[inline(never)]
    pub(super) fn run_strand(&self, strand: StrandRef) {
        self.prefetch();
        let mut next = self.pop(strand);
        while let Some(strand) = next {
            let ended = self.take_strand_turn(strand);
            next = self.finish(ended).and_then(|claimed| self.keep_claim(claimed));
        }
    }

    /// What an entry in hand is good for.
    pub(crate) fn begin(&self, entry: Entry) -> Option<Begun> {
        match entry.peek() {
            None => Some(Begun::Job(entry)),
            Some(strand) => {
                mem::forget(entry);
                self.pop(strand).map(Begun::Strand)
            }
        }
    }

    #[inline]
    pub(super) fn pop(&self, strand: StrandRef) -> Option<StrandRef> {
        match strand.state().pop() {
            Pop::Run => return Some(strand),
            Pop::Requeue => {
                self.to_the_back(strand, Place::Back);
            }
            Pop::Stale => {}
            Pop::Free => strand.free(),
        }
        assert!(self.stealing, "only a claim makes an entry stale, and only `Stealing` claims");
        None
    }

    fn to_the_back(&self, strand: StrandRef, place: Place) {
        // In a simulation, within a turn that has used time, it would be too early.
        if place == Place::Back
            && self.turn_nanos() == 0
            && let Some(back) = self.shared.queues.backs.get(self.id)
            && let Queue::Fifo(global) = &*self.shared.queues.global
        {
            self.slot().counters.wakes.add(1);
            if self.shared.recorder.is_on() {
                self.shared.record_wake(Some(self), Some(strand), 0);
            }
            back.push(Entry::strand_since(strand, global.arrivals()));
            return self.shared.placed_near();
        }
        // A copy: once its entry is placed, the strand may be run and freed by another worker.
        let rank = strand.header().rank();
        self.shared.place_in(Some(self), Entry::strand(strand), &rank, place, 0);
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
            Begun::Job(entry) => {
                let mut entry = ManuallyDrop::new(entry);
                // SAFETY: as in `run_next`.
                if let Opened::Job(job) = unsafe { Entry::open(&raw mut *entry) } {
                    self.take_job_turn(job);
                }
                Ended { strand: None, after: After::End, given_back: 0, target: None, alone: false }
            }
        }
    }

    #[inline(always)]
    pub(super) fn take_job_turn(&self, job: InPlace) {
        let started = self.enter_turn(None);
        let mut turn = Turn::new(self, None);
        if let Err(payload) = panics::catch(|| job.run(&mut turn)) {
            turn.note_panic(&payload);
            panics::discard(payload);
        }
        if let Some(target) = turn.take_target() {
            // A job has no further turn, so nothing is gained by claiming: a wake is enough.
            target.0.wake();
        }
        self.leave_turn(None, EventKind::End, started);
    }

    #[inline]
    pub(super) fn take_strand_turn(&self, strand: StrandRef) -> Ended {
        let header = strand.header();
        let started = self.enter_turn(Some(strand));
        let mut turn = Turn::new(self, Some(strand));
        let after = strand.take_turn(&mut turn);
        let target = turn.take_target();
        let (given_back, alone) = (turn.given_back(), turn.is_alone());
        let kind = match after {
            After::Pause => EventKind::Pause,
            After::Yield => EventKind::Yield,
            After::End => EventKind::End,
        };
        self.leave_turn(Some(header.id), kind, started);
        Ended { strand: Some(strand), after, given_back, target, alone }
    }

    /// Counts a turn, and starts the clock if it is one of those that are timed.
    #[inline(always)]
    pub(super) fn enter_turn(&self, strand: Option<StrandRef>) -> Option<Nanos> {
        let slot = self.slot();
        let turns = slot.counters.turns.add(1);
        if self.has_inbox {
            self.enter_turn_with_inbox();
        }
        if let Some(strand) = strand {
            slot.strand.store(strand.header().id.0, Relaxed);
        }
        let timed = turns.is_multiple_of(SAMPLE) || self.exact || self.shared.recorder.is_on();
        if timed || strand.is_some_and(|s| s.header().queued_at.load(Relaxed) != 0) {
            return self.start_clock(strand, timed);
        }
        None
    }

    #[inline(never)]
    pub(super) fn enter_turn_with_inbox(&self) {
        let inbox = &self.shared.queues.inboxes[self.id];
        let inbox_waits = self.slot().enter_turn_with_inbox(|| !inbox.is_empty());
        self.shared.vigil.begun();
        if inbox_waits {
            // Nothing is taken back here: drops are foreign code, which could push over a job that
            // still lies in its slot. Whoever dealt it, or whoever closed, takes it back.
            let _ = self.shared.idle.placed(|| self.shared.clock.now());
        }
    }

    #[cold]
    pub(super) fn start_clock(&self, strand: Option<StrandRef>, timed: bool) -> Option<Nanos> {
        let queued_at = strand.map_or(0, |strand| strand.header().queued_at.load(Relaxed));
        self.ticks.not_before(queued_at);
        let now = match self.moment.take() {
            0 => self.now(),
            at => at.max(queued_at),
        };
        if let Some(strand) = strand.filter(|_| queued_at != 0) {
            strand.header().queued_at.store(0, Relaxed);
            self.slot().counters.waiting.note(now.saturating_sub(queued_at));
        }
        let recorder = &self.shared.recorder;
        if !recorder.is_on() {
            return timed.then_some(now);
        }
        let queued = recorder.may_look(now).then(|| self.shared.queues.len());
        let id = strand.map(|strand| strand.header().id);
        self.write(Note::new(now, EventKind::Run, id).waited(queued_at, queued));
        Some(now | RECORDED)
    }

    #[inline]
    pub(super) fn leave_turn(
        &self,
        strand: Option<StrandId>,
        kind: EventKind,
        started: Option<Nanos>,
    ) {
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
    pub(super) fn stop_clock(&self, strand: Option<StrandId>, kind: EventKind, started: Nanos) {
        let slot = self.slot();
        let now = self.now();
        let took = now.saturating_sub(started & !RECORDED);
        slot.counters.running.note(took);
        self.glance(now);
        // An average that forgets: each turn counts an eighth of all later ones.
        let average = slot.average.load(Relaxed);
        let next = if average == 0 { took } else { average - average / 8 + took / 8 };
        slot.average.store(next.max(1), Relaxed);
        if started & RECORDED != 0 {
            self.write(Note::new(now, kind, strand));
            // A simulated turn goes on for a while after its body has ended.
            if !self.shared.is_simulated() {
                self.moment.set(now);
            }
        }
    }

    /// Ends a turn: claims whom it handed off to, then lets the strand rest.
    #[inline]
    pub(crate) fn finish(&self, ended: Ended) -> Option<StrandRef> {
        let Ended { strand, after, given_back, target, alone } = ended;
        self.turn_nanos.set(0);
        let strand = strand?;
        let claimed = match self.held.take() {
            None => target.and_then(|target| self.claim(&target)),
            Some(held) => self.keep_held(held, target),
        };
        if alone && after == After::Yield && claimed.is_none() && self.goes_on() {
            return Some(strand);
        }
        if self.stealing && after == After::Yield && self.slot().expired.load(Relaxed) {
            // Those who waited before it was preempted are served before it comes again.
            self.join_the_line();
        }
        if !self.stealing
            && let Queue::Feedback(levels) = self.inbox().unwrap_or(&self.shared.queues.global)
        {
            match (after, self.slot().expired.load(Relaxed)) {
                (After::Yield, true) => levels.sink(strand),
                (After::Pause, false) => levels.rise(strand),
                _ => {}
            }
        }
        let rest = match after {
            After::Pause => strand.state().pause(),
            After::Yield => strand.state().requeue(),
            After::End => strand.state().end(given_back.into()),
        };
        // Who came into another's window has not had a quantum of its own.
        let whole = self.fresh.replace(false);
        let spent = self.stealing && whole && self.slot().expired.load(Relaxed);
        self.rest_in(strand, rest, if spent { Place::Spent } else { Place::Back });
        claimed
    }

    pub(super) fn rest(&self, strand: StrandRef, rest: Rest) {
        self.rest_in(strand, rest, Place::Back);
    }

    #[inline]
    fn rest_in(&self, strand: StrandRef, rest: Rest, place: Place) {
        match rest {
            Rest::Push => {
                self.shared.stamp(Some(self), strand);
                self.to_the_back(strand, place);
            }
            Rest::Free => strand.free(),
            Rest::Nothing => {}
        }
    }

    /// Takes the turn of the strand that was handed to. Where the quantum is spent, or the
    /// discipline's order would be jumped, the hand-off is a wake.
    pub(super) fn claim(&self, target: &Strand) -> Option<StrandRef> {
        let ours = ptr::eq(Arc::as_ptr(&target.0.header().shared), Arc::as_ptr(&self.shared));
        if !ours || !self.keeps_near() || self.slot().asked() != 0 {
            target.0.wake();
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
        if !self.slot().is_in_spent_turn() {
            self.favoured.set(self.favoured.get().saturating_add(nanos));
        }
        if self.window_nanos.get() >= self.shared.config.quantum {
            self.slot().expired.store(true, Relaxed);
        }
    }

    /// A random number below `n`, for the simulator.
    pub(crate) fn roll(&self, n: usize) -> Nanos {
        self.dice.borrow_mut().below(n) as Nanos
    }

    /// The simulated turn is over as far as its body is concerned.
    pub(crate) fn rest_the_clock(&self) {
        self.turn_nanos.set(0);
    }

    /// Ends a turn for good, whatever it wanted: the simulation is dropped.
    pub(crate) fn abandon(&self, ended: Ended) {
        drop(ended.target);
        if let Some(held) = self.held.take() {
            held.end_unrun();
        }
        let Some(strand) = ended.strand else { return };
        match ended.after {
            After::End => self.rest(strand, strand.state().end(ended.given_back.into())),
            After::Pause | After::Yield => strand.end_unrun(),
        }
    }
}
