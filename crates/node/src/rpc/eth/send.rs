//! How does a signed transaction get into a shard?
//!
//! Its sender is recovered, by a worker or where its request was read, and it is put into the pool: see
//! `sends.rs`. Then its acceptance is waited for until that is durable, and that costs no thread.
//! The requests of a batch are in line together.

use std::{future::poll_fn, num::NonZeroUsize, time::Duration};

use alloy_primitives::{Address, B256, Bytes, U64};
use serde::Deserialize;
use shard::{
    events::{Ended, Interest},
    pool::Refusal,
    shard::TransactionStatus,
    shards::{Acknowledgement, SubmitError},
    transaction::{Malformed, Unrecovered},
};

use super::{
    convert::{self, Place as InBlock},
    transaction::included,
};
use crate::{
    context::Context,
    rpc::{
        error::{INTERNAL, LIMIT, RpcError},
        method::{Answer, Call, Kind, Method, Param, Place, answer},
    },
    sends,
};

const TRANSACTION: Param = Param::required("transaction", Kind::Bytes);

pub(crate) const METHODS: &[Method] = &[
    Method::waiting(
        "eth_sendRawTransaction",
        &[TRANSACTION],
        |call| Box::pin(send_raw(call)),
        "Accepts a signed transaction and gives its hash, when the acceptance is durable.",
    )
    .at(Place::ShardWrite),
    Method::waiting(
        "eth_sendRawTransaction",
        &[TRANSACTION],
        |call| Box::pin(send_routed(call)),
        "The same at `/`: the transaction goes to the shard that its recipient names.",
    )
    .at(Place::Root),
    Method::waiting(
        "eth_sendRawTransactionSync",
        &[TRANSACTION, Param::optional("timeout", Kind::Quantity)],
        |call| Box::pin(send_and_wait(call)),
        "The same, and waits for the receipt: 2 s by default, or so many milliseconds.",
    )
    .at(Place::ShardWrite),
];

/// What says when an acceptance is durable.
pub(crate) type Accepted = Acknowledgement<Result<B256, SubmitError>>;

async fn send_raw(mut call: Call) -> Result<Answer, RpcError> {
    let address = call.address()?;
    let encoded: Bytes = call.args.required("transaction")?;
    call.args.end()?;
    answer(&sends::send(&call.context, Some(address), encoded, call.alone).await?)
}

async fn send_routed(mut call: Call) -> Result<Answer, RpcError> {
    let encoded: Bytes = call.args.required("transaction")?;
    call.args.end()?;
    answer(&sends::send(&call.context, None, encoded, call.alone).await?)
}

/// How long a receipt is waited for, by default and at most (EIP-7966).
const WAIT: Duration = Duration::from_secs(2);
const WAIT_MAX: Duration = Duration::from_secs(30);
/// The code of EIP-7966 for a transaction that was accepted and is in no block yet.
const TIMED_OUT: i32 = 4;
/// Blocks that may come between two looks.
const ROOM: NonZeroUsize = NonZeroUsize::new(16).unwrap();

async fn send_and_wait(mut call: Call) -> Result<Answer, RpcError> {
    let address = call.address()?;
    let encoded: Bytes = call.args.required("transaction")?;
    let timeout: Option<Milliseconds> = call.args.optional("timeout")?;
    call.args.end()?;
    let timeout = timeout.map_or(WAIT, Milliseconds::get).min(WAIT_MAX);
    let hash = sends::send(&call.context, Some(address), encoded, call.alone).await?;
    let why = tokio::select! {
        biased;
        receipt = receipt(&call.context, address, hash) => return receipt,
        // Those who wait must not hold up the end.
        () = call.context.stopped() => "the node is shutting down".to_owned(),
        () = tokio::time::sleep(timeout) => {
            format!("was not in a block after {} ms", timeout.as_millis())
        }
    };
    let message = format!("the transaction was added to the pool and {why}");
    Err(RpcError { code: TIMED_OUT, message, data: Some(hash.into()) })
}

