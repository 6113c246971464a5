//! A job's turn: from its start to what it left behind, with the clock where it is timed.

use std::{ptr::NonNull, time::Duration};

use kernel::Turn;

use crate::{
    about::nanos,
    context::Context,
    event::Event,
    graph::{Core, cell::Verdict},
    metrics::Seat,
    pool::shared::Shared,
};

/// Takes a turn of a job. `None`: it was cancelled.
///
/// # Safety
/// The job is ready, and the caller's.
#[inline(always)]
pub(super) unsafe fn take_turn(
    core: NonNull<Core>,
    index: u32,
    shared: &Shared,
    seat: &Seat,
    turn: &mut Turn<'_>,
) -> Option<Verdict> {
    // SAFETY: the job has not ended, so its batch stays.
    let this = unsafe { core.as_ref() };
    if this.is_cancelled(index) {
        return None;
    }
    seat.job.set(this.id_of(index).to_raw());
    let timed = this.noted(index).is_some() || shared.events.is_listened();
    let started = if timed { start_clock(this, index, shared, turn) } else { 0 };
    // SAFETY: the job is ours, and has not ended.
    let verdict = unsafe { this.at(index).turn(&mut Context::new(this, index, turn)) };
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
    struct Batch(NonNull<Core>);
    // SAFETY: a batch is shared by threads.
    unsafe impl Send for Batch {}

    let batch = Batch(core);
    turn.later(move |turn| {
        let batch = batch; // whole, not the pointer in it
        let Batch(core) = batch;
        // SAFETY: the job ends after this, so its batch stays.
        let core = unsafe { core.as_ref() };
        // SAFETY: as above.
        let shared = unsafe { core.shared() };
        if let Some(started) = started {
            stop_clock(core, index, verdict, started, shared, turn);
        }
        shared.seat(turn.worker()).job.set(0);
    });
}

#[cold]
fn start_clock(core: &Core, index: u32, shared: &Shared, turn: &Turn<'_>) -> u64 {
    let now = nanos(turn.now());
    let seat = shared.seat(turn.worker());
    seat.since.set(now);
    if let Some(noted) = core.noted(index) {
        noted.started(now, |waited| seat.note_wait(waited, core.weight()));
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
    let noted = core.noted(index);
    let took = now.saturating_sub(started);
    if noted.is_some() {
        seat.note_execution(took, core.weight());
    }
    let took = noted.map_or(took, |noted| noted.worked(took));
    if verdict == Verdict::Continue {
        return;
    }
    if let Some(noted) = noted {
        seat.measured.add(core.weight());
        noted.ended(now);
    }
    if let Some(kept) = core.kept(index) {
        shared.learn(&kept, took);
    }
    shared.events.send(|| {
        let (job, worker) = (core.id_of(index), turn.worker());
        let execution = Duration::from_nanos(took);
        match verdict {
            Verdict::Failed => {
                // SAFETY: the job is ours, and has left its outcome.
                let reason = unsafe { core.at(index).reason() };
                Event::JobFailed { job, worker, reason, execution }
            }
            _ => Event::JobCompleted { job, worker, execution },
        }
    });
}
