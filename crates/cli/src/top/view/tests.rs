//! Does the picture keep to its place, at every size?

use observe::{Snapshot, snapshot};
use ratatui::{Terminal, backend::TestBackend, style::Modifier};

use super::*;
use crate::top::{
    keys::Action,
    model::Next,
    sort::Column,
    state::{BaseChain, Node, State},
    words::width,
};

/// Looks at a node with two runtimes, after so many seconds.
fn state(seconds: u64) -> State {
    let worker = |number: u64| snapshot::Worker {
        state: ["running", "idle", "paused"][number as usize % 3].to_owned(),
        runs: (number == 0).then(|| "till 漢字 \x1b[31m".to_owned()),
        turns: seconds * 1_000 * (number + 1),
        steals: seconds * 3,
        cpu_seconds: (number < 2).then_some(seconds as f64 / 2.0),
        ..snapshot::Worker::default()
    };
    let runtime = |name: &str, workers: u64| snapshot::Runtime {
        name: name.to_owned(),
        workers: (0..workers).map(worker).collect(),
        queued: 12,
        timers: 3,
        waiting: [vec![0; 10], vec![seconds * 98], vec![0; 9], vec![seconds * 2]].concat(),
        running: vec![],
    };
    let entry = |n: u64| snapshot::Entry {
        kind: ["shard", "process", "task"][n as usize % 3].to_owned(),
        name: match n {
            0 => format!("0x{}", "3a".repeat(20)),
            1 => "name\nwith\x1b[2J漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字".to_owned(),
            n => format!("entry {n}"),
        },
        state: "idle".to_owned(),
        done: seconds * n * 10,
        waiting: n,
        error: (n == 0).then(|| "disk full: écriture impossible".to_owned()),
    };
    let base_chain = BaseChain { number: Some(77), fresh: true, trouble: None };
    State {
        snapshot: Snapshot {
            program: "node".to_owned(),
            version: "0.1.0".to_owned(),
            uptime_seconds: seconds as f64,
            runtimes: vec![runtime("shards", 2), runtime("queries", 3)],
            entries: (0..40).map(entry).collect(),
            entries_total: 10_000,
            done: ["transactions", "blocks"]
                .map(|what| snapshot::Done { what: what.to_owned(), count: seconds * 50 })
                .to_vec(),
            ..Snapshot::default()
        },
        node: Some(Node { shards: 7, base_chain: Some(base_chain), ..Node::default() }),
    }
}

fn model() -> Model {
    let mut model = Model::new("http://127.0.0.1:8545");
    model.seen(state(100));
    model.seen(state(102));
    model
}

/// What a terminal of this size shows.
fn screen(model: &Model, columns: u16, rows: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, model)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| {
        let mut text = String::new();
        let mut x = 0;
        while x < columns {
            let symbol = buffer[(x, y)].symbol();
            text += symbol;
            // The cell behind a wide character belongs to it.
            x += width(symbol).max(1) as u16;
        }
        text
    };
    (0..rows).map(row).collect()
}

#[track_caller]
fn check(screen: &[String], expect: &[&str]) {
    let all = screen.join("\n");
    for text in expect {
        assert!(all.contains(text), "no {text}:\n{all}");
    }
}

/// Some that look different.
fn models() -> Vec<Model> {
    let mut filtering = model();
    for action in [Action::Filter, Action::FilterAdd('漢'), Action::FilterAdd('e')] {
        assert_eq!(filtering.act(action), Next::Draw);
    }
    let mut helping = model();
    assert_eq!(helping.act(Action::Help), Next::Draw);
    let mut lost = model();
    lost.lost("nothing answers");
    let mut choosing = model();
    for action in [Action::Focus, Action::Last] {
        assert_eq!(choosing.act(action), Next::Draw);
    }
    let mut first = Model::new("here");
    first.seen(state(0));
    vec![model(), filtering, helping, lost, choosing, first, Model::new("here")]
}

#[test]
fn no_size_is_too_small_and_no_line_too_long() {
    for model in models() {
        for columns in [0, 1, 2, 9, 20, 40, 64, 66, 78, 130] {
            for rows in [0, 1, 2, 3, 5, 10, 14, 34] {
                let drawn = lines(&model, Size { columns, rows: Some(rows) });
                assert_eq!(drawn.len(), rows);
                screen(&model, columns as u16, rows as u16);
            }
        }
        for columns in [40, 64, 66, 78, 100, 110] {
            for line in text(&model, Size { columns, rows: None }).lines() {
                assert!(width(line) <= columns, "{columns} columns: {line}");
                assert!(!line.contains(char::is_control), "{line:?}");
            }
        }
    }
}

