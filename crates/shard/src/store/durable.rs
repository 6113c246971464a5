//! How do a log and tables make one store that survives crashes?
//!
//! ```text
//!        append             rotate                fold (e)             append ...
//!   log e: r r r r    ->   log e: r r r r   ->   tables: + e     ->   log e + 2 may use the file
//!                          log e + 1:            log e + 1: r r       of log e
//! ```
//!
//! 1. The tables say up to which epoch they hold everything. Opening takes the logs after it: the
//!    next one, or the next two.
//! 2. A log is written over only after the fold of its epoch is on disk.
//! 3. Locks: that of the tables before that of the log. Readers take none: what they read from is
//!    exchanged whole.
//! 4. The store takes something while there is a snapshot, that one has not failed, and neither has the
//!    log. What fails belongs to the snapshot that was read from, so whoever is late with an old one says
//!    nothing of the tables that were opened since.
//! 5. Opening again sees to the log first, and leaves tables that are well as they are: while the log
//!    can not be synced, reading goes on.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use arc_swap::ArcSwapOption;

use super::{
    Change, Epoch, Replayed, Store, StoreError, Table,
    log::{Log, bytes_of},
    snapshot::Snapshot,
    tables::Tables,
};
use crate::disk::Disk;

/// What can be chosen about a store on disk.
#[derive(Clone, Debug)]
pub struct Options {
    /// How much of the tables is kept in memory.
    pub cache_bytes: usize,
    /// How much a log grows by when it has to. So much is written then, as zeros.
    pub log_step_bytes: u64,
    /// A number that strangers do not know; used when a store is made. Without it, someone who
    /// sends bytes that look like records could have them read as such after a crash.
    pub salt: u64,
    /// Whether records that were synced and can not be read any more, since the log was damaged, are
    /// cut off with all that is behind them. Otherwise such a store is not opened.
    pub cut_damaged: bool,
}

impl Default for Options {
    fn default() -> Options {
        // The standard library draws the keys of its maps from the system's randomness.
        let salt = RandomState::new().hash_one(0);
        Options { cache_bytes: 256 << 20, log_step_bytes: 256 << 10, salt, cut_damaged: false }
    }
}

/// A log and tables on a disk.
///
/// ```
/// use std::sync::Arc;
/// use shard::{disk::SimDisk, store::{Change, DiskStore, Options, Store, StoreError, Table}};
///
/// let disk = Arc::new(SimDisk::new(1));
/// let store = DiskStore::open(disk.clone(), Options::default())?;
/// store.append(&[b"a record"], true)?;
/// drop(store);
///
/// // Opening gives the record again, until its epoch is folded.
/// let store = DiskStore::open(disk, Options::default())?;
/// let mut changes = Vec::new();
/// store.replay(&mut |_, record| {
///     let (table, key, value) = (Table::Codes, b"key".to_vec(), record.to_vec());
///     changes.push(Change::Put { table, key, value });
///     Ok(())
/// })?;
/// let (epoch, _) = store.current();
/// store.rotate()?;
/// store.fold(epoch, &mut changes.into_iter())?;
/// assert!(store.get(Table::Codes, b"key", &mut |value| assert_eq!(value, b"a record"))?);
/// # Ok::<(), StoreError>(())
/// ```
#[derive(Debug)]
pub struct DiskStore {
    disk: Arc<dyn Disk>,
    options: Options,
    log: Mutex<Log>,
    /// `None` when they could not be opened again.
    pub(super) tables: Mutex<Option<Tables>>,
    /// `None` while there are no tables to read from.
    pub(super) snapshot: ArcSwapOption<Snapshot>,
    folded: AtomicU64,
}

