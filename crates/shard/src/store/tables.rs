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
const SCHEMA: u32 = 2;
const FOLDING: &str = "folding into the tables";
const READING: &str = "reading the tables";
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
        let database = call("opening the tables", &path, || {
            Builder::new().set_cache_size(cache_bytes).create_with_backend(Backend(file))
        })?;
        let tables = Tables { database, path };
        tables.make()?;
        Ok(tables)
    }

    /// Makes the tables in a new file, and refuses those of a newer program.
    fn make(&self) -> Result<(), StoreError> {
        let doing = "looking at the tables";
        let transaction = self.call(doing, || self.database.begin_read())?;
        let meta = self.call(doing, || match transaction.open_table(definition(Table::Meta)) {
            Ok(meta) => Ok(Some(meta)),
            Err(TableError::Storage(error)) => Err(error),
            Err(_) => Ok(None),
        })?;
        let Some(meta) = meta else {
            let others = self.call(doing, || transaction.list_tables().map(Iterator::count))?;
            return if others == 0 {
                self.fold(Epoch::NONE, &mut std::iter::empty())
            } else {
                Err(StoreError::Foreign(self.path.clone()))
            };
        };
        let schema = self.call(doing, || {
            let found = meta.get(SCHEMA_KEY)?;
            Ok::<_, StorageError>(found.and_then(|bytes| bytes.value().try_into().ok()))
        })?;
        match schema.map(u32::from_le_bytes) {
            Some(found) if found > SCHEMA => Err(StoreError::Newer { found, known: SCHEMA }),
            Some(SCHEMA) => Ok(()),
            // What it lacks is made, and an older program refuses it from now on.
            Some(_) => {
                let folded = self.call(doing, || {
                    let found = meta.get(FOLDED_KEY)?;
                    Ok::<_, StorageError>(found.and_then(|bytes| bytes.value().try_into().ok()))
                })?;
                let folded = folded.ok_or_else(|| StoreError::Foreign(self.path.clone()))?;
                self.fold(Epoch(u64::from_le_bytes(folded)), &mut std::iter::empty())
            }
            None => Err(StoreError::Foreign(self.path.clone())),
        }
    }

    /// Puts changes into the tables, and with them that this epoch was folded. A panic of
    /// `changes` is its own: it passes, and nothing has changed.
    pub(super) fn fold(
        &self,
        folded: Epoch,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> Result<(), StoreError> {
        let mut transaction = self.call(FOLDING, || self.database.begin_write())?;
        // Opening after a crash must not walk through all of the file.
        transaction.set_quick_repair(true);
        self.apply(&transaction, folded, changes)?;
        self.call(FOLDING, || transaction.commit())
    }

    fn apply(
        &self,
        transaction: &WriteTransaction,
        folded: Epoch,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> Result<(), StoreError> {
        let open = |table| self.call(FOLDING, || transaction.open_table(definition(table)));
        let mut tables: Vec<_> = Table::ALL.into_iter().map(open).collect::<Result<_, _>>()?;
        for change in changes {
            match change {
                Change::Put { table, key, value } => {
                    assert!(!is_own(table, &key), "this key is the store's own");
                    let table = &mut tables[table as usize];
                    self.call(FOLDING, || table.insert(&*key, &*value).map(drop))?;
                }
                Change::Delete { table, key } => {
                    assert!(!is_own(table, &key), "this key is the store's own");
                    let table = &mut tables[table as usize];
                    self.call(FOLDING, || table.remove(&*key).map(drop))?;
                }
            }
        }
        let meta = &mut tables[Table::Meta as usize];
        self.call(FOLDING, || {
            meta.insert(SCHEMA_KEY, SCHEMA.to_le_bytes().as_slice())?;
            meta.insert(FOLDED_KEY, folded.0.to_le_bytes().as_slice()).map(drop)
        })
    }

    /// The tables as the last fold has left them.
    pub(super) fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let transaction = self.call(READING, || self.database.begin_read())?;
        let open = |table| self.call(READING, || transaction.open_table(definition(table)));
        let tables = Table::ALL.into_iter().map(open).collect::<Result<_, _>>()?;
        Ok(Snapshot { tables, path: self.path.clone() })
    }

    /// Walks through the whole file. There must be no snapshot.
    pub(super) fn check(&mut self) -> Result<(), StoreError> {
        let (path, database) = (&self.path, &mut self.database);
        if call("checking the tables", path, || database.check_integrity())? {
            Ok(())
        } else {
            Err(StoreError::Corrupt(format!("{path} did not verify and was repaired")))
        }
    }

    fn call<T, E: Into<redb::Error>>(
        &self,
        doing: &'static str,
        run: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, StoreError> {
        call(doing, &self.path, run)
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
        loop {
            let Some((key, value)) = self.call(|| range.next().transpose())? else { return Ok(()) };
            let (key, value) = self.call(|| Ok((key.value(), value.value())))?;
            if !each(key, value) {
                return Ok(());
            }
        }
    }

    /// Entries, bytes of keys and values, bytes of everything else.
    pub(super) fn count(&self, table: Table) -> Result<(u64, u64, u64), StoreError> {
        self.call(|| {
            let reader = &self.tables[table as usize];
            let stats = reader.stats()?;
            let overhead = stats.metadata_bytes() + stats.fragmented_bytes();
            Ok((reader.len()?, stats.stored_bytes(), overhead))
        })
    }

    fn call<T>(&self, run: impl FnOnce() -> Result<T, StorageError>) -> Result<T, StoreError> {
        call(READING, &self.path, run)
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
fn call<T, E: Into<redb::Error>>(
    doing: &'static str,
    path: &str,
    run: impl FnOnce() -> Result<T, E>,
) -> Result<T, StoreError> {
    // What redb may leave half changed is behind its own locks, which are poisoned then.
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(done) => done.map_err(|error| redb_error(doing, path, error.into())),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
            Err(StoreError::Corrupt(format!("{path} can not be read: {text}")))
        }
    }
}

fn redb_error(doing: &'static str, path: &str, error: redb::Error) -> StoreError {
    match error {
        redb::Error::Corrupted(what) => StoreError::Corrupt(format!("{path}: {what}")),
        redb::Error::PreviousIo | redb::Error::DatabaseClosed => StoreError::Failed,
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
