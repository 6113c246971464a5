//! Which exit code does each end have, and what is said of it?

use crate::{ENDLESS_CHILD, LONELY, SQUARES, check_ends, check_prints, file, run};

/// A task divides by zero. `main` does not care; `careful` awaits it, and returns what that gives;
/// `strict` awaits it, and fails.
const FAILING: &str = r#"(module
    (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
    (import "shiftwork" "await" (func $await (param i64 i32) (result i32)))
    (memory 1)
    (table (export "table") funcref (elem $divide))
    (func $divide (param i64) (result i64) (i64.div_s (i64.const 1) (local.get 0)))
    (func (export "main") (result i32)
        (drop (call $spawn (i32.const 0) (i64.const 0)))
        (i32.const 7))
    (func $careful (export "careful") (result i32)
        (call $await (call $spawn (i32.const 0) (i64.const 0)) (i32.const 0)))
    (func (export "strict") (if (call $careful) (then unreachable))))"#;

/// `main` and another task lock two mutexes, each in the other order. They meet over a channel in
/// between, so that each has its first.
const EMBRACE: &str = r#"(module
    (import "shiftwork" "spawn_with" (func $spawn (param i32 i32 i32) (result i64)))
    (import "shiftwork" "input" (func $input (param i32 i32) (result i32)))
    (import "shiftwork" "mutex_open" (func $mutex (param i32 i32) (result i64)))
    (import "shiftwork" "lock" (func $lock (param i64 i32 i32 i32) (result i32)))
    (import "shiftwork" "chan_open" (func $open (param i32) (result i64)))
    (import "shiftwork" "chan_send" (func $send (param i64 i32 i32) (result i32)))
    (import "shiftwork" "chan_recv" (func $recv (param i64 i32 i32 i32) (result i32)))
    (memory 1)
    (table (export "table") funcref (elem $other))
    (func $take (param i64)
        (if (call $lock (local.get 0) (i32.const 64) (i32.const 8) (i32.const 72))
            (then unreachable)))
    (func $other (param i64)
        (drop (call $input (i32.const 0) (i32.const 24)))
        (call $take (i64.load (i32.const 8)))
        (drop (call $send (i64.load (i32.const 16)) (i32.const 0) (i32.const 0)))
        (call $take (i64.load (i32.const 0))))
    (func (export "main")
        (i64.store (i32.const 0) (call $mutex (i32.const 0) (i32.const 0)))
        (i64.store (i32.const 8) (call $mutex (i32.const 0) (i32.const 0)))
        (i64.store (i32.const 16) (call $open (i32.const 0)))
        (call $take (i64.load (i32.const 0)))
        (drop (call $spawn (i32.const 0) (i32.const 0) (i32.const 24)))
        (drop (call $recv (i64.load (i32.const 16)) (i32.const 64) (i32.const 8) (i32.const 72)))
        (call $take (i64.load (i32.const 8)))))"#;

