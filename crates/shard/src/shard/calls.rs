//! What would a call come to, in this shard?

use std::sync::Arc;

use super::Shard;
use crate::{
    block::Block,
    execute::{BlockContext, ExecuteError, call::Calls},
    store::StoreError,
    trace::{Trace, TraceRequest, Traces, stored},
    view::Position,
};

impl Shard {
    /// Calls, estimates, access lists and traced calls on the state at the end of a block, under
    /// that block's own context. No call gets more gas than `gas_cap`. `None`: there is no such
    /// block yet.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloy_primitives::Address;
    /// use kernel::Runtime;
    /// use shard::{Config, Shards, execute::call::{Call, Overrides}, store::MemoryStore};
    ///
    /// let simulation = Runtime::builder().simulate(1)?;
    /// let shards = Shards::open(&simulation, Config::default(), Arc::new(MemoryStore::new()), 0)?;
    /// let shard = shards.look(Address::repeat_byte(7));
    /// let call = Call { to: Address::ZERO.into(), ..Call::default() };
    /// let gas = shard.calls(0, 50_000_000, |calls| calls.estimate(&call, &Overrides::default()))?;
    /// assert_eq!(gas.expect("there is a block 0")?, 21_000);
    /// assert!(shard.calls(1, 50_000_000, |_| ())?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the block can not be read, or was pruned.
    pub fn calls<R>(
        &self,
        number: u64,
        gas_cap: u64,
        f: impl FnOnce(&Calls<'_>) -> R,
    ) -> Result<Option<R>, StoreError> {
        let inner = &self.inner;
        let Some((header, environment)) = inner.view.parts(number)? else { return Ok(None) };
        let Some(reader) = self.state_at(number) else { return Ok(None) };
        let mut context = BlockContext::of_parts(&header, &environment);
        let shared = inner.core.environment.get();
        if environment.number.is_some() && environment.number == shared.number {
            // A block keeps the hashes that it has read. Calls may want others.
            context.base_hashes = Some(shared.hashes.clone());
        }
        let rules = &inner.core.config.rules;
        let chain_id = inner.chain_id;
        Ok(Some(f(&Calls { rules, chain_id, reader: &reader, context: &context, gas_cap })))
    }

    /// What happened inside a transaction of a block: from what is kept, or by executing the block
    /// again up to it.
    ///
    /// # Errors
    /// If there is no such transaction, the store can not be read, or the trace would reach a
    /// [`TraceLimit`](crate::trace::TraceLimit).
    pub fn trace(&self, at: Position, request: &TraceRequest) -> Result<Trace, ExecuteError> {
        if let TraceRequest::Calls(config) = request
            && stored::answers(config)
            && let Some(kept) = self.inner.view.traces(at.number)?
            && let Some(frame) = stored::decode(&kept, at.index as usize)?
        {
            return Ok(Trace::Calls(Box::new(frame)));
        }
        self.traced(at.number, |traces, block| {
            traces.transaction(block, at.index as usize, request)
        })
    }

    /// What happened inside each transaction of a block, by executing it again.
    ///
    /// # Errors
    /// If there is no such block, the store can not be read, or the traces together would reach a
    /// [`TraceLimit`](crate::trace::TraceLimit).
    pub fn trace_block(
        &self,
        number: u64,
        request: &TraceRequest,
    ) -> Result<Vec<Trace>, ExecuteError> {
        self.traced(number, |traces, block| traces.block(block, request))
    }

    fn traced<R>(
        &self,
        number: u64,
        trace: impl FnOnce(&Traces<'_>, &Arc<Block>) -> Result<R, ExecuteError>,
    ) -> Result<R, ExecuteError> {
        let missing = || ExecuteError::Fault(format!("there is no block {number}"));
        let block = self.block(number)?.ok_or_else(missing)?;
        let before = self.state_at(number.saturating_sub(1)).ok_or_else(missing)?;
        let rules = &self.inner.core.config.rules;
        trace(&Traces { rules, chain_id: self.inner.chain_id, before: &before }, &block)
    }
}
