//! Nodes: transactions accepted and committed over JSON-RPC, beside anvil.

use std::time::Duration;

use super::{Area, Extra};
use crate::bench::{
    nodes,
    plan::{Allocators, Better, NONE, Number, Plan, Target, clock},
};

pub(super) const AREA: Area = Area {
    name: "node",
    about: &["transactions and calls over JSON-RPC, beside anvil, from one generator"],
    ours: "bench-node",
    peers: "bench-node-peers",
    extra: Extra { feature: "node", also_ours: true, ignore_rust_version: false },
    foreign: &[],
    versions: &["jsonrpsee", "revm", "redb"],
    limit: Duration::from_secs(900),
    prepare: Some(nodes::prepare),
    plans: PLANS,
    numbers: NUMBERS,
    glance: &["transfer_1_batch", "call_idle", "startup"],
};

/// The generator's allocator is the same for everyone; the nodes have their own.
const fn node(workload: &'static str, results: &'static [&'static str], quick: u64) -> Plan {
    Plan {
        allocators: Allocators::Apart(&[crate::bench::plan::Allocator::Mimalloc]),
        target: |_, _| NONE,
        rounds_max: 3,
        ..clock(workload, results, quick)
    }
}

const fn rate(workload: &'static str, results: &'static [&'static str], quick: u64) -> Plan {
    Plan { better: Better::Larger, ..node(workload, results, quick) }
}

macro_rules! times {
    ($ratio:expr) => {
        |_, _| Target { ratio: Some($ratio), ..NONE }
    };
}

/// At least so much of what recovering signatures would allow on what the generator leaves.
const NUMBERS: &[Number] = &[Number {
    name: "recovery_share",
    of: &[
        "transfer_1_auto",
        "token_1_auto",
        "transfer_1_single",
        "token_1_single",
        "transfer_1_batch",
        "token_1_batch",
        "transfer_64_single",
        "token_64_single",
        "transfer_64_batch",
        "token_64_batch",
    ],
    ending: "_recovery",
    unit: "of recovering",
    better: Better::Larger,
    target: Target { min: Some(0.6), ..NONE },
}];

const PLANS: &[Plan] = &[
    Plan { target: times!(50.0), ..rate("transfer_1_auto", &["transfer_1_auto"], 10_000) },
    Plan { target: times!(50.0), ..rate("token_1_auto", &["token_1_auto"], 10_000) },
    Plan { target: times!(4.0), ..rate("transfer_1_single", &["transfer_1_single"], 10_000) },
    Plan { target: times!(4.0), ..rate("token_1_single", &["token_1_single"], 10_000) },
    Plan { target: times!(4.0), ..rate("transfer_1_batch", &["transfer_1_batch"], 20_000) },
    Plan { target: times!(4.0), ..rate("token_1_batch", &["token_1_batch"], 20_000) },
    Plan { target: times!(4.0), ..rate("transfer_64_single", &["transfer_64_single"], 10_000) },
    Plan { target: times!(4.0), ..rate("transfer_64_batch", &["transfer_64_batch"], 20_000) },
    Plan { target: times!(4.0), ..rate("token_64_single", &["token_64_single"], 10_000) },
    Plan { target: times!(4.0), ..rate("token_64_batch", &["token_64_batch"], 20_000) },
    Plan { target: times!(4.0), ..rate("accounts_100", &["accounts_100"], 20_000) },
    Plan { target: times!(4.0), ..rate("accounts_4000", &["accounts_4000"], 20_000) },
    Plan { target: times!(4.0), ..rate("accounts_100000", &["accounts_100000"], 20_000) },
    Plan { target: times!(2.0), ..rate("call_idle", &["call_idle"], 1_000) },
    node("call_idle", &["call_idle_p99"], 1_000),
    Plan { target: times!(2.0), ..rate("call_loaded", &["call_loaded"], 1_000) },
    node("call_loaded", &["call_loaded_p99"], 1_000),
    Plan { target: |_, _| Target { max: Some(100.0), ..NONE }, ..node("startup", &["startup"], 1) },
    Plan { rounds_max: 1, ..node("memory", &["memory"], 50_000) },
    node("dashboard_delay", &["dashboard_delay"], 1),
    rate("ceiling", &["ceiling"], 50_000),
];
