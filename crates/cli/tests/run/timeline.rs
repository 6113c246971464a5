//! Does `--timeline` leave a trace of what ran?

use std::fs;

use serde_json::Value;

use crate::{SQUARES, check_ends, file, place, run};

/// The names of turns in a trace.
fn turns(path: &str) -> Vec<String> {
    let trace: Value = serde_json::from_slice(&fs::read(path).unwrap()).expect("it is JSON");
    let events = trace["traceEvents"].as_array().unwrap();
    let turns = events.iter().filter(|event| event["cat"] == "turn");
    turns.map(|event| event["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_file_has_the_turns_of_all_tasks() {
    let (squares, out) = (file("timeline.wat", SQUARES), place("timeline.json"));
    let ran = run(&[&squares, "--workers", "2", "--timeline", &out]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "14\n"), "{ran:#?}");
    assert!(ran.stderr.contains("ui.perfetto.dev"), "{ran:#?}");
    let turns = turns(&out);
    let main = turns.iter().filter(|name| name.starts_with("main (task ")).count();
    assert!(main >= 2, "main waited, so it had two turns at least: {turns:?}");
    let tasks: std::collections::BTreeSet<&String> = turns.iter().collect();
    assert!(tasks.len() >= 4, "each task has its own name: {tasks:?}");
}

#[test]
fn the_same_seed_gives_the_same_file() {
    let squares = file("timeline_seed.wat", SQUARES);
    let bytes = |seed: &str, name: &str| {
        let out = place(name);
        let ran = run(&[&squares, "--workers", "2", "--seed", seed, "--timeline", &out]);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        assert!(!turns(&out).is_empty());
        fs::read(out).unwrap()
    };
    assert_eq!(bytes("7", "timeline_seed_1.json"), bytes("7", "timeline_seed_2.json"));
}

#[test]
fn the_file_of_an_earlier_run_stays_if_nothing_is_run() {
    let out = file("timeline_earlier.json", "of an earlier run");
    let squares = file("timeline_earlier.wat", SQUARES);
    let broken = file("timeline_broken.wasm", b"\0asm, and then nonsense");
    for arguments in [&[broken.as_str()][..], &[&squares, "--func", "nobody"], &[&squares, "1"]] {
        check_ends(&[arguments, &["--timeline", &out]].concat(), 2, &[]);
        assert_eq!(fs::read_to_string(&out).unwrap(), "of an earlier run", "{arguments:?}");
    }
}

#[test]
fn a_place_that_can_not_be_written_to_is_told_before_anything_runs() {
    let squares = file("timeline_nowhere.wat", SQUARES);
    let out = place("no_such_directory/timeline.json");
    check_ends(&[&squares, "--timeline", &out], 2, &["could not write the timeline", &out]);
}
