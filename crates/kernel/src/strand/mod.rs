//! A strand: a stateful thing that runs on at most one worker at a time.
//!
//! In memory it is one allocation: a [`Header`] that the scheduler knows, behind it the open part
//! that some strands have (see [`open`]), and behind that the body, whose type only the header's
//! functions know. [`StrandRef`] is the bare pointer: what it may do
//! follows from the state word (an entry, a turn or a handle keeps the strand alive, see
//! [`state`]). [`Strand`] is the counted handle that users hold.

pub(crate) mod body;
mod cell;
pub(crate) mod join;
pub(crate) mod open;
pub(crate) mod run;
pub(crate) mod state;

use std::{
    alloc::Layout,
    fmt,
    mem::ManuallyDrop,
    ptr::{self, NonNull},
    sync::Arc,
    task::{RawWaker, RawWakerVTable, Waker},
};

use crate::{
    attributes::{Attributes, Home, Rank},
    error::ScheduleError,
    lease::Lease,
    queue::feedback,
    shared::Shared,
    stock,
    strand::{
        run::{Run, VTable},
        state::{Phase, State},
    },
    sync::{
        UnsafeCell,
        atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed},
    },
    worker::{self, Worker},
};

/// Names a strand within its runtime, for logs and recordings. Never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StrandId(pub(crate) u64);

impl StrandId {
    /// The number behind the id.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for StrandId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Set by [`Strand::cancel`]: the body is asked to end.
const CANCEL: u8 = 1;
/// Set by [`Strand::abort`]: the body gets no further turn.
const ABORT: u8 = 2;

#[repr(C)]
pub(crate) struct Header {
    state: State,
    vtable: &'static VTable,
    /// Given back by `free`.
    pub(crate) shared: Lease,
    pub(crate) id: StrandId,
    /// When it was queued, if this wait is measured; 0 if not.
    pub(crate) queued_at: AtomicU64,
    /// Its rank, but for the level, which changes.
    priority: f64,
    /// Where a feedback queue has put it: boost epoch and level.
    pub(crate) level: AtomicU32,
    home: Option<Home>,
    signals: AtomicU8,
    /// Its name is in the runtime's list.
    named: bool,
}

/// With eight bytes more, a small process would need 32 more: an allocator has few sizes.
#[cfg(not(any(loom, shuttle)))]
const _: () = assert!(size_of::<Header>() == 56);

impl Header {
    /// Where an entry of it goes. A strand has its level with it, not in its rank.
    #[inline]
    pub(crate) fn rank(&self) -> Rank {
        Rank { priority: self.priority, level: 0, home: self.home }
    }
}

#[repr(C)]
struct Whole<P, B> {
    header: Header,
    open: P,
    /// `None` once it has ended.
    body: UnsafeCell<Option<B>>,
}

/// A pointer to a strand that something keeps alive: an entry, a turn, or a handle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct StrandRef(NonNull<Header>);

// SAFETY: bodies are `Send`, and the state word lets one thread at a time touch them. All else in
// the header is atomic or never changes.
unsafe impl Send for StrandRef {}
// SAFETY: as above.
unsafe impl Sync for StrandRef {}

impl StrandRef {
    /// A new strand with so many handles, idle or with its first entry owed. Its open part and its body
    /// are made when their place is there, so that they are written there and nowhere before.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "each is a field of the header")]
    pub(crate) fn new<P, B: Run<P>>(
        shared: &Arc<Shared>,
        id: StrandId,
        attributes: &Attributes,
        rank: Rank,
        queued: bool,
        handles: u64,
        make: impl FnOnce() -> (P, B),
    ) -> StrandRef {
        let state = if queued { State::queued(handles) } else { State::idle(handles) };
        let (lease, memory) = worker::with_current(shared, |worker| {
            let lease = worker.map_or_else(|| Lease::take(shared), Worker::lease);
            (lease, stock::take(worker.map(Worker::stock), Layout::new::<Whole<P, B>>()))
        });
        let layout = Layout::new::<Whole<P, B>>();
        let unused = Unused { shared, memory, layout, named: attributes.name.as_ref().map(|_| id) };
        let (open, body) = make();
        std::mem::forget(unused);
        let header = Header {
            state,
            vtable: const {
                &VTable {
                    take_turn: take_turn::<P, B>,
                    end_unrun: end_unrun::<P, B>,
                    free: free::<P, B>,
                }
            },
            shared: lease,
            id,
            priority: rank.priority,
            level: AtomicU32::new(feedback::new_level(attributes.level)),
            queued_at: AtomicU64::new(0),
            home: rank.home,
            signals: AtomicU8::new(0),
            named: attributes.name.is_some(),
        };
        // Piece by piece, where it is to be: as a whole it would be copied once more.
        let whole = memory.as_ptr().cast::<Whole<P, B>>();
        // SAFETY: the memory is ours, and each field is written once.
        unsafe {
            (&raw mut (*whole).header).write(header);
            (&raw mut (*whole).open).write(open);
            (&raw mut (*whole).body).write(UnsafeCell::new(Some(body)));
            StrandRef(NonNull::new_unchecked(whole.cast()))
        }
    }

