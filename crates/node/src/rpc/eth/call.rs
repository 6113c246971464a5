//! What would a call come to?

use alloy_eips::{BlockId, BlockNumberOrTag, eip2930::AccessListResult};
use alloy_primitives::{U64, U256};
use alloy_rpc_types_eth::{BlockOverrides, TransactionRequest, state::StateOverride};
use shard::{
    Shard,
    execute::{
        BlockContext,
        call::{self as shard_call, CallError, Calls, Outcome, Overrides, halt_words},
    },
};

use super::{block_id, request, revert};
use crate::{
    context::Context,
    rpc::{
        error::{LIMIT, RpcError},
        method::{Answer, Begun, Call, Kind, Method, Param, Run, answer},
    },
};

const CALL: Param = Param::required("call", Kind::Call);
const BLOCK: Param = Param::optional("block", Kind::Block);
const STATE: Param = Param::optional("stateOverrides", Kind::Options);
const BLOCK_OVERRIDES: Param = Param::optional("blockOverrides", Kind::Options);

/// Arguments that are longer are read on a worker, too.
const SMALL_BYTES: usize = 16 << 10;

pub(crate) const METHODS: &[Method] = &[
    Method::of(
        "eth_call",
        &[CALL, BLOCK, STATE, BLOCK_OVERRIDES],
        Run::HereIfSmall(call),
        "What a call returns, without a transaction. With `pending` it sees the next block.",
    ),
    Method::on_worker(
        "eth_estimateGas",
        &[CALL, BLOCK, STATE, BLOCK_OVERRIDES],
        estimate,
        "The gas with which a transaction would succeed in the next block, or in a past one.",
    ),
    Method::on_worker(
        "eth_createAccessList",
        &[CALL, BLOCK, STATE],
        access_list,
        "The addresses and slots that a transaction would touch, and its gas with that list.",
    ),
];

/// A call, as it was asked for.
pub(crate) struct Asked {
    pub(crate) shard: Shard,
    pub(crate) number: u64,
    pub(crate) block: Option<BlockId>,
    pub(crate) call: shard_call::Call,
    pub(crate) overrides: Overrides,
    /// The block that it is made in; `None`: the one on whose state it is made.
    pub(crate) next: Option<BlockContext>,
}

impl Asked {
    /// The arguments from the first one on. `block_overrides`: there may be some.
    fn read(call: &mut Call, block_overrides: bool) -> Result<Asked, RpcError> {
        let shard = call.shard()?;
        let request: TransactionRequest = call.args.required_short::<request::Short, _>("call")?;
        let block: Option<BlockId> = call.args.optional("block")?;
        let state: Option<StateOverride> = call.args.optional("stateOverrides")?;
        let changes: Option<BlockOverrides> =
            if block_overrides { call.args.optional("blockOverrides")? } else { None };
        call.args.end()?;
        let request = request::call(&call.context, &shard, request)?;
        let overrides = request::overrides(state, changes)?;
        let number = block_id::number(&shard, block)?;
        Ok(Asked { shard, number, block, call: request, overrides, next: None })
    }

    /// It is to be made in the block that would come next.
    fn in_next_block(&mut self, context: &Context) {
        let (number, next) = request::next_block(context, &self.shard);
        (self.number, self.next) = (number, Some(next));
    }

    /// Where it is made.
    pub(crate) fn with<R>(
        &self,
        context: &Context,
        run: impl FnOnce(&Calls<'_>) -> R,
    ) -> Result<R, RpcError> {
        let run = |calls: &Calls<'_>| match &self.next {
            Some(next) => run(&Calls { context: next, ..*calls }),
            None => run(calls),
        };
        let made = self.shard.calls(self.number, context.limits().call_gas, run)?;
        made.ok_or_else(|| RpcError::server(format!("block not found: {}", self.number)))
    }
}

/// Most calls ask for a balance or the like, which takes less time than to hand it to a worker. Those
/// of a batch are many: they are made side by side.
fn call(mut call: Call) -> Result<Begun, RpcError> {
    if !call.alone || call.args.bytes() > SMALL_BYTES {
        return Ok(Begun::Long(Box::new(move |context| in_full(context, &to_be_made(&mut call)?))));
    }
    let asked = to_be_made(&mut call)?;
    let small = |calls: &Calls<'_>| calls.call_if_small(&asked.call, &asked.overrides);
    match asked.with(&call.context, small)? {
        Some(outcome) => said(outcome).map(Begun::Answered),
        None => Ok(Begun::Long(Box::new(move |context| in_full(context, &asked)))),
    }
}

fn to_be_made(call: &mut Call) -> Result<Asked, RpcError> {
    let mut asked = Asked::read(call, true)?;
    if asked.block == Some(BlockId::Number(BlockNumberOrTag::Pending)) {
        asked.in_next_block(&call.context);
    }
    Ok(asked)
}

fn in_full(context: &Context, asked: &Asked) -> Result<Answer, RpcError> {
    let outcome = asked.with(context, |calls| calls.call(&asked.call, &asked.overrides))?;
    said(outcome.map_err(failed)?)
}

fn said(outcome: Outcome) -> Result<Answer, RpcError> {
    match outcome {
        Outcome::Returned { output, .. } => answer(&output),
        Outcome::Reverted { output, .. } => Err(revert::error(output)),
        Outcome::Halted { reason, .. } => Err(RpcError::server(halt_words(&reason))),
    }
}

fn estimate(call: &mut Call) -> Result<Answer, RpcError> {
    let mut asked = Asked::read(call, true)?;
    if request::is_next(asked.block) {
        asked.in_next_block(&call.context);
    }
    let gas = asked.with(&call.context, |calls| calls.estimate(&asked.call, &asked.overrides))?;
    answer(&U64::from(gas.map_err(failed)?))
}

fn access_list(call: &mut Call) -> Result<Answer, RpcError> {
    let mut asked = Asked::read(call, false)?;
    if request::is_next(asked.block) {
        asked.in_next_block(&call.context);
    }
    let made =
        asked.with(&call.context, |calls| calls.access_list(&asked.call, &asked.overrides))?;
    let (access_list, outcome) = made.map_err(failed)?;
    let (gas_used, error) = match outcome {
        Outcome::Returned { gas_used, .. } => (gas_used, None),
        Outcome::Reverted { output, gas_used } => (gas_used, Some(revert::error(output).message)),
        Outcome::Halted { reason, gas_used } => (gas_used, Some(halt_words(&reason))),
    };
    answer(&AccessListResult { access_list, gas_used: U256::from(gas_used), error })
}

/// Why a call could not be made, with the codes that tools know.
pub(crate) fn failed(error: CallError) -> RpcError {
    match error {
        CallError::Reverted(output) => revert::error(output),
        CallError::Store(why) => why.into(),
        CallError::Panicked(_) => RpcError::internal(&error),
        CallError::TraceTooLarge(_) => RpcError::new(LIMIT, error.to_string()),
        other => RpcError::server(other.to_string()),
    }
}
