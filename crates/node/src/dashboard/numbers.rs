//! How is the node as a whole, in a few numbers?

use alloy_primitives::B256;
use observe::snapshot::{Done, Runtime, Snapshot};
use serde::Serialize;

use super::row::{Seen, State};
use crate::{base_chain::BaseChainStatus, context::Context, node::unix_time_ms};

/// Sums over all shards, kept as their rows change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) transactions: u64,
    pub(super) failed: u64,
    pub(super) blocks: u64,
    pub(super) pooled: u64,
    pub(super) quarantined: u64,
}

impl Sums {
    /// A shard that was like this is now like that.
    pub(super) fn change(&mut self, before: &Seen, now: &Seen) {
        let quarantined = |seen: &Seen| u64::from(seen.state == State::Quarantined);
        let change = |sum: &mut u64, before: u64, now: u64| *sum = *sum - before + now;
        change(&mut self.transactions, before.transactions, now.transactions);
        change(&mut self.failed, before.failed, now.failed);
        change(&mut self.blocks, before.height, now.height);
        change(&mut self.pooled, before.pooled, now.pooled);
        change(&mut self.quarantined, quarantined(before), quarantined(now));
    }
}

/// The node as a whole.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Numbers {
    /// In blocks since the node has started.
    transactions: u64,
    /// Of those, the ones that were reverted or ran out of gas.
    failed: u64,
    /// The heights of all shards together.
    blocks: u64,
    pooled: u64,
    shards: u64,
    quarantined: u64,
    connections: u64,
    chain_id: u64,
    base_chain: Option<BaseChain>,
}

#[derive(Clone, Debug, Serialize)]
struct BaseChain {
    endpoint: String,
    number: Option<u64>,
    hash: Option<B256>,
    silent_seconds: f64,
    trouble: Option<String>,
    fresh: bool,
    went_back: u64,
}

impl Numbers {
    pub(super) fn now(context: &Context, sums: &Sums, shards: usize) -> Numbers {
        Numbers {
            transactions: sums.transactions,
            failed: sums.failed,
            blocks: sums.blocks,
            pooled: sums.pooled,
            shards: shards as u64,
            quarantined: sums.quarantined,
            connections: context.metrics.connections.get() as u64,
            chain_id: context.shards.rules().base_chain_id.get().into(),
            base_chain: context.base_chain.as_ref().map(|base| base.get().into()),
        }
    }
}

impl From<BaseChainStatus> for BaseChain {
    fn from(status: BaseChainStatus) -> BaseChain {
        BaseChain {
            fresh: status.is_fresh(),
            endpoint: status.endpoint,
            number: status.head.map(|head| head.number),
            hash: status.head.map(|head| head.hash),
            silent_seconds: status.silent_for.as_secs_f64(),
            trouble: status.trouble.map(|trouble| trouble.to_string()),
            went_back: status.went_back,
        }
    }
}

/// The runtimes as they are now. What takes turns is not in it.
pub(super) fn snapshot(context: &Context, sums: &Sums, shards: usize) -> Snapshot {
    let runtimes = [("shards", &context.workers), ("queries", &context.queries)];
    let runtimes: Vec<Runtime> =
        runtimes.map(|(name, handle)| Runtime::of(name, handle)).into_iter().collect();
    let turns = runtimes.iter().flat_map(|runtime| &runtime.workers).map(|worker| worker.turns);
    let done = [("transactions", sums.transactions), ("turns", turns.sum())];
    Snapshot {
        program: "node".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        run: context.dashboard.run.clone(),
        time_ms: unix_time_ms(),
        uptime_seconds: context.queries.now().as_secs_f64(),
        runtimes,
        entries: Vec::new(),
        entries_total: shards as u64,
        done: done.map(|(what, count)| Done { what: what.to_owned(), count }).into(),
    }
}
