//! What do all requests share?

use std::sync::Arc;

use alloy_primitives::Address;
use kernel::Handle;
use shard::{Shard, Shards};
use tokio::sync::{Semaphore, watch};

use crate::{
    accounts::DevAccount,
    base_chain::SharedStatus,
    dashboard::Dashboard,
    dev::Dev,
    metrics::Metrics,
    rpc::{error::RpcError, eth::filters::Filters},
    sends::Sends,
    settings::{Limits, Settings},
    timeline::Timeline,
};

/// What all requests share.
pub(crate) struct Context {
    pub(crate) shards: Shards,
    /// Where questions are answered that take a while.
    pub(crate) queries: Handle,
    /// How much may wait there.
    pub(crate) room: Room,
    /// Transactions on their way there.
    pub(crate) sends: Sends,
    /// Where shards take their turns.
    pub(crate) workers: Handle,
    pub(crate) metrics: Arc<Metrics>,
    /// For one at a time who writes `/metrics`.
    pub(crate) metrics_room: Arc<Semaphore>,
    /// The node is shutting down.
    pub(crate) stopping: watch::Sender<bool>,
    pub(crate) accounts: Vec<DevAccount>,
    pub(crate) settings: Settings,
    pub(crate) dev: Dev,
    pub(crate) filters: Filters,
    /// One permit for each subscription that there may be.
    pub(crate) subscriptions: Arc<Semaphore>,
    /// One permit for each address and topic that filters and subscriptions may keep.
    pub(crate) log_values: Arc<Semaphore>,
    /// How the base chain is, if there is one.
    pub(crate) base_chain: Option<Arc<SharedStatus>>,
    pub(crate) dashboard: Dashboard,
    pub(crate) timeline: Timeline,
    /// For one at a time who records at `/admin/timeline`.
    pub(crate) timeline_room: Semaphore,
}

/// How many jobs of each kind may be in the line of the workers at once. Whoever finds no room waits
/// outside, where a request that is given up goes with its arguments.
pub(crate) struct Room {
    questions: Arc<Semaphore>,
    /// Apart, so that transactions do not wait behind calls that take long.
    sends: Arc<Semaphore>,
}

impl Room {
    pub(crate) fn new(workers: usize) -> Room {
        // Enough that no worker waits for the next one.
        const QUESTIONS: usize = 4;
        const SENDS: usize = 64;
        Room {
            questions: Arc::new(Semaphore::new(QUESTIONS * workers)),
            sends: Arc::new(Semaphore::new(SENDS * workers)),
        }
    }
}

/// Which path a request came by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// `/`
    Root,
    /// `/shard/<address>`
    Shard(Address),
}

impl Context {
    pub(crate) fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Waits until the node shuts down.
    pub(crate) async fn stopped(&self) {
        // An error would say that nobody can say so any more, and it is said here.
        let _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }

    /// Whether it can do what it is there for; if not, why.
    pub(crate) fn ready(&self) -> Result<(), String> {
        if self.is_stopping() {
            return Err("the node is shutting down".to_owned());
        }
        if let Some(why) = self.shards.store_failure() {
            return Err(format!("the store has failed: {why}"));
        }
        match self.base_chain.as_ref().map(|base| base.get()) {
            Some(base) if !base.is_fresh() => {
                Err(format!("the base chain has been silent for {:?}", base.silent_for))
            }
            _ => Ok(()),
        }
    }

    /// A shard as its own endpoint sees it: one that nobody has used yet answers from genesis,
    /// unless shards are made on purpose only.
    pub(crate) fn own(&self, address: Address) -> Result<Shard, RpcError> {
        if self.settings.shards.strict {
            self.existing(address)
        } else {
            Ok(self.shards.look(address))
        }
    }

    /// An account whose key is known.
    pub(crate) fn account(&self, address: Address) -> Option<&DevAccount> {
        self.accounts.iter().find(|account| account.address() == address)
    }

    /// Whether transactions from this account need no signature here. The shards below believe
    /// whatever is sent by this node.
    pub(crate) fn may_send_unsigned(&self, from: Address) -> bool {
        let settings = &self.settings;
        settings.shards.rules.no_account_validation
            || settings.dev_api && self.dev.is_impersonated(from)
    }

    /// A shard that exists.
    pub(crate) fn existing(&self, address: Address) -> Result<Shard, RpcError> {
        self.shards.get(address).ok_or_else(|| RpcError::shard_not_found(address))
    }

    /// Runs what takes a while on a worker. If nobody waits for it any more when its turn comes, it
    /// is not run.
    pub(crate) async fn compute<R: Send + 'static>(
        self: &Arc<Context>,
        run: impl FnOnce(&Context) -> R + Send + 'static,
    ) -> Result<R, RpcError> {
        let asker = Arc::new(());
        let left = Arc::downgrade(&asker);
        let unless_left = move |context: &Context| left.upgrade().map(|_| run(context));
        let done = self.on_worker(&self.room.questions, unless_left).await?;
        drop(asker);
        Ok(done.expect("the asker is still here"))
    }

    /// The same for what is signed and sent here: once it is in line, it counts.
    pub(crate) async fn accept<R: Send + 'static>(
        self: &Arc<Context>,
        run: impl FnOnce(&Context) -> R + Send + 'static,
    ) -> Result<R, RpcError> {
        self.on_worker(&self.room.sends, run).await
    }

    async fn on_worker<R: Send + 'static>(
        self: &Arc<Context>,
        room: &Arc<Semaphore>,
        run: impl FnOnce(&Context) -> R + Send + 'static,
    ) -> Result<R, RpcError> {
        let permit = room.clone().acquire_owned().await.map_err(|_| RpcError::stopping())?;
        let context = self.clone();
        let running = self.queries.compute(move |_| {
            // Given back when the job is done, not when somebody stops waiting for it.
            let _permit = permit;
            run(&context)
        });
        let running = running.map_err(|_| RpcError::stopping())?;
        running.await.map_err(|error| RpcError::internal(&error))
    }
}
