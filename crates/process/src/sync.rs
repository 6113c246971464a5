//! The one place that chooses between real primitives and the model checkers'.

#[cfg(loom)]
pub(crate) use loom::{cell::UnsafeCell, sync::atomic};
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
    birth: Birth,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex { lock: imp::Mutex::new(value), birth: Birth::new() }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.birth.is_known();
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

/// In models, notices who uses something without having been told that it was made. loom's locks do
/// not.
#[cfg(loom)]
#[derive(Debug)]
struct Birth(UnsafeCell<()>);

// SAFETY: there is nothing in it.
#[cfg(loom)]
unsafe impl Sync for Birth {}

#[cfg(loom)]
impl Birth {
    fn new() -> Birth {
        let birth = UnsafeCell::new(());
        birth.with_mut(|_| ());
        Birth(birth)
    }

    fn is_known(&self) {
        self.0.with(|_| ());
    }
}

#[cfg(not(loom))]
#[derive(Debug)]
struct Birth;

#[cfg(not(loom))]
impl Birth {
    fn new() -> Birth {
        Birth
    }

    #[inline(always)]
    fn is_known(&self) {}
}

/// The pointer in something that nobody else sees any more. In models it shows if somebody does.
#[cfg(not(loom))]
pub(crate) fn last<T>(pointer: &mut atomic::AtomicPtr<T>) -> *mut T {
    *pointer.get_mut()
}

#[cfg(loom)]
pub(crate) fn last<T>(pointer: &mut atomic::AtomicPtr<T>) -> *mut T {
    use std::{io::Write, panic};
    let mut look = || pointer.with_mut(|pointer| *pointer);
    panic::catch_unwind(panic::AssertUnwindSafe(&mut look)).unwrap_or_else(|_| {
        // Whoever drops a strand contains panics, and the model would pass.
        let _ = std::io::stderr().write_all(b"freed while another thread may still use it\n");
        std::process::abort()
    })
}

/// So many hints to the processor: a few microseconds at most.
#[cfg(not(any(loom, shuttle)))]
const BACK_OFF: u32 = 64;

/// Another thread was faster at a word that many write to. It goes on alone for a while, with the word
/// in its cache, which is sooner done than by turns. Models have no caches.
#[cold]
#[inline(never)]
pub(crate) fn back_off() {
    #[cfg(not(any(loom, shuttle)))]
    (0..BACK_OFF).for_each(|_| std::hint::spin_loop());
}

/// A cell with loom's interface, so that models see every access to it.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn with<R>(&self, use_it: impl FnOnce(*const T) -> R) -> R {
        use_it(self.0.get())
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, use_it: impl FnOnce(*mut T) -> R) -> R {
        use_it(self.0.get())
    }
}
