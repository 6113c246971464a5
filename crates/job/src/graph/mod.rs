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
//!    one of these. They are counted in blocks of 64, so that the workers seldom share a counter.
//!
//! Ordering: what a job did is released with its word (see [`word`]) and with the step of its
//! block; both steps are acquire and release, so the last one to end sees all of them.

pub(crate) mod cell;
pub(crate) mod cells;
pub(crate) mod end;
mod line;
pub(crate) mod look;
mod ready;
mod swift;
pub(crate) mod times;
mod turn;
pub(crate) mod typed;
pub(crate) mod watch;
pub(crate) mod word;

use std::{mem, ops::Range, ptr::NonNull, sync::Arc};

use kernel::{Handle, Timer};

use crate::{
    about::Kept,
    batch::{OnFailure, layout::Layout},
    graph::{cells::Cells, times::Times, watch::Watchers, word::Word},
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
    /// Every job is timed, however many there are.
    pub(crate) timed: bool,
    /// Whether anybody can ask for the end of one of its jobs.
    pub(crate) watched: bool,
}

pub(crate) struct Core {
    ticket: u64,
    /// The pool's number for it.
    number: u64,
    words: Box<[Word]>,
    /// Shared by all batches of the same shape.
    layout: Arc<Layout>,
    cells: Cells,
    some_resumable: bool,
    kept: Box<[Kept]>,
    ids: Box<[(u32, JobId)]>,
    blocks: Box<[AtomicU32]>,
    blocks_left: AtomicU32,
    times: Times,
    on_failure: OnFailure,
    forgiving: bool,
    watched: bool,
    cancelled: AtomicBool,
    ended: AtomicBool,
    side: Mutex<Side>,
    /// What the pool keeps; the handle keeps it alive.
    shared: NonNull<Shared>,
    handle: Handle,
}

// SAFETY: cells are touched by whoever has the job to itself (rule 1), and after its end only
// read, or taken by its one handle; what lies in them is `Send`, and outcomes are `Sync`. The
// pointer is to something that is shared by all threads.
unsafe impl Send for Core {}
// SAFETY: as above.
unsafe impl Sync for Core {}

/// What is seldom needed.
#[derive(Default)]
struct Side {
    /// The reference of the batch to itself (rule 2).
    keep: Option<Arc<Core>>,
    watchers: Watchers,
    timers: Vec<Timer>,
}

impl Core {
    pub(crate) fn new(parts: Parts, number: u64, shared: &Shared, handle: &Handle) -> Arc<Core> {
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
            timed,
            watched,
        } = parts;
        let with_ends = layout.ends.iter().filter(|ends| **ends > 0).count();
        let core = Arc::new(Core {
            ticket,
            number,
            times: Times::new(words.len(), timed),
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
            watched,
            cancelled: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            side: Mutex::new(Side::default()),
            shared: NonNull::from(shared),
            handle: handle.clone(),
        });
        core.side.lock().keep = Some(core.clone());
        core
    }

    pub(crate) fn ticket(&self) -> u64 {
        self.ticket
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    #[inline(always)]
    pub(crate) fn shared(&self) -> &Shared {
        // SAFETY: it lives as long as the runtime, which our handle keeps.
        unsafe { self.shared.as_ref() }
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
        if side.keep.is_some() {
            side.timers.push(timer);
        }
    }

    /// A job without successors has ended (rule 4).
    #[inline(always)]
    fn end_in_block(&self, index: u32) {
        let block = &self.blocks[index as usize / BLOCK];
        if block.fetch_sub(1, AcqRel) == 1 && self.blocks_left.fetch_sub(1, AcqRel) == 1 {
            self.finish();
        }
    }

    /// All jobs have ended. Also for a batch that has none.
    #[cold]
    pub(crate) fn finish(&self) {
        let shared = self.shared();
        shared.batch_ended(self);
        let mut side = self.side.lock();
        let (keep, timers) = (side.keep.take(), mem::take(&mut side.timers));
        self.ended.store(true, Release);
        let wakers = side.watchers.take_batch();
        drop(side);
        drop(timers);
        for waker in wakers {
            cell::contain(|| waker.wake());
        }
        // With the last reference goes the batch, unless somebody holds a handle.
        drop(keep);
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // SAFETY: this was the last reference, and the words are those of the jobs.
        unsafe { self.cells.clear(&self.words) };
        // An executor, or what it holds. A worker that drops it has others to serve.
        let cells = mem::replace(&mut self.cells, Cells::Mixed(Box::default()));
        cell::contain(|| drop(cells));
    }
}
