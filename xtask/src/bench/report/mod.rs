//! One report of all areas: tables in `docs/performance.md`, charts in `docs/charts`.
//!
//! Results are kept in `docs/performance`, a file per area, so that an area can be measured alone
//! and everything can be drawn anew without measuring anything. The reasons in
//! `docs/performance/reasons.toml` are written by hand.

mod bars;
mod markdown;
mod overview;
mod reasons;
pub(super) mod svg;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};

use super::{areas, chart, document::Document, options::less_than_whole, planned, stored::Stored};
use crate::shell;
use reasons::Reasons;

/// Below `docs`.
const PAGE: &str = "performance.md";
const OVERVIEW: &str = "charts/overview.svg";
/// Of the policies, which no area measures. That it is what they draw is a test of the crate that draws it.
const POLICIES_CHART: &str = "charts/policies-workers.svg";

/// A workload of the policy laboratory that needs many workers: on few, jobs wait. The test draws the
/// same: `crates/cli/tests/policies_chart.rs`.
const POLICIES: &str =
    "--workload bursty --workers 4,16,64,256,1024 --jobs 5000 --load 64 --balancer none";

/// `bench report FILE...`: takes these results in, and draws everything anew.
pub(super) fn remake(files: &[PathBuf], policies: bool) -> Result<()> {
    let documents = files.iter().map(|file| whole(file)).collect::<Result<Vec<_>>>()?;
    let refused = write(documents)?;
    if policies {
        draw_policies()?;
    }
    ensure!(refused.is_empty(), "{}", refused.join("; "));
    Ok(())
}

/// What is in a file, unless it is a part of an area: that may not take the whole one's place.
fn whole(file: &Path) -> Result<Document> {
    let document = Document::read(file)?;
    let command: Vec<&str> = document.run.command.split(' ').collect();
    if let Some(less) = less_than_whole(&command) {
        bail!("{} was measured with {less}: it is a part of an area", file.display());
    }
    Ok(document)
}

/// Takes results in, and draws everything anew. Areas that lack a row are not taken in: it says which,
/// and why.
pub(super) fn write(documents: Vec<Document>) -> Result<Vec<String>> {
    let docs = shell::root().join("docs");
    let mut refused = Vec::new();
    for document in documents {
        refused.extend(keep(&docs, document)?);
    }
    let areas = kept(&docs)?;
    if !areas.is_empty() {
        write_in(&docs, &areas)?;
    } else if refused.is_empty() {
        bail!("there are no results yet; measure an area with --report, or name a file");
    }
    Ok(refused)
}

/// Draws how policies do with more workers than any machine has.
pub(super) fn draw_policies() -> Result<()> {
    let mut command =
        shell::cargo(["run", "--release", "--quiet", "--package", "shiftwork-cli", "--"]);
    command.arg("policies").args(POLICIES.split(' '));
    command.arg("--svg").arg(shell::root().join("docs").join(POLICIES_CHART));
    shell::run(command)
}

/// Keeps what was measured, each area by itself. What was kept of an area before stays if a row of its
/// plans is missing now, and no note says what could not be had for it; returned are these areas.
fn keep(docs: &Path, document: Document) -> Result<Vec<String>> {
    let dir = docs.join("performance");
    fs::create_dir_all(&dir).with_context(|| format!("could not make {}", dir.display()))?;
    let mut by_area: BTreeMap<String, Vec<Stored>> = BTreeMap::new();
    for row in document.rows {
        by_area.entry(row.area.clone()).or_default().push(row);
    }
    let mut refused = Vec::new();
    for (name, rows) in by_area {
        let area = areas::find(&name).with_context(|| format!("there is no area {name:?}"))?;
        let run = document.run.clone().of_area(&name);
        let notes = run.notes.get(&name).map_or(&[][..], Vec::as_slice);
        let missing = planned::missing(area, &rows, notes);
        if missing.is_empty() {
            Document { run, rows }.write(&dir.join(format!("{name}.json")))?;
        } else {
            let missing = missing.join(", ");
            refused
                .push(format!("{name} is not in the report, which stays as it was: no {missing}"));
        }
    }
    Ok(refused)
}

/// All that was kept, in the order of the areas.
fn kept(docs: &Path) -> Result<Vec<(&'static str, Document)>> {
    let mut all = Vec::new();
    for area in areas::ALL {
        let file = docs.join(format!("performance/{}.json", area.name));
        if file.is_file() {
            all.push((area.name, Document::read(&file)?));
        }
    }
    Ok(all)
}

fn write_in(docs: &Path, areas: &[(&'static str, Document)]) -> Result<()> {
    let charts = docs.join("charts");
    fs::create_dir_all(&charts).with_context(|| format!("could not make {}", charts.display()))?;
    let reasons = Reasons::read(&docs.join("performance/reasons.toml"))?;
    for (file, text) in drawn(docs, areas, &reasons)? {
        let file = docs.join(file);
        fs::write(&file, text).with_context(|| format!("could not write {}", file.display()))?;
    }
    let rows = rows(areas);
    println!("wrote docs/performance.md and docs/charts: {} rows", rows.len());
    let (missing, needless) = (reasons.missing(&rows), reasons.needless(&rows));
    missing.iter().for_each(|row| println!("no reason yet: {row}"));
    needless.iter().for_each(|row| println!("a reason that is not needed: {row}"));
    for (_, Document { run, rows }) in areas {
        let outlived = reasons.outlived(run, rows);
        outlived.iter().for_each(|row| println!("reason written for an earlier run: {row}"));
    }
    Ok(())
}

fn rows(areas: &[(&'static str, Document)]) -> Vec<Stored> {
    areas.iter().flat_map(|(_, document)| document.rows.clone()).collect()
}

/// The page, with what was written by hand in it, and the charts: where below `docs`, and what.
fn drawn(
    docs: &Path,
    areas: &[(&'static str, Document)],
    reasons: &Reasons,
) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let page = fs::read_to_string(docs.join(PAGE));
    let mut page = page.with_context(|| format!("could not read docs/{PAGE}"))?;
    for (area, Document { run, rows }) in areas {
        let families = chart::families(rows);
        for (name, family) in &families {
            files.insert(format!("charts/{area}-{name}.svg"), family.draw(name));
        }
        let about = format!("{} {}, {} cores, {}", run.date, run.commit, run.cores, run.machine);
        files.insert(format!("charts/{area}.svg"), bars::draw(area, &about, rows));
        let curves: Vec<String> = families.into_keys().collect();
        let section = markdown::section(area, run, rows, reasons, &curves);
        page = markdown::replace(&page, area, &section)?;
    }
    files.insert(OVERVIEW.to_owned(), overview::draw(&rows(areas)));
    files.insert(PAGE.to_owned(), page);
    Ok(files)
}

#[cfg(test)]
mod committed;
#[cfg(test)]
mod tests;
