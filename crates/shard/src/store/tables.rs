//! Where is what is kept by key, and how do many changes become one?
//!
//! In one redb file over our [`File`]. A fold is one write transaction, together with the number
//! of the epoch that it ends, so that both are there or neither. Readers go on with the tables as
//! they were: a [`Snapshot`] holds one read transaction with its tables open, and is exchanged
//! after each fold. (Opening a read transaction and a table for one point read costs more than the
//! read itself.)
//!
//! redb takes a file that was damaged in a clever way for its own and may panic. Such panics are
//! caught here, and become [`StoreError::Corrupt`].

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
};

use redb::{
    Builder, Database, ReadOnlyTable, ReadableDatabase, ReadableTableMetadata, StorageError,
    TableDefinition, TableError, WriteTransaction,
};

use super::{Change, Epoch, StoreError, Table};
use crate::disk::{Disk, File};

const NAME: &str = "tables.redb";
/// Of the tables and of what they hold, records included.
const SCHEMA: u32 = 1;
const SCHEMA_KEY: &[u8] = b"schema";
const FOLDED_KEY: &[u8] = b"folded";
/// The first bytes of every redb file.
const MAGIC: [u8; 9] = [b'r', b'e', b'd', b'b', 0x1A, 0x0A, 0xA9, 0x0D, 0x0A];

type Definition = TableDefinition<'static, &'static [u8], &'static [u8]>;
type Reader = ReadOnlyTable<&'static [u8], &'static [u8]>;

const fn definition(table: Table) -> Definition {
    TableDefinition::new(table.name())
}

/// Where folds go.
#[derive(Debug)]
pub(super) struct Tables {
    database: Database,
    path: String,
}

/// The tables after one fold, to read from. It gives errors when the [`Tables`] are closed.
pub(super) struct Snapshot {
    tables: Vec<Reader>,
    path: String,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").finish_non_exhaustive()
    }
}

impl Tables {
    /// Opens the tables, or makes empty ones.
    pub(super) fn open(disk: &dyn Disk, cache_bytes: usize) -> Result<Tables, StoreError> {
        let path = disk.path(NAME);
        let file = disk.open(NAME).map_err(|error| StoreError::io("opening", &path, &error))?;
        prepare(&*file, &path)?;
        let database = guarded(&path, || {
            let mut builder = Builder::new();
            builder.set_cache_size(cache_bytes);
            let opened = builder.create_with_backend(Backend(file));
            opened.map_err(|error| redb_error("opening the tables", &path, error.into()))
        })?;
        let tables = Tables { database, path };
        tables.make()?;
        Ok(tables)
    }

    /// Makes the tables in a new file, and refuses those of a newer program.
    fn make(&self) -> Result<(), StoreError> {
        guarded(&self.path, || {
            let doing = "making the tables";
            let transaction = self.database.begin_read().map_err(|e| self.error(doing, e))?;
            let found = match transaction.open_table(definition(Table::Meta)) {
                Ok(meta) => {
                    let schema = meta.get(SCHEMA_KEY).map_err(|e| self.error(doing, e))?;
                    schema
                        .and_then(|bytes| Some(u32::from_le_bytes(bytes.value().try_into().ok()?)))
                }
                Err(TableError::TableDoesNotExist(_)) => {
                    let others = transaction.list_tables().map_err(|e| self.error(doing, e))?;
                    if others.count() > 0 {
                        return Err(StoreError::Foreign(self.path.clone()));
                    }
                    return self.commit(Epoch::NONE, &mut std::iter::empty());
                }
                Err(TableError::TableTypeMismatch { .. } | TableError::TableIsMultimap(_)) => None,
                Err(error) => return Err(self.error(doing, error)),
            };
            match found {
                Some(found) if found > SCHEMA => Err(StoreError::Newer { found, known: SCHEMA }),
                Some(_) => Ok(()),
                None => Err(StoreError::Foreign(self.path.clone())),
            }
        })
    }