const GREEDY: &str = r#"(module
    (memory 1)
    (func $grow (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
    (func (export "insist") (param i32)
        (if (i32.lt_s (call $grow (local.get 0)) (i32.const 0)) (then (unreachable))))
    (func $deep (export "deep") (param i32) (result i32)
        (i32.add (i32.const 1) (call $deep (i32.add (local.get 0) (i32.const 1)))))
    (func (export "main") (loop (br 0))))"#;

#[test]
fn success_is_0() {
    let squares = file("success.wat", SQUARES);
    check_prints(&[&squares], "14\n");
    for workers in ["1", "2", "4"] {
        check_prints(&[&squares, "--workers", workers, "--threshold", "1"], "14\n");
    }
}

#[test]
fn a_failure_of_main_is_1() {
    let trap = file("trap.wat", r#"(module (func (export "main") unreachable))"#);
    check_ends(&[&trap], 1, &["error: main failed: "]);
}

#[test]
fn a_failure_that_nobody_awaited_is_1_and_main_has_its_result() {
    let failing = file("unawaited.wat", FAILING);
    let ran = run(&[&failing]);
    assert_eq!((ran.code, &*ran.stdout), (Some(1), "7\n"), "{ran:#?}");
    assert!(ran.stderr.contains("task 2 (divide) failed: division by zero"), "{ran:#?}");
    assert!(ran.stderr.contains("nobody awaited it"), "{ran:#?}");
}

#[test]
fn a_failure_that_was_awaited_is_told_and_is_the_guests_own_matter() {
    let failing = file("awaited.wat", FAILING);
    let ran = run(&[&failing, "--func", "careful"]);
    // Code 3: the task has failed.
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "3\n"), "{ran:#?}");
    assert!(ran.stderr.starts_with("note: task 2 (divide) failed: division by zero"), "{ran:#?}");
    assert!(!ran.stderr.contains("nobody awaited it"), "{ran:#?}");
    // If main gives up over it, one sees both.
    let both = ["error: strict failed: ", "task 2 (divide) failed: division by zero"];
    check_ends(&[&failing, "--func", "strict"], 1, &both);
}

#[test]
fn a_deadlock_is_3_and_explained() {
    let lonely = file("lonely.wat", LONELY);
    let explained = ["task 1 (main) waits for a message from channel 1"];
    check_ends(&[&lonely], 3, &explained);
    check_ends(&[&lonely, "--exit-with-main"], 3, &explained);
    check_ends(&[&lonely, "--seed", "1"], 3, &explained);

    let circle = [
        "task 1 (main) waits for mutex 2, which task 2 holds",
        "task 2 (other) waits for mutex 1, which task 1 holds",
        "in a circle: task 1 -> task 2 -> task 1",
    ];
    let said = check_ends(&[&file("embrace.wat", EMBRACE)], 3, &circle);
    assert_eq!(said.matches("waits for mutex 1").count(), 1, "told once: {said}");
}

#[test]
fn a_deadlock_of_others_is_3_though_main_has_returned() {
    let left_behind = r#"(module
        (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
        (import "shiftwork" "chan_open" (func $open (param i32) (result i64)))
        (import "shiftwork" "chan_recv" (func $recv (param i64 i32 i32 i32) (result i32)))
        (memory 1)
        (table (export "table") funcref (elem $wait))
        (func $wait (param i64)
            (drop (call $recv (local.get 0) (i32.const 0) (i32.const 8) (i32.const 8))))
        (func (export "main") (result i32)
            (drop (call $spawn (i32.const 0) (call $open (i32.const 0))))
            (i32.const 7)))"#;
    let ran = run(&[&file("left_behind.wat", left_behind)]);
    assert_eq!((ran.code, &*ran.stdout), (Some(3), "7\n"), "{ran:#?}");
    assert!(ran.stderr.contains("task 2 (wait) waits for a message"), "{ran:#?}");
}

#[test]
fn a_timeout_is_4_and_tells_who_had_not_ended() {
    let greedy = file("timeout.wat", GREEDY);
    let told = ["the time is over (50.0 ms)", "task 1 (main): it had not ended"];
    check_ends(&[&greedy, "--timeout", "50ms"], 4, &told);
    let sleeper = r#"(module
        (import "shiftwork" "sleep" (func $sleep (param i64)))
        (func (export "main") (call $sleep (i64.const 3_600_000_000_000))))"#;
    let sleeper = file("sleeper.wat", sleeper);
    check_ends(
        &[&sleeper, "--timeout", "20ms"],
        4,
        &["task 1 (main): it had not ended: it sleeps"],
    );
}

#[test]
fn who_ends_in_time_is_not_timed_out() {
    check_prints(&[&file("in_time.wat", SQUARES), "--timeout", "1h"], "14\n");
}

