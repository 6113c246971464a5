//! What do transactions see of the world outside their shard?
//!
//! One [`Environment`] is shared by all shards and swapped whole: a cycle reads it once, so a
//! block is executed under one environment, which is stored with it for re-execution.

use std::sync::Arc;

use alloy_primitives::{Address, B256, map::HashMap};
use arc_swap::ArcSwap;

/// One gwei: the base fee of a node without a base chain.
pub const BASE_FEE: u64 = 1_000_000_000;

/// What NUMBER, TIMESTAMP, BASEFEE, PREVRANDAO, COINBASE and BLOCKHASH answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// NUMBER. `None` without a base chain: then it is the shard's own height.
    pub number: Option<u64>,
    /// TIMESTAMP in seconds. A block's is never below that of its parent.
    pub timestamp: u64,
    /// BASEFEE, in wei.
    pub base_fee: u64,
    /// BLOBBASEFEE is derived from it. There are no blob transactions here.
    pub excess_blob_gas: u64,
    /// PREVRANDAO.
    pub prevrandao: B256,
    /// COINBASE, which gets the priority fees.
    pub beneficiary: Address,
    /// For EIP-4788, where the system calls are on.
    pub parent_beacon_block_root: B256,
    /// The base chain's hashes that its listener has seen, by number. Without a base chain it is
    /// empty and BLOCKHASH knows the shard's own.
    pub hashes: Arc<HashMap<u64, B256>>,
}

impl Environment {
    /// That of a node without a base chain, at a time.
    pub fn own(timestamp: u64) -> Environment {
        Environment {
            number: None,
            timestamp,
            base_fee: BASE_FEE,
            excess_blob_gas: 0,
            prevrandao: B256::ZERO,
            beneficiary: Address::ZERO,
            parent_beacon_block_root: B256::ZERO,
            hashes: Arc::default(),
        }
    }
}

/// The environment that all shards share.
///
/// ```
/// use shard::environment::{Environment, SharedEnvironment};
///
/// let shared = SharedEnvironment::new(Environment::own(1_000));
/// shared.set(Environment::own(1_001));
/// assert_eq!(shared.get().timestamp, 1_001);
/// ```
#[derive(Debug)]
pub struct SharedEnvironment(ArcSwap<Environment>);

impl SharedEnvironment {
    /// Begins with this one.
    pub fn new(environment: Environment) -> SharedEnvironment {
        SharedEnvironment(ArcSwap::from_pointee(environment))
    }

    /// The one that holds now.
    pub fn get(&self) -> Arc<Environment> {
        self.0.load_full()
    }

    /// From now on this one holds. Cycles under way go on with the one that they have read.
    pub fn set(&self, environment: Environment) {
        self.0.store(Arc::new(environment));
    }
}
