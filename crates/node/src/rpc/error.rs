//! How does a request fail, and with which code?
//!
//! The codes are those of the JSON-RPC specification, of the execution API and of geth, which tools
//! look at.

use std::fmt;

use alloy_primitives::{Address, Bytes};
use jsonrpsee::types::ErrorObjectOwned;
use shard::store::StoreError;

/// What is wrong with a request, or went wrong with it.
#[derive(Clone, Debug)]
pub(crate) struct RpcError {
    pub(crate) code: i32,
    pub(crate) message: String,
    /// For a revert: what the contract returned.
    pub(crate) data: Option<Bytes>,
}

/// Geth's code for what is refused without a code of its own.
pub(crate) const SERVER_ERROR: i32 = -32_000;
/// There is no such thing, as the execution API has it.
pub(crate) const NOT_FOUND: i32 = -32_001;
pub(crate) const METHOD_NOT_FOUND: i32 = -32_601;
pub(crate) const INVALID_PARAMS: i32 = -32_602;
pub(crate) const INTERNAL: i32 = -32_603;
/// A limit of this node.
pub(crate) const LIMIT: i32 = -32_005;
/// It was there and is not kept any more, as in geth.
const PRUNED: i32 = 4_444;
/// The answer would be longer than allowed.
const ANSWER_TOO_LONG: i32 = -32_008;
/// The call was made and reverted.
pub(crate) const REVERTED: i32 = 3;

impl RpcError {
    pub(crate) fn new(code: i32, message: impl Into<String>) -> RpcError {
        RpcError { code, message: message.into(), data: None }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> RpcError {
        RpcError::new(INVALID_PARAMS, message)
    }

    pub(crate) fn server(message: impl Into<String>) -> RpcError {
        RpcError::new(SERVER_ERROR, message)
    }

    pub(crate) fn internal(why: &dyn fmt::Display) -> RpcError {
        RpcError::new(INTERNAL, why.to_string())
    }

    pub(crate) fn shard_not_found(address: Address) -> RpcError {
        RpcError::invalid(format!("shard not found: {address}"))
    }

    /// As the server says it of an answer that is longer than was chosen.
    pub(crate) fn answer_too_long(most: usize) -> RpcError {
        RpcError::new(ANSWER_TOO_LONG, format!("Response is too big: exceeded max limit of {most}"))
    }

    pub(crate) fn stopping() -> RpcError {
        RpcError::server("the node is shutting down")
    }
}

impl From<RpcError> for ErrorObjectOwned {
    fn from(error: RpcError) -> ErrorObjectOwned {
        ErrorObjectOwned::owned(error.code, error.message, error.data)
    }
}

impl From<StoreError> for RpcError {
    fn from(error: StoreError) -> RpcError {
        match error {
            StoreError::Pruned { .. } => {
                RpcError::new(PRUNED, format!("pruned history unavailable: {error}"))
            }
            error => RpcError::internal(&error),
        }
    }
}
