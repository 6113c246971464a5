//! JSON-RPC: from a method's name and its arguments to an answer.

pub(crate) mod args;
pub(crate) mod error;
mod eth;
pub(crate) mod method;
pub(crate) mod register;
pub(crate) mod unknown;
