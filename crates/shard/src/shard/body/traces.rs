//! How are call trees kept with a block?
//!
//! When the block is committed it is executed again, on the state before it, whoever has executed it
//! first. So nobody waits for its trees; and after a crash between the two they are made on demand,
//! like those of other blocks.

use std::panic::{AssertUnwindSafe, catch_unwind};

use alloy_primitives::Bytes;
use alloy_rpc_types_trace::geth::CallConfig;

use super::ShardBody;
use crate::{
    block::Block,
    commit::record::{Record, What},
    config,
    trace::{Taken, Trace, TraceRequest, Traces, stored},
    view::StateAt,
};

impl ShardBody {
    /// Keeps the call trees of a block that is committed, if they are to be kept. Before the next
    /// block is: so they are in the log before it, and in the tables before this one is pruned.
    pub(super) fn store_traces(&self, block: &Block) {
        let core = &self.inner.core;
        if core.config.traces == config::Traces::OnDemand || block.transactions.is_empty() {
            return;
        }
        // A fault here is no reason to stop: the trees can be asked for later.
        let made = catch_unwind(AssertUnwindSafe(|| self.trees(block)));
        let Some(bytes) = made.ok().flatten() else { return };
        let (number, inner) = (block.number(), self.inner.clone());
        let what = What::Traces { number, bytes: bytes.clone() };
        let done = move |result| {
            if let Ok(epoch) = result {
                inner.view.add_traces(epoch, number, bytes);
            }
        };
        core.committer.submit(vec![Record { shard: self.inner.index, what }], Box::new(done));
    }

    fn trees(&self, block: &Block) -> Option<Bytes> {
        let (rules, chain_id) = (&self.inner.core.config.rules, self.inner.chain_id);
        let before = StateAt::block(self.inner.view.clone(), block.number() - 1);
        let traces = Traces { rules, chain_id, before: &before };
        let request = TraceRequest::Calls(CallConfig::default());
        let (mut trees, mut fits) = (stored::Trees::default(), true);
        let places = 0..block.transactions.len();
        // One after the other: only their bytes are there at once.
        let traced = traces.each(block, places, &request, stored::BYTES_MAX, &mut |trace| {
            fits = matches!(trace, Trace::Calls(frame) if trees.add(&frame));
            if fits { Taken::Gone } else { Taken::Enough }
        });
        (traced.is_ok() && fits).then(|| Bytes::from(trees.encode()))
    }
}
