//! The end of a job: who is told, and what it releases.
//!
//! Jobs that will not run (a predecessor failed, it was cancelled, the pool stopped) end one after
//! the other from a list, not by recursion: a chain of them may be long, and cross batches.
//!
//! In a simulation a job runs at once but lasts in virtual time, so its end is left to
//! [`Turn::later`].

use std::{mem, ops::Range, ptr::NonNull, sync::Arc};

use kernel::Turn;

use crate::{
    about::Kept,
    batch::{OnFailure, layout::Layout},
    event::Event,
    graph::{
        Core,
        cell::{Fate, Verdict, contain},
        line::{Closed, Lane, Line, Submission},
        ready::Ready,
        watch::Watcher,
        word::{Duty, Ended},
    },
    pool::shared::Shared,
    sync::atomic::Ordering::Relaxed,
};

/// A job that is to end without having run.
pub(super) struct Doomed {
    pub(super) core: NonNull<Core>,
    pub(super) index: u32,
    pub(super) fate: Fate,
}

/// Puts the jobs of a new batch in line that wait for nobody.
#[inline]
pub(crate) fn start(
    core: &Arc<Core>,
    roots: impl Iterator<Item = u32>,
    shared: &Shared,
    submission: &mut Submission<'_>,
) {
    let mut lane = Lane::new(Core::pointer(core), shared, submission);
    for index in roots {
        // SAFETY: nobody else knows of it yet, and the caller holds the batch.
        unsafe { lane.add(core, index) };
    }
    lane.flush();
}

/// Puts the first level of a new batch in line.
pub(crate) fn start_by_levels(core: &Arc<Core>, layout: &Layout, submission: &mut Submission<'_>) {
    let first = layout.levels().first();
    // SAFETY: nobody else knows of them yet.
    submission.submit(unsafe { Ready::new(Core::pointer(core), first.start, first.end) });
}

/// Puts a job in line that was submitted alone, at the place that is due to what is said about it.
#[inline]
pub(crate) fn start_alone(
    core: &Arc<Core>,
    kept: &Kept,
    shared: &Shared,
    submission: &mut Submission<'_>,
) {
    // SAFETY: it waits for nobody, and nobody else knows of it yet.
    let ready = unsafe { Ready::new(Core::pointer(core), 0, 1) };
    if shared.settings.plain {
        submission.submit(ready);
    } else {
        submission.submit_with(shared.attributes(kept), ready);
    }
}

/// Ends a job whose turn is over; in a simulation when virtual time has come to that. Returns a
/// successor to run next: it is ready, and the caller's.
///
/// # Safety
/// The job is the caller's, and has left its outcome if it was not cancelled. Afterwards it is not
/// the caller's any more.
#[inline(always)]
pub(super) unsafe fn after_turn(
    core: NonNull<Core>,
    index: u32,
    verdict: Option<Verdict>,
    shared: &Shared,
    turn: &mut Turn<'_>,
) -> Option<u32> {
    if verdict != Some(Verdict::Completed) || shared.settings.simulated {
        // SAFETY: by the caller's promise.
        unsafe { after_turn_with_care(core, index, verdict, shared, turn) };
        return None;
    }
    let mut doomed = Vec::new();
    // SAFETY: by the caller's promise.
    let next = unsafe { complete(core, index, shared, turn, &mut doomed) };
    if !doomed.is_empty() {
        // SAFETY: they are ready, and ours.
        unsafe { end_doomed(doomed, turn) };
    }
    next
}

/// SAFETY: as for `after_turn`.
#[cold]
pub(super) unsafe fn after_turn_with_care(
    core: NonNull<Core>,
    index: u32,
    verdict: Option<Verdict>,
    shared: &Shared,
    turn: &mut Turn<'_>,
) {
    let ending = Ending { core, index, verdict };
    if shared.settings.simulated {
        turn.later(move |turn| ending.end(turn));
    } else {
        ending.end(turn);
    }
}