#[test]
fn a_limit_is_5() {
    let greedy = file("greedy.wat", GREEDY);
    check_ends(&[&greedy, "--fuel", "100000"], 5, &["main failed: out of fuel"]);
    check_ends(&[&greedy, "--func", "deep", "0"], 5, &["deep failed: stack overflow"]);
    // A module that begins with more than it may have.
    let large = r#"(module (memory 100) (func (export "main")))"#;
    check_ends(&[&file("large.wat", large), "--memory", "1M"], 5, &["over a limit", "--memory"]);
    // Who asks for more while it runs is told no.
    check_prints(&[&greedy, "--func", "grow", "31", "--memory", "2M"], "1\n");
    check_prints(&[&greedy, "--func", "grow", "32", "--memory", "2M"], "-1\n");
    let insists = [&*greedy, "--func", "insist", "32", "--memory", "2M"];
    check_ends(&insists, 1, &["insist failed: unreachable executed"]);
}

/// Main spawns as many tasks as it is told, each with a page, which wait until it lets them go. If one
/// is refused it lets them go, tries once more, and gives up.
const MANY: &str = r#"(module
    (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
    (import "shiftwork" "chan_open" (func $open (param i32) (result i64)))
    (import "shiftwork" "chan_recv" (func $recv (param i64 i32 i32 i32) (result i32)))
    (import "shiftwork" "chan_close" (func $close (param i64) (result i32)))
    (import "shiftwork" "log" (func $log (param i32 i32 i32)))
    (import "shiftwork" "yield_now" (func $yield_now))
    (memory 1)
    (data (i32.const 0) "no more tasks")
    (table (export "table") funcref (elem $wait))
    (func $wait (param i64)
        (drop (call $recv (local.get 0) (i32.const 0) (i32.const 8) (i32.const 8))))
    (func (export "main") (param $tasks i32) (local $gate i64)
        (local.set $gate (call $open (i32.const 0)))
        (loop $more
            (if (i64.lt_s (call $spawn (i32.const 0) (local.get $gate)) (i64.const 0))
                (then
                    (drop (call $close (local.get $gate)))
                    (drop (call $spawn (i32.const 0) (local.get $gate)))
                    (call $log (i32.const 0) (i32.const 0) (i32.const 13))
                    (unreachable)))
            (call $yield_now)
            (local.set $tasks (i32.sub (local.get $tasks) (i32.const 1)))
            (br_if $more (local.get $tasks)))
        (drop (call $close (local.get $gate)))))"#;

#[test]
fn too_many_tasks_are_5_whether_their_number_or_their_memory_is_too_much() {
    let many = file("many_tasks.wat", MANY);
    check_ends(&[&many, "20", "--seed", "1"], 0, &[]);
    check_ends(&[&many, "20", "--seed", "1", "--tasks", "21"], 0, &[]);
    let given_up = ["main failed: unreachable executed after `spawn` was refused", "see --tasks"];
    check_ends(&[&many, "20", "--seed", "1", "--tasks", "20"], 5, &given_up);
    let no_room = ["failed: limit reached: the program has no memory left", "see --program-memory"];
    check_ends(&[&many, "20", "--seed", "1", "--program-memory", "1M"], 5, &no_room);
}

#[test]
fn the_others_are_awaited_unless_main_is_the_end() {
    let endless = file("endless_child.wat", ENDLESS_CHILD);
    // In virtual time, so that main gets its turn in time.
    let ran = run(&[&endless, "--timeout", "1ms", "--seed", "1"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(4), "7\n"), "{ran:#?}");
    check_prints(&[&endless, "--exit-with-main"], "7\n");
    check_prints(&[&endless, "--exit-with-main", "--workers", "1"], "7\n");
}

#[test]
fn with_exit_with_main_only_main_counts() {
    let failing = file("only_main.wat", FAILING);
    let ran = run(&[&failing, "--exit-with-main"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "7\n"), "{ran:#?}");
    check_ends(&[&failing, "--exit-with-main", "--func", "strict"], 1, &["strict failed"]);
}
