//! What happened inside a transaction?
//!
//! Found out by executing its block again, on the state before it. The block says under what it
//! was executed; the limits that decided which transactions it holds are not looked at. Whether fees
//! are charged and who may send can be chosen anew for each start, so neither is taken from the
//! rules of today: all that is in a block could be sent, and its receipts say whether it has paid.

mod budget;
mod request;
pub(crate) mod stored;

use std::{
    ops::Range,
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
        ending::without_nobodies,
        evm,
    },
    shard::message,
    state::{ReaderDatabase, StateReader},
    transaction::tx_env,
};

use budget::Budgeted;
pub use budget::{BYTES_MAX, TraceLimit};
use request::answer;
pub use request::{STEPS_MAX, Trace, TraceRequest};

/// What became of a trace that was handed out.
#[must_use]
pub(crate) enum Taken {
    /// It is kept: what it takes counts on.
    Kept,
    /// It is gone, and so is what it took.
    Gone,
    /// No more are wanted.
    Enough,
}

/// Where blocks are executed again: the state before the block.
pub struct Traces<'a> {
    pub rules: &'a Rules,
    pub chain_id: u64,
    pub before: &'a dyn StateReader,
}

impl Traces<'_> {
    /// What happened inside the transaction at this place of the block.
    ///
    /// # Errors
    /// If there is no such transaction, the state before can not be read, or the trace would reach
    /// a [`TraceLimit`].
    pub fn transaction(
        &self,
        block: &Block,
        index: usize,
        request: &TraceRequest,
    ) -> Result<Trace, ExecuteError> {
        let mut traces = self.collect(block, index..index + 1, request)?;
        traces.pop().ok_or_else(|| {
            ExecuteError::Fault(format!("block {} has no transaction {index}", block.number()))
        })
    }

    /// What happened inside each transaction of the block.
    ///
    /// # Errors
    /// If the state before can not be read, or the traces together would reach a [`TraceLimit`].
    pub fn block(&self, block: &Block, request: &TraceRequest) -> Result<Vec<Trace>, ExecuteError> {
        self.collect(block, 0..block.transactions.len(), request)
    }

    fn collect(
        &self,
        block: &Block,
        places: Range<usize>,
        request: &TraceRequest,
    ) -> Result<Vec<Trace>, ExecuteError> {
        let mut traces = Vec::new();
        self.each(block, places, request, BYTES_MAX, &mut |trace| {
            traces.push(trace);
            Taken::Kept
        })?;
        Ok(traces)
    }

    /// Hands out what happened inside each transaction at these places, one after the other. What
    /// is recorded and kept takes so many bytes at most.
    pub(crate) fn each(
        &self,
        block: &Block,
        places: Range<usize>,
        request: &TraceRequest,
        bytes: usize,
        take: &mut dyn FnMut(Trace) -> Taken,
    ) -> Result<(), ExecuteError> {
        // All that it has in hand is gone with a panic.
        let run = AssertUnwindSafe(|| self.record(block, places, request, bytes, take));
        catch_unwind(run).unwrap_or_else(|panic| {
            let (number, what) = (block.number(), message(&*panic));
            Err(ExecuteError::Fault(format!("tracing block {number} panicked: {what}")))
        })
    }

    /// Executes transactions up to the last of these places, and records from the first on.
    fn record(
        &self,
        block: &Block,
        places: Range<usize>,
        request: &TraceRequest,
        bytes: usize,
        take: &mut dyn FnMut(Trace) -> Taken,
    ) -> Result<(), ExecuteError> {
        let rules = &rules_of(self.rules, block);
        let context = BlockContext::of(block);
        let database = CacheDB::new(ReaderDatabase::new(self.before, &context));
        let budgeted = Budgeted::new(request, bytes);
        let mut machine = evm::inspected(rules, self.chain_id, database, budgeted);
        machine.ctx.modify_cfg(|cfg| {
            cfg.disable_block_gas_limit = true;
            cfg.tx_gas_limit_cap = Some(u64::MAX);
        });
        let mut env = evm::block_env(rules, &context);
        env.gas_limit = block.header.gas_limit;
        machine.set_block(env);
        evm::system_calls(&mut machine, rules, &context)?;
        let state = without_nobodies(machine.finalize());
        machine.ctx.journaled_state.database.commit(state);

        for (index, transaction) in block.transactions.iter().enumerate().take(places.end) {
            let env = tx_env(transaction);
            let gas_limit = env.gas_limit;
            let again = |error| {
                ExecuteError::Fault(format!(
                    "transaction {index} of block {} can not be executed again: {error}",
                    block.number()
                ))
            };
            let done: ResultAndState = if index < places.start {
                machine.transact(env).map_err(again)?
            } else {
                let done = machine.inspect_tx(env);
                if let Some(limit) = machine.inspector.reached() {
                    return Err(ExecuteError::TraceTooLarge(limit));
                }
                let done = done.map_err(again)?;
                let recorded = machine.inspector.take(request);
                let place = Some((block, index));
                let database = &machine.ctx.journaled_state.database;
                match take(answer(recorded, request, gas_limit, &done, database, place)?) {
                    Taken::Kept => {}
                    Taken::Gone => machine.inspector.refill(bytes),
                    Taken::Enough => return Ok(()),
                }
                done
            };
            machine.ctx.journaled_state.database.commit(without_nobodies(done.state));
        }
        Ok(())
    }
}

/// The rules that a block was executed under, as far as they may have changed since.
fn rules_of(now: &Rules, block: &Block) -> Rules {
    // Where each has paid a price of 0 it is the same whether that was charged.
    let no_fee = block.receipts.iter().all(|receipt| receipt.gas_price == 0);
    Rules { no_fee, no_account_validation: true, ..now.clone() }
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
        let budgeted = Budgeted::new(request, BYTES_MAX);
        let mut machine = calls.machine(scratch, budgeted, &env, overrides);
        let done = machine.inspect_tx(env);
        if let Some(limit) = machine.inspector.reached() {
            return Err(CallError::TraceTooLarge(limit));
        }
        let done = done.map_err(call_error)?;
        let recorded = machine.inspector.take(request);
        let database = &machine.ctx.journaled_state.database;
        Ok(answer(recorded, request, gas_limit, &done, database, None)?)
    })
}

#[cfg(test)]
mod tests;
