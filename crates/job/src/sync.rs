//! The one place that chooses between real primitives and the model checkers'.

#[cfg(all(loom, test))]
pub(crate) use loom::cell::UnsafeCell;
#[cfg(loom)]
pub(crate) use loom::sync::atomic;
#[cfg(shuttle)]
pub(crate) use shuttle::sync::atomic;
#[cfg(not(any(loom, shuttle)))]
pub(crate) use std::sync::atomic;

#[cfg(loom)]
use loom::sync as imp;
#[cfg(shuttle)]
use shuttle::sync as imp;
#[cfg(not(any(loom, shuttle)))]
use std::sync as imp;

pub(crate) use imp::MutexGuard;
use std::sync::PoisonError;

/// A lock without poisoning: no user code runs while it is held.
#[derive(Debug)]
pub(crate) struct Mutex<T> {
    lock: imp::Mutex<T>,
    /// In models, notices who uses it without having been told that it was made. loom's own do not.
    #[cfg(all(loom, test))]
    birth: UnsafeCell<()>,
}

// SAFETY: as a lock is, and there is nothing in the cell.
#[cfg(all(loom, test))]
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        let mutex = Mutex {
            lock: imp::Mutex::new(value),
            #[cfg(all(loom, test))]
            birth: UnsafeCell::new(()),
        };
        #[cfg(all(loom, test))]
        mutex.birth.with_mut(|_| ());
        mutex
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        #[cfg(all(loom, test))]
        self.birth.with(|_| ());
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}
