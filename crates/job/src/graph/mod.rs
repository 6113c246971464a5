//! A batch that was submitted: its jobs in dense arrays, and who waits for whom.
//!
//! ```text
//!   words   [ predecessors that are left, and flags ]        4 bytes a job
//!   starts  [ where the successors of each job begin ]       4 bytes a job
//!   edges   [ successor, successor, … ]                      4 bytes a dependency
//!   cells   [ body, later outcome ]                          48 bytes a job, or what a type needs
//!   blocks  [ jobs without successors that have not ended ]  4 bytes per 64 jobs
//! ```
//!
//! Who ends a job touches the words of its successors, which may be far apart: so these lie close
//! together, where the cache holds many of them. Nothing is written for those who only look: how
//! far a job has come is found out when somebody asks.
//!
//! 1. Whoever has made a job ready, or took it from a queue, has it to itself until it ends it:
//!    its cell, and the duty to release its successors.
//! 2. The batch stays as long as a job of it has not ended: it holds a reference to itself, which
//!    the last one to end takes. So queue entries are plain pointers, and no count of references
//!    is shared by the workers.
//! 3. The last step on behalf of a job is the release of its last successor, or if it has none the
//!    step of its block. After that step nothing of the batch is touched.
//! 4. A batch has ended when all jobs without successors have (see [`blocks`]); the end of a job that
//!    was submitted alone is the end of its batch.
//! 5. A batch holds no reference to the runtime, which would be a count that all threads contend
//!    for. As long as a job of it has not ended, the runtime is there: the job is in a queue of it,
//!    or in a turn, or waits for one that is; and a runtime that goes ends what is in its queues
//!    before it lets go of its tenants. Whoever looks at what the pool keeps from elsewhere holds
//!    the lock of the side meanwhile, and has seen under it that the batch has not ended: the last
//!    job to end has to take the lock too, and does so in the runtime.
//!
//! A job that was submitted alone is a batch of one: what are arrays otherwise then lies in the
//! batch itself, so that it takes one allocation.
//!
//! Ordering: what a job did is released with its word (see [`word`]) and with the step of its
//! block; both steps are acquire and release, so the last one to end sees all of them.

pub(crate) mod apart;
mod beside;
pub(crate) mod blocks;
pub(crate) mod cell;
pub(crate) mod cells;
pub(crate) mod end;
pub(crate) mod levels;
pub(crate) mod line;
pub(crate) mod look;
mod nested;
mod ready;
mod swift;
pub(crate) mod times;
mod turn;
pub(crate) mod typed;
pub(crate) mod watch;
pub(crate) mod word;

use std::{mem, ops::Range, ptr::NonNull, sync::Arc};

use kernel::Timer;

