//! Which blocks are not kept any more, and what is still known of them?

use std::{
    num::NonZeroU64,
    sync::atomic::Ordering::{Acquire, Release},
};

use alloy_primitives::B256;

use super::{Recent, View};
use crate::{
    commit::{
        keys,
        prune::{Cut, pruned_value},
        record::corrupt,
    },
    store::{StoreError, Table},
};

impl View {
    /// Blocks up to this one are not kept. Whoever reads the tables looks at it afterwards: it rises
    /// before anything goes, and whoever finds something gone has acquired the tables without it.
    pub(crate) fn pruned(&self) -> u64 {
        self.pruned.load(Acquire)
    }

    /// What the tables say about it.
    pub(super) fn read_pruned(&self) -> Result<(), StoreError> {
        if let Some(value) = self.value(Table::Pruned, &keys::shard(self.shard))? {
            let number = pruned_value(&value).ok_or_else(|| corrupt("a pruned block's number"))?;
            self.pruned.store(number, Release);
        }
        Ok(())
    }

    /// Which blocks are to go, of those that are in the tables. They are refused from now on.
    pub(crate) fn cut(&self, depth: NonZeroU64, most: &mut u64) -> Option<Cut> {
        let recent = self.read();
        let tip = recent.tip.number();
        let in_memory = recent.generations.iter().find_map(|generation| generation.blocks.first());
        let in_tables = in_memory.map_or(tip, |first| first.number() - 1);
        // The last one there stays: opening begins with it.
        let target = tip.saturating_sub(depth.get()).min(in_tables.saturating_sub(1));
        let pruned = self.pruned();
        let to = target.min(pruned.saturating_add(*most));
        if to <= pruned {
            return None;
        }
        *most -= to - pruned;
        self.pruned.store(to, Release);
        Some(Cut { shard: self.shard, to })
    }

    pub(super) fn refuse_pruned(&self, recent: &Recent, number: u64) -> Result<(), StoreError> {
        let pruned = self.pruned();
        if number > pruned {
            return Ok(());
        }
        Err(StoreError::Pruned { number, kept: recent.tip.number().saturating_sub(pruned) })
    }

    pub(super) fn pruned_error(&self, number: u64) -> StoreError {
        let kept = self.tip().number().saturating_sub(self.pruned());
        StoreError::Pruned { number, kept }
    }

    /// The hash of a block in the tables, or of one of the last that are not kept, for BLOCKHASH.
    pub(super) fn hash_in_tables(&self, number: u64) -> Result<Option<B256>, StoreError> {
        if let Some(hash) = self.body(number, |body| Ok(body.hash()))? {
            return Ok(Some(hash));
        }
        let hash = self.value(Table::Pruned, &keys::number(self.shard, number))?;
        let read = |hash: Vec<u8>| B256::try_from(&*hash).map_err(|_| corrupt("a block's hash"));
        hash.map(read).transpose()
    }
}
