//! Which rows do the plans of an area make, and what is aimed at in them today?
//!
//! Stored rows have the targets of the day they were measured. Plans change: so what is read gets the
//! targets of the plans as they are. And a row of a plan that is not there is named, or else it would
//! be gone from the report with nobody the wiser.

use std::collections::BTreeMap;

use super::{
    areas::{self, Area},
    plan::{Allocator, Better, Plan},
    programs::Setting,
    row::{Row, Series},
    stored::{Aim, Stored},
};

/// A row that a plan makes, under one allocator.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planned {
    plan: &'static Plan,
    pub(super) name: &'static str,
    pub(super) allocator: Allocator,
}

/// All of an area, in order.
pub(super) fn rows(area: &'static Area) -> Vec<Planned> {
    let of_plan = |plan: &'static Plan| {
        let settings = Setting::all(plan.allocators);
        let of = move |setting: Setting| {
            let allocator = setting.of_ours();
            plan.results.iter().map(move |name| Planned { plan, name, allocator })
        };
        settings.into_iter().flat_map(of)
    };
    area.plans.iter().flat_map(of_plan).collect()
}

impl Planned {
    pub(super) fn target(&self) -> Aim {
        Aim::of(&(self.plan.target)(self.name, self.allocator))
    }

    pub(super) fn is_of(&self, row: &Stored) -> bool {
        row.workload == self.name && row.allocator == self.allocator.to_string()
    }

    /// Its name, with the allocator where there is a row for another too.
    fn title(&self, all: &[Planned]) -> String {
        let is_twin = |one: &&Planned| one.name == self.name && one.allocator != self.allocator;
        match self.allocator {
            Allocator::Mimalloc if all.iter().find(is_twin).is_some() => {
                format!("{} (mimalloc)", self.name)
            }
            _ => self.name.to_owned(),
        }
    }

    /// The row as it was measured, with the target that it has now.
    fn measured(&self, stored: &Stored) -> Row {
        let mut ours = stored.ours.map_or_else(Series::default, Series::of);
        stored.beside.iter().for_each(|(name, value)| ours.add_beside(name, *value));
        let series = |value: Option<f64>| value.map_or_else(Series::default, Series::of);
        let peers = stored.peers.iter().flatten();
        Row {
            name: stored.workload.clone(),
            unit: stored.unit.clone(),
            allocator: self.allocator,
            apart: false,
            workers: stored.workers,
            better: if stored.larger_is_better() { Better::Larger } else { Better::Smaller },
            ours,
            peers: peers.map(|(name, value)| (name.clone(), series(*value))).collect(),
            information: BTreeMap::new(),
            floor: stored.floor,
            target: (self.plan.target)(self.name, self.allocator),
        }
    }
}

/// Gives each row the target of its plan, where there is one, and says anew whether it is met.
pub(super) fn aim(stored: &mut [Stored]) {
    for area in areas::ALL {
        let planned = rows(area);
        for row in stored.iter_mut().filter(|row| row.area == area.name) {
            let Some(planned) = planned.iter().find(|planned| planned.is_of(row)) else { continue };
            row.met = planned.measured(row).met();
            row.target = planned.target();
        }
    }
}

/// The rows of an area's plans that have no value of ours, but for those that a note excuses.
pub(super) fn missing(area: &'static Area, stored: &[Stored], notes: &[String]) -> Vec<String> {
    let all = rows(area);
    let has_value = |planned: &Planned| {
        let of_area = stored.iter().filter(|row| row.area == area.name && row.ours.is_some());
        of_area.into_iter().any(|row| planned.is_of(row))
    };
    let excused = |name: &str| notes.iter().any(|note| excuses(note).any(|one| one == name));
    let missing = all.iter().filter(|planned| !has_value(planned) && !excused(planned.name));
    missing.map(|planned| planned.title(&all)).collect()
}

