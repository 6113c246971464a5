//! How does a developer get back to an earlier state?
//!
//! The chain of a shard never goes back: a snapshot is the number of a block, and to revert is to
//! make a block that restores the state at the end of that one. So numbers and times go on, blocks
//! and receipts from before stay readable, and a snapshot can be used again.

use alloy_primitives::U64;
use shard::amend::Amendment;

use super::{Number, allowed, amend};
use crate::rpc::{
    error::RpcError,
    method::{Answer, Call, Kind, Method, Param, Place, answer},
};

const ID: &[Param] = &[Param::required("id", Kind::Quantity)];
const TAKE: &str = "The newest block's number, as the name of the state at its end.";
const REVERT: &str = "Makes a block that restores the state at the end of a block.";

pub(crate) const METHODS: &[Method] = &[
    Method::here("evm_snapshot", &[], take, TAKE).at(Place::OwnOnly),
    Method::here("anvil_snapshot", &[], take, TAKE).at(Place::OwnOnly),
    Method::waiting("evm_revert", ID, |call| Box::pin(revert(call)), REVERT).at(Place::OwnOnly),
    Method::waiting("anvil_revert", ID, |call| Box::pin(revert(call)), REVERT).at(Place::OwnOnly),
    Method::here(
        "anvil_nodeInfo",
        &[],
        info,
        "The newest block and what the next one is executed under.",
    )
    .at(Place::OwnOnly),
];

fn take(call: &mut Call) -> Result<Answer, RpcError> {
    allowed(call)?;
    let shard = call.shard()?;
    call.args.end()?;
    answer(&U64::from(shard.tip().number()))
}

async fn revert(mut call: Call) -> Result<Answer, RpcError> {
    allowed(&call)?;
    let shard = call.shard()?;
    let id: Number = call.args.required("id")?;
    call.args.end()?;
    // As with anvil: what was no snapshot is no error.
    if id.get() > shard.tip().number() {
        return answer(&false);
    }
    amend(&call, shard.address(), Amendment::revert_to(id.get())).await?;
    answer(&true)
}

fn info(call: &mut Call) -> Result<Answer, RpcError> {
    allowed(call)?;
    let shard = call.shard()?;
    call.args.end()?;
    let (tip, shards) = (shard.tip(), &call.context.shards);
    let (environment, rules) = (shards.environment(), shards.rules());
    let base_fee = U64::from(environment.base_fee);
    answer(&serde_json::json!({
        "currentBlockNumber": U64::from(tip.number()),
        "currentBlockTimestamp": tip.header.timestamp,
        "currentBlockHash": tip.hash,
        "hardFork": format!("{:?}", rules.fork).to_lowercase(),
        "transactionOrder": "fees",
        "environment": {
            "baseFee": base_fee,
            "chainId": shard.chain_id(),
            "gasLimit": U64::from(rules.block_gas_limit),
            "gasPrice": base_fee,
        },
        "forkConfig": {},
    }))
}
