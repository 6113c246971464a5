//! A node's life: from settings to an open door, and to an orderly end.

use std::{
    fmt, io,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use http::{Request, Response};
use kernel::{BuildError, Discipline, Runtime};
use shard::{
    Environment, Shards,
    disk::OsDisk,
    shards::OpenError,
    store::{DiskStore, MemoryStore, Options, Store, StoreError},
};
use tokio::sync::{Semaphore, watch};

use crate::{
    accounts::{AccountsError, DevAccount},
    base_chain::{BaseChainError, BaseChainStatus, Listener, Listening},
    context::{Context, Room},
    dashboard::Dashboard,
    dev::Dev,
    ended::Ended,
    metrics::{Metrics, store::TimedStore},
    rpc::eth::{filters::Filters, subscribe},
    sends::Sends,
    server::Server,
    settings::{Settings, Storage},
    timeline::{EVENTS_FROM_START, Recording, Timeline},
    trouble,
};

/// Pools are looked through about so often for what waits too long.
const EXPIRY_ROUND: Duration = Duration::from_secs(60);

/// A node that runs. Dropped, it shuts down.
pub struct Node {
    context: Arc<Context>,
    server: Option<Server>,
    runtimes: Option<Runtimes>,
    listening: Option<Listening>,
    /// If it records from its start.
    _recording: Option<Recording>,
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
    pub fn start(settings: Settings) -> Result<Node, StartError> {
        Node::start_on(settings, open_store)
    }

    /// The same, with blocks where `open` says.
    pub(crate) fn start_on(
        mut settings: Settings,
        open: impl FnOnce(&Storage) -> Result<Arc<dyn Store>, StartError>,
    ) -> Result<Node, StartError> {
        let address = SocketAddr::new(settings.http.address, settings.http.port);
        let listen = |why| StartError::Listen { address, why };
        // First of all: a second node on the same port should not touch the data.
        let socket = TcpListener::bind(address).map_err(listen)?;
        let accounts = settings.accounts.derive().map_err(StartError::Accounts)?;
        settings.shards = settings.funded(&accounts);
        // Before the data: what waits in pools is executed as soon as that is open.
        let connect = |settings| Listener::connect(settings, unix_time);
        let base_chain = settings.base_chain.as_ref().map(connect).transpose();
        let (listener, environment) = base_chain.map_err(StartError::BaseChain)?.unzip();
        let runtimes = Runtimes::start(&settings).map_err(StartError::Runtime)?;
        let metrics = Arc::new(Metrics::default());
        let store = Arc::new(TimedStore {
            inner: open(&settings.storage)?,
            metrics: metrics.clone(),
            clock: runtimes.queries.handle().clone(),
        });
        let now = unix_time();
        let mut config = settings.shards.clone();
        // Shards then believe every sender: who may send without a signature is decided here.
        config.rules.no_account_validation |= settings.dev_api;
        let shards = Shards::open_under(
            environment.unwrap_or_else(|| Environment::own(now)),
            &runtimes.shards,
            &runtimes.queries,
            config,
            store,
            now,
        );
        let shards = shards.map_err(StartError::Shards)?;
        let (workers, queries) = (runtimes.shards.handle(), runtimes.queries.handle());
        let timeline = Timeline::new(workers.clone(), queries.clone(), settings.timeline);
        let recording = settings.timeline.then(|| timeline.record());
        let context = Arc::new(Context {
            shards,
            queries: runtimes.queries.handle().clone(),
            room: Room::new(runtimes.queries.worker_count()),
            sends: Sends::new(runtimes.queries.worker_count()),
            workers: runtimes.shards.handle().clone(),
            metrics,
            metrics_room: Arc::new(Semaphore::new(1)),
            stopping: watch::Sender::new(false),
            accounts,
            dev: Dev::default(),
            filters: Filters::default(),
            subscriptions: subscribe::room(settings.limits.subscriptions_all),
            log_values: subscribe::room(settings.limits.log_values),
            base_chain: listener.as_ref().map(Listener::status),
            dashboard: Dashboard::new(),
            timeline: timeline.clone(),
            timeline_room: Semaphore::new(1),
            settings,
        });
        expire_now_and_then(&context).map_err(StartError::Shards)?;
        trouble::watch(&context).map_err(StartError::Shards)?;
        let server = Server::start(socket, &context).map_err(listen)?;
        let set = |listener: Listener| {
            let context = context.clone();
            listener.start(move |environment| context.shards.set_environment(environment))
        };
        let listening = listener.map(set).transpose().map_err(StartError::Thread)?;
        let (server, runtimes) = (Some(server), Some(runtimes));
        Ok(Node { context, server, runtimes, listening, _recording: recording })
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

    /// How the base chain is, if there is one.
    pub fn base_chain(&self) -> Option<BaseChainStatus> {
        self.context.base_chain.as_ref().map(|status| status.get())
    }

    /// What its workers do, if it is recorded: to be written also after its end.
    pub fn timeline(&self) -> Timeline {
        self.context.timeline.clone()
    }

    /// Answers a request without a socket, as it would be answered over HTTP.
    ///
    /// ```
    /// # let mut settings = node::Settings::in_memory();
    /// # settings.http.port = 0;
    /// # let node = node::Node::start(settings)?;
    /// let body = r#"{"jsonrpc":"2.0","id":1,"method":"web3_clientVersion"}"#;
    /// let answer = node.ask(http::Request::post("/").body(body.into())?);
    /// assert!(answer.body().starts_with(br#"{"jsonrpc":"2.0","id":1,"result":"shiftwork"#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ask(&self, request: Request<Bytes>) -> Response<Bytes> {
        self.server.as_ref().expect("it runs until it is shut down").ask(request)
    }

    /// Ends it in order: no new requests, those under way are answered, the shards finish the block
    /// in hand, the store is synced. All within one deadline, of which answers get half at most: what
    /// was accepted comes before what is asked.
    pub fn shutdown(mut self) -> Ended {
        self.end().expect("it runs until it is shut down")
    }

    /// `None`: it has ended before.
    fn end(&mut self) -> Option<Ended> {
        let (server, runtimes) = (self.server.take()?, self.runtimes.take()?);
        let context = &self.context;
        context.stopping.send_replace(true);
        let deadline = context.settings.shutdown_deadline;
        let begun = context.queries.now();
        let left = || deadline.saturating_sub(context.queries.now().saturating_sub(begun));
        let cut = server.stop(deadline / 2);
        drop(self.listening.take());
        let shards = context.shards.close(left());
        let queries_ended = runtimes.queries.shutdown_timeout(left()).is_ok();
        let shards_ended = runtimes.shards.shutdown_timeout(left()).is_ok();
        Some(Ended {
            requests_cut: cut.requests,
            connections_cut: cut.connections,
            shards,
            workers_left: !(queries_ended && shards_ended),
        })
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.end();
    }
}

impl Runtimes {
    fn start(settings: &Settings) -> Result<Runtimes, BuildError> {
        let builder = |name: &str| {
            let mut builder = Runtime::builder().name(name);
            if settings.timeline {
                builder = builder.record(EVENTS_FROM_START);
            }
            match settings.workers {
                Some(workers) => builder.workers(workers.get()),
                None => builder,
            }
        };
        let shards = builder("shards").discipline(Discipline::Fifo).quantum(settings.quantum);
        Ok(Runtimes { shards: shards.build()?, queries: builder("queries").build()? })
    }
}

/// What waits in pools for too long is dropped, for as long as the node is there.
fn expire_now_and_then(context: &Arc<Context>) -> Result<(), OpenError> {
    let period = context.settings.shards.pool.expiry.min(EXPIRY_ROUND);
    let (node, mut clock) = (Arc::downgrade(context), context.queries.interval(period));
    let rounds = async move {
        loop {
            clock.tick().await;
            let Some(context) = node.upgrade() else { return };
            context.shards.expire();
        }
    };
    context.queries.spawn(rounds).map(drop).map_err(OpenError::Runtime)
}

/// The time of day, in seconds.
fn unix_time() -> u64 {
    unix_time_ms() / 1_000
}

/// The same in milliseconds.
#[allow(clippy::disallowed_methods, reason = "here it enters: from now on shards ask the runtime")]
pub(crate) fn unix_time_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

fn open_store(storage: &Storage) -> Result<Arc<dyn Store>, StartError> {
    let Storage::Directory(directory) = storage else { return Ok(Arc::new(MemoryStore::new())) };
    let disk = OsDisk::open(directory).map_err(StartError::Store)?;
    let store = DiskStore::open(Arc::new(disk), Options::default());
    Ok(Arc::new(store.map_err(StartError::Store)?))
}

/// Why a node did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    Accounts(AccountsError),
    BaseChain(BaseChainError),
    Thread(io::Error),
    Listen { address: SocketAddr, why: io::Error },
    Runtime(BuildError),
    Store(StoreError),
    Shards(OpenError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Accounts(why) => why.fmt(f),
            StartError::BaseChain(why) => why.fmt(f),
            StartError::Thread(why) => write!(f, "the system gives no thread: {why}"),
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
