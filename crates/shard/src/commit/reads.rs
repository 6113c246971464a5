//! Who opens the store again when it can not be read?
//!
//! After an error of a read the tables give nothing but errors. Whoever appends next finds out; but
//! a shard that can not read has nothing to append, so it would wait for others for ever. So who
//! can not read says so, and the committer has a look.

use std::sync::Arc;

use super::Commit;
use crate::store::{Epoch, Store, StoreError, Table};

/// The tables, for those who only read.
pub(crate) struct Reads {
    store: Arc<dyn Store>,
    commit: Arc<Commit>,
}

impl Reads {
    pub(crate) fn new(commit: Arc<Commit>) -> Reads {
        Reads { store: commit.store.clone(), commit }
    }

    /// As [`Store::folded`].
    pub(crate) fn folded(&self) -> Epoch {
        self.store.folded()
    }

    /// As [`Store::get`].
    pub(crate) fn get(
        &self,
        table: Table,
        key: &[u8],
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, StoreError> {
        self.told(self.store.get(table, key, read))
    }

    /// As [`Store::scan`].
    pub(crate) fn scan(
        &self,
        table: Table,
        from: &[u8],
        end: &[u8],
        each: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        self.told(self.store.scan(table, from, end, each))
    }

    fn told<T>(&self, result: Result<T, StoreError>) -> Result<T, StoreError> {
        if matches!(result, Err(StoreError::Io { .. } | StoreError::Failed)) {
            self.commit.doubt();
        }
        result
    }
}
