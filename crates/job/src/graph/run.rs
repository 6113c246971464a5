//! How jobs run: from the queue to their end, and what that releases.
//!
//! A queue entry names a range of ready jobs. Under work stealing whoever takes it leaves the upper
//! half on its own deque, again and again, until it holds as many as one hand-out may take: so
//! thieves find large pieces. A job that has ended releases its successors; the first that becomes
//! ready runs at once on the same worker, while the quantum lasts.
//!
//! Jobs that will not run (a predecessor failed, it was cancelled, the pool stopped) end one after
//! the other from a list, not by recursion: a chain of them may be long, and cross batches.
//!
//! In a simulation a job runs at once but lasts in virtual time, so its end is left to
//! [`Turn::later`].

use std::{mem, ptr::NonNull};

use kernel::{Attributes, Handle, Step, Turn, WorkerId};

use crate::{
    about::nanos,
    batch::OnFailure,
    context::Context,
    event::Event,
    graph::{
        Core, Phase,
        cell::{self, Fate, Verdict},
        watch::Watcher,
        word::Duty,
    },
    pool::shared::Shared,
};

/// Ready jobs of a batch, in a queue or in hand. They have not ended, so their batch stays.
pub(crate) struct Ready {
    core: NonNull<Core>,
    from: u32,
    to: u32,
}

// SAFETY: a batch is shared by threads, and the jobs are those of whoever holds this.
unsafe impl Send for Ready {}

/// A job that is to end without having run.
struct Doomed {
    core: NonNull<Core>,
    index: u32,
    fate: Fate,
}

/// From where jobs are put in line.
enum Line<'a, 't> {
    Turn(&'a mut Turn<'t>),
    Outside(&'a Handle),
    /// The pool has stopped: nothing is put in line any more.
    Closed,
}

impl<'t> Line<'_, 't> {
    #[inline(always)]
    fn again(&mut self) -> Line<'_, 't> {
        match self {
            Line::Turn(turn) => Line::Turn(turn),
            Line::Outside(handle) => Line::Outside(handle),
            Line::Closed => Line::Closed,
        }
    }

    #[inline(always)]
    fn worker(&self) -> Option<WorkerId> {
        if let Line::Turn(turn) = self { Some(turn.worker()) } else { None }
    }

    #[cold]
    fn now(&self) -> u64 {
        match self {
            Line::Turn(turn) => nanos(turn.now()),
            Line::Outside(handle) => nanos(handle.now()),
            Line::Closed => 0,
        }
    }
}

impl Ready {
    /// Runs them, with what they release.
    #[inline]
    fn run(self, turn: &mut Turn<'_>) {
        let Ready { core, from, mut to } = self;
        mem::forget(self);
        // SAFETY: it lives as long as the runtime, and so as long as this turn.
        let shared: &Shared = unsafe { &*core.as_ref().shared.as_ptr() };
        let at_once = shared.settings.jobs_per_cycle_max;
        while to - from > at_once {
            let middle = from + (to - from).div_ceil(2);
            Ready { core, from: middle, to }.submit(turn);
            to = middle;
        }
        for index in from..to {
            if index > from && turn.expired() {
                Ready { core, from: index, to }.submit(turn);
                break;
            }
            let mut next = Some(index);
            while let Some(index) = next {
                // SAFETY: it is ready, and ours.
                next = unsafe { run_job(core, index, shared, turn) };
                let Some(index) = next else { break };
                if turn.expired() {
                    Ready { core, from: index, to: index + 1 }.submit(turn);
                    break;
                }
                shared.made_room_before_another();
            }
        }
        shared.made_room();
    }

    /// Leaves them on the worker's own deque.
    #[inline(always)]
    fn submit(self, turn: &mut Turn<'_>) {
        turn.submit(move |turn| self.run(turn));
    }
}

impl Drop for Ready {
    /// They were not run: the pool has stopped.
    fn drop(&mut self) {
        let stopped = |index| Doomed { core: self.core, index, fate: Fate::Stopped };
        // SAFETY: it lives as long as the runtime, whose queues or handle we come from.
        let shared: &Shared = unsafe { &*self.core.as_ref().shared.as_ptr() };
        // SAFETY: they are ready, and ours.
        unsafe { end_doomed((self.from..self.to).map(stopped).collect(), Line::Closed) };
        shared.close_if_over();
    }
}

