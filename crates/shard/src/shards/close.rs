//! How do shards come to an orderly end?
//!
//! 1. Nothing more is accepted. What was being accepted is in the committer's queue.
//! 2. Each shard sees through what it has begun and begins nothing more.
//! 3. The committer writes what it has, and the log is synced whatever the durability.
//!
//! What still waits is in the pools' journal, and goes on when the shards are opened again. When the
//! deadline passes, whatever is not done is left as a crash would leave it: nothing that was
//! acknowledged is lost.

use std::{
    sync::{Arc, Condvar, Mutex, PoisonError, atomic::Ordering::SeqCst},
    time::Duration,
};

use super::Shards;
use crate::{shard::Mail, store::StoreError};

/// How shards have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "it says whether all is on disk"]
pub struct Closed {
    /// Transactions that wait in pools. They are in the journal.
    pub waiting: usize,
    /// Shards with a block under way, when the deadline passed or the runtime had stopped. What it
    /// holds waits too.
    pub unfinished: usize,
    /// Not all was done in time.
    pub deadline_passed: bool,
    /// Why the store could not take what was to be written.
    pub failure: Option<StoreError>,
}

impl Closed {
    /// Whether all went well: every shard has seen through its block, and all is on disk.
    pub fn is_clean(&self) -> bool {
        self.unfinished == 0 && !self.deadline_passed && self.failure.is_none()
    }
}

/// Counts those that have something under way.
struct Busy {
    left: Mutex<usize>,
    changed: Condvar,
}

/// Held by a shard until it has nothing under way.
pub(crate) struct UnderWay(Arc<Busy>);

impl Busy {
    /// As many tokens as asked for.
    fn new(count: usize) -> (Arc<Busy>, Vec<UnderWay>) {
        let busy = Arc::new(Busy { left: Mutex::new(count), changed: Condvar::new() });
        let tokens = (0..count).map(|_| UnderWay(busy.clone())).collect();
        (busy, tokens)
    }

    /// Waits until nobody has anything under way. Whether it is so in time.
    fn wait(&self, time: Duration) -> bool {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(left, time, |left| *left > 0);
        *waited.unwrap_or_else(PoisonError::into_inner).0 == 0
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut left = self.0.left.lock().unwrap_or_else(PoisonError::into_inner);
        *left -= 1;
        if *left == 0 {
            self.0.changed.notify_all();
        }
    }
}

impl Shards {
    /// Ends in order, within this time: nothing more is accepted, shards finish the block in hand,
    /// what was accepted is in the log, and the log is on disk. Queries go on to be answered.
    ///
    /// It blocks: call it from a thread of your own, not from a worker. In a simulation nobody else
    /// is there to give shards their turns, so there it does not wait for them.
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    ///
    /// use kernel::Runtime;
    /// use shard::{Config, Shards, store::MemoryStore};
    ///
    /// let runtime = Runtime::new()?;
    /// let shards = Shards::open(&runtime, Config::default(), Arc::new(MemoryStore::new()), 0)?;
    /// let closed = shards.close(Duration::from_secs(10));
    /// assert!(closed.is_clean() && closed.waiting == 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(&self, deadline: Duration) -> Closed {
        let core = &self.core;
        core.closing.store(true, SeqCst);
        let begun = core.runtime.now();
        let left = || deadline.saturating_sub(core.runtime.now().saturating_sub(begun));
        // Who was in the registry's lock before us is in the list, and who comes later is refused.
        let shards = self.registry.all();
        for shard in &shards {
            // The same for the pools. What they have dropped and could not write is written now.
            shard.change_pool(|_| Vec::new());
        }
        // One that was stopped reads no mail.
        let started: Vec<_> = shards.iter().filter(|shard| shard.is_started()).collect();
        let (busy, tokens) = Busy::new(started.len());
        for (shard, token) in started.into_iter().zip(tokens) {
            shard.send(Mail::Close(token));
        }
        let turns_come = !core.runtime.is_simulated() && !core.runtime.is_closed();
        let quiet = !turns_come || busy.wait(left());
        for shard in &shards {
            shard.stop();
        }
        let written = core.committer.close_within(left());
        core.events.close();
        core.accepted.close();
        let counts: Vec<_> = shards.iter().map(|shard| shard.pool().counts()).collect();
        Closed {
            waiting: counts.iter().map(|counts| counts.pending + counts.waiting).sum(),
            unfinished: counts.iter().filter(|counts| counts.executing > 0).count(),
            deadline_passed: !(quiet && written),
            failure: core.committer.commit().failure(),
        }
    }
}
