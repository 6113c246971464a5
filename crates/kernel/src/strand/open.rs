//! Strands with an open part: what anyone with a handle may read while the body is the turn's own.
//!
//! ```text
//!   +--------+-----------+------+
//!   | header | open part | body |
//!   +--------+-----------+------+
//!     word     P: Sync     touched in turns only
//! ```
//!
//! A mailbox is such a part: senders reach it through the handle, and it needs no allocation of
//! its own. Two ways of waking belong to it. [`StrandWith::wake_with`] queues an idle strand and
//! leaves something in the open part before the entry is pushed, so nobody else looks at it
//! meanwhile. [`StrandWith::hand_off_with`] claims the strand for this worker and leaves something
//! while its turn is ours. Both need one step of the state word, and give back what was to be left
//! if the strand is not in such a state.

use std::{fmt, marker::PhantomData, mem::ManuallyDrop, ops::Deref, sync::Arc, task::Waker};

use crate::{
    attributes::Attributes,
    error::{JoinError, ScheduleError},
    runtime::{handle::Handle, strand_builder},
    shared::{Place, Shared},
    strand::{
        Header, Strand, StrandRef,
        body::Step,
        join::Failure,
        run::{After, Run},
    },
    sync::atomic::Ordering::Relaxed,
    turn::Turn,
    worker::{self, held::Taken},
};

/// A handle of a strand with an open part, to which it derefs.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// use kernel::{Handle, JoinError, OpenBody, Runtime, Step, StrandWith, Turn};
///
/// struct Adder(std::sync::mpsc::Sender<u32>);
///
/// impl OpenBody<AtomicU32> for Adder {
///     fn turn(&mut self, own: &StrandWith<AtomicU32>, _: &mut Turn<'_>) -> Step<u32> {
///         let _ = self.0.send(own.load(Relaxed));
///         Step::Pause
///     }
///     fn failed(&mut self, _: &AtomicU32, _: &Handle, _: JoinError) {}
/// }
///
/// let runtime = Runtime::new()?;
/// let (tell, told) = std::sync::mpsc::channel();
/// let adder = StrandWith::idle(&runtime, AtomicU32::new(0), Adder(tell))?;
/// adder.fetch_add(42, Relaxed);
/// adder.strand().wake()?;
/// assert_eq!(told.recv()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StrandWith<P> {
    strand: Strand,
    open: PhantomData<P>,
}

// SAFETY: of `P` it gives shared references only, and the last handle may drop it.
unsafe impl<P: Send + Sync> Send for StrandWith<P> {}
// SAFETY: as above.
unsafe impl<P: Send + Sync> Sync for StrandWith<P> {}

/// The body of a strand with an open part `P`.
pub trait OpenBody<P>: Send + 'static {
    /// Takes one turn. `own` is the strand itself. With its end it gives back so many handles that
    /// were forgotten (see [`StrandWith::into_raw`]): in one step, which costs less.
    fn turn(&mut self, own: &StrandWith<P>, turn: &mut Turn<'_>) -> Step<u32>;

    /// It has ended otherwise than by its own word: by a panic, an abort, or with its runtime.
    /// Called once; the body is dropped right after.
    fn failed(&mut self, open: &P, runtime: &Handle, why: JoinError);
}

/// The start of a strand in memory, as far as a handle knows its type.
#[repr(C)]
struct Fore<P> {
    header: Header,
    open: P,
}

