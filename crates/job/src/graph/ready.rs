//! Ready jobs in a queue, and how whoever takes them runs them.
//!
//! A queue entry names a range of ready jobs; see [`swift`] for how it is shared under work
//! stealing. A job that has ended releases its successors; the first that becomes ready runs at
//! once on the same worker, while the quantum lasts.

use std::{mem, ptr::NonNull};

use kernel::{Step, Turn};

use crate::{
    graph::{
        Core,
        cell::{Fate, Verdict},
        end::{self, Doomed, after_turn},
        levels,
        line::Closed,
        nested, swift,
        turn::take_turn,
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

impl Ready {
    /// # Safety
    /// The jobs are ready, and the caller's. Afterwards they are not.
    #[inline(always)]
    pub(super) unsafe fn new(core: NonNull<Core>, from: u32, to: u32) -> Ready {
        Ready { core, from, to }
    }

    /// Runs them, with what they release.
    pub(super) fn run(self, turn: &mut Turn<'_>) {
        let shared = shared_of(self.core, turn);
        nested::run(shared, turn, |turn| self.run_on_seat(shared, turn));
    }

    /// The worker's seat is theirs.
    #[inline(always)]
    fn run_on_seat(self, shared: &Shared, turn: &mut Turn<'_>) {
        let Ready { core, from, mut to } = self;
        mem::forget(self);
        // SAFETY: a job of it in this turn has not ended.
        if shared.settings.inline && unsafe { core.as_ref().runs_swiftly() } {
            // SAFETY: they are ready, and ours.
            unsafe {
                if core.as_ref().runs_by_levels() {
                    levels::run(core, from..to, shared, turn);
                } else {
                    swift::run_all(core, from..to, shared, turn);
                }
            }
            return shared.room.made();
        }
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
            // SAFETY: it is ready, and ours.
            unsafe { run_on(core, index, shared, turn) };
        }
        shared.room.made();
    }

    /// Leaves them on the worker's own deque.
    #[inline(always)]
    pub(super) fn submit(self, turn: &mut Turn<'_>) {
        turn.submit(move |turn| self.run(turn));
    }
}

impl Drop for Ready {
    /// They were not run: the pool has stopped.
    fn drop(&mut self) {
        let stopped = |index| Doomed { core: self.core, index, fate: Fate::Stopped };
        // SAFETY: they have not ended, so their batch stays for now; what the pool keeps lives as
        // long as the runtime, whose queues or handle we come from.
        let shared: &Shared = unsafe { &*self.core.as_ref().shared.as_ptr() };
        // SAFETY: they are ready, and ours.
        unsafe {
            if self.core.as_ref().runs_by_levels() {
                levels::stop(self.core, self.from..self.to);
            } else {
                end::end_doomed((self.from..self.to).map(stopped).collect(), &mut Closed);
            }
        }
        shared.room.made();
        shared.close_if_over();
    }
}

/// What the pool keeps, for as long as the turn lasts: the batch may end before.
#[inline(always)]
fn shared_of<'a>(core: NonNull<Core>, _: &Turn<'a>) -> &'a Shared {
    // SAFETY: the batch stays, since a job of it in this turn has not ended; and what the pool
    // keeps lives as long as the runtime, and so as long as the turn.
    unsafe { &*core.as_ref().shared.as_ptr() }
}

/// Runs a job, and then the first that it makes ready, and so on.
///
/// # Safety
/// The job is ready, and the caller's. Afterwards it is not.
unsafe fn run_on(core: NonNull<Core>, first: u32, shared: &Shared, turn: &mut Turn<'_>) {
    let seat = shared.seat(turn.worker());
    let mut index = first;
    loop {
        // SAFETY: it is ready, and ours.
        let next = unsafe {
            let verdict = take_turn(core, index, shared, seat, turn);
            after_turn(core, index, verdict, shared, turn)
        };
        match next {
            None => return,
            Some(next) if turn.expired() => {
                return Ready { core, from: next, to: next + 1 }.submit(turn);
            }
            Some(next) => index = next,
        }
        shared.room.made_before_another();
    }
}

/// The body of a strand that takes the turns of a resumable job.
pub(super) fn turns(ready: Ready) -> impl FnMut(&mut Turn<'_>) -> Step<()> + Send {
    let mut ready = Some(ready);
    move |turn| {
        let Some(Ready { core, .. }) = &ready else { return Step::End(()) };
        let shared = shared_of(*core, turn);
        nested::run(shared, turn, |turn| step(&mut ready, shared, turn))
    }
}

/// Takes a turn of a resumable job, if it has not ended.
fn step(ready: &mut Option<Ready>, shared: &Shared, turn: &mut Turn<'_>) -> Step<()> {
    let Some(Ready { core, from: index, .. }) = *ready else { return Step::End(()) };
    let seat = shared.seat(turn.worker());
    // SAFETY: the job is ready, and ours until it ends.
    let verdict = unsafe { take_turn(core, index, shared, seat, turn) };
    if verdict == Some(Verdict::Continue) {
        return Step::Yield;
    }
    mem::forget(ready.take());
    // SAFETY: as above, and it is ours no more.
    let next = unsafe { after_turn(core, index, verdict, shared, turn) };
    if let Some(next) = next {
        Ready { core, from: next, to: next + 1 }.submit(turn);
    }
    shared.room.made();
    Step::End(())
}
