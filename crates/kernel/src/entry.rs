//! What stands in a queue: a strand, or a small job stored in place.
//!
//! An entry is six words. A job's closure of up to [`INLINE`] bytes lies in the entry itself, so
//! that submitting it allocates nothing; a larger one is boxed and the box lies in the entry. A
//! strand's entry holds its pointer, and the strand's LINKED flag says that the entry exists.
//!
//! An entry that is dropped without having been run (the runtime stopped) drops its closure, or
//! ends its strand as stopped: nothing leaks and nobody waits for ever.

use std::mem::{self, ManuallyDrop, MaybeUninit};

use crate::{
    strand::{StrandRef, state::Pop},
    turn::Turn,
};

/// The largest closure, in bytes, that an entry holds in place.
pub(crate) const INLINE: usize = 5 * mem::size_of::<usize>();

type Payload = [MaybeUninit<usize>; 5];

/// Runs the closure in the payload, or with no turn to run it in, drops it.
type Job = unsafe fn(*mut Payload, Option<&mut Turn<'_>>);

pub(crate) struct Entry {
    /// `None`: the payload's first word is a strand.
    job: Option<Job>,
    payload: Payload,
}

// SAFETY: jobs are made from closures that are `Send`, strands may be run by any worker.
unsafe impl Send for Entry {}

/// An entry, taken apart.
pub(crate) enum Opened {
    Strand(StrandRef),
    Job(JobEntry),
}

/// A job that was popped and is about to run.
pub(crate) struct JobEntry(Entry);

impl Entry {
    /// The entry of a strand; its LINKED flag was set by the caller.
    #[inline]
    pub(crate) fn strand(strand: StrandRef) -> Entry {
        let mut payload = [MaybeUninit::uninit(); 5];
        payload[0].write(strand.into_raw() as usize);
        Entry { job: None, payload }
    }

    /// A job, in place if it fits.
    #[inline]
    pub(crate) fn job<F: FnOnce(&mut Turn<'_>) + Send + 'static>(job: F) -> Entry {
        if mem::size_of::<F>() <= INLINE && mem::align_of::<F>() <= mem::align_of::<usize>() {
            Entry::inline(job)
        } else {
            let boxed = Box::new(job);
            Entry::inline(move |turn: &mut Turn<'_>| boxed(turn))
        }
    }

    #[inline]
    fn inline<F: FnOnce(&mut Turn<'_>) + Send + 'static>(job: F) -> Entry {
        const { assert!(mem::align_of::<Payload>() >= mem::align_of::<*mut ()>()) };
        let mut payload: Payload = [MaybeUninit::uninit(); 5];
        // SAFETY: `job` and its callers have checked size and alignment.
        unsafe { payload.as_mut_ptr().cast::<F>().write(job) };
        Entry { job: Some(run_or_drop::<F>), payload }
    }

    #[inline]
    pub(crate) fn open(self) -> Opened {
        if self.job.is_some() {
            Opened::Job(JobEntry(self))
        } else {
            let entry = ManuallyDrop::new(self);
            // SAFETY: without a job the first word is what `Entry::strand` wrote.
            let raw = unsafe { entry.payload[0].assume_init() };
            // SAFETY: it came from `into_raw`, and the entry that held it is forgotten.
            Opened::Strand(unsafe { StrandRef::from_raw(raw as *const _) })
        }
    }

    /// The strand this entry is for, if it is for one.
    #[inline]
    pub(crate) fn peek(&self) -> Option<StrandRef> {
        if self.job.is_some() {
            return None;
        }
        // SAFETY: as in `open`; the entry keeps the strand alive while we look.
        Some(unsafe { StrandRef::from_raw(self.payload[0].assume_init() as *const _) })
    }
}

impl JobEntry {
    /// Runs the job; a panic of the closure passes through.
    #[inline]
    pub(crate) fn run(self, turn: &mut Turn<'_>) {
        let mut entry = ManuallyDrop::new(self.0);
        let job = entry.job.expect("a job entry holds a job");
        // SAFETY: the payload is what this function was stored with, and is used up here.
        unsafe { job(&mut entry.payload, Some(turn)) };
    }
}

/// SAFETY: `payload` holds an `F` that nobody uses afterwards.
unsafe fn run_or_drop<F: FnOnce(&mut Turn<'_>)>(payload: *mut Payload, turn: Option<&mut Turn<'_>>) {
    // SAFETY: by the caller's promise.
    let job = unsafe { payload.cast::<F>().read() };
    if let Some(turn) = turn {
        job(turn);
    }
}

impl Drop for Entry {
    #[cold]
    fn drop(&mut self) {
        if let Some(job) = self.job {
            // A closure whose drop panics is its owner's business, not the queue's.
            let _ = crate::panics::catch(|| {
                // SAFETY: the entry was not run, so the payload is whole, and used up here.
                unsafe { job(&mut self.payload, None) }
            });
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
