//! What comes of executing transactions, one after the other or side by side?

pub mod call;
mod context;
pub(crate) mod ending;
pub mod evm;
pub mod parallel;
pub mod sequential;
#[cfg(test)]
pub(crate) mod testing;

use std::{fmt, sync::Arc};

use alloy_primitives::{Address, B256, map::HashMap};

use crate::{
    block::{ChangeSet, Receipt},
    store::StoreError,
    trace::TraceLimit,
    transaction::SharedTransaction,
};

/// What opcodes and the header see of a block: the shared environment, resolved for one shard and
/// height.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockContext {
    /// The shard's own height: the header's number.
    pub height: u64,
    /// NUMBER.
    pub number: u64,
    pub parent_hash: B256,
    pub timestamp: u64,
    pub base_fee: u64,
    pub excess_blob_gas: u64,
    pub prevrandao: B256,
    pub beneficiary: Address,
    pub parent_beacon_block_root: B256,
    /// Which hashes BLOCKHASH knows: the base chain's, or with `None` the shard's own.
    pub base_hashes: Option<Arc<HashMap<u64, B256>>>,
}

/// What a batch came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Those that the block holds, in order.
    pub included: Vec<(SharedTransaction, Receipt)>,
    /// Those that can never be included, and why. They have changed nothing.
    pub dropped: Vec<(SharedTransaction, DropReason)>,
    /// Those for which the block had no room left. They stay in the pool.
    pub left: Vec<SharedTransaction>,
    pub changes: Arc<ChangeSet>,
    pub gas_used: u64,
    /// The hashes that BLOCKHASH has given out, in order of numbers: what re-execution needs.
    pub hashes_read: Vec<(u64, B256)>,
}

/// Why a transaction that was accepted will never be in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DropReason {
    /// Its nonce was used by another.
    NonceTooLow { nonce: u64, account: u64 },
    /// The sender can not pay for it.
    InsufficientFunds,
    /// It waited for longer than the pool's limit.
    Expired,
    /// One with the same nonce that pays more took its place.
    Replaced { by: B256 },
    /// The pool was full and it paid least.
    Evicted,
    /// The virtual machine refuses it, in its own words.
    Invalid(String),
    /// Executing it made the virtual machine panic.
    Panicked(String),
}

/// Why a batch could not be executed as a whole. Nothing of it is lost: it stays in the pool.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The state could not be read.
    Store(StoreError),
    /// The executor itself has failed.
    Fault(String),
    /// There is more in what was asked to be traced than is recorded.
    TraceTooLarge(TraceLimit),
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DropReason::NonceTooLow { nonce, account } => {
                write!(f, "its nonce {nonce} is used: the account is at {account}")
            }
            DropReason::InsufficientFunds => f.write_str("the sender can not pay for it"),
            DropReason::Expired => f.write_str("it waited for too long"),
            DropReason::Replaced { by } => write!(f, "{by} took its place"),
            DropReason::Evicted => f.write_str("the pool was full and it paid least"),
            DropReason::Invalid(why) => write!(f, "it is not valid: {why}"),
            DropReason::Panicked(what) => write!(f, "executing it failed: {what}"),
        }
    }
}

impl fmt::Display for ExecuteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExecuteError::Store(error) => write!(f, "the state could not be read: {error}"),
            ExecuteError::Fault(what) => write!(f, "the executor has failed: {what}"),
            ExecuteError::TraceTooLarge(limit) => write!(f, "{limit}"),
        }
    }
}

impl std::error::Error for ExecuteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ExecuteError::Store(error) => Some(error),
            ExecuteError::Fault(_) | ExecuteError::TraceTooLarge(_) => None,
        }
    }
}

impl From<StoreError> for ExecuteError {
    fn from(error: StoreError) -> ExecuteError {
        ExecuteError::Store(error)
    }
}
