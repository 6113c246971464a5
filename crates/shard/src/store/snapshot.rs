//! How are the tables read while the next fold is on its way?
//!
//! A [`Snapshot`] holds one read transaction of redb with its tables open, and the runs of the same
//! fold. What a key has is what the newest run says that knows it, and what the B-tree has where none
//! does.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use redb::{Database, ReadOnlyTable, ReadableDatabase, ReadableTableMetadata, StorageError};

use super::{
    Epoch, StoreError, Table,
    runs::{self, Runs},
    tables::{BLOCKS, FOLDED_KEY, READING, call, definition},
};

type Reader = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// The tables after one fold, to read from. It gives errors when the
/// [`Tables`](super::tables::Tables) are closed.
pub(super) struct Snapshot {
    tables: Vec<Reader>,
    blocks: Reader,
    runs: Arc<Runs>,
    path: String,
    /// The tables could not be read, or not be folded into, and will not be until they are opened again.
    failed: AtomicBool,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").finish_non_exhaustive()
    }
}

impl Snapshot {
    pub(super) fn of(
        database: &Database,
        runs: Arc<Runs>,
        path: &str,
    ) -> Result<Snapshot, StoreError> {
        let transaction = call(READING, path, || database.begin_read())?;
        let open = |table| call(READING, path, || transaction.open_table(definition(table)));
        let tables = Table::ALL.into_iter().map(open).collect::<Result<_, _>>()?;
        let blocks = call(READING, path, || transaction.open_table(BLOCKS))?;
        Ok(Snapshot { tables, blocks, runs, path: path.to_owned(), failed: AtomicBool::new(false) })
    }

    /// The tables that this is of give nothing but errors from now on, or may.
    pub(super) fn fail(&self) {
        self.failed.store(true, Relaxed);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    /// The last epoch that the tables hold.
    pub(super) fn folded(&self) -> Result<Epoch, StoreError> {
        let mut found = None;
        self.get(Table::Meta, FOLDED_KEY, &mut |value| found = value.try_into().ok())?;
        let what = || format!("{} does not say which epochs it holds", self.path);
        let bytes = found.ok_or_else(|| StoreError::Corrupt(what()))?;
        Ok(Epoch(u64::from_le_bytes(bytes)))
    }

    pub(super) fn get(
        &self,
        table: Table,
        key: &[u8],
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, StoreError> {
        if runs::take(table)
            && let Some(found) = self.call(|| self.runs.find(&self.blocks, table, key))?
        {
            let Some((block, range)) = found else { return Ok(false) };
            read(&block.value()[range]);
            return Ok(true);
        }
        let value = self.call(|| self.tables[table as usize].get(key))?;
        let Some(value) = value else { return Ok(false) };
        read(self.call(|| Ok(value.value()))?);
        Ok(true)
    }

    pub(super) fn scan(
        &self,
        table: Table,
        from: &[u8],
        end: &[u8],
        each: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        if from >= end {
            return Ok(());
        }
        let mut range = self.call(|| self.tables[table as usize].range(from..end))?;
        if runs::take(table) && !self.runs.is_empty() {
            return self.scan_runs(table, from, end, &mut range, each);
        }
        loop {
            let Some((key, value)) = self.call(|| range.next().transpose())? else { return Ok(()) };
            let (key, value) = self.call(|| Ok((key.value(), value.value())))?;
            if !each(key, value) {
                return Ok(());
            }
        }
    }

    /// The same where some is in runs: what they say counts, and what they do not know is in `tree`.
    fn scan_runs(
        &self,
        table: Table,
        from: &[u8],
        end: &[u8],
        tree: &mut redb::Range<'_, &'static [u8], &'static [u8]>,
        each: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        let mut runs = self.call(|| self.runs.scan(&self.blocks, table, from, end))?;
        let (mut next, mut at) = (self.call(|| tree.next().transpose())?, Vec::new());
        let end = runs::place(table, end);
        loop {
            let entry = self.call(|| runs.least())?.filter(|entry| entry.place < end.as_slice());
            let in_tree = self.call(|| Ok(next.as_ref().map(|(key, _)| key.value())))?;
            let goes_on = match (entry, in_tree) {
                (None, None) => return Ok(()),
                (Some(entry), key) if key.is_none_or(|key| &entry.place[1..] <= key) => {
                    at.clear();
                    at.extend_from_slice(entry.place);
                    let is_both = key.is_some_and(|key| key == &at[1..]);
                    let goes_on = entry.value.is_none_or(|value| each(&at[1..], value));
                    self.call(|| runs.pass(&at))?;
                    if is_both {
                        next = self.call(|| tree.next().transpose())?;
                    }
                    goes_on
                }
                _ => {
                    let (key, value) = next.take().expect("it was looked at");
                    let (key, value) = self.call(|| Ok((key.value(), value.value())))?;
                    let goes_on = each(key, value);
                    next = self.call(|| tree.next().transpose())?;
                    goes_on
                }
            };
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Entries, bytes of keys and values, bytes of everything else.
    pub(super) fn count(&self, table: Table) -> Result<(u64, u64, u64), StoreError> {
        let (entries, bytes, overhead) = self.call(|| {
            let reader = &self.tables[table as usize];
            let stats = reader.stats()?;
            let overhead = stats.metadata_bytes() + stats.fragmented_bytes();
            Ok((reader.len()?, stats.stored_bytes(), overhead))
        })?;
        if self.runs.is_empty() || !runs::take(table) {
            return Ok((entries, bytes, overhead));
        }
        // Only who goes through them knows which say something new of what the B-tree has.
        let (mut entries, mut bytes) = (0, 0);
        self.scan(table, &[], &[u8::MAX; 80], &mut |key, value| {
            entries += 1;
            bytes += (key.len() + value.len()) as u64;
            true
        })?;
        Ok((entries, bytes, overhead))
    }

    #[cfg(test)]
    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Goes through all runs.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        self.call(|| self.runs.check(&self.blocks))
    }

    fn call<T>(&self, run: impl FnOnce() -> Result<T, StorageError>) -> Result<T, StoreError> {
        call(READING, &self.path, run)
    }
}
