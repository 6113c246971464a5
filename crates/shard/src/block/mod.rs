//! What a block holds, and what it changed.

pub(crate) mod bytes;
mod changes;
mod encode;
mod genesis;
pub(crate) mod parts;
mod receipt;
mod root;
mod seal;

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, Log, U256};

use crate::{environment::Environment, transaction::SharedTransaction};

pub use encode::Body;
pub use genesis::{genesis_block, genesis_changes};
pub(crate) use parts::ListRoots;
pub use seal::seal;
pub(crate) use seal::seal_with;

/// A block of one shard. Its number is the shard's own height, without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub header: Header,
    /// The header's hash.
    pub hash: B256,
    /// Under which it was executed. Of the hashes, those that it has read.
    pub environment: Environment,
    pub transactions: Vec<SharedTransaction>,
    /// As many as transactions.
    pub receipts: Vec<Receipt>,
    pub changes: Arc<ChangeSet>,
}

impl Block {
    pub fn number(&self) -> u64 {
        self.header.number
    }
}

/// What became of one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Whether it succeeded. One that fails in execution is included all the same.
    pub success: bool,
    pub gas_used: u64,
    /// Of this transaction and those before it in the block.
    pub cumulative_gas_used: u64,
    pub gas_price: u128,
    /// Where the contract is that it created.
    pub created: Option<Address>,
    /// What it returned, or the reason of its revert. Nothing where it created a contract: the
    /// code is in the state.
    pub output: Bytes,
    pub logs: Vec<Log>,
}

/// What a block changed, in order of addresses and slots: the same bytes for the same block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    pub accounts: Vec<AccountChange>,
    /// Code that accounts got in this block, by its hash, in order. The shard may know it already:
    /// what is here must not depend on what happens to be at hand.
    pub codes: Vec<(B256, Bytes)>,
}

/// One account, before and after. Its slots may have changed though it has not itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountChange {
    pub address: Address,
    pub before: Option<Account>,
    pub after: Option<Account>,
    /// In order of slots. An account that is gone has each of its slots here, with 0 after.
    pub slots: Vec<SlotChange>,
}

/// One slot of an account's storage, before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotChange {
    pub slot: U256,
    pub before: U256,
    pub after: U256,
}

/// What a shard knows about an account. One that is empty (EIP-161) is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    pub nonce: u64,
    pub balance: U256,
    pub code_hash: B256,
}