    pub(crate) fn into_raw(self) -> *const Header {
        self.0.as_ptr()
    }

    /// # Safety
    /// `raw` came from `into_raw`, and something still keeps the strand alive.
    pub(crate) unsafe fn from_raw(raw: *const Header) -> StrandRef {
        // SAFETY: `into_raw` gives a pointer that is not null.
        StrandRef(unsafe { NonNull::new_unchecked(raw.cast_mut()) })
    }

    #[inline]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: whoever holds a `StrandRef` has an entry, a turn or a handle (invariant 4).
        unsafe { self.0.as_ref() }
    }

    #[inline]
    pub(crate) fn state(&self) -> &State {
        &self.header().state
    }

    /// Takes one turn. The caller's pop or claim said *run*.
    #[inline]
    pub(crate) fn take_turn(self, turn: &mut crate::turn::Turn<'_>) -> run::After {
        // SAFETY: the state is RUNNING by the caller's doing (invariant 2).
        unsafe { (self.header().vtable.take_turn)(self, turn) }
    }

    /// Ends a strand whose turn the caller has taken, without running it: the runtime stopped.
    #[cold]
    pub(crate) fn end_unrun(self) {
        // SAFETY: as for `take_turn`.
        unsafe { (self.header().vtable.end_unrun)(self) };
        if self.state().end(0) == state::Rest::Free {
            self.free();
        }
    }

    /// Frees the strand. The caller's step said so.
    #[cold]
    pub(crate) fn free(self) {
        // SAFETY: the state word said that nobody else holds the strand (invariant 4).
        unsafe { (self.header().vtable.free)(self) };
    }

    /// A handle, unless the strand is being freed. The caller makes sure that its memory is
    /// still there.
    pub(crate) fn try_handle(self) -> Option<Strand> {
        self.state().try_retain().then_some(Strand(self))
    }

    /// A handle of its own.
    pub(crate) fn handle(self) -> Strand {
        self.state().retain();
        Strand(self)
    }

    /// Calls for a turn and pushes the entry if that is owed.
    #[inline]
    pub(crate) fn wake(self) {
        self.header().shared.wake(self);
    }

    #[inline]
    pub(crate) fn cancelled(self) -> bool {
        self.header().signals.load(Relaxed) != 0
    }

    pub(crate) fn label(self) -> String {
        let header = self.header();
        header.shared.name_of(header.id.0)
    }

    /// Lends a waker that counts no handle. The caller holds the turn.
    pub(crate) fn with_waker<R>(self, user: impl FnOnce(&Waker) -> R) -> R {
        let raw = RawWaker::new(self.into_raw().cast(), &WAKER);
        // SAFETY: as in `waker`; it is never dropped, so it gives back no handle.
        let waker = ManuallyDrop::new(unsafe { Waker::from_raw(raw) });
        user(&waker)
    }

    /// A waker for futures; it holds a handle.
    pub(crate) fn waker(self) -> Waker {
        self.state().retain();
        // SAFETY: the functions below keep the contract of `RawWaker`: each waker is one handle.
        unsafe { Waker::from_raw(RawWaker::new(self.into_raw().cast(), &WAKER)) }
    }
}

