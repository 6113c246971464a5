//! Does the report say what was measured, and keep what was written by hand?

use roxmltree::Document as Xml;

use super::*;
use crate::bench::{document::Run, stored::Aim};

fn row(workload: &str, ours: f64, peers: &[(&str, f64)]) -> Stored {
    let best = peers.iter().min_by(|one, other| one.1.total_cmp(&other.1));
    Stored {
        area: "kernel".to_owned(),
        workload: workload.to_owned(),
        unit: "ns/job".to_owned(),
        larger_is_better: Some(false),
        ours: Some(ours),
        spread: Some(0.1),
        peers: Some(peers.iter().map(|(name, value)| (name.to_string(), Some(*value))).collect()),
        best_peer: best.map(|(name, _)| name.to_string()),
        ratio: best.map(|(_, value)| value / ours),
        met: best.map(|(_, value)| *value >= ours),
        target: Aim { ratio: Some(1.0), ..Aim::default() },
        allocator: "system".to_owned(),
        workers: 2,
        ..Stored::default()
    }
}

fn rows() -> Vec<Stored> {
    vec![
        row("submit", 10.0, &[("tokio", 50.0), ("rayon", 25.0)]),
        row("fork<join>", 20.0, &[("rayon", 10.0)]),
        Stored { peers: None, ratio: None, best_peer: None, met: None, ..row("alone", 1.0, &[]) },
    ]
}

fn texts(svg: &str) -> Vec<String> {
    let xml = Xml::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
    let texts = xml.descendants().filter(|node| node.has_tag_name("text"));
    texts.map(|node| node.text().unwrap_or_default().to_owned()).collect()
}

#[test]
fn an_area_s_chart_has_a_bar_for_everyone() {
    let mut rows = rows();
    rows[0].peers_failed.insert("forte".to_owned(), "crashed".to_owned());
    let svg = bars::draw("kernel", "today", &rows);
    let texts = texts(&svg);
    for name in ["tokio", "rayon", "forte", "failed", "submit", "fork<join>", "alone"] {
        assert!(texts.iter().any(|text| text == name), "{name}: {texts:?}");
    }
    let xml = Xml::parse(&svg).unwrap();
    let of_colour = |colour: &str| {
        xml.descendants().filter(|node| node.attribute("fill") == Some(colour)).count()
    };
    // One of each is in the legend.
    assert_eq!((of_colour(svg::PEER), of_colour(svg::OURS), of_colour(svg::LOSS)), (4, 3, 2));
}

#[test]
fn a_long_name_is_whole_and_lies_within_the_chart() {
    let long = "async-priority-channel-mimalloc";
    let texts = texts(&bars::draw("job", "today", &[row("priority", 5.0, &[(long, 10.0)])]));
    assert!(texts.iter().any(|text| text == long), "{texts:?}");
    let width = |name: &str| {
        let svg = bars::draw("job", "today", &[row("priority", 5.0, &[(name, 10.0)])]);
        Xml::parse(&svg).unwrap().root_element().attribute("width").unwrap().parse::<f64>().unwrap()
    };
    // Three columns, each wider by nine characters than what is there for short names.
    assert_eq!((width("tokio"), width(long)), (1_010.0, 1_010.0 + 3.0 * 9.0 * 6.0));
}

#[test]
fn who_is_there_for_information_is_in_the_chart_and_in_the_table() {
    let mut rows = rows();
    let information = [("erlang", Some(381.0)), ("go", Some(247.0)), ("lost", None)];
    rows[0].information = information.map(|(name, value)| (name.to_owned(), value)).into();
    rows[2].information = [("native".to_owned(), Some(0.5))].into();
    let svg = bars::draw("kernel", "today", &rows);
    let texts = texts(&svg);
    for name in ["go", "erlang", "native", "no peers, for information"] {
        assert!(texts.iter().any(|text| text == name), "{name}: {texts:?}");
    }
    // Three bars, and one in the legend.
    assert_eq!(svg.matches(svg::INFORMATION).count(), 4);
    let text = markdown::section("kernel", &Run::default(), &rows, &Reasons::default(), &[]);
    let cell = "| rayon 25, tokio 50 (for information: go 247, erlang 381) | 2.50 |";
    assert!(text.contains(cell), "{text}");
    assert!(text.contains("| (for information: native 0.50) | – |"), "{text}");
}

