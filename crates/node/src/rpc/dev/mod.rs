//! How does a developer change what no transaction could?
//!
//! Under the names that clients of anvil and hardhat use, and only where the node was started with
//! `--dev-api`.

pub(crate) mod senders;
pub(crate) mod snapshot;
pub(crate) mod state;
pub(crate) mod time;

use std::sync::Arc;

use alloy_primitives::Address;
use serde::Deserialize;
use shard::{
    Block,
    amend::{AmendError, Amendment},
};

use super::{
    error::{LIMIT, METHOD_NOT_FOUND, RpcError},
    eth::send::refused,
    method::Call,
};

/// These methods are there only where they were asked for.
fn allowed(call: &Call) -> Result<(), RpcError> {
    if call.context.settings.dev_api {
        return Ok(());
    }
    Err(RpcError::new(
        METHOD_NOT_FOUND,
        "the method is for development and not available: start the node with --dev-api",
    ))
}

/// Makes a block that changes the state, and waits until it is durable.
async fn amend(call: &Call, shard: Address, amendment: Amendment) -> Result<Arc<Block>, RpcError> {
    let made = call.context.shards.amend(shard, amendment).await;
    made.map_err(|why| match why {
        AmendError::Shard(why) => refused(why, shard),
        AmendError::TooLarge { .. } => RpcError::new(LIMIT, why.to_string()),
        AmendError::Store(why) => why.into(),
        why => RpcError::server(why.to_string()),
    })
}

/// A number, as tools write it: in JSON or in hexadecimal.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Number {
    Plain(u64),
    Quantity(alloy_primitives::U64),
}

impl Number {
    pub(crate) fn get(self) -> u64 {
        match self {
            Number::Plain(number) => number,
            Number::Quantity(number) => number.to(),
        }
    }
}
