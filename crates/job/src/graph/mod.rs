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
//! 4. A batch has ended when all jobs without successors have, since every other one ended before
//!    one of these. They are counted in blocks of 64, so that the workers seldom share a counter;
//!    the end of a job that was submitted alone is the end of its batch.
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

pub(crate) mod cell;
pub(crate) mod cells;
pub(crate) mod end;
pub(crate) mod line;
pub(crate) mod look;
pub(crate) mod one;
mod ready;
mod swift;
pub(crate) mod times;
mod turn;
pub(crate) mod typed;
pub(crate) mod watch;
pub(crate) mod word;

use std::{any::Any, cell::UnsafeCell, mem, ops::Range, ptr::NonNull, sync::Arc, task::Waker};

use kernel::Timer;

use crate::{
    about::Kept,
    batch::{OnFailure, layout::LayoutRef},
    graph::{cell::Cell, cells::Cells, one::OneOrMany, times::Times, watch::Watchers, word::Word},
    id::JobId,
    pool::shared::Shared,
    sync::{
        Mutex,
        atomic::{
            AtomicBool, AtomicU32,
            Ordering::{AcqRel, Acquire, Relaxed, Release},
        },
    },
};

/// So many jobs share a counter.
pub(crate) const BLOCK: usize = 64;

/// What a batch is made of when it is submitted.
pub(crate) struct Parts {
    /// What its tokens carry.
    pub(crate) ticket: u64,
    pub(crate) words: OneOrMany<Word>,
    pub(crate) cells: Cells,
    /// Whether any of them takes more than one turn.
    pub(crate) some_resumable: bool,
    pub(crate) layout: LayoutRef,
    /// What is said about each job; empty if nothing is.
    pub(crate) kept: OneOrMany<Kept>,
    /// The chosen ids, by job.
    pub(crate) ids: Box<[(u32, JobId)]>,
    pub(crate) on_failure: OnFailure,
    /// What failed in other batches does not count.
    pub(crate) forgiving: bool,
    /// What its jobs use.
    pub(crate) context: Option<Arc<dyn Any + Send + Sync>>,
    pub(crate) times: Times,
    /// Whether anybody can ask for the end of one of its jobs.
    pub(crate) watched: bool,
}

/// A job that is submitted alone.
pub(crate) struct Alone {
    pub(crate) number: u64,
    pub(crate) cell: Cell,
    pub(crate) kept: Option<Kept>,
    pub(crate) now: u64,
}

pub(crate) struct Core {
    ticket: u64,
    /// The pool's number for it.
    number: u64,
    words: OneOrMany<Word>,
    /// Shared by all batches of the same shape.
    layout: LayoutRef,
    cells: Cells,
    some_resumable: bool,
    kept: OneOrMany<Kept>,
    ids: Box<[(u32, JobId)]>,
    /// None of a job that was submitted alone.
    blocks: Box<[AtomicU32]>,
    blocks_left: AtomicU32,
    times: Times,
    on_failure: OnFailure,
    forgiving: bool,
    /// What its jobs use: it stays as long as one has not ended (rule 2).
    _context: Option<Arc<dyn Any + Send + Sync>>,
    watched: bool,
    cancelled: AtomicBool,
    ended: AtomicBool,
    side: Mutex<Seldom>,
    /// The reference of the batch to itself (rule 2), taken by the last job to end.
    keep: UnsafeCell<Option<Arc<Core>>>,
    /// What the pool keeps (rule 5).
    shared: NonNull<Shared>,
}

// SAFETY: cells are touched by whoever has the job to itself (rule 1), and after its end only
// read, or taken by its one handle; what lies in them is `Send`, and outcomes are `Sync`. The
// reference to itself is touched before anybody else knows of the batch, and by the last job to
// end. The pointer is to something that is shared by all threads.
unsafe impl Send for Core {}
// SAFETY: as above.
unsafe impl Sync for Core {}

/// What is seldom needed, and so made when it is.
#[derive(Default)]
struct Seldom(Option<Box<Side>>);

#[derive(Default)]
struct Side {
    watchers: Watchers,
    timers: Vec<Timer>,
}

impl Side {
    /// Takes what is of no use after the end, and those who wait for it.
    fn take(&mut self) -> (Vec<Timer>, Vec<Waker>) {
        (mem::take(&mut self.timers), self.watchers.take_batch())
    }
}

