//! All shards of a runtime: which there are, and the way into them.

pub(crate) mod core;

pub(crate) mod acknowledge;
mod amend;
mod close;
mod open;
mod submit;
pub(crate) mod tickets;
mod time;
mod totals;

use std::{
    fmt,
    num::NonZeroUsize,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use alloy_primitives::Address;

use crate::{
    commit::{Counts, record::ShardIndex},
    config::{Config, Rules},
    environment::Environment,
    events::{AcceptedEvent, BlockEvent, Hub, Interest, Subscription},
    shard::{Inner, Shard},
    store::StoreError,
    view::View,
};
use core::{Core, Registry};

pub use acknowledge::Acknowledgement;
pub use close::Closed;
pub(crate) use close::UnderWay;
pub use open::OpenError;
pub use submit::SubmitError;
pub use time::TimeError;
pub use totals::Totals;

/// The shards of a runtime. When it is dropped, what was submitted is written and the shards stop.
pub struct Shards {
    core: Arc<Core>,
    registry: Arc<Registry>,
}

impl fmt::Debug for Shards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shards").field("len", &self.len()).finish_non_exhaustive()
    }
}

impl Shards {
    /// What was chosen when it was opened.
    pub fn config(&self) -> &Config {
        &self.core.config
    }

    /// How transactions are executed.
    pub fn rules(&self) -> &Rules {
        &self.core.config.rules
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.registry.read().by_address.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The shard with this address, if there is one.
    pub fn get(&self, address: Address) -> Option<Shard> {
        self.registry.get(address).map(|inner| Shard { inner })
    }

    /// The shard with this address; if there is none, what it would be at birth: everything is
    /// answered from the genesis, at height 0.
    ///
    /// The second kind is nobody's but the caller's: it has no strand, is in no list and is never
    /// written, and it stays as it is when the shard is created later. [`Shard::exists`] tells
    /// which it is.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloy_primitives::Address;
    /// use kernel::Runtime;
    /// use shard::{Config, Shards, store::MemoryStore};
    ///
    /// let simulation = Runtime::builder().simulate(1)?;
    /// let shards = Shards::open(&simulation, Config::default(), Arc::new(MemoryStore::new()), 0)?;
    /// let nobody = shards.look(Address::repeat_byte(7));
    /// assert_eq!((nobody.exists(), nobody.tip().number()), (false, 0));
    /// assert_eq!(nobody.next_nonce(Address::ZERO)?, 0);
    /// assert!(shards.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn look(&self, address: Address) -> Shard {
        self.get(address).unwrap_or_else(|| {
            let (core, index) = (&self.core, ShardIndex::NONE);
            let view = View::new(index, address, core.tables.clone(), core.genesis.clone());
            let inner = Inner::new(core.clone(), index, address, Arc::new(view), false);
            Shard { inner }
        })
    }

    /// All of them, in order of their creation.
    pub fn all(&self) -> Vec<Shard> {
        let mut all = self.registry.all();
        all.sort_by_key(|inner| inner.index);
        all.into_iter().map(|inner| Shard { inner }).collect()
    }

    /// Makes a shard on purpose, as strict mode needs it. One that is there is given as it is.
    ///
    /// # Errors
    /// If there are too many, or its chain id is taken.
    pub async fn create(&self, address: Address) -> Result<Shard, SubmitError> {
        let inner = self.create_unless_there(address)?;
        let records = inner.created_record();
        if !records.is_empty() {
            let (give, acknowledgement) = acknowledge::pair();
            self.core.committer.submit(records, Box::new(|result| give.give(result)));
            acknowledgement.await?;
            inner.set_durable();
        }
        Ok(Shard { inner })
    }

    /// The environment that blocks are executed under.
    pub fn environment(&self) -> Arc<Environment> {
        self.core.environment.get()
    }

    /// From now on blocks are executed under this one. Shards with something in their pool are
    /// woken: it may be able to run now.
    pub fn set_environment(&self, environment: Environment) {
        self.core.environment.set(environment);
        for shard in self.registry.all() {
            if !shard.pool().is_empty() {
                shard.wake();
            }
        }
    }

    /// Whoever wants news of shards asks here.
    pub fn events(&self) -> &Hub<BlockEvent> {
        &self.core.events
    }

    /// Subscribes to new blocks. One that has not read so many of them when the next comes is
    /// dropped, and told so.
    pub fn subscribe(&self, room: NonZeroUsize, interest: Interest) -> Subscription<BlockEvent> {
        self.core.events.subscribe(room, interest)
    }

    /// Subscribes to transactions that were accepted, of one shard or of all: each is told of when
    /// its acceptance is durable, and before its block is. As with blocks, one that is too slow is
    /// dropped.
    pub fn subscribe_accepted(
        &self,
        room: NonZeroUsize,
        shard: Option<Address>,
    ) -> Subscription<AcceptedEvent> {
        self.core.accepted.subscribe(room, shard)
    }

    /// What waits for longer than the pools' limit is dropped. Returns how many. Whoever has opened
    /// the shards calls this now and then, every minute or so: nobody else does.
    ///
    /// Nothing is dropped that waits for us: while the store has failed, and where a shard backs off
    /// or is quarantined. When that is over all may wait for as long as ever.
    pub fn expire(&self) -> usize {
        let (now, failed) = (self.core.runtime.now(), self.store_failure().is_some());
        let mut count = 0;
        for shard in self.registry.all() {
            if failed {
                shard.pool().stand_still(now);
                continue;
            }
            let stands_still = shard.quarantine().is_some() || shard.backing_off().is_some();
            // The pool is looked at in any case: a drop may be left that could not be written.
            shard.change_pool(|pool| {
                if stands_still {
                    pool.stand_still(now);
                }
                let expired = pool.expire(now);
                count += expired.len();
                expired
            });
        }
        count
    }

    /// Why nothing can be made durable at the moment, if so.
    pub fn store_failure(&self) -> Option<StoreError> {
        self.core.committer.commit().failure()
    }

    /// What the committer has done so far.
    pub fn commit_counts(&self) -> Counts {
        self.core.committer.commit().counts()
    }

    /// Blocks that several workers executed side by side, since this was opened.
    pub fn parallel_blocks(&self) -> u64 {
        self.core.parallel_blocks.load(Relaxed)
    }

    /// Transactions in blocks since this was opened.
    pub fn included(&self) -> u64 {
        self.registry.all().iter().map(|shard| shard.included.load(Relaxed)).sum()
    }
}

impl Drop for Shards {
    fn drop(&mut self) {
        for shard in self.registry.all() {
            shard.stop();
        }
        self.core.committer.close();
        self.core.events.close();
        self.core.accepted.close();
    }
}
