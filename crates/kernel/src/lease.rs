//! Who keeps the runtime while there are strands: leases, counted many at a time.
//!
//! Every strand refers to its runtime. To count each reference in the one word that all workers
//! share would cost more than the rest of a spawn, so a strand has a *lease* instead. Workers take
//! and give back leases in bulk, and keep some for the next strands. The first lease that is taken
//! keeps one counted reference to the runtime, the last that is given back drops it.
//!
//! 1. Whoever takes leases has a reference of its own meanwhile, and hands them out afterwards. So
//!    between the first take and the reference that it keeps nobody can give back the last.
//! 2. *First* and *last* alternate in the word, though what they do about the reference may come
//!    in another order: each is done by somebody who has a reference, or had the last lease.
//!
//! Ordering: as in `Arc`. Giving back releases what was done under the lease, and whoever gives
//! back the last one acquires it before the reference goes.

use std::{mem::ManuallyDrop, ops::Deref, sync::Arc};

use crate::{
    shared::Shared,
    sync::atomic::{
        AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
        fence,
    },
    worker::{self, Worker},
};

/// A worker takes so many at once, and keeps at most four times as many.
pub(crate) const LEASES: usize = if cfg!(any(loom, shuttle)) { 2 } else { 256 };
pub(crate) const LEASES_MAX: usize = 4 * LEASES;

/// How many leases there are: with strands, or with workers.
#[derive(Default)]
pub(crate) struct Leases(AtomicUsize);

impl Leases {
    /// True: they are the first, and a reference must be kept for them.
    #[must_use = "without a reference the leases keep nothing"]
    fn take(&self, count: usize) -> bool {
        self.0.fetch_add(count, Relaxed) == 0
    }

    /// True: they were the last, and their reference must be dropped.
    #[must_use = "a reference that nobody drops keeps the runtime for ever"]
    fn give_back(&self, count: usize) -> bool {
        let last = self.0.fetch_sub(count, Release) == count;
        if last {
            fence(Acquire);
        }
        last
    }
}

/// A strand's lease of its runtime. It does not give itself back.
pub(crate) struct Lease(ManuallyDrop<Arc<Shared>>);

impl Lease {
    /// One of the leases that the caller has taken.
    ///
    /// # Safety
    /// It was taken, and is used once.
    #[inline]
    pub(crate) unsafe fn of(shared: &Arc<Shared>) -> Lease {
        // SAFETY: it is not dropped, so it needs no count of its own; the lease keeps the runtime.
        Lease(ManuallyDrop::new(unsafe { Arc::from_raw(Arc::as_ptr(shared)) }))
    }

    /// A lease for somebody who is no worker.
    pub(crate) fn take(shared: &Arc<Shared>) -> Lease {
        take(shared, 1);
        // SAFETY: it was taken above.
        unsafe { Lease::of(shared) }
    }

    pub(crate) fn give_back(self) {
        // SAFETY: whoever made it has taken it, and this uses it up.
        unsafe { give_back(Arc::as_ptr(&self.0), 1) };
    }
}

impl Deref for Lease {
    type Target = Arc<Shared>;

    #[inline]
    fn deref(&self) -> &Arc<Shared> {
        &self.0
    }
}

/// A lease for something that is made and dropped in turns, mostly: it comes from the worker whose turn
/// it is, and goes to such a one. A reference would be counted where every worker counts.
pub(crate) struct Tenure(ManuallyDrop<Lease>);

impl Tenure {
    pub(crate) fn new(shared: &Arc<Shared>) -> Tenure {
        let lease = worker::with_current(shared, |worker| {
            worker.map_or_else(|| Lease::take(shared), Worker::lease)
        });
        Tenure(ManuallyDrop::new(lease))
    }
}

impl Deref for Tenure {
    type Target = Arc<Shared>;

    #[inline]
    fn deref(&self) -> &Arc<Shared> {
        &self.0
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        let runtime = Arc::as_ptr(self);
        // SAFETY: it is not used any more.
        let mut lease = Some(unsafe { ManuallyDrop::take(&mut self.0) });
        // SAFETY: the lease keeps it, or the worker, which has a reference of its own.
        worker::with_current(unsafe { &*runtime }, |worker| {
            if let (Some(worker), Some(lease)) = (worker, lease.take_if(|_| worker.is_some())) {
                worker.keep_lease(lease);
            }
        });
        // Not inside: `with_current` holds a reference to what this may free.
        if let Some(lease) = lease {
            lease.give_back();
        }
    }
}

