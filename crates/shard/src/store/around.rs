//! A store around another one: to time it, or to let it fail in a test.

use super::{Change, Epoch, Replayed, Store, StoreError, Table};

/// A [`Store`] that leaves to another one what it does not do itself.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
/// use shard::store::{Around, MemoryStore, Store, StoreError};
///
/// /// Counts how often is synced.
/// #[derive(Default)]
/// struct Counted {
///     store: MemoryStore,
///     syncs: AtomicUsize,
/// }
///
/// impl Around for Counted {
///     fn inner(&self) -> &dyn Store {
///         &self.store
///     }
///
///     fn sync(&self) -> Result<(), StoreError> {
///         self.syncs.fetch_add(1, Relaxed);
///         self.store.sync()
///     }
/// }
///
/// let counted = Counted::default();
/// Store::append(&counted, &[b"a record"], false)?;
/// Store::sync(&counted)?;
/// assert_eq!(counted.syncs.load(Relaxed), 1);
/// # Ok::<(), StoreError>(())
/// ```
pub trait Around: Send + Sync + 'static {
    /// The other one.
    fn inner(&self) -> &dyn Store;

    /// As [`Store::append`].
    ///
    /// # Errors
    /// As there.
    fn append(&self, records: &[&[u8]], sync: bool) -> Result<(), StoreError> {
        self.inner().append(records, sync)
    }

    /// As [`Store::sync`].
    ///
    /// # Errors
    /// As there.
    fn sync(&self) -> Result<(), StoreError> {
        self.inner().sync()
    }

    /// As [`Store::fold`].
    ///
    /// # Errors
    /// As there.
    fn fold(
        &self,
        epoch: Epoch,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> Result<(), StoreError> {
        self.inner().fold(epoch, changes)
    }

    /// As [`Store::get`].
    ///
    /// # Errors
    /// As there.
    fn get(
        &self,
        table: Table,
        key: &[u8],
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, StoreError> {
        self.inner().get(table, key, read)
    }
}

impl<S: Around> Store for S {
    fn append(&self, records: &[&[u8]], sync: bool) -> Result<(), StoreError> {
        Around::append(self, records, sync)
    }

    fn sync(&self) -> Result<(), StoreError> {
        Around::sync(self)
    }

    fn has_disk(&self) -> bool {
        self.inner().has_disk()
    }

    fn rotate(&self) -> Result<Epoch, StoreError> {
        self.inner().rotate()
    }

    fn current(&self) -> (Epoch, u64) {
        self.inner().current()
    }

    fn folded(&self) -> Epoch {
        self.inner().folded()
    }

    fn fold(
        &self,
        epoch: Epoch,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> Result<(), StoreError> {
        Around::fold(self, epoch, changes)
    }

    fn replay(&self, each: &mut Replayed<'_>) -> Result<(), StoreError> {
        self.inner().replay(each)
    }

    fn get(
        &self,
        table: Table,
        key: &[u8],
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, StoreError> {
        Around::get(self, table, key, read)
    }

    fn scan(
        &self,
        table: Table,
        from: &[u8],
        end: &[u8],
        each: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        self.inner().scan(table, from, end, each)
    }

    fn reopen(&self) -> Result<(), StoreError> {
        self.inner().reopen()
    }
}
