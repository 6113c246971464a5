//! How does a fold write keys that are far apart without touching a page for each?
//!
//! ```text
//!     newest                                  oldest
//!   | run 9 | run 8 | ... | run 3 | run 2 | run 1 |       B-trees
//!                         `------ the pass ------'  --->
//!       a fold adds one      reached: what is before is in the B-trees
//! ```
//!
//! Accounts, slots, histories and what finds transactions have keys that look random: each lies on a
//! page of its own, which would be read, copied and written for one entry. So what a fold brings of
//! them becomes a run: sorted entries in blocks that are written one behind the other. When there are
//! [`MANY`] runs, a pass puts them into the B-trees, with each fold a stretch of the keys, in which
//! several folds' worth of entries lie together.
//!
//! 1. A run is newer than those before it and than the B-trees. Who looks for a key takes the first
//!    that is found: in runs from the newest on, then in the B-tree. A run says of what was deleted
//!    that it is.
//! 2. Of the runs of a pass what is before its place `reached` is in the B-trees, and is looked for
//!    there alone: all runs of the pass are older than all others.
//! 3. When a pass is at its end its runs go. The next takes all that there are then.
//! 4. Everything is in tables of redb and changes in the transaction of a fold, so a crash leaves all
//!    of a fold's work or none.
//! 5. A pass reads as many entries in each fold as ends it after [`FOLDS`] of them, whatever comes
//!    meanwhile. So there are never more than `MANY + FOLDS` runs.
//! 6. In memory is what finds a block: its first place, and a filter. That is some 14 bits for each
//!    entry of a run, so it is bounded as the runs are.

mod block;
mod cursor;
mod filter;
mod run;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use redb::{ReadableTable, StorageError};

use self::{
    block::damaged,
    cursor::{Cursor, Merge},
    run::{Found, INDEX, Run, part_key},
};
use super::{Change, Table};

/// With so many runs a pass begins.
const MANY: usize = if cfg!(test) { 3 } else { 8 };
/// A pass ends after so many folds.
const FOLDS: u64 = if cfg!(test) { 2 } else { 8 };
/// A fold that brings fewer entries makes no run as long as there is none.
pub(super) const FEW: usize = if cfg!(test) { 3 } else { 4_096 };

type Bytes = &'static [u8];
/// Where blocks are written.
pub(super) type Blocks<'a> = redb::Table<'a, Bytes, Bytes>;
/// Puts something into a B-tree, or takes it out.
pub(super) type Put<'a> = dyn FnMut(Table, &[u8], Option<&[u8]>) -> Result<(), StorageError> + 'a;

/// Whether the keys of a table look random, so that they go into runs.
pub(super) fn take(table: Table) -> bool {
    matches!(
        table,
        Table::Accounts
            | Table::Storage
            | Table::BlockHashes
            | Table::Transactions
            | Table::AccountHistory
            | Table::StorageHistory
            | Table::TrieNodes
    )
}

/// All runs, as some fold has left them.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    /// The oldest first.
    all: Vec<Arc<Run>>,
    pass: Option<Pass>,
}

/// The oldest runs on their way into the B-trees.
#[derive(Clone, Debug)]
struct Pass {
    /// How many runs.
    runs: usize,
    /// What is before this place is there.
    reached: Vec<u8>,
}

impl Runs {
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Adds a run of these changes, of which the last counts for a key.
    pub(super) fn add(
        &mut self,
        blocks: &mut Blocks<'_>,
        mut changes: Vec<Change>,
    ) -> Result<(), StorageError> {
        if changes.is_empty() {
            return Ok(());
        }
        // Nearly always they are in order.
        changes.sort_by(|a, b| a.place().cmp(&b.place()));
        let id = self.all.last().map_or(0, |run| run.id + 1);
        let run = Run::make(id, blocks, &changes)?;
        self.all.push(Arc::new(run));
        Ok(())
    }

    /// Puts a part of the oldest runs into the B-trees, if there are many.
    pub(super) fn settle(
        &mut self,
        blocks: &mut Blocks<'_>,
        put: &mut Put<'_>,
    ) -> Result<(), StorageError> {
        if self.pass.is_none() && self.all.len() >= MANY {
            self.pass = Some(Pass { runs: self.all.len(), reached: Vec::new() });
        }
        let Some(pass) = &mut self.pass else { return Ok(()) };
        let runs = &self.all[..pass.runs];
        let left = runs.iter().map(|run| run.entries).sum::<u64>() / FOLDS + 1;
        if !pass.go_on(runs, &*blocks, left, put)? {
            for run in self.all.drain(..pass.runs) {
                for part in (0..run.firsts.len()).chain([INDEX]) {
                    blocks.remove(part_key(run.id, part).as_slice())?;
                }
            }
            self.pass = None;
        }
        Ok(())
    }

