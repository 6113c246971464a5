//! What happened inside transactions, as geth tells it?
//!
//! Found out by executing a block again, on a worker.

use alloy_consensus::{Block as ConsensusBlock, BlockBody};
use alloy_eips::{BlockId, eip2718::Encodable2718, eip4895::Withdrawals};
use alloy_primitives::{B256, Bytes};
use alloy_rpc_types_eth::TransactionRequest;
use alloy_rpc_types_trace::geth::{
    GethDebugBuiltInTracerType as Tracer, GethDebugTracerType, GethDebugTracingCallOptions,
    GethDebugTracingOptions, NoopFrame,
};
use serde::Serialize;
use shard::{
    Block, Position, Shard,
    execute::ExecuteError,
    shard::TransactionStatus,
    trace::{Trace, TraceRequest, trace_call},
};

use super::{
    error::{LIMIT, RpcError},
    eth::{
        block::{Named, hashed, numbered},
        block_id,
        call::{Asked, failed},
        request,
    },
    method::{Answer, Call, Kind, Method, Param, answer},
};

const HASH: Param = Param::required("hash", Kind::Hash);
const NUMBER: Param = Param::required("block", Kind::Block);
const OPTIONS: Param = Param::optional("options", Kind::Options);

pub(crate) const METHODS: &[Method] = &[
    Method::on_worker(
        "debug_traceTransaction",
        &[HASH, OPTIONS],
        trace_transaction,
        "What happened inside a transaction: its steps, 65,536 at most, or what a tracer makes of them.",
    ),
    Method::on_worker(
        "debug_traceCall",
        &[
            Param::required("call", Kind::Call),
            Param::optional("block", Kind::Block),
            Param::optional("options", Kind::Options),
        ],
        trace_a_call,
        "What would happen inside a call.",
    ),
    Method::on_worker(
        "debug_traceBlockByNumber",
        &[NUMBER, OPTIONS],
        |call| trace_block(call, numbered),
        "What happened inside each transaction of a block, by its number or name.",
    ),
    Method::on_worker(
        "debug_traceBlockByHash",
        &[HASH, OPTIONS],
        |call| trace_block(call, hashed),
        "What happened inside each transaction of a block, by its hash.",
    ),
    Method::on_worker(
        "debug_getRawTransaction",
        &[HASH],
        raw_transaction,
        "The bytes of a transaction, as they were sent.",
    ),
    Method::on_worker(
        "debug_getRawHeader",
        &[NUMBER],
        |call| raw(call, |block| Bytes::from(alloy_rlp::encode(&block.header))),
        "The bytes of a block's header.",
    ),
    Method::on_worker(
        "debug_getRawBlock",
        &[NUMBER],
        |call| raw(call, raw_block),
        "The bytes of a block.",
    ),
    Method::on_worker(
        "debug_getRawReceipts",
        &[NUMBER],
        |call| raw(call, raw_receipts),
        "The bytes of the receipts of a block, in order.",
    ),
];

/// What to record, or that there is nothing to.
enum Wanted {
    Recorded(TraceRequest),
    Nothing,
}

/// What geth's options ask for.
fn wanted(options: Option<GethDebugTracingOptions>) -> Result<Wanted, RpcError> {
    let options = options.unwrap_or_default();
    let config = options.tracer_config;
    let wrong = |why: serde_json::Error| RpcError::invalid(format!("invalid tracerConfig: {why}"));
    Ok(Wanted::Recorded(match options.tracer {
        None => TraceRequest::Steps(options.config),
        Some(GethDebugTracerType::BuiltInTracer(tracer)) => match tracer {
            Tracer::CallTracer => TraceRequest::Calls(config.into_call_config().map_err(wrong)?),
            Tracer::PreStateTracer => {
                TraceRequest::PreState(config.into_pre_state_config().map_err(wrong)?)
            }
            Tracer::FourByteTracer => TraceRequest::FourByte,
            Tracer::FlatCallTracer => TraceRequest::Flat,
            Tracer::NoopTracer => return Ok(Wanted::Nothing),
            other => return Err(unknown(GethDebugTracerType::from(other).as_str())),
        },
        Some(GethDebugTracerType::JsTracer(name)) => return Err(unknown(&name)),
    }))
}

fn unknown(name: &str) -> RpcError {
    // It may be a whole program.
    let short: String = name.chars().take(60).collect();
    RpcError::invalid(format!(
        "tracer not found: {short:?}; there are callTracer, flatCallTracer, prestateTracer, \
         4byteTracer and noopTracer, and without a name struct logs"
    ))
}

/// A trace as it is sent.
#[derive(Serialize)]
#[serde(untagged)]
enum Told {
    Nothing(NoopFrame),
    Calls(Box<alloy_rpc_types_trace::geth::CallFrame>),
    Flat(Vec<alloy_rpc_types_trace::parity::LocalizedTransactionTrace>),
    Steps(alloy_rpc_types_trace::geth::DefaultFrame),
    PreState(alloy_rpc_types_trace::geth::PreStateFrame),
    FourByte(alloy_rpc_types_trace::geth::FourByteFrame),
}

