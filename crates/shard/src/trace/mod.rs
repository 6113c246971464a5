//! What happened inside a transaction?
//!
//! Found out by executing its block again, on the state before it. The block says under what it
//! was executed; the limits that decided which transactions it holds are not looked at.

mod request;
pub(crate) mod stored;

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
};

use revm::{
    DatabaseCommit, ExecuteEvm, InspectEvm, context::result::ResultAndState, database::CacheDB,
};

use crate::{
    block::Block,
    config::Rules,
    execute::{
        BlockContext, ExecuteError,
        call::{Call, CallError, Calls, Overrides, call_error, caught},
        evm,
    },
    shard::message,
    state::{ReaderDatabase, StateReader},
    transaction::tx_env,
};

pub use request::{STEPS_MAX, Trace, TraceRequest};
use request::{answer, recorder};

/// Where blocks are executed again: the state before the block.
pub struct Traces<'a> {
    pub rules: &'a Rules,
    pub chain_id: u64,
    pub before: &'a dyn StateReader,
}

impl Traces<'_> {
    /// What happened inside the transaction at this place of the block.
    pub fn transaction(
        &self,
        block: &Block,
        index: usize,
        request: &TraceRequest,
    ) -> Result<Trace, ExecuteError> {
        let mut traces = self.replay(block, index, index + 1, request)?;
        traces.pop().ok_or_else(|| {
            ExecuteError::Fault(format!("block {} has no transaction {index}", block.number()))
        })
    }

    /// What happened inside each transaction of the block.
    pub fn block(&self, block: &Block, request: &TraceRequest) -> Result<Vec<Trace>, ExecuteError> {
        self.replay(block, 0, block.transactions.len(), request)
    }

    /// The same as `record`; a panic is an error.
    fn replay(
        &self,
        block: &Block,
        begin: usize,
        end: usize,
        request: &TraceRequest,
    ) -> Result<Vec<Trace>, ExecuteError> {
        // All that it has in hand is gone with it.
        catch_unwind(AssertUnwindSafe(|| self.record(block, begin, end, request))).unwrap_or_else(
            |panic| {
                let (number, what) = (block.number(), message(&*panic));
                Err(ExecuteError::Fault(format!("tracing block {number} panicked: {what}")))
            },
        )
    }

    /// Executes transactions up to `end` and records from `begin` on.
    fn record(
        &self,
        block: &Block,
        begin: usize,
        end: usize,
        request: &TraceRequest,
    ) -> Result<Vec<Trace>, ExecuteError> {
        let context = BlockContext::of(block);
        let database = CacheDB::new(ReaderDatabase::new(self.before, &context));
        let mut machine = evm::inspected(self.rules, self.chain_id, database, recorder(request));
        machine.ctx.modify_cfg(|cfg| {
            cfg.disable_block_gas_limit = true;
            cfg.tx_gas_limit_cap = Some(u64::MAX);
        });
        let mut env = evm::block_env(self.rules, &context);
        env.gas_limit = block.header.gas_limit;
        machine.set_block(env);
        evm::system_calls(&mut machine, self.rules, &context)?;
        let state = machine.finalize();
        machine.ctx.journaled_state.database.commit(state);

        let mut traces = Vec::new();
        for (index, transaction) in block.transactions.iter().enumerate().take(end) {
            let env = tx_env(transaction);
            let gas_limit = env.gas_limit;
            let again = |error| {
                ExecuteError::Fault(format!(
                    "transaction {index} of block {} can not be executed again: {error}",
                    block.number()
                ))
            };
            let done: ResultAndState = if index < begin {
                machine.transact(env).map_err(again)?
            } else {
                let done = machine.inspect_tx(env).map_err(again)?;
                let recorded = mem::replace(&mut machine.inspector, recorder(request));
                let place = Some((block, index));
                let database = &machine.ctx.journaled_state.database;
                traces.push(answer(recorded, request, gas_limit, &done, database, place)?);
                done
            };
            machine.ctx.journaled_state.database.commit(done.state);
        }
        Ok(traces)
    }
}

/// What would happen inside a call.
pub fn trace_call(
    calls: &Calls<'_>,
    call: &Call,
    overrides: &Overrides,
    request: &TraceRequest,
) -> Result<Trace, CallError> {
    caught(|| {
        let mut scratch = calls.scratch(overrides)?;
        let env = calls.transaction_env(call, &mut scratch, None)?;
        let gas_limit = env.gas_limit;
        let mut machine = calls.machine(scratch, recorder(request), &env, overrides);
        let done = machine.inspect_tx(env).map_err(call_error)?;
        let recorded = mem::replace(&mut machine.inspector, recorder(request));
        let database = &machine.ctx.journaled_state.database;
        Ok(answer(recorded, request, gas_limit, &done, database, None)?)
    })
}

#[cfg(test)]
mod tests;
