//! What can be asked about a shard?
//!
//! ```text
//!   genesis        tables                     generations, in memory
//!   |  shared  |   | folded epochs       |    | older epoch | newest epoch |
//!   block 0        1 .. folded                folded+1 ..               tip
//! ```
//!
//! 1. A view holds committed blocks only. They are added in order, by the committer.
//! 2. Each block is in the tables or in a generation; while an epoch is being folded perhaps in
//!    both, never in neither: a generation goes after the fold that holds it. Whoever reads the
//!    tables holds the lock that such a removal takes, so it does not look into the one before the
//!    fold and into the other after it.
//! 3. A generation is one epoch of the log, so it goes as a whole. Why a transaction was dropped is in
//!    none as long as the log does not say it.

mod generation;
mod history;
mod lookup;
mod parts;
mod pruned;

use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic::AtomicU64};

use alloy_primitives::{Address, B256, Bytes, map::B256Map};

use crate::{
    block::Block,
    commit::{
        keys,
        reads::Reads,
        record::{NewBlock, ShardIndex, corrupt},
    },
    execute::DropReason,
    genesis::GenesisState,
    store::{Epoch, StoreError, Table},
};
use generation::Generation;

pub use history::StateAt;
pub use lookup::Position;
pub(crate) use parts::Place;

/// The committed blocks and state of one shard.
pub(crate) struct View {
    shard: ShardIndex,
    tables: Arc<Reads>,
    genesis: Arc<GenesisState>,
    /// Block 0.
    first: Arc<Block>,
    recent: RwLock<Recent>,
    /// Blocks up to this one are not kept.
    pruned: AtomicU64,
}

struct Recent {
    tip: Arc<Block>,
    /// The oldest first. One that is being folded and the one that grows; seldom more.
    generations: Vec<Generation>,
    /// Why transactions were dropped, where the log does not say it yet.
    unwritten: B256Map<DropReason>,
}

impl View {
    /// Of a shard that has block 0 only.
    pub(crate) fn new(
        shard: ShardIndex,
        address: Address,
        tables: Arc<Reads>,
        genesis: Arc<GenesisState>,
    ) -> View {
        let first = Arc::new(genesis.block(address));
        let (tip, generations, unwritten) = (first.clone(), Vec::new(), B256Map::default());
        let recent = RwLock::new(Recent { tip, generations, unwritten });
        View { shard, tables, genesis, first, recent, pruned: AtomicU64::new(0) }
    }

    /// Of a shard whose folded blocks are in the tables. What the log holds is added after it.
    pub(crate) fn open(
        shard: ShardIndex,
        address: Address,
        tables: Arc<Reads>,
        genesis: Arc<GenesisState>,
    ) -> Result<View, StoreError> {
        let view = View::new(shard, address, tables, genesis);
        view.read_pruned()?;
        if let Some(tip) = view.last_in_tables()? {
            view.write().tip = Arc::new(tip);
        }
        Ok(view)
    }

    fn last_in_tables(&self) -> Result<Option<Block>, StoreError> {
        // Heights are without gaps, so the last is where bisection ends.
        let exists =
            |number| self.tables.get(Table::Blocks, &keys::number(self.shard, number), &mut |_| {});
        let first = self.pruned() + 1;
        if !exists(first)? {
            return Ok(None);
        }
        let (mut there, mut step) = (first, 1u64);
        while exists(there + step)? {
            there += step;
            step *= 2;
        }
        while step > 0 {
            if exists(there + step)? {
                there += step;
            }
            step /= 2;
        }
        self.block_in_tables(there)
    }

    fn read(&self) -> RwLockReadGuard<'_, Recent> {
        self.recent.read().expect("nothing panics while it holds a view")
    }

    fn write(&self) -> RwLockWriteGuard<'_, Recent> {
        self.recent.write().expect("nothing panics while it holds a view")
    }

    /// The newest committed block.
    pub(crate) fn tip(&self) -> Arc<Block> {
        self.read().tip.clone()
    }

    /// Adds the next block, which the log holds in this epoch.
    pub(crate) fn add(&self, epoch: Epoch, new: &NewBlock) -> Result<(), StoreError> {
        let mut recent = self.write();
        let expected = recent.tip.number() + 1;
        let block = &new.block;
        if block.number() != expected || block.header.parent_hash != recent.tip.hash {
            return Err(corrupt(&format!(
                "block {} of shard {} where block {expected} should follow",
                block.number(),
                self.shard.0
            )));
        }
        recent.generation(epoch).add(new);
        recent.tip = block.clone();
        Ok(())
    }

    /// Transactions of the pool will never be in a block, as the log says in this epoch.
    pub(crate) fn drop_transactions(
        &self,
        epoch: Epoch,
        dropped: impl IntoIterator<Item = (B256, DropReason)>,
    ) {
        let mut dropped = dropped.into_iter().peekable();
        if dropped.peek().is_none() {
            return;
        }
        let recent = &mut *self.write();
        for (hash, reason) in dropped {
            recent.unwritten.remove(&hash);
            recent.generation(epoch).dropped.insert(hash, reason);
        }
    }

    /// The same, and the log does not say it yet. It is known here until that does, or until it is
    /// forgotten.
    pub(crate) fn drop_unwritten(&self, dropped: Vec<(B256, DropReason)>) {
        if !dropped.is_empty() {
            self.write().unwritten.extend(dropped);
        }
    }

    /// A transaction whose drop the log may not say yet was accepted again.
    pub(crate) fn forget_unwritten(&self, hash: B256) {
        self.write().unwritten.remove(&hash);
    }

    /// The call trees of a block are kept.
    pub(crate) fn add_traces(&self, epoch: Epoch, number: u64, bytes: Bytes) {
        self.write().generation(epoch).traces.insert(number, bytes);
    }

    /// The tables hold all epochs up to this one.
    pub(crate) fn folded(&self, epoch: Epoch) {
        self.write().generations.retain(|generation| generation.epoch > epoch);
    }
}

impl Recent {
    fn generation(&mut self, epoch: Epoch) -> &mut Generation {
        if self.generations.last().is_none_or(|last| last.epoch < epoch) {
            self.generations.push(Generation::new(epoch));
        }
        self.generations.last_mut().expect("there is one now")
    }
}
