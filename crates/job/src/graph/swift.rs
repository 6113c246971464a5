//! The path that nearly all jobs take: under plain work stealing, with nothing unusual about them.
//!
//! It does what [`end`](super::end) does, for jobs that complete and whose successors need no
//! care; everything else it leaves to that. A job of nothing costs as much as its bookkeeping, so
//! here each load counts: the arrays are looked up once per entry, and nothing is checked twice.

use std::{ops::Range, ptr::NonNull};

use kernel::{Share, Turn};

use crate::{
    context::Context,
    graph::{
        Core, Many,
        cell::Verdict,
        end::{Doomed, after_turn_with_care, end_doomed, tell},
        ready::Ready,
        turn::take_turn,
        word::{Duty, Ended},
    },
    id::JobId,
    metrics::Seat,
    pool::shared::Shared,
    sync::atomic::Ordering::Relaxed,
};

/// Of so many successors the words are fetched ahead, while the job runs.
const PREFETCH_MAX: u32 = 4;

/// So many ranges of ready jobs a worker keeps in hand.
const HAND: usize = 32;

/// So many tiny jobs a worker keeps in hand before it offers any.
const TINY_HELD: u32 = 8;

/// Nobody.
const NONE: u32 = u32::MAX;

/// Runs jobs one after the other, and then what they make ready, and so on.
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
    let mut hand = Hand::new(core, shared.workers_count, at_once - 1);
    // SAFETY: jobs of ours have not ended, so their batch stays.
    share(unsafe { core.as_ref() }.many(), turn);
    // Half of it, and half of the rest: so thieves find large pieces, and no more than one hand-out
    // waits behind the job that runs.
    while to - index > at_once {
        let middle = index + (to - index).div_ceil(2);
        // SAFETY: they are ready, and ours.
        unsafe { submit(core, middle, to, turn) };
        to = middle;
    }
    loop {
        // SAFETY: it is ready, and ours.
        unsafe { run_on(index, &mut hand, shared, seat, turn) };
        index += 1;
        if index == to {
            return;
        }
        if turn.expired() {
            // SAFETY: they are ready, and ours.
            return unsafe { submit(core, index, to, turn) };
        }
        // SAFETY: jobs of ours have not ended, so their batch stays.
        share(unsafe { core.as_ref() }.many(), turn);
        shared.room.made_before_another();
    }
}

/// Runs a job, and then what it makes ready, and so on.
///
/// # Safety
/// The job is ready, and the caller's; afterwards it is not. The pool is plain, and no job of the
/// batch is resumable. The hand is empty, and is so afterwards.
#[inline(always)]
unsafe fn run_on(first: u32, hand: &mut Hand, shared: &Shared, seat: &Seat, turn: &mut Turn<'_>) {
    let core = hand.core;
    // SAFETY: the job has not ended, so its batch stays.
    let this = unsafe { core.as_ref() };
    let many = this.many();
    let words = many.words.as_ptr();
    let (starts, edges) = (many.layout.starts.as_ptr(), many.layout.edges.as_ptr());
    let watched = many.watched;
    let mut index = first;
    loop {
        // SAFETY: a batch has a word for each job, a start for each, and one more.
        let (word, from, to) = unsafe {
            let start = starts.add(index as usize);
            (&*words.add(index as usize), *start, *start.add(1))
        };
        for at in from..to.min(from + PREFETCH_MAX) {
            // SAFETY: these are the edges of the job, and they name jobs of the batch.
            prefetch(unsafe { &*words.add(*edges.add(at as usize) as usize) });
        }
        let verdict =
            if word.is_cancelled() || many.times.is_timed(index) || this.needs_care(many, shared) {
                // SAFETY: it is ready, and ours.
                unsafe { take_turn(core, index, shared, seat, turn) }
            } else {
                seat.job.set(JobId::ours(this.number, index).to_raw());
                // SAFETY: as above.
                let verdict =
                    unsafe { many.cells.at(index).turn(&mut Context::new(this, index, turn)) };
                seat.job.set(0);
                Some(verdict)
            };
        let mut next = NONE;
        if verdict == Some(Verdict::Completed) {
            seat.completed.add(1);
            if !watched {
                word.end_unwatched(Ended::Completed);
            } else if word.end(Ended::Completed) {
                tell_with_care(this, index, turn);
            }
            if from == to {
                // SAFETY: it was ours, and this is the last step.
                unsafe { Core::end_in_block(core, index) };
            }
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
                if let Some(stamps) = many.times.of(successor) {
                    stamps.ready(now(turn));
                }
                if next == NONE {
                    next = successor;
                } else {
                    hand.add(successor, turn);
                }
            }
        } else {
            // SAFETY: as above.
            unsafe { after_turn_with_care(core, index, verdict, shared, turn) };
        }
        if next == NONE {
            match hand.take() {
                Some(last) => next = last,
                None => return,
            }
        }
        if turn.expired() {
            hand.put_down(turn);
            // SAFETY: it is ready, and ours.
            return unsafe { submit(core, next, next + 1, turn) };
        }
        hand.offer(many, turn);
        shared.room.made_before_another();
        index = next;
    }
}