impl DiskStore {
    /// Opens what is on the disk, or begins.
    pub fn open(disk: Arc<dyn Disk>, options: Options) -> Result<DiskStore, StoreError> {
        let tables = Tables::open(&*disk, options.cache_bytes)?;
        let snapshot = tables.snapshot()?;
        let folded = snapshot.folded()?;
        let log = Log::open(disk.clone(), folded, &options)?;
        Ok(DiskStore {
            disk,
            options,
            log: Mutex::new(log),
            tables: Mutex::new(Some(tables)),
            snapshot: ArcSwapOption::from_pointee(snapshot),
            folded: AtomicU64::new(folded.0),
        })
    }

    /// The log, unless the store has failed.
    fn open_log(&self) -> Result<MutexGuard<'_, Log>, StoreError> {
        if self.are_tables_well() { Ok(self.log()) } else { Err(StoreError::Failed) }
    }

    /// Whether there are tables, and they have not failed since they were opened.
    fn are_tables_well(&self) -> bool {
        self.snapshot.load().as_ref().is_some_and(|snapshot| !snapshot.has_failed())
    }

    /// Reads. After an error of the disk redb gives nothing but errors, so the whole store counts
    /// as failed: whoever appends next is told to open it again.
    fn read<T>(
        &self,
        read: impl FnOnce(&Snapshot) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let snapshot = self.snapshot.load();
        let snapshot = snapshot.as_deref().ok_or(StoreError::Failed)?;
        let done = read(snapshot);
        if matches!(done, Err(StoreError::Io { .. } | StoreError::Failed)) {
            snapshot.fail();
        }
        done
    }

    /// How many runs there are.
    #[cfg(test)]
    pub(super) fn runs(&self) -> usize {
        self.snapshot.load().as_ref().map_or(0, |snapshot| snapshot.runs())
    }

    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for DiskStore {
    fn append(&self, records: &[&[u8]], sync: bool) -> Result<(), StoreError> {
        self.open_log()?.append(records, sync)
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.open_log()?.sync()
    }

    fn rotate(&self) -> Result<Epoch, StoreError> {
        self.open_log()?.rotate()
    }

    fn current(&self) -> (Epoch, u64) {
        let span = self.log().current();
        (span.epoch, bytes_of(span))
    }

    fn folded(&self) -> Epoch {
        Epoch(self.folded.load(Relaxed))
    }

    fn fold(
        &self,
        epoch: Epoch,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> Result<(), StoreError> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let tables = tables.as_mut().ok_or(StoreError::Failed)?;
        {
            let log = self.open_log()?;
            log.check()?;
            assert!(epoch < log.current().epoch, "an epoch is folded when it is over");
        }
        let folded = epoch.max(self.folded());
        match tables.fold(folded, changes).and_then(|()| tables.snapshot()) {
            Ok(snapshot) => {
                self.snapshot.store(Some(Arc::new(snapshot)));
                self.folded.store(folded.0, Relaxed);
                self.log().forget(folded);
                Ok(())
            }
            Err(error) => {
                // Whether it was taken is found out by opening the tables again.
                self.snapshot.load().iter().for_each(|snapshot| snapshot.fail());
                Err(error)
            }
        }
    }

    fn replay(&self, each: &mut Replayed<'_>) -> Result<(), StoreError> {
        self.log().replay(each)
    }

    fn get(
        &self,
        table: Table,
        key: &[u8],
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, StoreError> {
        self.read(|snapshot| snapshot.get(table, key, read))
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        end: &[u8],
        each: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        self.read(|snapshot| snapshot.scan(table, from, end, each))
    }

    fn reopen(&self) -> Result<(), StoreError> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let mut log = self.log();
        log.reopen()?;
        if self.are_tables_well() {
            return Ok(());
        }
        // The old tables are closed before the new ones are opened: one writer per file. Those who
        // still read from them get errors.
        self.snapshot.store(None);
        *tables = None;
        let opened = Tables::open(&*self.disk, self.options.cache_bytes)?;
        let snapshot = opened.snapshot()?;
        let folded = snapshot.folded()?;
        self.folded.store(folded.0, Relaxed);
        log.forget(folded);
        *tables = Some(opened);
        self.snapshot.store(Some(Arc::new(snapshot)));
        Ok(())
    }
}