#[test]
fn eighty_columns_have_all_of_it() {
    let shown = screen(&model(), 80, 24);
    check(
        &shown,
        &[
            "node 0.1.0  up 1 min 42 s  http://127.0.0.1:8545",
            "50 transactions/s   50 blocks/s",
            "7 shards   0 pooled   0 failed   0 connections   base chain at 77",
            ">shards 0  running    █████░░░░░ 50 %     1,000       3.0 till 漢字 ␛[31m",
            " queries 2 paused     ?",
            "RUNTIME  QUEUED  TIMERS      P50      P99     1µs       1ms       1s",
            "shards       12       3     1 µs   1.0 ms     █         ▁",
            "KIND    NAME (40 of 10,000)",
            "DONE/S▼  WAITING ERROR",
            "task    entry 38",
        ],
    );
    assert!(shown[23].starts_with("q quit  ? help"), "{}", shown[23]);
}

#[test]
fn a_large_terminal_has_the_waiting_time_drawn_large() {
    let shown = screen(&model(), 120, 40);
    check(
        &shown,
        &[
            "WAITING for shards, in the last 2 s: half under 1 µs, 99 of 100 under 1.0 ms",
            "██████████░░░░░░░░░░ 50 %",
            "DONE/S▼          DONE  WAITING ERROR",
            "base chain at 77",
        ],
    );
    // Three columns each: the one below 2 µs is full, the one below 1 ms nearly empty.
    let full = shown.iter().filter(|line| line.starts_with("          ███ ")).count();
    assert_eq!(full, 5, "{}", shown.join("\n"));
}

#[test]
fn a_tiny_terminal_has_what_matters_most() {
    let shown = screen(&model(), 40, 10);
    check(
        &shown,
        &[
            "node 0.1.0  up 1 min 42 s",
            "50 transactions/s",
            ">shards 0  running     50 %     1,000",
            "NAME (40 of 10,000)    DONE/S▼  WAITING",
            "entry 39                   390       39",
        ],
    );
}

#[test]
fn where_errors_have_no_room_a_mark_says_that_there_is_one() {
    let mut model = model();
    for action in [Action::Sort(Column::Error), Action::Focus] {
        assert_eq!(model.act(action), Next::Draw);
    }
    let shown = screen(&model, 40, 10);
    check(&shown, &[">0x3a3a", "shard 0x3a3a"]);
    assert_eq!(model.act(Action::Move(1)), Next::Draw);
    check(&screen(&model, 40, 10), &["!0x3a3a"]);
    assert_eq!(model.act(Action::Move(-1)), Next::Draw);
    // The chosen one is told in full.
    let full = format!("shard 0x{}: disk full: écrit", "3a".repeat(20));
    check(&screen(&model, 80, 24), &[&full, " disk full: écriture…"]);
    check(&screen(&model, 140, 24), &["disk full: écriture impossible  "]);
}

#[test]
fn the_chosen_row_is_seen_however_many_there_are() {
    let mut model = model();
    for (action, expect) in [(Action::Last, ">queries 2"), (Action::First, ">shards 0")] {
        assert_eq!(model.act(action), Next::Draw);
        check(&screen(&model, 40, 10), &[expect]);
    }
    assert_eq!(model.act(Action::Focus), Next::Draw);
    assert_eq!(model.act(Action::Last), Next::Draw);
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| draw(frame, &model)).unwrap();
    let buffer = terminal.backend().buffer();
    let chosen = (0..24).filter(|y| buffer[(3, *y)].modifier.contains(Modifier::REVERSED));
    let chosen: Vec<u16> = chosen.collect();
    assert_eq!(chosen, [22], "the last row, above the last line");
    assert_eq!(buffer[(0, 22)].symbol(), ">");
}

#[test]
fn what_is_lost_and_what_is_typed_is_told() {
    let mut model = model();
    model.lost("nothing answers at http://here");
    let shown = screen(&model, 80, 24);
    assert!(shown[0].ends_with("lost, trying again"), "{}", shown[0]);
    assert!(shown[23].starts_with("nothing answers"), "{}", shown[23]);
    check(&shown, &[">shards 0"]);
    for action in [Action::Filter, Action::FilterAdd('3'), Action::FilterAdd('9')] {
        assert_eq!(model.act(action), Next::Draw);
    }
    let shown = screen(&model, 80, 24);
    assert!(shown[23].starts_with("/39▏"), "{}", shown[23]);
    check(&shown, &["NAME (1 of 10,000)", "entry 39"]);
    assert!(!shown.join("").contains("entry 38"));
}

#[test]
fn help_has_room_in_eighty_columns_and_tells_every_key() {
    let mut model = model();
    assert_eq!(model.act(Action::Help), Next::Draw);
    for (columns, rows) in [(80, 24), (40, 24), (80, 12)] {
        let shown = screen(&model, columns, rows);
        check(&shown, &["pause the chosen worker", "quit; also Ctrl-C", "sort by error"]);
        check(&shown, &["any key leads back"]);
    }
}

#[test]
fn one_frame_for_scripts_has_every_row() {
    let text = text(&model(), Size { columns: 80, rows: None });
    assert_eq!(text.matches("entry ").count(), 38);
    assert!(!text.contains("q quit") && !text.contains(" \n"), "{text}");
    assert!(text.contains("\n\n WORKER "), "{text}");
}
