//! Does everyone get a turn, and what becomes of who fails?

use std::cell::RefCell;

use anyhow::anyhow;

use super::*;
use crate::bench::{
    budget::Budget,
    plan::{Allocator, Speed, clock},
};

/// Lets them take turns for three rounds; the n-th run of each gives or fails as it is told. Who
/// was run, in order, and the row.
fn turns(
    names: &[&str],
    share: Share,
    run: impl Fn(&str, usize) -> Result<f64>,
) -> (Vec<String>, Result<Row>) {
    let plan = clock("spawn", &["spawn"], 1);
    let contestants: Vec<Contestant> = names.iter().map(|name| Contestant::named(name)).collect();
    let order = RefCell::new(Vec::new());
    let mut watch = Watch::new(1, share);
    let results = take_turns(&plan, 3, &contestants, &mut watch, |contestant| {
        let name = contestant.name().to_owned();
        let before = order.borrow().iter().filter(|other| **other == name).count();
        order.borrow_mut().push(name);
        let value = run(contestant.name(), before)?;
        let line = serde_json::json!({ "workload": "spawn", "unit": "ns", "value": value });
        Ok(vec![line])
    });
    watch.finish();
    let setting = Setting::Apart(Allocator::System);
    let row = results.map(|results| results.into_rows(&plan, setting).swap_remove(0));
    (order.into_inner(), row)
}

fn unhurried() -> Share {
    Budget::new(Speed::Full).share(1)
}

#[test]
fn in_each_round_another_one_begins() {
    let (order, row) = turns(&["ours", "a", "b"], unhurried(), |_, at| Ok(1.0 + at as f64));
    assert_eq!(order, ["ours", "a", "b", "a", "b", "ours", "b", "ours", "a"]);
    let row = row.unwrap();
    assert_eq!((row.ours.value(), row.ours.rounds()), (Some(2.0), 3));
}

#[test]
fn a_peer_that_fails_loses_its_round_and_is_not_asked_a_third_time() {
    let run = |name: &str, at: usize| match (name, at) {
        ("dead", _) | ("once", 0) => Err(anyhow!("it crashed")),
        _ => Ok(1.0 + at as f64),
    };
    let (order, row) = turns(&["ours", "dead", "once"], unhurried(), run);
    assert_eq!(order.iter().filter(|name| *name == "dead").count(), 2, "{order:?}");
    let row = row.unwrap();
    assert_eq!((row.peers["dead"].value(), row.peers["once"].value()), (None, Some(2.5)));
    assert_eq!(row.peers["dead"].failure(), Some("it crashed"));
    assert_eq!(row.ours.rounds(), 3);
}

#[test]
fn ours_may_not_fail() {
    let (order, row) = turns(&["ours", "a"], unhurried(), |_, _| Err(anyhow!("it crashed")));
    assert_eq!((order.len(), row.is_err()), (1, true));
}

#[test]
fn who_had_no_turn_before_the_time_was_over_says_so() {
    let (order, row) = turns(&["ours", "a"], Share::over(), |_, _| Ok(1.0));
    assert_eq!(order, ["ours"]);
    assert_eq!(row.unwrap().peers["a"].failure(), Some(NO_TIME));
}

#[test]
fn what_was_measured_stays_when_the_time_ends_in_the_middle_of_a_run() {
    let cut = |when: usize| {
        move |name: &str, at: usize| match (name, at) {
            ("a", 0) => Err(Deadline.into()),
            ("ours", at) if at >= when => Err(Deadline.into()),
            _ => Ok(1.0),
        }
    };
    let (_, row) = turns(&["ours", "a"], unhurried(), cut(1));
    assert_eq!(row.unwrap().ours.rounds(), 1);
    // Only peers: nothing to compare with.
    let plan = clock("spawn", &["spawn"], 1);
    let contestants = ["ours", "a"].map(Contestant::named);
    let mut watch = Watch::new(1, unhurried());
    let cut = |_: &Contestant| Err(Deadline.into());
    let results = take_turns(&plan, 3, &contestants, &mut watch, cut).unwrap();
    assert!(results.rows.is_empty());
}

#[test]
fn a_peer_whose_run_the_end_has_cut_says_so() {
    let run = |name: &str, _| if name == "a" { Err(Deadline.into()) } else { Ok(1.0) };
    let (_, row) = turns(&["ours", "a"], unhurried(), run);
    assert_eq!(row.unwrap().peers["a"].failure(), Some(NO_TIME));
}
