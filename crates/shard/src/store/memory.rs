//! Where are the bytes of a node that nobody will start again?
//!
//! In maps. What was appended is kept until it is folded, as on disk, so that tests can give a
//! store back after a crash.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};

use super::{Change, Epoch, Replayed, Store, StoreError, Table, log::RECORD_BYTES_MAX};

/// A store in memory.
///
/// ```
/// use shard::store::{MemoryStore, Store, StoreError};
///
/// let store = MemoryStore::new();
/// store.append(&[b"synced"], true)?;
/// store.append(&[b"not synced"], false)?;
///
/// let mut found = Vec::new();
/// store.crash().replay(&mut |_, record| Ok(found.push(record.to_vec())))?;
/// assert_eq!(found, [b"synced"]);
/// # Ok::<(), StoreError>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryStore {
    log: Mutex<Records>,
    /// Shared with scans, which go on with the tables as they were.
    tables: RwLock<Arc<Tables>>,
}

type Tables = [BTreeMap<Vec<u8>, Vec<u8>>; Table::ALL.len()];

#[derive(Clone, Debug)]
struct Records {
    epoch: Epoch,
    folded: Epoch,
    records: VecDeque<(Epoch, Box<[u8]>)>,
    /// How many of them a power cut would have left.
    synced: usize,
    /// Of the current epoch.
    bytes: u64,
}

impl Default for Records {
    fn default() -> Records {
        let epoch = Epoch::NONE.next();
        Records { epoch, folded: Epoch::NONE, records: VecDeque::new(), synced: 0, bytes: 0 }
    }
}

impl MemoryStore {
    /// Empty.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// What would be found after a crash, had this been a disk: all but what was not synced.
    #[must_use]
    pub fn crash(&self) -> MemoryStore {
        let mut log = self.log().clone();
        log.discard();
        MemoryStore { log: Mutex::new(log), tables: RwLock::new(self.tables()) }
    }

    fn log(&self) -> MutexGuard<'_, Records> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tables(&self) -> Arc<Tables> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Records {
    fn discard(&mut self) {
        self.records.truncate(self.synced);
        let current = self.records.iter().filter(|(epoch, _)| *epoch == self.epoch);
        self.bytes = current.map(|(_, record)| record.len() as u64).sum();
    }
}

impl Store for MemoryStore {
    fn append(&self, records: &[&[u8]], sync: bool) -> Result<(), StoreError> {
        let mut log = self.log();
        for record in records {
            assert!(!record.is_empty(), "a record has at least one byte");
            let bytes = record.len() as u64;
            if bytes > RECORD_BYTES_MAX {
                return Err(StoreError::TooLong { bytes, max: RECORD_BYTES_MAX });
            }
        }
        let epoch = log.epoch;
        for record in records {
            log.bytes += record.len() as u64;
            log.records.push_back((epoch, Box::from(*record)));
        }
        if sync {
            log.synced = log.records.len();
        }
        Ok(())
    }

    fn sync(&self) -> Result<(), StoreError> {
        let mut log = self.log();
        log.synced = log.records.len();
        Ok(())
    }

    fn has_disk(&self) -> bool {
        false
    }

    fn rotate(&self) -> Result<Epoch, StoreError> {
        let mut log = self.log();
        let before_was_folded = log.folded.next() >= log.epoch;
        assert!(before_was_folded, "the epoch before the current one was not folded");
        log.synced = log.records.len();
        log.epoch = log.epoch.next();
        log.bytes = 0;
        Ok(log.epoch)
    }

    fn current(&self) -> (Epoch, u64) {
        let log = self.log();
        (log.epoch, log.bytes)
    }

    fn folded(&self) -> Epoch {
        self.log().folded
    }

    fn fold(
        &self,
        epoch: Epoch,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> Result<(), StoreError> {
        assert!(epoch < self.log().epoch, "an epoch is folded when it is over");
        // Changes may be made from what the store holds, so they are asked for before it is locked.
        let changes: Vec<Change> = changes.collect();
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        let maps = Arc::make_mut(&mut tables);
        for change in changes {
            match change {
                Change::Put { table, key, value } => maps[table as usize].insert(key, value),
                Change::Delete { table, key } => maps[table as usize].remove(&key),
            };
        }
        let mut log = self.log();
        log.folded = log.folded.max(epoch);
        let forgotten = log.records.iter().take_while(|(of, _)| *of <= epoch).count();
        log.records.drain(..forgotten);
        log.synced -= forgotten;
        Ok(())
    }

    fn replay(&self, each: &mut Replayed<'_>) -> Result<(), StoreError> {
        self.log().records.iter().try_for_each(|(epoch, record)| each(*epoch, record))
    }

    fn get(
        &self,
        table: Table,
        key: &[u8],
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, StoreError> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        let value = tables[table as usize].get(key);
        let found = value.is_some();
        if let Some(value) = value {
            read(value);
        }
        Ok(found)
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        end: &[u8],
        each: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        if from >= end {
            return Ok(());
        }
        let tables = self.tables();
        let range = (Bound::Included(from), Bound::Excluded(end));
        for (key, value) in tables[table as usize].range::<[u8], _>(range) {
            if !each(key, value) {
                break;
            }
        }
        Ok(())
    }

    fn reopen(&self) -> Result<(), StoreError> {
        self.log().discard();
        Ok(())
    }
}
