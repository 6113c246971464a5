//! How are several runs read as one, in order?
//!
//! A cursor stands at an entry of one run, or behind its last. Several of them, the newest run first,
//! are merged: the entry with the least place is next, and of equal ones the newest counts.

use redb::{AccessGuard, ReadableTable, StorageError};

use super::{
    Bytes,
    block::{Block, Entry, damaged},
    run::{Run, part_key},
};

/// A place in a run, whose blocks are in `table`.
pub(super) struct Cursor<'a, T> {
    table: &'a T,
    run: &'a Run,
    /// Which block, and the block; none behind the last.
    part: usize,
    block: Option<AccessGuard<'a, Bytes>>,
    /// Which entry of the block. There is always one.
    at: usize,
}

impl<'a, T: ReadableTable<Bytes, Bytes>> Cursor<'a, T> {
    /// At the first entry whose place is this one or behind it.
    pub(super) fn seek(table: &'a T, run: &'a Run, place: &[u8]) -> Result<Self, StorageError> {
        let mut cursor = Cursor { table, run, part: run.part_of(place), block: None, at: 0 };
        cursor.load()?;
        if let Some(block) = &cursor.block {
            cursor.at = Block::new(block.value())?.lower_bound(place)?;
            cursor.settle()?;
        }
        Ok(cursor)
    }

    /// Loads the block of `part`, if there is one.
    fn load(&mut self) -> Result<(), StorageError> {
        self.at = 0;
        self.block = None;
        if self.part < self.run.firsts.len() {
            let block = self.table.get(part_key(self.run.id, self.part).as_slice())?;
            self.block = Some(block.ok_or_else(damaged)?);
        }
        Ok(())
    }

    /// Behind the last entry of a block comes the next block.
    fn settle(&mut self) -> Result<(), StorageError> {
        while let Some(block) = &self.block
            && self.at >= Block::new(block.value())?.len()
        {
            self.part += 1;
            self.load()?;
        }
        Ok(())
    }

    /// Which block it stands in.
    pub(super) fn part(&self) -> usize {
        self.part
    }

    pub(super) fn entry(&self) -> Result<Option<Entry<'_>>, StorageError> {
        let Some(block) = &self.block else { return Ok(None) };
        Block::new(block.value())?.entry(self.at).map(Some)
    }

    pub(super) fn advance(&mut self) -> Result<(), StorageError> {
        self.at += 1;
        self.settle()
    }
}

/// Several runs as one.
pub(in crate::store) struct Merge<'a, T>(Vec<Cursor<'a, T>>);

impl<'a, T: ReadableTable<Bytes, Bytes>> Merge<'a, T> {
    /// The newest first.
    pub(super) fn new(cursors: Vec<Cursor<'a, T>>) -> Merge<'a, T> {
        Merge(cursors)
    }

    /// The newest entry with the least place.
    pub(in crate::store) fn least(&self) -> Result<Option<Entry<'_>>, StorageError> {
        let mut least: Option<Entry<'_>> = None;
        for cursor in &self.0 {
            if let Some(entry) = cursor.entry()?
                && least.is_none_or(|least| entry.place < least.place)
            {
                least = Some(entry);
            }
        }
        Ok(least)
    }

    /// Goes on behind a place at which the least entries are. How many there were.
    pub(in crate::store) fn pass(&mut self, place: &[u8]) -> Result<u64, StorageError> {
        let mut passed = 0;
        for cursor in &mut self.0 {
            if cursor.entry()?.is_some_and(|entry| entry.place == place) {
                cursor.advance()?;
                passed += 1;
            }
        }
        Ok(passed)
    }
}
