//! What has an epoch of the log brought to a shard?

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256, map::HashMap};

use crate::{
    block::{Account, Block},
    commit::record::NewBlock,
    execute::DropReason,
    store::Epoch,
};

/// One epoch's blocks of one shard, with what is needed to find things in them.
pub(super) struct Generation {
    pub(super) epoch: Epoch,
    /// Without gaps.
    pub(super) blocks: Vec<Arc<Block>>,
    pub(super) accounts: HashMap<Address, Past<Option<Account>>>,
    pub(super) slots: HashMap<(Address, U256), Past<U256>>,
    pub(super) codes: HashMap<B256, Bytes>,
    pub(super) hashes: HashMap<B256, u64>,
    pub(super) transactions: HashMap<B256, (u64, u32)>,
    pub(super) dropped: HashMap<B256, DropReason>,
    /// The call trees of blocks, of this epoch or the one before.
    pub(super) traces: HashMap<u64, Bytes>,
    /// Nodes of the state trie; `None`: gone.
    pub(super) nodes: HashMap<Vec<u8>, Option<Vec<u8>>>,
}

/// The values of one key: what it was before the first block that changed it here, and after each
/// that did.
pub(super) struct Past<T> {
    before: T,
    after: Vec<(u64, T)>,
}

impl<T: Copy> Past<T> {
    /// The newest.
    pub(super) fn last(&self) -> T {
        self.after.last().map_or(self.before, |&(_, value)| value)
    }

    /// What it was at the end of a block; `None` where all changes here are older.
    pub(super) fn at(&self, number: u64) -> Option<T> {
        let older = self.after.partition_point(|&(changed, _)| changed <= number);
        if older == self.after.len() {
            return None;
        }
        Some(older.checked_sub(1).map_or(self.before, |last| self.after[last].1))
    }
}

impl Generation {
    pub(super) fn new(epoch: Epoch) -> Generation {
        Generation {
            epoch,
            blocks: Vec::new(),
            accounts: HashMap::default(),
            slots: HashMap::default(),
            codes: HashMap::default(),
            hashes: HashMap::default(),
            transactions: HashMap::default(),
            dropped: HashMap::default(),
            traces: HashMap::default(),
            nodes: HashMap::default(),
        }
    }

    pub(super) fn add(&mut self, new: &NewBlock) {
        let block = &new.block;
        let number = block.number();
        self.hashes.insert(block.hash, number);
        for (position, transaction) in block.transactions.iter().enumerate() {
            let position = u32::try_from(position).expect("a block holds fewer transactions");
            self.transactions.insert(transaction.hash(), (number, position));
        }
        for change in &block.changes.accounts {
            let address = change.address;
            if change.before != change.after {
                add(&mut self.accounts, address, number, change.before, change.after);
            }
            for slot in &change.slots {
                add(&mut self.slots, (address, slot.slot), number, slot.before, slot.after);
            }
        }
        self.codes.extend(block.changes.codes.iter().cloned());
        self.nodes.extend(new.nodes.iter().cloned());
        self.blocks.push(block.clone());
    }

    pub(super) fn block(&self, number: u64) -> Option<&Arc<Block>> {
        let first = self.blocks.first()?.number();
        self.blocks.get(usize::try_from(number.checked_sub(first)?).ok()?)
    }
}

fn add<K: std::hash::Hash + Eq, T>(
    past: &mut HashMap<K, Past<T>>,
    key: K,
    number: u64,
    before: T,
    after: T,
) {
    let past = past.entry(key).or_insert_with(|| Past { before, after: Vec::new() });
    past.after.push((number, after));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_past_answers_for_each_block() {
        let mut past = HashMap::default();
        add(&mut past, 'a', 3, 10, 20);
        add(&mut past, 'a', 7, 20, 30);
        let past = &past[&'a'];
        assert_eq!([0, 2].map(|number| past.at(number)), [Some(10); 2]);
        assert_eq!([3, 6].map(|number| past.at(number)), [Some(20); 2]);
        assert_eq!([7, 100].map(|number| past.at(number)), [None; 2], "younger ones may know");
        assert_eq!(past.last(), 30);
    }
}