/// A job whose turn is over, and that has not ended yet.
struct Ending {
    core: NonNull<Core>,
    index: u32,
    /// `None`: it was cancelled.
    verdict: Option<Verdict>,
}

// SAFETY: a batch is shared by threads, and the job is that of whoever holds this.
unsafe impl Send for Ending {}

impl Ending {
    fn end(self, turn: &mut Turn<'_>) {
        let Ending { core, index, verdict } = self;
        mem::forget(self);
        let mut doomed = Vec::new();
        // SAFETY: the job has not ended, so its batch stays.
        let this = unsafe { core.as_ref() };
        // SAFETY: what the pool keeps lives as long as the runtime, and so as long as this turn.
        let shared: &Shared = unsafe { &*this.shared.as_ptr() };
        // SAFETY: the job is ours, and has left its outcome if it was not cancelled.
        let next = unsafe {
            match verdict {
                Some(Verdict::Completed) => complete(core, index, shared, turn, &mut doomed),
                Some(_) => {
                    let fate = note_failure(this, index);
                    fail(core, index, Ended::Failed, &fate, turn, &mut doomed)
                }
                None => {
                    doomed.push(Doomed { core, index, fate: Fate::Cancelled });
                    None
                }
            }
        };
        if let Some(next) = next {
            // SAFETY: it is ready, and ours.
            unsafe { Ready::new(core, next, next + 1) }.submit(turn);
        }
        // SAFETY: they are ready, and ours.
        unsafe { end_doomed(doomed, turn) };
        shared.room.made();
    }
}

/// Notes what dependents are told of a job that has failed, also those that come later.
///
/// # Safety
/// The job is the caller's, and has left its outcome.
unsafe fn note_failure(core: &Core, index: u32) -> Fate {
    // SAFETY: by the caller's promise.
    let reason = unsafe { core.at(index).reason() };
    let fate = Fate::Predecessor { job: core.id_of(index), reason };
    core.set_failure(index, fate.clone());
    fate
}

impl Drop for Ending {
    /// The simulation is dropped in the middle of the turn.
    fn drop(&mut self) {
        let Ending { core, index, verdict } = *self;
        let mut doomed = Vec::new();
        let fate = Fate::Stopped;
        // SAFETY: it is ours, and has left its outcome if it was not cancelled.
        unsafe {
            match verdict {
                Some(Verdict::Completed) => {
                    fail(core, index, Ended::Completed, &fate, &mut Closed, &mut doomed);
                }
                Some(_) => {
                    note_failure(core.as_ref(), index);
                    fail(core, index, Ended::Failed, &fate, &mut Closed, &mut doomed);
                }
                None => doomed.push(Doomed { core, index, fate }),
            }
        }
        // SAFETY: they are ready, and ours.
        unsafe { end_doomed(doomed, &mut Closed) };
    }
}

/// Ends jobs that will not run, and those that will not run because of them.
///
/// # Safety
/// They are ready, and the caller's.
#[cold]
pub(super) unsafe fn end_doomed(mut doomed: Vec<Doomed>, line: &mut impl Line) {
    while let Some(Doomed { core, index, mut fate }) = doomed.pop() {
        // SAFETY: the job has not ended, so its batch stays.
        let this = unsafe { core.as_ref() };
        // SAFETY: as above.
        let shared = unsafe { this.shared() };
        if matches!(fate, Fate::Predecessor { .. }) && this.is_cancelled(index) {
            fate = Fate::Cancelled;
        }
        // SAFETY: it is ours, and has not run.
        unsafe { this.at(index).doom(fate.clone()) };
        let job = this.id_of(index);
        let ended = match fate {
            Fate::Predecessor { .. } => {
                shared.events.send(|| Event::JobNotRun { job, fate: fate.to_string() });
                this.set_failure(index, fate.clone());
                Ended::Failed
            }
            Fate::Cancelled => Ended::Cancelled,
            Fate::Stopped => Ended::Stopped,
        };
        if ended != Ended::Failed {
            shared.events.send(|| Event::JobCancelled { job });
        }
        // Dependents hear where it began.
        let fate = fate.as_predecessor(job);
        // SAFETY: it is ours, and its outcome lies there.
        let next = unsafe { fail(core, index, ended, &fate, line, &mut doomed) };
        if let Some(next) = next {
            // SAFETY: it is ready, and ours.
            line.submit(unsafe { Ready::new(core, next, next + 1) });
        }
    }
}