/// Memory, a lease and a name for a strand that is not there yet. They go back if it can not be made: who
/// makes its parts has panicked.
struct Unused<'a> {
    shared: &'a Arc<Shared>,
    memory: NonNull<u8>,
    layout: Layout,
    /// Its name is in the runtime's list.
    named: Option<StrandId>,
}

impl Drop for Unused<'_> {
    #[cold]
    fn drop(&mut self) {
        // SAFETY: it was taken with this layout, and nobody uses it.
        unsafe { stock::give_back(None, self.memory, self.layout) };
        if let Some(id) = self.named {
            self.shared.strike(id);
        }
        // SAFETY: it was taken for the strand.
        unsafe { Lease::of(self.shared) }.give_back();
    }
}

/// # Safety
/// The caller holds the strand's turn.
unsafe fn take_turn<P, B: Run<P>>(
    strand: StrandRef,
    turn: &mut crate::turn::Turn<'_>,
) -> run::After {
    let aborted = strand.header().signals.load(Relaxed) & ABORT != 0;
    // SAFETY: `P` and `B` are the types this strand was made with, since its vtable names this
    // function.
    let whole = unsafe { strand.0.cast::<Whole<P, B>>().as_ref() };
    // SAFETY: the caller holds the turn, so nobody else touches the body (invariant 2).
    whole.body.with_mut(|body| run::guarded(unsafe { &mut *body }, &whole.open, aborted, turn))
}

/// # Safety
/// The caller holds the strand's turn.
unsafe fn end_unrun<P, B: Run<P>>(strand: StrandRef) {
    // SAFETY: as in `take_turn`.
    let whole = unsafe { strand.0.cast::<Whole<P, B>>().as_ref() };
    let (shared, stopped) = (&whole.header.shared, join::Failure::Stopped);
    // SAFETY: as in `take_turn`.
    whole.body.with_mut(|body| run::fail(unsafe { &mut *body }, &whole.open, shared, stopped));
}

/// # Safety
/// Nobody else holds the strand.
unsafe fn free<P, B: Run<P>>(strand: StrandRef) {
    let memory = strand.0.cast::<Whole<P, B>>();
    // SAFETY: `StrandRef::new` made it with these types, and nobody else holds it any more.
    let whole = unsafe { memory.as_ref() };
    // Nobody could ever wake it again: it ends here, and whoever waits is told.
    whole.body.with_mut(|body| {
        // SAFETY: we own the whole.
        let body = unsafe { &mut *body };
        if body.is_some() {
            let why = match whole.header.shared.idle.is_closed() {
                true => join::Failure::Stopped,
                false => join::Failure::Abandoned,
            };
            run::fail(body, &whole.open, &whole.header.shared, why);
        }
    });
    if whole.header.named {
        whole.header.shared.strike(whole.header.id);
    }
    // SAFETY: it is read once, and the header gives back none.
    let mut lease = Some(unsafe { ptr::read(&whole.header.shared) });
    // A copy of the pointer, since the worker may take the lease itself.
    let runtime = Arc::as_ptr(&whole.header.shared);
    // SAFETY: it is not used any more.
    let drop_whole = || unsafe { memory.drop_in_place() };
    if std::mem::needs_drop::<P>() {
        // An open part is anybody's code.
        crate::panics::contain(drop_whole);
    } else {
        drop_whole();
    }
    // SAFETY: the lease keeps it, or the worker, which has a reference of its own.
    worker::with_current(unsafe { &*runtime }, |worker| {
        // SAFETY: it was taken with this layout, and is not used any more.
        unsafe {
            stock::give_back(worker.map(Worker::stock), memory.cast(), Layout::new::<Whole<P, B>>())
        };
        if let (Some(worker), Some(lease)) = (worker, lease.take_if(|_| worker.is_some())) {
            worker.keep_lease(lease);
        }
    });
    // Not inside: `with_current` holds a reference to what this may free.
    if let Some(lease) = lease {
        lease.give_back();
    }
}

