//! Why is an amendment not made?

use std::fmt;

use alloy_primitives::Address;

use super::REVERT_ENTRIES_MAX;
use crate::{execute::ExecuteError, shards::SubmitError, store::StoreError};

/// Why an amendment was not made. Nothing has changed then, unless the shard was stopped or has
/// panicked while its block was on the way: see [`Shard`](AmendError::Shard) and
/// [`Fault`](AmendError::Fault).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AmendError {
    /// It names too much at once.
    TooLarge { what: &'static str, count: usize, count_max: usize },
    /// More has changed since this block than is set back at once.
    RevertTooLarge { number: u64 },
    /// There is no such block to go back to yet.
    NoSuchBlock { number: u64, newest: u64 },
    /// Storage for an account that has neither balance nor nonce nor code.
    EmptyAccount(Address),
    /// EIP-2681: no account has the highest nonce that there is.
    NonceTooHigh(Address),
    /// The shard can not be made or takes nothing at the moment.
    ///
    /// With [`SubmitError::Stopped`] the block may still be made: it may have been on its way to the
    /// disk when nobody was left to say so. Whoever opens the shards again finds it, or does not.
    Shard(SubmitError),
    /// The state could not be read, or the block not be written.
    Store(StoreError),
    /// The shard itself has failed. After a panic the block may be made all the same: the newest
    /// block of the shard says.
    Fault(String),
}

impl fmt::Display for AmendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AmendError::TooLarge { what, count, count_max } => {
                write!(f, "it names {count} {what}, at most {count_max} at once: split it")
            }
            AmendError::RevertTooLarge { number } => write!(
                f,
                "more than {REVERT_ENTRIES_MAX} accounts and slots have changed since block \
                 {number}: choose a later one"
            ),
            AmendError::NoSuchBlock { number, newest } => {
                write!(f, "there is no block {number} to go back to, the newest is {newest}")
            }
            AmendError::EmptyAccount(address) => write!(
                f,
                "{address} has neither balance nor nonce nor code, so it can have no storage: set \
                 one of them first"
            ),
            AmendError::NonceTooHigh(address) => {
                write!(
                    f,
                    "no account may have the nonce 2^64 - 1: choose a lower one for {address}"
                )
            }
            AmendError::Shard(why) => why.fmt(f),
            AmendError::Store(why) => write!(f, "the amendment was not made: {why}"),
            AmendError::Fault(what) => write!(f, "the amendment was not made: {what}"),
        }
    }
}

impl std::error::Error for AmendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            AmendError::Shard(why) => Some(why),
            AmendError::Store(why) => Some(why),
            _ => None,
        }
    }
}

impl From<StoreError> for AmendError {
    fn from(why: StoreError) -> AmendError {
        AmendError::Store(why)
    }
}

impl From<SubmitError> for AmendError {
    fn from(why: SubmitError) -> AmendError {
        AmendError::Shard(why)
    }
}

impl From<ExecuteError> for AmendError {
    fn from(why: ExecuteError) -> AmendError {
        match why {
            ExecuteError::Store(why) => AmendError::Store(why),
            ExecuteError::Fault(what) => AmendError::Fault(what),
            ExecuteError::TraceTooLarge(_) => AmendError::Fault(why.to_string()),
        }
    }
}
