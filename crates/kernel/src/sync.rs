//! The one place that chooses between real primitives and the model checkers'.
//!
//! Every other file of the kernel takes its atomics, locks and threads from here, so that the
//! same code runs on real threads, under loom (all interleavings of a small program) and under
//! shuttle (random interleavings of the whole scheduler).

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

/// A lock without poisoning: a panic inside the kernel aborts, so nobody sees a torn value.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(imp::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex(imp::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`lock`](Mutex::lock), for one that is never held for long. To sleep and be woken takes
    /// longer than that, and whoever unlocks would have to do the waking: so we stay awake, and let
    /// others run in case the holder is not on a core. In a model there is no difference.
    #[inline]
    pub(crate) fn lock_soon(&self) -> MutexGuard<'_, T> {
        #[cfg(not(any(loom, shuttle)))]
        for round in 0..AWAKE_MAX {
            match self.0.try_lock() {
                Ok(guard) => return guard,
                Err(imp::TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(imp::TryLockError::WouldBlock) => stay_awake(round),
            }
        }
        self.lock()
    }
}

/// Rounds of waiting for a lock that is soon free: so many tight ones, then with a thread yield.
#[cfg(not(any(loom, shuttle)))]
const TIGHT_MAX: u32 = 4;
/// Pauses in the first tight round, twice as many in each further one. Who has lost lets the other go on
/// alone for a moment: to fetch the lock and what it guards from there takes longer than to use it.
#[cfg(not(any(loom, shuttle)))]
const PAUSES: u32 = 16;
#[cfg(not(any(loom, shuttle)))]
const AWAKE_MAX: u32 = 64;

#[cfg(not(any(loom, shuttle)))]
#[cold]
fn stay_awake(round: u32) {
    if round < TIGHT_MAX {
        (0..PAUSES << round).for_each(|_| spin_loop());
    } else {
        thread::yield_now();
    }
}

/// A condition variable to go with [`Mutex`].
#[derive(Debug, Default)]
pub(crate) struct Condvar(imp::Condvar);

impl Condvar {
    pub(crate) fn new() -> Condvar {
        Condvar(imp::Condvar::new())
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until notified, or until about `patience` has passed where time exists at all:
    /// in a model there is none, and the wait ends with a notice only.
    pub(crate) fn wait_for<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        patience: std::time::Duration,
    ) -> MutexGuard<'a, T> {
        #[cfg(not(any(loom, shuttle)))]
        {
            self.0.wait_timeout(guard, patience).unwrap_or_else(PoisonError::into_inner).0
        }
        #[cfg(any(loom, shuttle))]
        {
            let _ = patience;
            self.wait(guard)
        }
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Threads: start, park, yield.
pub(crate) mod thread {
    #[cfg(loom)]
    use loom::thread as imp;
    #[cfg(shuttle)]
    use shuttle::thread as imp;
    #[cfg(not(any(loom, shuttle)))]
    use std::thread as imp;

    #[cfg(loom)]
    pub(crate) use super::loom_parking::{Thread, current, park};
    pub(crate) use imp::{JoinHandle, yield_now};
    #[cfg(not(loom))]
    pub(crate) use imp::{Thread, current, park};

    /// Starts a named thread.
    pub(crate) fn start(
        name: String,
        main: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<JoinHandle<()>> {
        imp::Builder::new().name(name).spawn(main)
    }

    /// Parks for `patience` at most; without an end where there is no time (in models).
    pub(crate) fn park_timeout(patience: std::time::Duration) {
        #[cfg(not(any(loom, shuttle)))]
        imp::park_timeout(patience);
        #[cfg(any(loom, shuttle))]
        {
            let _ = patience;
            park();
        }
    }
}

/// Parking for loom, whose own loses the token of a thread that waits for a lock meanwhile.
#[cfg(loom)]
mod loom_parking {
    use super::{Condvar, Mutex};
    use std::sync::Arc;

    #[derive(Clone)]
    pub(crate) struct Thread(Arc<(Mutex<bool>, Condvar)>);

