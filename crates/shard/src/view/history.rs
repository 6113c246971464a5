//! What was the state at the end of a block?

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};

use super::{Recent, View, parts::Place};
use crate::{
    block::Account,
    commit::{keys, record::corrupt},
    state::StateReader,
    store::{StoreError, Table},
};

/// The state of a shard at the end of one of its blocks, or at its newest.
#[derive(Clone)]
pub struct StateAt {
    view: Arc<View>,
    /// `None`: whatever is the newest when it is asked.
    number: Option<u64>,
}

impl StateAt {
    pub(crate) fn latest(view: Arc<View>) -> StateAt {
        StateAt { view, number: None }
    }

    pub(crate) fn block(view: Arc<View>, number: u64) -> StateAt {
        StateAt { view, number: Some(number) }
    }
}

impl StateReader for StateAt {
    fn account(&self, address: Address) -> Result<Option<Account>, StoreError> {
        let found = self.find_account(address)?;
        self.refuse_pruned()?;
        Ok(found)
    }

    fn storage(&self, address: Address, slot: U256) -> Result<U256, StoreError> {
        let found = self.find_slot(address, slot)?;
        self.refuse_pruned()?;
        Ok(found)
    }

    fn slots(&self, address: Address) -> Result<Vec<(U256, U256)>, StoreError> {
        let view = &self.view;
        let mut known = std::collections::BTreeSet::new();
        {
            let recent = view.read();
            known.extend(view.genesis.slots(address)?.into_iter().map(|(slot, _)| slot));
            for generation in &recent.generations {
                let own = generation.slots.keys().filter(|(owner, _)| *owner == address);
                known.extend(own.map(|&(_, slot)| slot));
            }
            let key = keys::account(view.shard, address);
            // What has a history had a value once, whatever it is now.
            for table in [Table::Storage, Table::StorageHistory] {
                view.tables.scan(table, &key, &end_of(&key), &mut |key, _| {
                    known.extend(key.get(24..56).map(U256::from_be_slice));
                    true
                })?;
            }
        }
        let mut slots = Vec::new();
        for slot in known {
            let value = self.storage(address, slot)?;
            if !value.is_zero() {
                slots.push((slot, value));
            }
        }
        self.refuse_pruned()?;
        Ok(slots)
    }

    fn code(&self, hash: B256) -> Result<Bytes, StoreError> {
        let view = &self.view;
        let recent = view.read();
        for generation in recent.generations.iter().rev() {
            if let Some(code) = generation.codes.get(&hash) {
                return Ok(code.clone());
            }
        }
        match view.value(Table::Codes, &keys::hash(view.shard, hash))? {
            Some(code) => Ok(code.into()),
            None => view.genesis.code(hash),
        }
    }

    fn block_hash(&self, number: u64) -> Result<Option<B256>, StoreError> {
        match self.view.place(number) {
            Place::Memory(block) => Ok(Some(block.hash)),
            Place::Tables => self.view.hash_in_tables(number),
            Place::Nowhere => Ok(None),
        }
    }
}

impl StateAt {
    fn find_account(&self, address: Address) -> Result<Option<Account>, StoreError> {
        let view = &self.view;
        let recent = view.read();
        if let Some(number) = self.past(&recent) {
            let from = keys::account_at(view.shard, address, number + 1);
            let key = keys::account(view.shard, address);
            if let Some(value) = view.before(Table::AccountHistory, &from, &key)? {
                return keys::read_account(&value).ok_or_else(|| corrupt("an account's history"));
            }
            for generation in &recent.generations {
                if let Some(account) = generation.account_at(address, number) {
                    return Ok(account);
                }
            }
        }
        for generation in recent.generations.iter().rev() {
            if let Some(account) = generation.account(address) {
                return Ok(account);
            }
        }
        match view.value(Table::Accounts, &keys::account(view.shard, address))? {
            Some(value) => keys::read_account(&value).ok_or_else(|| corrupt("an account")),
            None => view.genesis.account(address),
        }
    }

    fn find_slot(&self, address: Address, slot: U256) -> Result<U256, StoreError> {
        let view = &self.view;
        let recent = view.read();
        let key = keys::slot(view.shard, address, slot);
        if let Some(number) = self.past(&recent) {
            let from = keys::slot_at(view.shard, address, slot, number + 1);
            if let Some(value) = view.before(Table::StorageHistory, &from, &key)? {
                return keys::read_slot(&value).ok_or_else(|| corrupt("a slot's history"));
            }
            for generation in &recent.generations {
                if let Some(value) = generation.slot_at(address, slot, number) {
                    return Ok(value);
                }
            }
        }
        for generation in recent.generations.iter().rev() {
            if let Some(value) = generation.slot(address, slot) {
                return Ok(value);
            }
        }
        match view.value(Table::Storage, &key)? {
            Some(value) => keys::read_slot(&value).ok_or_else(|| corrupt("a slot")),
            None => Ok(view.genesis.slot(address, slot)),
        }
    }

    /// Looked at after reading. What it was before the first block that is kept is still known.
    fn refuse_pruned(&self) -> Result<(), StoreError> {
        match self.number {
            Some(number) if number < self.view.pruned() => Err(self.view.pruned_error(number)),
            _ => Ok(()),
        }
    }

    /// The block that is asked for, if it is not the newest.
    fn past(&self, recent: &Recent) -> Option<u64> {
        self.number.filter(|&number| number < recent.tip.number())
    }
}

impl View {
    /// The first value of a history from a key on, if it belongs to `of`.
    fn before(&self, table: Table, from: &[u8], of: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let mut found = None;
        self.tables.scan(table, from, &end_of(of), &mut |_, value| {
            found = Some(value.to_vec());
            false
        })?;
        Ok(found)
    }

    pub(super) fn value(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let mut found = None;
        self.tables.get(table, key, &mut |value| found = Some(value.to_vec()))?;
        Ok(found)
    }
}

/// The first key behind all that begin with this one.
pub(crate) fn end_of(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    // All bytes were the largest: nothing with a shard's index looks like that.
    vec![u8::MAX; prefix.len() + 1]
}
