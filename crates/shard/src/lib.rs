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
//!
//! A transfer, in a simulation: virtual time, on this thread, the same result each time. In a real
//! runtime it looks the same; `docs/shards.md` goes on from here.
//!
//! ```
//! use std::sync::Arc;
//!
//! use alloy_consensus::TxEip1559;
//! use alloy_primitives::{Address, U256};
//! use kernel::Runtime;
//! use shard::{
//!     Config, Shards, Transaction, config::GenesisAccount, state::StateReader, store::MemoryStore,
//! };
//!
//! let (alice, bob) = (Address::repeat_byte(0xa1), Address::repeat_byte(0xb0));
//! let market = Address::repeat_byte(0x3a);
//! let mut config = Config::default();
//! config.rules.no_account_validation = true; // senders are believed
//! let balance = U256::from(10u128.pow(18));
//! config.genesis.accounts.insert(alice, GenesisAccount { balance, ..Default::default() });
//! let fields = TxEip1559 {
//!     chain_id: config.rules.chain_id(market),
//!     gas_limit: 21_000,
//!     max_fee_per_gas: 2_000_000_000,
//!     to: bob.into(),
//!     value: U256::from(5),
//!     ..Default::default()
//! };
//!
//! let mut simulation = Runtime::builder().simulate(1)?;
//! let shards = Shards::open(&simulation, config, Arc::new(MemoryStore::new()), 1_700_000_000)?;
//! let transaction = Arc::new(Transaction::unsigned(fields.into(), alice));
//! let hash = simulation.block_on(shards.accept(market, transaction)?)??;
//! simulation.run();
//!
//! let shard = shards.get(market).expect("the transaction has made it");
//! let (position, _, receipt) = shard.transaction(hash)?.expect("it is in a block");
//! assert!(position.number == 1 && receipt.success);
//! assert_eq!(shard.state().account(bob)?.expect("it has funds").balance, U256::from(5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod amend;
pub mod block;
mod commit;
pub mod config;
pub mod disk;
pub mod environment;
pub mod events;
pub mod execute;
mod genesis;
pub mod identity;
mod keccak;
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
