//! Why are we behind, where we are? Written by hand, and kept when the tables are made anew.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result};

use crate::bench::stored::Stored;

/// By area, then by row: `submit_4`, or `submit_4 (mimalloc)` where there are two.
#[derive(Debug, Default)]
pub(super) struct Reasons(BTreeMap<String, BTreeMap<String, String>>);

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
        let area = self.0.get(&row.area)?;
        let reason = area.get(&row.title(rows)).or_else(|| area.get(&row.workload))?;
        Some(reason.trim())
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
