//! What has an epoch of the log brought to a shard?

use std::{collections::hash_map::Entry, hash::Hash, sync::Arc};

use alloy_primitives::{Address, B256, Bytes, U256, map::HashMap};

use crate::{
    block::{Account, AccountChange, Block, SlotChange},
    commit::record::NewBlock,
    execute::DropReason,
    store::Epoch,
};

/// One epoch's blocks of one shard, with what is needed to find things in them.
pub(super) struct Generation {
    pub(super) epoch: Epoch,
    /// Without gaps.
    pub(super) blocks: Vec<Arc<Block>>,
    accounts: HashMap<Address, Changed>,
    pub(super) slots: HashMap<(Address, U256), Changed>,
    pub(super) codes: HashMap<B256, Bytes>,
    pub(super) hashes: HashMap<B256, u64>,
    pub(super) transactions: HashMap<B256, (u64, u32)>,
    pub(super) dropped: HashMap<B256, DropReason>,
    /// The call trees of blocks, of this epoch or the one before.
    pub(super) traces: HashMap<u64, Bytes>,
    /// Nodes of the state trie; `None`: gone.
    pub(super) nodes: HashMap<Vec<u8>, Option<Vec<u8>>>,
}

/// The blocks that have changed something, in order. What it was and became is in their change sets:
/// most accounts change once in an epoch, and there may be a million.
pub(super) struct Changed {
    first: u64,
    later: Vec<u64>,
}

impl Changed {
    fn last(&self) -> u64 {
        self.later.last().copied().unwrap_or(self.first)
    }

    /// The first block after this one.
    fn after(&self, number: u64) -> Option<u64> {
        if self.first > number {
            return Some(self.first);
        }
        self.later.get(self.later.partition_point(|&changed| changed <= number)).copied()
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
                add(&mut self.accounts, address, number);
            }
            for slot in &change.slots {
                add(&mut self.slots, (address, slot.slot), number);
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

    /// The newest account, if it has changed here.
    pub(super) fn account(&self, address: Address) -> Option<Option<Account>> {
        let changed = self.accounts.get(&address)?;
        Some(self.change(changed.last(), address).after)
    }

    /// What the account was at the end of a block; `None` where all changes here are older.
    pub(super) fn account_at(&self, address: Address, number: u64) -> Option<Option<Account>> {
        let changed = self.accounts.get(&address)?;
        Some(self.change(changed.after(number)?, address).before)
    }

    /// The newest value of a slot, if it has changed here.
    pub(super) fn slot(&self, address: Address, slot: U256) -> Option<U256> {
        let changed = self.slots.get(&(address, slot))?;
        Some(self.slot_change(changed.last(), address, slot).after)
    }

    /// What the slot was at the end of a block; `None` where all changes here are older.
    pub(super) fn slot_at(&self, address: Address, slot: U256, number: u64) -> Option<U256> {
        let changed = self.slots.get(&(address, slot))?;
        Some(self.slot_change(changed.after(number)?, address, slot).before)
    }

    /// What a block that has changed the account says of it.
    fn change(&self, number: u64, address: Address) -> &AccountChange {
        let accounts = &self.block(number).expect("it is of this epoch").changes.accounts;
        let at = accounts.binary_search_by_key(&address, |change| change.address);
        &accounts[at.expect("the block has changed it")]
    }

    fn slot_change(&self, number: u64, address: Address, slot: U256) -> &SlotChange {
        let slots = &self.change(number, address).slots;
        let at = slots.binary_search_by_key(&slot, |change| change.slot);
        &slots[at.expect("the block has changed it")]
    }
}

fn add<K: Hash + Eq>(changed: &mut HashMap<K, Changed>, key: K, number: u64) {
    match changed.entry(key) {
        Entry::Occupied(entry) => entry.into_mut().later.push(number),
        Entry::Vacant(entry) => {
            entry.insert(Changed { first: number, later: Vec::new() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_after_a_block_is_found_for_each_block() {
        let mut changed = HashMap::default();
        for number in [3, 7, 9] {
            add(&mut changed, 'a', number);
        }
        let changed = &changed[&'a'];
        assert_eq!([0, 2].map(|number| changed.after(number)), [Some(3); 2]);
        assert_eq!([3, 6].map(|number| changed.after(number)), [Some(7); 2]);
        assert_eq!([7, 8].map(|number| changed.after(number)), [Some(9); 2]);
        assert_eq!(
            [9, 100].map(|number| changed.after(number)),
            [None; 2],
            "younger ones may know"
        );
        assert_eq!(changed.last(), 9);
    }
}
