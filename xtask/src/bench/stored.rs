//! In what form are results kept, for other programs, for comparisons and for the report?
//!
//! A file has what is known of the run, and a list of rows. Files of earlier versions are the list
//! alone.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    areas, derived,
    plan::{Better, Target},
    row::{Row, Series},
};

/// Stands for all areas of a run.
const EVERY_AREA: &str = "";

/// What a run found.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Document {
    pub(super) run: Run,
    pub(super) rows: Vec<Stored>,
}

/// When, where and how it was measured. Fields that an old file lacks are empty.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Run {
    pub(super) date: String,
    pub(super) commit: String,
    pub(super) command: String,
    /// Small runs, to see where one stands: not for the record.
    pub(super) quick: bool,
    pub(super) cores: usize,
    pub(super) machine: String,
    pub(super) system: String,
    pub(super) compiler: String,
    /// By area: what says that the machine was not quiet. Under [`EVERY_AREA`] of files that do not
    /// know of which.
    #[serde(deserialize_with = "by_area")]
    pub(super) disturbed: BTreeMap<String, Vec<String>>,
    /// By area: nanoseconds that a cache line takes to the other core and back, before and after.
    pub(super) exchange: BTreeMap<String, Vec<f64>>,
    /// By area.
    pub(super) versions: BTreeMap<String, Vec<String>>,
    /// By area: what could not be had, and what was left out.
    pub(super) notes: BTreeMap<String, Vec<String>>,
}

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
    pub(super) spread: f64,
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
    pub(super) of_floor: Option<f64>,
    pub(super) beside: Option<Beside>,
}

/// The largest value of a number beside the value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Beside {
    name: String,
    max: f64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum File {
    Whole(Box<Document>),
    Rows(Vec<Stored>),
}

impl Document {
    pub(super) fn read(file: &Path) -> Result<Document> {
        let named = || format!("could not read {}", file.display());
        let text = fs::read_to_string(file).with_context(named)?;
        let mut document = match serde_json::from_str(&text).with_context(named)? {
            File::Whole(document) => *document,
            File::Rows(rows) => Document { run: Run::default(), rows },
        };
        // A file may be older than they are.
        derived::complete(&mut document.rows);
        Ok(document)
    }

    pub(super) fn write(&self, file: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(file, text).with_context(|| format!("could not write {}", file.display()))
    }
}

/// Files of earlier versions have one list for all areas.
fn by_area<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Shape {
        ByArea(BTreeMap<String, Vec<String>>),
        Every(Vec<String>),
    }
    Ok(match Shape::deserialize(from)? {
        Shape::ByArea(lists) => lists,
        Shape::Every(list) if list.is_empty() => BTreeMap::new(),
        Shape::Every(list) => BTreeMap::from([(EVERY_AREA.to_owned(), list)]),
    })
}

impl Run {
    /// Leaves what is known of one area.
    pub(super) fn of_area(mut self, area: &str) -> Run {
        self.disturbed.retain(|of, _| of == area || of == EVERY_AREA);
        self.versions.retain(|of, _| of == area);
        self.exchange.retain(|of, _| of == area);
        self.notes.retain(|of, _| of == area);
        self
    }

    /// What says that the machine was not quiet while an area was measured.
    pub(super) fn disturbed_in(&self, area: &str) -> Vec<&str> {
        let lists = [EVERY_AREA, area].into_iter().filter_map(|of| self.disturbed.get(of));
        lists.flatten().map(String::as_str).collect()
    }
}

