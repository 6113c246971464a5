//! How is a part of a block read, without the rest of it?
//!
//! Here the tables are read without the view's lock, so that nobody waits: a block that was in no
//! generation a moment ago is in the tables, where it stays (rule 2 of the view).

use std::sync::Arc;

use alloy_consensus::Header;

use super::View;
use crate::{
    block::{Block, Body},
    commit::keys,
    environment::Environment,
    store::{StoreError, Table},
};

/// Where a block is.
pub(crate) enum Place {
    /// At hand.
    Memory(Arc<Block>),
    /// In the tables, if it is kept.
    Tables,
    /// It is not there yet.
    Nowhere,
}

impl View {
    /// Where the block with this number is.
    pub(crate) fn place(&self, number: u64) -> Place {
        let recent = self.read();
        if number > recent.tip.number() {
            return Place::Nowhere;
        }
        if number == recent.tip.number() {
            return Place::Memory(recent.tip.clone());
        }
        for generation in recent.generations.iter().rev() {
            if let Some(block) = generation.block(number) {
                return Place::Memory(block.clone());
            }
        }
        if number == 0 { Place::Memory(self.first.clone()) } else { Place::Tables }
    }

    /// Reads from a block in the tables; `None`: it is not there.
    pub(crate) fn body<R>(
        &self,
        number: u64,
        read: impl FnOnce(Body<'_>) -> Result<R, StoreError>,
    ) -> Result<Option<R>, StoreError> {
        let (mut read, mut done) = (Some(read), None);
        self.tables.get(Table::Blocks, &keys::number(self.shard, number), &mut |bytes| {
            if let Some(read) = read.take() {
                done = Some(Body::new(bytes).and_then(read));
            }
        })?;
        done.transpose()
    }

    /// The same; an error if it was pruned.
    pub(crate) fn kept_body<R>(
        &self,
        number: u64,
        read: impl FnOnce(Body<'_>) -> Result<R, StoreError>,
    ) -> Result<Option<R>, StoreError> {
        let found = self.body(number, read)?;
        if found.is_none() {
            self.refuse_pruned(&self.read(), number)?;
        }
        Ok(found)
    }

    /// The header and the environment of a block; `None`: it is not there yet.
    pub(crate) fn parts(&self, number: u64) -> Result<Option<(Header, Environment)>, StoreError> {
        match self.place(number) {
            Place::Memory(block) => Ok(Some((block.header.clone(), block.environment.clone()))),
            Place::Tables => {
                self.kept_body(number, |body| Ok((body.header()?, body.environment()?)))
            }
            Place::Nowhere => Ok(None),
        }
    }
}
