//! Is what the repository says of its own measurements true of the results it keeps?

use super::*;

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
fn throughput_over_accounts_is_a_row_wherever_accounts_are_measured() {
    let (_, areas, _) = committed();
    for (area, document) in areas {
        let row = |name: &str| document.rows.iter().find(|row| row.workload == name);
        assert_eq!(row("accounts_100").is_some(), row("accounts_flat").is_some(), "{area}");
    }
}