/// Puts the jobs of a new batch in line that wait for nobody.
pub(crate) fn start(core: &Core, roots: impl Iterator<Item = u32>, handle: &Handle) {
    let mut lane = Lane::new(NonNull::from(core), core.shared(), Line::Outside(handle));
    for index in roots {
        // SAFETY: nobody else knows of it yet, and the caller holds the batch.
        unsafe { lane.add(core, index) };
    }
    lane.flush();
}

/// Jobs on their way into line: neighbours are put there together.
struct Lane<'a, 't> {
    core: NonNull<Core>,
    shared: &'a Shared,
    line: Line<'a, 't>,
    from: u32,
    to: u32,
}

impl<'a, 't> Lane<'a, 't> {
    #[inline(always)]
    fn new(core: NonNull<Core>, shared: &'a Shared, line: Line<'a, 't>) -> Lane<'a, 't> {
        Lane { core, shared, line, from: 0, to: 0 }
    }

    /// SAFETY: the job is ready and the caller's, and `core` is its batch.
    #[inline(always)]
    unsafe fn add(&mut self, core: &Core, index: u32) {
        self.mark_ready(core, index);
        if !self.shared.settings.plain || core.node(index).is_resumable() {
            return self.add_with_care(core, index);
        }
        if self.to != index || self.from == self.to {
            self.flush();
            self.from = index;
        }
        self.to = index + 1;
    }

    #[inline(always)]
    fn mark_ready(&self, core: &Core, index: u32) {
        core.node(index).set(Phase::Ready);
        if let Some(stamps) = core.times().of(index) {
            stamps.ready(self.line.now());
        }
    }

    #[inline(always)]
    fn flush(&mut self) {
        if self.from == self.to {
            return;
        }
        let ready = Ready { core: self.core, from: self.from, to: self.to };
        self.from = self.to;
        match &mut self.line {
            Line::Turn(turn) => ready.submit(turn),
            // Refused: it is dropped, and ends as stopped.
            Line::Outside(handle) => {
                let _ = handle.submit(move |turn| ready.run(turn));
            }
            Line::Closed => drop(ready),
        }
    }

    /// A job whose place in line depends on what is said about it, or that needs a strand.
    #[inline(never)]
    fn add_with_care(&mut self, core: &Core, index: u32) {
        let attributes = attributes(core, index, self.shared);
        let ready = Ready { core: self.core, from: index, to: index + 1 };
        if core.node(index).is_resumable() {
            // The handle outlives the strand's start; the batch may not.
            let handle = match &self.line {
                Line::Turn(turn) => turn.handle(),
                Line::Outside(handle) => (*handle).clone(),
                Line::Closed => return drop(ready),
            };
            drop(handle.strand().attributes(attributes).start(turns(ready)));
            return;
        }
        match &mut self.line {
            Line::Turn(turn) => {
                let _ = turn.submit_with(attributes, move |turn| ready.run(turn));
            }
            Line::Outside(handle) => {
                let _ = handle.submit_with(attributes, move |turn| ready.run(turn));
            }
            Line::Closed => drop(ready),
        }
    }
}

/// What orders and places a job, as the policy wants it.
fn attributes(core: &Core, index: u32, shared: &Shared) -> Attributes {
    let Some(kept) = core.kept(index) else { return shared.attributes(&Default::default()) };
    shared.attributes(kept)
}

/// The body of a strand that takes the turns of a resumable job.
fn turns(ready: Ready) -> impl FnMut(&mut Turn<'_>) -> Step<()> + Send {
    let mut ready = Some(ready);
    move |turn| {
        let Some(Ready { core, from, .. }) = &ready else { return Step::End(()) };
        let (core, index) = (*core, *from);
        // SAFETY: it lives as long as the runtime, and so as long as this turn.
        let shared: &Shared = unsafe { &*core.as_ref().shared.as_ptr() };
        // SAFETY: the job is ready, and ours until it ends.
        let verdict = unsafe { take_turn(core, index, shared, turn) };
        if verdict == Some(Verdict::Continue) {
            return Step::Yield;
        }
        mem::forget(ready.take());
        // SAFETY: as above, and it is ours no more.
        let next = unsafe { after_turn(core, index, verdict, shared, turn) };
        if let Some(next) = next {
            Ready { core, from: next, to: next + 1 }.submit(turn);
        }
        shared.made_room();
        Step::End(())
    }
}

