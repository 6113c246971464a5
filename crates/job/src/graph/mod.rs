//! A batch that was submitted: its jobs in one dense array, and who waits for whom.
//!
//! ```text
//!   nodes   [ word | phase | edges from..to | how | room ]   64 bytes a job
//!   edges   [ successor, successor, … ]                      4 bytes a dependency
//!   blocks  [ jobs without successors that have not ended ]  4 bytes per 64 jobs
//! ```
//!
//! 1. Whoever has made a job ready, or took it from a queue, has it to itself until it ends it:
//!    its room, and the duty to release its successors.
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
pub(crate) mod run;
pub(crate) mod times;
pub(crate) mod watch;
pub(crate) mod word;

use std::{any::Any, cell::UnsafeCell, ptr::NonNull, sync::Arc};

use kernel::{Handle, Timer};

use crate::{
    about::Kept,
    batch::{OnFailure, layout::Layout},
    graph::{
        cell::{How, Outcome, Room},
        times::Times,
        watch::Watchers,
        word::Word,
    },
    id::JobId,
    pool::shared::Shared,
    sync::{
        Mutex,
        atomic::{
            AtomicBool, AtomicU8, AtomicU32,
            Ordering::{AcqRel, Acquire, Relaxed, Release},
        },
    },
};

/// So many jobs share a counter.
pub(crate) const BLOCK: usize = 64;

/// One job, in a cache line of its own.
#[repr(align(64))]
pub(crate) struct Node {
    pub(crate) word: Word,
    phase: AtomicU8,
    /// Its successors in the batch's edges.
    pub(crate) from: u32,
    pub(crate) to: u32,
    how: &'static How,
    room: UnsafeCell<Room>,
}

const _: () = assert!(cfg!(loom) || cfg!(shuttle) || size_of::<Node>() == 64);

/// How far a job has come. For those who look; the word decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Phase {
    Created,
    Ready,
    Running,
    Completed,
    Failed,
    Cancelled,
    /// It has ended, and its outcome was moved out.
    Taken,
}

impl Phase {
    const ALL: [Phase; 7] = [
        Phase::Created,
        Phase::Ready,
        Phase::Running,
        Phase::Completed,
        Phase::Failed,
        Phase::Cancelled,
        Phase::Taken,
    ];
}

impl Node {
    pub(crate) fn new(how: &'static How, room: Room) -> Node {
        Node {
            word: Word::new(0),
            phase: AtomicU8::new(Phase::Created as u8),
            from: 0,
            to: 0,
            how,
            room: UnsafeCell::new(room),
        }
    }

    /// The body of a job that was not submitted.
    ///
    /// # Safety
    /// It is of this type.
    pub(crate) unsafe fn into_body<B>(self) -> B {
        // So that it is not dropped with us.
        self.set(Phase::Taken);
        // SAFETY: the type is the caller's promise, and it has not run.
        unsafe { cell::read(self.room.get()) }
    }

    #[inline(always)]
    pub(crate) fn set(&self, phase: Phase) {
        self.phase.store(phase as u8, Relaxed);
    }

    pub(crate) fn phase(&self) -> Phase {
        Phase::ALL[usize::from(self.phase.load(Relaxed))]
    }

    /// Whether no other of its batch waits for it.
    pub(crate) fn is_last(&self) -> bool {
        self.from == self.to
    }

    /// Whether it takes more than one turn.
    #[inline(always)]
    pub(crate) fn is_resumable(&self) -> bool {
        self.how.resumable
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let room = self.room.get();
        match self.phase() {
            Phase::Taken => {}
            // SAFETY: it has ended, so its outcome lies there, and nobody else is left.
            phase if phase >= Phase::Completed => unsafe { (self.how.drop_outcome)(room) },
            // SAFETY: it has not ended, so its body lies there, and nobody else is left.
            _ => unsafe { (self.how.drop_body)(room) },
        }
    }
}

/// What a batch is made of when it is submitted.
pub(crate) struct Parts {
    /// What its tokens carry.
    pub(crate) ticket: u64,
    pub(crate) nodes: Box<[Node]>,
    pub(crate) layout: Layout,
    /// What is said about each job; empty if nothing is.
    pub(crate) kept: Box<[Kept]>,
    /// The chosen ids, by job.
    pub(crate) ids: Box<[(u32, JobId)]>,
    pub(crate) on_failure: OnFailure,
    /// What failed in other batches does not count.
    pub(crate) forgiving: bool,
    /// Every job is timed, however many there are.
    pub(crate) timed: bool,
    /// What its jobs use.
    pub(crate) context: Option<Arc<dyn Any + Send + Sync>>,
}

