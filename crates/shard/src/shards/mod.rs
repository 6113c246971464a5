//! All shards of a runtime: which there are, and the way into them.

pub(crate) mod core;

pub(crate) mod acknowledge;
mod amend;
mod open;
mod submit;

use std::{
    fmt,
    num::NonZeroUsize,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use alloy_primitives::Address;

use crate::{
    commit::Counts,
    environment::Environment,
    events::{BlockEvent, Hub, Interest, Subscription},
    shard::Shard,
    store::StoreError,
};
use core::{Core, Registry};

pub use acknowledge::Acknowledgement;
pub use open::OpenError;
pub use submit::SubmitError;

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

    /// What waits for longer than the pools' limit is dropped. Returns how many.
    pub fn expire(&self) -> usize {
        let now = self.core.runtime.now();
        let mut count = 0;
        for shard in self.registry.all() {
            shard.change_pool(|pool| {
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
    }
}