/// Runs a job to its end. Returns a successor to run next: it is ready, and the caller's.
///
/// # Safety
/// The job is ready, and the caller's. Afterwards it is not.
#[inline(always)]
#[must_use = "a job that is ready and is not put in line never runs"]
unsafe fn run_job(
    core: NonNull<Core>,
    index: u32,
    shared: &Shared,
    turn: &mut Turn<'_>,
) -> Option<u32> {
    // SAFETY: by the caller's promise.
    unsafe {
        let verdict = take_turn(core, index, shared, turn);
        after_turn(core, index, verdict, shared, turn)
    }
}

/// Takes a turn of a job. `None`: it was cancelled.
///
/// # Safety
/// The job is ready, and the caller's.
#[inline(always)]
unsafe fn take_turn(
    core: NonNull<Core>,
    index: u32,
    shared: &Shared,
    turn: &mut Turn<'_>,
) -> Option<Verdict> {
    // SAFETY: the job has not ended, so its batch stays.
    let this = unsafe { core.as_ref() };
    if this.is_cancelled(index) {
        return None;
    }
    let node = this.node(index);
    node.set(Phase::Running);
    let seat = shared.seat(turn.worker());
    let timed = this.times().of(index).is_some() || shared.events.is_listened();
    seat.job.set(this.id_of(index).to_raw());
    let started = if timed { start_clock(this, index, shared, turn) } else { 0 };
    // SAFETY: the job is ours, so its room is, and holds the body.
    let verdict = unsafe { (node.how.turn)(node.room.get(), &mut Context::new(this, index, turn)) };
    if shared.settings.simulated {
        leave_later(core, index, verdict, timed.then_some(started), turn);
        return Some(verdict);
    }
    if timed {
        stop_clock(this, index, verdict, started, shared, turn);
    }
    seat.job.set(0);
    Some(verdict)
}

/// In a simulation the turn is over when virtual time has come to that; the job ends after it.
#[cold]
fn leave_later(
    core: NonNull<Core>,
    index: u32,
    verdict: Verdict,
    started: Option<u64>,
    turn: &mut Turn<'_>,
) {
    let job = Ready { core, from: index, to: index + 1 };
    let job = mem::ManuallyDrop::new(job);
    turn.later(move |turn| {
        // SAFETY: the job ends after this, so its batch stays.
        let core = unsafe { job.core.as_ref() };
        let shared = core.shared();
        if let Some(started) = started {
            stop_clock(core, job.from, verdict, started, shared, turn);
        }
        shared.seat(turn.worker()).job.set(0);
    });
}

#[cold]
fn start_clock(core: &Core, index: u32, shared: &Shared, turn: &Turn<'_>) -> u64 {
    let now = nanos(turn.now());
    let seat = shared.seat(turn.worker());
    seat.since.set(now);
    if let Some(stamps) = core.times().of(index) {
        stamps.started(now, |waited| seat.note_wait(waited, core.times().weight()));
    }
    now
}

#[cold]
fn stop_clock(
    core: &Core,
    index: u32,
    verdict: Verdict,
    started: u64,
    shared: &Shared,
    turn: &Turn<'_>,
) {
    let now = nanos(turn.now());
    let seat = shared.seat(turn.worker());
    seat.since.set(0);
    let stamps = core.times().of(index);
    let weight = if stamps.is_some() { core.times().weight() } else { 0 };
    let took = now.saturating_sub(started);
    seat.note_execution(took, weight);
    let took = stamps.map_or(took, |stamps| stamps.worked(took));
    if verdict == Verdict::Continue {
        return;
    }
    seat.measured.add(weight);
    if let Some(stamps) = stamps {
        stamps.ended(now);
    }
    if let Some(kept) = core.kept(index) {
        shared.learn(kept, took);
    }
    shared.events.send(|| {
        let (job, worker) = (core.id_of(index), turn.worker());
        let execution = std::time::Duration::from_nanos(took);
        match verdict {
            Verdict::Failed => {
                // SAFETY: the job is ours and has left its outcome.
                let reason = unsafe { (core.node(index).how.reason)(core.node(index).room.get()) };
                Event::JobFailed { job, worker, reason, execution }
            }
            _ => Event::JobCompleted { job, worker, execution },
        }
    });
}