pub(crate) struct Core {
    ticket: u64,
    /// The pool's number for it.
    number: u64,
    nodes: Box<[Node]>,
    edges: Box<[u32]>,
    kept: Box<[Kept]>,
    ids: Box<[(u32, JobId)]>,
    blocks: Box<[AtomicU32]>,
    blocks_left: AtomicU32,
    times: Times,
    on_failure: OnFailure,
    forgiving: bool,
    cancelled: AtomicBool,
    ended: AtomicBool,
    side: Mutex<Side>,
    /// Held by whoever asks why a job failed without owning its outcome, and by who moves that out.
    /// The text is made meanwhile, which is foreign code: it must not wait for a job of the batch.
    failures: Mutex<()>,
    /// What its jobs use: it stays as long as one has not ended (rule 2).
    _context: Option<Arc<dyn Any + Send + Sync>>,
    /// What the pool keeps; the handle keeps it alive.
    shared: NonNull<Shared>,
    handle: Handle,
}

// SAFETY: rooms are touched by whoever has the job to itself (rule 1), and after its end only
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
        let Parts { ticket, nodes, layout, kept, ids, on_failure, forgiving, timed, context } =
            parts;
        let core = Arc::new(Core {
            ticket,
            number,
            times: Times::new(nodes.len(), timed),
            nodes,
            edges: layout.edges,
            kept,
            ids,
            blocks: layout.blocks,
            blocks_left: AtomicU32::new(layout.blocks_with_ends),
            on_failure,
            forgiving,
            cancelled: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            side: Mutex::new(Side::default()),
            failures: Mutex::new(()),
            _context: context,
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
        self.nodes.len()
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
    pub(crate) fn node(&self, index: u32) -> &Node {
        &self.nodes[index as usize]
    }

    pub(crate) fn kept(&self, index: u32) -> Option<&Kept> {
        self.kept.get(index as usize)
    }

    pub(crate) fn times(&self) -> &Times {
        &self.times
    }

    pub(crate) fn id_of(&self, index: u32) -> JobId {
        match self.ids.binary_search_by_key(&index, |(at, _)| *at) {
            Ok(at) => self.ids[at].1,
            Err(_) => JobId::ours(self.number, index),
        }
    }

    /// The chosen ids, and whether those jobs completed: for when it has ended.
    pub(crate) fn chosen(&self) -> &[(u32, JobId)] {
        &self.ids
    }

    pub(crate) fn phases(&self) -> impl Iterator<Item = Phase> + '_ {
        self.nodes.iter().map(Node::phase)
    }

    /// What a job left behind, if it has ended and nobody took it.
    ///
    /// # Safety
    /// The job's outcome is of these types, and is not taken while the reference lives.
    pub(crate) unsafe fn outcome<R, E>(&self, index: u32) -> Option<&Outcome<R, E>> {
        let node = self.node(index);
        if !node.word.is_done() || node.phase() == Phase::Taken {
            return None;
        }
        // SAFETY: it has ended, so the room holds the outcome; the types are the caller's promise.
        Some(unsafe { cell::get(node.room.get()) })
    }

    /// Moves the outcome out.
    ///
    /// # Safety
    /// The job has ended, its outcome is of these types, and nobody else reads or takes it.
    pub(crate) unsafe fn take<R, E>(&self, index: u32) -> Outcome<R, E> {
        let node = self.node(index);
        // A batch that depends on one that failed may just be asking why.
        let failed = matches!(node.phase(), Phase::Failed | Phase::Cancelled);
        let _guard = failed.then(|| self.failures.lock());
        node.set(Phase::Taken);
        // SAFETY: by the caller's promise.
        unsafe { cell::read(node.room.get()) }
    }

    /// What a job that failed says.
    pub(crate) fn reason(&self, index: u32) -> Option<Arc<str>> {
        let node = self.node(index);
        let _guard = self.failures.lock();
        let failed =
            node.word.is_done() && matches!(node.phase(), Phase::Failed | Phase::Cancelled);
        // SAFETY: it has ended and was not taken: only what completed, or the last handle, is.
        failed.then(|| unsafe { (node.how.reason)(node.room.get()) })
    }

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    #[inline(always)]
    pub(crate) fn is_cancelled(&self, index: u32) -> bool {
        self.node(index).word.is_cancelled() || self.cancelled.load(Relaxed)
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
        let (keep, timers) = (side.keep.take(), std::mem::take(&mut side.timers));
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