use crate::{
    about::Kept,
    batch::{OnFailure, layout::Layout},
    body::Body,
    graph::{
        beside::Beside,
        blocks::Blocks,
        cell::Cell,
        cells::{At, Cells},
        levels::Ladder,
        times::{Moments, Noted, Times, Timings},
        word::Word,
    },
    id::JobId,
    pool::shared::Shared,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

/// What a batch is made of when it is submitted.
pub(crate) struct Parts {
    /// What its tokens carry.
    pub(crate) ticket: u64,
    pub(crate) words: Box<[Word]>,
    pub(crate) cells: Cells,
    /// Whether any of them takes more than one turn.
    pub(crate) some_resumable: bool,
    pub(crate) layout: Arc<Layout>,
    /// What is said about each job; empty if nothing is.
    pub(crate) kept: Box<[Kept]>,
    /// The chosen ids, by job.
    pub(crate) ids: Box<[(u32, JobId)]>,
    pub(crate) on_failure: OnFailure,
    /// What failed in other batches does not count.
    pub(crate) forgiving: bool,
    pub(crate) times: Times,
    /// Whether anybody can ask for the end of one of its jobs.
    pub(crate) watched: bool,
    /// Whether its jobs run level by level.
    pub(crate) by_levels: bool,
}

pub(crate) struct Core {
    /// The pool's number for it.
    number: u64,
    /// What the pool keeps (rule 5).
    shared: NonNull<Shared>,
    side: Beside,
    /// Of a job that was submitted alone.
    word: Word,
    cancelled: AtomicBool,
    /// A job of it has ended and did not complete.
    blemished: AtomicBool,
    kind: Kind,
}

/// With its counts of references a job alone then takes 120 bytes: the most that the C library's
/// allocator frees on another core without a lock.
#[cfg(all(target_pointer_width = "64", not(any(loom, shuttle))))]
const _: () = assert!(size_of::<Core>() <= 104);

enum Kind {
    Alone(Cell, Moments),
    Batch(Box<Many>),
}

/// What a batch has for each of its jobs, and for all of them.
struct Many {
    ticket: u64,
    words: Box<[Word]>,
    /// Shared by all batches of the same shape.
    layout: Arc<Layout>,
    cells: Cells,
    some_resumable: bool,
    kept: Box<[Kept]>,
    ids: Box<[(u32, JobId)]>,
    blocks: Blocks,
    times: Times,
    on_failure: OnFailure,
    forgiving: bool,
    watched: bool,
    /// How far it has come, if it runs level by level.
    ladder: Option<Ladder>,
}

// SAFETY: cells are touched by whoever has the job to itself (rule 1), and after its end only
// read, or taken by its one handle; what lies in them is `Send`, and outcomes are `Sync`. The
// pointer is to something that is shared by all threads.
unsafe impl Send for Core {}
// SAFETY: as above.
unsafe impl Sync for Core {}

impl Core {
    pub(crate) fn new(parts: Parts, number: u64, shared: &Shared) -> Arc<Core> {
        let Parts {
            ticket,
            words,
            cells,
            some_resumable,
            layout,
            kept,
            ids,
            on_failure,
            forgiving,
            times,
            watched,
            by_levels,
        } = parts;
        let many = Many {
            ticket,
            words,
            blocks: Blocks::new(&layout.ends),
            ladder: by_levels.then(|| layout.levels().ladder(times.submitted())).flatten(),
            layout,
            cells,
            some_resumable,
            kept,
            ids,
            times,
            on_failure,
            forgiving,
            watched,
        };
        Core::kept_by_itself(Kind::Batch(Box::new(many)), number, shared)
    }

    /// A job that waits for nobody and takes one turn, submitted alone at `now`.
    #[inline]
    pub(crate) fn alone<B: Body>(
        body: B,
        kept: &Kept,
        now: u64,
        number: u64,
        shared: &Shared,
    ) -> Arc<Core> {
        let kind = Kind::Alone(Cell::new(body), Moments::new(now));
        let core = Core::kept_by_itself(kind, number, shared);
        if kept.is_to_be_compared() {
            core.side.open().lock().kept = Some(*kept);
        }
        core
    }

    /// It holds a reference to itself (rule 2), which is no more than its count.
    #[inline]
    fn kept_by_itself(kind: Kind, number: u64, shared: &Shared) -> Arc<Core> {
        let core = Arc::new(Core {
            number,
            shared: NonNull::from(shared),
            side: Beside::new(),
            word: Word::new(0),
            cancelled: AtomicBool::new(false),
            blemished: AtomicBool::new(false),
            kind,
        });
        mem::forget(core.clone());
        core
    }

    /// What stands for the batch as long as a job of it has not ended. From this, not from a
    /// reference, its own count can be given back.
    #[inline]
    pub(crate) fn pointer(core: &Arc<Core>) -> NonNull<Core> {
        // SAFETY: an `Arc` is never null.
        unsafe { NonNull::new_unchecked(Arc::as_ptr(core).cast_mut()) }
    }

    #[inline(always)]
    fn batch(&self) -> Option<&Many> {
        match &self.kind {
            Kind::Alone(..) => None,
            Kind::Batch(many) => Some(many),
        }
    }

    /// Of a batch that [runs swiftly](Core::runs_swiftly).
    #[inline(always)]
    fn many(&self) -> &Many {
        self.batch().expect("it was submitted as a batch")
    }

    /// Whether its jobs take the path that nearly all jobs of batches take.
    #[inline(always)]
    fn runs_swiftly(&self) -> bool {
        self.batch().is_some_and(|many| !many.some_resumable)
    }

    pub(crate) fn ticket(&self) -> u64 {
        self.batch().map_or(0, |many| many.ticket)
    }

    pub(crate) fn len(&self) -> usize {
        self.batch().map_or(1, |many| many.words.len())
    }

    /// What the pool keeps.
    ///
    /// # Safety
    /// A job of the batch has not ended, and does not while the reference lives; or the caller
    /// keeps the runtime (rule 5).
    #[inline(always)]
    pub(crate) unsafe fn shared(&self) -> &Shared {
        // SAFETY: it lives as long as the runtime, which is there by the caller's promise.
        unsafe { self.shared.as_ref() }
    }

    /// Whether this is the pool it was submitted to, while it has not ended.
    pub(crate) fn is_of(&self, shared: &Shared) -> bool {
        std::ptr::eq(self.shared.as_ptr(), shared)
    }

    /// Looks at what the pool keeps, unless the batch has ended.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&Shared) -> R) -> Option<R> {
        let side = self.side.open().lock();
        // SAFETY: it has not ended, and can not while we hold the lock (rule 5).
        let found = (!self.has_ended()).then(|| look(unsafe { self.shared() }));
        drop(side);
        found
    }

    #[inline(always)]
    pub(crate) fn word(&self, index: u32) -> &Word {
        match &self.kind {
            Kind::Alone(..) => &self.word,
            Kind::Batch(many) => &many.words[index as usize],
        }
    }

    /// Where the body or the outcome of a job lies.
    #[inline(always)]
    fn at(&self, index: u32) -> At<'_> {
        match &self.kind {
            Kind::Alone(cell, _) => At::Cell(cell),
            Kind::Batch(many) => many.cells.at(index),
        }
    }

    /// Where its successors are in the edges.
    #[inline(always)]
    fn successors(&self, index: u32) -> Range<u32> {
        let Some(many) = self.batch() else { return 0..0 };
        let starts = &many.layout.starts;
        starts[index as usize]..starts[index as usize + 1]
    }

    /// The successors of each job.
    #[inline(always)]
    fn edges(&self) -> &[u32] {
        self.batch().map_or(&[], |many| &many.layout.edges)
    }

    /// Whether jobs of its batch wait for it. Then its outcome stays until the batch has ended.
    pub(crate) fn has_successors(&self, index: u32) -> bool {
        !self.successors(index).is_empty()
    }

    /// Whether a job takes more than one turn. Most batches have none, and then its cell is not
    /// looked at.
    #[inline(always)]
    fn is_resumable(&self, index: u32) -> bool {
        self.batch().is_some_and(|many| many.some_resumable && many.cells.is_resumable(index))
    }

    /// What is said about a job. Of one that was submitted alone, no more than is needed when it
    /// has run.
    fn kept(&self, index: u32) -> Option<Kept> {
        match &self.kind {
            Kind::Alone(..) => self.side.get().and_then(|side| side.lock().kept),
            Kind::Batch(many) => many.kept.get(index as usize).copied(),
        }
    }

    fn on_failure(&self) -> OnFailure {
        self.batch().map_or(OnFailure::default(), |many| many.on_failure)
    }

    fn is_forgiving(&self) -> bool {
        self.batch().is_some_and(|many| many.forgiving)
    }

    /// Where the times of a job are noted, if they are.
    #[inline(always)]
    fn noted(&self, index: u32) -> Option<Noted<'_>> {
        match &self.kind {
            Kind::Alone(_, moments) => Some(Noted::Moments(moments)),
            Kind::Batch(many) => many.times.of(index).map(Noted::Stamps),
        }
    }

    /// Whether the clock is read for a job.
    #[inline(always)]
    fn is_timed(&self, index: u32) -> bool {
        self.batch().is_none_or(|many| many.times.is_timed(index))
    }

    /// So much of a turn is the time of others that ran inside of it. A job that was submitted alone
    /// notes when its one turn started and ended, and not what it took.
    fn note_inside(&self, nanos: u64) {
        if matches!(self.kind, Kind::Alone(..)) {
            self.side.open().lock().inside = nanos;
        }
    }

    /// How many jobs one whose times are noted stands for.
    fn weight(&self, index: u32) -> u64 {
        self.batch().map_or(1, |many| many.times.weight(index))
    }

    /// For how many jobs a turn counts that took so long.
    fn weight_after(&self, index: u32, nanos: u64, pace: Option<u64>) -> u64 {
        self.batch().map_or(1, |many| many.times.weight_after(index, nanos, pace))
    }

    /// What a job of it took at least, if they are tiny and workers share them.
    fn least_if_shared(&self) -> Option<u64> {
        self.batch().and_then(|many| many.times.least_if_shared())
    }

    /// Tiny jobs of it are not shared any more.
    fn keep_apart(&self) {
        if let Some(many) = self.batch() {
            many.times.keep_apart();
        }
    }

    pub(crate) fn timings(&self, index: u32) -> Option<Timings> {
        match &self.kind {
            Kind::Alone(_, moments) => {
                let inside = self.side.get().map_or(0, |side| side.lock().inside);
                Some(moments.read(inside))
            }
            Kind::Batch(many) => many.times.read(index),
        }
    }

    #[inline(always)]
    pub(crate) fn id_of(&self, index: u32) -> JobId {
        match self.chosen().binary_search_by_key(&index, |(at, _)| *at) {
            Ok(at) => self.chosen()[at].1,
            Err(_) => JobId::ours(self.number, index),
        }
    }

    /// The chosen ids.
    #[inline(always)]
    pub(crate) fn chosen(&self) -> &[(u32, JobId)] {
        self.batch().map_or(&[], |many| &many.ids)
    }

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    #[inline(always)]
    pub(crate) fn is_cancelled(&self, index: u32) -> bool {
        self.word(index).is_cancelled() || self.cancelled.load(Relaxed)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.side.has_ended()
    }

    /// Whether all of its jobs have completed: exact once it has ended, for which each step on behalf of
    /// a job releases what came before.
    pub(crate) fn has_completed(&self) -> bool {
        self.has_ended() && !self.blemished.load(Relaxed)
    }

    /// Keeps a timer for as long as the batch has not ended.
    pub(crate) fn keep_timer(&self, timer: Timer) {
        let mut side = self.side.open().lock();
        if !self.has_ended() {
            side.timers.push(timer);
        }
    }

    /// A job without successors has ended (rule 4).
    ///
    /// # Safety
    /// It was the caller's, and this is the last step on its behalf. The batch is not touched
    /// afterwards.
    #[inline(always)]
    unsafe fn end_in_block(core: NonNull<Core>, index: u32) {
        // SAFETY: the last job to end is the one that comes to `finish`, so the batch stays.
        let this = unsafe { core.as_ref() };
        // By levels, the end of the last one is the end of the batch.
        let last = this.batch().is_none_or(|many| many.ladder.is_none() && many.blocks.end(index));
        if last {
            // SAFETY: all have ended.
            unsafe { Core::finish(core) };
        }
    }

    /// All jobs have ended. Also for a batch that has none.
    ///
    /// # Safety
    /// So it is, and it is said once. The batch is not touched afterwards.
    pub(crate) unsafe fn finish(core: NonNull<Core>) {
        // SAFETY: its reference to itself is given back below.
        let this = unsafe { core.as_ref() };
        if !this.chosen().is_empty() {
            // SAFETY: we are in the runtime (rule 5).
            unsafe { this.shared() }.batch_ended(this);
        }
        if let Some(side) = this.side.end() {
            let mut side = side.lock();
            let (timers, wakers) = (mem::take(&mut side.timers), side.watchers.take_batch());
            drop(side);
            drop(timers);
            for waker in wakers {
                cell::contain(|| waker.wake());
            }
        }
        // SAFETY: the count that `kept_by_itself` left. With the last one goes the batch, unless
        // somebody holds a handle.
        drop(unsafe { Arc::from_raw(core.as_ptr()) });
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        match &mut self.kind {
            // SAFETY: this was the last reference, and the word is that of the job.
            Kind::Alone(cell, _) => unsafe { cell.clear(&self.word) },
            Kind::Batch(many) => {
                // SAFETY: this was the last reference, and the words are those of the jobs.
                unsafe { many.cells.clear(&many.words) };
                // An executor, or what it holds. A worker that drops it has others to serve.
                let cells = mem::replace(&mut many.cells, Cells::Mixed(Box::default()));
                cell::contain(|| drop(cells));
            }
        }
        // A waker that somebody left behind.
        let side = mem::replace(&mut self.side, Beside::new());
        cell::contain(|| drop(side));
    }
}
