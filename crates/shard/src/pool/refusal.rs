//! Why does a pool not take a transaction?
//!
//! Where geth has words for it, these begin with geth's: tools look for them.

use std::fmt;

use alloy_primitives::{Address, U256};
use revm::primitives::hardfork::SpecId;

/// Why a pool does not take a transaction. It has changed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It is in the pool.
    AlreadyKnown,
    /// Nobody has signed it, and the node asks for a signature.
    Unsigned,
    TooLarge {
        bytes: usize,
        bytes_max: usize,
    },
    /// It is for another shard, or for another chain altogether.
    WrongChainId {
        have: u64,
        want: u64,
    },
    /// Without a chain id anyone could repeat it in every shard.
    Unprotected,
    /// Chain 0 stands for all: anyone could repeat this authorisation in every shard.
    UnprotectedAuthorization {
        index: usize,
    },
    /// The fork does not know this type yet.
    TypeNotSupported {
        kind: u8,
        fork: SpecId,
    },
    NoAuthorizations,
    InitcodeTooLarge {
        bytes: usize,
        bytes_max: usize,
    },
    ExceedsBlockGasLimit {
        gas: u64,
        gas_max: u64,
    },
    /// EIP-7825.
    GasLimitTooHigh {
        gas: u64,
        gas_max: u64,
    },
    /// The two times each other do not fit into 128 bits.
    FeeTooHigh {
        gas: u64,
        fee: u128,
    },
    IntrinsicGasTooLow {
        gas: u64,
        needed: u64,
    },
    /// EIP-7623.
    FloorGasTooLow {
        gas: u64,
        needed: u64,
    },
    PriorityFeeAboveMaxFee {
        priority_fee: u128,
        fee: u128,
    },
    /// EIP-3607: it is signed, and its sender is a contract.
    SenderHasCode {
        sender: Address,
    },
    NonceTooLow {
        nonce: u64,
        next: u64,
    },
    NonceTooHigh {
        nonce: u64,
        nonce_max: u64,
    },
    /// EIP-2681.
    NonceIsMax,
    /// `queued`: what the sender's other transactions in the pool may cost.
    InsufficientFunds {
        balance: U256,
        queued: U256,
        cost: U256,
    },
    /// The one with the same nonce stays: both fees must rise, to these at least.
    ReplacementUnderpriced {
        fee: u128,
        priority_fee: u128,
    },
    /// The one with the same nonce can not be replaced any more.
    ReplacementTooLate {
        nonce: u64,
    },
    SenderFull {
        transactions_max: usize,
    },
    /// The pool is full, and nothing in it can give way to this one.
    Full,
    /// The pool is full, and everything in it pays as much.
    Underpriced {
        price: u128,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::AlreadyKnown => f.write_str("already known"),
            Refusal::Unsigned => f.write_str(
                "invalid transaction v, r, s values: it is not signed, and this node asks for signatures",
            ),
            Refusal::TooLarge { bytes, bytes_max } => write!(
                f,
                "oversized data: transaction size {bytes}, limit {bytes_max}; send less data at once"
            ),
            Refusal::WrongChainId { have, want } => write!(
                f,
                "invalid chain id for signer: have {have} want {want}; each shard has its own, sign for this one"
            ),
            Refusal::Unprotected => f.write_str(
                "only replay-protected (EIP-155) transactions allowed over RPC; sign it with the shard's chain id",
            ),
            Refusal::UnprotectedAuthorization { index } => write!(
                f,
                "only replay-protected authorizations allowed: number {index} is for chain 0, which is every \
                 shard; sign it with the shard's chain id"
            ),
            Refusal::TypeNotSupported { kind, fork } => {
                write!(f, "transaction type not supported: type {kind} rejected, the fork is {fork:?}")
            }
            Refusal::NoAuthorizations => {
                f.write_str("set code tx must have at least one authorization tuple")
            }
            Refusal::InitcodeTooLarge { bytes, bytes_max } => {
                write!(f, "max initcode size exceeded: code size {bytes}, limit {bytes_max}")
            }
            Refusal::ExceedsBlockGasLimit { gas, gas_max } => {
                write!(f, "exceeds block gas limit: gas {gas}, limit {gas_max}")
            }
            Refusal::GasLimitTooHigh { gas, gas_max } => {
                write!(f, "transaction gas limit too high (cap: {gas_max}, tx: {gas})")
            }
            Refusal::FeeTooHigh { gas, fee } => {
                write!(f, "gas limit times fee is 2^128 or more: gas {gas}, maxFeePerGas {fee}")
            }
            Refusal::IntrinsicGasTooLow { gas, needed } => {
                write!(f, "intrinsic gas too low: gas {gas}, minimum needed {needed}")
            }
            Refusal::FloorGasTooLow { gas, needed } => write!(
                f,
                "insufficient gas for floor data gas cost: gas {gas}, minimum needed {needed}"
            ),
            Refusal::PriorityFeeAboveMaxFee { priority_fee, fee } => write!(
                f,
                "max priority fee per gas higher than max fee per gas: maxPriorityFeePerGas: \
                 {priority_fee}, maxFeePerGas: {fee}"
            ),
            Refusal::SenderHasCode { sender } => {
                write!(f, "sender not an eoa: {sender} is a contract and can not send transactions")
            }
            Refusal::NonceTooLow { nonce, next } => {
                write!(f, "nonce too low: next nonce {next}, tx nonce {nonce}")
            }
            Refusal::NonceTooHigh { nonce, nonce_max } => write!(
                f,
                "nonce too high: tx nonce {nonce}, at most {nonce_max} now; send those before it first"
            ),
            Refusal::NonceIsMax => f.write_str("nonce has max value"),
            Refusal::InsufficientFunds { balance, queued, cost } if queued.is_zero() => write!(
                f,
                "insufficient funds for gas * price + value: balance {balance}, tx cost {cost}, overshot {}",
                cost.saturating_sub(*balance)
            ),
            Refusal::InsufficientFunds { balance, queued, cost } => write!(
                f,
                "insufficient funds for gas * price + value: balance {balance}, queued cost {queued}, \
                 tx cost {cost}, overshot {}",
                queued.saturating_add(*cost).saturating_sub(*balance)
            ),
            Refusal::ReplacementUnderpriced { fee, priority_fee } => write!(
                f,
                "replacement transaction underpriced: maxFeePerGas must be at least {fee} and \
                 maxPriorityFeePerGas at least {priority_fee}"
            ),
            Refusal::ReplacementTooLate { nonce } => write!(
                f,
                "replacement transaction too late: the one with nonce {nonce} is being executed"
            ),
            Refusal::SenderFull { transactions_max } => write!(
                f,
                "account limit exceeded: {transactions_max} transactions of this sender wait; send more \
                 when some are included"
            ),
            Refusal::Full => f.write_str("txpool is full; try again later"),
            Refusal::Underpriced { price } => write!(
                f,
                "transaction underpriced: the pool is full, offer more than {price} per gas"
            ),
        }
    }
}

impl std::error::Error for Refusal {}
