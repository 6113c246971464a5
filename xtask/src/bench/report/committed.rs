//! Is what the repository says of its own measurements true of the results it keeps?

use super::*;

/// Rows of plans that were never measured for the record, and why.
const NOT_STORED: &[(&str, &str, &str)] = &[(
    "node",
    "token_64_single",
    "it was planned when the node had been measured for the last time",
)];

/// What the repository has, below `docs`.
fn committed() -> (PathBuf, Vec<(&'static str, Document)>, Reasons) {
    let docs = shell::root().join("docs");
    let areas = kept(&docs).unwrap();
    let reasons = Reasons::read(&docs.join("performance/reasons.toml")).unwrap();
    (docs, areas, reasons)
}

#[test]
fn the_page_and_the_charts_of_the_repository_are_what_its_results_draw() {
    let (docs, areas, reasons) = committed();
    let drawn = drawn(&docs, &areas, &reasons).unwrap();
    for (file, text) in &drawn {
        let there = fs::read_to_string(docs.join(file)).unwrap_or_default();
        assert!(there == *text, "docs/{file} is another: run `cargo xtask bench report`");
    }
    for chart in fs::read_dir(docs.join("charts")).unwrap() {
        let name = format!("charts/{}", chart.unwrap().file_name().display());
        // The policies' chart takes their own program: see `crates/cli/tests/policies_chart.rs`.
        let is_drawn = drawn.contains_key(&name) || name == POLICIES_CHART;
        assert!(is_drawn, "docs/{name} is of no row");
    }
}

#[test]
fn every_row_that_falls_short_has_a_reason_and_no_other() {
    let (_, areas, reasons) = committed();
    let rows = rows(&areas);
    let (missing, needless) = (reasons.missing(&rows), reasons.needless(&rows));
    let file = "docs/performance/reasons.toml";
    assert!(missing.is_empty(), "{file} has no reason for {missing:?}");
    assert!(needless.is_empty(), "{file} has reasons that are not needed: {needless:?}");
}

#[test]
fn every_row_that_is_drawn_has_the_target_of_its_plan() {
    let (docs, areas, _) = committed();
    let page = fs::read_to_string(docs.join(PAGE)).unwrap();
    for (area, document) in &areas {
        for planned in planned::rows(areas::find(area).unwrap()) {
            let Some(row) = document.rows.iter().find(|row| planned.is_of(row)) else { continue };
            assert_eq!(row.target, planned.target(), "{area} {}", planned.name);
            let line = markdown::line(row, &document.rows);
            assert!(page.contains(&line), "docs/{PAGE} has no {line}");
        }
    }
}

#[test]
fn every_row_that_is_planned_is_stored_or_it_is_said_why_not() {
    let (_, kept, _) = committed();
    let mut named = Vec::new();
    for area in areas::ALL {
        let document = kept.iter().find(|(name, _)| *name == area.name);
        let rows = document.map_or(&[][..], |(_, document)| &document.rows);
        named.extend(planned::missing(area, rows, &[]).into_iter().map(|row| (area.name, row)));
    }
    let expected: Vec<(&str, String)> =
        NOT_STORED.iter().map(|(area, row, _)| (*area, (*row).to_owned())).collect();
    assert_eq!(named, expected, "planned and not stored; those that are known are in NOT_STORED");
}

#[test]
fn throughput_over_accounts_is_a_row_wherever_accounts_are_measured() {
    let (_, areas, _) = committed();
    for (area, document) in areas {
        let row = |name: &str| document.rows.iter().find(|row| row.workload == name);
        assert_eq!(row("accounts_100").is_some(), row("accounts_flat").is_some(), "{area}");
    }
}

/// What the page on benchmarks has on an area, from its heading to the next area's.
fn described<'a>(page: &'a str, area: &str) -> Option<&'a str> {
    let mut sections = page.split("\n## The workloads of ").skip(1);
    sections.find(|section| section.lines().next().is_some_and(|title| title.contains(area)))
}

/// Is a row named there: in a heading, by its name or by how that begins, or as it is in a text?
fn is_described(section: &str, row: &str) -> bool {
    let headings = section.lines().filter(|line| line.starts_with("### "));
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: Vec<&str> = headings.flat_map(|line| line.split(|c| !is_part(c))).collect();
    let ends = row.match_indices('_').map(|(at, _)| at).chain([row.len()]);
    ends.into_iter().any(|end| words.contains(&&row[..end]))
        || section.contains(&format!("`{row}`"))
}

#[test]
fn every_row_is_described_among_the_workloads_of_its_area() {
    let (docs, kept, _) = committed();
    let page = fs::read_to_string(docs.join("benchmarks.md")).unwrap();
    for area in areas::ALL {
        let section = described(&page, area.name).unwrap_or_else(|| panic!("{}", area.name));
        let planned = area.plans.iter().flat_map(|plan| plan.results).copied();
        let shown = kept.iter().filter(|(name, _)| *name == area.name);
        let shown = shown.flat_map(|(_, document)| &document.rows).map(|row| &*row.workload);
        for row in planned.chain(shown) {
            assert!(is_described(section, row), "docs/benchmarks.md: {} {row}", area.name);
        }
    }
    let jobs = described(&page, "job").unwrap();
    assert!(!is_described(jobs, "spawn_tree") && !is_described(jobs, "growth_7"));
}

#[test]
fn the_readme_shows_the_picture_of_all_workloads() {
    let readme = fs::read_to_string(shell::root().join("README.md")).unwrap();
    assert!(readme.contains(&format!("(docs/{OVERVIEW})")), "README.md has no docs/{OVERVIEW}");
    assert!(shell::root().join("docs").join(OVERVIEW).is_file());
}
