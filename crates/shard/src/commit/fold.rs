//! What do the records of an epoch come to in the tables?
//!
//! Only the last value of a key is written, and keys go in their order: that is what makes a fold
//! cheap where a commit with random keys would not be.

use std::mem;

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
    let mut order = in_order(&entries).into_iter().peekable();
    std::iter::from_fn(move || {
        let mut at = order.next()?;
        let same = |a: u32, b: u32| {
            let (a, b) = (&entries[a as usize], &entries[b as usize]);
            (a.table, &a.key) == (b.table, &b.key)
        };
        while let Some(newer) = order.next_if(|&next| same(at, next)) {
            at = newer;
        }
        let Entry { table, key, value } = &mut entries[at as usize];
        let (table, key) = (*table, mem::take(key));
        Some(match value.take() {
            Some(value) => Change::Put { table, key, value },
            None => Change::Delete { table, key },
        })
    })
}

/// The places of entries in the order of tables and keys, and of equal keys the newest last.
///
/// There are a million, and each key is somewhere in memory: what is compared first is put side by
/// side with the place, and nearly always decides.
fn in_order(entries: &[Entry]) -> Vec<u32> {
    let begins = |(at, entry): (u32, &Entry)| {
        let (mut begin, len) = ([0; 28], entry.key.len().min(27));
        begin[0] = entry.table as u8;
        begin[1..=len].copy_from_slice(&entry.key[..len]);
        let (first, rest) = begin.split_at(16);
        let (second, third) = rest.split_at(8);
        (
            u128::from_be_bytes(first.try_into().expect("sixteen bytes were taken")),
            u64::from_be_bytes(second.try_into().expect("eight bytes were taken")),
            u32::from_be_bytes(third.try_into().expect("four bytes are left")),
            at,
        )
    };
    let mut order: Vec<_> = (0..).zip(entries).map(begins).collect();
    order.sort_unstable_by(|a, b| {
        let keys = || entries[a.3 as usize].key.cmp(&entries[b.3 as usize].key);
        (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)).then_with(keys).then(a.3.cmp(&b.3))
    });
    order.into_iter().map(|(.., at)| at).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_go_in_order_of_tables_and_keys_and_the_newest_of_equals_last() {
        let mut seed = 1u64;
        let mut draw = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let tables = [Table::Accounts, Table::Storage, Table::Pool];
        let mut entry = || Entry {
            table: tables[draw(3) as usize],
            // Many begin alike, beyond what is compared first too.
            key: [vec![0; draw(30) as usize], vec![draw(2) as u8; draw(4) as usize]].concat(),
            value: None,
        };
        let entries: Vec<Entry> = (0..5_000).map(|_| entry()).collect();
        let mut expected: Vec<u32> = (0..5_000).collect();
        expected.sort_by_key(|&at| (entries[at as usize].table, &entries[at as usize].key));
        assert_eq!(in_order(&entries), expected);
    }
}