/// What a note names that could not be had: `without these, and those: why`.
fn excuses(note: &str) -> impl Iterator<Item = &str> {
    let named = note.strip_prefix("without ").and_then(|rest| rest.split_once(": "));
    named.into_iter().flat_map(|(names, _)| names.split(", "))
}

/// Such a note.
pub(super) fn without(names: &[&str], why: &str) -> String {
    format!("without {}: {why}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(area: &str, workload: &str, allocator: &str, ours: f64) -> Stored {
        Stored {
            area: area.to_owned(),
            workload: workload.to_owned(),
            allocator: allocator.to_owned(),
            ours: Some(ours),
            ..Stored::default()
        }
    }

    #[test]
    fn a_row_of_another_day_gets_the_target_of_today() {
        let met = |ours: f64| {
            let mut rows = [row("task", "live_jit", "mimalloc", ours)];
            rows[0].target = Aim { max: Some(1.0), ..Aim::default() };
            aim(&mut rows);
            (rows[0].target.max, rows[0].met)
        };
        assert_eq!(met(14_000.0), (Some(14_336.0), Some(true)));
        assert_eq!(met(15_000.0), (Some(14_336.0), Some(false)));
    }

    #[test]
    fn a_target_is_about_the_peers_the_floor_and_the_numbers_that_were_kept() {
        let mut rows = [
            row("job", "fan_out_in", "mimalloc", 20.0),
            row("shard", "token_1_none", "mimalloc", 50.0),
            row("kernel", "wake_delay", "system", 7.0),
        ];
        let peers = [("rayon", Some(80.0)), ("petgraph-levels", Some(5.0)), ("hungry", None)];
        rows[0].peers = Some(peers.map(|(name, value)| (name.to_owned(), value)).into());
        rows[1].floor = Some(80.0);
        rows[1].larger_is_better = Some(true);
        rows[2].beside = [("cpu_percent".to_owned(), 1.6)].into();
        aim(&mut rows);
        assert_eq!(rows[0].met, Some(false), "ahead of one alone");
        assert_eq!(rows[1].met, Some(true), "more than 0.6 times the floor");
        assert_eq!(rows[2].met, Some(false), "more than 1.5 % of a CPU");
    }

    #[test]
    fn a_row_of_no_plan_keeps_what_it_had() {
        let aimed = Stored {
            target: Aim { max: Some(1.0), ..Aim::default() },
            met: Some(true),
            ..row("task", "live_jit", "system", 2.0)
        };
        let mut rows = [aimed.clone()];
        aim(&mut rows);
        assert_eq!(rows, [aimed]);
    }

    /// What the plans of an area would make.
    fn whole(area: &'static Area) -> Vec<Stored> {
        let stored =
            |planned: &Planned| row(area.name, planned.name, &planned.allocator.to_string(), 1.0);
        rows(area).iter().map(stored).collect()
    }

    #[test]
    fn a_row_that_is_not_there_or_has_no_value_is_named() {
        let kernel = areas::find("kernel").unwrap();
        let mut stored = whole(kernel);
        assert!(missing(kernel, &stored, &[]).is_empty());
        stored.retain(|row| (&*row.workload, &*row.allocator) != ("submit_1", "mimalloc"));
        stored.iter_mut().find(|row| row.workload == "fairness").unwrap().ours = None;
        assert_eq!(missing(kernel, &stored, &[]), ["submit_1 (mimalloc)", "fairness"]);
    }

    #[test]
    fn what_could_not_be_had_is_excused_by_a_note_and_what_failed_is_not() {
        let kernel = areas::find("kernel").unwrap();
        let mut stored = whole(kernel);
        stored.retain(|row| !row.workload.starts_with("instructions_s"));
        let named = ["instructions_submit", "instructions_spawn"];
        let note = without(&named, "please install valgrind");
        assert!(missing(kernel, &stored, &[note]).is_empty());
        let others = ["instructions_submit failed: starved".to_owned(), without(&["forte"], "x")];
        assert_eq!(missing(kernel, &stored, &others), named);
    }
}
