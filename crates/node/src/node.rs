//! A node's life: from settings to an open door, and to an orderly end.

use std::{
    fmt, io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use kernel::{BuildError, Discipline, Runtime};
use shard::{
    Shards,
    config::GenesisAccount,
    disk::OsDisk,
    shards::OpenError,
    store::{DiskStore, MemoryStore, Options, Store, StoreError},
};

use crate::{
    accounts::{AccountsError, DevAccount},
    context::Context,
    dev::Dev,
    rpc::eth::{filters::Filters, subscribe},
    server::Server,
    settings::{Settings, Storage},
};

/// A node that runs. Dropped, it shuts down.
pub struct Node {
    context: Arc<Context>,
    server: Option<Server>,
    runtimes: Option<Runtimes>,
}

/// Shards take turns on one, questions are answered on the other.
struct Runtimes {
    shards: Runtime,
    queries: Runtime,
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").finish_non_exhaustive()
    }
}

impl Node {
    /// Opens the data, starts the workers and listens.
    ///
    /// # Errors
    /// If the data can not be opened, the settings make no sense, or the address is taken.
    pub fn start(mut settings: Settings) -> Result<Node, StartError> {
        let address = SocketAddr::new(settings.http.address, settings.http.port);
        let listen = |why| StartError::Listen { address, why };
        // First of all: a second node on the same port should not touch the data.
        let listener = TcpListener::bind(address).map_err(listen)?;
        let accounts = settings.accounts.derive().map_err(StartError::Accounts)?;
        let config = &mut settings.shards;
        for account in &accounts {
            let balance = settings.accounts.balance;
            let funded = GenesisAccount { balance, ..GenesisAccount::default() };
            config.genesis.accounts.entry(account.address()).or_insert(funded);
        }
        let runtimes = Runtimes::start(&settings).map_err(StartError::Runtime)?;
        let store = open_store(&settings.storage)?;
        let now = unix_time();
        let mut config = settings.shards.clone();
        // Shards then believe every sender: who may send without a signature is decided here.
        config.rules.no_account_validation |= settings.dev_api;
        let shards = Shards::open_beside(&runtimes.shards, &runtimes.queries, config, store, now);
        let shards = shards.map_err(StartError::Shards)?;
        let queries = runtimes.queries.handle().clone();
        let (dev, filters) = (Dev::default(), Filters::default());
        let subscriptions = subscribe::room(settings.limits.subscriptions_all);
        let context = Context { shards, queries, accounts, settings, filters, subscriptions, dev };
        let context = Arc::new(context);
        let server = Server::start(listener, &context).map_err(listen)?;
        Ok(Node { context, server: Some(server), runtimes: Some(runtimes) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.as_ref().expect("it runs until it is shut down").address()
    }

    /// The accounts with known keys.
    pub fn accounts(&self) -> &[DevAccount] {
        &self.context.accounts
    }

    /// The shards.
    pub fn shards(&self) -> &Shards {
        &self.context.shards
    }

    /// Ends it in order: no new requests, those under way are answered, the shards finish the block
    /// in hand, the store is synced.
    pub fn shutdown(mut self) -> Ended {
        self.end()
    }

    fn end(&mut self) -> Ended {
        let deadline = self.context.settings.shutdown_deadline;
        let Some(server) = self.server.take() else { return Ended { in_time: true } };
        let in_time = server.stop(deadline);
        if let Some(runtimes) = self.runtimes.take() {
            let _ = runtimes.queries.shutdown_timeout(deadline);
            let _ = runtimes.shards.shutdown_timeout(deadline);
        }
        Ended { in_time }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.end();
    }
}

/// How a node ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Everything was done before the deadline.
    pub in_time: bool,
}

impl Ended {
    /// Whether nothing was left undone.
    pub fn clean(&self) -> bool {
        self.in_time
    }
}

impl Runtimes {
    fn start(settings: &Settings) -> Result<Runtimes, BuildError> {
        let builder = |name: &str| {
            let builder = Runtime::builder().name(name);
            match settings.workers {
                Some(workers) => builder.workers(workers.get()),
                None => builder,
            }
        };
        let shards = builder("shards").discipline(Discipline::Fifo).quantum(settings.quantum);
        Ok(Runtimes { shards: shards.build()?, queries: builder("queries").build()? })
    }
}

/// The time of day, in seconds.
#[allow(clippy::disallowed_methods, reason = "here it enters: from now on shards ask the runtime")]
fn unix_time() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn open_store(storage: &Storage) -> Result<Arc<dyn Store>, StartError> {
    let Storage::Directory(directory) = storage else { return Ok(Arc::new(MemoryStore::new())) };
    let disk = OsDisk::open(directory).map_err(|why| StartError::Store(why.into()))?;
    let store = DiskStore::open(Arc::new(disk), Options::default());
    Ok(Arc::new(store.map_err(StartError::Store)?))
}

/// Why a node did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    Accounts(AccountsError),
    Listen { address: SocketAddr, why: io::Error },
    Runtime(BuildError),
    Store(StoreError),
    Shards(OpenError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Accounts(why) => why.fmt(f),
            StartError::Listen { address, why } => {
                write!(f, "can not listen on {address}: {why} (another port: --http.port)")
            }
            StartError::Runtime(why) => why.fmt(f),
            StartError::Store(why) => write!(f, "the data directory can not be opened: {why}"),
            StartError::Shards(why) => why.fmt(f),
        }
    }
}

impl std::error::Error for StartError {}
