//! What the kernel asks of the world: the time, and chance.
//!
//! This is the seam on which the simulated runtime stands. Threads and parking have their own
//! (see [`crate::sync`] and [`crate::idle`]); nothing else in the kernel reads a clock or rolls
//! dice.

use std::{
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Nanoseconds since the runtime started.
pub(crate) type Nanos = u64;

pub(crate) fn nanos(duration: Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

pub(crate) enum Clock {
    /// The machine's.
    Real(std::time::Instant),
    /// The simulator's, which it moves by hand. Models use it too: there time stands still.
    Virtual(AtomicU64),
}

impl Clock {
    pub(crate) fn real() -> Clock {
        #[allow(clippy::disallowed_methods, reason = "this is the clock that others are to use")]
        Clock::Real(std::time::Instant::now())
    }

    pub(crate) fn simulated() -> Clock {
        Clock::Virtual(AtomicU64::new(0))
    }

    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        match self {
            Clock::Real(start) => nanos(start.elapsed()),
            Clock::Virtual(now) => now.load(Relaxed),
        }
    }

    pub(crate) fn set(&self, to: Nanos) {
        match self {
            Clock::Real(_) => unreachable!("only a simulated clock is moved by hand"),
            Clock::Virtual(now) => now.store(to, Relaxed),
        }
    }
}

/// A small, fast generator (SplitMix64): for choosing victims and simulated orders, not for
/// secrets.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Dice {
    pub(crate) fn seeded(seed: u64) -> Dice {
        Dice(seed)
    }

    /// Seeded by the system.
    pub(crate) fn fresh() -> u64 {
        RandomState::new().hash_one(0u8)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    /// A number below `n`, which is not 0.
    #[inline]
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

/// The same for all threads of a runtime, one after the other.
#[derive(Debug)]
pub(crate) struct SharedDice(AtomicU64);

impl SharedDice {
    pub(crate) fn seeded(seed: u64) -> SharedDice {
        // Another stream than those of the workers.
        SharedDice(AtomicU64::new(mix(seed ^ 0xC4A9_CE00)))
    }

    pub(crate) fn next(&self) -> u64 {
        mix(self.0.fetch_add(GAMMA, Relaxed).wrapping_add(GAMMA))
    }
}

/// CPU clocks of threads, where the system has them.
pub(crate) mod cpu {
    use std::time::Duration;

    /// The clock of the calling thread; 0 if there is none.
    pub(crate) fn own_clock() -> i32 {
        #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
        {
            let mut clock: libc::clockid_t = 0;
            // SAFETY: `pthread_self` is this thread, which is alive; `clock` is ours to write.
            let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) };
            if failed == 0 { clock } else { 0 }
        }
        #[cfg(not(all(target_os = "linux", not(any(loom, shuttle, miri)))))]
        0
    }

    /// What a clock of [`own_clock`] shows. `None` once its thread has ended.
    pub(crate) fn read(clock: i32) -> Option<Duration> {
        #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
        {
            if clock == 0 {
                return None;
            }
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            // SAFETY: `time` is ours to write; a clock that is gone is an error, not a fault.
            let failed = unsafe { libc::clock_gettime(clock, &mut time) };
            (failed == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
        }
        #[cfg(not(all(target_os = "linux", not(any(loom, shuttle, miri)))))]
        {
            let _ = clock;
            None
        }
    }
}

/// What is asked of the system's own scheduler.
pub(crate) mod system {
    /// Asks for short stretches of time for this thread, and for sleeps that end on time: one that
    /// works little and often is then let in sooner among threads that never sleep. A wish; where it
    /// is not known, nothing happens.
    pub(crate) fn be_punctual() {
        #[cfg(all(target_os = "linux", not(any(loom, shuttle, miri))))]
        {
            /// The system's own shape of it (`sched_setattr`), in its first version.
            #[repr(C)]
            struct Wish {
                size: u32,
                policy: u32,
                flags: u64,
                nice: i32,
                priority: u32,
                slice_ns: u64,
                deadline_ns: u64,
                period_ns: u64,
            }
            let mut wish = Wish {
                size: size_of::<Wish>() as u32,
                policy: libc::SCHED_OTHER as u32,
                flags: 0,
                nice: 0,
                priority: 0,
                slice_ns: 100_000,
                deadline_ns: 0,
                period_ns: 0,
            };
            // SAFETY: numbers, or a thread (0 is this one) and a structure of the size it says.
            unsafe {
                libc::prctl(libc::PR_SET_TIMERSLACK, 1_000);
                let size = size_of::<Wish>();
                // What else is set for this thread stays as it is.
                if libc::syscall(libc::SYS_sched_getattr, 0, &raw mut wish, size, 0) == 0
                    && wish.policy == libc::SCHED_OTHER as u32
                {
                    wish.slice_ns = 100_000;
                    libc::syscall(libc::SYS_sched_setattr, 0, &raw const wish, 0);
                }
            }
        }
    }
}