/// Ends a job whose turn is over; in a simulation when virtual time has come to that.
///
/// # Safety
/// The job is the caller's, and has left its outcome if it was not cancelled. Afterwards it is not
/// the caller's any more.
#[inline(always)]
#[must_use = "a job that is ready and is not put in line never runs"]
unsafe fn after_turn(
    core: NonNull<Core>,
    index: u32,
    verdict: Option<Verdict>,
    shared: &Shared,
    turn: &mut Turn<'_>,
) -> Option<u32> {
    if shared.settings.simulated {
        let ending = Ending { core, index, verdict };
        turn.later(move |turn| ending.end(turn));
        return None;
    }
    // SAFETY: by the caller's promise.
    unsafe { end(core, index, verdict, turn) }
}

/// A job whose turn is over, and that has not ended yet.
struct Ending {
    core: NonNull<Core>,
    index: u32,
    verdict: Option<Verdict>,
}

// SAFETY: as for `Ready`.
unsafe impl Send for Ending {}

impl Ending {
    fn end(self, turn: &mut Turn<'_>) {
        let Ending { core, index, verdict } = self;
        mem::forget(self);
        // SAFETY: it lives as long as the runtime, and so as long as this turn.
        let shared: &Shared = unsafe { &*core.as_ref().shared.as_ptr() };
        // SAFETY: it is ours, and has left its outcome.
        let next = unsafe { end(core, index, verdict, turn) };
        assert!(next.is_none(), "in a simulation successors are put in line");
        shared.made_room();
    }
}

impl Drop for Ending {
    /// The simulation is dropped in the middle of the turn.
    fn drop(&mut self) {
        let Ending { core, index, verdict } = *self;
        let mut doomed = Vec::new();
        match verdict {
            None => doomed.push(Doomed { core, index, fate: Fate::Stopped }),
            // SAFETY: it is ours, and has left its outcome.
            Some(_) => unsafe {
                let phase = phase_of(verdict);
                if phase == Phase::Failed {
                    note_failure(core.as_ref(), index);
                }
                settle(core, index, phase, Some(Fate::Stopped), Line::Closed, &mut doomed);
            },
        }
        // SAFETY: they are ready, and ours.
        unsafe { end_doomed(doomed, Line::Closed) };
    }
}

fn phase_of(verdict: Option<Verdict>) -> Phase {
    match verdict {
        Some(Verdict::Completed) => Phase::Completed,
        Some(Verdict::Failed) => Phase::Failed,
        Some(Verdict::Continue) => unreachable!("it has not ended"),
        None => Phase::Cancelled,
    }
}

/// # Safety
/// As for `after_turn`.
#[inline(always)]
unsafe fn end(
    core: NonNull<Core>,
    index: u32,
    verdict: Option<Verdict>,
    turn: &mut Turn<'_>,
) -> Option<u32> {
    let mut doomed = Vec::new();
    if verdict == Some(Verdict::Completed) {
        // SAFETY: by the caller's promise.
        let next =
            unsafe { settle(core, index, Phase::Completed, None, Line::Turn(turn), &mut doomed) };
        if !doomed.is_empty() {
            // SAFETY: they are ready, and ours.
            unsafe { end_doomed(doomed, Line::Turn(turn)) };
        }
        return next;
    }
    // SAFETY: by the caller's promise.
    unsafe { end_badly(core, index, verdict, turn) };
    None
}

