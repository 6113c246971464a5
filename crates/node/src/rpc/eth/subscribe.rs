//! Who is told about news over a WebSocket, and what happens to one that does not read?
//!
//! A subscription waits for one event after the other and sends it. What comes while its connection
//! takes nothing more waits in its seat among the subscribers of the shards, which has room for a
//! fixed number; when that is full, it is sent what it has and then an error, and has ended.

use std::{num::NonZeroUsize, sync::Arc};

use alloy_primitives::Address;
use alloy_rpc_types_eth::{Filter, Log, pubsub::SubscriptionKind};
use jsonrpsee::{
    PendingSubscriptionSink, SubscriptionSink, core::SubscriptionError, types::Params,
};
use serde::Serialize;
use shard::events::{AcceptedEvent, BlockEvent, Ended, Interest, LogFilter, Subscription};
use tokio::sync::OwnedSemaphorePermit;

use super::{convert, logs};
use crate::{
    context::Endpoint,
    rpc::{
        args::Args,
        error::{LIMIT, RpcError},
        method::{Answer, Call, Kind, Method, Param, Run, answer},
    },
};

/// So many transactions may wait for a subscriber where one block may.
const PENDING_FACTOR: NonZeroUsize = NonZeroUsize::new(4).expect("not 0");

pub(crate) const METHODS: &[Method] = &[
    Method::of(
        "eth_subscribe",
        &[Param::required("kind", Kind::Text), Param::optional("options", Kind::Options)],
        Run::Subscription(begin),
        "Tells of newHeads, logs or newPendingTransactions as they come. Over WebSocket.",
    ),
    Method::of(
        "eth_unsubscribe",
        &[Param::required("subscription", Kind::Text)],
        Run::Unsubscription,
        "Ends a subscription; whether there was one. Over WebSocket.",
    ),
];

/// Ours are much shorter: see `rpc/id.rs`.
const ID_BYTES_MAX: usize = 128;

/// Whether these arguments name a subscription that may be or not. The server of WebSockets, which ends
/// them, takes whatever is something else for one that is not, and writes all of it into the log.
pub(crate) fn check_id(params: &str) -> Result<(), RpcError> {
    let mut args = Args::new(&Params::new((!params.is_empty()).then_some(params)))?;
    let id: String = args.required("subscription")?;
    if id.len() > ID_BYTES_MAX {
        let why = format!("invalid argument 0 (subscription): it has {} bytes", id.len());
        return Err(RpcError::invalid(why));
    }
    args.end()
}

/// A subscription that was made.
pub(crate) struct Feed {
    news: News,
    /// Each message says whose it is: those at `/` do.
    names_shard: bool,
    /// Its share of the limit.
    _permit: OwnedSemaphorePermit,
}

enum News {
    Heads(Subscription<BlockEvent>),
    Logs {
        blocks: Subscription<BlockEvent>,
        wanted: Box<LogFilter>,
        /// Its share of what all may look for.
        _share: OwnedSemaphorePermit,
    },
    Pending(Subscription<AcceptedEvent>, bool),
    /// This node is never behind, so there is nothing to tell.
    Syncing,
}

/// What is told, with whose it is.
#[derive(Serialize)]
struct OfShard<T> {
    shard: Address,
    #[serde(flatten)]
    what: T,
}

/// A transaction's hash, where it needs a name.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Hash {
    transaction_hash: alloy_primitives::B256,
}

fn begin(call: &mut Call) -> Result<Feed, RpcError> {
    let shard = interest(call)?;
    let kind: String = call.args.required("kind")?;
    let shards = &call.context.shards;
    let room = call.context.limits().subscription_blocks;
    let news = match kind.parse() {
        Ok(SubscriptionKind::NewHeads) => {
            News::Heads(shards.subscribe(room, Interest { shard, logs: None }))
        }
        Ok(SubscriptionKind::Logs) => {
            let filter: Option<Filter> = call.args.optional("filter")?;
            let filter = filter.unwrap_or_default();
            let (wanted, share) = (logs::wanted(&filter)?, logs::keep(&call.context, &filter)?);
            let interest = Interest { shard, logs: Some(wanted.clone()) };
            let blocks = shards.subscribe(room, interest);
            News::Logs { blocks, wanted: Box::new(wanted), _share: share }
        }
        Ok(SubscriptionKind::NewPendingTransactions) => {
            let full = call.args.optional("full")?.unwrap_or(false);
            News::Pending(
                shards.subscribe_accepted(room.saturating_mul(PENDING_FACTOR), shard),
                full,
            )
        }
        Ok(SubscriptionKind::Syncing) => News::Syncing,
        _ => {
            return Err(RpcError::invalid(format!(
                "no {kind:?} subscription: there are newHeads, logs, newPendingTransactions and \
                 syncing"
            )));
        }
    };
    call.args.end()?;
    let permit = call.context.subscriptions.clone().try_acquire_owned().map_err(|_| {
        let most = call.context.limits().subscriptions_all;
        RpcError::new(LIMIT, format!("too many subscriptions: this node has {most} at most"))
    })?;
    let names_shard = call.endpoint == Endpoint::Root;
    Ok(Feed { news, names_shard, _permit: permit })
}

