//! What do the records of an epoch come to in the tables?
//!
//! Only the last value of a key is written, and keys go in their order: that is what makes a fold
//! cheap where a commit with random keys would not be.

use alloy_primitives::{Address, U256};

use super::{
    keys,
    record::{NewBlock, Record, ShardIndex, What},
};
use crate::store::{Change, Table};

/// What each shard began with, as far as folding must know: entries of the genesis are not in the
/// tables, so one that becomes 0 must be.
pub(crate) trait Beginning {
    fn has_slot(&self, address: Address, slot: U256) -> bool;
    fn has_node(&self, key: &[u8]) -> bool;
}

/// The changes of these records after those of `first`, in the order of tables and keys.
pub(crate) fn changes(
    first: Vec<Change>,
    records: &[Record],
    genesis: &dyn Beginning,
) -> impl Iterator<Item = Change> + use<> {
    let entries = first.into_iter().map(|change| match change {
        Change::Put { table, key, value } => Entry { table, key, value: Some(value) },
        Change::Delete { table, key } => Entry { table, key, value: None },
    });
    let mut fold = Fold { entries: entries.collect(), genesis };
    for record in records {
        fold.record(record);
    }
    let mut entries = fold.entries;
    // A stable sort: of equal keys the last is the newest.
    entries.sort_by(|a, b| (a.table, &a.key).cmp(&(b.table, &b.key)));
    let mut entries = entries.into_iter().peekable();
    std::iter::from_fn(move || {
        let mut entry = entries.next()?;
        while let Some(newer) =
            entries.next_if(|next| next.table == entry.table && next.key == entry.key)
        {
            entry = newer;
        }
        let Entry { table, key, value } = entry;
        Some(match value {
            Some(value) => Change::Put { table, key, value },
            None => Change::Delete { table, key },
        })
    })
}

struct Entry {
    table: Table,
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

struct Fold<'a> {
    entries: Vec<Entry>,
    genesis: &'a dyn Beginning,
}

impl Fold<'_> {
    fn put(&mut self, table: Table, key: Vec<u8>, value: Vec<u8>) {
        self.entries.push(Entry { table, key, value: Some(value) });
    }

    fn delete(&mut self, table: Table, key: Vec<u8>) {
        self.entries.push(Entry { table, key, value: None });
    }

    fn record(&mut self, record: &Record) {
        let shard = record.shard;
        match &record.what {
            What::Created { address, chain_id } => {
                let value = [address.as_slice(), &chain_id.to_be_bytes()].concat();
                self.put(Table::Shards, keys::shard(shard), value);
            }
            What::Accepted(transaction) => {
                let mut value = Vec::with_capacity(transaction.encoded().len() + 32);
                transaction.to_bytes(&mut value);
                self.put(Table::Pool, keys::hash(shard, transaction.hash()), value);
            }
            What::Dropped { hash, reason } => {
                let mut value = Vec::new();
                reason.encode(&mut value);
                self.put(Table::Dropped, keys::hash(shard, *hash), value);
                self.delete(Table::Pool, keys::hash(shard, *hash));
            }
            What::Block(new) => self.block(shard, new),
            What::Traces { number, bytes } => {
                self.put(Table::Traces, keys::number(shard, *number), bytes.to_vec());
            }
        }
    }

    fn block(&mut self, shard: ShardIndex, new: &NewBlock) {
        let block = &new.block;
        let number = block.number();
        self.put(Table::Blocks, keys::number(shard, number), block.encode());
        self.put(Table::Changes, keys::number(shard, number), block.changes.encode());
        let at = number.to_be_bytes();
        self.put(Table::BlockHashes, keys::hash(shard, block.hash), at.to_vec());
        for (position, transaction) in block.transactions.iter().enumerate() {
            let key = keys::hash(shard, transaction.hash());
            let position = u32::try_from(position).expect("a block holds fewer transactions");
            let value = [&at[..], &position.to_be_bytes()].concat();
            self.delete(Table::Pool, key.clone());
            self.put(Table::Transactions, key, value);
        }
        for change in &block.changes.accounts {
            let address = change.address;
            if change.before != change.after {
                let after = keys::account_value(change.after);
                self.put(Table::Accounts, keys::account(shard, address), after);
                let before = keys::account_value(change.before);
                self.put(Table::AccountHistory, keys::account_at(shard, address, number), before);
            }
            for slot in &change.slots {
                let key = keys::slot(shard, address, slot.slot);
                if slot.after.is_zero() && !self.genesis.has_slot(address, slot.slot) {
                    self.delete(Table::Storage, key);
                } else {
                    self.put(Table::Storage, key, keys::slot_value(slot.after));
                }
                let key = keys::slot_at(shard, address, slot.slot, number);
                self.put(Table::StorageHistory, key, keys::slot_value(slot.before));
            }
        }
        for (hash, code) in &block.changes.codes {
            self.put(Table::Codes, keys::hash(shard, *hash), code.to_vec());
        }
        for (key, value) in &new.nodes {
            let own = keys::node(shard, key);
            match value {
                Some(value) => self.put(Table::TrieNodes, own, value.clone()),
                None if self.genesis.has_node(key) => self.put(Table::TrieNodes, own, Vec::new()),
                None => self.delete(Table::TrieNodes, own),
            }
        }
    }
}
