//! Where do bytes go that must still be there tomorrow?
//!
//! ```text
//!   append: records, in order, one sync          fold: in the background, now and then
//!   +-----+-----+-----+- - - -                   +----------------------+
//!   |  r  |  r  |  r  |            ----------->  | tables, sorted keys  |
//!   +-----+-----+-----+- - - -                   +----------------------+
//!         log of one epoch                         get, first, scan
//! ```
//!
//! 1. A record that `append` has acknowledged under [`crate::config::Durability::Sync`] is given by
//!    `replay` after any crash, until a fold has taken its epoch.
//! 2. A fold is taken whole or not at all, together with the number of the epoch that it ends.
//! 3. `replay` gives the records of the epochs that were not folded, in the order of their
//!    appending, and none after a gap.

mod around;
mod check;
mod durable;
mod log;
mod memory;
mod runs;
mod snapshot;
mod tables;
#[cfg(test)]
pub(crate) mod tests;

use std::{fmt, io};

pub use around::Around;
pub use check::{Checked, Statistics, TableStatistics};
pub use durable::{DiskStore, Options};
pub use memory::MemoryStore;

/// What is kept by key. Keys begin with the shard's index, four bytes, big-endian; numbers in
/// keys are big-endian, so that their order is that of the bytes. Their numbers are in runs on disk: a
/// new one goes behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Table {
    /// index -> address, chain id
    Shards,
    /// index, address -> account
    Accounts,
    /// index, address, slot -> value
    Storage,
    /// index, code hash -> code
    Codes,
    /// index, number -> header, environment, transactions, receipts
    Blocks,
    /// index, number -> change set
    Changes,
    /// index, block hash -> number
    BlockHashes,
    /// index, transaction hash -> number, position
    Transactions,
    /// index, address, number -> the account before that block
    AccountHistory,
    /// index, address, slot, number -> the value before that block
    StorageHistory,
    /// index, transaction hash -> a transaction that waits
    Pool,
    /// index, transaction hash -> why it was dropped
    Dropped,
    /// index, owner, path -> node of the state trie
    TrieNodes,
    /// index, number -> call trees
    Traces,
    /// index -> the number up to which blocks are gone; index, number -> the hash of one of the last
    /// of them
    Pruned,
    /// what the store says of itself: schema version
    Meta,
}

impl Table {
    /// All of them, in the order of their declaration.
    pub const ALL: [Table; 16] = [
        Table::Shards,
        Table::Accounts,
        Table::Storage,
        Table::Codes,
        Table::Blocks,
        Table::Changes,
        Table::BlockHashes,
        Table::Transactions,
        Table::AccountHistory,
        Table::StorageHistory,
        Table::Pool,
        Table::Dropped,
        Table::TrieNodes,
        Table::Traces,
        Table::Pruned,
        Table::Meta,
    ];

    /// What it is called on disk.
    pub const fn name(self) -> &'static str {
        match self {
            Table::Shards => "shards",
            Table::Accounts => "accounts",
            Table::Storage => "storage",
            Table::Codes => "codes",
            Table::Blocks => "blocks",
            Table::Changes => "changes",
            Table::BlockHashes => "block-hashes",
            Table::Transactions => "transactions",
            Table::AccountHistory => "account-history",
            Table::StorageHistory => "storage-history",
            Table::Pool => "pool",
            Table::Dropped => "dropped",
            Table::TrieNodes => "trie-nodes",
            Table::Traces => "traces",
            Table::Pruned => "pruned",
            Table::Meta => "meta",
        }
    }
}

/// One step of a fold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Put { table: Table, key: Vec<u8>, value: Vec<u8> },
    Delete { table: Table, key: Vec<u8> },
}

impl Change {
    /// Where it is made: changes go in this order.
    pub(crate) fn place(&self) -> (Table, &[u8]) {
        match self {
            Change::Put { table, key, .. } | Change::Delete { table, key } => (*table, key),
        }
    }

    /// What is there afterwards, if anything.
    pub(crate) fn value(&self) -> Option<&[u8]> {
        match self {
            Change::Put { value, .. } => Some(value),
            Change::Delete { .. } => None,
        }
    }
}

/// Which log a record is in. They count up, and are folded in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The one before the first log: nothing was folded yet.
    pub const NONE: Epoch = Epoch(0);

    /// The one after it.
    pub fn next(self) -> Epoch {
        Epoch(self.0 + 1)
    }
}

