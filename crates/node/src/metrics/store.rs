//! How long does the disk take? A store that is timed.

use std::sync::Arc;

use kernel::Handle;
use shard::store::{Change, Epoch, Replayed, Store, StoreError, Table};

use super::{Metrics, histogram::Histogram};

/// A store whose writes are timed.
pub(crate) struct TimedStore {
    pub(crate) inner: Arc<dyn Store>,
    pub(crate) metrics: Arc<Metrics>,
    /// Whose clock is asked.
    pub(crate) clock: Handle,
}

impl TimedStore {
    fn time<R>(&self, times: &Histogram, run: impl FnOnce() -> R) -> R {
        let begun = self.clock.now();
        let result = run();
        times.note(self.clock.now().saturating_sub(begun));
        result
    }
}

impl Store for TimedStore {
    fn append(&self, records: &[&[u8]], sync: bool) -> Result<(), StoreError> {
        let metrics = &self.metrics;
        let times = if sync { &metrics.appends_synced } else { &metrics.appends };
        self.time(times, || self.inner.append(records, sync))
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.time(&self.metrics.syncs, || self.inner.sync())
    }

    fn has_disk(&self) -> bool {
        self.inner.has_disk()
    }

    fn rotate(&self) -> Result<Epoch, StoreError> {
        self.inner.rotate()
    }

    fn current(&self) -> (Epoch, u64) {
        self.inner.current()
    }

    fn folded(&self) -> Epoch {
        self.inner.folded()
    }

    fn fold(
        &self,
        epoch: Epoch,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> Result<(), StoreError> {
        self.inner.fold(epoch, changes)
    }

    fn replay(&self, each: &mut Replayed<'_>) -> Result<(), StoreError> {
        self.inner.replay(each)
    }

    fn get(
        &self,
        table: Table,
        key: &[u8],
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, StoreError> {
        self.inner.get(table, key, read)
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        end: &[u8],
        each: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        self.inner.scan(table, from, end, each)
    }

    fn reopen(&self) -> Result<(), StoreError> {
        self.inner.reopen()
    }
}
