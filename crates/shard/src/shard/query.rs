//! What can be asked of a shard?

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use alloy_primitives::{Address, B256, U256};
use kernel::Phase;

use super::Shard;
use crate::{
    block::{Block, Receipt},
    commit::record::ShardIndex,
    execute::DropReason,
    pool,
    state::StateReader,
    store::StoreError,
    transaction::SharedTransaction,
    trie::{self, AccountProof},
    view::{Position, StateAt},
};

/// How a shard is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub address: Address,
    pub chain_id: u64,
    /// Whether it waits for work, for its turn, or has it.
    pub phase: Phase,
    /// The newest committed block.
    pub height: u64,
    /// About how many shards are before it, if it waits for its turn.
    pub queue_position: Option<usize>,
    /// That it waits after a failure, if it does.
    pub backing_off: Option<BackingOff>,
    /// Transactions in its pool.
    pub pool_len: usize,
    /// Transactions in its blocks since it was opened.
    pub included: u64,
    /// Of those, the ones that failed: reverted, or out of gas.
    pub failed: u64,
    /// Why it executes nothing, if it does not.
    pub quarantine: Option<String>,
}

/// A shard has failed to execute or to commit, and tries again by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackingOff {
    /// So long it still waits.
    pub left: Duration,
    /// What has failed.
    pub why: String,
}

/// Where a transaction is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// In the pool.
    Queued(pool::Status),
    /// In a block.
    Included(Position),
    /// It will never be in a block.
    Dropped(DropReason),
}

impl Shard {
    /// By which it is named.
    pub fn address(&self) -> Address {
        self.inner.address
    }

    /// Whether it was created. Otherwise this is what it would be: see
    /// [`Shards::look`](crate::Shards::look).
    pub fn exists(&self) -> bool {
        self.inner.index != ShardIndex::NONE
    }

    /// Its own, by which its transactions are told from those of other shards.
    pub fn chain_id(&self) -> u64 {
        self.inner.chain_id
    }

    /// How it is.
    pub fn status(&self) -> Status {
        let inner = &self.inner;
        Status {
            address: inner.address,
            chain_id: inner.chain_id,
            phase: inner.phase(),
            height: self.tip().number(),
            queue_position: inner.queue_position(),
            backing_off: inner.backing_off(),
            pool_len: inner.pool().len(),
            included: inner.included.load(Relaxed),
            failed: inner.failed.load(Relaxed),
            quarantine: inner.quarantine(),
        }
    }

    /// Ends a quarantine: it tries again.
    pub fn release(&self) {
        self.inner.release();
    }

    /// The newest committed block.
    pub fn tip(&self) -> Arc<Block> {
        self.inner.view.tip()
    }

    /// A block by its number; `None`: there is none yet.
    ///
    /// # Errors
    /// If the store can not be read, or the block was pruned.
    pub fn block(&self, number: u64) -> Result<Option<Arc<Block>>, StoreError> {
        self.inner.view.block(number)
    }

    /// A block by its hash.
    ///
    /// # Errors
    /// If the store can not be read, or the block was pruned since its hash was found.
    pub fn block_by_hash(&self, hash: B256) -> Result<Option<Arc<Block>>, StoreError> {
        self.block_number(hash)?.map_or(Ok(None), |number| self.block(number))
    }

    /// A block's number by its hash. One that was pruned is not found.
    ///
    /// # Errors
    /// If the store can not be read.
    pub fn block_number(&self, hash: B256) -> Result<Option<u64>, StoreError> {
        self.inner.view.number_of(hash)
    }

    /// The newest committed state.
    pub fn state(&self) -> StateAt {
        StateAt::latest(self.inner.view.clone())
    }

    /// The state at the end of a block; `None`: there is no such block yet. Reading from it is an
    /// error where what is needed for that was pruned.
    pub fn state_at(&self, number: u64) -> Option<StateAt> {
        (number <= self.tip().number()).then(|| StateAt::block(self.inner.view.clone(), number))
    }

    /// The nonce that a sender's next transaction needs, after those in the pool.
    ///
    /// # Errors
    /// If the store can not be read.
    pub fn next_nonce(&self, sender: Address) -> Result<u64, StoreError> {
        if let Some(nonce) = self.inner.pool().next_nonce(sender) {
            return Ok(nonce);
        }
        Ok(self.state().account(sender)?.map_or(0, |account| account.nonce))
    }

    /// A transaction of a block, with its receipt. One whose block was pruned is not found.
    ///
    /// # Errors
    /// If the store can not be read.
    pub fn transaction(
        &self,
        hash: B256,
    ) -> Result<Option<(Position, SharedTransaction, Receipt)>, StoreError> {
        let Some(position) = self.inner.view.position(hash)? else { return Ok(None) };
        let found = match self.inner.view.transaction(position) {
            // It was pruned since it was found.
            Err(StoreError::Pruned { .. }) => None,
            found => found?,
        };
        Ok(found.map(|(transaction, receipt)| (position, transaction, receipt)))
    }

    /// What shows an account and slots of it to whoever knows the newest state root only. `None`:
    /// this node keeps no state root.
    ///
    /// # Errors
    /// If the store can not be read.
    pub fn prove(
        &self,
        address: Address,
        slots: &[U256],
    ) -> Result<Option<(Arc<Block>, AccountProof)>, StoreError> {
        if !self.inner.core.config.rules.state_root {
            return Ok(None);
        }
        let (block, nodes) = self.inner.view.nodes();
        Ok(Some((block, trie::prove(&nodes, address, slots)?)))
    }

    /// Where a transaction is; `None`: it was never accepted here, or its block was pruned. Why one
    /// was dropped is kept for ever.
    ///
    /// # Errors
    /// If the store can not be read.
    pub fn transaction_status(&self, hash: B256) -> Result<Option<TransactionStatus>, StoreError> {
        let view = &self.inner.view;
        let pool = self.inner.pool();
        let pooled = pool.status(hash).zip(pool.get(hash).cloned());
        drop(pool);
        if let Some((status, transaction)) = pooled {
            // One that was just committed may still be in the pool. And one that waits may be in a
            // block whose state was left behind: then its nonce is to be used again.
            let account = self.state().account(transaction.sender())?;
            let used = account.is_some_and(|account| account.nonce > transaction.nonce());
            let position = if used { view.position(hash)? } else { None };
            let queued = TransactionStatus::Queued(status);
            return Ok(Some(position.map_or(queued, TransactionStatus::Included)));
        }
        // It may have left the pool for a block before this look.
        if let Some(position) = view.position(hash)? {
            return Ok(Some(TransactionStatus::Included(position)));
        }
        Ok(view.dropped(hash)?.map(TransactionStatus::Dropped))
    }
}
