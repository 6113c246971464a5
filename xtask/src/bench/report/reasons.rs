//! Why are we behind, where we are? Written by hand, and kept when the tables are made anew.
//!
//! ```toml
//! [kernel]
//! submit_4 = "Holds for every run."
//! fork_join = { for = "2026-11-16 5731dc5", why = "Holds for the run of that date and commit." }
//! ```

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::bench::{document::Run, stored::Stored};

/// By area, then by row: `submit_4`, or `submit_4 (mimalloc)` where there are two.
#[derive(Debug, Default)]
pub(super) struct Reasons(BTreeMap<String, BTreeMap<String, Reason>>);

#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "a reason is a text, or { for = \"date or commit\", why = \"text\" }"
)]
enum Reason {
    /// Of every run.
    Text(String),
    Dated(Dated),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Dated {
    why: String,
    /// The run's date, its commit, or both, as the report shows them.
    r#for: String,
}

impl Reason {
    fn text(&self) -> &str {
        match self {
            Reason::Text(why) | Reason::Dated(Dated { why, .. }) => why.trim(),
        }
    }

    /// The run that it was written for, if it was for another than this one.
    fn other_run(&self, run: &Run) -> Option<&str> {
        let Reason::Dated(Dated { r#for: written_for, .. }) = self else { return None };
        let is_known = |word: &str| run.date == word || run.commit.split(' ').next() == Some(word);
        let fits = written_for.split_whitespace().all(is_known);
        (!fits).then_some(written_for)
    }
}

impl Reasons {
    /// Of a file; none of one that is not there.
    pub(super) fn read(file: &Path) -> Result<Reasons> {
        match fs::read_to_string(file) {
            Ok(text) => Reasons::parse(&text)
                .with_context(|| format!("{} is not as it should be", file.display())),
            Err(_) => Ok(Reasons::default()),
        }
    }

    pub(super) fn parse(text: &str) -> Result<Reasons> {
        Ok(Reasons(toml::from_str(text)?))
    }

    pub(super) fn of(&self, row: &Stored, rows: &[Stored]) -> Option<&str> {
        Some(self.find(row, rows)?.text())
    }

    fn find(&self, row: &Stored, rows: &[Stored]) -> Option<&Reason> {
        let area = self.0.get(&row.area)?;
        area.get(&row.title(rows)).or_else(|| area.get(&row.workload))
    }

    /// Rows of a run whose reason was written for another.
    pub(super) fn outlived(&self, run: &Run, rows: &[Stored]) -> Vec<String> {
        let short = rows.iter().filter(|row| row.falls_short());
        let outlived = short.filter_map(|row| {
            let written_for = self.find(row, rows)?.other_run(run)?;
            Some(format!("{} {}, for {written_for}", row.area, row.title(rows)))
        });
        outlived.collect()
    }

    /// Reasons for rows that do not exist, or no longer need one.
    pub(super) fn needless(&self, rows: &[Stored]) -> Vec<String> {
        let mut needless = Vec::new();
        for (area, reasons) in &self.0 {
            let of_area = || rows.iter().filter(|row| row.area == *area);
            for name in reasons.keys().filter(|_| of_area().next().is_some()) {
                let named = |row: &&Stored| row.workload == *name || row.title(rows) == *name;
                if !of_area().filter(named).any(Stored::falls_short) {
                    needless.push(format!("{area} {name}"));
                }
            }
        }
        needless
    }

    /// Rows that fall short without a reason.
    pub(super) fn missing(&self, rows: &[Stored]) -> Vec<String> {
        let short = rows.iter().filter(|row| row.falls_short());
        let silent = short.filter(|row| self.of(row, rows).is_none());
        silent.map(|row| format!("{} {}", row.area, row.title(rows))).collect()
    }
}
