//! A batch level by level: what runs next is known beforehand, so that nobody counts.
//!
//! ```text
//!   order   [ jobs of level 0 ][ jobs of level 1 ][ … ]      left: of this level that have not ended
//! ```
//!
//! A job is of the level after the last of its predecessors. Who asks for
//! [this](crate::Batch::by_levels) has very many very small jobs, and gives up that each is released
//! by the end of its last predecessor: a level begins when the one before it has ended. Entries in
//! queues are then ranges of `order`, and a worker that has run one takes its length off `left`.
//!
//! 1. Jobs of one level only are in queues or in hand. Each is in one range, whose holder has it to
//!    itself.
//! 2. Whoever takes the last of a level off begins the next, or ends the batch. It has seen all that
//!    the jobs of the level did, and so does whoever gets a range from it.
//! 3. As long as the holder of a range has not taken it off, the batch stays.
//!
//! A job that fails poisons its successors, as always. They are of later levels, whose runs see that
//! (rule 2), and end without having run. The counts of predecessors in the words are not touched.
//!
//! Ordering: each step of `left` releases what its caller did and acquires what those before it did.
//! The next level's number, and when it began, are written before its ranges are put in line, which
//! releases them.

use std::{ops::Range, ptr::NonNull};

use kernel::{Share, Turn};

use crate::{
    about::nanos,
    batch::layout::Layout,
    context::Context,
    graph::{
        Core, Many,
        cell::{Fate, Verdict},
        end::{Doomed, after_turn_with_care, end_doomed},
        line::Closed,
        ready::Ready,
        swift::tell_with_care,
        turn::take_turn,
        word::Ended,
    },
    id::JobId,
    metrics::Seat,
    pool::shared::Shared,
    sync::atomic::{
        AtomicU32, AtomicU64,
        Ordering::{AcqRel, Relaxed},
    },
};

/// So many jobs that are not tiny a worker has in hand.
const HELD_MAX: u32 = 4;

/// The jobs of a batch by level: part of its layout.
pub(crate) struct Levels {
    /// By level, and in a level as they were added.
    order: Box<[u32]>,
    /// Where each level begins; one more than there are levels.
    starts: Box<[u32]>,
}

