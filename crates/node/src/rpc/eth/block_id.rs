//! Which block is meant?

use alloy_eips::{BlockId, BlockNumberOrTag};
use shard::Shard;

use crate::rpc::error::{NOT_FOUND, RpcError};

/// The number of the block that is meant. There is no pending block: `pending` reads as `latest`,
/// and every committed block is safe and final.
pub(crate) fn number(shard: &Shard, id: Option<BlockId>) -> Result<u64, RpcError> {
    let tip = shard.tip().number();
    let number = match id.unwrap_or_default() {
        BlockId::Number(BlockNumberOrTag::Number(number)) => number,
        BlockId::Number(BlockNumberOrTag::Earliest) => 0,
        BlockId::Number(_) => tip,
        BlockId::Hash(hash) => shard.block_number(hash.block_hash)?.ok_or_else(|| {
            RpcError::new(NOT_FOUND, format!("block not found: {}", hash.block_hash))
        })?,
    };
    if number > tip {
        let message = format!("block not found: {number} (the latest is {tip})");
        return Err(RpcError::new(NOT_FOUND, message));
    }
    Ok(number)
}
