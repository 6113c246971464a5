//! How are all shards together?

use std::sync::atomic::Ordering::Relaxed;

use super::Shards;
use crate::pool;

/// What all shards have and did, added up. From [`Shards::totals`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// Shards that exist.
    pub shards: usize,
    /// Of them, those that execute nothing because they have failed.
    pub quarantined: usize,
    /// Their heights.
    pub blocks: u64,
    /// Transactions in their blocks since they were opened.
    pub included: u64,
    /// Their pools.
    pub pools: pool::Counts,
}

impl Shards {
    /// All shards added up. It looks at each once, and costs far less than the
    /// [`status`](crate::Shard::status) of each.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use kernel::Runtime;
    /// use shard::{Config, Shards, store::MemoryStore};
    ///
    /// let simulation = Runtime::builder().simulate(1)?;
    /// let shards = Shards::open(&simulation, Config::default(), Arc::new(MemoryStore::new()), 0)?;
    /// assert_eq!(shards.totals().shards, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for shard in self.registry.all() {
            let pool = shard.pool().counts();
            totals.pools.pending += pool.pending;
            totals.pools.waiting += pool.waiting;
            totals.pools.executing += pool.executing;
            totals.pools.bytes += pool.bytes;
            totals.shards += 1;
            totals.quarantined += usize::from(shard.quarantine().is_some());
            totals.blocks += shard.view.tip().number();
            totals.included += shard.included.load(Relaxed);
        }
        totals
    }
}
