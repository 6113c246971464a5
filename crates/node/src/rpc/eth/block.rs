//! What is in a block?

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::{B256, U64};
use alloy_rpc_types_eth::Index;
use shard::Shard;

use super::{block_id, convert, fees};
use crate::rpc::{
    error::RpcError,
    method::{Answer, Call, Kind, Method, Param, answer},
};

const NUMBER: Param = Param::required("block", Kind::Block);
const HASH: Param = Param::required("hash", Kind::Hash);
const FULL: Param = Param::optional("full", Kind::Bool);
const INDEX: Param = Param::required("index", Kind::Quantity);

pub(crate) const METHODS: &[Method] = &[
    Method::on_worker(
        "eth_getBlockByNumber",
        &[NUMBER, FULL],
        |call| whole(call, numbered),
        "A block by its number or name, with transactions or their hashes; null if there is none. As \
         `latest` and `pending` it tells the base fee of the next block.",
    ),
    Method::on_worker(
        "eth_getBlockByHash",
        &[HASH, FULL],
        |call| whole(call, hashed),
        "A block by its hash, with transactions or their hashes; null if there is none.",
    ),
    Method::on_worker(
        "eth_getBlockReceipts",
        &[NUMBER],
        receipts,
        "The receipts of a block's transactions, in order; null if there is no such block.",
    ),
    Method::on_worker(
        "eth_getBlockTransactionCountByNumber",
        &[NUMBER],
        |call| count(call, numbered),
        "How many transactions a block has, by its number or name.",
    ),
    Method::on_worker(
        "eth_getBlockTransactionCountByHash",
        &[HASH],
        |call| count(call, hashed),
        "How many transactions a block has, by its hash.",
    ),
    Method::here(
        "eth_getUncleCountByBlockNumber",
        &[NUMBER],
        |call| uncles(call, numbered),
        "How many uncles a block has: none ever.",
    ),
    Method::here(
        "eth_getUncleCountByBlockHash",
        &[HASH],
        |call| uncles(call, hashed),
        "How many uncles a block has: none ever.",
    ),
    Method::here(
        "eth_getUncleByBlockNumberAndIndex",
        &[NUMBER, INDEX],
        |call| uncle(call, numbered),
        "An uncle of a block: null, since there are none.",
    ),
    Method::here(
        "eth_getUncleByBlockHashAndIndex",
        &[HASH, INDEX],
        |call| uncle(call, hashed),
        "An uncle of a block: null, since there are none.",
    ),
];

/// How the block is named in the arguments.
pub(crate) type Named = fn(&mut Call) -> Result<BlockId, RpcError>;

pub(crate) fn numbered(call: &mut Call) -> Result<BlockId, RpcError> {
    call.args.required::<BlockNumberOrTag>("block").map(BlockId::Number)
}

pub(crate) fn hashed(call: &mut Call) -> Result<BlockId, RpcError> {
    call.args.required::<B256>("hash").map(BlockId::from)
}

fn whole(call: &mut Call, named: Named) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let id = named(call)?;
    let full = call.args.optional("full")?.unwrap_or(false);
    call.args.end()?;
    let block = block_id::block(&shard, id)?;
    answer(&block.map(|block| {
        let mut block = convert::block(&block, full);
        if let BlockId::Number(name) = id
            && let Some(ahead) = fees::ahead(&call.context, name)
        {
            let base_fee = &mut block.header.inner.base_fee_per_gas;
            *base_fee = base_fee.map(|_| ahead);
        }
        block
    }))
}

fn receipts(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let id: BlockId = call.args.required("block")?;
    call.args.end()?;
    let block = block_id::block(&shard, id)?;
    answer(&block.map(|block| convert::receipts(&block)))
}

fn count(call: &mut Call, named: Named) -> Result<Answer, RpcError> {
    let (shard, id) = only(call, named)?;
    let block = block_id::block(&shard, id)?;
    answer(&block.map(|block| U64::from(block.transactions.len())))
}

fn uncles(call: &mut Call, named: Named) -> Result<Answer, RpcError> {
    let (shard, id) = only(call, named)?;
    answer(&block_id::find(&shard, id)?.map(|_| U64::ZERO))
}

fn uncle(call: &mut Call, named: Named) -> Result<Answer, RpcError> {
    call.shard()?;
    named(call)?;
    let _: Index = call.args.required("index")?;
    call.args.end()?;
    answer(&())
}

/// A block is all that is asked for.
fn only(call: &mut Call, named: Named) -> Result<(Shard, BlockId), RpcError> {
    let shard = call.shard()?;
    let id = named(call)?;
    call.args.end()?;
    Ok((shard, id))
}