/// Ready jobs that a worker has in hand, apart from the one it runs: the newest runs next, the
/// oldest are offered to thieves, one per worker. Neighbours are kept as ranges. While a job runs no
/// more than one hand-out is held, since nobody else can take that meanwhile.
///
/// If jobs are [tiny](crate::graph::times::Times::are_tiny) a few more are held before any is offered. And
/// where it [does not pay](crate::graph::apart) to share them at all, the worker keeps its deque to itself
/// while it comes from one to the next.
struct Hand {
    core: NonNull<Core>,
    workers: usize,
    /// So many jobs may be held while another runs; and so many are.
    max: u32,
    held: u32,
    ranges: [(u32, u32); HAND],
    /// The oldest, and one after the newest; they only grow.
    oldest: usize,
    end: usize,
}

impl Hand {
    #[inline(always)]
    fn new(core: NonNull<Core>, workers: usize, max: u32) -> Hand {
        Hand { core, workers, max, held: 0, ranges: [(0, 0); HAND], oldest: 0, end: 0 }
    }

    /// The job is ready, and the worker's.
    #[inline(always)]
    fn add(&mut self, index: u32, turn: &mut Turn<'_>) {
        self.held += 1;
        if self.oldest != self.end {
            let newest = &mut self.ranges[(self.end - 1) % HAND];
            if newest.1 == index {
                newest.1 += 1;
                return;
            }
        }
        if self.end - self.oldest == HAND {
            self.give(turn);
        }
        self.ranges[self.end % HAND] = (index, index + 1);
        self.end += 1;
    }

    /// The next job to run.
    #[inline(always)]
    fn take(&mut self) -> Option<u32> {
        if self.oldest == self.end {
            return None;
        }
        let newest = &mut self.ranges[(self.end - 1) % HAND];
        let index = newest.0;
        self.held -= 1;
        newest.0 += 1;
        if newest.0 == newest.1 {
            self.end -= 1;
        }
        Some(index)
    }

    /// Lets thieves have the oldest, as long as they would find too little.
    #[inline(always)]
    fn offer(&mut self, many: &Many, turn: &mut Turn<'_>) {
        let (workers, max) = (self.workers, self.max);
        let few = share(many, turn);
        let wanted = |held: u32, turn: &Turn<'_>| turn.near() < workers && held > few;
        while self.oldest != self.end && (self.held > max || wanted(self.held, turn)) {
            self.give(turn);
        }
    }

    /// Puts the oldest range on the worker's deque.
    #[inline(never)]
    fn give(&mut self, turn: &mut Turn<'_>) {
        let (from, to) = self.ranges[self.oldest % HAND];
        self.oldest += 1;
        self.held -= to - from;
        // SAFETY: they are ready, and in our hand.
        unsafe { submit(self.core, from, to, turn) };
    }

    /// Puts everything on the worker's deque.
    #[cold]
    fn put_down(&mut self, turn: &mut Turn<'_>) {
        while self.oldest != self.end {
            self.give(turn);
        }
    }
}

/// Says whom the worker's deque is for, and returns how many jobs it holds before it offers any.
#[inline(always)]
fn share(many: &Many, turn: &mut Turn<'_>) -> u32 {
    let share = many.times.share();
    turn.share(share);
    match share {
        Share::Eager => 0,
        Share::Kept => u32::MAX,
        _ => TINY_HELD,
    }
}

impl Core {
    /// Whether there is something unusual about its jobs' turns: somebody listens, they have chosen ids,
    /// or the batch was cancelled.
    #[inline(always)]
    pub(super) fn needs_care(&self, many: &Many, shared: &Shared) -> bool {
        shared.events.is_listened() || !many.ids.is_empty() || self.cancelled.load(Relaxed)
    }
}

/// Asks the processor to have this at hand soon, for writing: a line that comes for reading has to
/// be asked for a second time.
#[inline(always)]
fn prefetch<T>(what: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint, which changes nothing. Processors that do not know it do nothing.
    unsafe {
        std::arch::asm!(
            "prefetchw [{}]",
            in(reg) std::ptr::from_ref(what),
            options(nostack, readonly, preserves_flags)
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = what;
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
pub(super) fn tell_with_care(core: &Core, index: u32, turn: &mut Turn<'_>) {
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