/// SAFETY: as for `after_turn`.
#[cold]
unsafe fn end_badly(
    core: NonNull<Core>,
    index: u32,
    verdict: Option<Verdict>,
    turn: &mut Turn<'_>,
) {
    // SAFETY: the job has not ended, so its batch stays.
    let this = unsafe { core.as_ref() };
    let mut doomed = Vec::new();
    if verdict.is_none() {
        doomed.push(Doomed { core, index, fate: Fate::Cancelled });
    } else {
        // SAFETY: it is ours, and has left its outcome.
        let fate = unsafe { note_failure(this, index) };
        // SAFETY: by the caller's promise.
        let next = unsafe {
            settle(core, index, Phase::Failed, Some(fate), Line::Turn(turn), &mut doomed)
        };
        if let Some(next) = next {
            Ready { core, from: next, to: next + 1 }.submit(turn);
        }
    }
    // SAFETY: they are ready, and ours.
    unsafe { end_doomed(doomed, Line::Turn(turn)) };
}

/// Notes what dependents are told of a job that has failed, also those that come later.
///
/// # Safety
/// The job is the caller's, and has left its outcome.
unsafe fn note_failure(core: &Core, index: u32) -> Fate {
    // SAFETY: by the caller's promise.
    let reason = unsafe { (core.node(index).how.reason)(core.node(index).room.get()) };
    let fate = Fate::Predecessor { job: core.id_of(index), reason };
    core.set_failure(index, fate.clone());
    fate
}

/// Ends jobs that will not run, and those that will not run because of them.
///
/// # Safety
/// They are ready, and the caller's.
#[cold]
unsafe fn end_doomed(mut doomed: Vec<Doomed>, mut line: Line<'_, '_>) {
    while let Some(Doomed { core, index, mut fate }) = doomed.pop() {
        // SAFETY: the job has not ended, so its batch stays.
        let this = unsafe { core.as_ref() };
        let node = this.node(index);
        if matches!(fate, Fate::Predecessor { .. }) && this.is_cancelled(index) {
            fate = Fate::Cancelled;
        }
        // SAFETY: it is ours, and its body lies there.
        unsafe { (node.how.doom)(node.room.get(), fate.clone()) };
        let job = this.id_of(index);
        let phase = match fate {
            Fate::Predecessor { .. } => {
                this.shared().events.send(|| Event::JobNotRun { job, fate: fate.to_string() });
                this.set_failure(index, fate.clone());
                Phase::Failed
            }
            Fate::Cancelled => Phase::Cancelled,
            Fate::Stopped => Phase::Stopped,
        };
        if phase != Phase::Failed {
            this.shared().events.send(|| Event::JobCancelled { job });
        }
        let fate = fate.as_predecessor(job);
        // SAFETY: it is ours, and its outcome lies there.
        let next = unsafe { settle(core, index, phase, Some(fate), line.again(), &mut doomed) };
        if let (Some(next), Line::Turn(turn)) = (next, &mut line) {
            Ready { core, from: next, to: next + 1 }.submit(turn);
        }
    }
}

/// Says that a job has ended, and releases its successors. With a `fate` they may not be run: that
/// is for their batch to say, unless the pool has stopped. Returns the first that is ready, where
/// it may run at once.
///
/// # Safety
/// The job is the caller's, and its outcome lies in its room. Afterwards it is not.
#[inline(always)]
unsafe fn settle(
    core: NonNull<Core>,
    index: u32,
    phase: Phase,
    fate: Option<Fate>,
    mut line: Line<'_, '_>,
    doomed: &mut Vec<Doomed>,
) -> Option<u32> {
    // SAFETY: the job has not ended, so its batch stays: until its last step below (rule 3).
    let this = unsafe { core.as_ref() };
    // SAFETY: what the pool keeps lives as long as the runtime.
    let shared: &Shared = unsafe { &*this.shared.as_ptr() };
    let node = this.node(index);
    node.set(phase);
    shared.count(phase, line.worker());
    let (from, to) = (node.from, node.to);
    if node.word.end() {
        tell(this, index, fate.as_ref(), line.again(), doomed);
    }
    if from == to {
        this.end_in_block(index);
        return None;
    }
    if let Some(fate) = fate
        && (this.on_failure == OnFailure::FailDependents || matches!(fate, Fate::Stopped))
    {
        // SAFETY: it is ours, up to the release of its last successor.
        unsafe { doom_successors(core, from..to, &fate, doomed) };
        return None;
    }
    let inline = shared.settings.inline && matches!(line, Line::Turn(_));
    let mut first = None;
    let mut lane = Lane::new(core, shared, line);
    for at in from..to {
        // Its next successor has not ended, so the batch stays.
        let successor = this.edges[at as usize];
        match this.node(successor).word.release() {
            Duty::Nothing => {}
            Duty::Doom => {
                let fate = this.take_fate(successor);
                doomed.push(Doomed { core, index: successor, fate });
            }
            Duty::Run if inline && first.is_none() && !this.node(successor).is_resumable() => {
                lane.mark_ready(this, successor);
                first = Some(successor);
            }
            // SAFETY: we have made it ready.
            Duty::Run => unsafe { lane.add(this, successor) },
        }
    }
    lane.flush();
    first
}