/// A time, as tools write it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Milliseconds {
    Plain(u64),
    Quantity(U64),
}

impl Milliseconds {
    fn get(self) -> Duration {
        Duration::from_millis(match self {
            Milliseconds::Plain(number) => number,
            Milliseconds::Quantity(number) => number.to(),
        })
    }
}

/// The receipt of a transaction, when it is in a block.
async fn receipt(context: &Context, address: Address, hash: B256) -> Result<Answer, RpcError> {
    let shard = context.existing(address)?;
    loop {
        // Before the look: what comes after it is not missed.
        let interest = Interest { shard: Some(address), logs: None };
        let mut blocks = context.shards.subscribe(ROOM, interest);
        // One that does not keep up is dropped, and subscribes and looks again.
        loop {
            if let Some(included) = included(context, &shard, hash)? {
                let (one, place) = (&included.transaction, InBlock::of(&included));
                let logs_before = included.logs_before;
                return answer(&convert::receipt(one, &included.receipt, place, logs_before));
            }
            if let Some(TransactionStatus::Dropped(why)) = shard.transaction_status(hash)? {
                return Err(RpcError::server(format!("the transaction was dropped: {why}")));
            }
            match poll_fn(|cx| blocks.poll_next(cx)).await {
                Ok(_) => {}
                Err(Ended::Lagged) => break,
                Err(_) => return Err(RpcError::stopping()),
            }
        }
    }
}

/// Reads a transaction as it was sent.
pub(crate) fn decode(context: &Context, encoded: Bytes) -> Result<Unrecovered, RpcError> {
    let bytes_max = context.settings.shards.pool.transaction_bytes_max;
    Unrecovered::decode(encoded, bytes_max).map_err(malformed)
}

/// The same for its length alone, which costs nothing.
pub(crate) fn check_length(context: &Context, encoded: &Bytes) -> Result<(), RpcError> {
    let (bytes, bytes_max) = (encoded.len(), context.settings.shards.pool.transaction_bytes_max);
    if bytes > bytes_max { Err(malformed(Malformed::TooLong { bytes, bytes_max })) } else { Ok(()) }
}

fn malformed(why: Malformed) -> RpcError {
    RpcError::server(why.to_string())
}

/// Finds out who sent it and puts it into the pool. On a worker.
pub(crate) fn accept(
    context: &Context,
    address: Address,
    unrecovered: Unrecovered,
) -> Result<Accepted, RpcError> {
    let transaction = unrecovered.recover().map_err(|why| RpcError::server(why.to_string()))?;
    context.shards.accept(address, transaction.into()).map_err(|why| refused(why, address))
}

/// Waits until it is durable, and answers with the hash.
pub(crate) async fn durable(accepted: Accepted, address: Address) -> Result<Answer, RpcError> {
    answer(&accepted.await.map_err(|why| refused(why, address))?)
}

/// Why a shard does not take a transaction, in the words and with the codes that tools know.
pub(crate) fn refused(why: SubmitError, address: Address) -> RpcError {
    match why {
        SubmitError::NoSuchShard(address) => RpcError::shard_not_found(address),
        SubmitError::Refused(Refusal::WrongChainId { have, want }) => RpcError::server(format!(
            "invalid chain id for signer: have {have} want {want}; {want} is the chain id of \
             /shard/{address}, each shard has its own: sign for that one"
        )),
        SubmitError::Quarantined(_) => RpcError::server(format!(
            "{why}; nothing is lost: whoever runs the node can have it try again, with \
             admin_releaseShard"
        )),
        SubmitError::TooManyShards(_) => RpcError::new(LIMIT, why.to_string()),
        SubmitError::Store(_) => RpcError::new(INTERNAL, why.to_string()),
        why => RpcError::server(why.to_string()),
    }
}
