//! What time is it for the shards?
//!
//! The time of day at opening, and the runtime's clock since then: it never goes back. For
//! development it can be moved forward, for all shards at once; what waits in pools expires by the
//! runtime's clock, which does not jump. Where a base chain gives the environment, blocks have the
//! base chain's time and this one does not count.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use kernel::Handle;

use super::Shards;

/// The shards' clock.
pub(crate) struct Time {
    /// The time of day at which the runtime's clock stood at `opened`.
    start: u64,
    opened: Duration,
    /// By how many seconds it was moved forward.
    ahead: AtomicU64,
}

/// The time can not go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeError {
    pub now: u64,
    pub asked: u64,
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TimeError { now, asked } = self;
        write!(f, "it is {now} and can not become {asked}: the time goes forward only")
    }
}

impl std::error::Error for TimeError {}

impl Time {
    pub(crate) fn new(unix_time: u64, runtime: &Handle) -> Time {
        Time { start: unix_time, opened: runtime.now(), ahead: AtomicU64::new(0) }
    }

    /// What it would be, if nobody had moved it.
    fn plain(&self, runtime: &Handle) -> u64 {
        self.start.saturating_add(runtime.now().saturating_sub(self.opened).as_secs())
    }

    pub(crate) fn now(&self, runtime: &Handle) -> u64 {
        self.plain(runtime).saturating_add(self.ahead.load(Relaxed))
    }
}

impl Shards {
    /// The time of day in seconds, by which blocks are dated without a base chain.
    pub fn unix_time(&self) -> u64 {
        self.core.unix_time()
    }

    /// Moves the time forward by so many whole seconds, for all shards. Gives the time that it is
    /// then.
    pub fn advance_time(&self, by: Duration) -> u64 {
        let ahead = &self.core.time.ahead;
        // Always `Ok`: the closure always gives a value.
        let _ =
            ahead.fetch_update(Relaxed, Relaxed, |ahead| Some(ahead.saturating_add(by.as_secs())));
        self.unix_time()
    }

    /// Moves the time forward to this one, for all shards.
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    ///
    /// use kernel::Runtime;
    /// use shard::{Config, Shards, store::MemoryStore};
    ///
    /// let simulation = Runtime::builder().simulate(1)?;
    /// let shards = Shards::open(&simulation, Config::default(), Arc::new(MemoryStore::new()), 1_000)?;
    /// assert_eq!(shards.advance_time(Duration::from_secs(60)), 1_060);
    /// assert_eq!(shards.set_time(2_000)?, 2_000);
    /// assert!(shards.set_time(1_999).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it is later already.
    pub fn set_time(&self, unix: u64) -> Result<u64, TimeError> {
        let (core, time) = (&self.core, &self.core.time);
        let plain = time.plain(&core.runtime);
        let forward = |ahead| unix.checked_sub(plain).filter(|wanted| *wanted >= ahead);
        match time.ahead.fetch_update(Relaxed, Relaxed, forward) {
            Ok(_) => Ok(unix),
            Err(ahead) => Err(TimeError { now: plain.saturating_add(ahead), asked: unix }),
        }
    }
}
