//! How does a developer set what an account has?
//!
//! Each is a block of its own without transactions: the chain tells what was done.

use alloy_primitives::{Address, B256, Bytes, U256};
use shard::amend::Amendment;

use super::{Number, allowed, amend};
use crate::rpc::{
    error::RpcError,
    method::{Answer, Call, Kind, Method, Param, Place, Waited, answer},
};

const ADDRESS: Param = Param::required("address", Kind::Address);
const BALANCE: &[Param] = &[ADDRESS, Param::required("balance", Kind::Quantity)];
const NONCE: &[Param] = &[ADDRESS, Param::required("nonce", Kind::Quantity)];
const CODE: &[Param] = &[ADDRESS, Param::required("code", Kind::Bytes)];
const SLOT: &[Param] =
    &[ADDRESS, Param::required("slot", Kind::Quantity), Param::required("value", Kind::Hash)];

const fn method(
    name: &'static str,
    params: &'static [Param],
    run: fn(Call) -> Waited,
    about: &'static str,
) -> Method {
    Method::waiting(name, params, run, about).at(Place::OwnOnly)
}

const SET_BALANCE: &str = "Sets a balance, in wei.";
const SET_NONCE: &str = "Sets an account's nonce.";
const SET_CODE: &str = "Sets an account's code.";
const SET_SLOT: &str = "Sets a slot of an account's storage.";

/// Under the names of anvil, hardhat and ganache.
pub(crate) const METHODS: &[Method] = &[
    method("anvil_setBalance", BALANCE, |call| Box::pin(balance(call)), SET_BALANCE),
    method("hardhat_setBalance", BALANCE, |call| Box::pin(balance(call)), SET_BALANCE),
    method("evm_setAccountBalance", BALANCE, |call| Box::pin(balance(call)), SET_BALANCE),
    method("anvil_setNonce", NONCE, |call| Box::pin(nonce(call)), SET_NONCE),
    method("hardhat_setNonce", NONCE, |call| Box::pin(nonce(call)), SET_NONCE),
    method("evm_setAccountNonce", NONCE, |call| Box::pin(nonce(call)), SET_NONCE),
    method("anvil_setCode", CODE, |call| Box::pin(code(call)), SET_CODE),
    method("hardhat_setCode", CODE, |call| Box::pin(code(call)), SET_CODE),
    method("evm_setAccountCode", CODE, |call| Box::pin(code(call)), SET_CODE),
    method("anvil_setStorageAt", SLOT, |call| Box::pin(slot(call)), SET_SLOT),
    method("hardhat_setStorageAt", SLOT, |call| Box::pin(slot(call)), SET_SLOT),
];

/// The shard and the account.
fn begin(call: &mut Call) -> Result<(Address, Address), RpcError> {
    allowed(call)?;
    Ok((call.address()?, call.args.required("address")?))
}

async fn balance(mut call: Call) -> Result<Answer, RpcError> {
    let (shard, address) = begin(&mut call)?;
    let balance: U256 = call.args.required("balance")?;
    call.args.end()?;
    amend(&call, shard, Amendment::new().balance(address, balance)).await?;
    answer(&())
}

async fn nonce(mut call: Call) -> Result<Answer, RpcError> {
    let (shard, address) = begin(&mut call)?;
    let nonce: Number = call.args.required("nonce")?;
    call.args.end()?;
    amend(&call, shard, Amendment::new().nonce(address, nonce.get())).await?;
    answer(&())
}

async fn code(mut call: Call) -> Result<Answer, RpcError> {
    let (shard, address) = begin(&mut call)?;
    let code: Bytes = call.args.required("code")?;
    call.args.end()?;
    amend(&call, shard, Amendment::new().code(address, code)).await?;
    answer(&())
}

async fn slot(mut call: Call) -> Result<Answer, RpcError> {
    let (shard, address) = begin(&mut call)?;
    let slot: U256 = call.args.required("slot")?;
    let value: B256 = call.args.required("value")?;
    call.args.end()?;
    amend(&call, shard, Amendment::new().slot(address, slot, value.into())).await?;
    answer(&true)
}
