//! Where is what is kept by key, and how do many changes become one?
//!
//! In one redb file over our [`File`]. A fold is one write transaction, together with the number
//! of the epoch that it ends, so that both are there or neither. Readers go on with the tables as
//! they were: a [`Snapshot`] holds one read transaction with its tables open, and is exchanged
//! after each fold. (Opening a read transaction and a table for one point read costs more than the
//! read itself.)
//!
//! What has keys that look random goes into [`Runs`] first, which are in a table of the same file.
//!
//! redb takes a file that was damaged in a clever way for its own and may panic. Such panics are
//! caught here, and become [`StoreError::Corrupt`].

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use redb::{
    Builder, Database, ReadableDatabase, StorageError, TableDefinition, TableError,
    WriteTransaction,
};

use super::{
    Change, Epoch, StoreError, Table,
    runs::{self, Runs},
    snapshot::Snapshot,
};
use crate::disk::{Disk, File};

const NAME: &str = "tables.redb";
/// Of the tables and of what they hold, records included.
const SCHEMA: u32 = 3;
const FOLDING: &str = "folding into the tables";
pub(super) const READING: &str = "reading the tables";
const SCHEMA_KEY: &[u8] = b"schema";
pub(super) const FOLDED_KEY: &[u8] = b"folded";
const RUNS_KEY: &[u8] = b"runs";
/// The first bytes of every redb file.
const MAGIC: [u8; 9] = [b'r', b'e', b'd', b'b', 0x1A, 0x0A, 0xA9, 0x0D, 0x0A];

pub(super) type Definition = TableDefinition<'static, &'static [u8], &'static [u8]>;

pub(super) const fn definition(table: Table) -> Definition {
    TableDefinition::new(table.name())
}

/// Blocks of runs.
pub(super) const BLOCKS: Definition = TableDefinition::new("runs");

/// Where folds go.
#[derive(Debug)]
pub(super) struct Tables {
    database: Database,
    path: String,
    runs: Arc<Runs>,
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
        let mut tables = Tables { database, path, runs: Arc::default() };
        // A fold that raises the version brings nothing, so it may come before the runs are known.
        tables.make()?;
        tables.read_runs()?;
        Ok(tables)
    }

    /// Finds the runs. A store in which there never was one does not say which there are.
    fn read_runs(&mut self) -> Result<(), StoreError> {
        let transaction = self.call(READING, || self.database.begin_read())?;
        let meta = self.call(READING, || transaction.open_table(definition(Table::Meta)))?;
        let blocks = self.call(READING, || transaction.open_table(BLOCKS))?;
        let runs = self.call(READING, || match meta.get(RUNS_KEY)? {
            Some(bytes) => Runs::read(bytes.value(), &blocks),
            None => Ok(Runs::default()),
        })?;
        self.runs = Arc::new(runs);
        Ok(())
    }

    /// Makes the tables in a new file, and refuses those of a newer program.
    fn make(&mut self) -> Result<(), StoreError> {
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
        &mut self,
        folded: Epoch,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> Result<(), StoreError> {
        let mut transaction = self.call(FOLDING, || self.database.begin_write())?;
        // Opening after a crash must not walk through all of the file.
        transaction.set_quick_repair(true);
        let runs = self.apply(&transaction, folded, changes)?;
        self.call(FOLDING, || transaction.commit())?;
        self.runs = Arc::new(runs);
        Ok(())
    }

    fn apply(
        &self,
        transaction: &WriteTransaction,
        folded: Epoch,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> Result<Runs, StoreError> {
        let open = |table| self.call(FOLDING, || transaction.open_table(definition(table)));
        let mut tables: Vec<_> = Table::ALL.into_iter().map(open).collect::<Result<_, _>>()?;
        let mut blocks = self.call(FOLDING, || transaction.open_table(BLOCKS))?;
        let mut put = |table: Table, key: &[u8], value: Option<&[u8]>| {
            let table = &mut tables[table as usize];
            match value {
                Some(value) => table.insert(key, value).map(drop),
                None => table.remove(key).map(drop),
            }
        };
        let mut apart = Vec::new();
        for change in changes {
            let (table, key) = change.place();
            assert!(!is_own(table, key), "this key is the store's own");
            if runs::take(table) {
                apart.push(change);
            } else {
                self.call(FOLDING, || put(table, key, change.value()))?;
            }
        }
        let mut runs = Runs::clone(&self.runs);
        self.call(FOLDING, || {
            if runs.is_empty() && apart.len() < runs::FEW {
                for change in &apart {
                    let (table, key) = change.place();
                    put(table, key, change.value())?;
                }
            } else {
                runs.add(&mut blocks, apart)?;
                runs.settle(&mut blocks, &mut put)?;
                put(Table::Meta, RUNS_KEY, Some(&runs.encode()))?;
            }
            put(Table::Meta, SCHEMA_KEY, Some(&SCHEMA.to_le_bytes()))?;
            put(Table::Meta, FOLDED_KEY, Some(&folded.0.to_le_bytes()))
        })?;
        Ok(runs)
    }

    /// The tables as the last fold has left them.
    pub(super) fn snapshot(&self) -> Result<Snapshot, StoreError> {
        Snapshot::of(&self.database, self.runs.clone(), &self.path)
    }

    /// Walks through the whole file. There must be no snapshot.
    pub(super) fn check(&mut self) -> Result<(), StoreError> {
        let (path, database) = (&self.path, &mut self.database);
        let verified = call("checking the tables", path, || database.check_integrity())?;
        // What did not verify may have gone back to an earlier fold, and to its runs.
        self.read_runs()?;
        let path = &self.path;
        if verified {
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

fn is_own(table: Table, key: &[u8]) -> bool {
    table == Table::Meta && [SCHEMA_KEY, FOLDED_KEY, RUNS_KEY].contains(&key)
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
pub(super) fn call<T, E: Into<redb::Error>>(
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
