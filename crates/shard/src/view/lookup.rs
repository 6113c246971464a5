//! Where is a block, a transaction, a receipt?

use std::sync::{Arc, RwLockReadGuard};

use alloy_primitives::{B256, Bytes};

use super::{Recent, View};
use crate::{
    block::{Block, Body, ChangeSet, Receipt},
    commit::{keys, record::corrupt},
    execute::DropReason,
    store::{StoreError, Table},
    transaction::SharedTransaction,
    trie::TrieReader,
};

/// Where a transaction is in a shard's chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The block's number.
    pub number: u64,
    /// Its place in the block, from 0.
    pub index: u32,
}

impl View {
    /// A block by its number.
    pub(crate) fn block(&self, number: u64) -> Result<Option<Arc<Block>>, StoreError> {
        let recent = self.read();
        if number > recent.tip.number() {
            return Ok(None);
        }
        if number == recent.tip.number() {
            return Ok(Some(recent.tip.clone()));
        }
        for generation in recent.generations.iter().rev() {
            if let Some(block) = generation.block(number) {
                return Ok(Some(block.clone()));
            }
        }
        if number == 0 {
            return Ok(Some(self.first.clone()));
        }
        let found = self.block_in_tables(number)?;
        // Looked at after reading: what was read may be half gone.
        self.refuse_pruned(&recent, number)?;
        Ok(found.map(Arc::new))
    }

    pub(super) fn block_in_tables(&self, number: u64) -> Result<Option<Block>, StoreError> {
        let key = keys::number(self.shard, number);
        let Some(body) = self.value(Table::Blocks, &key)? else { return Ok(None) };
        let changes = match self.value(Table::Changes, &key)? {
            Some(changes) => ChangeSet::decode(&changes)?,
            None => ChangeSet::default(),
        };
        Block::decode(&body, Arc::new(changes)).map(Some)
    }

    /// What a block has changed.
    pub(crate) fn changes(&self, number: u64) -> Result<Arc<ChangeSet>, StoreError> {
        let recent = self.read();
        for generation in recent.generations.iter().rev() {
            if let Some(block) = generation.block(number) {
                return Ok(block.changes.clone());
            }
        }
        let changes = self.value(Table::Changes, &keys::number(self.shard, number))?;
        self.refuse_pruned(&recent, number)?;
        let changes = changes.ok_or_else(|| corrupt("a block without its changes"))?;
        ChangeSet::decode(&changes).map(Arc::new)
    }

    /// A block's number by its hash.
    pub(crate) fn number_of(&self, hash: B256) -> Result<Option<u64>, StoreError> {
        let recent = self.read();
        for generation in recent.generations.iter().rev() {
            if let Some(&number) = generation.hashes.get(&hash) {
                return Ok(Some(number));
            }
        }
        if hash == self.first.hash {
            return Ok(Some(0));
        }
        let value = self.value(Table::BlockHashes, &keys::hash(self.shard, hash))?;
        value.map(|value| read_number(&value)).transpose()
    }

    /// Where a transaction is.
    pub(crate) fn position(&self, hash: B256) -> Result<Option<Position>, StoreError> {
        let recent = self.read();
        for generation in recent.generations.iter().rev() {
            if let Some(&(number, index)) = generation.transactions.get(&hash) {
                return Ok(Some(Position { number, index }));
            }
        }
        let value = self.value(Table::Transactions, &keys::hash(self.shard, hash))?;
        let read = |value: Vec<u8>| {
            let (number, index) =
                value.split_at_checked(8).ok_or_else(|| corrupt("a transaction's position"))?;
            let index = index.try_into().map_err(|_| corrupt("a transaction's position"))?;
            let number = read_number(number)?;
            Ok(Position { number, index: u32::from_be_bytes(index) })
        };
        value.map(read).transpose()
    }

    /// One transaction with its receipt, without reading the rest of its block.
    pub(crate) fn transaction(
        &self,
        at: Position,
    ) -> Result<Option<(SharedTransaction, Receipt)>, StoreError> {
        let index = at.index as usize;
        {
            let recent = self.read();
            for generation in recent.generations.iter().rev() {
                if let Some(block) = generation.block(at.number) {
                    let pair = block.transactions.get(index).zip(block.receipts.get(index));
                    return Ok(pair.map(|(one, receipt)| (one.clone(), receipt.clone())));
                }
            }
        }
        let mut found = Ok(None);
        self.tables.get(Table::Blocks, &keys::number(self.shard, at.number), &mut |body| {
            let read = |body: Body<'_>| Ok(Some((body.transaction(index)?, body.receipt(index)?)));
            found = Body::new(body).and_then(read);
        })?;
        if matches!(found, Ok(None)) {
            self.refuse_pruned(&self.read(), at.number)?;
        }
        found
    }

    /// The newest block with the nodes of its state trie. No block is added while they are held.
    pub(crate) fn nodes(&self) -> (Arc<Block>, NewestNodes<'_>) {
        let recent = self.read();
        (recent.tip.clone(), NewestNodes { view: self, recent })
    }

    /// A node of the state trie.
    pub(crate) fn node(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.node_in(&self.read(), key)
    }

    fn node_in(&self, recent: &Recent, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        for generation in recent.generations.iter().rev() {
            if let Some(node) = generation.nodes.get(key) {
                return Ok(node.clone());
            }
        }
        match self.value(Table::TrieNodes, &keys::node(self.shard, key))? {
            // One that the genesis has and that is gone has an empty entry.
            Some(node) => Ok((!node.is_empty()).then_some(node)),
            None => Ok(self.genesis.node(key)),
        }
    }

    /// The call trees of a block, if they are kept.
    pub(crate) fn traces(&self, number: u64) -> Result<Option<Bytes>, StoreError> {
        let recent = self.read();
        for generation in recent.generations.iter().rev() {
            if let Some(traces) = generation.traces.get(&number) {
                return Ok(Some(traces.clone()));
            }
        }
        let value = self.value(Table::Traces, &keys::number(self.shard, number))?;
        Ok(value.map(Bytes::from))
    }

    /// Why a transaction was dropped, if it was.
    pub(crate) fn dropped(&self, hash: B256) -> Result<Option<DropReason>, StoreError> {
        let recent = self.read();
        if let Some(reason) = recent.unwritten.get(&hash) {
            return Ok(Some(reason.clone()));
        }
        for generation in recent.generations.iter().rev() {
            if let Some(reason) = generation.dropped.get(&hash) {
                return Ok(Some(reason.clone()));
            }
        }
        let value = self.value(Table::Dropped, &keys::hash(self.shard, hash))?;
        let read = |value: Vec<u8>| {
            DropReason::decode(&value).ok_or_else(|| corrupt("the reason of a drop"))
        };
        value.map(read).transpose()
    }
}

/// The nodes of the newest state trie, which stays the newest while this is held.
pub(crate) struct NewestNodes<'a> {
    view: &'a View,
    recent: RwLockReadGuard<'a, Recent>,
}

impl TrieReader for NewestNodes<'_> {
    fn node(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.view.node_in(&self.recent, key)
    }
}

fn read_number(value: &[u8]) -> Result<u64, StoreError> {
    value.try_into().map(u64::from_be_bytes).map_err(|_| corrupt("a block's number"))
}