pub(crate) fn take(shared: &Arc<Shared>, count: usize) {
    if shared.leases.take(count) {
        std::mem::forget(shared.clone());
    }
}

/// # Safety
/// So many leases were taken, and nobody uses them any more.
pub(crate) unsafe fn give_back(shared: *const Shared, count: usize) {
    // SAFETY: by the caller's promise the leases still keep it.
    if count > 0 && unsafe { (*shared).leases.give_back(count) } {
        // SAFETY: the first `take` has kept this reference, and it is dropped once (2).
        drop(unsafe { Arc::from_raw(shared) });
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::{
        Attributes, Builder, Handle, JoinError, OpenBody, ScheduleError, Step, StrandWith, Turn,
    };

    struct Never;

    impl OpenBody<()> for Never {
        fn turn(&mut self, _: &StrandWith<()>, _: &mut Turn<'_>) -> Step<u32> {
            unreachable!("it is never made")
        }

        fn failed(&mut self, (): &(), _: &Handle, _: JoinError) {}
    }

    /// Whoever makes the parts of a strand panics: its lease and its name go back.
    #[test]
    fn strand_whose_parts_are_not_made_keeps_nothing() {
        let runtime = Builder::default().workers(1).build().unwrap();
        let handle = &runtime.handle();
        let attributes = Attributes { name: Some("never".into()), ..Attributes::default() };
        let shared = &handle.shared;
        let held = || (shared.leases.0.load(Relaxed), shared.names.lock().len());
        let before = held();
        let make = || -> ((), Never) { std::panic::resume_unwind(Box::new(())) };
        let start = || -> Result<StrandWith<()>, ScheduleError> {
            StrandWith::start(handle, &attributes, 1, make, |_| ())
        };
        assert!(catch_unwind(AssertUnwindSafe(start)).is_err());
        assert_eq!(held(), before);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use loom::{cell::UnsafeCell, sync::Arc, thread};

    #[derive(Default)]
    struct Runtime {
        leases: Leases,
        /// Read under a lease, written by whoever frees the runtime.
        memory: UnsafeCell<bool>,
    }

    impl Drop for Runtime {
        fn drop(&mut self) {
            // SAFETY: loom checks that nobody reads it at the same time.
            self.memory.with_mut(|freed| unsafe { *freed = true });
        }
    }

    /// # Safety
    /// The caller has so many leases.
    unsafe fn use_and_give_back(runtime: *const Runtime, count: usize) {
        // SAFETY: the leases keep it.
        let last = unsafe {
            (*runtime).memory.with(|freed| assert!(!*freed, "freed under a lease"));
            (*runtime).leases.give_back(count)
        };
        if last {
            // SAFETY: kept by the first take.
            drop(unsafe { Arc::from_raw(runtime) });
        }
    }

    fn take(runtime: &Arc<Runtime>, count: usize) -> usize {
        if runtime.leases.take(count) {
            std::mem::forget(runtime.clone());
        }
        Arc::as_ptr(runtime) as usize
    }

    /// Two strands outlive every reference: whoever gives back the last lease frees the runtime,
    /// once, and after the other.
    #[test]
    fn last_lease_frees_the_runtime_after_the_others() {
        loom::model(|| {
            let runtime = Arc::new(Runtime::default());
            let at = take(&runtime, 2);
            drop(runtime);
            // SAFETY: one of two.
            let other = thread::spawn(move || unsafe { use_and_give_back(at as *const _, 1) });
            // SAFETY: the other of two.
            unsafe { use_and_give_back(at as *const _, 1) };
            other.join().unwrap();
        });
    }

    /// Rule 2: leases are taken anew while the last ones are given back.
    #[test]
    fn taken_anew_while_the_last_is_given_back() {
        loom::model(|| {
            let runtime = Arc::new(Runtime::default());
            let at = take(&runtime, 1);
            // SAFETY: the only one so far.
            let other = thread::spawn(move || unsafe { use_and_give_back(at as *const _, 1) });
            let at = take(&runtime, 1);
            drop(runtime);
            // SAFETY: taken above.
            unsafe { use_and_give_back(at as *const _, 1) };
            other.join().unwrap();
        });
    }
}
