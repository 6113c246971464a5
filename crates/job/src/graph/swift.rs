//! The path that nearly all jobs take: under plain work stealing, with nothing unusual about them.
//!
//! It does what [`end`](super::end) does, for jobs that complete and whose successors need no
//! care; everything else it leaves to that. A job of nothing costs as much as its bookkeeping, so
//! here each load counts: the arrays are looked up once per entry, and nothing is checked twice.

use std::{ops::Range, ptr::NonNull};

use kernel::Turn;

use crate::{
    graph::{
        Core,
        cell::Verdict,
        end::{Doomed, after_turn_with_care, end_doomed, tell},
        ready::Ready,
        turn::take_turn,
        word::{Duty, Ended},
    },
    metrics::Seat,
    pool::shared::Shared,
};

/// Nobody.
const NONE: u32 = u32::MAX;

/// Runs jobs one after the other, with what they release, and shares them: whenever nothing waits
/// on the worker's own deque, half of what is left goes there. So thieves find large pieces, and
/// where nobody steals hardly anything is pushed.
///
/// # Safety
/// The jobs are ready, and the caller's; afterwards they are not. The pool is plain, and no job of
/// the batch is resumable.
#[inline(always)]
pub(super) unsafe fn run_all(
    core: NonNull<Core>,
    jobs: Range<u32>,
    shared: &Shared,
    turn: &mut Turn<'_>,
) {
    let Range { start: mut index, end: mut to } = jobs;
    let seat = shared.seat(turn.worker());
    let at_once = shared.settings.jobs_per_cycle_max;
    loop {
        let left = to - index;
        if left > at_once && !turn.has_near() {
            let middle = index + left.div_ceil(2);
            // SAFETY: they are ready, and ours.
            unsafe { submit(core, middle, to, turn) };
            to = middle;
        }
        // SAFETY: it is ready, and ours.
        unsafe { run_on(core, index, shared, seat, turn) };
        index += 1;
        if index == to {
            return;
        }
        if turn.expired() {
            // SAFETY: they are ready, and ours.
            return unsafe { submit(core, index, to, turn) };
        }
        shared.made_room_before_another();
    }
}

/// Runs a job, and then the first that it makes ready, and so on.
///
/// # Safety
/// The job is ready, and the caller's; afterwards it is not. The pool is plain, and no job of the
/// batch is resumable.
#[inline(always)]
unsafe fn run_on(
    core: NonNull<Core>,
    first: u32,
    shared: &Shared,
    seat: &Seat,
    turn: &mut Turn<'_>,
) {
    // SAFETY: the job has not ended, so its batch stays.
    let this = unsafe { core.as_ref() };
    let words = this.words.as_ptr();
    let (starts, edges) = (this.layout.starts.as_ptr(), this.layout.edges.as_ptr());
    let mut index = first;
    loop {
        // SAFETY: it is ready, and ours.
        let verdict = unsafe { take_turn(core, index, shared, seat, turn) };
        if verdict != Some(Verdict::Completed) {
            // SAFETY: as above.
            return unsafe { after_turn_with_care(core, index, verdict, shared, turn) };
        }
        seat.completed.add(1);
        // SAFETY: a batch has a start for each job, and one more.
        let (from, to) = unsafe { (*starts.add(index as usize), *starts.add(index as usize + 1)) };
        // SAFETY: a batch has a word for each job.
        if unsafe { &*words.add(index as usize) }.end(Ended::Completed) {
            tell_with_care(this, index, turn);
        }
        if from == to {
            return this.end_in_block(index);
        }
        let (mut next, mut low, mut high) = (NONE, 0, 0);
        for at in from..to {
            // The successor has not ended, so the batch stays.
            // SAFETY: these are the edges of the job, and they name jobs of the batch.
            let successor = unsafe { *edges.add(at as usize) };
            // SAFETY: as above.
            match unsafe { &*words.add(successor as usize) }.release() {
                Duty::Nothing => continue,
                Duty::Run => {}
                Duty::Doom => {
                    // SAFETY: we have made it ready.
                    unsafe { doom_with_care(core, successor, turn) };
                    continue;
                }
            }
            if let Some(stamps) = this.times.of(successor) {
                stamps.ready(now(turn));
            }
            if next == NONE {
                next = successor;
            } else if high == successor && low != high {
                high += 1;
            } else {
                // SAFETY: we have made them ready.
                unsafe { submit(core, low, high, turn) };
                (low, high) = (successor, successor + 1);
            }
        }
        // SAFETY: we have made them ready.
        unsafe { submit(core, low, high, turn) };
        if next == NONE {
            return;
        }
        if turn.expired() {
            // SAFETY: we have made it ready.
            return unsafe { submit(core, next, next + 1, turn) };
        }
        shared.made_room_before_another();
        index = next;
    }
}

/// # Safety
/// The jobs are ready, and the caller's. Afterwards they are not.
#[inline(always)]
unsafe fn submit(core: NonNull<Core>, from: u32, to: u32, turn: &mut Turn<'_>) {
    if from != to {
        // SAFETY: by the caller's promise.
        unsafe { Ready::new(core, from, to) }.submit(turn);
    }
}

#[cold]
fn now(turn: &Turn<'_>) -> u64 {
    crate::about::nanos(turn.now())
}

#[cold]
fn tell_with_care(core: &Core, index: u32, turn: &mut Turn<'_>) {
    let mut doomed = Vec::new();
    tell(core, index, None, turn, &mut doomed);
    // SAFETY: they are ready, and ours.
    unsafe { end_doomed(doomed, turn) };
}

/// # Safety
/// The job is ready, and the caller's. Afterwards it is not.
#[cold]
unsafe fn doom_with_care(core: NonNull<Core>, index: u32, turn: &mut Turn<'_>) {
    // SAFETY: the job has not ended, so its batch stays.
    let fate = unsafe { core.as_ref() }.take_fate(index);
    // SAFETY: by the caller's promise.
    unsafe { end_doomed(vec![Doomed { core, index, fate }], turn) };
}