impl<P: Send + Sync + 'static> StrandWith<P> {
    /// Makes a strand that waits for its first wake.
    ///
    /// # Errors
    /// If the runtime has stopped, or the affinity names no worker.
    pub fn idle<B: OpenBody<P>>(
        handle: &Handle,
        open: P,
        body: B,
    ) -> Result<StrandWith<P>, ScheduleError> {
        let attributes = Attributes::default();
        let make = || (open, Open(body));
        let strand = strand_builder::make_open(handle, &attributes, false, 1, make)?;
        Ok(StrandWith::of(strand))
    }

    /// Makes a strand with so many handles, shows it to `before`, and puts it in line for its
    /// first turn. The handle that is returned is one of them; the others are forgotten. `make` makes
    /// its open part and its body, once nothing can go wrong any more.
    ///
    /// # Errors
    /// If the runtime has stopped, the priority is not finite, or the affinity names no worker.
    #[inline(always)]
    pub fn start<B: OpenBody<P>>(
        handle: &Handle,
        attributes: &Attributes,
        handles: u32,
        make: impl FnOnce() -> (P, B),
        before: impl FnOnce(&StrandWith<P>),
    ) -> Result<StrandWith<P>, ScheduleError> {
        let before = |strand| {
            // Dropped only if `before` panics: then nobody gets it.
            let own = StrandWith::of(strand);
            before(&own);
            std::mem::forget(own);
        };
        start(handle, attributes, handles.max(1), make, before).map(StrandWith::of)
    }

    /// As [`start`](StrandWith::start), but all its handles are forgotten ones, and none is returned.
    ///
    /// # Errors
    /// As for [`start`](StrandWith::start).
    #[inline(always)]
    pub fn start_unheld<B: OpenBody<P>>(
        handle: &Handle,
        attributes: &Attributes,
        handles: u32,
        make: impl FnOnce() -> (P, B),
        before: impl FnOnce(&StrandWith<P>),
    ) -> Result<(), ScheduleError> {
        // Lent, without a count.
        let before = |strand| before(&ManuallyDrop::new(StrandWith::of(strand)));
        start(handle, attributes, handles, make, before).map(|_| ())
    }

    /// Queues the strand if it is idle, and leaves `what` in its open part, which nobody else who
    /// leaves something and no turn touches meanwhile.
    ///
    /// # Errors
    /// `what`, if the strand is not idle, or the runtime takes no more work. Nothing was done.
    #[inline]
    pub fn wake_with<T>(&self, what: T, leave: impl FnOnce(&P, T)) -> Result<(), T> {
        let strand = self.strand.0;
        let shared = &strand.header().shared;
        if shared.accepts().is_err() {
            return Err(what);
        }
        worker::with_current(shared, |worker| {
            if worker.is_some_and(|worker| worker.turn_nanos() != 0) || !strand.state().fill() {
                return Err(what);
            }
            let owed = OwedEntry { shared, strand, place: Place::Near };
            leave(self, what);
            std::mem::forget(owed);
            shared.queue(worker, strand, Place::Near);
            Ok(())
        })
    }

    /// Claims the strand so that this worker runs it next, and leaves `what` in its open part,
    /// which nobody else touches meanwhile. `settled` says whether someone who was leaving
    /// something by [`wake_with`](StrandWith::wake_with) is done: the last thing that one does
    /// must be a release of a word that this looks at, and that the turn acquires.
    ///
    /// It is a hand-off as [`Turn::hand_off`] is one. A second one in the same turn puts the first
    /// into line, and so does a quantum that is spent when the turn ends.
    ///
    /// # Errors
    /// `what`, if this is no turn of a strand of the same runtime, if its quantum is spent or its
    /// discipline not `Stealing`, or if the target runs elsewhere or has ended. Nothing was done.
    #[inline]
    pub fn hand_off_with<T>(
        &self,
        what: T,
        settled: impl FnOnce(&P) -> bool,
        leave: impl FnOnce(&P, T),
    ) -> Result<(), T> {
        // SAFETY: no handle is given back.
        unsafe { self.hold_with(0, what, settled, leave) }
    }

    /// As [`hand_off_with`](StrandWith::hand_off_with), by a handle that is used up: mostly it is given
    /// back with the same step.
    ///
    /// # Errors
    /// The handle and `what`, where [`hand_off_with`](StrandWith::hand_off_with) gives `what` back.
    #[inline]
    pub fn hand_off_last_with<T>(
        self,
        what: T,
        settled: impl FnOnce(&P) -> bool,
        leave: impl FnOnce(&P, T),
    ) -> Result<(), (StrandWith<P>, T)> {
        let own = ManuallyDrop::new(self);
        // SAFETY: unless it comes back, it is not used any more.
        let left = unsafe { own.hold_with(1, what, settled, leave) };
        left.map_err(|what| (ManuallyDrop::into_inner(own), what))
    }

    /// Claims the strand, leaves `what`, and gives back so many handles.
    ///
    /// # Safety
    /// Unless there is an error they are the caller's, who does not use them any more.
    #[inline]
    unsafe fn hold_with<T>(
        &self,
        handles: u64,
        what: T,
        settled: impl FnOnce(&P) -> bool,
        leave: impl FnOnce(&P, T),
    ) -> Result<(), T> {
        let strand = self.strand.0;
        worker::with_current(&strand.header().shared, |worker| {
            let Some(worker) = worker.filter(|worker| worker.may_hold()) else { return Err(what) };
            let Some(taken) = worker.hold(strand, handles, || settled(self)) else {
                return Err(what);
            };
            // Also without a handle: its turn is ours.
            leave(self, what);
            taken.keep();
            Ok(())
        })
    }

    /// Whether the turn that this thread is in has claimed the strand by
    /// [`hand_off_with`](StrandWith::hand_off_with), and still has it: until it ends, nobody else
    /// touches what only turns touch.
    #[inline]
    pub fn is_held(&self) -> bool {
        let strand = self.strand.0;
        worker::with_current(&strand.header().shared, |worker| {
            worker.is_some_and(|worker| worker.holds(strand))
        })
    }

    /// Calls `user` with a waker of this strand that counts no handle.
    #[inline]
    pub fn with_waker<R>(&self, user: impl FnOnce(&Waker) -> R) -> R {
        self.strand.0.with_waker(user)
    }
}

