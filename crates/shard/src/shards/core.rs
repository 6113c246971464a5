//! What do all shards of a runtime have in common?

use std::{
    num::NonZeroU64,
    sync::{
        Arc, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, AtomicU64},
    },
};

use alloy_primitives::{Address, map::HashMap};
use kernel::{Handle, WorkerState};

use super::{tickets::Tickets, time::Time};
use crate::{
    commit::{driver::Committer, prune::Cut, reads::Reads},
    config::Config,
    environment::SharedEnvironment,
    events::{AcceptedEvent, BlockEvent, Hub},
    genesis::GenesisState,
    shard::Inner,
    store::Epoch,
};

/// What all shards share.
pub(crate) struct Core {
    pub(crate) config: Config,
    /// Where shards take turns.
    pub(crate) runtime: Handle,
    /// Where all else runs: recovery, and blocks that several workers execute.
    pub(crate) others: Handle,
    pub(crate) tables: Arc<Reads>,
    pub(crate) committer: Committer,
    pub(crate) environment: SharedEnvironment,
    pub(crate) genesis: Arc<GenesisState>,
    pub(crate) events: Hub<BlockEvent>,
    pub(crate) accepted: Hub<AcceptedEvent>,
    /// For blocks that several workers execute.
    pub(crate) jobs: Option<job::Pool>,
    /// How many such blocks there were.
    pub(crate) parallel_blocks: AtomicU64,
    pub(crate) time: Time,
    pub(crate) tickets: Tickets,
    /// Nothing more is accepted.
    pub(crate) closing: AtomicBool,
}

impl Core {
    /// How many workers could help with a block, beside the one that asks.
    ///
    /// Where shards take turns among themselves, both runtimes share the cores: who runs a shard
    /// has a core that a helper would want.
    pub(crate) fn idle_workers(&self) -> usize {
        let is_free = |state: &&_| matches!(state, WorkerState::Idle | WorkerState::Searching);
        let free = self.others.workers().iter().filter(is_free).count();
        if self.others.id() == self.runtime.id() {
            return free;
        }
        let is_busy = |state: &&_| matches!(state, WorkerState::Running(_));
        free.saturating_sub(self.runtime.workers().iter().filter(is_busy).count())
    }

    /// The time of day in seconds. It never goes back.
    pub(crate) fn unix_time(&self) -> u64 {
        self.time.now(&self.runtime)
    }
}

/// Which shards there are.
#[derive(Default)]
pub(crate) struct Registry(RwLock<Members>);

#[derive(Default)]
pub(crate) struct Members {
    pub(crate) by_address: HashMap<Address, Arc<Inner>>,
    pub(crate) by_chain_id: HashMap<u64, Address>,
    /// The index of the next shard.
    pub(crate) next: u32,
}

impl Registry {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Members> {
        self.0.read().expect("nothing panics while it holds the registry")
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Members> {
        self.0.write().expect("nothing panics while it holds the registry")
    }

    pub(crate) fn get(&self, address: Address) -> Option<Arc<Inner>> {
        self.read().by_address.get(&address).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Inner>> {
        self.read().by_address.values().cloned().collect()
    }

    /// Which blocks are to go, so many at most. They are refused from now on.
    pub(crate) fn cuts(&self, depth: NonZeroU64, mut most: u64) -> Vec<Cut> {
        let mut all = self.all();
        all.sort_by_key(|shard| shard.index);
        all.iter().filter_map(|shard| shard.view.cut(depth, &mut most)).collect()
    }

    /// The tables hold this epoch: copies in memory can go.
    pub(crate) fn folded(&self, epoch: Epoch) {
        for shard in self.all() {
            shard.view.folded(epoch);
        }
    }
}

impl Members {
    pub(crate) fn insert(&mut self, shard: Arc<Inner>) {
        self.next = self.next.max(shard.index.0 + 1);
        if !shard.core.config.rules.shared_chain_id {
            self.by_chain_id.insert(shard.chain_id, shard.address);
        }
        self.by_address.insert(shard.address, shard);
    }
}
