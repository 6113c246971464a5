//! How does a signed transaction get into a shard?
//!
//! Decoding, recovering the sender and the pool's checks are one job on a worker: tens of
//! microseconds, nearly all of it the recovery. What is left is waiting until the acceptance is
//! durable, and that costs no thread. The requests of a batch are jobs of their own, side by side.

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, Bytes, TxKind};
use shard::{
    pool::Refusal,
    shards::{Acknowledgement, SubmitError},
    transaction::Unrecovered,
};

use crate::{
    context::Context,
    rpc::{
        error::{INTERNAL, LIMIT, RpcError},
        method::{Answer, Call, Kind, Method, Param, Place, answer},
    },
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
];

/// What says when an acceptance is durable.
pub(crate) type Accepted = Acknowledgement<Result<B256, SubmitError>>;

async fn send_raw(mut call: Call) -> Result<Answer, RpcError> {
    let address = call.address()?;
    let encoded: Bytes = call.args.required("transaction")?;
    call.args.end()?;
    let accept = move |context: &Context| {
        let unrecovered = decode(context, encoded)?;
        accept(context, address, unrecovered)
    };
    durable(call.context.compute(accept).await??, address).await
}

async fn send_routed(mut call: Call) -> Result<Answer, RpcError> {
    let encoded: Bytes = call.args.required("transaction")?;
    call.args.end()?;
    let accept = move |context: &Context| {
        let unrecovered = decode(context, encoded)?;
        let TxKind::Call(address) = unrecovered.envelope().kind() else {
            return Err(RpcError::invalid(
                "a contract creation has no recipient that names its shard: send it to \
                 /shard/<address>, or with shard_sendRawTransaction and the address first",
            ));
        };
        Ok((accept(context, address, unrecovered)?, address))
    };
    let (accepted, address) = call.context.compute(accept).await??;
    durable(accepted, address).await
}

/// Reads a transaction as it was sent.
pub(crate) fn decode(context: &Context, encoded: Bytes) -> Result<Unrecovered, RpcError> {
    let bytes_max = context.settings.shards.pool.transaction_bytes_max;
    Unrecovered::decode(encoded, bytes_max).map_err(|why| RpcError::server(why.to_string()))
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
        SubmitError::TooManyShards(_) => RpcError::new(LIMIT, why.to_string()),
        SubmitError::Store(_) => RpcError::new(INTERNAL, why.to_string()),
        why => RpcError::server(why.to_string()),
    }
}
