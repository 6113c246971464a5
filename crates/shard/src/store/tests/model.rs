//! What should a store hold after some steps, and does it?
//!
//! A [`Model`] knows what was acknowledged and what was merely tried. After a crash a store may
//! hold any state from the one to the other, and nothing else.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    disk::{Disk, SimDisk},
    store::{Change, DiskStore, Epoch, MemoryStore, Options, Store, StoreError, Table},
};

pub(super) fn open(disk: &SimDisk) -> Result<DiskStore, StoreError> {
    let options =
        Options { cache_bytes: 1 << 20, log_step_bytes: 3_000, salt: 7, ..Options::default() };
    DiskStore::open(Arc::new(disk.clone()) as Arc<dyn Disk>, options)
}

/// Both kinds, empty.
pub(super) fn both() -> Vec<(&'static str, Box<dyn Store>)> {
    let disk = open(&SimDisk::new(1)).expect("the disk is healthy");
    vec![("disk", Box::new(disk)), ("memory", Box::new(MemoryStore::new()))]
}

/// What can be done with a store.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Append {
        records: Vec<Vec<u8>>,
        sync: bool,
    },
    Sync,
    Rotate,
    /// Folds the epoch before the current one: what its records say, and this besides.
    Fold {
        besides: Vec<Change>,
    },
}

type Entries = BTreeMap<(Table, Vec<u8>), Vec<u8>>;
pub(super) type Record = (Epoch, Vec<u8>);

/// All that can be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) records: Vec<Record>,
    pub(super) entries: Entries,
}

/// Reads everything but what the store says of itself.
pub(super) fn read(store: &dyn Store) -> Result<Held, StoreError> {
    let mut held = Held::default();
    store.replay(&mut |epoch, record| {
        held.records.push((epoch, record.to_vec()));
        Ok(())
    })?;
    for table in Table::ALL.into_iter().filter(|table| *table != Table::Meta) {
        store.scan(table, &[], &[0xff; 40], &mut |key, value| {
            held.entries.insert((table, key.to_vec()), value.to_vec());
            true
        })?;
    }
    Ok(held)
}

/// What a record becomes when it is folded.
fn folded(record: &[u8]) -> Change {
    let key = record[..record.len().min(3)].to_vec();
    Change::Put { table: Table::Blocks, key, value: record.to_vec() }
}

fn apply(entries: &mut Entries, change: Change) {
    match change {
        Change::Put { table, key, value } => entries.insert((table, key), value),
        Change::Delete { table, key } => entries.remove(&(table, key)),
    };
}

#[derive(Clone, Debug)]
pub(super) struct Model {
    /// What was acknowledged, first of it what is synced.
    acknowledged: Held,
    /// How many of the records are synced.
    synced: usize,
    /// What was tried and failed: the state that it would have led to.
    tried: Option<Held>,
    current: Epoch,
    /// The epoch before the current one is not folded.
    is_folding: bool,
}

impl Model {
    pub(super) fn new() -> Model {
        Model {
            acknowledged: Held::default(),
            synced: 0,
            tried: None,
            current: Epoch(1),
            is_folding: false,
        }
    }

    /// Whether the step may be asked of a store now.
    pub(super) fn allows(&self, step: &Step) -> bool {
        match step {
            Step::Rotate => !self.is_folding,
            Step::Fold { .. } => self.is_folding,
            Step::Append { .. } | Step::Sync => true,
        }
    }

    /// Does the step, and remembers what it came to.
    pub(super) fn run(&mut self, store: &dyn Store, step: &Step) -> Result<(), StoreError> {
        let mut after = self.acknowledged.clone();
        let done = match step {
            Step::Append { records, sync } => {
                let new = records.iter().map(|record| (self.current, record.clone()));
                after.records.extend(new);
                let records: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
                store.append(&records, *sync)
            }
            Step::Sync => store.sync(),
            Step::Rotate => store.rotate().map(drop),
            Step::Fold { besides } => {
                let over = Epoch(self.current.0 - 1);
                let is_over = |record: &&Record| record.0 == over;
                let old = after.records.iter().filter(is_over).map(|record| folded(&record.1));
                let changes: Vec<Change> = old.chain(besides.iter().cloned()).collect();
                after.records.retain(|record| record.0 != over);
                changes.iter().cloned().for_each(|change| apply(&mut after.entries, change));
                store.fold(over, &mut changes.into_iter())
            }
        };
        if let Err(error) = done {
            self.tried = Some(after);
            return Err(error);
        }
        let gone = self.acknowledged.records.len().saturating_sub(after.records.len());
        self.acknowledged = after;
        match step {
            Step::Append { sync: false, .. } => {}
            Step::Append { .. } | Step::Sync => self.synced = self.acknowledged.records.len(),
            Step::Rotate => {
                self.synced = self.acknowledged.records.len();
                self.current = self.current.next();
                self.is_folding = true;
            }
            Step::Fold { .. } => {
                self.synced -= gone;
                self.is_folding = false;
            }
        }
        Ok(())
    }

    /// What a store holds that was opened after a crash, or again: at least what was synced, at
    /// most what was tried, in order and without a gap. Goes on from there.
    #[track_caller]
    pub(super) fn check(&mut self, store: &dyn Store, context: &str) {
        let found = read(store).unwrap_or_else(|error| panic!("{context}: {error}"));
        let states = [Some(&self.acknowledged), self.tried.as_ref()];
        let fits = |state: &&Held| {
            let is_folded_alike = state.entries == found.entries;
            // Records of a fold that was taken are not among those that must be there.
            let gone = self.acknowledged.records.len().saturating_sub(state.records.len());
            let must = self.synced.saturating_sub(gone);
            let (len, all) = (found.records.len(), &state.records);
            is_folded_alike && len >= must && len <= all.len() && all[..len] == found.records[..]
        };
        let state = states.into_iter().flatten().find(fits);
        assert!(state.is_some(), "{context}: found {found:?}\nmodel {self:?}");
        (self.current, _) = store.current();
        self.is_folding = store.folded().next() < self.current;
        self.synced = found.records.len();
        (self.acknowledged, self.tried) = (found, None);
    }

    /// Whether everything that was acknowledged is there and nothing else.
    #[track_caller]
    pub(super) fn check_all(&self, store: &dyn Store, context: &str) {
        assert_eq!(read(store).as_ref(), Ok(&self.acknowledged), "{context}");
    }
}

/// A workload that follows from a seed.
#[derive(Clone, Debug)]
pub(super) struct Steps(u64);

impl Steps {
    pub(super) fn new(seed: u64) -> Steps {
        Steps(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn bytes(&mut self, len_max: u64) -> Vec<u8> {
        let len = 1 + self.below(len_max);
        // Few values, so that records of one epoch look like those of another.
        let byte = self.below(3) as u8 + 1;
        (0..len).map(|_| byte).collect()
    }

    fn change(&mut self) -> Change {
        let table = Table::ALL[self.below(14) as usize];
        let key = self.bytes(4);
        match self.below(3) {
            0 => Change::Delete { table, key },
            _ => Change::Put { table, key, value: self.bytes(600) },
        }
    }

    pub(super) fn next(&mut self) -> Step {
        match self.below(10) {
            0 => Step::Sync,
            1 | 2 => Step::Rotate,
            3 | 4 => Step::Fold { besides: (0..self.below(5)).map(|_| self.change()).collect() },
            _ => {
                let records = (0..1 + self.below(4)).map(|_| self.bytes(700)).collect();
                Step::Append { records, sync: self.below(4) != 0 }
            }
        }
    }
}
