//! Does `--seed` give the same interleaving each time?

use crate::{SQUARES, check_ends, check_prints, file, run};

/// Four tasks log a line in each of five rounds, and let others go first in between.
const ROUNDS: &str = r#"(module
    (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
    (import "shiftwork" "yield_now" (func $yield))
    (import "shiftwork" "log" (func $log (param i32 i32 i32)))
    (memory 1)
    (data (i32.const 0) "turn")
    (table (export "table") funcref (elem $rounds))
    (func $rounds (param i64) (local $left i32)
        (local.set $left (i32.const 5))
        (loop
            (call $log (i32.const 2) (i32.const 0) (i32.const 4))
            (call $yield)
            (local.set $left (i32.sub (local.get $left) (i32.const 1)))
            (br_if 0 (local.get $left))))
    (func (export "main") (local $left i32)
        (local.set $left (i32.const 4))
        (loop
            (drop (call $spawn (i32.const 0) (i64.const 0)))
            (local.set $left (i32.sub (local.get $left) (i32.const 1)))
            (br_if 0 (local.get $left)))))"#;

#[test]
fn the_same_seed_gives_the_same_output_and_another_seed_another() {
    let rounds = file("rounds.wat", ROUNDS);
    let with = |seed: &str| run(&[&rounds, "--seed", seed, "--workers", "4", "--json"]);
    let first = with("1");
    assert_eq!(first.code, Some(0), "{first:#?}");
    assert_eq!(first.stderr.lines().count(), 20, "{first:#?}");
    assert_eq!(with("1"), first);
    assert_eq!(with("1"), first);
    let others = (2..12).map(|seed: u32| with(&seed.to_string()).stderr);
    assert!(others.into_iter().any(|stderr| stderr != first.stderr), "{first:#?}");
}

#[test]
fn results_are_those_of_real_workers() {
    check_prints(&[&file("simulated.wat", SQUARES), "--seed", "7"], "14\n");
}

#[test]
fn an_hour_of_sleep_takes_no_time_and_a_timeout_is_virtual_too() {
    let sleeper = r#"(module
        (import "shiftwork" "sleep" (func $sleep (param i64)))
        (import "shiftwork" "now" (func $now (result i64)))
        (func (export "main") (result i64) (local $start i64)
            (local.set $start (call $now))
            (call $sleep (i64.const 3_600_000_000_000))
            (i64.div_u (i64.sub (call $now) (local.get $start)) (i64.const 3_600_000_000_000)))
        (func (export "endless") (loop (br 0))))"#;
    let sleeper = file("virtual.wat", sleeper);
    check_prints(&[&sleeper, "--seed", "1"], "1\n");
    let told = ["the time is over", "it sleeps"];
    check_ends(&[&sleeper, "--seed", "1", "--timeout", "59m"], 4, &told);
    check_ends(
        &[&sleeper, "--seed", "1", "--func", "endless", "--timeout", "1ms"],
        4,
        &["the time is over"],
    );
}
