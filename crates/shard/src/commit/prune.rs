//! What goes out of the tables with blocks that are old enough?
//!
//! Everything that only they are asked for: body, receipts, change set, call trees, what finds them,
//! and what accounts and slots were before them. The newest state stays, with all code, and so do the
//! hashes that BLOCKHASH may ask for.
//!
//! 1. Whoever reads is refused before anything goes: the views are told first, and look again after
//!    they have read.
//! 2. It goes in the transaction of a fold, with the number up to which it is gone. So a crash leaves
//!    both or neither, and a commit never waits for it.
//! 3. The last block of a shard in the tables stays, whatever the depth: opening begins with it.
//! 4. What a fold takes out is bounded, in blocks and in entries. What it does not get to is refused
//!    all the same, and goes first in the next.

use alloy_primitives::B256;

use super::{
    keys,
    record::{Record, ShardIndex, What},
};
use crate::{
    block::{Body, ChangeSet},
    store::{Change, Store, StoreError, Table},
};

/// So many blocks go in a fold, beside two for each that it brings.
const BLOCKS: u64 = 1_024;

/// So many entries go in a fold, beside two for each that it brings. A block goes whole.
const ENTRIES: usize = if cfg!(test) { 1 << 6 } else { 1 << 18 };

/// What goes with a block that has nothing in it, and the hash that is kept.
const OWN_ENTRIES: usize = 6;

/// How far BLOCKHASH looks back.
const HASHES: u64 = 256;

/// The blocks of a shard up to this one are to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) shard: ShardIndex,
    pub(crate) to: u64,
}

/// Says what is to go, so many blocks at most, and has it refused from now on.
pub(crate) type Cuts = Box<dyn Fn(u64) -> Vec<Cut> + Send + Sync>;

/// How much may go in a fold: more than it brings, so that pruning keeps up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Portion {
    pub(crate) blocks: u64,
    pub(crate) entries: usize,
}

impl Portion {
    /// For a fold of these records.
    pub(crate) fn of(records: &[Record]) -> Portion {
        let mut portion = Portion { blocks: BLOCKS, entries: ENTRIES };
        for record in records {
            if let What::Block(new) = &record.what {
                let accounts = &new.block.changes.accounts;
                let slots: usize = accounts.iter().map(|change| change.slots.len()).sum();
                portion.blocks += 2;
                let count = new.block.transactions.len() + accounts.len() + slots;
                portion.entries += 2 * (OWN_ENTRIES + count);
            }
        }
        portion
    }
}

/// What the fold before did not get to, and then the rest.
pub(crate) fn in_turn(mut left: Vec<Cut>, cuts: Vec<Cut>) -> Vec<Cut> {
    for cut in cuts {
        match left.iter_mut().find(|other| other.shard == cut.shard) {
            Some(other) => other.to = other.to.max(cut.to),
            None => left.push(cut),
        }
    }
    left
}

/// The number up to which the blocks of a shard are gone, and 0 where none are.
pub(crate) fn pruned_value(value: &[u8]) -> Option<u64> {
    value.try_into().ok().map(u64::from_be_bytes)
}

/// The changes that take these blocks out of the tables, and what is left for the next fold because
/// there would be more than so many.
pub(crate) fn changes(
    store: &dyn Store,
    cuts: &[Cut],
    entries: usize,
) -> Result<(Vec<Change>, Vec<Cut>), StoreError> {
    let (mut changes, mut left) = (Vec::new(), Vec::new());
    for &Cut { shard, to } in cuts {
        let mut from = 0;
        store.get(Table::Pruned, &keys::shard(shard), &mut |value| {
            from = pruned_value(value).unwrap_or(0);
        })?;
        let mut reached = from;
        for number in from + 1..=to {
            if changes.len() >= entries {
                left.push(Cut { shard, to });
                break;
            }
            reached = number;
            block(store, shard, number, &mut changes)?;
            if let Some(old) = number.checked_sub(HASHES) {
                let (table, key) = (Table::Pruned, keys::number(shard, old));
                changes.push(Change::Delete { table, key });
            }
        }
        if reached > from {
            let (key, value) = (keys::shard(shard), reached.to_be_bytes().to_vec());
            changes.push(Change::Put { table: Table::Pruned, key, value });
        }
    }
    Ok((changes, left))
}

fn block(
    store: &dyn Store,
    shard: ShardIndex,
    number: u64,
    into: &mut Vec<Change>,
) -> Result<(), StoreError> {
    let key = keys::number(shard, number);
    let mut delete = |table, key| into.push(Change::Delete { table, key });
    let mut found = None;
    store.get(Table::Blocks, &key, &mut |bytes| found = Body::new(bytes).ok().map(names))?;
    let mut hash = None;
    // One that can not be read goes without what finds it: there is no more to be found.
    if let Some((own, transactions)) = found {
        hash = Some(own);
        delete(Table::BlockHashes, keys::hash(shard, own));
        for transaction in transactions {
            let key = keys::hash(shard, transaction);
            // One that was included again is found where it is now.
            let mut here = false;
            store.get(Table::Transactions, &key, &mut |at| {
                here = at.starts_with(&number.to_be_bytes());
            })?;
            if here {
                // It may have been dropped before it was accepted again and included, which was not
                // worth a look as long as that was found first.
                delete(Table::Dropped, key.clone());
                delete(Table::Transactions, key);
            }
        }
    }
    let mut found = None;
    store.get(Table::Changes, &key, &mut |bytes| found = ChangeSet::decode(bytes).ok())?;
    for change in found.into_iter().flat_map(|changes| changes.accounts) {
        let address = change.address;
        delete(Table::AccountHistory, keys::account_at(shard, address, number));
        for slot in change.slots {
            delete(Table::StorageHistory, keys::slot_at(shard, address, slot.slot, number));
        }
    }
    for table in [Table::Blocks, Table::Changes, Table::Traces] {
        delete(table, key.clone());
    }
    // It goes when one that far above does: this fold may not get to that.
    if let Some(hash) = hash {
        into.push(Change::Put { table: Table::Pruned, key, value: hash.to_vec() });
    }
    Ok(())
}

/// A block's hash, and those of its transactions.
fn names(body: Body<'_>) -> (B256, Vec<B256>) {
    let transactions = (0..body.len()).filter_map(|index| body.transaction(index).ok());
    (body.hash(), transactions.map(|transaction| transaction.hash()).collect())
}

#[cfg(test)]
mod tests;
