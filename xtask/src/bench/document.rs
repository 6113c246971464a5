//! In what form are results kept in a file?
//!
//! For us, in `docs/performance`, a file has what is known of the run and then its rows. For other
//! programs (`--json`) it is a list of rows, each with its run. Both are read, and so are lists of
//! earlier versions, whose rows do not know of a run.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Deserializer, Serialize};

use super::{derived, planned, stored::Stored};

/// Stands for all areas of a run.
const EVERY_AREA: &str = "";
/// Is the name of none.
const NO_AREA: &str = "-";

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

#[derive(Deserialize)]
#[serde(untagged)]
enum File {
    Whole(Box<Document>),
    Rows(Vec<Entry<Stored>>),
}

/// A row of a list, with what identifies its run.
#[derive(Serialize, Deserialize)]
struct Entry<R> {
    #[serde(flatten)]
    row: R,
    #[serde(default)]
    run: Run,
}

impl Document {
    pub(super) fn read(file: &Path) -> Result<Document> {
        let named = || format!("could not read {}", file.display());
        let text = fs::read_to_string(file).with_context(named)?;
        let mut document = match serde_json::from_str(&text).with_context(named)? {
            File::Whole(document) => *document,
            File::Rows(list) => Document::of_list(list).with_context(named)?,
        };
        // A file may be older than what they are made by.
        planned::aim(&mut document.rows);
        derived::complete(&mut document.rows);
        Ok(document)
    }

    /// What was known of the run before its rows came to stand in a list.
    fn of_list(list: Vec<Entry<Stored>>) -> Result<Document> {
        let mut document = Document::default();
        for (at, Entry { row, run }) in list.into_iter().enumerate() {
            if at == 0 {
                document.run = run;
            } else {
                document.run.join(run).with_context(|| format!("{} {}", row.area, row.workload))?;
            }
            document.rows.push(row);
        }
        Ok(document)
    }

    /// For us: the run once, then its rows.
    pub(super) fn write(&self, file: &Path) -> Result<()> {
        put(file, self)
    }

    /// For other programs: a list of rows, each of which says of which run it is.
    pub(super) fn write_list(&self, file: &Path) -> Result<()> {
        let run_of = |row: &Stored| self.run.clone().of_area(&row.area);
        let list = self.rows.iter().map(|row| Entry { row, run: run_of(row) });
        put(file, &list.collect::<Vec<_>>())
    }
}

fn put(file: &Path, what: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(what)? + "\n";
    fs::write(file, text).with_context(|| format!("could not write {}", file.display()))
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
    /// Takes in what another row of the same run knows of its area.
    fn join(&mut self, other: Run) -> Result<()> {
        let everywhere = |run: &Run| run.clone().of_area(NO_AREA);
        ensure!(everywhere(self) == everywhere(&other), "it is of another run than the first row");
        self.disturbed.extend(other.disturbed);
        self.exchange.extend(other.exchange);
        self.versions.extend(other.versions);
        self.notes.extend(other.notes);
        Ok(())
    }

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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_file_of_an_earlier_version_is_a_list() {
        let text = r#"[{"area":"process","workload":"fan_in","ours":30.5,"peers":null,
            "target":{"max":null,"ratio":1.0,"against":[]},"allocator":"mimalloc","workers":2}]"#;
        let File::Rows(list) = serde_json::from_str(text).unwrap() else { panic!("a list") };
        let Document { run, rows } = Document::of_list(list).unwrap();
        assert_eq!(run, Run::default());
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

    /// Writes it for other programs, and gives the text to somebody.
    fn as_list<T>(document: &Document, with: impl FnOnce(&Path, serde_json::Value) -> T) -> T {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let file = format!("xtask-list-{}-{count}.json", std::process::id());
        let file = std::env::temp_dir().join(file);
        document.write_list(&file).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let result = with(&file, serde_json::from_str(&text).unwrap());
        fs::remove_file(file).unwrap();
        result
    }

    fn two_areas() -> Document {
        let row = |area: &str, workload: &str| Stored {
            area: area.to_owned(),
            workload: workload.to_owned(),
            unit: "ns/job".to_owned(),
            ours: Some(2.0),
            floor: Some(1.0),
            ..Stored::default()
        };
        let peers = [("tokio".to_owned(), Some(3.0)), ("forte".to_owned(), None)].into();
        let beside = Stored {
            peers: Some(peers),
            best_peer: Some("tokio".to_owned()),
            ratio: Some(1.5),
            ..row("kernel", "submit_1")
        };
        let of_area = |area: &str, text: &str| (area.to_owned(), vec![text.to_owned()]);
        let run = Run {
            commit: "abc1234".to_owned(),
            cores: 2,
            versions: [of_area("kernel", "tokio 1"), of_area("job", "rayon 1")].into(),
            disturbed: [of_area("kernel", "9 % busy")].into(),
            ..Run::default()
        };
        Document { run, rows: vec![beside, row("kernel", "submit_batch"), row("job", "memory")] }
    }

    #[test]
    fn other_programs_get_a_list_whose_rows_know_their_run() {
        as_list(&two_areas(), |_, list| {
            let rows = list.as_array().expect("a list");
            assert_eq!(rows.len(), 3);
            let all = ["area", "workload", "unit", "ours", "peers", "best_peer", "ratio", "floor"];
            for (row, field) in rows.iter().flat_map(|row| all.map(|field| (row, field))) {
                assert!(row.get(field).is_some(), "{field}: {row}");
            }
            assert_eq!(rows[0]["peers"], serde_json::json!({ "tokio": 3.0, "forte": null }));
            assert_eq!(rows[0]["best_peer"], "tokio");
            for field in ["peers", "best_peer", "ratio"] {
                assert!(rows[1][field].is_null(), "nobody to compare with: {}", rows[1]);
            }
            assert_eq!(rows[2]["run"]["commit"], "abc1234");
            assert_eq!(rows[2]["run"]["versions"], serde_json::json!({ "job": ["rayon 1"] }));
        });
    }

    #[test]
    fn a_list_is_read_back_whole() {
        let document = two_areas();
        let read = as_list(&document, |file, _| Document::read(file).unwrap());
        assert_eq!((read.run, read.rows), (document.run, document.rows));
    }

    #[test]
    fn rows_of_two_runs_in_one_list_are_refused() {
        let error = as_list(&two_areas(), |file, mut list| {
            list[1]["run"]["commit"] = "def5678".into();
            fs::write(file, list.to_string()).unwrap();
            Document::read(file).unwrap_err()
        });
        assert!(format!("{error:#}").contains("kernel submit_batch: it is of another run"));
    }
}