/// Of which shard; `None`: of all. At `/` it is the first argument, and null is all.
fn interest(call: &mut Call) -> Result<Option<Address>, RpcError> {
    let address = match call.endpoint {
        Endpoint::Shard(address) => Some(address),
        Endpoint::Root => call.args.optional("shard")?,
    };
    let Some(address) = address else { return Ok(None) };
    match call.endpoint {
        Endpoint::Shard(_) => call.context.own(address)?,
        Endpoint::Root => call.context.existing(address)?,
    };
    Ok(Some(address))
}

/// Accepts a subscription and serves it until it ends, or refuses it.
pub(crate) async fn serve(
    pending: PendingSubscriptionSink,
    begun: Result<Feed, RpcError>,
) -> Result<(), SubscriptionError> {
    let feed = match begun {
        Ok(feed) => feed,
        Err(why) => {
            pending.reject(why).await;
            return Ok(());
        }
    };
    // If it can not be accepted, the connection has ended.
    let Ok(sink) = pending.accept().await else { return Ok(()) };
    feed.run(&sink).await
}

/// The subscription is over, since its connection is or somebody unsubscribed.
struct Gone;

impl Feed {
    async fn run(mut self, sink: &SubscriptionSink) -> Result<(), SubscriptionError> {
        loop {
            let told = tokio::select! {
                () = sink.closed() => return Ok(()),
                told = self.next() => told,
            };
            let messages = told.map_err(|ended| SubscriptionError::from(ended.to_string()))?;
            for message in messages {
                let message = message.map_err(|why| SubscriptionError::from(why.message))?;
                if send(sink, message).await.is_err() {
                    return Ok(());
                }
            }
        }
    }

    /// The messages about the next event.
    async fn next(&mut self) -> Result<Vec<Result<Answer, RpcError>>, Ended> {
        let named = self.names_shard;
        Ok(match &mut self.news {
            News::Heads(blocks) => {
                let BlockEvent { shard, block } = blocks.next().await?;
                vec![write(named, shard, &convert::header(block.hash, &block.header))]
            }
            News::Logs { blocks, wanted, .. } => {
                let BlockEvent { shard, block } = blocks.next().await?;
                let found = wanted.logs(&block).map(|found| {
                    let log = Log {
                        inner: found.log.clone(),
                        block_hash: Some(block.hash),
                        block_number: Some(block.number()),
                        block_timestamp: Some(block.header.timestamp),
                        transaction_hash: Some(block.transactions[found.transaction].hash()),
                        transaction_index: Some(found.transaction as u64),
                        log_index: Some(found.position as u64),
                        removed: false,
                    };
                    write(named, shard, &log)
                });
                found.collect()
            }
            News::Pending(accepted, full) => {
                let AcceptedEvent { shard, transaction } = accepted.next().await?;
                vec![if *full {
                    write(named, shard, &convert::transaction(&transaction, None))
                } else if named {
                    write(named, shard, &Hash { transaction_hash: transaction.hash() })
                } else {
                    answer(&transaction.hash())
                }]
            }
            News::Syncing => std::future::pending().await,
        })
    }
}

async fn send(sink: &SubscriptionSink, message: Answer) -> Result<(), Gone> {
    tokio::select! {
        () = sink.closed() => Err(Gone),
        sent = sink.send(message.into_raw()) => sent.map_err(|_| Gone),
    }
}

fn write<T: Serialize>(named: bool, shard: Address, what: &T) -> Result<Answer, RpcError> {
    if named { answer(&OfShard { shard, what }) } else { answer(what) }
}

/// How many subscriptions all connections may have.
pub(crate) fn room(context_limit: usize) -> Arc<tokio::sync::Semaphore> {
    Arc::new(tokio::sync::Semaphore::new(context_limit.min(tokio::sync::Semaphore::MAX_PERMITS)))
}
