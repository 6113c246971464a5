//! What can be chosen about a node, with the defaults.

use std::{
    net::{IpAddr, Ipv4Addr},
    num::NonZeroUsize,
    path::PathBuf,
    time::Duration,
};

use shard::config::GenesisAccount;

use crate::accounts::{AccountsError, DevAccount, DevAccounts};

/// Everything that can be chosen.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Threads for shards, and as many for questions; `None`: as `SHIFTWORK_WORKERS` says, or one for
    /// each core.
    pub workers: Option<NonZeroUsize>,
    /// How long a shard may go on while others wait.
    pub quantum: Duration,
    /// Where blocks are kept.
    pub storage: Storage,
    /// How shards execute, what their pools take, what they begin with.
    pub shards: shard::Config,
    /// Accounts with known keys, which the genesis funds.
    pub accounts: DevAccounts,
    /// Where the node listens, and to whom.
    pub http: Http,
    /// What a stranger may send.
    pub limits: Limits,
    /// Where the block environment comes from; `None`: the node's own clock.
    pub base_chain: Option<BaseChain>,
    /// Methods that change state without a transaction, and time travel. For development.
    pub dev_api: bool,
    /// A page at `/dashboard` that shows what the node does.
    pub dashboard: bool,
    /// Workers record what they do from the start on, for [`Node::timeline`](crate::Node::timeline).
    pub timeline: bool,
    /// Methods for whoever runs the node.
    pub admin_api: bool,
    /// How long shutting down may take.
    pub shutdown_deadline: Duration,
}

/// Where blocks are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// In files in this folder.
    Directory(PathBuf),
    /// Nowhere: all is gone when the node ends.
    Memory,
}

/// Where the node listens, and to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Http {
    pub address: IpAddr,
    /// 0: any that is free.
    pub port: u16,
    /// Names under which it may be called, beside addresses and localhost. `*`: any.
    pub hosts: Vec<String>,
    /// Web pages that may ask. `*`: any. None by default.
    pub origins: Vec<String>,
}

impl Default for Http {
    fn default() -> Http {
        Http {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 8545,
            hosts: Vec::new(),
            origins: Vec::new(),
        }
    }
}

/// No answer is longer, whatever is chosen.
pub const ANSWER_BYTES_MAX: usize = 100_000_000;

/// What a stranger may send, and how long it may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request.
    pub body_bytes: u32,
    /// Bytes of an answer, [`ANSWER_BYTES_MAX`] at most.
    pub answer_bytes: u32,
    /// Requests in a batch.
    pub batch_items: u32,
    /// How deep arrays and objects may be nested.
    pub json_depth: usize,
    /// Bytes of the input of a call.
    pub calldata_bytes: usize,
    /// Connections at once.
    pub connections: usize,
    /// Subscriptions of one connection.
    pub subscriptions: u32,
    /// Subscriptions of all connections.
    pub subscriptions_all: usize,
    /// Blocks that wait for one subscriber that is slow, and four times as many transactions.
    pub subscription_blocks: NonZeroUsize,
    /// Filters of all clients.
    pub filters: usize,
    /// Addresses and topics that filters and subscriptions of all clients look for.
    pub log_values: usize,
    /// A filter that nobody asks for goes.
    pub filter_expiry: Duration,
    /// The head of a request must be there by then.
    pub header_timeout: Duration,
    /// A connection without requests is closed.
    pub idle_timeout: Duration,
    /// A request must be whole by then.
    pub body_timeout: Duration,
    /// Gas of a call.
    pub call_gas: u64,
    /// Logs in an answer.
    pub logs: usize,
    /// Blocks that one search for logs looks at.
    pub log_blocks: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body_bytes: 5 << 20,
            answer_bytes: 25_000_000,
            batch_items: 100,
            json_depth: 64,
            calldata_bytes: 128 << 10,
            connections: 500,
            subscriptions: 1_024,
            subscriptions_all: 10_000,
            subscription_blocks: NonZeroUsize::new(512).expect("not 0"),
            filters: 10_000,
            // Some 32 MiB.
            log_values: 1 << 20,
            filter_expiry: Duration::from_secs(5 * 60),
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(120),
            body_timeout: Duration::from_secs(30),
            call_gas: 50_000_000,
            logs: 10_000,
            log_blocks: 100_000,
        }
    }
}

/// The chain whose blocks are the environment of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseChain {
    /// An Ethereum JSON-RPC endpoint.
    pub url: String,
    /// How often it is asked.
    pub poll_interval: Duration,
    /// So long a start waits for its first answer.
    pub wait: Duration,
    /// A block that is so much ahead of this machine's clock is not believed: the time of shards
    /// could never come back from it.
    pub ahead_max: Duration,
}

impl BaseChain {
    /// The defaults, for an Ethereum JSON-RPC endpoint.
    pub fn new(url: impl Into<String>) -> BaseChain {
        BaseChain {
            url: url.into(),
            poll_interval: Duration::from_secs(12),
            wait: Duration::from_secs(60),
            ahead_max: Duration::from_secs(3_600),
        }
    }
}

impl Settings {
    /// How the shards are opened: as chosen, with the accounts in their genesis.
    ///
    /// # Errors
    /// If there are no such accounts.
    pub fn shards_config(&self) -> Result<shard::Config, AccountsError> {
        Ok(self.funded(&self.accounts.derive()?))
    }

    /// The same, with these accounts. What the genesis says of them already holds.
    pub(crate) fn funded(&self, accounts: &[DevAccount]) -> shard::Config {
        let mut config = self.shards.clone();
        for account in accounts {
            let balance = self.accounts.balance;
            let funded = GenesisAccount { balance, ..GenesisAccount::default() };
            config.genesis.accounts.entry(account.address()).or_insert(funded);
        }
        config
    }

    /// The defaults, with blocks in files in this folder.
    pub fn in_directory(directory: PathBuf) -> Settings {
        Settings { storage: Storage::Directory(directory), ..Settings::in_memory() }
    }

    /// The defaults, with blocks in memory.
    pub fn in_memory() -> Settings {
        Settings {
            workers: None,
            quantum: Duration::from_millis(100),
            storage: Storage::Memory,
            shards: shard::Config::default(),
            accounts: DevAccounts::default(),
            http: Http::default(),
            limits: Limits::default(),
            base_chain: None,
            dev_api: false,
            dashboard: true,
            timeline: false,
            admin_api: false,
            shutdown_deadline: Duration::from_secs(10),
        }
    }
}
