//! Jobs that run inside of the turn of another, which is set aside meanwhile.
//!
//! A job that waits in [`Turn::join`] lends its worker to others. The worker's seat says which job
//! runs, since when, and what is counted of it; while others have the seat that is kept here, and
//! then put back. What ran inside of a turn that is timed is taken off its time: it counts for
//! itself.
//!
//! In a simulation nothing is nested: a job that others follow there has taken its turn, and only its
//! end is still to come.

use kernel::Turn;

use crate::{about::nanos, id::JobId, pool::shared::Shared};

/// A job in whose turn others run.
#[must_use = "its turn goes on"]
struct Outer {
    job: JobId,
    since: u64,
    counted_since: u64,
    inside: u64,
    /// When the others came, if it is timed.
    left: u64,
}

/// Runs jobs, be it inside of the turn of another.
#[inline(always)]
pub(super) fn run<'t, R>(
    shared: &Shared,
    turn: &mut Turn<'t>,
    run: impl FnOnce(&mut Turn<'t>) -> R,
) -> R {
    let is_inside = shared.seat(turn.worker()).job.get() != 0;
    let outer = if is_inside { Outer::set_aside(shared, turn) } else { None };
    let result = run(turn);
    if let Some(outer) = outer {
        outer.go_on(shared, turn);
    }
    result
}

impl Outer {
    #[cold]
    fn set_aside(shared: &Shared, turn: &Turn<'_>) -> Option<Outer> {
        if shared.settings.simulated {
            return None;
        }
        let seat = shared.seat(turn.worker());
        let (since, counted_since) = (seat.since.get(), seat.counted_since.get());
        let left = if since > 0 { nanos(turn.now()) } else { 0 };
        let job = JobId::from_raw(seat.job.get());
        // Before another takes the seat: it runs all the time.
        shared.outer.lock().push(job);
        // Of a job that is not timed nobody writes these.
        seat.since.set(0);
        seat.counted_since.set(0);
        Some(Outer { job, since, counted_since, inside: seat.inside.get(), left })
    }

    #[cold]
    fn go_on(self, shared: &Shared, turn: &Turn<'_>) {
        let Outer { job, since, counted_since, inside, left } = self;
        let seat = shared.seat(turn.worker());
        let took = if since > 0 { nanos(turn.now()).saturating_sub(left) } else { 0 };
        seat.inside.set(inside + took);
        seat.since.set(since);
        seat.counted_since.set(if counted_since > 0 { counted_since + took } else { 0 });
        seat.job.set(job.to_raw());
        let mut outer = shared.outer.lock();
        if let Some(at) = outer.iter().position(|other| *other == job) {
            outer.swap_remove(at);
        }
    }
}