impl Levels {
    /// Of jobs that do not wait for each other in a circle.
    pub(crate) fn of(layout: &Layout) -> Levels {
        let jobs = layout.starts.len() - 1;
        let mut left = layout.waits_for.to_vec();
        left.resize(jobs, 0);
        let mut level_of = vec![0_u32; jobs];
        // Who is released last by the oldest is never of an earlier level than who came before it.
        let mut line: Vec<u32> = layout.roots.iter().flat_map(|(from, to)| *from..*to).collect();
        let mut at = 0;
        while let Some(&index) = line.get(at) {
            at += 1;
            let (from, to) = (layout.starts[index as usize], layout.starts[index as usize + 1]);
            for &successor in &layout.edges[from as usize..to as usize] {
                left[successor as usize] -= 1;
                if left[successor as usize] == 0 {
                    level_of[successor as usize] = level_of[index as usize] + 1;
                    line.push(successor);
                }
            }
        }
        let count = line.last().map_or(0, |last| level_of[*last as usize] as usize + 1);
        let mut starts = vec![0_u32; count + 1];
        level_of.iter().for_each(|level| starts[*level as usize + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut order = line;
        for (index, level) in (0_u32..).zip(&level_of) {
            let at = &mut next[*level as usize];
            order[*at as usize] = index;
            *at += 1;
        }
        Levels { order: order.into_boxed_slice(), starts: starts.into_boxed_slice() }
    }

    /// Where a level is in the order, if there is one of this number.
    fn range(&self, level: u32) -> Option<Range<u32>> {
        let at = level as usize;
        Some(self.starts[at]..*self.starts.get(at + 1)?)
    }
}

/// How far a batch has come that runs level by level.
pub(super) struct Ladder {
    level: AtomicU32,
    left: AtomicU32,
    /// When its jobs were ready.
    began: AtomicU64,
}

impl Ladder {
    /// At the first level, of so many jobs.
    fn new(jobs: u32, now: u64) -> Ladder {
        let (level, left) = (AtomicU32::new(0), AtomicU32::new(jobs));
        Ladder { level, left, began: AtomicU64::new(now) }
    }

    /// So many jobs have ended. True: they were the last of their level.
    #[must_use = "whoever ends a level begins the next"]
    fn end(&self, jobs: u32) -> bool {
        self.left.fetch_sub(jobs, AcqRel) == jobs
    }

    /// For whoever ended a level: the number of the next.
    fn next(&self) -> u32 {
        self.level.load(Relaxed) + 1
    }

    /// For whoever ended a level: begins the next, of so many jobs. They are put in line afterwards.
    fn begin(&self, level: u32, jobs: u32, now: u64) {
        self.level.store(level, Relaxed);
        self.left.store(jobs, Relaxed);
        self.began.store(now, Relaxed);
    }

    /// For whoever has jobs of a level in hand: when it began.
    fn began(&self) -> u64 {
        self.began.load(Relaxed)
    }
}

impl Many {
    /// The jobs by level, if that is how they are run.
    #[inline(always)]
    fn levels(&self) -> Option<(&Levels, &Ladder)> {
        let ladder = self.ladder.as_ref()?;
        Some((self.layout.levels(), ladder))
    }
}

impl Core {
    /// Whether its jobs run level by level.
    #[inline(always)]
    pub(crate) fn runs_by_levels(&self) -> bool {
        self.batch().is_some_and(|many| many.ladder.is_some())
    }

    /// The jobs that a range in a queue stands for.
    pub(super) fn jobs_at(&self, at: Range<u32>) -> Vec<u32> {
        let levels = self.batch().and_then(Many::levels);
        levels.map_or_else(|| at.clone().collect(), |(levels, _)| levels.slice(&at).to_vec())
    }
}

impl Levels {
    #[inline(always)]
    fn slice(&self, at: &Range<u32>) -> &[u32] {
        &self.order[at.start as usize..at.end as usize]
    }

    pub(super) fn ladder(&self, now: u64) -> Option<Ladder> {
        Some(Ladder::new(self.range(0)?.end, now))
    }

    /// The first level, to be put in line.
    pub(super) fn first(&self) -> Range<u32> {
        self.range(0).unwrap_or(0..0)
    }
}

/// Runs jobs of a level, and if they were the last of it those of the next, and so on.
///
/// # Safety
/// The range is the caller's (rule 1); afterwards it is not. The pool is plain, and the batch runs level
/// by level.
pub(super) unsafe fn run(
    core: NonNull<Core>,
    mut at: Range<u32>,
    shared: &Shared,
    turn: &mut Turn<'_>,
) {
    // SAFETY: jobs of the range have not ended, so their batch stays; and what comes with it as long
    // as we have not taken our range off (rule 3).
    let many = unsafe { core.as_ref() }.many();
    let (levels, ladder) = many.levels().expect("it runs by levels");
    let seat = shared.seat(turn.worker());
    let at_once_max = shared.settings.jobs_per_cycle_max;
    loop {
        // A piece of a level is never only a few: who has nothing to do may have it at once.
        turn.share(match many.times.share() {
            Share::Kept => Share::Kept,
            _ => Share::Eager,
        });
        // At the end of a level others wait for us, the longer the more we have in hand.
        let at_once = if many.times.are_tiny() { at_once_max } else { at_once_max.min(HELD_MAX) };
        // Half of it, and half of the rest: so thieves find large pieces, and no more than one
        // hand-out waits behind the job that runs.
        while at.end - at.start > at_once {
            let middle = at.start + (at.end - at.start).div_ceil(2);
            // SAFETY: it is ours, and we have it no more.
            unsafe { Ready::new(core, middle, at.end) }.submit(turn);
            at.end = middle;
        }
        // SAFETY: it is ours.
        unsafe { run_some(core, (many, ladder), levels.slice(&at), shared, seat, turn) };
        if !ladder.end(at.end - at.start) {
            return;
        }
        // SAFETY: we have ended a level, so the batch stays until we begin or end what follows.
        match unsafe { climb(core, nanos(turn.now())) } {
            Some(next) => at = next,
            None => return,
        }
        if turn.expired() {
            // SAFETY: it is ours.
            return unsafe { Ready::new(core, at.start, at.end) }.submit(turn);
        }
        shared.room.made_before_another();
    }
}

/// Begins the next level, and returns it; or ends the batch.
///
/// # Safety
/// The caller has ended a level (rule 2). If nothing is returned, the batch is not touched afterwards.
unsafe fn climb(core: NonNull<Core>, now: u64) -> Option<Range<u32>> {
    // SAFETY: by the caller's promise.
    let (levels, ladder) = unsafe { core.as_ref() }.many().levels().expect("it runs by levels");
    let level = ladder.next();
    let next = levels.range(level);
    match &next {
        Some(next) => ladder.begin(level, next.end - next.start, now),
        // SAFETY: the last level has ended.
        None => unsafe { Core::finish(core) },
    }
    next
}

/// # Safety
/// These jobs are those of the caller's range.
#[inline(always)]
unsafe fn run_some(
    core: NonNull<Core>,
    (many, ladder): (&Many, &Ladder),
    jobs: &[u32],
    shared: &Shared,
    seat: &Seat,
    turn: &mut Turn<'_>,
) {
    // SAFETY: the range is not taken off yet, so the batch stays.
    let this = unsafe { core.as_ref() };
    // Where nobody can wait for one of them, they are counted together.
    let mut completed = 0;
    for &index in jobs {
        let word = &many.words[index as usize];
        if word.is_doomed() {
            let fate = this.take_fate(index);
            // SAFETY: it is ours, and has not run.
            unsafe { end_doomed(vec![Doomed { core, index, fate }], turn) };
            continue;
        }
        let verdict = if many.times.is_timed(index) || this.needs_care(many, shared) {
            if let Some(stamps) = many.times.of(index) {
                stamps.ready(ladder.began());
            }
            // SAFETY: it is ours, and has not run.
            unsafe { take_turn(core, index, shared, seat, turn) }
        } else {
            seat.job.set(JobId::ours(this.number, index).to_raw());
            // SAFETY: as above.
            Some(unsafe { many.cells.at(index).turn(&mut Context::new(this, index, turn)) })
        };
        if verdict != Some(Verdict::Completed) {
            // SAFETY: its turn is over.
            unsafe { after_turn_with_care(core, index, verdict, shared, turn) };
            continue;
        }
        if !many.watched {
            completed += 1;
            word.end_unwatched(Ended::Completed);
            continue;
        }
        seat.completed.add(1);
        if word.end(Ended::Completed) {
            tell_with_care(this, index, turn);
        }
    }
    seat.job.set(0);
    seat.completed.add(completed);
}

/// The pool has stopped: ends jobs of a level, which were not run, and if they were the last of it all
/// that come after.
///
/// # Safety
/// The range is the caller's; afterwards it is not.
pub(super) unsafe fn stop(core: NonNull<Core>, at: Range<u32>) {
    let mut at = Some(at);
    while let Some(these) = at {
        // SAFETY: the range is ours, so the batch stays until we take it off.
        let this = unsafe { core.as_ref() };
        let (_, ladder) = this.many().levels().expect("it runs by levels");
        let stopped = |index| Doomed { core, index, fate: Fate::Stopped };
        let doomed = this.jobs_at(these.clone()).into_iter().map(stopped).collect();
        // SAFETY: they are ours, and have not run.
        unsafe { end_doomed(doomed, &mut Closed) };
        // SAFETY: asked only by whoever has ended a level.
        at = if ladder.end(these.end - these.start) { unsafe { climb(core, 0) } } else { None };
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::batch::layout::lay_out_lists;

    fn levels(before: &[&[u32]]) -> Vec<Vec<u32>> {
        let layout = lay_out_lists(before.len(), |job| before[job as usize]).unwrap();
        let levels = Levels::of(&layout);
        (0..).map_while(|level| levels.range(level)).map(|at| levels.slice(&at).to_vec()).collect()
    }

    #[test]
    fn a_job_is_of_the_level_after_the_last_it_waits_for() {
        assert_eq!(levels(&[&[], &[0], &[], &[0, 1], &[2]]), [vec![0, 2], vec![1, 4], vec![3]]);
    }

    #[test]
    fn jobs_that_wait_for_later_ones_have_their_level() {
        assert_eq!(levels(&[&[1], &[2], &[]]), [vec![2], vec![1], vec![0]]);
    }

    #[test]
    fn without_dependencies_there_is_one_level_and_without_jobs_none() {
        assert_eq!(levels(&[&[], &[], &[]]), [vec![0, 1, 2]]);
        assert!(levels(&[]).is_empty());
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::sync::UnsafeCell;
    use loom::{sync::Arc, thread};

    /// Rules 1 and 2: one of two begins the next level, and sees what both did in this one.
    #[test]
    fn whoever_ends_a_level_sees_what_was_done_in_it() {
        loom::model(|| {
            let both = Arc::new((Ladder::new(3, 0), [const { 0 }; 2].map(UnsafeCell::new)));
            let worker = |at: usize, jobs: u32| {
                let both = both.clone();
                move || {
                    let (ladder, did) = &*both;
                    // SAFETY: each writes its own, before it takes its jobs off.
                    did[at].with_mut(|did| unsafe { *did = jobs });
                    let last = ladder.end(jobs);
                    if last {
                        assert_eq!(ladder.next(), 1);
                        ladder.begin(1, 5, 0);
                        // SAFETY: all of the level have ended; the model checks it.
                        let sum = did.each_ref().map(|did| did.with(|did| unsafe { *did }));
                        assert_eq!(sum.iter().sum::<u32>(), 3);
                    }
                    last
                }
            };
            let other = thread::spawn(worker(0, 1));
            let last = worker(1, 2)();
            assert!(other.join().unwrap() != last, "one of them was the last");
        });
    }
}
