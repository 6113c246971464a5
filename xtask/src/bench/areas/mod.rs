//! What can be measured: an area is a small table of programs, peers and plans.
//!
//! To add one, write a file like its neighbours, and name it in [`ALL`].

use std::time::Duration;

use anyhow::Result;

use super::{
    foreign::Foreign,
    nodes::Prepared,
    plan::{Number, Plan},
};

mod job;
mod kernel;
mod node;
mod process;
mod record;
mod shard;
mod task;

/// Everything there is.
pub(super) const ALL: &[&Area] = &[
    &kernel::AREA,
    &process::AREA,
    &job::AREA,
    &task::AREA,
    &shard::AREA,
    &node::AREA,
    &record::AREA,
];

#[derive(Debug)]
pub(super) struct Area {
    pub(super) name: &'static str,
    /// What is measured beside whom, for the list of areas.
    pub(super) about: &'static [&'static str],
    /// Our program, in the crate `benches`.
    pub(super) ours: &'static str,
    /// The peers' program, in the crate `benches-compare`. Empty: there are none.
    pub(super) peers: &'static str,
    /// Peers that may not build everywhere.
    pub(super) extra: Extra,
    /// Peers in other languages.
    pub(super) foreign: &'static [Foreign],
    /// The crates whose versions are shown.
    pub(super) versions: &'static [&'static str],
    /// No run takes nearly as long; one that does hangs.
    pub(super) limit: Duration,
    /// What must be there beside the measuring programs: whether peers are wanted is said.
    pub(super) prepare: Option<fn(with_peers: bool) -> Result<Prepared>>,
    pub(super) plans: &'static [Plan],
    /// What of the numbers beside values is aimed at.
    pub(super) numbers: &'static [Number],
    /// The workloads that say most, the first ones first: what `bench all --quick` runs.
    pub(super) glance: &'static [&'static str],
}

/// A feature of `benches-compare` that is tried, and left out with a note if it does not build.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extra {
    pub(super) feature: &'static str,
    /// Does our own program have it too?
    pub(super) also_ours: bool,
    /// Does it state a newer compiler than it needs?
    pub(super) ignore_rust_version: bool,
}

pub(super) fn find(name: &str) -> Option<&'static Area> {
    ALL.iter().find(|area| area.name == name).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_workload_for_a_glance_is_one_of_the_area() {
        for area in ALL {
            assert!(!area.glance.is_empty(), "{}", area.name);
            for workload in area.glance {
                assert!(area.plans.iter().any(|plan| plan.workload == *workload), "{workload}");
            }
        }
    }

    #[test]
    fn every_row_of_an_area_has_a_name_of_its_own() {
        for area in ALL {
            let rows: Vec<&str> =
                area.plans.iter().flat_map(|plan| plan.results).copied().collect();
            let names: BTreeSet<&str> = rows.iter().copied().collect();
            assert_eq!(names.len(), rows.len(), "{}: {rows:?}", area.name);
            for of in area.numbers.iter().flat_map(|number| number.of) {
                assert!(names.contains(of), "{}: {of}", area.name);
            }
        }
    }
}
