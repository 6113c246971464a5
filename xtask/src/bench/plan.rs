//! Which workloads are run, how large, under which allocator, and what is aimed at?

use std::fmt;

/// Full runs are for the record, quick ones to see where one stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speed {
    Full,
    Quick,
    /// As quick, and of the first rows of each area what can be done in a time.
    Glance,
}

impl Speed {
    pub(super) fn is_small(self) -> bool {
        self != Speed::Full
    }

    pub(super) fn rounds(self) -> usize {
        match self {
            Speed::Full => 5,
            Speed::Quick => 3,
            Speed::Glance => 2,
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

/// Under which allocators a plan is run. Allocation is much of what some workloads cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allocators {
    /// A row for each, in which everyone has the same.
    Apart(&'static [Allocator]),
    /// One row: every peer under each, and the best counts. Ours under mimalloc, as the binary
    /// has it; what it needs under the system's is shown beside.
    Together,
}

/// Which values are good ones?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Better {
    Smaller,
    Larger,
}

/// What the others of a row are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Peers, to be compared with.
    Peers,
    /// Something else that does the same work, for information: it enters no ratio.
    Information,
}

/// What is aimed at. Larger ratios are better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Target {
    /// The largest value, on a machine like the one the target was set on.
    pub(super) max: Option<f64>,
    /// The smallest value, where larger ones are better.
    pub(super) min: Option<f64>,
    /// How many times better than the best peer.
    pub(super) ratio: Option<f64>,
    /// The peers that the ratio is about. Empty: all.
    pub(super) against: &'static [&'static str],
    /// Ahead of all peers as well, where the ratio is about some.
    pub(super) ahead: bool,
    /// How many times the floor: at most, or where larger values are better at least.
    pub(super) of_floor: Option<f64>,
    /// A number beside the value, and its largest.
    pub(super) beside: Option<(&'static str, f64)>,
}

pub(super) const NONE: Target = Target {
    max: None,
    min: None,
    ratio: None,
    against: &[],
    ahead: false,
    of_floor: None,
    beside: None,
};
pub(super) const AHEAD: Target = Target { ratio: Some(1.0), ..NONE };

/// A number beside the values of some rows that is aimed at itself, so that it has rows of its own.
#[derive(Debug)]
pub(super) struct Number {
    /// What the measuring programs call it.
    pub(super) name: &'static str,
    /// The rows that it stands beside.
    pub(super) of: &'static [&'static str],
    /// What is put behind their names.
    pub(super) ending: &'static str,
    pub(super) unit: &'static str,
    pub(super) better: Better,
    pub(super) target: Target,
}

impl Number {
    /// The name of its row for one of those.
    pub(super) fn row(&self, of: &str) -> String {
        format!("{of}{}", self.ending)
    }
}

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
    pub(super) allocators: Allocators,
    pub(super) better: Better,
    pub(super) others: Standing,
    /// Items of a quick run.
    pub(super) quick: u64,
    /// Fewer rounds than usual will do for a value that hardly varies.
    pub(super) rounds_max: usize,
    pub(super) target: fn(row: &str, allocator: Allocator) -> Target,
}

impl Plan {
    /// Are its instructions counted, by another program?
    pub(super) fn is_counted(&self) -> bool {
        matches!(self.method, Method::Instructions { .. })
    }
}

pub(super) const SYSTEM: Allocators = Allocators::Apart(&[Allocator::System]);
pub(super) const BOTH: Allocators = Allocators::Apart(&[Allocator::System, Allocator::Mimalloc]);

/// A plan as most are: two workers, the system's allocator, ahead of all peers.
pub(super) const fn clock(
    workload: &'static str,
    results: &'static [&'static str],
    quick: u64,
) -> Plan {
    Plan {
        workload,
        results,
        method: Method::Clock,
        workers: 2,
        allocators: SYSTEM,
        better: Better::Smaller,
        others: Standing::Peers,
        quick,
        rounds_max: usize::MAX,
        target: |_, _| AHEAD,
    }
}

/// Counted with one worker: instructions spent on looking for work would only blur them.
pub(super) const fn instructions(
    workload: &'static str,
    results: &'static [&'static str],
    (small, large): (u64, u64),
    items_per_scale: u64,
) -> Plan {
    let method = Method::Instructions { small, large, items_per_scale };
    Plan { method, workers: 1, ..clock(workload, results, 0) }
}
