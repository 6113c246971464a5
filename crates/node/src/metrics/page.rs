//! What is at `/metrics`? The list of all families, each with where its numbers come from.

use kernel::WorkerMetrics;
use shard::pool;

use super::{
    calls::{MethodCalls, Outcome},
    text::{Family, Kind, Page},
};
use crate::{base_chain::BaseChainStatus, context::Context, server::refusal::Refusal};

/// What writes the numbers of a family.
type Write = fn(&mut Page, &Family, &Seen<'_>);

/// What one look at the page sees: the sums over all shards are made once.
struct Seen<'a> {
    context: &'a Context,
    pools: pool::Counts,
    blocks: u64,
    quarantined: usize,
    workers: [(&'static str, kernel::Metrics); 2],
}

macro_rules! families {
    ($($name:literal $kind:ident $help:literal, $write:expr;)*) => {
        &[$((Family { name: $name, kind: Kind::$kind, help: $help }, $write)),*]
    };
}

/// All that there is. Names have their unit at the end, as Prometheus wants them.
const FAMILIES: &[(Family, Write)] = families! {
    "shiftwork_build_info" Gauge "The version that runs; always 1.",
        |page, family, _| page.number(family, &[("version", env!("CARGO_PKG_VERSION"))], 1);
    "shiftwork_uptime_seconds" Gauge "Time since the node started.",
        |page, family, seen| page.number(family, &[], seen.context.queries.now().as_secs_f64());

    "shiftwork_rpc_requests_total" Counter "Calls by method and outcome, those in batches one by one.",
        |page, family, seen| for (name, calls) in seen.calls() {
            for outcome in Outcome::ALL {
                let labels = [("method", name), ("outcome", outcome.name())];
                page.number(family, &labels, calls.ended(outcome));
            }
        };
    "shiftwork_rpc_request_duration_seconds" Histogram "How long calls took, from their parsing to their answer.",
        |page, family, seen| for (name, calls) in seen.calls() {
            page.histogram(family, &[("method", name)], &calls.took);
        };
    "shiftwork_rpc_requests_under_way" Gauge "Requests that are being answered.",
        |page, family, seen| {
            let metrics = &seen.context.metrics;
            page.number(family, &[("transport", "http")], metrics.requests.get());
            page.number(family, &[("transport", "websocket")], metrics.websocket_calls.get());
        };
    "shiftwork_rpc_subscriptions" Gauge "Subscriptions of all connections.",
        |page, family, seen| {
            let all = seen.context.limits().subscriptions_all;
            let free = seen.context.subscriptions.available_permits();
            page.number(family, &[], all.saturating_sub(free));
        };
    "shiftwork_http_connections" Gauge "Open connections; WebSockets are among them.",
        |page, family, seen| page.number(family, &[], seen.context.metrics.connections.get());
    "shiftwork_http_connections_max" Gauge "As many connections may be open at once.",
        |page, family, seen| page.number(family, &[], seen.context.limits().connections);
    "shiftwork_websocket_connections" Gauge "Open WebSockets.",
        |page, family, seen| page.number(family, &[], seen.context.metrics.websockets.get());
    "shiftwork_dashboard_connections" Gauge "Who looks at the dashboard; these are WebSockets too.",
        |page, family, seen| page.number(family, &[], seen.context.dashboard.viewers());
    "shiftwork_http_connections_accepted_total" Counter "Connections so far, those turned away among them.",
        |page, family, seen| page.number(family, &[], seen.context.metrics.accepted.get());
    "shiftwork_http_refusals_total" Counter "What was turned away at the door, by limit.",
        |page, family, seen| for refusal in Refusal::ALL {
            let count = seen.context.metrics.refusals.count(refusal);
            page.number(family, &[("limit", refusal.name())], count);
        };

    "shiftwork_shards" Gauge "Shards that exist.",
        |page, family, seen| page.number(family, &[], seen.context.shards.len());
    "shiftwork_shards_quarantined" Gauge "Shards that execute nothing because they have failed.",
        |page, family, seen| page.number(family, &[], seen.quarantined);
    "shiftwork_blocks" Gauge "The heights of all shards together.",
        |page, family, seen| page.number(family, &[], seen.blocks);
    "shiftwork_transactions_included_total" Counter "Transactions in blocks since the node started.",
        |page, family, seen| page.number(family, &[], seen.context.shards.included());
    "shiftwork_blocks_parallel_total" Counter "Blocks whose transactions were executed side by side.",
        |page, family, seen| page.number(family, &[], seen.context.shards.parallel_blocks());
    "shiftwork_pool_transactions" Gauge "Transactions in the pools of all shards.",
        |page, family, seen| {
            let pools = &seen.pools;
            page.number(family, &[("state", "ready")], pools.pending - pools.executing);
            page.number(family, &[("state", "executing")], pools.executing);
            page.number(family, &[("state", "nonce_missing")], pools.waiting);
        };
    "shiftwork_pool_bytes" Gauge "Bytes of the transactions in all pools.",
        |page, family, seen| page.number(family, &[], seen.pools.bytes);

    "shiftwork_commits_total" Counter "Writes to the log, each of many records and with one sync at most.",
        |page, family, seen| page.number(family, &[], seen.context.shards.commit_counts().commits);
    "shiftwork_commit_records_total" Counter "Blocks and acceptances in them.",
        |page, family, seen| page.number(family, &[], seen.context.shards.commit_counts().records);
    "shiftwork_commit_folds_total" Counter "Logs that were folded into the tables.",
        |page, family, seen| page.number(family, &[], seen.context.shards.commit_counts().folds);
    "shiftwork_commit_failures_total" Counter "Times that the store has failed.",
        |page, family, seen| page.number(family, &[], seen.context.shards.commit_counts().failures);
    "shiftwork_store_append_duration_seconds" Histogram "How long writing to the log took.",
        |page, family, seen| {
            let metrics = &seen.context.metrics;
            page.histogram(family, &[("sync", "yes")], &metrics.appends_synced);
            page.histogram(family, &[("sync", "no")], &metrics.appends);
        };
    "shiftwork_store_sync_duration_seconds" Histogram "How long syncs took that came without a write.",
        |page, family, seen| page.histogram(family, &[], &seen.context.metrics.syncs);

    "shiftwork_base_chain_silent_seconds" Gauge "Time since the base chain last answered with sense.",
        |page, family, seen| if let Some(base) = seen.base_chain() {
            page.number(family, &[], base.silent_for.as_secs_f64());
        };
    "shiftwork_base_chain_block_number" Gauge "The base chain's block that is the environment now.",
        |page, family, seen| if let Some(head) = seen.base_chain().and_then(|base| base.head) {
            page.number(family, &[], head.number);
        };
    "shiftwork_base_chain_questions_total" Counter "What the base chain was asked, by outcome.",
        |page, family, seen| if let Some(base) = seen.base_chain() {
            page.number(family, &[("outcome", "ok")], base.answered);
            page.number(family, &[("outcome", "error")], base.failed);
        };
    "shiftwork_base_chain_went_back_total" Counter "Times that the base chain left its own blocks behind.",
        |page, family, seen| if let Some(base) = seen.base_chain() {
            page.number(family, &[], base.went_back);
        };

    "shiftwork_worker_turns_total" Counter "Turns that workers gave.",
        |page, family, seen| seen.by_worker(page, family, |worker| worker.turns);
    "shiftwork_worker_wakes_total" Counter "Wakes that workers made.",
        |page, family, seen| seen.by_worker(page, family, |worker| worker.wakes);
    "shiftwork_worker_steals_total" Counter "Times that a worker took work from another.",
        |page, family, seen| seen.by_worker(page, family, |worker| worker.steals);
    "shiftwork_worker_parks_total" Counter "Times that a worker went to sleep.",
        |page, family, seen| seen.by_worker(page, family, |worker| worker.parks);
    "shiftwork_worker_overruns_total" Counter "Turns that went on well after their quantum.",
        |page, family, seen| seen.by_worker(page, family, |worker| worker.overruns);
    "shiftwork_worker_panics_total" Counter "Turns that ended in a panic.",
        |page, family, seen| seen.by_worker(page, family, |worker| worker.panics);
    "shiftwork_worker_cpu_seconds_total" Counter "CPU time of workers, where the system tells it.",
        |page, family, seen| seen.by_worker(page, family, |worker| {
            worker.cpu.unwrap_or_default().as_secs_f64()
        });
    "shiftwork_runtime_queued" Gauge "What waits for a turn.",
        |page, family, seen| for (name, runtime) in &seen.workers {
            page.number(family, &[("runtime", name)], runtime.queued);
        };
};

impl<'a> Seen<'a> {
    fn look(context: &'a Context) -> Seen<'a> {
        let shards = context.shards.all();
        let mut pools = pool::Counts { pending: 0, waiting: 0, executing: 0, bytes: 0 };
        let (mut blocks, mut quarantined) = (0, 0);
        for shard in &shards {
            let pool = shard.pool_counts();
            pools.pending += pool.pending;
            pools.waiting += pool.waiting;
            pools.executing += pool.executing;
            pools.bytes += pool.bytes;
            let status = shard.status();
            blocks += status.height;
            quarantined += usize::from(status.quarantine.is_some());
        }
        let runtimes = [("shards", &context.workers), ("queries", &context.queries)];
        let workers = runtimes.map(|(name, runtime)| (name, runtime.metrics()));
        Seen { context, pools, blocks, quarantined, workers }
    }

    fn base_chain(&self) -> Option<BaseChainStatus> {
        self.context.base_chain.as_ref().map(|base| base.get())
    }

    fn calls(&self) -> Vec<(&'static str, &'a MethodCalls)> {
        self.context.metrics.calls.get().map_or(Vec::new(), |calls| calls.called())
    }

    fn by_worker<N: std::fmt::Display>(
        &self,
        page: &mut Page,
        family: &Family,
        number: fn(&WorkerMetrics) -> N,
    ) {
        for (runtime, metrics) in &self.workers {
            for (index, worker) in metrics.workers.iter().enumerate() {
                let index = index.to_string();
                let labels = [("runtime", *runtime), ("worker", index.as_str())];
                page.number(family, &labels, number(worker));
            }
        }
    }
}

/// The page, as it is now. It looks at every shard: a matter for a worker.
pub(crate) fn write(context: &Context) -> String {
    let seen = Seen::look(context);
    let mut page = Page::default();
    for (family, write) in FAMILIES {
        page.family(family);
        write(&mut page, family, &seen);
    }
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ours_and_unique_and_say_their_unit() {
        let mut names: Vec<_> = FAMILIES.iter().map(|(family, _)| family.name).collect();
        for (family, _) in FAMILIES {
            let name = family.name;
            assert!(name.starts_with("shiftwork_"), "{name}");
            assert_eq!(name.ends_with("_total"), family.kind == Kind::Counter, "{name}");
            assert!(family.kind != Kind::Histogram || name.ends_with("_seconds"), "{name}");
            assert!(family.help.ends_with('.') && !family.help.contains('\n'), "{name}");
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FAMILIES.len());
    }
}