/// SAFETY: as for `settle`, of a job with these successors.
#[cold]
unsafe fn doom_successors(
    core: NonNull<Core>,
    edges: std::ops::Range<u32>,
    fate: &Fate,
    doomed: &mut Vec<Doomed>,
) {
    // SAFETY: the next successor has not ended, so the batch stays.
    let this = unsafe { core.as_ref() };
    for at in edges {
        let successor = this.edges[at as usize];
        // Before the release: after the last one the batch may be gone.
        this.set_fate(successor, fate.clone());
        this.node(successor).word.poison();
        if this.node(successor).word.release() != Duty::Nothing {
            let fate = this.take_fate(successor);
            doomed.push(Doomed { core, index: successor, fate });
        }
    }
}

/// Tells those who wait for a job's end.
#[cold]
fn tell(
    core: &Core,
    index: u32,
    fate: Option<&Fate>,
    mut line: Line<'_, '_>,
    doomed: &mut Vec<Doomed>,
) {
    for watcher in core.take_watchers(index) {
        match watcher {
            Watcher::Waker(_, waker) => cell::contain(|| waker.wake()),
            Watcher::Dependent(dependent, its) => {
                release_dependent(&dependent, its, fate, line.again(), doomed);
            }
        }
    }
}

/// Releases a job of another batch.
fn release_dependent(
    core: &Core,
    index: u32,
    fate: Option<&Fate>,
    line: Line<'_, '_>,
    doomed: &mut Vec<Doomed>,
) {
    poison(core, index, fate);
    match core.node(index).word.release() {
        Duty::Nothing => {}
        Duty::Run => {
            let mut lane = Lane::new(NonNull::from(core), core.shared(), line);
            // SAFETY: we have made it ready, and hold its batch.
            unsafe { lane.add(core, index) };
            lane.flush();
        }
        Duty::Doom => {
            let fate = core.take_fate(index);
            doomed.push(Doomed { core: NonNull::from(core), index, fate });
        }
    }
}

/// A predecessor in another batch came to this end; what that means is for the job's batch to say.
fn poison(core: &Core, index: u32, fate: Option<&Fate>) {
    let Some(fate) = fate else { return };
    if core.on_failure == OnFailure::FailDependents || matches!(fate, Fate::Stopped) {
        core.set_fate(index, fate.clone());
        core.node(index).word.poison();
    }
}

/// For the submission of a batch: a predecessor of one of its jobs had ended before, like this.
pub(crate) fn release_at_submission(core: &Core, index: u32, fate: Option<&Fate>) -> Duty {
    poison(core, index, fate);
    core.node(index).word.release()
}

/// Ends jobs of a new batch that will not run, since a predecessor failed before.
pub(crate) fn doom_at_submission(core: &Core, indexes: Vec<u32>, handle: &Handle) {
    let doomed = indexes
        .into_iter()
        .map(|index| Doomed { core: NonNull::from(core), index, fate: core.take_fate(index) })
        .collect();
    // SAFETY: they are ready, and ours: nobody else knows of them.
    unsafe { end_doomed(doomed, Line::Outside(handle)) };
    core.shared().made_room();
}
