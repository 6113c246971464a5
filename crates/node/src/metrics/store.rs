//! How long does the disk take? A store that is timed.

use std::sync::Arc;

use kernel::Handle;
use shard::store::{Around, Store, StoreError};

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

impl Around for TimedStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn append(&self, records: &[&[u8]], sync: bool) -> Result<(), StoreError> {
        let metrics = &self.metrics;
        let times = if sync { &metrics.appends_synced } else { &metrics.appends };
        self.time(times, || self.inner.append(records, sync))
    }

    fn sync(&self) -> Result<(), StoreError> {
        self.time(&self.metrics.syncs, || self.inner.sync())
    }
}
