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
mod commit;
pub mod config;
pub mod disk;
pub mod environment;
pub mod events;
pub mod execute;
mod genesis;
pub mod identity;
pub mod pool;
pub mod shard;
pub mod shards;
pub mod state;
pub mod store;
pub mod trace;
pub mod transaction;
pub mod trie;
mod view;

pub use block::{Block, Receipt};
pub use commit::Counts;
pub use config::Config;
pub use environment::Environment;
pub use shard::Shard;
pub use shards::Shards;
pub use transaction::Transaction;
pub use view::{Position, StateAt};

/// The programs of the guide run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/shards.md")]
struct Guide;
