//! What is at `/metrics`? The list of the node's own families, each with where its numbers come from.
//!
//! Those of the layers below are listed in `observe::metrics::families`.

use std::sync::Arc;

use observe::metrics::{Family, Kind, Samples, Unit};

use super::calls::{MethodCalls, Outcome};
use crate::{base_chain::BaseChainStatus, context::Context, server::refusal::Refusal};

/// What adds the numbers of a family.
type Add = fn(&mut Samples, &'static Family, &Seen<'_>);

/// What one look at the page sees.
struct Seen<'a> {
    context: &'a Context,
    base_chain: Option<BaseChainStatus>,
}

macro_rules! families {
    ($($name:literal $kind:ident $unit:ident $labels:expr, $help:literal, $add:expr;)*) => {
        &[$((
            Family {
                name: $name,
                kind: Kind::$kind,
                unit: Unit::$unit,
                labels: &$labels,
                help: $help,
            },
            $add,
        )),*]
    };
}

/// What the node adds to the layers below. Their scheme of names holds here too.
static FAMILIES: &[(Family, Add)] = families! {
    "shiftwork_node_build_info" Gauge Info ["version"],
        "The version that runs; always 1.",
        |samples, family, _| samples.add(family, &[env!("CARGO_PKG_VERSION")], 1_u64);
    "shiftwork_node_uptime_seconds" Gauge Seconds [],
        "Time since the node started.",
        |samples, family, seen| samples.add(family, &[], seen.context.queries.now());

    "shiftwork_rpc_requests_total" Counter Count ["method", "outcome"],
        "Calls by method and outcome, those in batches one by one.",
        |samples, family, seen| for (name, calls) in seen.calls() {
            for outcome in Outcome::ALL {
                samples.add(family, &[name, outcome.name()], calls.ended(outcome));
            }
        };
    "shiftwork_rpc_request_duration_seconds" Histogram Seconds ["method"],
        "How long calls took, from their parsing to their answer.",
        |samples, family, seen| for (name, calls) in seen.calls() {
            samples.add(family, &[name], calls.took.read());
        };
    "shiftwork_rpc_requests_under_way" Gauge Count ["transport"],
        "Requests that are being answered.",
        |samples, family, seen| {
            let metrics = &seen.context.metrics;
            samples.add(family, &["http"], metrics.requests.get());
            samples.add(family, &["websocket"], metrics.websocket_calls.get());
        };
    "shiftwork_rpc_subscriptions" Gauge Count [],
        "Subscriptions of all connections.",
        |samples, family, seen| {
            let all = seen.context.limits().subscriptions_all;
            let free = seen.context.subscriptions.available_permits();
            samples.add(family, &[], all.saturating_sub(free));
        };
    "shiftwork_http_connections" Gauge Count [],
        "Open connections; WebSockets are among them.",
        |samples, family, seen| samples.add(family, &[], seen.context.metrics.connections.get());
    "shiftwork_http_connections_max" Gauge Count [],
        "As many connections may be open at once.",
        |samples, family, seen| samples.add(family, &[], seen.context.limits().connections);
    "shiftwork_websocket_connections" Gauge Count [],
        "Open WebSockets.",
        |samples, family, seen| samples.add(family, &[], seen.context.metrics.websockets.get());
    "shiftwork_dashboard_connections" Gauge Count [],
        "Who looks at the dashboard; these are WebSockets too.",
        |samples, family, seen| samples.add(family, &[], seen.context.dashboard.viewers());
    "shiftwork_http_connections_accepted_total" Counter Count [],
        "Connections so far, those turned away among them.",
        |samples, family, seen| samples.add(family, &[], seen.context.metrics.accepted.get());
    "shiftwork_http_refusals_total" Counter Count ["limit"],
        "What was turned away at the door, by limit.",
        |samples, family, seen| for refusal in Refusal::ALL {
            let count = seen.context.metrics.refusals.count(refusal);
            samples.add(family, &[refusal.name()], count);
        };

    "shiftwork_store_append_duration_seconds" Histogram Seconds ["sync"],
        "How long writing to the log took.",
        |samples, family, seen| {
            let metrics = &seen.context.metrics;
            samples.add(family, &["yes"], metrics.appends_synced.read());
            samples.add(family, &["no"], metrics.appends.read());
        };
    "shiftwork_store_sync_duration_seconds" Histogram Seconds [],
        "How long syncs took that came without a write.",
        |samples, family, seen| samples.add(family, &[], seen.context.metrics.syncs.read());

    "shiftwork_base_chain_silent_seconds" Gauge Seconds [],
        "Time since the base chain last answered with sense.",
        |samples, family, seen| if let Some(base) = &seen.base_chain {
            samples.add(family, &[], base.silent_for);
        };
    "shiftwork_base_chain_block_number" Gauge Count [],
        "The base chain's block that is the environment now.",
        |samples, family, seen| if let Some(head) = seen.base_chain.as_ref().and_then(|base| base.head) {
            samples.add(family, &[], head.number);
        };
    "shiftwork_base_chain_questions_total" Counter Count ["outcome"],
        "What the base chain was asked, by outcome.",
        |samples, family, seen| if let Some(base) = &seen.base_chain {
            samples.add(family, &["ok"], base.answered);
            samples.add(family, &["error"], base.failed);
        };
    "shiftwork_base_chain_went_back_total" Counter Count [],
        "Times that the base chain left its own blocks behind.",
        |samples, family, seen| if let Some(base) = &seen.base_chain {
            samples.add(family, &[], base.went_back);
        };
};

