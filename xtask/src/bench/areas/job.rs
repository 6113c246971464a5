//! Jobs: graphs of dependencies, priorities, and transactions that conflict.

use std::time::Duration;

use super::{Area, Extra};
use crate::bench::{
    foreign::Foreign,
    plan::{Allocators, Better, NONE, Number, Plan, SYSTEM, Target, clock},
};

pub(super) const AREA: Area = Area {
    name: "job",
    about: &[
        "jobs with dependencies and priorities, beside rayon, tokio, petgraph, Taskflow,",
        "dag_exec, async_dag, and several queues with priorities",
    ],
    ours: "bench-job",
    peers: "bench-job-peers",
    extra: Extra { feature: "dags", also_ours: false, ignore_rust_version: false },
    foreign: &[Foreign::Taskflow],
    versions: &[
        "rayon",
        "rayon-core",
        "tokio",
        "petgraph",
        "dag_exec",
        "async_dag",
        "crossbeam-skiplist",
        "async-priority-channel",
        "multipool",
        "mimalloc",
    ],
    limit: Duration::from_secs(60),
    prepare: None,
    plans: PLANS,
    numbers: NUMBERS,
    glance: &["dag_0", "dag_1us", "fan_out_in", "transactions_10"],
};

/// The fastest that schedules node by node.
const RAYON: &[&str] = &["rayon", "rayon-mimalloc", "rayon-join", "rayon-join-mimalloc"];

const fn job(workload: &'static str, results: &'static [&'static str], quick: u64) -> Plan {
    Plan { allocators: Allocators::Together, ..clock(workload, results, quick) }
}

/// Next to nothing is allocated per node, compared with what it works.
const fn working(workload: &'static str, results: &'static [&'static str], quick: u64) -> Plan {
    Plan { allocators: SYSTEM, ..clock(workload, results, quick) }
}

/// To see how the cost of a node grows with their number.
const fn growth(workload: &'static str, results: &'static [&'static str], nodes: u64) -> Plan {
    Plan { rounds_max: 3, ..job(workload, results, nodes) }
}

/// At most 0.7 times what rayon takes, and ahead of everybody.
const PER_NODE: Target =
    Target { max: Some(30.0), ratio: Some(1.0 / 0.7), against: RAYON, ahead: true, ..NONE };

/// The same where nodes do something: beyond that.
const NUMBERS: &[Number] = &[Number {
    name: "overhead_ns",
    of: &["dag_1us", "dag_10us"],
    ending: "_overhead",
    unit: "ns/node",
    better: Better::Smaller,
    target: PER_NODE,
}];

const PLANS: &[Plan] = &[
    Plan { target: |_, _| PER_NODE, ..job("dag_0", &["dag_0"], 20_000) },
    working("dag_1us", &["dag_1us"], 20_000),
    working("dag_10us", &["dag_10us"], 10_000),
    job("dag_build_0", &["dag_build_0"], 20_000),
    job("fan_out_in", &["fan_out_in"], 50_000),
    job("levels_0", &["levels_0"], 20_000),
    working("levels_1us", &["levels_1us"], 20_000),
    job("priority", &["priority"], 200_000),
    working("transactions_0", &["transactions_0"], 10_000),
    working("transactions_10", &["transactions_10"], 10_000),
    working("transactions_90", &["transactions_90"], 10_000),
    growth("growth_1000", &["growth_1000"], 1_000),
    growth("growth_10000", &["growth_10000"], 10_000),
    growth("growth_100000", &["growth_100000"], 100_000),
    growth("growth_1000000", &["growth_1000000"], 1_000_000),
    Plan {
        target: |_, _| Target { max: Some(150.0), ..NONE },
        rounds_max: 2,
        ..job("memory", &["memory"], 200_000)
    },
];