impl Stored {
    pub(super) fn new(area: &str, row: &Row) -> Stored {
        let values = |others: &BTreeMap<String, Series>| -> BTreeMap<String, Option<f64>> {
            others.iter().map(|(name, it)| (name.clone(), it.value().map(rounded))).collect()
        };
        let each = |of: fn(&Series) -> f64| -> BTreeMap<String, f64> {
            row.peers.iter().map(|(name, it)| (name.clone(), rounded(of(it)))).collect()
        };
        let failed = |(name, it): (&String, &Series)| Some((name.clone(), it.failure()?.into()));
        Stored {
            area: area.to_owned(),
            workload: row.name.clone(),
            unit: row.unit.clone(),
            larger_is_better: Some(row.better == Better::Larger),
            ours: row.ours.value().map(rounded),
            spread: rounded(row.ours.spread()),
            peers: (!row.peers.is_empty()).then(|| values(&row.peers)),
            best_peer: row.best_peer().map(|(name, _)| name.to_owned()),
            ratio: row.ratio().map(rounded),
            floor: row.floor.map(rounded),
            information: values(&row.information),
            target: Aim::of(&row.target),
            met: row.met(),
            allocator: row.allocator.to_string(),
            workers: row.workers,
            beside: beside(&row.ours),
            peers_beside: row.peers.iter().map(|(name, it)| (name.clone(), beside(it))).collect(),
            peers_spread: each(Series::spread),
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
    fn of(target: &Target) -> Aim {
        let Target { max, min, ratio, against, of_floor, beside } = *target;
        Aim {
            max,
            min,
            ratio,
            against: against.iter().map(|name| (*name).to_owned()).collect(),
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
        parts.extend(self.of_floor.map(|times| format!("{} times the floor", number(times))));
        parts.extend(self.beside.as_ref().map(|it| format!("{} at most {}", it.name, it.max)));
        parts.join(", ")
    }
}

fn beside(series: &Series) -> BTreeMap<String, f64> {
    series.beside().into_iter().map(|(name, value)| (name.to_owned(), rounded(value))).collect()
}

/// Digits beyond these would only look exact.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_an_earlier_version_is_a_list() {
        let text = r#"[{"area":"process","workload":"fan_in","ours":30.5,"peers":null,
            "target":{"max":null,"ratio":1.0,"against":[]},"allocator":"mimalloc","workers":2}]"#;
        let File::Rows(rows) = serde_json::from_str(text).unwrap() else { panic!("a list") };
        assert_eq!((rows[0].ours, rows[0].target.ratio), (Some(30.5), Some(1.0)));
        // What the file does not say, the plan does.
        assert!(rows[0].larger_is_better());
        assert!(!Stored { workload: "spawn".to_owned(), ..rows[0].clone() }.larger_is_better());
    }

    #[test]
    fn what_disturbed_an_area_is_no_other_area_s() {
        let run: Run = serde_json::from_str(
            r#"{"disturbed":{"kernel":["after kernel: 9 % busy"]},"notes":{"job":["x"]}}"#,
        )
        .unwrap();
        assert_eq!(run.disturbed_in("kernel"), ["after kernel: 9 % busy"]);
        assert!(run.disturbed_in("job").is_empty());
        let job = run.of_area("job");
        assert!(job.disturbed.is_empty() && job.notes["job"] == ["x"]);
    }

    #[test]
    fn a_list_of_an_earlier_version_is_about_every_area() {
        let run: Run = serde_json::from_str(r#"{"disturbed":["before: 9 % busy"]}"#).unwrap();
        assert_eq!(run.clone().of_area("job").disturbed_in("job"), ["before: 9 % busy"]);
        let text = serde_json::to_string(&run).unwrap();
        assert_eq!(serde_json::from_str::<Run>(&text).unwrap(), run);
        let quiet: Run = serde_json::from_str(r#"{"disturbed":[]}"#).unwrap();
        assert_eq!(quiet, serde_json::from_str("{}").unwrap());
    }

    #[test]
    fn what_is_written_is_read_back() {
        let file = std::env::temp_dir().join(format!("xtask-stored-{}.json", std::process::id()));
        let row = Stored { workload: "spawn".to_owned(), ours: Some(1.5), ..Stored::default() };
        let run = Run { cores: 2, quick: true, ..Run::default() };
        Document { run: run.clone(), rows: vec![row.clone()] }.write(&file).unwrap();
        let read = Document::read(&file).unwrap();
        fs::remove_file(file).unwrap();
        assert_eq!((read.run, read.rows), (run, vec![row]));
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