    loom::thread_local! {
        static OWN: Thread = Thread(Arc::new((Mutex::new(false), Condvar::new())));
    }

    pub(crate) fn current() -> Thread {
        OWN.with(Thread::clone)
    }

    pub(crate) fn park() {
        let Thread(own) = current();
        let mut token = own.0.lock();
        while !*token {
            token = own.1.wait(token);
        }
        *token = false;
    }

    impl Thread {
        pub(crate) fn unpark(&self) {
            *self.0.0.lock() = true;
            self.0.1.notify_all();
        }
    }
}

/// Cells that each thread has its own of. In models, threads are the checker's.
macro_rules! thread_cell {
    ($($(#[$doc:meta])* static $name:ident: $type:ty = $initial:expr;)*) => {
        #[cfg(loom)]
        loom::thread_local! {
            $($(#[$doc])* static $name: std::cell::Cell<$type> = std::cell::Cell::new($initial);)*
        }
        #[cfg(shuttle)]
        shuttle::thread_local! {
            $($(#[$doc])* static $name: std::cell::Cell<$type> = std::cell::Cell::new($initial);)*
        }
        #[cfg(not(any(loom, shuttle)))]
        std::thread_local! {
            $($(#[$doc])* static $name: std::cell::Cell<$type> =
                const { std::cell::Cell::new($initial) };)*
        }
    };
}
pub(crate) use thread_cell;

/// The order of a step that is announced to whoever fences between a step of its own and a look at
/// ours, without a fence on our side: see [`look`].
pub(crate) const fn announced() -> atomic::Ordering {
    if cfg!(loom) {
        return atomic::Ordering::Relaxed;
    }
    // weaken: in models a fence stands for it
    atomic::Ordering::SeqCst
}

/// Loads a word after a step that was [`announced`]: either we see what the other has done to the
/// word, or it sees our step. Both are SeqCst. In their one order, if the other's look missed our
/// step its fence comes before the step, and if this load missed what the other did its fence
/// comes after the load; both can not be.
///
/// loom takes SeqCst for AcqRel, except in fences, so in models the caller fences before.
#[inline(always)]
pub(crate) fn look(word: &atomic::AtomicU64) -> u64 {
    word.load(announced())
}

/// One round of a tight spin: a hint to the processor, or a step for the model checker.
pub(crate) fn spin_loop() {
    #[cfg(not(any(loom, shuttle)))]
    std::hint::spin_loop();
    #[cfg(any(loom, shuttle))]
    thread::yield_now();
}

/// So many hints to the processor: a microsecond or two.
#[cfg(not(any(loom, shuttle)))]
const BACK_OFF: u32 = 32;

/// Another thread was faster at a word that many write to. It goes on alone for a while, with the word
/// in its cache, which is sooner done than by turns. Models have no caches.
#[cold]
#[inline(never)]
pub(crate) fn back_off() {
    #[cfg(not(any(loom, shuttle)))]
    (0..BACK_OFF).for_each(|_| spin_loop());
}

/// Asks for the memory from `at` on, which may be anything, to be brought here for writing: a few
/// lines that another core may have.
#[inline(always)]
pub(crate) fn prefetch(at: *const u8, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(any(loom, shuttle, miri))))]
    for line in 0..bytes.div_ceil(CACHE_LINE) {
        let line = at.wrapping_add(line * CACHE_LINE);
        // By hand, since the intrinsic asks for reading where the processor is not known.
        // SAFETY: a hint, which changes nothing and faults nowhere.
        unsafe {
            std::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags))
        };
    }
    #[cfg(not(all(target_arch = "x86_64", not(any(loom, shuttle, miri)))))]
    let _ = (at, bytes);
}

/// The bytes that move between cores at once.
pub(crate) const CACHE_LINE: usize = 64;

/// A cell with loom's interface, so that models see every access to a strand's body.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub(crate) fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    #[inline]
    pub(crate) fn with_mut<R>(&self, use_it: impl FnOnce(*mut T) -> R) -> R {
        use_it(self.0.get())
    }
}
