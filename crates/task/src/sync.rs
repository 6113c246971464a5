//! The one place that chooses between real primitives and the model checkers'.

#[cfg(loom)]
pub(crate) use loom::{sync::atomic, thread};
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
