//! Tasks: guests on two engines, beside the engines alone, Go and Erlang.

use std::time::Duration;

use super::{Area, Extra};
use crate::bench::{
    foreign::Foreign,
    plan::{AHEAD, Allocators, NONE, Plan, Standing, Target, clock},
};

pub(super) const AREA: Area = Area {
    name: "task",
    about: &["WebAssembly green threads, over wasmi and wasmtime alone, and beside Go and Erlang"],
    ours: "bench-task",
    peers: "bench-task-peers",
    extra: Extra { feature: "jit", also_ours: true, ignore_rust_version: false },
    foreign: &[Foreign::Go, Foreign::Erlang],
    versions: &["wasmi", "wasmtime", "mimalloc"],
    limit: Duration::from_secs(60),
    prepare: None,
    plans: PLANS,
    numbers: &[],
    glance: &["spawn_run_drop", "ping_pong", "fib30", "live"],
};

/// Others do the same work, but not as guests that are metered and isolated.
const fn task(workload: &'static str, results: &'static [&'static str], quick: u64) -> Plan {
    Plan {
        allocators: Allocators::Together,
        others: Standing::Information,
        target: |_, _| NONE,
        ..clock(workload, results, quick)
    }
}

/// The engine alone, metered, is the floor, and a tenth above it is allowed. Nothing is allocated.
const fn compute(workload: &'static str, results: &'static [&'static str]) -> Plan {
    Plan {
        target: |_, _| Target { of_floor: Some(1.1), ..NONE },
        others: Standing::Information,
        ..clock(workload, results, 1)
    }
}

/// Peers too: what waits costs memory, whatever it is.
const fn live(workload: &'static str, results: &'static [&'static str], quick: u64) -> Plan {
    Plan { others: Standing::Peers, rounds_max: 2, ..task(workload, results, quick) }
}

/// Peers too: a tick is a tick. Nothing is allocated while it runs.
const fn ticks(workload: &'static str, results: &'static [&'static str]) -> Plan {
    Plan {
        target: |_, _| Target { against: &["erlang"], ..AHEAD },
        ..clock(workload, results, 1_000)
    }
}

macro_rules! at_most {
    ($max:expr) => {
        |_, _| Target { max: Some($max), ..NONE }
    };
}

/// Of a task that waits, and that has no memory, or a page of one.
const LIVE_MAX: f64 = 14.0 * 1024.0;
const LIVE_PAGE_MAX: f64 = 24.0 * 1024.0;

/// Of a task that begins and ends, and of a switch from one to another.
const RUN_MAX: f64 = 3_000.0;
const SWITCH_MAX: f64 = 250.0;

const PLANS: &[Plan] = &[
    Plan { target: at_most!(RUN_MAX), ..task("spawn_run_drop", &["spawn_run_drop"], 100_000) },
    Plan {
        target: at_most!(RUN_MAX),
        workers: 1,
        ..task("spawn_run_drop_1", &["spawn_run_drop_1"], 100_000)
    },
    Plan {
        target: at_most!(RUN_MAX),
        ..task("spawn_run_drop_jit", &["spawn_run_drop_jit"], 20_000)
    },
    Plan { target: at_most!(LIVE_MAX), ..live("live", &["live"], 20_000) },
    Plan { target: at_most!(LIVE_PAGE_MAX), ..live("live_page", &["live_page"], 20_000) },
    Plan { target: at_most!(LIVE_MAX), ..live("live_jit", &["live_jit"], 2_000) },
    Plan { target: at_most!(SWITCH_MAX), ..task("ping_pong", &["ping_pong"], 300_000) },
    Plan { target: at_most!(SWITCH_MAX), ..task("ping_pong_jit", &["ping_pong_jit"], 300_000) },
    Plan { target: at_most!(SWITCH_MAX), ..task("ring_1000", &["ring_1000"], 300_000) },
    Plan { target: at_most!(SWITCH_MAX), ..task("ring_1000_jit", &["ring_1000_jit"], 300_000) },
    task("skynet", &["skynet"], 100_000),
    compute("fib30", &["fib30"]),
    compute("fib30_jit", &["fib30_jit"]),
    compute("memory_walk", &["memory_walk"]),
    compute("memory_walk_jit", &["memory_walk_jit"]),
    compute("sieve", &["sieve"]),
    compute("sieve_jit", &["sieve_jit"]),
    ticks("ticks", &["ticks_p50", "ticks_p99"]),
    ticks("ticks_jit", &["ticks_jit_p50", "ticks_jit_p99"]),
];