    /// Puts changes into the tables, and with them that this epoch was folded.
    pub(super) fn fold(
        &self,
        folded: Epoch,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> Result<(), StoreError> {
        guarded(&self.path, || self.commit(folded, changes))
    }

    fn commit(
        &self,
        folded: Epoch,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> Result<(), StoreError> {
        let doing = "folding into the tables";
        let mut transaction = self.database.begin_write().map_err(|e| self.error(doing, e))?;
        // Opening after a crash must not walk through all of the file.
        transaction.set_quick_repair(true);
        self.apply(&transaction, folded, changes)?;
        transaction.commit().map_err(|e| self.error(doing, e))
    }

    fn apply(
        &self,
        transaction: &WriteTransaction,
        folded: Epoch,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> Result<(), StoreError> {
        let doing = "folding into the tables";
        let mut tables = Vec::with_capacity(Table::ALL.len());
        for table in Table::ALL {
            let open = transaction.open_table(definition(table));
            tables.push(open.map_err(|e| self.error(doing, e))?);
        }
        for change in changes {
            match change {
                Change::Put { table, key, value } => {
                    assert!(!is_own(table, &key), "this key is the store's own");
                    let put = tables[table as usize].insert(&*key, &*value).map(drop);
                    put.map_err(|e| self.error(doing, e))?;
                }
                Change::Delete { table, key } => {
                    assert!(!is_own(table, &key), "this key is the store's own");
                    let removed = tables[table as usize].remove(&*key).map(drop);
                    removed.map_err(|e| self.error(doing, e))?;
                }
            }
        }
        let meta = &mut tables[Table::Meta as usize];
        let schema = meta.insert(SCHEMA_KEY, SCHEMA.to_le_bytes().as_slice()).map(drop);
        schema.map_err(|e| self.error(doing, e))?;
        let epoch = meta.insert(FOLDED_KEY, folded.0.to_le_bytes().as_slice()).map(drop);
        epoch.map_err(|e| self.error(doing, e))
    }

    /// The tables as the last fold has left them.
    pub(super) fn snapshot(&self) -> Result<Snapshot, StoreError> {
        guarded(&self.path, || {
            let doing = "reading the tables";
            let transaction = self.database.begin_read().map_err(|e| self.error(doing, e))?;
            let open = |table| transaction.open_table(definition(table));
            let tables: Result<Vec<_>, _> = Table::ALL.into_iter().map(open).collect();
            let tables = tables.map_err(|e| self.error(doing, e))?;
            Ok(Snapshot { tables, path: self.path.clone() })
        })
    }

    /// Walks through the whole file. There must be no snapshot.
    pub(super) fn check(&mut self) -> Result<(), StoreError> {
        let (path, database) = (&self.path, &mut self.database);
        let clean = guarded(path, || {
            let checked = database.check_integrity();
            checked.map_err(|error| redb_error("checking the tables", path, error.into()))
        })?;
        if clean {
            Ok(())
        } else {
            Err(StoreError::Corrupt(format!("{path} did not verify and was repaired")))
        }
    }

    fn error(&self, doing: &'static str, error: impl Into<redb::Error>) -> StoreError {
        redb_error(doing, &self.path, error.into())
    }
}

impl Snapshot {
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
        let reader = &self.tables[table as usize];
        let value = guarded(&self.path, || {
            reader.get(key).map_err(|e| self.error("reading the tables", e))
        })?;
        let found = value.is_some();
        if let Some(value) = value {
            read(guarded(&self.path, || Ok(value.value()))?);
        }
        Ok(found)
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
        let reader = &self.tables[table as usize];
        let error = |e| self.error("scanning the tables", e);
        let mut range = guarded(&self.path, || reader.range(from..end).map_err(error))?;
        loop {
            let next = guarded(&self.path, || range.next().transpose().map_err(error))?;
            let Some((key, value)) = next else { return Ok(()) };
            let (key, value) = guarded(&self.path, || Ok((key.value(), value.value())))?;
            if !each(key, value) {
                return Ok(());
            }
        }
    }

    /// Entries, bytes of keys and values, bytes of everything else.
    pub(super) fn count(&self, table: Table) -> Result<(u64, u64, u64), StoreError> {
        let reader = &self.tables[table as usize];
        guarded(&self.path, || {
            let error = |e| self.error("counting what the tables hold", e);
            let stats = reader.stats().map_err(error)?;
            let overhead = stats.metadata_bytes() + stats.fragmented_bytes();
            Ok((reader.len().map_err(error)?, stats.stored_bytes(), overhead))
        })
    }

    fn error(&self, doing: &'static str, error: StorageError) -> StoreError {
        redb_error(doing, &self.path, error.into())
    }
}

fn is_own(table: Table, key: &[u8]) -> bool {
    table == Table::Meta && (key == SCHEMA_KEY || key == FOLDED_KEY)
}

/// A file that redb was making when the power went begins with zeros: redb writes its magic last,
/// so nothing was in it. It is made anew. A file that begins otherwise is not ours.
fn prepare(file: &dyn File, path: &str) -> Result<(), StoreError> {
    let io = |error| StoreError::io("reading the tables", path, &error);
    let mut first = [0; MAGIC.len()];
    let len = file.len().map_err(io)?;
    let there = (len as usize).min(first.len());
    file.read_at(0, &mut first[..there]).map_err(io)?;
    if len == 0 || first == MAGIC {
        return Ok(());
    }
    if first != [0; MAGIC.len()] {
        return Err(StoreError::Foreign(path.to_owned()));
    }
    file.set_len(0).and_then(|()| file.sync()).map_err(io)
}

/// Runs something of redb's; a panic is a damaged file.
fn guarded<T>(path: &str, run: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    // What redb may leave half changed is behind its own locks, which are poisoned then.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        Err(StoreError::Corrupt(format!("{path} can not be read: {text}")))
    })
}

fn redb_error(doing: &'static str, path: &str, error: redb::Error) -> StoreError {
    match error {
        redb::Error::Corrupted(what) => StoreError::Corrupt(format!("{path}: {what}")),
        redb::Error::PreviousIo => StoreError::Failed,
        redb::Error::UpgradeRequired(version) => StoreError::Corrupt(format!(
            "{path} has redb's file format {version}, which only an older program reads"
        )),
        error => StoreError::Io { doing, what: format!("{path}: {error}") },
    }
}

/// Our file as redb asks for it.
#[derive(Debug)]
struct Backend(Box<dyn File>);

impl redb::StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.0.read_at(at, into)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn write(&self, at: u64, from: &[u8]) -> io::Result<()> {
        self.0.write_at(at, from)
    }
}
