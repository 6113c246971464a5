//! What can be asked about a transaction, and what is recorded to answer it?

use alloy_consensus::transaction::TransactionInfo;
use alloy_rpc_types_trace::{
    geth::{
        CallConfig, CallFrame, DefaultFrame, FourByteFrame, GethDefaultTracingOptions,
        PreStateConfig, PreStateFrame,
    },
    parity::LocalizedTransactionTrace,
};
use revm::{context::result::ResultAndState, context_interface::either::Either};
use revm_inspectors::tracing::{FourByteInspector, TracingInspector, TracingInspectorConfig};

use crate::{block::Block, execute::call::Scratch, store::StoreError};

/// A transaction that has more steps is traced only as far as was asked for.
pub const STEPS_MAX: u64 = 1 << 16;

/// What to find out.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TraceRequest {
    /// The tree of calls, as geth's `callTracer`.
    Calls(CallConfig),
    /// The calls one after the other, as Parity's `trace_transaction`.
    Flat,
    /// Each step of the virtual machine. With a `limit` up to [`STEPS_MAX`] the first so many; without,
    /// and with 0, all, and more than [`STEPS_MAX`] are too many.
    Steps(GethDefaultTracingOptions),
    /// The accounts that it needed, or with `diff_mode` what it changed.
    PreState(PreStateConfig),
    /// Which functions were called, by their first four bytes.
    FourByte,
}

/// What was found out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Trace {
    Calls(Box<CallFrame>),
    Flat(Vec<LocalizedTransactionTrace>),
    Steps(DefaultFrame),
    PreState(PreStateFrame),
    FourByte(FourByteFrame),
}

/// What looks on while a transaction is executed.
pub(crate) type Recorder = Either<Box<TracingInspector>, FourByteInspector>;

/// One that records what is needed to answer.
pub(crate) fn recorder(request: &TraceRequest) -> Recorder {
    let config = match request {
        TraceRequest::Calls(config) => TracingInspectorConfig::from_geth_call_config(config),
        TraceRequest::Flat => TracingInspectorConfig::default_parity(),
        TraceRequest::Steps(options) => TracingInspectorConfig::from_geth_config(&bounded(options)),
        TraceRequest::PreState(config) => TracingInspectorConfig::from_geth_prestate_config(config),
        TraceRequest::FourByte => return Either::Right(FourByteInspector::default()),
    };
    Either::Left(Box::new(TracingInspector::new(config)))
}

/// The answer, from what was recorded. `place` is where the transaction is, if it is in a block.
pub(crate) fn answer(
    recorder: Recorder,
    request: &TraceRequest,
    gas_limit: u64,
    done: &ResultAndState,
    before: &Scratch<'_>,
    place: Option<(&Block, usize)>,
) -> Result<Trace, StoreError> {
    let mut tracing = match recorder {
        Either::Left(tracing) => *tracing,
        Either::Right(four_byte) => return Ok(Trace::FourByte(four_byte.into())),
    };
    let gas_used = done.result.tx_gas_used();
    tracing.set_transaction_gas_limit(gas_limit);
    tracing.set_transaction_gas_used(gas_used);
    Ok(match request {
        TraceRequest::Flat | TraceRequest::FourByte => {
            let traces = tracing.into_parity_builder();
            Trace::Flat(traces.into_localized_transaction_traces(info(place)))
        }
        TraceRequest::Calls(config) => {
            let builder = tracing.into_geth_builder();
            Trace::Calls(Box::new(builder.geth_call_traces(*config, gas_used)))
        }
        TraceRequest::Steps(options) => {
            let output = done.result.output().cloned().unwrap_or_default();
            let builder = tracing.into_geth_builder();
            Trace::Steps(builder.geth_traces(gas_used, output, bounded(options)))
        }
        TraceRequest::PreState(config) => {
            let builder = tracing.into_geth_builder();
            Trace::PreState(builder.geth_prestate_traces(done, config, before)?)
        }
    })
}

fn info(place: Option<(&Block, usize)>) -> TransactionInfo {
    let Some((block, index)) = place else { return TransactionInfo::default() };
    TransactionInfo {
        hash: Some(block.transactions[index].hash()),
        index: Some(index as u64),
        block_hash: Some(block.hash),
        block_number: Some(block.number()),
        base_fee: block.header.base_fee_per_gas,
        block_timestamp: Some(block.header.timestamp),
    }
}

fn bounded(options: &GethDefaultTracingOptions) -> GethDefaultTracingOptions {
    let limit = first_steps(options).unwrap_or(STEPS_MAX);
    GethDefaultTracingOptions { limit: Some(limit), ..*options }
}

/// So many steps are asked for, and those behind them are not wanted; `None`: all are.
fn first_steps(options: &GethDefaultTracingOptions) -> Option<u64> {
    options.limit.filter(|limit| (1..=STEPS_MAX).contains(limit))
}

/// Whether steps that are not recorded are missing in the answer.
pub(super) fn wants_all_steps(request: &TraceRequest) -> bool {
    matches!(request, TraceRequest::Steps(options) if first_steps(options).is_none())
}
