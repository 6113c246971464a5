//! Shards: small Ethereum-compatible chains, each named by an address, that take turns on a few
//! workers.
//!
//! A **shard** has its own state, nonces, pool, blocks and queries; nothing of one shard is
//! visible in another. It is a strand of the kernel: a transaction that is accepted wakes it, its
//! turn collects what is in the pool, executes it, has the block committed and removes what the
//! block holds, until the pool is empty or the quantum is over.
//!
//! This crate knows no network and no JSON: the same input gives the same bytes, and one small
//! trait is the only way to a disk.

pub mod block;
pub mod config;
pub mod environment;
mod error;
pub mod events;
pub mod execute;
pub mod identity;
pub mod state;
pub mod store;
pub mod transaction;
pub mod trie;

pub use block::{Block, Receipt};
pub use config::Config;
pub use environment::Environment;
pub use transaction::Transaction;
