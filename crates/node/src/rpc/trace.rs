//! What happened inside transactions, as Parity tells it?

use alloy_primitives::{B256, Bytes};
use alloy_rpc_types_eth::{BlockId, TransactionRequest};
use alloy_rpc_types_trace::parity::{TraceResults, TransactionTrace};
use shard::trace::{Trace, TraceRequest, trace_call};

use super::{
    debug::{position, untraced},
    error::RpcError,
    eth::{
        block_id,
        call::{Asked, failed},
        request,
    },
    method::{Answer, Call, Kind, Method, Param, Place, answer},
};

pub(crate) const METHODS: &[Method] = &[
    Method::on_worker(
        "trace_transaction",
        &[Param::required("hash", Kind::Hash)],
        transaction,
        "The calls inside a transaction, one after the other.",
    )
    .at(Place::OwnOnly),
    Method::on_worker(
        "trace_block",
        &[Param::required("block", Kind::Block)],
        block,
        "The calls inside the transactions of a block, one after the other.",
    )
    .at(Place::OwnOnly),
    Method::on_worker(
        "trace_call",
        &[
            Param::required("call", Kind::Call),
            Param::required("traceTypes", Kind::List),
            Param::optional("block", Kind::Block),
        ],
        call,
        "The calls inside a call, with the type `trace`.",
    )
    .at(Place::OwnOnly),
];

fn transaction(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let hash: B256 = call.args.required("hash")?;
    call.args.end()?;
    let trace = shard.trace(position(&shard, hash)?, &TraceRequest::Flat).map_err(untraced)?;
    match trace {
        Trace::Flat(traces) => answer(&traces),
        _ => Err(RpcError::internal(&"a trace of another kind")),
    }
}

fn block(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let id: BlockId = call.args.required("block")?;
    call.args.end()?;
    let number = block_id::number(&shard, Some(id))?;
    let mut all = Vec::new();
    if number > 0 {
        for trace in shard.trace_block(number, &TraceRequest::Flat).map_err(untraced)? {
            if let Trace::Flat(traces) = trace {
                all.extend(traces);
            }
        }
    }
    answer(&all)
}

fn call(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let request: TransactionRequest = call.args.required("call")?;
    let types: Vec<String> = call.args.required("traceTypes")?;
    let block: Option<BlockId> = call.args.optional("block")?;
    call.args.end()?;
    if let Some(other) = types.iter().find(|kind| *kind != "trace") {
        return Err(RpcError::invalid(format!(
            "trace type {:?} is not supported: ask for [\"trace\"], or use debug_traceCall",
            other.chars().take(60).collect::<String>()
        )));
    }
    let request = request::call(&call.context, &shard, request)?;
    let number = block_id::number(&shard, block)?;
    let overrides = request::overrides(None, None)?;
    let asked = Asked { shard, number, block, call: request, overrides, next: None };
    let traced = asked.with(&call.context, |calls| {
        trace_call(calls, &asked.call, &asked.overrides, &TraceRequest::Flat)
    })?;
    let Trace::Flat(traces) = traced.map_err(failed)? else {
        return Err(RpcError::internal(&"a trace of another kind"));
    };
    let trace: Vec<TransactionTrace> =
        traces.into_iter().map(|localized| localized.trace).collect();
    answer(&TraceResults { output: output(&trace), state_diff: None, trace, vm_trace: None })
}

/// What the outermost call gave back.
fn output(trace: &[TransactionTrace]) -> Bytes {
    let result = trace.first().and_then(|outermost| outermost.result.as_ref());
    result.map(|result| result.output().clone()).unwrap_or_default()
}
