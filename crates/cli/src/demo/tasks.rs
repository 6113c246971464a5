//! The tasks' part of the demo: a guest's tasks that meet over a channel, and one with a long loop that
//! is preempted.

use std::time::Duration;

use anyhow::{Context, Result};
use shiftwork::task::{NO_ARGUMENTS, Options, Program, Stats};

use super::part::{Part, Stage};

/// `main` spawns 8 tasks, each of which sends its number over a channel, and adds up what it receives.
/// `spin` counts to a million and rests, for ever.
const GUEST: &str = r#"(module
    (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
    (import "shiftwork" "chan_open" (func $open (param i32) (result i64)))
    (import "shiftwork" "chan_send" (func $send (param i64 i32 i32) (result i32)))
    (import "shiftwork" "chan_recv" (func $recv (param i64 i32 i32 i32) (result i32)))
    (import "shiftwork" "chan_close" (func $close (param i64) (result i32)))
    (import "shiftwork" "self" (func $self (result i64)))
    (import "shiftwork" "sleep" (func $sleep (param i64)))
    (memory 1)
    (table (export "table") funcref (elem $member))

    (func $member (param $channel i64)
        (i64.store (i32.const 0) (call $self))
        (drop (call $send (local.get $channel) (i32.const 0) (i32.const 8))))

    (func (export "main") (result i64) (local $channel i64) (local $left i32) (local $sum i64)
        (local.set $channel (call $open (i32.const 2)))
        (local.set $left (i32.const 8))
        (loop $spawning
            (if (i64.lt_s (call $spawn (i32.const 0) (local.get $channel)) (i64.const 0))
                (then unreachable))
            (local.set $left (i32.sub (local.get $left) (i32.const 1)))
            (br_if $spawning (local.get $left)))
        (local.set $left (i32.const 8))
        (loop $receiving
            (if (call $recv (local.get $channel) (i32.const 0) (i32.const 8) (i32.const 8))
                (then unreachable))
            (local.set $sum (i64.add (local.get $sum) (i64.load (i32.const 0))))
            (local.set $left (i32.sub (local.get $left) (i32.const 1)))
            (br_if $receiving (local.get $left)))
        (drop (call $close (local.get $channel)))
        (local.get $sum))

    (func (export "spin") (local $left i32)
        (loop $for_ever
            (local.set $left (i32.const 1_000_000))
            (loop $counting
                (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                (br_if $counting (local.get $left)))
            (call $sleep (i64.const 50_000_000))
            (br $for_ever))))"#;

/// One task for main, and those that it spawns.
const FAMILY: u64 = 9;
/// Nobody reads the results of all those tasks.
const RESULTS_KEPT: usize = 1_000;

pub(crate) fn start(stage: &Stage) -> Result<Vec<Part>> {
    let (families, told) = Part::new("tasks of a guest, in nines", "tasks");
    let (slices, counted) = Part::new("a guest's long loop", "preemptions");
    let program = load(stage)?;
    program.spawn("spin", NO_ARGUMENTS)?;
    let stage = stage.clone();
    stage.handle.clone().spawn(async move {
        let mut clock = stage.handle.interval(Duration::from_millis(2));
        let mut before = Stats::default();
        while !stage.is_closed() {
            clock.tick().await;
            let Ok(main) = program.spawn("main", NO_ARGUMENTS) else { break };
            match program.task(main).await {
                Ok(result) if result.outcome.is_ok() => told.add(FAMILY),
                _ => break,
            }
            let now = program.stats();
            counted.add(now.preemptions - before.preemptions);
            before = now;
        }
        // The program goes, and with it the one that counts for ever.
    })?;
    Ok(vec![families, slices])
}

fn load(stage: &Stage) -> Result<Program> {
    let mut options = Options::default();
    options.limits.results = RESULTS_KEPT;
    let guest = wat::parse_str(GUEST).context("the guest of the demo")?;
    Ok(Program::load(&stage.handle, guest, options)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shiftwork::{Runtime, task::Value};

    #[test]
    fn the_guest_adds_up_the_numbers_of_its_tasks_beside_one_that_counts() {
        let mut simulation = Runtime::builder().workers(2).simulate(1).unwrap();
        let program = load(&Stage::new(simulation.handle())).unwrap();
        program.spawn("spin", NO_ARGUMENTS).unwrap();
        let main = program.spawn("main", NO_ARGUMENTS).unwrap();
        let result = simulation.block_on(program.task(main)).unwrap().unwrap();
        // The one that counts is task 1, main is task 2.
        assert_eq!(result.outcome, Ok(vec![Value::I64((3..=10).sum())]));
        assert!(program.stats().preemptions > 0);
    }
}
