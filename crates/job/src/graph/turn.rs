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
    let counts = this.is_timed(index);
    let timed = counts || shared.events.is_listened();
    let clock = timed.then(|| start_clock(this, index, counts, shared, turn));
    // SAFETY: the job is ours, and has not ended.
    let verdict = unsafe { this.at(index).turn(&mut Context::new(this, index, turn)) };
    if shared.settings.simulated {
        leave_later(core, index, verdict, clock, turn);
        return Some(verdict);
    }
    if let Some(clock) = clock {
        stop_clock(this, index, verdict, clock, shared, turn);
    }
    seat.job.set(0);
    Some(verdict)
}

/// A turn that is timed.
#[derive(Clone, Copy)]
struct Clock {
    started: u64,
    /// For the metrics, and not only for those who listen. It may be otherwise when the turn ends.
    counts: bool,
}

/// In a simulation the turn is over when virtual time has come to that; the job ends after it.
#[cold]
fn leave_later(
    core: NonNull<Core>,
    index: u32,
    verdict: Verdict,
    clock: Option<Clock>,
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
        if let Some(clock) = clock {
            stop_clock(core, index, verdict, clock, shared, turn);
        }
        shared.seat(turn.worker()).job.set(0);
    });
}

#[cold]
fn start_clock(core: &Core, index: u32, counts: bool, shared: &Shared, turn: &Turn<'_>) -> Clock {
    let now = nanos(turn.now());
    let seat = shared.seat(turn.worker());
    seat.inside.set(0);
    seat.since.set(now);
    seat.counted_since.set(if counts { now } else { 0 });
    if let Some(noted) = core.noted(index) {
        noted.started(now, |waited| seat.note_wait(waited, core.weight(index)));
    }
    Clock { started: now, counts }
}

#[cold]
fn stop_clock(
    core: &Core,
    index: u32,
    verdict: Verdict,
    clock: Clock,
    shared: &Shared,
    turn: &Turn<'_>,
) {
    let now = nanos(turn.now());
    let seat = shared.seat(turn.worker());
    seat.since.set(0);
    seat.counted_since.set(0);
    let noted = core.noted(index);
    let inside = seat.inside.get();
    if inside > 0 {
        core.note_inside(inside);
    }
    let took = now.saturating_sub(clock.started).saturating_sub(inside);
    let pace = seat.pace(core.number, now);
    let stands_for = if clock.counts { core.weight_after(index, took, pace) } else { 0 };
    if let Some((pace, least)) = pace.zip(core.least_if_shared())
        && !shared.apart.pays(pace, least, shared.workers_count, now)
    {
        core.keep_apart();
    }
    seat.note_execution(took, stands_for);
    let took = noted.map_or(took, |noted| noted.worked(took));
    if verdict == Verdict::Continue {
        return;
    }
    seat.measured.add(stands_for);
    if let Some(noted) = noted {
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
