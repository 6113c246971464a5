//! What stands in a queue: a strand, a small job stored in place, or a branch of a turn.
//!
//! An entry is six words. A job's closure of up to [`INLINE`] bytes lies in the entry itself, so
//! that submitting it allocates nothing; a larger one is boxed and the box lies in the entry. A
//! strand's entry holds its pointer, and the strand's LINKED flag says that the entry exists. That
//! of a branch points to a frame on the stack of whoever waits for it (see [`crate::branch`]).
//!
//! An entry that is dropped without having been run (the runtime stopped) drops its closure, or
//! ends its strand as stopped, or gives its branch back: nothing leaks and nobody waits for ever.
//!
//! On the way from a closure to the queue, and from the queue to the worker, an entry should be
//! copied once: a copy of what was just written in smaller pieces stalls the processor for longer
//! than all the rest takes. That is why the hot paths here and in the worker are inlined, and why
//! [`lanes`] exists.

mod lanes;

use std::mem::{self, MaybeUninit};

use crate::{
    branch::Head,
    prefetch::prefetch_lines,
    strand::{StrandRef, state::Pop},
    turn::Turn,
};

/// The largest closure, in bytes, that an entry holds in place.
pub(crate) const INLINE: usize = WORDS * mem::size_of::<usize>();
const WORDS: usize = 5;

/// So many lines of what an entry is about are fetched ahead.
const PREFETCHED: usize = 4;

type Payload = MaybeUninit<[usize; WORDS]>;

