//! How does a call as clients write it become one that a shard makes?

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, map::B256HashMap};
use alloy_rpc_types_eth::{
    BlockOverrides, TransactionInput, TransactionRequest, state::StateOverride,
};
use serde::Deserialize;
use shard::{
    Environment, Shard,
    execute::{
        BlockContext,
        call::{AccountOverride, BlockOverride, Call, Overrides},
    },
};

use crate::{
    context::Context,
    rpc::error::{LIMIT, RpcError},
};

/// What nearly every call says. A whole request has parts that depend on each other, for which it is read
/// twice.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Short {
    from: Option<Address>,
    to: Option<Address>,
    value: Option<U256>,
    data: Option<Bytes>,
    input: Option<Bytes>,
}

impl From<Short> for TransactionRequest {
    fn from(Short { from, to, value, data, input }: Short) -> TransactionRequest {
        let (to, input) = (to.map(TxKind::Call), TransactionInput { data, input });
        TransactionRequest { from, to, value, input, ..TransactionRequest::default() }
    }
}

/// The call that is meant. What contradicts itself, the shard or a limit is refused.
pub(crate) fn call(
    context: &Context,
    shard: &Shard,
    request: TransactionRequest,
) -> Result<Call, RpcError> {
    check(context, shard, &request)?;
    let TransactionRequest { from, to, gas, value, nonce, access_list, .. } = request;
    let (fee, priority_fee) = (request.max_fee_per_gas, request.max_priority_fee_per_gas);
    // With a priority fee alone the fee would be 0, and below it.
    let gas_price = request.gas_price.or(fee).or(priority_fee);
    Ok(Call {
        from: from.unwrap_or_default(),
        to: to.unwrap_or(TxKind::Create),
        gas,
        gas_price,
        priority_fee: priority_fee.or(fee.map(|_| 0)),
        value: value.unwrap_or_default(),
        input: request.input.into_input().unwrap_or_default(),
        nonce,
        access_list: access_list.unwrap_or_default(),
        authorizations: request.authorization_list.unwrap_or_default(),
    })
}

/// What holds for calls and for transactions to be.
pub(crate) fn check(
    context: &Context,
    shard: &Shard,
    request: &TransactionRequest,
) -> Result<(), RpcError> {
    if request.input.unique_input().is_err() {
        return Err(RpcError::invalid(
            "both \"data\" and \"input\" are set and not equal. Please use \"input\" to pass \
             transaction call data",
        ));
    }
    if request.gas_price.is_some() && request.has_eip1559_fields() {
        return Err(RpcError::invalid(
            "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified",
        ));
    }
    if request.has_eip4844_fields() {
        return Err(RpcError::invalid(
            "blob transactions are not supported: shards keep no blobs, send the data as calldata",
        ));
    }
    let (have, want) = (request.chain_id.unwrap_or(shard.chain_id()), shard.chain_id());
    if have != want {
        return Err(RpcError::invalid(format!(
            "chainId does not match node's (have={have}, want={want}); each shard has its own"
        )));
    }
    let bytes = request.input.input().map_or(0, |input| input.len());
    let most = context.limits().calldata_bytes;
    if bytes > most {
        let message = format!("input of {bytes} bytes is above the limit of {most}: send less");
        return Err(RpcError::new(LIMIT, message));
    }
    Ok(())
}

/// What is different while the call is made.
pub(crate) fn overrides(
    state: Option<StateOverride>,
    block: Option<BlockOverrides>,
) -> Result<Overrides, RpcError> {
    let mut overrides = Overrides { block: block_override(block)?, ..Overrides::default() };
    for (address, change) in state.unwrap_or_default() {
        if change.state.is_some() && change.state_diff.is_some() {
            return Err(RpcError::invalid(format!(
                "account {address} has both 'state' and 'stateDiff'"
            )));
        }
        if change.move_precompile_to.is_some() {
            return Err(RpcError::invalid("movePrecompileToAddress is not supported"));
        }
        let sorted = |slots: B256HashMap<B256>| slots.into_iter().collect();
        let change = AccountOverride {
            balance: change.balance,
            nonce: change.nonce,
            code: change.code,
            state: change.state.map(sorted),
            state_diff: change.state_diff.map(sorted).unwrap_or_default(),
        };
        overrides.accounts.insert(address, change);
    }
    Ok(overrides)
}

fn block_override(change: Option<BlockOverrides>) -> Result<BlockOverride, RpcError> {
    let Some(change) = change else { return Ok(BlockOverride::default()) };
    if change.beacon_root.is_some() {
        // As in geth: what reads it is a system call, which a call does not begin with.
        return Err(RpcError::invalid(
            "block override beaconRoot is not supported for this RPC method",
        ));
    }
    let above =
        |what, bits: u32| RpcError::invalid(format!("block override {what} is not below 2^{bits}"));
    let small = |what, value: Option<U256>| {
        value.map(u64::try_from).transpose().map_err(|_| above(what, 64))
    };
    let blob_base_fee = change.blob_base_fee.map(u128::try_from).transpose();
    Ok(BlockOverride {
        number: small("number", change.number)?,
        timestamp: change.time,
        base_fee: small("baseFee", change.base_fee)?,
        blob_base_fee: blob_base_fee.map_err(|_| above("blobBaseFee", 128))?,
        difficulty: change.difficulty,
        gas_limit: change.gas_limit,
        prevrandao: change.random,
        beneficiary: change.coinbase,
        hashes: change.block_hash.unwrap_or_default(),
    })
}

/// Whether the newest state is meant, and so what comes next.
pub(crate) fn is_next(block: Option<BlockId>) -> bool {
    match block {
        None => true,
        Some(BlockId::Number(number)) => {
            !matches!(number, BlockNumberOrTag::Number(_) | BlockNumberOrTag::Earliest)
        }
        Some(BlockId::Hash(_)) => false,
    }
}

/// The number of the newest block, and what the one after it would be: that is where a transaction
/// would be.
pub(crate) fn next_block(context: &Context, shard: &Shard) -> (u64, BlockContext) {
    let (tip, mut environment) = (shard.tip(), context.shards.environment());
    if environment.number.is_none() {
        // Without a base chain the time is the node's own.
        let timestamp = context.shards.unix_time().max(environment.timestamp);
        environment = Environment { timestamp, ..(*environment).clone() }.into();
    }
    (tip.number(), BlockContext::after(&tip.header, tip.hash, &environment))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call is the same in both forms, and what the short one does not know is left to the long one.
    #[test]
    fn calls_in_the_short_form_are_those_of_the_long_one() {
        let address = "0x00000000000000000000000000000000000000aa";
        let same = [
            "{}".to_owned(),
            format!(r#"{{"to":"{address}"}}"#),
            format!(r#"{{"to":null,"data":"0x6001","from":"{address}"}}"#),
            format!(r#"{{"to":"{address}","input":"0x","data":"0x12","value":"0x10"}}"#),
            format!(r#"{{"to":"{address}","input":null,"value":null}}"#),
        ];
        for text in &same {
            let short: Short = serde_json::from_str(text).unwrap();
            let (short, long): (TransactionRequest, TransactionRequest) =
                (short.into(), serde_json::from_str(text).unwrap());
            assert_eq!(short, long, "{text}");
        }
        let others = [r#"{"gas":"0x5208"}"#, r#"{"to":"0x12"}"#, r#"{"type":"0x2"}"#, "null", "[]"];
        for text in others {
            assert!(serde_json::from_str::<Short>(text).is_err(), "{text}");
        }
    }
}