/// A handle of a strand: wakes it, and asks it to end. Cheap to clone.
///
/// A strand that is idle and has no handle left can never run again; it is dropped.
///
/// ```
/// use kernel::{Runtime, Step};
///
/// let runtime = Runtime::new()?;
/// let mut wakes = 0;
/// let (strand, mut join) = runtime.strand().name("counter").idle(move |_| {
///     wakes += 1;
///     Step::End(wakes)
/// })?;
/// strand.wake()?;
/// assert_eq!(join.join()?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Strand(pub(crate) StrandRef);

impl Strand {
    /// Asks for a turn that starts after this call and sees all the caller has done before it.
    ///
    /// Waking a strand that is queued changes nothing, waking one that runs makes it run once
    /// more, and waking one that has ended is allowed and does nothing.
    ///
    /// # Errors
    /// [`ScheduleError::Stopped`] if the runtime has been shut down.
    #[inline]
    pub fn wake(&self) -> Result<(), ScheduleError> {
        let shared = &self.0.header().shared;
        shared.accepts()?;
        shared.wake(self.0);
        Ok(())
    }

    /// Asks the strand to end: [`Turn::cancelled`](crate::Turn::cancelled) is true from now on,
    /// and the strand is woken to notice. The body decides; a future is dropped at its next turn.
    pub fn cancel(&self) {
        self.signal(CANCEL);
    }

    /// Ends the strand without asking: after the turn it is in, if any, the body is dropped and
    /// whoever waits for it gets [`JoinError::Cancelled`](crate::JoinError::Cancelled).
    pub fn abort(&self) {
        self.signal(ABORT);
    }

    fn signal(&self, signal: u8) {
        // The wake releases it to the turn that must see it.
        self.0.header().signals.fetch_or(signal, Relaxed);
        let _ = self.wake();
    }

    /// Whether the strand has ended. It may end right after this said no.
    pub fn is_done(&self) -> bool {
        self.0.state().phase() == Phase::Done
    }

    /// What the strand is doing. It may do something else the next moment.
    pub fn phase(&self) -> Phase {
        self.0.state().phase()
    }

    /// The strand's id.
    pub fn id(&self) -> StrandId {
        self.0.header().id
    }

    /// The name given to it, or one made from its id.
    pub fn name(&self) -> String {
        self.0.label()
    }

    /// A waker that wakes this strand: for code that speaks `std::task`.
    pub fn waker(&self) -> Waker {
        self.0.waker()
    }
}

impl Clone for Strand {
    fn clone(&self) -> Strand {
        self.0.handle()
    }
}

impl Drop for Strand {
    fn drop(&mut self) {
        if self.0.state().release() {
            self.0.free();
        }
    }
}

impl PartialEq for Strand {
    fn eq(&self, other: &Strand) -> bool {
        self.0 == other.0
    }
}

impl Eq for Strand {}

impl fmt::Debug for Strand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Strand")
            .field("name", &self.name())
            .field("state", &self.0.state().phase())
            .finish()
    }
}

static WAKER: RawWakerVTable = RawWakerVTable::new(
    |raw| {
        // SAFETY: each waker is one handle of the strand it was made from.
        let strand = unsafe { StrandRef::from_raw(raw.cast()) };
        strand.state().retain();
        RawWaker::new(raw, &WAKER)
    },
    // SAFETY: as above; a waker that is used up gives its handle back.
    |raw| drop(unsafe { wake_by_handle(raw) }),
    // SAFETY: as above; the waker keeps its handle.
    |raw| std::mem::forget(unsafe { wake_by_handle(raw) }),
    // SAFETY: as above; a waker that is dropped gives its handle back.
    |raw| drop(Strand(unsafe { StrandRef::from_raw(raw.cast()) })),
);

/// # Safety
/// `raw` is a waker's pointer; the handle returned is the waker's own.
unsafe fn wake_by_handle(raw: *const ()) -> Strand {
    // SAFETY: by the caller's promise.
    let strand = Strand(unsafe { StrandRef::from_raw(raw.cast()) });
    // After shutdown the strand gets no turn any more. It is queued all the same, so that
    // whoever finds the entry ends it: it may be this very waker that keeps it alive.
    if strand.wake().is_err() && strand.0.header().shared.idle.is_closed() {
        strand.0.wake();
    }
    strand
}