impl<'a> Seen<'a> {
    fn calls(&self) -> Vec<(&'static str, &'a MethodCalls)> {
        self.context.metrics.calls.get().map_or(Vec::new(), |calls| calls.called())
    }
}

/// The page, as it is now. It looks at every shard, on a thread that is no worker: what workers do is
/// what it tells of, and they may all be paused. One at a time. `None`: it has panicked.
pub(crate) async fn look(context: &Arc<Context>) -> Option<String> {
    let one = context.metrics_room.clone().acquire_owned().await.ok()?;
    let context = context.clone();
    let writing = tokio::task::spawn_blocking(move || {
        // Given back when it is written, not when somebody stops waiting for it.
        let _one = one;
        write(&context)
    });
    writing.await.ok()
}

fn write(context: &Context) -> String {
    let base_chain = context.base_chain.as_ref().map(|base| base.get());
    let seen = Seen { context, base_chain };
    let mut samples = Samples::new();
    for (family, add) in FAMILIES {
        samples.family(family);
        add(&mut samples, family, &seen);
    }
    samples.shards(&context.shards);
    samples.runtime("shards", &context.workers);
    samples.runtime("queries", &context.queries);
    samples.program();
    samples.to_text()
}

/// The metrics that a node has of its own, beside those of
/// [`LAYERS`](observe::metrics::LAYERS): of what it serves, of its
/// store, and of its base chain.
///
/// ```
/// let names: Vec<_> = node::metrics().map(|family| family.name).collect();
/// assert!(names.contains(&"shiftwork_rpc_requests_total"));
/// ```
pub fn metrics() -> impl Iterator<Item = &'static Family> {
    FAMILIES.iter().map(|(family, _)| family)
}

#[cfg(test)]
mod tests {
    use observe::metrics::LAYERS;

    use super::*;

    /// The parts of a node that have numbers.
    const PARTS: [&str; 7] = [
        "shiftwork_node_",
        "shiftwork_rpc_",
        "shiftwork_http_",
        "shiftwork_websocket_",
        "shiftwork_dashboard_",
        "shiftwork_store_",
        "shiftwork_base_chain_",
    ];

    #[test]
    fn every_name_keeps_to_the_scheme_and_is_there_once() {
        let below = LAYERS.iter().flat_map(|layer| layer.families.iter().copied());
        let mut names: Vec<_> = below.map(|family| family.name).collect();
        for family in metrics() {
            assert_eq!(family.check(&PARTS), Ok(()));
            names.push(family.name);
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
