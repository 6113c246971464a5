//! What does an account own, and what is in its storage?

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::{Address, U64, U256};
use shard::{Shard, StateAt, state::StateReader};

use super::block_id;
use crate::rpc::{
    error::RpcError,
    method::{Answer, Call, Kind, Method, Param, answer},
};

const ADDRESS: Param = Param::required("address", Kind::Address);
const BLOCK: Param = Param::optional("block", Kind::Block);

pub(crate) const METHODS: &[Method] = &[
    Method::here(
        "eth_chainId",
        &[],
        |call| answer(&U64::from(call.shard()?.chain_id())),
        "The shard's chain id.",
    ),
    Method::here(
        "eth_blockNumber",
        &[],
        |call| answer(&U64::from(call.shard()?.tip().number())),
        "The number of the newest block.",
    ),
    Method::here("eth_getBalance", &[ADDRESS, BLOCK], balance, "What an account owns, in wei."),
    Method::here(
        "eth_getTransactionCount",
        &[ADDRESS, BLOCK],
        transaction_count,
        "The nonce of an account's next transaction; with `pending` after those in the pool.",
    ),
];

/// The state at the end of the block that is meant.
pub(super) fn state(shard: &Shard, block: Option<BlockId>) -> Result<StateAt, RpcError> {
    let number = block_id::number(shard, block)?;
    shard.state_at(number).ok_or_else(|| RpcError::server(format!("block not found: {number}")))
}

fn balance(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let address: Address = call.args.required("address")?;
    let block = call.args.optional("block")?;
    call.args.end()?;
    let account = state(&shard, block)?.account(address)?;
    answer(&account.map_or(U256::ZERO, |account| account.balance))
}

fn transaction_count(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let address: Address = call.args.required("address")?;
    let block = call.args.optional("block")?;
    call.args.end()?;
    if block == Some(BlockId::Number(BlockNumberOrTag::Pending)) {
        return answer(&U64::from(shard.next_nonce(address)?));
    }
    let account = state(&shard, block)?.account(address)?;
    answer(&U64::from(account.map_or(0, |account| account.nonce)))
}
