//! What does an account own, and what is in its storage?

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U64, U256};
use alloy_rpc_types_eth::AccountInfo;
use alloy_serde::JsonStorageKey;
use shard::{Shard, StateAt, block::Account, state::StateReader, store::StoreError};

use super::block_id;
use crate::rpc::{
    error::RpcError,
    method::{Answer, Call, Kind, Method, Param, Place, answer},
};

const ADDRESS: Param = Param::required("address", Kind::Address);
const BLOCK: Param = Param::optional("block", Kind::Block);

pub(crate) const METHODS: &[Method] = &[
    Method::here(
        "eth_chainId",
        &[],
        |call| only_shard(call, Shard::chain_id),
        "The shard's chain id.",
    )
    .at(Place::OwnOnly),
    Method::here(
        "eth_blockNumber",
        &[],
        |call| only_shard(call, |shard| shard.tip().number()),
        "The number of the newest block.",
    ),
    Method::here("eth_getBalance", &[ADDRESS, BLOCK], balance, "What an account owns, in wei."),
    Method::here(
        "eth_getTransactionCount",
        &[ADDRESS, BLOCK],
        transaction_count,
        "The nonce of an account's next transaction; with `pending` after those in the pool.",
    ),
    Method::here("eth_getCode", &[ADDRESS, BLOCK], code, "An account's code."),
    Method::here(
        "eth_getStorageAt",
        &[ADDRESS, Param::required("slot", Kind::Quantity), BLOCK],
        storage,
        "What a slot of an account's storage holds.",
    ),
    Method::here(
        "eth_getAccountInfo",
        &[ADDRESS, BLOCK],
        account_info,
        "An account's balance, nonce and code.",
    ),
];

fn only_shard(call: &mut Call, number: fn(&Shard) -> u64) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    call.args.end()?;
    answer(&U64::from(number(&shard)))
}

/// The state at the end of the block that is meant.
pub(super) fn state(shard: &Shard, block: Option<BlockId>) -> Result<StateAt, RpcError> {
    let number = block_id::number(shard, block)?;
    shard.state_at(number).ok_or_else(|| RpcError::server(format!("block not found: {number}")))
}

/// An account at the end of the block that is meant: the last two arguments.
fn account(call: &mut Call) -> Result<(StateAt, Option<Account>), RpcError> {
    let shard = call.shard()?;
    let address: Address = call.args.required("address")?;
    let block = call.args.optional("block")?;
    call.args.end()?;
    let state = state(&shard, block)?;
    let account = state.account(address)?;
    Ok((state, account))
}

fn balance(call: &mut Call) -> Result<Answer, RpcError> {
    let (_, account) = account(call)?;
    answer(&account.map_or(U256::ZERO, |account| account.balance))
}

fn code(call: &mut Call) -> Result<Answer, RpcError> {
    let (state, account) = account(call)?;
    answer(&code_of(&state, account)?)
}

fn code_of(state: &StateAt, account: Option<Account>) -> Result<Bytes, StoreError> {
    match account {
        Some(account) if account.code_hash != KECCAK256_EMPTY => state.code(account.code_hash),
        _ => Ok(Bytes::new()),
    }
}

fn account_info(call: &mut Call) -> Result<Answer, RpcError> {
    let (state, account) = account(call)?;
    answer(&AccountInfo {
        balance: account.map_or(U256::ZERO, |account| account.balance),
        nonce: account.map_or(0, |account| account.nonce),
        code: code_of(&state, account)?,
    })
}

fn storage(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let address: Address = call.args.required("address")?;
    let slot: JsonStorageKey = call.args.required("slot")?;
    let block = call.args.optional("block")?;
    call.args.end()?;
    let value = state(&shard, block)?.storage(address, slot.as_b256().into())?;
    answer(&B256::from(value))
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