impl<P> StrandWith<P> {
    /// The handle that `strand`'s count has one for.
    pub(crate) fn of(strand: StrandRef) -> StrandWith<P> {
        StrandWith { strand: Strand(strand), open: PhantomData }
    }

    /// If this thread is in a turn of this very strand: whether that turn should end, as
    /// [`Turn::expired`] says it.
    #[inline]
    pub fn own_turn(&self) -> Option<bool> {
        let header = self.strand.0.header();
        worker::with_current(&header.shared, |worker| {
            let slot = worker?.slot();
            (slot.strand.load(Relaxed) == header.id.0).then(|| slot.expired.load(Relaxed))
        })
    }

    /// For a turn of this very strand: whether nobody else holds it. The caller has so many handles
    /// of it, forgotten ones counted, and they are all there are; it is in no queue and was not woken.
    /// From then on nobody else can reach it, unless the caller has left one of those handles where
    /// others find it.
    #[inline]
    pub fn is_sole(&self, handles: u32) -> bool {
        self.strand.0.state().is_sole(handles.into())
    }

    /// The same strand, without its open part.
    #[inline]
    pub fn strand(&self) -> &Strand {
        &self.strand
    }

    /// The runtime it belongs to.
    #[inline]
    pub fn runtime(&self) -> &Handle {
        Handle::of(&self.strand.0.header().shared)
    }

    /// Gives the handle away as a bare pointer, aligned to 8 bytes, with the handle's count.
    #[inline]
    pub fn into_raw(self) -> *const () {
        ManuallyDrop::new(self).strand.0.into_raw().cast()
    }

    /// The bare pointer, without a count.
    #[inline]
    pub fn as_raw(&self) -> *const () {
        self.strand.0.into_raw().cast()
    }

    /// The handle that was given away.
    ///
    /// # Safety
    /// `raw` is from [`into_raw`](StrandWith::into_raw) and its count was not used yet. The
    /// strand's open part is a `P`, or a `repr(C)` struct that begins with one, and both are
    /// aligned to 8 bytes at most.
    #[inline]
    pub unsafe fn from_raw(raw: *const ()) -> StrandWith<P> {
        // SAFETY: by the caller's promise.
        StrandWith::of(unsafe { StrandRef::from_raw(raw.cast()) })
    }

    /// Counts so many more handles, without making them.
    #[inline]
    pub fn retain_many(&self, handles: u32) {
        self.strand.0.state().retain_many(handles.into());
    }