impl Seldom {
    fn open(&mut self) -> &mut Side {
        self.0.get_or_insert_default()
    }
}

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
            context,
            times,
            watched,
        } = parts;
        let with_ends = layout.ends.iter().filter(|ends| **ends > 0).count();
        Core::kept_by_itself(Core {
            ticket,
            number,
            times,
            words,
            blocks: layout.ends.iter().map(|ends| AtomicU32::new(*ends)).collect(),
            blocks_left: AtomicU32::new(with_ends as u32),
            layout,
            cells,
            some_resumable,
            kept,
            ids,
            on_failure,
            forgiving,
            _context: context,
            watched,
            cancelled: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            side: Mutex::default(),
            keep: UnsafeCell::new(None),
            shared: NonNull::from(shared),
        })
    }

    /// A job that waits for nobody, submitted alone at `now`.
    #[inline]
    pub(crate) fn alone(alone: Alone, shared: &Shared) -> Arc<Core> {
        let Alone { number, cell, kept, now } = alone;
        Core::kept_by_itself(Core {
            ticket: 0,
            number,
            times: Times::of_one(now),
            words: OneOrMany::One(Word::new(0)),
            blocks: Box::default(),
            blocks_left: AtomicU32::new(0),
            layout: LayoutRef::alone(),
            some_resumable: cell.is_resumable(),
            cells: Cells::Mixed(OneOrMany::One(cell)),
            kept: kept.into(),
            ids: Box::default(),
            on_failure: OnFailure::default(),
            forgiving: false,
            _context: None,
            watched: true,
            cancelled: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            side: Mutex::default(),
            keep: UnsafeCell::new(None),
            shared: NonNull::from(shared),
        })
    }

    #[inline]
    fn kept_by_itself(core: Core) -> Arc<Core> {
        let core = Arc::new(core);
        let keep = Some(core.clone());
        // SAFETY: nobody else knows of the batch yet.
        unsafe { *core.keep.get() = keep };
        core
    }

    pub(crate) fn ticket(&self) -> u64 {
        self.ticket
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
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
        let side = self.side.lock();
        // SAFETY: it has not ended, and can not while we hold the lock (rule 5).
        let found = (!self.has_ended()).then(|| look(unsafe { self.shared() }));
        drop(side);
        found
    }

    #[inline(always)]
    pub(crate) fn word(&self, index: u32) -> &Word {
        &self.words[index as usize]
    }

    /// Where its successors are in the edges.
    #[inline(always)]
    fn successors(&self, index: u32) -> Range<u32> {
        let starts = &self.layout.starts;
        starts[index as usize]..starts[index as usize + 1]
    }

    /// Whether jobs of its batch wait for it. Then its outcome stays until the batch has ended.
    pub(crate) fn has_successors(&self, index: u32) -> bool {
        !self.successors(index).is_empty()
    }

    /// Whether a job takes more than one turn. Most batches have none, and then its cell is not
    /// looked at.
    #[inline(always)]
    fn is_resumable(&self, index: u32) -> bool {
        self.some_resumable && self.cells.is_resumable(index)
    }

    pub(crate) fn kept(&self, index: u32) -> Option<&Kept> {
        self.kept.get(index as usize)
    }

    pub(crate) fn times(&self) -> &Times {
        &self.times
    }

    #[inline(always)]
    pub(crate) fn id_of(&self, index: u32) -> JobId {
        if self.ids.is_empty() {
            return JobId::ours(self.number, index);
        }
        match self.ids.binary_search_by_key(&index, |(at, _)| *at) {
            Ok(at) => self.ids[at].1,
            Err(_) => JobId::ours(self.number, index),
        }
    }

    /// The chosen ids.
    pub(crate) fn chosen(&self) -> &[(u32, JobId)] {
        &self.ids
    }

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    #[inline(always)]
    pub(crate) fn is_cancelled(&self, index: u32) -> bool {
        self.word(index).is_cancelled() || self.cancelled.load(Relaxed)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Acquire)
    }

    /// Keeps a timer for as long as the batch has not ended.
    pub(crate) fn keep_timer(&self, timer: Timer) {
        let mut side = self.side.lock();
        if !self.has_ended() {
            side.open().timers.push(timer);
        }
    }

    /// A job without successors has ended (rule 4).
    #[inline(always)]
    fn end_in_block(&self, index: u32) {
        let Some(block) = self.blocks.get(index as usize / BLOCK) else {
            return self.finish();
        };
        if block.fetch_sub(1, AcqRel) == 1 && self.blocks_left.fetch_sub(1, AcqRel) == 1 {
            self.finish();
        }
    }

    /// All jobs have ended. Also for a batch that has none.
    pub(crate) fn finish(&self) {
        if !self.ids.is_empty() {
            // SAFETY: the last job ends here, in the runtime (rule 5).
            unsafe { self.shared() }.batch_ended(self);
        }
        // SAFETY: all other jobs have ended, and we are the last.
        let keep = unsafe { (*self.keep.get()).take() };
        let mut side = self.side.lock();
        self.ended.store(true, Release);
        let left = side.0.as_mut().map(|side| side.take());
        drop(side);
        if let Some((timers, wakers)) = left {
            drop(timers);
            wakers.into_iter().for_each(|waker| cell::contain(|| waker.wake()));
        }
        // With the last reference goes the batch, unless somebody holds a handle.
        drop(keep);
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // SAFETY: this was the last reference, and the words are those of the jobs.
        unsafe { self.cells.clear(&self.words) };
    }
}