fn told(trace: Trace) -> Result<Told, RpcError> {
    Ok(match trace {
        Trace::Calls(frame) => Told::Calls(frame),
        Trace::Flat(traces) => Told::Flat(traces),
        Trace::Steps(frame) => Told::Steps(frame),
        Trace::PreState(frame) => Told::PreState(frame),
        Trace::FourByte(frame) => Told::FourByte(frame),
        _ => return Err(RpcError::internal(&"a trace of a kind that nobody asked for")),
    })
}

/// Where a transaction is.
pub(super) fn position(shard: &Shard, hash: B256) -> Result<Position, RpcError> {
    match shard.transaction_status(hash)? {
        Some(TransactionStatus::Included(position)) => Ok(position),
        Some(_) => Err(RpcError::server(format!("transaction {hash} is in no block yet"))),
        None => Err(RpcError::server("transaction not found")),
    }
}

/// Why there is no trace.
pub(super) fn untraced(error: ExecuteError) -> RpcError {
    match error {
        ExecuteError::Store(why) => why.into(),
        ExecuteError::TraceTooLarge(_) => RpcError::new(LIMIT, error.to_string()),
        other => RpcError::internal(&other),
    }
}

fn trace_transaction(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let hash = call.args.required("hash")?;
    let wanted = wanted(call.args.optional("options")?)?;
    call.args.end()?;
    let position = position(&shard, hash)?;
    match wanted {
        Wanted::Nothing => answer(&NoopFrame::default()),
        Wanted::Recorded(request) => {
            answer(&told(shard.trace(position, &request).map_err(untraced)?)?)
        }
    }
}

fn trace_a_call(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let request: TransactionRequest = call.args.required("call")?;
    let block: Option<BlockId> = call.args.optional("block")?;
    let options: Option<GethDebugTracingCallOptions> = call.args.optional("options")?;
    call.args.end()?;
    let options = options.unwrap_or_default();
    if options.tx_index.is_some() {
        return Err(RpcError::invalid(
            "txIndex is not supported: calls are made on the state at the end of a block",
        ));
    }
    let overrides = request::overrides(options.state_overrides, options.block_overrides)?;
    let wanted = wanted(Some(options.tracing_options))?;
    let request = request::call(&call.context, &shard, request)?;
    let number = block_id::number(&shard, block)?;
    let asked = Asked { shard, number, block, call: request, overrides, next: None };
    let Wanted::Recorded(wanted) = wanted else { return answer(&NoopFrame::default()) };
    let trace = asked
        .with(&call.context, |calls| trace_call(calls, &asked.call, &asked.overrides, &wanted))?;
    answer(&told(trace.map_err(failed)?)?)
}

/// One transaction of a traced block.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Traced {
    tx_hash: B256,
    result: Told,
}

fn trace_block(call: &mut Call, named: Named) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let id = named(call)?;
    let wanted = wanted(call.args.optional("options")?)?;
    call.args.end()?;
    let number = block_id::number(&shard, Some(id))?;
    let block = block(&shard, number)?;
    let told = match wanted {
        Wanted::Nothing => {
            block.transactions.iter().map(|_| Told::Nothing(NoopFrame::default())).collect()
        }
        // Its state before is not kept: there is none.
        Wanted::Recorded(_) if number == 0 => {
            return Err(RpcError::server("genesis is not traceable"));
        }
        Wanted::Recorded(request) => {
            let traces = shard.trace_block(number, &request).map_err(untraced)?;
            traces.into_iter().map(told).collect::<Result<Vec<_>, _>>()?
        }
    };
    let hashes = block.transactions.iter().map(|one| one.hash());
    let traced: Vec<Traced> =
        hashes.zip(told).map(|(tx_hash, result)| Traced { tx_hash, result }).collect();
    answer(&traced)
}

fn block(shard: &Shard, number: u64) -> Result<std::sync::Arc<Block>, RpcError> {
    shard.block(number)?.ok_or_else(|| RpcError::server(format!("block not found: {number}")))
}

fn raw_transaction(call: &mut Call) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let hash = call.args.required("hash")?;
    call.args.end()?;
    let included = shard.transaction(hash)?.map(|(_, transaction, _)| transaction);
    let found = included.or_else(|| shard.pooled(hash));
    answer(&found.map_or(Bytes::new(), |transaction| transaction.encoded().clone()))
}

fn raw<T: Serialize>(call: &mut Call, encode: fn(&Block) -> T) -> Result<Answer, RpcError> {
    let shard = call.shard()?;
    let id: BlockId = call.args.required("block")?;
    call.args.end()?;
    let number = block_id::number(&shard, Some(id))?;
    answer(&encode(&*block(&shard, number)?))
}

fn raw_block(block: &Block) -> Bytes {
    let transactions = block.transactions.iter().map(|one| one.envelope().clone()).collect();
    let withdrawals = block.header.withdrawals_root.map(|_| Withdrawals::default());
    let body = BlockBody { transactions, ommers: Vec::new(), withdrawals };
    alloy_rlp::encode(ConsensusBlock { header: block.header.clone(), body }).into()
}

fn raw_receipts(block: &Block) -> Vec<Bytes> {
    let pairs = block.transactions.iter().zip(&block.receipts);
    pairs
        .map(|(one, receipt)| receipt.envelope(one.envelope().tx_type()).encoded_2718().into())
        .collect()
}