#[test]
fn the_overview_shows_losses_on_the_other_side_of_one_in_another_colour() {
    let svg = overview::draw(&rows());
    let texts = texts(&svg);
    assert!(
        texts.iter().any(|text| text.starts_with("2 workloads: ahead in 1, behind in 1; 1 more"))
    );
    assert!(texts.contains(&"2.50 rayon".to_owned()) && texts.contains(&"0.50 rayon".to_owned()));
    let xml = Xml::parse(&svg).unwrap();
    let bar = |colour: &str| {
        let mut rects = xml.descendants().filter(|node| node.has_tag_name("rect"));
        let rect = rects.find(|node| node.attribute("fill") == Some(colour)).unwrap();
        let number = |name| rect.attribute(name).unwrap().parse::<f64>().unwrap();
        (number("x"), number("x") + number("width"))
    };
    let (win, loss) = (bar(svg::OURS), bar(svg::LOSS));
    assert!((loss.1 - win.0).abs() < 0.2, "they meet where the ratio is 1: {loss:?} {win:?}");
}

#[test]
fn the_section_names_what_falls_short_with_its_reason_and_its_figures() {
    let reasons =
        Reasons::parse("[kernel]\n\"fork<join>\" = \"\"\"It fences\n  twice.\"\"\"\n").unwrap();
    let run = Run { date: "2026-11-16".to_owned(), cores: 2, ..Run::default() };
    let text = markdown::section("kernel", &run, &rows(), &reasons, &["growth".to_owned()]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("| submit | ns/job | 10 | 10 % | rayon 25, tokio 50 | 2.50 |"), "{text}");
    assert!(text.contains("- **fork<join>** (20 ns/job; ratio 0.50; target: ahead of the best peer). It fences twice."), "{text}");
    assert!(text.contains("charts/kernel-growth.svg") && text.contains("was quiet"), "{text}");
    assert!(!text.contains("**alone**") && !text.contains("**submit**"), "{text}");
}