    /// Looks for a key in all runs. `None`: none of them knows it.
    pub(super) fn find<'a, T: ReadableTable<Bytes, Bytes>>(
        &self,
        blocks: &'a T,
        table: Table,
        key: &[u8],
    ) -> Result<Option<Found<'a>>, StorageError> {
        let (hash, place) = (filter::hash(table, key), place(table, key));
        for (run, reached) in self.newest_first() {
            if place.as_slice() < reached {
                break;
            }
            if run.filter.may_hold(hash)
                && let Some(found) = run.find(blocks, &place)?
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Entries of a table from one key on, and perhaps some behind `end`.
    pub(super) fn scan<'a, T: ReadableTable<Bytes, Bytes>>(
        &'a self,
        blocks: &'a T,
        table: Table,
        from: &[u8],
        end: &[u8],
    ) -> Result<Merge<'a, T>, StorageError> {
        let (hash, from) = (filter::hash_of_all(table, from, end), place(table, from));
        let runs = self.newest_first();
        let runs = runs.filter(|(run, _)| hash.is_none_or(|hash| run.filter.may_hold(hash)));
        let cursors = runs.map(|(run, reached)| {
            let from: &[u8] = reached.max(from.as_slice());
            Cursor::seek(blocks, run, from)
        });
        Ok(Merge::new(cursors.collect::<Result<Vec<_>, _>>()?))
    }

    /// Each with the place from which on it counts.
    fn newest_first(&self) -> impl Iterator<Item = (&Run, &[u8])> {
        self.all.iter().enumerate().rev().map(move |(at, run)| {
            let pass = self.pass.as_ref().filter(|pass| at < pass.runs);
            (&**run, pass.map_or(&[][..], |pass| pass.reached.as_slice()))
        })
    }

    /// Which runs there are, and how far the pass is.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = (self.all.len() as u32).to_le_bytes().to_vec();
        self.all.iter().for_each(|run| bytes.extend_from_slice(&run.id.to_le_bytes()));
        if let Some(pass) = &self.pass {
            bytes.extend_from_slice(&(pass.runs as u32).to_le_bytes());
            bytes.extend_from_slice(&pass.reached);
        }
        bytes
    }

    /// Reads what [`Runs::encode`] wrote, and what finds the entries of each run.
    pub(super) fn read<T: ReadableTable<Bytes, Bytes>>(
        bytes: &[u8],
        blocks: &T,
    ) -> Result<Runs, StorageError> {
        let (count, rest) = bytes.split_first_chunk::<4>().ok_or_else(damaged)?;
        let ids = (u32::from_le_bytes(*count) as usize).saturating_mul(8);
        let (ids, rest) = rest.split_at_checked(ids).ok_or_else(damaged)?;
        let run = |id: &[u8; 8]| Run::read(u64::from_le_bytes(*id), blocks).map(Arc::new);
        let all = ids.as_chunks::<8>().0.iter().map(run).collect::<Result<Vec<_>, _>>()?;
        let pass = rest.split_first_chunk::<4>().map(|(runs, reached)| Pass {
            runs: u32::from_le_bytes(*runs) as usize,
            reached: reached.to_vec(),
        });
        if pass.as_ref().is_some_and(|pass| pass.runs > all.len()) {
            return Err(damaged());
        }
        Ok(Runs { all, pass })
    }

    /// Reads all entries: that they are in order and as many as were written, and would be found.
    pub(super) fn check<T: ReadableTable<Bytes, Bytes>>(
        &self,
        blocks: &T,
    ) -> Result<(), StorageError> {
        for run in &self.all {
            let (mut cursor, mut entries) = (Cursor::seek(blocks, run, &[])?, 0);
            let mut last = Vec::new();
            while let Some(entry) = cursor.entry()? {
                let (table, key) = table_and_key(entry.place)?;
                let is_found = run.filter.may_hold(filter::hash(table, key))
                    && run.part_of(entry.place) == cursor.part();
                if entry.place <= last.as_slice() || !is_found {
                    return Err(damaged());
                }
                last.clear();
                last.extend_from_slice(entry.place);
                entries += 1;
                cursor.advance()?;
            }
            if entries != run.entries {
                return Err(damaged());
            }
        }
        Ok(())
    }
}

impl Pass {
    /// Puts so many entries of these runs into the B-trees. Whether there are more.
    fn go_on<T: ReadableTable<Bytes, Bytes>>(
        &mut self,
        runs: &[Arc<Run>],
        blocks: &T,
        entries: u64,
        put: &mut Put<'_>,
    ) -> Result<bool, StorageError> {
        let cursors = runs.iter().rev().map(|run| Cursor::seek(blocks, run, &self.reached));
        let cursors = cursors.collect::<Result<Vec<_>, _>>()?;
        let (mut merge, mut read, mut at) = (Merge::new(cursors), 0, self.reached.clone());
        while let Some(entry) = merge.least()? {
            // Else the pass would go back, and perhaps never end.
            if entry.place < at.as_slice() {
                return Err(damaged());
            }
            at.clear();
            at.extend_from_slice(entry.place);
            if read >= entries {
                self.reached = at;
                return Ok(true);
            }
            let (table, key) = table_and_key(&at)?;
            put(table, key, entry.value)?;
            read += merge.pass(&at)?;
        }
        Ok(false)
    }
}

/// A table's number and a key.
pub(super) fn place(table: Table, key: &[u8]) -> Vec<u8> {
    let mut place = Vec::with_capacity(1 + key.len());
    place.push(table as u8);
    place.extend_from_slice(key);
    place
}

/// What a place is of. Only tables that go into runs have any.
fn table_and_key(place: &[u8]) -> Result<(Table, &[u8]), StorageError> {
    let (table, key) = place.split_first().ok_or_else(damaged)?;
    let table = Table::ALL.get(usize::from(*table)).filter(|table| take(**table));
    Ok((*table.ok_or_else(damaged)?, key))
}
