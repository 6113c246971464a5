//! In what form is a row kept, for other programs, for comparisons and for the report?

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    areas,
    plan::{Better, Target},
    row::{Row, Series},
};

/// Of what is next to nothing no more are kept behind the point.
const DIGITS_MAX: i32 = 9;

/// A row of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Stored {
    pub(super) area: String,
    pub(super) workload: String,
    pub(super) unit: String,
    /// Are larger values better?
    pub(super) larger_is_better: Option<bool>,
    pub(super) ours: Option<f64>,
    /// Of ours: the distance of the extremes, as a share of the median.
    pub(super) spread: Option<f64>,
    /// The same in the unit of the value.
    pub(super) range: Option<f64>,
    /// Medians; without one, it failed.
    pub(super) peers: Option<BTreeMap<String, Option<f64>>>,
    pub(super) best_peer: Option<String>,
    pub(super) ratio: Option<f64>,
    pub(super) floor: Option<f64>,
    pub(super) information: BTreeMap<String, Option<f64>>,
    pub(super) target: Aim,
    pub(super) met: Option<bool>,
    pub(super) allocator: String,
    pub(super) workers: usize,
    pub(super) beside: BTreeMap<String, f64>,
    pub(super) beside_range: BTreeMap<String, f64>,
    pub(super) peers_beside: BTreeMap<String, BTreeMap<String, f64>>,
    pub(super) peers_spread: BTreeMap<String, f64>,
    pub(super) peers_failed: BTreeMap<String, String>,
}

/// What is aimed at.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Aim {
    pub(super) max: Option<f64>,
    pub(super) min: Option<f64>,
    pub(super) ratio: Option<f64>,
    pub(super) against: Vec<String>,
    pub(super) ahead: bool,
    pub(super) of_floor: Option<f64>,
    pub(super) beside: Option<Beside>,
}

/// The largest value of a number beside the value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Beside {
    name: String,
    max: f64,
}

impl Stored {
    pub(super) fn new(area: &str, row: &Row) -> Stored {
        let values = |others: &BTreeMap<String, Series>| -> BTreeMap<String, Option<f64>> {
            others.iter().map(|(name, it)| (name.clone(), it.value().map(rounded))).collect()
        };
        let spread = |(name, it): (&String, &Series)| Some((name.clone(), rounded(it.spread()?)));
        let failed = |(name, it): (&String, &Series)| Some((name.clone(), it.failure()?.into()));
        Stored {
            area: area.to_owned(),
            workload: row.name.clone(),
            unit: row.unit.clone(),
            larger_is_better: Some(row.better == Better::Larger),
            ours: row.ours.value().map(rounded),
            spread: row.ours.spread().map(rounded),
            range: row.ours.range().map(rounded),
            peers: (!row.peers.is_empty()).then(|| values(&row.peers)),
            best_peer: row.best_peer().map(|(name, _)| name.to_owned()),
            ratio: row.ratio().map(rounded),
            floor: row.floor.map(rounded),
            information: values(&row.information),
            target: Aim::of(&row.target),
            met: row.met(),
            allocator: row.allocator.to_string(),
            workers: row.workers,
            beside: beside(row.ours.beside()),
            beside_range: beside(row.ours.beside_ranges()),
            peers_beside: row
                .peers
                .iter()
                .map(|(name, it)| (name.clone(), beside(it.beside())))
                .collect(),
            peers_spread: row.peers.iter().filter_map(spread).collect(),
            peers_failed: row.peers.iter().filter_map(failed).collect(),
        }
    }

    /// Says it also for a file that does not.
    pub(super) fn larger_is_better(&self) -> bool {
        self.larger_is_better.unwrap_or_else(|| {
            let plans = areas::find(&self.area).map_or(&[][..], |area| area.plans);
            let mut plans = plans.iter().filter(|plan| plan.results.contains(&&*self.workload));
            plans.next().is_some_and(|plan| plan.better == Better::Larger)
        })
    }

    /// What tells a row from all others.
    pub(super) fn key(&self) -> (&str, &str, &str) {
        (&self.area, &self.workload, &self.allocator)
    }