/// Says that a job has completed, and releases its successors. Returns the first that is ready,
/// where it may run at once.
///
/// # Safety
/// The job is the caller's, and its outcome lies in its room. Afterwards it is not.
#[inline(always)]
unsafe fn complete(
    core: NonNull<Core>,
    index: u32,
    shared: &Shared,
    line: &mut impl Line,
    doomed: &mut Vec<Doomed>,
) -> Option<u32> {
    // SAFETY: the job has not ended, so its batch stays: until its last step below (rule 3).
    let this = unsafe { core.as_ref() };
    shared.count(Ended::Completed, line.worker());
    let successors = this.successors(index);
    if this.word(index).end(Ended::Completed) {
        tell(this, index, None, line, doomed);
    }
    if successors.is_empty() {
        // SAFETY: it was ours, and this is the last step.
        unsafe { Core::end_in_block(core, index) };
        return None;
    }
    // SAFETY: by the caller's promise.
    unsafe { release(core, successors, shared, line, doomed) }
}

/// Says that a job has ended like this. Its successors may not be run: that is for the batch to
/// say, unless the pool has stopped. Otherwise as `complete`.
///
/// # Safety
/// As for `complete`.
#[cold]
unsafe fn fail(
    core: NonNull<Core>,
    index: u32,
    ended: Ended,
    fate: &Fate,
    line: &mut impl Line,
    doomed: &mut Vec<Doomed>,
) -> Option<u32> {
    // SAFETY: as in `complete`.
    let this = unsafe { core.as_ref() };
    // SAFETY: the job has not ended.
    unsafe { this.shared() }.count(ended, line.worker());
    let edges = this.successors(index);
    if ended != Ended::Completed {
        this.blemished.store(true, Relaxed);
    }
    if this.word(index).end(ended) {
        tell(this, index, Some(fate), line, doomed);
    }
    if edges.is_empty() {
        // SAFETY: it was ours, and this is the last step.
        unsafe { Core::end_in_block(core, index) };
        None
    } else if this.dooms(fate) {
        // SAFETY: it is ours, up to the release of its last successor.
        unsafe { doom_successors(core, edges, fate, doomed) };
        None
    } else {
        // SAFETY: by the caller's promise. What the pool keeps outlives the batch.
        unsafe { release(core, edges, &*this.shared.as_ptr(), line, doomed) }
    }
}

impl Core {
    /// Whether a job of this batch is not run when a predecessor came to this end.
    fn dooms(&self, fate: &Fate) -> bool {
        self.on_failure() == OnFailure::FailDependents || matches!(fate, Fate::Stopped)
    }

    /// The same for a predecessor in another batch.
    fn poison_from_outside(&self, index: u32, fate: Option<&Fate>) {
        self.poison(
            index,
            fate.filter(|fate| !self.is_forgiving() || matches!(fate, Fate::Stopped)),
        );
    }

    /// A predecessor came to this end; the caller releases the job afterwards.
    fn poison(&self, index: u32, fate: Option<&Fate>) {
        if let Some(fate) = fate
            && self.dooms(fate)
        {
            self.set_fate(index, fate.clone());
            self.word(index).poison();
        }
    }
}

