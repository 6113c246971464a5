//! How do executed transactions become a block that has a hash?
//!
//! The header is that of the fork, with real roots and a real filter of logs. The shard's address
//! is its extra data: two shards that did the same still have different hashes. Without a state
//! root it holds zero in its place.

use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, Header};
use alloy_eips::eip7685::EMPTY_REQUESTS_HASH;
use alloy_primitives::{Address, B64, B256, Bytes, U256};
use alloy_trie::EMPTY_ROOT_HASH;
use revm::primitives::hardfork::SpecId;

use crate::{
    block::{Block, ListRoots},
    config::Rules,
    execute::{BlockContext, Executed},
};

/// Makes a block of what was executed. Take what was dropped and left out of it before: a block
/// does not hold them.
///
/// `state_root` is that after the block, where it is kept up.
pub fn seal(
    rules: &Rules,
    shard: Address,
    context: &BlockContext,
    executed: Executed,
    state_root: Option<B256>,
) -> Block {
    let roots = ListRoots::of(&executed.included);
    seal_with(rules, shard, context, executed, roots, state_root)
}

/// The same, where the roots of what was executed are known.
pub(crate) fn seal_with(
    rules: &Rules,
    shard: Address,
    context: &BlockContext,
    executed: Executed,
    roots: ListRoots,
    state_root: Option<B256>,
) -> Block {
    let header = Header {
        state_root: state_root.unwrap_or(B256::ZERO),
        transactions_root: roots.transactions,
        receipts_root: roots.receipts,
        logs_bloom: roots.logs_bloom,
        gas_used: executed.gas_used,
        ..empty_header(rules, shard, context)
    };
    let environment = context.environment(&executed.hashes_read);
    let (transactions, receipts) = executed.included.into_iter().unzip();
    Block {
        hash: header.hash_slow(),
        header,
        environment,
        transactions,
        receipts,
        changes: executed.changes,
    }
}

/// The header of a block that holds nothing, with the fields that the fork has.
pub(crate) fn empty_header(rules: &Rules, shard: Address, context: &BlockContext) -> Header {
    let since = |fork: SpecId| rules.fork.is_enabled_in(fork);
    Header {
        parent_hash: context.parent_hash,
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        beneficiary: context.beneficiary,
        state_root: B256::ZERO,
        transactions_root: EMPTY_ROOT_HASH,
        receipts_root: EMPTY_ROOT_HASH,
        logs_bloom: Default::default(),
        difficulty: U256::ZERO,
        number: context.height,
        gas_limit: rules.block_gas_limit,
        gas_used: 0,
        timestamp: context.timestamp,
        extra_data: Bytes::copy_from_slice(shard.as_slice()),
        mix_hash: context.prevrandao,
        nonce: B64::ZERO,
        base_fee_per_gas: since(SpecId::LONDON).then_some(context.base_fee),
        withdrawals_root: since(SpecId::SHANGHAI).then_some(EMPTY_ROOT_HASH),
        blob_gas_used: since(SpecId::CANCUN).then_some(0),
        excess_blob_gas: since(SpecId::CANCUN).then_some(context.excess_blob_gas),
        parent_beacon_block_root: since(SpecId::CANCUN).then_some(context.parent_beacon_block_root),
        requests_hash: since(SpecId::PRAGUE).then_some(EMPTY_REQUESTS_HASH),
        block_access_list_hash: None,
        slot_number: None,
    }
}

#[cfg(test)]
mod tests;
