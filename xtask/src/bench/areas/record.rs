//! Recordings: what is left of the throughput while everything is recorded.

use std::time::Duration;

use super::{Area, Extra};
use crate::bench::plan::{Better, NONE, Plan, Target, clock};

pub(super) const AREA: Area = Area {
    name: "record",
    about: &["what a recording costs: the same work with the recorder on and off"],
    ours: "bench-record",
    // Off is what on is compared with, in the same process and in turns.
    peers: "",
    extra: Extra { feature: "shards", also_ours: true, ignore_rust_version: false },
    foreign: &[],
    versions: &["mimalloc"],
    limit: Duration::from_secs(120),
    prepare: None,
    plans: PLANS,
    numbers: &[],
    glance: &["messages_1us", "transfers"],
};

/// A recording costs 5 % of the throughput of real work at most.
const KEPT_MIN: f64 = 0.95;

const fn work(workload: &'static str, results: &'static [&'static str], quick: u64) -> Plan {
    Plan {
        better: Better::Larger,
        target: |_, _| Target { min: Some(KEPT_MIN), ..NONE },
        ..clock(workload, results, quick)
    }
}

/// The scheduler alone, without work: there is no target, but it is shown.
const fn bare(workload: &'static str, results: &'static [&'static str], quick: u64) -> Plan {
    Plan { target: |_, _| NONE, ..work(workload, results, quick) }
}

const PLANS: &[Plan] = &[
    work("jobs_10us", &["jobs_10us"], 2_000),
    work("messages_1us", &["messages_1us"], 50_000),
    work("tasks", &["tasks"], 100),
    work("transfers", &["transfers"], 4_000),
    bare("bare_jobs", &["bare_jobs"], 1 << 16),
    bare("bare_messages", &["bare_messages"], 200_000),
];