/// # Safety
/// These are the successors of a job that has ended and was the caller's.
#[inline(always)]
unsafe fn release(
    core: NonNull<Core>,
    edges: Range<u32>,
    shared: &Shared,
    line: &mut impl Line,
    doomed: &mut Vec<Doomed>,
) -> Option<u32> {
    // SAFETY: the next successor has not ended, so the batch stays.
    let this = unsafe { core.as_ref() };
    if this.runs_by_levels() {
        return None; // they are released by the end of this level
    }
    let inline = shared.settings.inline && line.turn();
    let mut first = None;
    let mut lane = Lane::new(core, shared, line);
    for at in edges {
        let successor = this.edges()[at as usize];
        match this.word(successor).release() {
            Duty::Nothing => {}
            Duty::Run if inline && first.is_none() && !this.is_resumable(successor) => {
                lane.stamp(this, successor);
                first = Some(successor);
            }
            // SAFETY: we have made it ready.
            Duty::Run => unsafe { lane.add(this, successor) },
            Duty::Doom => {
                let fate = this.take_fate(successor);
                doomed.push(Doomed { core, index: successor, fate });
            }
        }
    }
    lane.flush();
    first
}

/// SAFETY: as for `release`.
#[cold]
unsafe fn doom_successors(
    core: NonNull<Core>,
    edges: Range<u32>,
    fate: &Fate,
    doomed: &mut Vec<Doomed>,
) {
    // SAFETY: the next successor has not ended, so the batch stays.
    let this = unsafe { core.as_ref() };
    for at in edges {
        let successor = this.edges()[at as usize];
        this.poison(successor, Some(fate));
        if !this.runs_by_levels() && this.word(successor).release() != Duty::Nothing {
            let fate = this.take_fate(successor);
            doomed.push(Doomed { core, index: successor, fate });
        }
    }
}

/// Tells those who wait for a job's end.
#[cold]
pub(super) fn tell(
    core: &Core,
    index: u32,
    fate: Option<&Fate>,
    line: &mut impl Line,
    doomed: &mut Vec<Doomed>,
) {
    for watcher in core.take_watchers(index) {
        match watcher {
            Watcher::Waker(_, waker) => contain(|| waker.wake()),
            Watcher::Dependent(dependent, its) => {
                dependent.poison_from_outside(its, fate);
                release_dependent(&dependent, its, line, doomed);
            }
        }
    }
}

/// Releases a job of another batch.
fn release_dependent(core: &Arc<Core>, index: u32, line: &mut impl Line, doomed: &mut Vec<Doomed>) {
    match core.word(index).release() {
        Duty::Nothing => {}
        Duty::Run => {
            // SAFETY: it has not ended until we have put it in line, and then nothing is touched
            // but what the line is of.
            let shared = unsafe { core.shared() };
            let mut lane = Lane::new(Core::pointer(core), shared, line);
            // SAFETY: we have made it ready, and hold its batch.
            unsafe { lane.add(core, index) };
            lane.flush();
        }
        Duty::Doom => {
            let fate = core.take_fate(index);
            doomed.push(Doomed { core: Core::pointer(core), index, fate });
        }
    }
}

/// For the submission of a batch: a predecessor of one of its jobs had ended before, like this.
pub(crate) fn release_at_submission(core: &Core, index: u32, fate: Option<&Fate>) -> Duty {
    core.poison_from_outside(index, fate);
    core.word(index).release()
}

/// Ends jobs of a new batch that will not run, since a predecessor failed before.
pub(crate) fn doom_at_submission(
    core: &Arc<Core>,
    indexes: Vec<u32>,
    shared: &Shared,
    submission: &mut Submission<'_>,
) {
    let doomed = indexes
        .into_iter()
        .map(|index| Doomed { core: Core::pointer(core), index, fate: core.take_fate(index) })
        .collect();
    // SAFETY: they are ready, and ours: nobody else knows of them.
    unsafe { end_doomed(doomed, submission) };
    shared.room.made();
    // The runtime may have stopped since the batch was taken.
    shared.close_if_over();
}
