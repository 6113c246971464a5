//! The kernel: strands, jobs, timers and parking.

use std::time::Duration;

use super::{Area, Extra};
use crate::bench::plan::{AHEAD, Allocator, BOTH, NONE, Plan, Target, clock, instructions};

pub(super) const AREA: Area = Area {
    name: "kernel",
    about: &[
        "strands, jobs, timers and parking, beside tokio, rayon, crossbeam-channel,",
        "async-executor and forte",
    ],
    ours: "bench-kernel",
    peers: "bench-kernel-peers",
    extra: Extra { feature: "forte", also_ours: false, ignore_rust_version: true },
    foreign: &[],
    versions: &[
        "tokio",
        "rayon",
        "rayon-core",
        "crossbeam-channel",
        "crossbeam-deque",
        "async-executor",
        "async-io",
        "forte",
        "oneshot",
        "mimalloc",
    ],
    limit: Duration::from_secs(30),
    prepare: None,
    plans: PLANS,
    numbers: &[],
    glance: &["submit_1", "spawn_tree", "yield_1000", "wake_delay"],
};

/// Allocation is most of what a boxed job costs, so both allocators, and two different aims.
fn submission(row: &str, allocator: Allocator) -> Target {
    let max = if row == "submit_handle" { 90.0 } else { 35.0 };
    let ratio = match (row, allocator) {
        ("submit_handle", _) | (_, Allocator::Mimalloc) => 1.0,
        (_, Allocator::System) => 3.0,
    };
    Target { max: Some(max), ratio: Some(ratio), ..NONE }
}

const PLANS: &[Plan] = &[
    Plan { allocators: BOTH, target: submission, ..clock("submit_1", &["submit_1"], 200_000) },
    Plan { allocators: BOTH, target: submission, ..clock("submit_4", &["submit_4"], 200_000) },
    Plan {
        allocators: BOTH,
        target: submission,
        ..clock("submit_handle", &["submit_handle"], 200_000)
    },
    Plan {
        target: |_, _| Target { max: Some(35.0), ..NONE },
        ..clock("submit_batch", &["submit_batch"], 200_000)
    },
    Plan {
        allocators: BOTH,
        target: |_, _| Target { max: Some(8.0), ..AHEAD },
        ..clock("spawn_tree", &["spawn_tree"], 1 << 18)
    },
    Plan {
        target: |_, _| Target {
            max: Some(8.0),
            ratio: Some(1.0),
            against: &["tokio", "rayon", "async-executor"],
            beside: Some(("cpu_percent", 1.5)),
            ..NONE
        },
        ..clock("wake_delay", &["wake_delay"], 700)
    },
    clock("fork_join", &["fork_join"], 1 << 16),
    clock("yield_1000", &["yield_1000"], 200),
    clock("yield_1000_async", &["yield_1000_async"], 200),
    clock("timers", &["timers_insert", "timers_fire", "timers_cancel"], 200_000),
    Plan {
        // About n quanta for n strands per worker; a tenth is for the turns that overrun.
        target: |_, _| Target { max: Some(550.0), ..AHEAD },
        ..clock("fairness", &["fairness"], 600)
    },
    instructions("submit_1", &["instructions_submit"], (20_000, 100_000), 1),
    instructions("spawn_tree", &["instructions_spawn"], (1 << 12, 1 << 15), 2),
    instructions("yield_1000", &["instructions_yield"], (10, 60), 1_000),
];
