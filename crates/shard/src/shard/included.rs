//! What is known about a transaction of a block, without the rest of the block?

use alloy_consensus::Header;
use alloy_primitives::B256;

use super::Shard;
use crate::{
    block::{Block, Body, Receipt},
    store::StoreError,
    transaction::SharedTransaction,
    view::{Place, Position},
};

/// A transaction of a block, and what is known about it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    pub position: Position,
    /// Of its block.
    pub block_hash: B256,
    /// Of its block.
    pub header: Header,
    pub transaction: SharedTransaction,
    pub receipt: Receipt,
    /// The logs of the transactions before it in the block: so many come before its first one.
    pub logs_before: usize,
}

impl Shard {
    /// A transaction of a block, with what is known about it there. One whose block was pruned is not
    /// found.
    ///
    /// # Errors
    /// If the store can not be read.
    pub fn included(&self, hash: B256) -> Result<Option<Included>, StoreError> {
        let Some(position) = self.inner.view.position(hash)? else { return Ok(None) };
        match self.included_at(position) {
            // It was pruned since it was found.
            Err(StoreError::Pruned { .. }) => Ok(None),
            found => found,
        }
    }

    /// The same by its place; `None`: there is no such block yet, or it holds fewer.
    ///
    /// # Errors
    /// If the store can not be read, or the block was pruned.
    pub fn included_at(&self, position: Position) -> Result<Option<Included>, StoreError> {
        let view = &self.inner.view;
        match view.place(position.number) {
            Place::Memory(block) => Ok(in_block(&block, position)),
            Place::Tables => {
                Ok(view.kept_body(position.number, |body| in_body(body, position))?.flatten())
            }
            Place::Nowhere => Ok(None),
        }
    }

    /// A block's hash and header; `None`: there is no such block yet.
    ///
    /// # Errors
    /// If the store can not be read, or the block was pruned.
    pub fn header(&self, number: u64) -> Result<Option<(B256, Header)>, StoreError> {
        let view = &self.inner.view;
        match view.place(number) {
            Place::Memory(block) => Ok(Some((block.hash, block.header.clone()))),
            Place::Tables => view.kept_body(number, |body| Ok((body.hash(), body.header()?))),
            Place::Nowhere => Ok(None),
        }
    }
}

fn in_block(block: &Block, position: Position) -> Option<Included> {
    let index = position.index as usize;
    Some(Included {
        position,
        block_hash: block.hash,
        transaction: block.transactions.get(index)?.clone(),
        receipt: block.receipts.get(index)?.clone(),
        header: block.header.clone(),
        logs_before: block.receipts[..index].iter().map(|receipt| receipt.logs.len()).sum(),
    })
}

fn in_body(body: Body<'_>, position: Position) -> Result<Option<Included>, StoreError> {
    let index = position.index as usize;
    if index >= body.len() {
        return Ok(None);
    }
    let mut logs_before = 0;
    for before in 0..index {
        logs_before += body.receipt(before)?.logs.len();
    }
    Ok(Some(Included {
        position,
        block_hash: body.hash(),
        header: body.header()?,
        transaction: body.transaction(index)?,
        receipt: body.receipt(index)?,
        logs_before,
    }))
}
