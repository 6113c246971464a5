//! What can be chosen about shards, with the defaults.

use std::{collections::BTreeMap, num::NonZeroU64, time::Duration};

use alloy_primitives::{Address, B256, Bytes, U256};
use revm::primitives::hardfork::SpecId;

use crate::identity::BaseChainId;

/// Everything that can be chosen.
#[derive(Clone, Debug)]
pub struct Config {
    /// How transactions are executed.
    pub rules: Rules,
    /// What the pools take.
    pub pool: PoolLimits,
    /// What acknowledged means.
    pub durability: Durability,
    /// How many shards there may be.
    pub shards_max: usize,
    /// Only shards that were created on purpose exist: a transaction creates none.
    pub strict: bool,
    /// Blocks of heavy transactions are executed on several workers.
    pub parallel: bool,
    /// How much of its state a shard keeps at hand, in accounts and slots.
    pub cache_entries: usize,
    /// The log is folded into the tables when it has grown by so many bytes.
    pub checkpoint_bytes: u64,
    /// Blocks that are further below the newest are not kept: neither they, nor the states at their
    /// ends. `None`: everything is kept.
    pub prune_depth: Option<NonZeroU64>,
    /// Whether call trees are kept.
    pub traces: Traces,
    /// What each shard begins with.
    pub genesis: Genesis,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            rules: Rules::default(),
            pool: PoolLimits::default(),
            durability: Durability::Sync,
            shards_max: 100_000,
            strict: false,
            parallel: true,
            cache_entries: 1 << 20,
            checkpoint_bytes: 64 << 20,
            prune_depth: None,
            traces: Traces::OnDemand,
            genesis: Genesis::default(),
        }
    }
}

impl Config {
    /// Whether it can be meant: otherwise says what is wrong, and what to do.
    ///
    /// ```
    /// use shard::Config;
    ///
    /// let mut config = Config::default();
    /// assert_eq!(config.check(), Ok(()));
    /// config.rules.block_transactions_max = 0;
    /// assert!(config.check().unwrap_err().contains("transactions per block"));
    /// ```
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&self) -> Result<(), String> {
        let (rules, pool) = (&self.rules, &self.pool);
        let wrong = |what: &str| Err(format!("{what}: choose another value"));
        if rules.fork < SpecId::LONDON || rules.fork > SpecId::OSAKA {
            let fork = rules.fork;
            return Err(format!("{fork:?} is not a hard fork from London to Osaka: choose one"));
        }
        if rules.block_transactions_max == 0 {
            return wrong("no transactions per block means no blocks");
        }
        if rules.block_gas_limit < 21_000 {
            return wrong("a block gas limit below 21,000 holds no transaction");
        }
        if pool.transactions_max == 0 || pool.sender_max == 0 || pool.bytes_max == 0 {
            return wrong("a pool that holds nothing accepts nothing");
        }
        if pool.transaction_bytes_max > pool.bytes_max {
            return wrong("a transaction may be longer than a pool has room for");
        }
        if self.shards_max == 0 {
            return wrong("with no shards there is nothing to run");
        }
        if self.shards_max >= u32::MAX as usize {
            return wrong("there can not be as many shards");
        }
        if self.checkpoint_bytes == 0 {
            return wrong("a checkpoint after 0 bytes would never end");
        }
        Ok(())
    }
}

/// What decides about the result of executing a transaction. The same rules, environment and
/// order give the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The node's part of the chain ids.
    pub base_chain_id: BaseChainId,
    /// All shards have the base id as their chain id. A transaction of one shard is then valid in
    /// others too: anyone can replay it there.
    pub shared_chain_id: bool,
    /// The hard fork, from London on.
    pub fork: SpecId,
    /// Gas per block.
    pub block_gas_limit: u64,
    /// Transactions per block.
    pub block_transactions_max: usize,
    /// The per-block system calls of EIP-2935 and EIP-4788.
    pub system_calls: bool,
    /// The header holds the state root, kept up incrementally. Otherwise it holds zero.
    pub state_root: bool,
    /// Transactions without a chain id, and authorisations for chain 0. They are valid in every
    /// shard.
    pub allow_unprotected: bool,
    /// Fees are neither checked nor charged.
    pub no_fee: bool,
    /// Senders need no signature. For development.
    pub no_account_validation: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            base_chain_id: BaseChainId::DEFAULT,
            shared_chain_id: false,
            fork: SpecId::OSAKA,
            block_gas_limit: 30_000_000,
            block_transactions_max: 1_000,
            system_calls: false,
            state_root: false,
            allow_unprotected: false,
            no_fee: false,
            no_account_validation: false,
        }
    }
}

impl Rules {
    /// The chain id of a shard under these rules.
    pub fn chain_id(&self, shard: Address) -> u64 {
        if self.shared_chain_id {
            u64::from(self.base_chain_id.get())
        } else {
            self.base_chain_id.of_shard(shard)
        }
    }
}

/// In which order senders get their turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PoolOrder {
    /// The highest effective gas price first; among equals the first that came.
    #[default]
    Price,
    /// The first that came. After a restart that order is known only for those that the log still
    /// holds; those that were folded into the tables come before them.
    Fifo,
}

/// What a pool takes. A pool belongs to one shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// In which order senders get their turn.
    pub order: PoolOrder,
    /// Transactions in a shard's pool.
    pub transactions_max: usize,
    /// Transactions of one sender.
    pub sender_max: usize,
    /// Encoded bytes of all transactions in a shard's pool.
    pub bytes_max: usize,
    /// Encoded bytes of one transaction.
    pub transaction_bytes_max: usize,
    /// How far a nonce may be ahead of the account's.
    pub nonce_ahead_max: u64,
    /// What waits for longer is dropped.
    pub expiry: Duration,
    /// What a replacement must offer more, in percent.
    pub replacement_percent: u8,
}

impl Default for PoolLimits {
    fn default() -> PoolLimits {
        PoolLimits {
            order: PoolOrder::Price,
            transactions_max: 100_000,
            sender_max: 1_024,
            bytes_max: 64 << 20,
            transaction_bytes_max: 128 << 10,
            nonce_ahead_max: 1_024,
            expiry: Duration::from_secs(3 * 3_600),
            replacement_percent: 10,
        }
    }
}

/// What acknowledged means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// On disk.
    #[default]
    Sync,
    /// Written; on disk after this time at most.
    Batch(Duration),
    /// Written. The system decides when it is on disk.
    None,
}

/// How the call tree of a transaction is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Traces {
    /// By executing its block again.
    #[default]
    OnDemand,
    /// It is kept with the block: each is executed a second time when it is committed.
    Stored,
}

/// What each shard begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Genesis {
    /// The accounts.
    pub accounts: BTreeMap<Address, GenesisAccount>,
    /// The time of block 0, in seconds.
    pub timestamp: u64,
}

/// One account of the genesis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GenesisAccount {
    pub balance: U256,
    pub nonce: u64,
    pub code: Bytes,
    pub storage: BTreeMap<B256, B256>,
}