    /// Its name, with the allocator where `rows` have it for another too.
    pub(super) fn title(&self, rows: &[Stored]) -> String {
        let twin = |other: &&Stored| {
            (&other.area, &other.workload) == (&self.area, &self.workload)
                && other.allocator != self.allocator
        };
        match self.allocator.as_str() {
            "mimalloc" if rows.iter().find(twin).is_some() => {
                format!("{} (mimalloc)", self.workload)
            }
            _ => self.workload.clone(),
        }
    }

    /// Peers with a value, from the best to the worst.
    pub(super) fn peers_in_order(&self) -> Vec<(&str, f64)> {
        self.in_order(self.peers.iter().flatten())
    }

    /// The same of those who are there for information.
    pub(super) fn information_in_order(&self) -> Vec<(&str, f64)> {
        self.in_order(self.information.iter())
    }

    fn in_order<'a>(
        &self,
        others: impl Iterator<Item = (&'a String, &'a Option<f64>)>,
    ) -> Vec<(&'a str, f64)> {
        let values = others.filter_map(|(name, value)| Some((name.as_str(), (*value)?)));
        let mut values: Vec<(&str, f64)> = values.collect();
        values.sort_by(|one, other| one.1.total_cmp(&other.1));
        if self.larger_is_better() {
            values.reverse();
        }
        values
    }

    /// Behind the best peer, or short of a target.
    pub(super) fn falls_short(&self) -> bool {
        self.met == Some(false) || self.ratio.is_some_and(|ratio| ratio < 1.0)
    }
}

impl Aim {
    pub(super) fn of(target: &Target) -> Aim {
        let Target { max, min, ratio, against, ahead, of_floor, beside } = *target;
        Aim {
            max,
            min,
            ratio,
            against: against.iter().map(|name| (*name).to_owned()).collect(),
            ahead,
            of_floor,
            beside: beside.map(|(name, max)| Beside { name: name.to_owned(), max }),
        }
    }

    /// In words; empty where nothing is aimed at.
    pub(super) fn words(&self, number: fn(f64) -> String) -> String {
        let mut parts = Vec::new();
        parts.extend(self.max.map(|max| format!("at most {}", number(max))));
        parts.extend(self.min.map(|min| format!("at least {}", number(min))));
        parts.extend(self.ratio.map(|ratio| {
            let best = match self.against.as_slice() {
                [] => "the best peer".to_owned(),
                some => format!("the best of {}", some.join(", ")),
            };
            if ratio == 1.0 {
                format!("ahead of {best}")
            } else {
                format!("{} times {best}", number(ratio))
            }
        }));
        parts.extend(self.ahead.then(|| "ahead of the best peer".to_owned()));
        parts.extend(self.of_floor.map(|times| format!("{} times the floor", number(times))));
        parts.extend(self.beside.as_ref().map(|it| format!("{} at most {}", it.name, it.max)));
        parts.join(", ")
    }
}

fn beside(numbers: BTreeMap<&str, f64>) -> BTreeMap<String, f64> {
    numbers.into_iter().map(|(name, value)| (name.to_owned(), rounded(value))).collect()
}

/// Digits beyond these would only look exact: three behind the point, or that count.
pub(super) fn rounded(value: f64) -> f64 {
    let digits = match value.abs() {
        small if small > 0.0 && small < 0.1 => 3 - small.log10().ceil() as i32,
        _ => 3,
    };
    let scale = 10f64.powi(digits.min(DIGITS_MAX));
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_keep_digits_that_count() {
        let kept = [123.45678, 0.12345, 0.0234567, -0.0034567, 0.0, 1e-30].map(rounded);
        assert_eq!(kept, [123.457, 0.123, 0.0235, -0.00346, 0.0, 0.0]);
    }

    #[test]
    fn the_allocator_is_named_where_there_are_two() {
        let row = |workload: &str, allocator: &str| Stored {
            workload: workload.to_owned(),
            allocator: allocator.to_owned(),
            ..Stored::default()
        };
        let rows = [row("a", "system"), row("a", "mimalloc"), row("b", "mimalloc")];
        let titles = rows.each_ref().map(|row| row.title(&rows));
        assert_eq!(titles, ["a", "a (mimalloc)", "b"]);
    }
}