#[test]
fn a_large_spread_is_marked_and_one_round_has_none() {
    let mut rows = rows();
    (rows[0].spread, rows[1].spread, rows[2].spread) = (Some(0.31), Some(0.304), None);
    let text = markdown::section("kernel", &Run::default(), &rows, &Reasons::default(), &[]);
    for line in ["| 10 | **31 %** |", "| 20 | 30 % |", "| alone | ns/job | 1 | – |"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn where_there_are_no_peers_nobody_is_ahead_of_them() {
    let said = |rows: &[Stored]| {
        let text = markdown::section("kernel", &Run::default(), rows, &Reasons::default(), &[]);
        text.lines().last().unwrap().to_owned()
    };
    assert_eq!(said(&rows()[2..]), "Every row reaches its target.");
    let both = [rows().swap_remove(0), rows().swap_remove(2)];
    assert_eq!(said(&both), "Every row is ahead of its best peer and reaches its target.");
}

#[test]
fn a_run_that_was_disturbed_or_quick_says_so() {
    let disturbed = [("kernel".to_owned(), vec!["before: 40 % busy".to_owned()])].into();
    let run = Run { quick: true, disturbed, cores: 2, ..Run::default() };
    let text = markdown::section("kernel", &run, &rows(), &Reasons::default(), &[]);
    assert!(text.contains("quick run") && text.contains("40 % busy"), "{text}");
    assert!(text.contains("has not been found out"), "{text}");
}

#[test]
fn only_what_stands_between_the_markers_is_replaced() {
    let page = "# Top\n<!-- bench:job -->\nold\n<!-- /bench:job -->\n\nBy hand.\n";
    let once = markdown::replace(page, "job", "new\n").unwrap();
    assert_eq!(once, "# Top\n<!-- bench:job -->\nnew\n<!-- /bench:job -->\n\nBy hand.\n");
    assert_eq!(markdown::replace(&once, "job", "new\n").unwrap(), once);
    let error = markdown::replace(page, "kernel", "new").unwrap_err().to_string();
    assert!(error.contains("<!-- bench:kernel -->"), "{error}");
}

#[test]
fn reasons_that_are_missing_or_needless_are_named() {
    let text = "[kernel]\nsubmit = \"old\"\ngone = \"older\"\n[node]\nx = \"not measured\"\n";
    let reasons = Reasons::parse(text).unwrap();
    assert_eq!(reasons.missing(&rows()), ["kernel fork<join>"]);
    assert_eq!(reasons.needless(&rows()), ["kernel gone", "kernel submit"]);
    assert!(Reasons::parse("[kernel]\nsubmit = 3\n").is_err());
}

#[test]
fn a_reason_may_say_for_which_run_it_was_written() {
    let text =
        "[kernel]\n\"fork<join>\" = { for = \"2026-11-15 abc1234\", why = \" It fences. \" }\n";
    let reasons = Reasons::parse(text).unwrap();
    assert_eq!(reasons.of(&rows()[1], &rows()), Some("It fences."));
    assert!(reasons.missing(&rows()).is_empty() && reasons.needless(&rows()).is_empty());
    let outlived = |date: &str, commit: &str| {
        let run = Run { date: date.to_owned(), commit: commit.to_owned(), ..Run::default() };
        reasons.outlived(&run, &rows())
    };
    assert!(outlived("2026-11-15", "abc1234").is_empty());
    assert!(outlived("2026-11-15", "abc1234 + changes").is_empty());
    let named = ["kernel fork<join>, for 2026-11-15 abc1234"];
    assert_eq!(outlived("2026-11-16", "abc1234"), named);
    assert_eq!(outlived("2026-11-15", "def5678"), named);
}

#[test]
fn a_reason_that_is_a_text_holds_for_every_run_and_a_table_needs_both() {
    let reasons = Reasons::parse("[kernel]\n\"fork<join>\" = \"It fences.\"\n").unwrap();
    assert!(reasons.outlived(&Run::default(), &rows()).is_empty());
    let long = "[kernel.\"fork<join>\"]\nfor = \"2026-11-15\"\nwhy = \"\"\"\nIt\nfences.\"\"\"\n";
    let reasons = Reasons::parse(long).unwrap();
    assert_eq!(reasons.of(&rows()[1], &rows()), Some("It\nfences."));
    for bad in ["{ why = \"x\" }", "{ for = \"x\" }", "{ why = \"x\", of = \"y\" }", "3"] {
        let error = Reasons::parse(&format!("[kernel]\nsubmit = {bad}\n")).unwrap_err();
        assert!(error.to_string().contains("a reason is a text"), "{bad}: {error}");
    }
}

#[test]
fn a_file_with_a_part_of_an_area_is_refused() {
    let file = std::env::temp_dir().join(format!("xtask-part-{}.json", std::process::id()));
    let write = |command: &str| {
        let run = Run { command: command.to_owned(), ..Run::default() };
        Document { run, rows: rows() }.write(&file).unwrap();
    };
    write("cargo xtask bench kernel --only submit_1");
    assert!(whole(&file).unwrap_err().to_string().contains("--only"));
    write("cargo xtask bench kernel --report");
    assert_eq!(whole(&file).unwrap().rows.len(), rows().len());
    fs::remove_file(file).unwrap();
}

/// The rows of the kernel's plans, and some more.
fn whole_area() -> Vec<Stored> {
    let planned = planned::rows(areas::find("kernel").unwrap());
    let planned = planned.iter().map(|planned| Stored {
        allocator: planned.allocator.to_string(),
        ..row(planned.name, 1.0, &[])
    });
    planned.chain(rows()).collect()
}

#[test]
fn an_area_that_lacks_a_row_does_not_take_the_place_of_what_was_kept() {
    let docs = std::env::temp_dir().join(format!("xtask-lacks-{}", std::process::id()));
    let kept_rows = || kept(&docs).unwrap()[0].1.rows.len();
    let keep = |rows: Vec<Stored>, note: &str| {
        let notes = [("kernel".to_owned(), vec![note.to_owned()])].into();
        keep(&docs, Document { run: Run { notes, ..Run::default() }, rows }).unwrap()
    };
    assert!(keep(whole_area(), "").is_empty());
    let before = kept_rows();
    let mut rows = whole_area();
    rows.retain(|row| row.workload != "instructions_yield");
    let refused = keep(rows.clone(), "instructions_yield failed: starved");
    assert_eq!(refused.len(), 1);
    assert!(refused[0].contains("kernel is not in the report"), "{refused:?}");
    assert!(refused[0].ends_with("no instructions_yield"), "{refused:?}");
    assert_eq!(kept_rows(), before);
    // What could not be had is said in the report.
    assert!(keep(rows, &planned::without(&["instructions_yield"], "no valgrind")).is_empty());
    assert_eq!(kept_rows(), before - 1);
    fs::remove_dir_all(docs).unwrap();
}

#[test]
fn a_report_is_made_from_what_was_kept() {
    let docs = std::env::temp_dir().join(format!("xtask-report-{}", std::process::id()));
    fs::create_dir_all(&docs).unwrap();
    fs::write(docs.join("performance.md"), "<!-- bench:kernel -->\n<!-- /bench:kernel -->\n")
        .unwrap();
    assert!(keep(&docs, Document { run: Run::default(), rows: whole_area() }).unwrap().is_empty());
    let areas = kept(&docs).unwrap();
    assert_eq!(areas.len(), 1);
    write_in(&docs, &areas).unwrap();
    let page = fs::read_to_string(docs.join("performance.md")).unwrap();
    assert!(page.contains("fork<join>"), "{page}");
    assert!(docs.join("charts/kernel.svg").is_file() && docs.join("charts/overview.svg").is_file());
    let unknown = Stored { area: "moon".to_owned(), ..rows()[0].clone() };
    let error = keep(&docs, Document { run: Run::default(), rows: vec![unknown] }).unwrap_err();
    assert!(error.to_string().contains("moon"), "{error}");
    fs::remove_dir_all(docs).unwrap();
}
