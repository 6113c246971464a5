//! Of whom have we seen enough? A full run is as long as the slowest contestants make it.
//!
//! Two rules, both by the extremes of the rounds and not by their medians, so that a machine that is
//! disturbed asks for more rounds and never for fewer:
//!
//! 1. A peer whose best round is far behind the worst round of another peer can not become the best of
//!    the row. It has its number, and is not run any more.
//! 2. Where the rounds of ours and of whoever may be the best peer lie close together, further ones would
//!    only confirm them.

use std::collections::BTreeMap;

use super::{
    plan::{Better, Plan},
    programs::{FLOOR, OURS, OURS_SYSTEM},
    row::Series,
};

/// Rounds before a peer can be out of reach, and how far behind it must be.
const PEER_ROUNDS: usize = 2;
const BEHIND: f64 = 1.5;

/// Rounds before a workload can be settled, and how far apart they may be.
const ROUNDS: usize = 3;
const SPREAD: f64 = 0.05;

/// What is known of a workload's rows: by row, then by contestant.
pub(super) type Rows = BTreeMap<String, BTreeMap<String, Series>>;

/// Can this peer no longer be the best of any row?
pub(super) fn is_out_of_reach(rows: &Rows, name: &str, plan: &Plan) -> bool {
    is_peer(name) && plan.results.iter().all(|row| is_behind(rows, row, name, plan.better))
}

fn is_behind(rows: &Rows, row: &str, name: &str, better: Better) -> bool {
    let Some(row) = rows.get(row) else { return false };
    let seen = |series: &&Series| series.rounds() >= PEER_ROUNDS;
    let Some((best, _)) = row.get(name).filter(seen).and_then(|own| own.extremes(better)) else {
        return false;
    };
    let others = row.iter().filter(|(other, _)| is_peer(other) && *other != name);
    let mut worst = others.filter(|(_, one)| seen(one)).filter_map(|(_, one)| one.extremes(better));
    worst.any(|(_, worst)| match better {
        Better::Smaller => best > worst * BEHIND,
        Better::Larger => best < worst / BEHIND,
    })
}

/// Would further rounds only say the same again?
pub(super) fn is_settled(rows: &Rows, plan: &Plan) -> bool {
    let steady = |series: &Series| {
        series.rounds() >= ROUNDS && series.spread().is_some_and(|spread| spread <= SPREAD)
    };
    plan.results.iter().all(|name| {
        let Some(row) = rows.get(*name) else { return false };
        // All who may be the best of the row, as far as they have numbers.
        let mut rivals = row.iter().filter(|(rival, series)| {
            is_peer(rival) && series.rounds() > 0 && !is_behind(rows, name, rival, plan.better)
        });
        row.get(OURS).is_some_and(steady) && rivals.all(|(_, series)| steady(series))
    })
}

/// Neither ours nor a floor.
fn is_peer(name: &str) -> bool {
    ![OURS, OURS_SYSTEM, FLOOR].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::plan;

    /// The rounds of a contestant in each of two rows.
    fn rows(contestants: &[(&str, [&[f64]; 2])]) -> Rows {
        let mut rows = Rows::new();
        for (name, values) in contestants {
            for (row, values) in ["p50", "p99"].iter().zip(values) {
                let series = rows.entry(row.to_string()).or_default();
                let series = series.entry(name.to_string()).or_default();
                values.iter().for_each(|value| series.add(*value));
            }
        }
        rows
    }

    fn latency() -> Plan {
        plan::clock("latency", &["p50", "p99"], 1)
    }

    #[test]
    fn who_is_far_behind_in_every_row_is_out_of_reach() {
        let known = rows(&[
            ("ours", [&[1.0, 1.0], &[1.0, 1.0]]),
            ("near", [&[9.0, 10.0], &[40.0, 40.0]]),
            ("mixed", [&[9.5, 9.5], &[90.0, 90.0]]),
            ("far", [&[16.0, 40.0], &[61.0, 90.0]]),
            ("jumpy", [&[14.0, 40.0], &[61.0, 90.0]]),
            ("once", [&[99.0], &[99.0]]),
        ]);
        let out = |name: &str| is_out_of_reach(&known, name, &latency());
        assert!(out("far"));
        assert!(!out("near") && !out("ours"), "ours is measured to the end, whoever is better");
        assert!(!out("mixed"), "near in one of its rows");
        assert!(!out("jumpy"), "its best round is within reach");
        assert!(!out("once"), "one round says little");
    }

    #[test]
    fn where_more_is_better_the_smaller_is_out_of_reach() {
        let plan = Plan { better: Better::Larger, ..latency() };
        let known = rows(&[
            ("fast", [&[50.0, 45.0], &[50.0, 45.0]]),
            ("slow", [&[10.0, 29.0], &[10.0, 29.0]]),
        ]);
        assert!(is_out_of_reach(&known, "slow", &plan));
        assert!(!is_out_of_reach(&known, "fast", &plan));
    }

    #[test]
    fn a_workload_is_settled_when_ours_and_the_best_peers_are_steady() {
        let steady: &[f64] = &[10.0, 10.2, 10.1];
        let jumpy: &[f64] = &[10.0, 12.0, 10.1];
        let settled =
            |contestants: &[(&str, [&[f64]; 2])]| is_settled(&rows(contestants), &latency());
        assert!(settled(&[("ours", [steady; 2]), ("tokio", [steady; 2])]));
        assert!(settled(&[("ours", [steady; 2])]), "nobody to compare with");
        assert!(!settled(&[("ours", [steady, jumpy]), ("tokio", [steady; 2])]));
        assert!(!settled(&[("ours", [steady; 2]), ("tokio", [jumpy, steady])]));
        assert!(!settled(&[("ours", [&steady[..2]; 2]), ("tokio", [steady; 2])]), "two rounds");
        // Who is out of reach may jump as it likes; a floor is no rival.
        let far: &[f64] = &[30.0, 90.0];
        let all = [("ours", [steady; 2]), ("tokio", [steady; 2]), ("slow", [far; 2])];
        assert!(settled(&all) && settled(&[all.as_slice(), &[("floor", [jumpy; 2])]].concat()));
    }
}
