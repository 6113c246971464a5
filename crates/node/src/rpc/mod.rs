//! JSON-RPC: from a method's name and its arguments to an answer.

pub(crate) mod admin;
pub(crate) mod args;
mod debug;
mod dev;
pub(crate) mod error;
pub(crate) mod eth;
pub(crate) mod id;
pub(crate) mod method;
pub(crate) mod register;
mod shard;
mod trace;
mod txpool;
pub(crate) mod unknown;
mod web3;
