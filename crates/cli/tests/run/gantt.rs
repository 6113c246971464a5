//! Does `--gantt` draw what ran?

use std::fs;

use roxmltree::Document;

use crate::{SQUARES, check_ends, file, place, run};

/// Everything that is written in a picture, what one reads when pointing at a bar included.
fn words(svg: &str) -> Vec<String> {
    let svg = Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
    svg.descendants().filter_map(|node| Some(node.text()?.to_owned())).collect()
}

/// The picture of a simulated run.
fn picture(name: &str, seed: &str) -> String {
    let (squares, out) = (file(&format!("{name}.wat"), SQUARES), place(&format!("{name}.svg")));
    let ran = run(&[&squares, "--workers", "2", "--seed", seed, "--gantt", &out]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "14\n"), "{ran:#?}");
    fs::read_to_string(out).unwrap()
}

#[test]
fn the_picture_has_a_row_for_each_worker_and_a_bar_for_each_task() {
    let words = words(&picture("gantt", "7"));
    for name in ["gantt.wat with seed 7", "worker 0", "worker 1"] {
        assert!(words.iter().any(|word| word == name), "{name}: {words:?}");
    }
    for task in ["main (task 1)", "(task 2)", "(task 3)", "(task 4)"] {
        assert!(words.iter().any(|word| word.contains(task)), "{task}: {words:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_picture() {
    assert_eq!(picture("gantt_same", "7"), picture("gantt_same", "7"));
}

#[test]
fn a_run_on_real_workers_can_be_drawn_too() {
    let (squares, out) = (file("gantt_real.wat", SQUARES), place("gantt_real.svg"));
    let ran = run(&[&squares, "--gantt", &out]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "14\n"), "{ran:#?}");
    // Which bars are wide enough to be drawn depends on the machine.
    let words = words(&fs::read_to_string(out).unwrap());
    assert!(words.iter().any(|word| word == "gantt_real.wat"), "{words:?}");
    assert!(words.iter().any(|word| word.starts_with("worker ")), "{words:?}");
}

#[test]
fn a_picture_that_is_there_stays_if_nothing_is_run() {
    let (squares, out) = (file("gantt_stays.wat", SQUARES), file("gantt_stays.svg", "old"));
    check_ends(&[&squares, "--func", "nowhere", "--gantt", &out], 2, &["no function `nowhere`"]);
    assert_eq!(fs::read_to_string(out).unwrap(), "old");
}

#[test]
fn a_place_that_can_not_be_written_to_is_told_before_anything_runs() {
    let squares = file("gantt_nowhere.wat", SQUARES);
    let out = place("no_such_directory/who.svg");
    check_ends(&[&squares, "--gantt", &out], 2, &["could not write the picture", &out]);
}