/// Runs the closure in the payload, or with no turn to run it in, drops it.
type Job = unsafe fn(*mut Payload, Option<&mut Turn<'_>>);

/// Every entry is run or dropped, never forgotten: who holds a job's handle relies on it (see
/// [`crate::strand::join`]).
#[repr(C, align(16))]
pub(crate) struct Entry {
    /// `None`: the payload's first word is a strand.
    job: Option<Job>,
    payload: Payload,
}

// SAFETY: jobs are made from closures that are `Send`, strands may be run by any worker.
unsafe impl Send for Entry {}

/// Whether a job needs no box.
#[inline(always)]
pub(crate) const fn lies_inline<F>(_: &F) -> bool {
    mem::size_of::<F>() <= INLINE && mem::align_of::<F>() <= mem::align_of::<usize>()
}

/// An entry in hand, which is used up by looking what it is.
pub(crate) enum Opened {
    Strand(StrandRef),
    Job(InPlace),
}

/// A job that is about to run, where it lies. Its entry is used up, and what is left of it may be
/// written over once the job has started.
pub(crate) struct InPlace(Job, *mut Payload);

impl Entry {
    /// The entry of a strand; its LINKED flag was set by the caller.
    #[inline(always)]
    pub(crate) fn strand(strand: StrandRef) -> Entry {
        let mut payload = Payload::uninit();
        // SAFETY: the first word of five.
        unsafe { payload.as_mut_ptr().cast::<usize>().write(strand.into_raw() as usize) };
        lanes::assemble(None, payload, mem::size_of::<usize>())
    }

    /// The entry of a strand, with the number of those that had arrived elsewhere before it.
    #[inline(always)]
    pub(crate) fn strand_since(strand: StrandRef, arrivals: usize) -> Entry {
        let mut payload = Payload::uninit();
        let words = payload.as_mut_ptr().cast::<usize>();
        // SAFETY: the first two words of five.
        unsafe {
            words.write(strand.into_raw() as usize);
            words.add(1).write(arrivals);
        }
        lanes::assemble(None, payload, 2 * mem::size_of::<usize>())
    }

    /// The number in an entry of [`Entry::strand_since`].
    ///
    /// # Safety
    /// It is one.
    pub(crate) unsafe fn arrivals(&self) -> usize {
        // SAFETY: by the caller's promise.
        unsafe { self.payload.as_ptr().cast::<usize>().add(1).read() }
    }

    /// A job, in place if it fits.
    #[inline(always)]
    pub(crate) fn job<F: FnOnce(&mut Turn<'_>) + Send + 'static>(job: F) -> Entry {
        if lies_inline(&job) {
            Entry::inline(job)
        } else {
            let boxed = Box::new(job);
            Entry::inline(move |turn: &mut Turn<'_>| boxed(turn))
        }
    }

    #[inline(always)]
    fn inline<F: FnOnce(&mut Turn<'_>) + Send + 'static>(job: F) -> Entry {
        let mut payload = Payload::uninit();
        // SAFETY: `job` and its callers have checked size and alignment.
        unsafe { payload.as_mut_ptr().cast::<F>().write(job) };
        lanes::assemble(Some(run_or_drop::<F>), payload, mem::size_of::<F>())
    }

    /// Writes the entry of a branch to where it will lie: usually nobody reads it.
    ///
    /// # Safety
    /// `to` is the caller's. The branch has no other entry, and its frame is there as long as the
    /// entry is.
    #[inline(always)]
    pub(crate) unsafe fn write_branch(to: *mut MaybeUninit<Entry>, branch: *const Head) {
        let to = to.cast::<Entry>();
        // SAFETY: by the caller's promise; the head's address is the first word of five.
        unsafe {
            (&raw mut (*to).job).write(Some(run_or_give_back));
            (&raw mut (*to).payload).cast::<*const Head>().write(branch);
        }
    }

    /// Writes the entry of a strand, as [`Entry::strand`] makes it, to where it will lie: its owner mostly
    /// opens it there, and reads no more than this.
    ///
    /// # Safety
    /// `to` is the caller's, who has set the strand's LINKED flag.
    #[inline(always)]
    pub(crate) unsafe fn write_strand(to: *mut MaybeUninit<Entry>, strand: StrandRef) {
        let to = to.cast::<Entry>();
        // SAFETY: by the caller's promise; the strand is the first word of five.
        unsafe {
            (&raw mut (*to).job).write(None);
            (&raw mut (*to).payload).cast::<usize>().write(strand.into_raw() as usize);
        }
    }

    pub(crate) fn is_branch(&self) -> bool {
        self.job.is_some_and(|job| std::ptr::fn_addr_eq(job, run_or_give_back as Job))
    }

    /// Looks what the entry is, without moving it. It is used up.
    ///
    /// # Safety
    /// `entry` is one that the caller has to itself, stays where it is until it runs, and is not
    /// used or dropped afterwards.
    #[inline(always)]
    pub(crate) unsafe fn open(entry: *mut Entry) -> Opened {
        // SAFETY: by the caller's promise.
        match unsafe { (*entry).job } {
            // SAFETY: as above.
            Some(job) => Opened::Job(InPlace(job, unsafe { &raw mut (*entry).payload })),
            // SAFETY: without a job the first word is what `Entry::strand` wrote, and the strand
            // is kept alive by its LINKED flag until the caller's pop.
            None => Opened::Strand(unsafe { (*entry).strand_unchecked() }),
        }
    }

    /// Asks the processor to have at hand soon what the entry is about: the strand, or what the
    /// first word of the job points to, which often is what it works on.
    #[inline]
    pub(crate) fn prefetch(&self) {
        let first = self.payload.as_ptr().cast::<MaybeUninit<usize>>();
        // SAFETY: the first word of five; it may be uninitialized, which the type says.
        let first = unsafe { *first };
        prefetch_lines(first, PREFETCHED);
    }

    /// The strand this entry is for, if it is for one.
    #[inline]
    pub(crate) fn peek(&self) -> Option<StrandRef> {
        // SAFETY: as in `open`; the entry keeps the strand alive while we look.
        if self.job.is_none() { Some(unsafe { self.strand_unchecked() }) } else { None }
    }

    /// # Safety
    /// The entry is for a strand.
    #[inline]
    unsafe fn strand_unchecked(&self) -> StrandRef {
        // SAFETY: by the caller's promise, `Entry::strand` wrote it from `into_raw`.
        unsafe { StrandRef::from_raw(self.payload.as_ptr().cast::<usize>().read() as *const _) }
    }
}

impl InPlace {
    /// Runs the job; a panic of the closure passes through.
    #[inline(always)]
    pub(crate) fn run(self, turn: &mut Turn<'_>) {
        // SAFETY: the payload is what this function was stored with, and is used up here.
        unsafe { (self.0)(self.1, Some(turn)) };
    }
}

/// SAFETY: `payload` holds an `F` that nobody uses afterwards.
unsafe fn run_or_drop<F: FnOnce(&mut Turn<'_>)>(
    payload: *mut Payload,
    turn: Option<&mut Turn<'_>>,
) {
    // SAFETY: by the caller's promise.
    let job = unsafe { payload.cast::<F>().read() };
    if let Some(turn) = turn {
        job(turn);
    }
}

/// SAFETY: `payload` holds what `Entry::write_branch` wrote, and nobody uses it afterwards.
#[inline(never)] // One address, by which a branch is told from a job.
unsafe fn run_or_give_back(payload: *mut Payload, turn: Option<&mut Turn<'_>>) {
    // SAFETY: by the caller's promise.
    let branch = unsafe { payload.cast::<*const Head>().read() };
    match turn {
        // SAFETY: the entry is in our hands, and used up.
        Some(turn) => unsafe { Head::run(branch, turn) },
        // SAFETY: as above.
        None => unsafe { Head::give_back(branch) },
    }
}

impl Drop for Entry {
    #[cold]
    fn drop(&mut self) {
        if let Some(job) = self.job {
            // A closure whose drop panics is its owner's business, not the queue's.
            let dropped = crate::panics::catch(|| {
                // SAFETY: the entry was not run, so the payload is whole, and used up here.
                unsafe { job(&mut self.payload, None) }
            });
            if let Err(payload) = dropped {
                crate::panics::discard(payload);
            }
            return;
        }
        let Some(strand) = self.peek() else { return };
        match strand.state().pop() {
            Pop::Run => strand.end_unrun(),
            // It is to go to the back of a line that nobody serves any more.
            Pop::Requeue => drop(Entry::strand(strand)),
            Pop::Stale => {}
            Pop::Free => strand.free(),
        }
    }
}
