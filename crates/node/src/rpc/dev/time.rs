//! What time is it, and how do blocks come without transactions?
//!
//! The clock is one for all shards and goes on from where it was set. It never goes back. With a
//! base chain blocks have that chain's time, and the clock does not count.

use std::time::Duration;

use serde::Deserialize;
use shard::amend::Amendment;

use super::{Number, allowed, amend};
use crate::rpc::{
    error::{LIMIT, RpcError},
    method::{Answer, Call, Kind, Method, Param, Place, answer},
};

/// Blocks that one request makes.
const BLOCKS_MAX: u64 = 1_000;

const SECONDS: &[Param] = &[Param::required("seconds", Kind::Quantity)];
const TIMESTAMP: &[Param] = &[Param::required("timestamp", Kind::Quantity)];
const MINE: &[Param] = &[Param::optional("timestamp", Kind::Quantity)];
const MINE_MANY: &[Param] =
    &[Param::optional("blocks", Kind::Quantity), Param::optional("interval", Kind::Quantity)];
const ON: &[Param] = &[Param::required("on", Kind::Bool)];
const INCREASE: &str = "Moves the clock forward by so many seconds, for all shards.";
const SET: &str = "Moves the clock forward to this time, in seconds: blocks are not older.";
const MANY: &str = "Makes blocks without transactions, 1,000 at most, so many seconds apart.";
const AUTOMINE: &str = "Nothing, if it is turned on: transactions are always executed at once.";
const IS_AUTOMINE: &str = "True: transactions are always executed at once.";

pub(crate) const METHODS: &[Method] = &[
    Method::here("evm_increaseTime", SECONDS, increase, INCREASE).at(Place::Everywhere),
    Method::here("anvil_increaseTime", SECONDS, increase, INCREASE).at(Place::Everywhere),
    Method::here("evm_setNextBlockTimestamp", TIMESTAMP, set_silently, SET).at(Place::Everywhere),
    Method::here("anvil_setNextBlockTimestamp", TIMESTAMP, set_silently, SET).at(Place::Everywhere),
    Method::here("evm_setTime", TIMESTAMP, set, SET).at(Place::Everywhere),
    Method::here("anvil_setTime", TIMESTAMP, set, SET).at(Place::Everywhere),
    Method::waiting(
        "evm_mine",
        MINE,
        |call| Box::pin(mine_one(call)),
        "Makes a block without transactions, not older than a time if one is given.",
    )
    .at(Place::OwnOnly),
    Method::waiting("anvil_mine", MINE_MANY, |call| Box::pin(mine(call)), MANY).at(Place::OwnOnly),
    Method::waiting("hardhat_mine", MINE_MANY, |call| Box::pin(mine(call)), MANY)
        .at(Place::OwnOnly),
    Method::here("evm_setAutomine", ON, automine, AUTOMINE).at(Place::OwnOnly),
    Method::here("anvil_setAutomine", ON, automine, AUTOMINE).at(Place::OwnOnly),
    Method::here("anvil_getAutomine", &[], is_automine, IS_AUTOMINE).at(Place::OwnOnly),
    Method::here("hardhat_getAutomine", &[], is_automine, IS_AUTOMINE).at(Place::OwnOnly),
];

fn number(call: &mut Call, name: &str) -> Result<u64, RpcError> {
    allowed(call)?;
    let number: Number = call.args.required(name)?;
    call.args.end()?;
    Ok(number.get())
}

fn increase(call: &mut Call) -> Result<Answer, RpcError> {
    let seconds = number(call, "seconds")?;
    call.context.shards.advance_time(Duration::from_secs(seconds));
    answer(&seconds)
}

/// The new time, and by how many seconds it is later.
fn set_to(call: &Call, time: u64) -> Result<u64, RpcError> {
    let shards = &call.context.shards;
    let before = shards.unix_time();
    shards.set_time(time).map_err(|why| RpcError::invalid(why.to_string()))?;
    Ok(time.saturating_sub(before))
}

fn set(call: &mut Call) -> Result<Answer, RpcError> {
    let time = number(call, "timestamp")?;
    answer(&set_to(call, time)?)
}

fn set_silently(call: &mut Call) -> Result<Answer, RpcError> {
    let time = number(call, "timestamp")?;
    set_to(call, time)?;
    answer(&())
}

/// What `evm_mine` takes: a time, or an object, as ganache had it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Mine {
    Timestamp(Number),
    Options { timestamp: Option<Number>, blocks: Option<Number> },
}

async fn mine_one(mut call: Call) -> Result<Answer, RpcError> {
    allowed(&call)?;
    let options: Option<Mine> = call.args.optional("timestamp")?;
    call.args.end()?;
    let (timestamp, blocks) = match options {
        None => (None, None),
        Some(Mine::Timestamp(timestamp)) => (Some(timestamp), None),
        Some(Mine::Options { timestamp, blocks }) => (timestamp, blocks),
    };
    let blocks = bounded(blocks)?;
    if let Some(time) = timestamp {
        set_to(&call, time.get())?;
    }
    make(&mut call, blocks, 0).await?;
    answer("0x0")
}

async fn mine(mut call: Call) -> Result<Answer, RpcError> {
    allowed(&call)?;
    let blocks: Option<Number> = call.args.optional("blocks")?;
    let interval: Option<Number> = call.args.optional("interval")?;
    call.args.end()?;
    make(&mut call, bounded(blocks)?, interval.map_or(0, Number::get)).await?;
    answer(&())
}

fn bounded(blocks: Option<Number>) -> Result<u64, RpcError> {
    match blocks.map_or(1, Number::get) {
        blocks @ 0..=BLOCKS_MAX => Ok(blocks),
        blocks => Err(RpcError::new(
            LIMIT,
            format!("{blocks} blocks at once are too many: ask for {BLOCKS_MAX} at most"),
        )),
    }
}

async fn make(call: &mut Call, blocks: u64, interval: u64) -> Result<(), RpcError> {
    let shard = call.address()?;
    for index in 0..blocks {
        if index > 0 && interval > 0 {
            call.context.shards.advance_time(Duration::from_secs(interval));
        }
        amend(call, shard, Amendment::new()).await?;
    }
    Ok(())
}

fn automine(call: &mut Call) -> Result<Answer, RpcError> {
    allowed(call)?;
    let on: bool = call.args.required("on")?;
    call.args.end()?;
    if on {
        return answer(&true);
    }
    Err(RpcError::server(
        "a shard executes what it can at once: transactions can not be made to wait",
    ))
}

fn is_automine(call: &mut Call) -> Result<Answer, RpcError> {
    allowed(call)?;
    call.args.end()?;
    answer(&true)
}