    /// Counts so many handles less than [`retain_many`](StrandWith::retain_many) has counted.
    ///
    /// # Safety
    /// They were counted, and nobody else gives them back.
    #[inline]
    pub unsafe fn release_many(&self, handles: u32) {
        self.strand.0.state().release_many(handles.into());
    }
}

impl<P> Deref for StrandWith<P> {
    type Target = P;

    #[inline]
    fn deref(&self) -> &P {
        // SAFETY: handles are made with the type of their strand's open part, or by the promise of
        // `from_raw` with what it begins with and an alignment that moves neither. In `Whole` it lies where it lies in `Fore`: both
        // are `repr(C)`, and the header comes first.
        unsafe { &(*self.strand.0.into_raw().cast::<Fore<P>>()).open }
    }
}

impl<P> Clone for StrandWith<P> {
    #[inline]
    fn clone(&self) -> StrandWith<P> {
        StrandWith { strand: self.strand.clone(), open: PhantomData }
    }
}

impl<P> PartialEq for StrandWith<P> {
    fn eq(&self, other: &StrandWith<P>) -> bool {
        self.strand == other.strand
    }
}

impl<P> Eq for StrandWith<P> {}

impl<P> fmt::Debug for StrandWith<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.strand.fmt(f)
    }
}

/// Wakes by a waker that is used up. If it is a strand's, and this is a turn of a strand of the same
/// runtime, it is a hand-off, as [`Turn::hand_off`] is one, that takes effect at once.
#[inline]
pub fn hand_off_to(waker: Waker) {
    if !std::ptr::eq(waker.vtable(), &raw const super::WAKER) {
        return waker.wake();
    }
    // SAFETY: the data of a waker with this vtable is a strand, of which it is a handle.
    let strand = unsafe { StrandRef::from_raw(waker.data().cast()) };
    let held = worker::with_current(&strand.header().shared, |worker| {
        // One that somebody is filling is queued already.
        let taken = worker.filter(|worker| worker.may_hold())?.hold(strand, 0, || false);
        taken.map(Taken::keep)
    });
    if held.is_some() { drop(waker) } else { waker.wake() }
}

/// Makes a strand with so many handles, shows it to `before`, and puts it in line. If none of the
/// handles is the caller's, it may be freed by then.
#[inline(always)]
fn start<P: Send + Sync + 'static, B: OpenBody<P>>(
    handle: &Handle,
    attributes: &Attributes,
    handles: u32,
    make: impl FnOnce() -> (P, B),
    before: impl FnOnce(StrandRef),
) -> Result<StrandRef, ScheduleError> {
    let make = || {
        let (open, body) = make();
        (open, Open(body))
    };
    let strand = strand_builder::make_open(handle, attributes, true, handles.into(), make)?;
    let owed = OwedEntry { shared: &handle.shared, strand, place: Place::New };
    before(strand);
    drop(owed);
    Ok(strand)
}

/// An entry that is owed. Also a panic of whoever leaves something must not lose the strand.
struct OwedEntry<'a> {
    /// Not by way of the strand, which may be gone once its entry is placed.
    shared: &'a Arc<Shared>,
    strand: StrandRef,
    place: Place,
}

impl Drop for OwedEntry<'_> {
    #[inline]
    fn drop(&mut self) {
        let OwedEntry { shared, strand, place } = *self;
        worker::with_current(shared, |worker| shared.queue(worker, strand, place));
    }
}

/// How an open body is run.
struct Open<B>(B);

impl<P: Send + Sync + 'static, B: OpenBody<P>> Run<P> for Open<B> {
    #[inline]
    fn run(&mut self, turn: &mut Turn<'_>) -> After {
        let strand = turn.strand_ref().expect("a body runs as a strand");
        // Lent, without a count: the turn keeps the strand.
        let own = ManuallyDrop::new(StrandWith::of(strand));
        match self.0.turn(&own, turn) {
            Step::Pause => After::Pause,
            Step::Yield => After::Yield,
            Step::End(handles) => {
                turn.give_back(handles);
                After::End
            }
        }
    }

    fn fail(&mut self, open: &P, shared: &Arc<Shared>, why: Failure) {
        self.0.failed(open, Handle::of(shared), why.into());
    }
}
