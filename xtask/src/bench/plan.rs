//! Which workloads are run, how large, under which allocator, and what is aimed at?

use std::fmt;

/// Full runs are for the record, quick ones to see where one stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speed {
    Full,
    Quick,
}

impl Speed {
    pub(super) fn rounds(self) -> usize {
        match self {
            Speed::Full => 5,
            Speed::Quick => 3,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allocator {
    System,
    Mimalloc,
}

impl fmt::Display for Allocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Allocator::System => "system",
            Allocator::Mimalloc => "mimalloc",
        })
    }
}

/// What is aimed at. Smaller values are better, larger ratios are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Target {
    /// The value, on a machine like the one the target was set on.
    pub(super) max: Option<f64>,
    /// The best peer's value divided by ours.
    pub(super) ratio: Option<f64>,
    /// The peers that the ratio is about. Empty: all.
    pub(super) against: &'static [&'static str],
    /// A number beside the value, and its largest.
    pub(super) beside: Option<(&'static str, f64)>,
}

const NONE: Target = Target { max: None, ratio: None, against: &[], beside: None };
const AHEAD: Target = Target { ratio: Some(1.0), ..NONE };

/// How a plan's value is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// The program measures itself.
    Clock,
    /// Instructions, counted from outside: by the difference of two sizes, which leaves out
    /// start and end. `items` of size `n` are what one instruction count is divided by.
    Instructions { small: u64, large: u64, items_per_scale: u64 },
}

#[derive(Debug)]
pub(super) struct Plan {
    /// What the measuring programs call it.
    pub(super) workload: &'static str,
    /// The rows that come of it.
    pub(super) results: &'static [&'static str],
    pub(super) method: Method,
    pub(super) workers: usize,
    pub(super) allocators: &'static [Allocator],
    /// Items of a quick run.
    pub(super) quick: u64,
    pub(super) target: fn(row: &str, allocator: Allocator) -> Target,
}

const SYSTEM: &[Allocator] = &[Allocator::System];
const BOTH: &[Allocator] = &[Allocator::System, Allocator::Mimalloc];

const fn clock(workload: &'static str, results: &'static [&'static str], quick: u64) -> Plan {
    Plan {
        workload,
        results,
        method: Method::Clock,
        workers: 2,
        allocators: SYSTEM,
        quick,
        target: |_, _| AHEAD,
    }
}

/// Counted with one worker: instructions spent on looking for work would only blur them.
const fn instructions(
    workload: &'static str,
    results: &'static [&'static str],
    (small, large): (u64, u64),
    items_per_scale: u64,
) -> Plan {
    let method = Method::Instructions { small, large, items_per_scale };
    Plan { method, workers: 1, ..clock(workload, results, 0) }
}

/// Allocation is most of what a boxed job costs, so both allocators, and two different aims.
fn submission(row: &str, allocator: Allocator) -> Target {
    let max = if row == "submit_handle" { 90.0 } else { 35.0 };
    let ratio = match (row, allocator) {
        ("submit_handle", _) | (_, Allocator::Mimalloc) => 1.0,
        (_, Allocator::System) => 3.0,
    };
    Target { max: Some(max), ratio: Some(ratio), ..NONE }
}

pub(super) const KERNEL: &[Plan] = &[
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
