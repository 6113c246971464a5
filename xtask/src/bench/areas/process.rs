//! Processes: mailboxes, spawning, and turns beside those who would take them all.

use std::time::Duration;

use super::{Area, Extra};
use crate::bench::{
    foreign::Foreign,
    plan::{AHEAD, Allocators, Better, Plan, Target, clock},
};

pub(super) const AREA: Area = Area {
    name: "process",
    about: &["processes and mailboxes, beside tokio, ractor, kameo, actix, Go and Erlang"],
    ours: "bench-process",
    peers: "bench-process-peers",
    extra: Extra { feature: "actors", also_ours: false, ignore_rust_version: false },
    foreign: &[Foreign::Go, Foreign::Erlang],
    versions: &["tokio", "ractor", "kameo", "actix", "mimalloc"],
    limit: Duration::from_secs(60),
    prepare: None,
    plans: PLANS,
    numbers: &[],
    glance: &["ping_pong", "spawn", "fan_in", "ring_1"],
};

const fn process(workload: &'static str, results: &'static [&'static str], quick: u64) -> Plan {
    Plan { allocators: Allocators::Together, ..clock(workload, results, quick) }
}

/// Ahead of every peer, and at most this.
macro_rules! at_most {
    ($max:expr) => {
        |_, _| Target { max: Some($max), ..AHEAD }
    };
}

/// Ahead of every peer, and at least this.
macro_rules! at_least {
    ($min:expr) => {
        |_, _| Target { min: Some($min), ..AHEAD }
    };
}

const PLANS: &[Plan] = &[
    Plan { target: at_most!(70.0), ..process("spawn", &["spawn"], 200_000) },
    Plan { target: at_most!(256.0), rounds_max: 2, ..process("memory", &["memory"], 200_000) },
    Plan { target: at_most!(25.0), ..process("ping_pong", &["ping_pong"], 300_000) },
    Plan {
        target: at_most!(25.0),
        workers: 1,
        ..process("ping_pong_1", &["ping_pong_1"], 300_000)
    },
    Plan { target: at_most!(25.0), ..process("ring_1", &["ring_1"], 300_000) },
    Plan { target: at_most!(25.0), ..process("ring_100", &["ring_100"], 300_000) },
    Plan {
        better: Better::Larger,
        target: at_least!(35.0),
        ..process("fan_in", &["fan_in"], 1_000_000)
    },
    Plan {
        better: Better::Larger,
        target: at_least!(60.0),
        ..process("fan_in_many", &["fan_in_many"], 1_000_000)
    },
    Plan { target: at_most!(40.0), ..process("skynet", &["skynet"], 100_000) },
    // Nothing is allocated while it runs.
    clock("latency", &["latency_p50", "latency_p99"], 1_000),
];
