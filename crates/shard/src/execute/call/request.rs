//! What is asked of a call, and what is answered?

use std::{collections::BTreeMap, fmt};

use alloy_eips::{eip2930::AccessList, eip7702::SignedAuthorization};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use revm::context::result::{ExecutionResult, HaltReason};

use super::words::halt_words;
use crate::{store::StoreError, trace::TraceLimit};

/// A call that is not a transaction.
#[derive(Clone, Debug, Default)]
pub struct Call {
    pub from: Address,
    /// Whom it calls; with `TxKind::Create` the input is code that creates a contract.
    pub to: TxKind,
    /// At most so much; with `None` as much as is allowed.
    pub gas: Option<u64>,
    /// What it pays per gas at most. With `None` gas is free.
    pub gas_price: Option<u128>,
    pub priority_fee: Option<u128>,
    pub value: U256,
    pub input: Bytes,
    /// With `None` the account's.
    pub nonce: Option<u64>,
    pub access_list: AccessList,
    pub authorizations: Vec<SignedAuthorization>,
}

/// What is different from the state and the block while a call is made.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    pub accounts: BTreeMap<Address, AccountOverride>,
    pub block: BlockOverride,
}

impl Overrides {
    /// Whether nothing is different but the block's own fields.
    pub(super) fn is_of_block(&self) -> bool {
        self.accounts.is_empty() && self.block.hashes.is_empty()
    }
}

/// What is different about an account.
#[derive(Clone, Debug, Default)]
pub struct AccountOverride {
    pub balance: Option<U256>,
    pub nonce: Option<u64>,
    pub code: Option<Bytes>,
    /// Its whole storage.
    pub state: Option<BTreeMap<B256, B256>>,
    /// Some of its slots.
    pub state_diff: BTreeMap<B256, B256>,
}

/// What is different about the block.
#[derive(Clone, Debug, Default)]
pub struct BlockOverride {
    pub number: Option<u64>,
    pub timestamp: Option<u64>,
    pub base_fee: Option<u64>,
    /// What BLOBBASEFEE gives.
    pub blob_base_fee: Option<u128>,
    /// What DIFFICULTY gives, under a fork that has it.
    pub difficulty: Option<U256>,
    pub gas_limit: Option<u64>,
    pub prevrandao: Option<B256>,
    pub beneficiary: Option<Address>,
    /// What BLOCKHASH knows in addition, by number.
    pub hashes: BTreeMap<u64, B256>,
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Returned { output: Bytes, gas_used: u64 },
    Reverted { output: Bytes, gas_used: u64 },
    Halted { reason: HaltReason, gas_used: u64 },
}

impl Outcome {
    pub(super) fn new(result: ExecutionResult) -> Outcome {
        let gas_used = result.tx_gas_used();
        match result {
            ExecutionResult::Success { output, .. } => {
                Outcome::Returned { output: output.into_data(), gas_used }
            }
            ExecutionResult::Revert { output, .. } => Outcome::Reverted { output, gas_used },
            ExecutionResult::Halt { reason, .. } => Outcome::Halted { reason, gas_used },
        }
    }
}

/// Why a call could not be made, or its gas not be estimated.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError {
    /// The state could not be read.
    Store(StoreError),
    /// The call contradicts itself or the state.
    Invalid(String),
    /// It fails, whatever gas it gets: what it has to say about that.
    Reverted(Bytes),
    /// It fails, whatever gas it gets.
    Halted(HaltReason),
    /// It needs more gas than it may have.
    GasAbove(u64),
    /// The virtual machine panicked, with these words.
    Panicked(String),
    /// There is more in it than is recorded.
    TraceTooLarge(TraceLimit),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Store(error) => write!(f, "the state could not be read: {error}"),
            CallError::Invalid(why) => f.write_str(why),
            CallError::Reverted(_) => f.write_str("execution reverted"),
            CallError::Halted(reason) => f.write_str(&halt_words(reason)),
            CallError::GasAbove(gas) => write!(f, "gas required exceeds allowance ({gas})"),
            CallError::Panicked(what) => write!(f, "the call could not be made: {what}"),
            CallError::TraceTooLarge(limit) => write!(f, "{limit}"),
        }
    }
}

impl std::error::Error for CallError {}

impl From<StoreError> for CallError {
    fn from(error: StoreError) -> CallError {
        CallError::Store(error)
    }
}
