//! What is one run, on disk and in memory?
//!
//! On disk it has parts in the table of blocks: the blocks in their order, and behind them the index,
//! which is in memory too.

use std::ops::Range;

use redb::{AccessGuard, ReadableTable, StorageError};

use super::{
    Blocks, Bytes,
    block::{Block, Builder, damaged},
    filter::{self, Filter},
    place,
};
use crate::store::Change;

/// How long a block gets before the next begins. With an entry more and what redb adds it fits four pages.
const BLOCK_LEN: usize = if cfg!(test) { 100 } else { 15_600 };

/// What finds the entries of one run.
#[derive(Debug)]
pub(super) struct Run {
    /// They count up.
    pub(super) id: u64,
    pub(super) entries: u64,
    /// The first place of each block.
    pub(super) firsts: Vec<Box<[u8]>>,
    pub(super) filter: Filter,
}

/// Where a value is, in the bytes of its block. `None`: it was deleted.
pub(super) type Found<'a> = Option<(AccessGuard<'a, Bytes>, Range<usize>)>;

/// The part of a run that finds the others.
pub(super) const INDEX: usize = u32::MAX as usize;

/// Under which key of the table of blocks one is: they lie in the order of runs and parts.
pub(super) fn part_key(run: u64, part: usize) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&run.to_be_bytes());
    let part = u32::try_from(part).expect("a run has fewer blocks");
    key[8..].copy_from_slice(&part.to_be_bytes());
    key
}

impl Run {
    /// Writes a run of these changes, which are in order. The last counts for a key.
    pub(super) fn make(
        id: u64,
        blocks: &mut Blocks<'_>,
        changes: &[Change],
    ) -> Result<Run, StorageError> {
        let filter = Filter::new(changes.len());
        let mut run = Run { id, entries: 0, firsts: Vec::new(), filter };
        let mut builder = Builder::default();
        let mut changes = changes.iter().peekable();
        while let Some(change) = changes.next() {
            let (table, key) = change.place();
            if changes.peek().is_some_and(|next| next.place() == (table, key)) {
                continue;
            }
            if builder.is_empty() {
                run.firsts.push(place(table, key).into());
            }
            builder.push(table as u8, key, change.value());
            run.filter.add(filter::hash(table, key));
            run.entries += 1;
            if builder.len() >= BLOCK_LEN {
                run.write(blocks, &mut builder)?;
            }
        }
        if !builder.is_empty() {
            run.write(blocks, &mut builder)?;
        }
        let index = run.encode();
        blocks.insert(part_key(id, INDEX).as_slice(), index.as_slice())?;
        Ok(run)
    }

    fn write(
        &mut self,
        blocks: &mut Blocks<'_>,
        builder: &mut Builder,
    ) -> Result<(), StorageError> {
        let key = part_key(self.id, self.firsts.len() - 1);
        let mut done = Ok(());
        builder.finish(|bytes| done = blocks.insert(key.as_slice(), bytes).map(drop));
        done
    }

    /// The number of entries, that of blocks, the first place of each with its length, the filter.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.entries.to_le_bytes().to_vec();
        bytes.extend_from_slice(&(self.firsts.len() as u32).to_le_bytes());
        for first in &self.firsts {
            bytes.extend_from_slice(&(first.len() as u32).to_le_bytes());
            bytes.extend_from_slice(first);
        }
        self.filter.encode(&mut bytes);
        bytes
    }

    pub(super) fn read<T: ReadableTable<Bytes, Bytes>>(
        id: u64,
        blocks: &T,
    ) -> Result<Run, StorageError> {
        let index = blocks.get(part_key(id, INDEX).as_slice())?.ok_or_else(damaged)?;
        Run::decode(id, index.value()).ok_or_else(damaged)
    }

    fn decode(id: u64, bytes: &[u8]) -> Option<Run> {
        let (entries, bytes) = bytes.split_first_chunk::<8>()?;
        let (count, mut bytes) = bytes.split_first_chunk::<4>()?;
        let mut firsts = Vec::new();
        for _ in 0..u32::from_le_bytes(*count) {
            let (len, rest) = bytes.split_first_chunk::<4>()?;
            let (first, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
            firsts.push(first.into());
            bytes = rest;
        }
        let filter = Filter::decode(bytes)?;
        let entries = u64::from_le_bytes(*entries);
        // No block is empty, and no run.
        let holds_all = !firsts.is_empty() && entries >= firsts.len() as u64;
        holds_all.then_some(Run { id, entries, firsts, filter })
    }

    /// The block that holds a place, if any does; where all begin behind it, the first.
    pub(super) fn part_of(&self, place: &[u8]) -> usize {
        self.firsts.partition_point(|first| &**first <= place).saturating_sub(1)
    }

    pub(super) fn find<'a, T: ReadableTable<Bytes, Bytes>>(
        &self,
        blocks: &'a T,
        place: &[u8],
    ) -> Result<Option<Found<'a>>, StorageError> {
        let key = part_key(self.id, self.part_of(place));
        let guard = blocks.get(key.as_slice())?.ok_or_else(damaged)?;
        let bytes = guard.value();
        let block = Block::new(bytes)?;
        let at = block.lower_bound(place)?;
        if at == block.len() {
            return Ok(None);
        }
        let entry = block.entry(at)?;
        if entry.place != place {
            return Ok(None);
        }
        let Some(value) = entry.value else { return Ok(Some(None)) };
        let start = value.as_ptr().addr() - bytes.as_ptr().addr();
        let range = start..start + value.len();
        Ok(Some(Some((guard, range))))
    }
}
