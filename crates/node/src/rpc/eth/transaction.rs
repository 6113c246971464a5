//! Where is a transaction, and what became of it?

use alloy_primitives::{B256, Bytes};
use alloy_rpc_types_eth::Index;
use shard::{
    Position, Shard,
    shard::{Included, TransactionStatus},
    transaction::SharedTransaction,
};

use super::{
    block::{Named, hashed, numbered},
    block_id,
    convert::{self, Place},
};
use crate::{
    context::Context,
    rpc::{
        error::RpcError,
        method::{Answer, Call, Kind, Method, Param, answer},
    },
};

const HASH: Param = Param::required("hash", Kind::Hash);
const NUMBER: Param = Param::required("block", Kind::Block);
const INDEX: Param = Param::required("index", Kind::Quantity);

pub(crate) const METHODS: &[Method] = &[
    Method::here(
        "eth_getTransactionByHash",
        &[HASH],
        by_hash,
        "A transaction of a block or of the pool; null if there is none.",
    ),
    Method::here(
        "eth_getRawTransactionByHash",
        &[HASH],
        raw_by_hash,
        "The bytes of a transaction of a block or of the pool, as they were sent.",
    ),
    Method::here(
        "eth_getTransactionByBlockNumberAndIndex",
        &[NUMBER, INDEX],
        |call| by_place(call, numbered),
        "A transaction by its block's number and its place there; null if there is none.",
    ),
    Method::here(
        "eth_getTransactionByBlockHashAndIndex",
        &[HASH, INDEX],
        |call| by_place(call, hashed),
        "A transaction by its block's hash and its place there; null if there is none.",
    ),
    Method::here(
        "eth_getTransactionReceipt",
        &[HASH],
        receipt,
        "What became of a transaction; null as long as it is in no block.",
    ),
];

/// Where a transaction was found.
enum Found {
    InBlock(Box<Included>),
    InPool(SharedTransaction),
}

impl Found {
    fn transaction(&self) -> &SharedTransaction {
        match self {
            Found::InBlock(included) => &included.transaction,
            Found::InPool(transaction) => transaction,
        }
    }
}

/// A transaction of a block.
///
/// Where the state of its block was left behind it can be sent again, and then it waits under the hash
/// by which that block has it: until it is in a newer one it is in none.
pub(crate) fn included(
    context: &Context,
    shard: &Shard,
    hash: B256,
) -> Result<Option<Included>, RpcError> {
    // Only developers leave a state behind: nobody else pays for the look into the pool.
    if context.settings.dev_api
        && let Some(TransactionStatus::Queued(_)) = shard.transaction_status(hash)?
    {
        return Ok(None);
    }
    Ok(shard.included(hash)?)
}

fn find(context: &Context, shard: &Shard, hash: B256) -> Result<Option<Found>, RpcError> {
    if let Some(included) = included(context, shard, hash)? {
        return Ok(Some(Found::InBlock(Box::new(included))));
    }
    if let Some(pooled) = shard.pooled(hash) {
        return Ok(Some(Found::InPool(pooled)));
    }
    // It may have left the pool for a block between the two looks.
    Ok(included(context, shard, hash)?.map(|included| Found::InBlock(Box::new(included))))
}

fn found(call: &mut Call) -> Result<Option<Found>, RpcError> {
    let shard = call.shard()?;
    let hash = call.args.required("hash")?;
    call.args.end()?;
    find(&call.context, &shard, hash)
}

fn by_hash(call: &mut Call) -> Result<Answer, RpcError> {
    answer(&found(call)?.map(|found| match &found {
        Found::InBlock(included) => in_block(included),
        Found::InPool(transaction) => convert::transaction(transaction, None),
    }))
}

fn raw_by_hash(call: &mut Call) -> Result<Answer, RpcError> {
    // Geth gives no bytes where there is nothing, not null.
    answer(&found(call)?.map_or(Bytes::new(), |found| found.transaction().encoded().clone()))
}

fn by_place(call: &mut Call, named: Named) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let id = named(call)?;
    let Index(index) = call.args.required("index")?;
    call.args.end()?;
    let position = block_id::find(&shard, id)?.zip(u32::try_from(index).ok());
    let included = match position {
        Some((number, index)) => shard.included_at(Position { number, index })?,
        None => None,
    };
    answer(&included.as_ref().map(in_block))
}

fn receipt(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let hash = call.args.required("hash")?;
    call.args.end()?;
    answer(&included(&call.context, &shard, hash)?.map(|included| {
        let Included { transaction, receipt, logs_before, .. } = &included;
        convert::receipt(transaction, receipt, Place::of(&included), *logs_before)
    }))
}

fn in_block(included: &Included) -> convert::RpcTransaction {
    convert::transaction(&included.transaction, Some(Place::of(included)))
}
