//! Where does execution find accounts, code, storage and hashes?

pub mod cache;
mod reader;

use alloy_primitives::{Address, B256, Bytes, U256};

pub use reader::{ReaderDatabase, bytecode};

use crate::{block::Account, store::StoreError};

/// The state of one shard at one block, to read from.
pub trait StateReader: Send + Sync {
    /// `None`: there is no such account.
    fn account(&self, address: Address) -> Result<Option<Account>, StoreError>;
    /// 0 where nothing was written.
    fn storage(&self, address: Address, slot: U256) -> Result<U256, StoreError>;
    /// All slots of an account that are not 0, in order. For accounts that go with their storage,
    /// as before Cancun.
    fn slots(&self, address: Address) -> Result<Vec<(U256, U256)>, StoreError>;
    /// The code with this hash.
    fn code(&self, hash: B256) -> Result<Bytes, StoreError>;
    /// The hash of a block of this shard; `None`: there is none with this number.
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StoreError>;
}
