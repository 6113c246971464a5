//! Is what the store holds in order, and how much is it?

use std::sync::{Arc, PoisonError};

use super::{DiskStore, Epoch, Store, StoreError, Table};
use crate::commit::prune;

/// What a check has gone through without finding anything wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Records that are in a log and not yet in the tables.
    pub records: u64,
    /// In all tables.
    pub entries: u64,
    /// The last epoch whose records are in the tables.
    pub folded: Epoch,
    /// The epoch that records are appended to.
    pub current: Epoch,
}

/// How much there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// One for each of [`Table::ALL`], in that order.
    pub tables: Vec<TableStatistics>,
    /// Blocks of all shards that are not kept any more.
    pub pruned_blocks: u64,
    /// Bytes of records that are in a log and not yet in the tables.
    pub log_bytes: u64,
    /// The last epoch whose records are in the tables.
    pub folded: Epoch,
    /// The epoch that records are appended to.
    pub current: Epoch,
}

/// How much one table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableStatistics {
    pub table: Table,
    pub entries: u64,
    /// Of keys and values.
    pub bytes: u64,
    /// Of pages that are used only in part, and of what finds the entries.
    pub overhead_bytes: u64,
}

impl DiskStore {
    /// Reads everything: that each record verifies, that the epochs follow each other, and each
    /// page of the tables with redb's own check. Takes as long as reading all files.
    pub fn check(&mut self) -> Result<Checked, StoreError> {
        let mut records = 0;
        let mut last = self.folded();
        let (current, _) = self.current();
        self.replay(&mut |epoch, _| {
            if epoch < last || epoch > current {
                let (epoch, last) = (epoch.0, last.0);
                let what = format!("a record of epoch {epoch} is behind one of epoch {last}");
                return Err(StoreError::Corrupt(what));
            }
            last = epoch;
            records += 1;
            Ok(())
        })?;
        self.snapshot.store(None);
        let tables = self.tables.get_mut().unwrap_or_else(PoisonError::into_inner);
        let tables = tables.as_mut().ok_or(StoreError::Failed)?;
        let checked = tables.check();
        let snapshot = Arc::new(tables.snapshot()?);
        self.snapshot.store(Some(snapshot.clone()));
        checked?;
        snapshot.check()?;
        let entries = self.statistics()?.tables.iter().map(|table| table.entries).sum();
        Ok(Checked { records, entries, folded: self.folded(), current })
    }

    /// Counts. Takes time with the size of the tables.
    pub fn statistics(&self) -> Result<Statistics, StoreError> {
        let snapshot = self.snapshot.load_full().ok_or(StoreError::Failed)?;
        let of = |table| {
            let (entries, bytes, overhead_bytes) = snapshot.count(table)?;
            Ok(TableStatistics { table, entries, bytes, overhead_bytes })
        };
        let counted: Result<Vec<_>, _> = Table::ALL.into_iter().map(of).collect();
        let mut pruned_blocks = 0u64;
        snapshot.scan(Table::Pruned, &[], &[u8::MAX; 5], &mut |key, value| {
            let number = prune::pruned_value(value).filter(|_| key.len() == 4);
            pruned_blocks = pruned_blocks.saturating_add(number.unwrap_or(0));
            true
        })?;
        let log = self.log();
        let (log_bytes, current) = (log.bytes(), log.current().epoch);
        Ok(Statistics {
            tables: counted?,
            pruned_blocks,
            log_bytes,
            folded: self.folded(),
            current,
        })
    }
}
