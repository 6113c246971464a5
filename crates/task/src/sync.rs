//! The one place that chooses between real primitives and the model checkers'.

#[cfg(loom)]
pub(crate) use loom::{cell::UnsafeCell, sync::atomic, thread};
#[cfg(shuttle)]
pub(crate) use shuttle::{sync::atomic, thread};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use std::{sync::atomic, thread};

#[cfg(loom)]
use loom::sync as imp;
#[cfg(shuttle)]
use shuttle::sync as imp;
#[cfg(not(any(loom, shuttle)))]
use std::sync as imp;

pub(crate) use imp::MutexGuard;
use std::sync::PoisonError;

/// A lock without poisoning: no foreign code runs while it is held.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(imp::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex(imp::Mutex::new(value))
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// std's cell with loom's interface: what is inside is reached in a closure only.
#[cfg(not(loom))]
#[derive(Debug, Default)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, user: impl FnOnce(*mut T) -> R) -> R {
        user(self.0.get())
    }
}
