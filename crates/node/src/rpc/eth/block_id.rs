//! Which block is meant?

use std::sync::Arc;

use alloy_eips::{BlockId, BlockNumberOrTag};
use shard::{Block, Shard};

use crate::rpc::error::{NOT_FOUND, RpcError};

/// The number of the block that is meant. There is no pending block: `pending` reads as `latest`,
/// and every committed block is safe and final.
pub(crate) fn number(shard: &Shard, id: Option<BlockId>) -> Result<u64, RpcError> {
    let id = id.unwrap_or_default();
    find(shard, id)?.ok_or_else(|| {
        let message = match id {
            BlockId::Hash(hash) => format!("block not found: {}", hash.block_hash),
            BlockId::Number(number) => {
                let tip = shard.tip().number();
                format!("block not found: {number} (the latest is {tip})")
            }
        };
        RpcError::new(NOT_FOUND, message)
    })
}

/// The same; `None`: there is no such block.
pub(crate) fn find(shard: &Shard, id: BlockId) -> Result<Option<u64>, RpcError> {
    let tip = || shard.tip().number();
    Ok(match id {
        BlockId::Number(number) => Some(number_of(number, tip)).filter(|number| *number <= tip()),
        BlockId::Hash(hash) => shard.block_number(hash.block_hash)?,
    })
}

/// The block that is meant; `None`: there is no such block.
pub(crate) fn block(shard: &Shard, id: BlockId) -> Result<Option<Arc<Block>>, RpcError> {
    match id {
        BlockId::Number(BlockNumberOrTag::Number(number)) => Ok(shard.block(number)?),
        BlockId::Number(BlockNumberOrTag::Earliest) => Ok(shard.block(0)?),
        BlockId::Number(_) => Ok(Some(shard.tip())),
        BlockId::Hash(hash) => Ok(shard.block_by_hash(hash.block_hash)?),
    }
}

/// The number that is meant, whether there is such a block or not.
pub(crate) fn number_of(id: BlockNumberOrTag, tip: impl FnOnce() -> u64) -> u64 {
    match id {
        BlockNumberOrTag::Number(number) => number,
        BlockNumberOrTag::Earliest => 0,
        _ => tip(),
    }
}
