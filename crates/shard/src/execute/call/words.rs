//! In which words does geth say that a call fails?
//!
//! Tools look for them.

use revm::context::result::{EVMError, HaltReason, InvalidTransaction};

use super::CallError;
use crate::store::StoreError;

/// Why execution was cut short.
///
/// ```
/// use revm::context::result::HaltReason;
/// use shard::execute::call::halt_words;
///
/// assert_eq!(halt_words(&HaltReason::InvalidJump), "invalid jump destination");
/// ```
pub fn halt_words(reason: &HaltReason) -> String {
    let words = match reason {
        HaltReason::OutOfGas(_) => "out of gas",
        HaltReason::OpcodeNotFound | HaltReason::NotActivated => "invalid opcode",
        HaltReason::InvalidFEOpcode => "invalid opcode: INVALID",
        HaltReason::InvalidJump => "invalid jump destination",
        HaltReason::StackUnderflow => "stack underflow",
        HaltReason::StackOverflow => "stack limit reached 1024 (1023)",
        HaltReason::OutOfOffset => "return data out of bounds",
        HaltReason::CreateCollision => "contract address collision",
        HaltReason::NonceOverflow => "nonce uint64 overflow",
        HaltReason::CreateContractSizeLimit => "max code size exceeded",
        HaltReason::CreateContractStartingWithEF => "invalid code: must not begin with 0xef",
        HaltReason::CreateInitCodeSizeLimit => "max initcode size exceeded",
        HaltReason::StateChangeDuringStaticCall | HaltReason::CallNotAllowedInsideStatic => {
            "write protection"
        }
        HaltReason::OutOfFunds => "insufficient balance for transfer",
        HaltReason::CallTooDeep => "max call depth exceeded",
        other => return other.to_string(),
    };
    words.to_owned()
}

/// Why a call could not even begin.
pub(crate) fn call_error(error: EVMError<StoreError>) -> CallError {
    let invalid = match error {
        EVMError::Database(error) => return CallError::Store(error),
        EVMError::Transaction(invalid) => invalid,
        other => return CallError::Invalid(other.to_string()),
    };
    CallError::Invalid(match invalid {
        InvalidTransaction::LackOfFundForMaxFee { fee, balance } => format!(
            "insufficient funds for gas * price + value: address has {balance} wei, {fee} needed"
        ),
        InvalidTransaction::GasPriceLessThanBasefee => {
            "max fee per gas less than block base fee".to_owned()
        }
        InvalidTransaction::PriorityFeeGreaterThanMaxFee => {
            "max priority fee per gas higher than max fee per gas".to_owned()
        }
        InvalidTransaction::CallGasCostMoreThanGasLimit { initial_gas, gas_limit } => {
            format!("intrinsic gas too low: have {gas_limit}, want {initial_gas}")
        }
        InvalidTransaction::GasFloorMoreThanGasLimit { gas_floor, gas_limit } => {
            format!("insufficient gas for floor data gas cost: have {gas_limit}, want {gas_floor}")
        }
        InvalidTransaction::CreateInitCodeSizeLimit => "max initcode size exceeded".to_owned(),
        other => other.to_string(),
    })
}