/// What is done with each record that is replayed.
pub type Replayed<'a> = dyn FnMut(Epoch, &[u8]) -> Result<(), StoreError> + 'a;

/// The one way to a disk. Calls may come from any thread; `append`, `rotate` and `reopen` come
/// from one at a time, `fold` from one at a time.
pub trait Store: Send + Sync + 'static {
    /// Appends records, and with `sync` returns when they are on disk. After an error nothing is
    /// taken until `reopen`: what was appended before and acknowledged is there.
    fn append(&self, records: &[&[u8]], sync: bool) -> Result<(), StoreError>;

    /// All that was appended so far is on disk when it returns.
    fn sync(&self) -> Result<(), StoreError>;

    /// Whether there is a disk, so that it pays to sync for several at once.
    fn has_disk(&self) -> bool {
        true
    }

    /// Begins the next epoch: later records are in the next log, and all that was appended before
    /// is on disk.
    ///
    /// # Panics
    ///
    /// When the epoch before the current one was not folded: its log would be overwritten.
    fn rotate(&self) -> Result<Epoch, StoreError>;

    /// The epoch that records are appended to, and how many bytes it holds.
    fn current(&self) -> (Epoch, u64);

    /// The last epoch whose records are in the tables. After opening, the one after it may be over
    /// and still to be folded, also when it has no records.
    fn folded(&self) -> Epoch;

    /// Puts changes into the tables, whole, and forgets the logs up to this epoch. With an epoch
    /// that was folded before, the changes only.
    ///
    /// # Panics
    ///
    /// When the epoch is not over: what is appended to it later would be forgotten.
    fn fold(
        &self,
        epoch: Epoch,
        changes: &mut dyn Iterator<Item = Change>,
    ) -> Result<(), StoreError>;

    /// Calls `each` with each record that was not folded, in order. `each` may read the tables; it
    /// must not append.
    fn replay(&self, each: &mut Replayed<'_>) -> Result<(), StoreError>;

    /// Calls `read` with the value, if there is one. Whether there was one.
    fn get(
        &self,
        table: Table,
        key: &[u8],
        read: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, StoreError>;

    /// Calls `each` with keys and values from `from` on and below `end`, in order, until it says
    /// `false`.
    fn scan(
        &self,
        table: Table,
        from: &[u8],
        end: &[u8],
        each: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError>;

    /// After a failure: what was not synced is discarded, and what was acknowledged is read anew.
    fn reopen(&self) -> Result<(), StoreError>;
}

/// Why bytes could not be written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// The disk said no: what was attempted, and its words.
    Io { doing: &'static str, what: String },
    /// It failed before and was not reopened.
    Failed,
    /// It was closed.
    Closed,
    /// What was read can not be what was written.
    Corrupt(String),
    /// Another process has it open.
    Locked(String),
    /// A newer version wrote it.
    Newer { found: u32, known: u32 },
    /// The file is not one of ours.
    Foreign(String),
    /// A record is longer than the log takes. Nothing was written, and nothing has failed.
    TooLong { bytes: u64, max: u64 },
    /// The block, or the state at its end, is not kept any more. `kept`: how many blocks are.
    Pruned { number: u64, kept: u64 },
}

impl StoreError {
    /// What a disk said to an attempt at something.
    pub(crate) fn io(doing: &'static str, path: impl fmt::Display, error: &io::Error) -> Self {
        StoreError::Io { doing, what: format!("{path}: {error}") }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Io { doing, what } => write!(f, "{doing} failed: {what}"),
            StoreError::Failed => f.write_str("the store has failed and is not open again yet"),
            StoreError::Closed => f.write_str("the store is closed"),
            StoreError::Corrupt(what) => write!(f, "the data is corrupt: {what}"),
            StoreError::Locked(path) => {
                write!(
                    f,
                    "{path} is in use by another process: stop it, or choose another data directory"
                )
            }
            StoreError::Newer { found, known } => write!(
                f,
                "the data has schema version {found}, this program knows up to {known}: use a newer program"
            ),
            StoreError::Foreign(path) => {
                write!(f, "{path} is not a file of this program: choose another data directory")
            }
            StoreError::TooLong { bytes, max } => {
                write!(f, "a record of {bytes} bytes is too long, at most {max} are taken")
            }
            StoreError::Pruned { number, kept } => {
                write!(f, "block {number} was pruned: this node keeps the last {kept} blocks")
            }
        }
    }
}

impl std::error::Error for StoreError {}

impl revm::database_interface::DBErrorMarker for StoreError {}
