//! What stays of a memory when its task has ended: some of its pages, and nothing that was in them.

use super::{super::warm, *};
use crate::module::PAGE;

/// What a task finds in its memory, as one number; then it writes to all of it.
const SPOILS: &str = r#"
    (module
        (memory PAGES)
        (data (i32.const 1000) "\05\06")
        (func $bytes (result i32) (i32.mul (memory.size) (i32.const 65536)))
        (func (export "spoil") (result i64) (local $at i32) (local $sum i64)
            (loop $next
                (local.set $sum (i64.add (local.get $sum) (i64.load (local.get $at))))
                (local.set $at (i32.add (local.get $at) (i32.const 8)))
                (br_if $next (i32.lt_u (local.get $at) (call $bytes))))
            (memory.fill (i32.const 0) (i32.const 255) (call $bytes))
            (local.get $sum)))
"#;

/// The data, and zeroes.
const AS_NEW: Value = Value::I64(0x0605);

#[test]
fn every_task_finds_its_memory_as_new() {
    for pages in ["1", "16", "17", "40"] {
        let program = Program::new(&SPOILS.replace("PAGES", pages));
        for round in 0..4 {
            let found = program.run("spoil", &[]).expect("it returns");
            assert_eq!(found, [AS_NEW], "{pages} pages, round {round}");
        }
    }
}

/// What a task finds in its instance, as one number; then it spoils what it can change, and goes on for
/// as many rounds as it was told.
const LONG: &str = r#"
    (module
        (memory PAGES)
        (table 3 funcref)
        (data (i32.const 1000) "\05\06")
        (global $fixed i64 (i64.const 7))
        (global $a (mut i64) (i64.const 40))
        (global $b (mut f64) (f64.const 2))
        (func $bytes (result i32) (i32.mul (memory.size) (i32.const 65536)))
        (func $look (result i64) (local $at i32) (local $sum i64)
            (local.set $sum (i64.add (global.get $a) (i64.trunc_f64_s (global.get $b))))
            (loop $next
                (local.set $sum (i64.add (local.get $sum) (i64.load (local.get $at))))
                (local.set $at (i32.add (local.get $at) (i32.const 8)))
                (br_if $next (i32.lt_u (local.get $at) (call $bytes))))
            (local.get $sum))
        (func $spoil
            (global.set $a (i64.const 1))
            (global.set $b (f64.const 1e9))
            (memory.fill (i32.const 0) (i32.const 255) (call $bytes)))
        (func $runs (param $rounds i64) (result i64) (local $found i64)
            (local.set $found (call $look))
            (call $spoil)
            (loop $more
                (local.set $rounds (i64.sub (local.get $rounds) (i64.const 1)))
                (br_if $more (i64.gt_s (local.get $rounds) (i64.const 0))))
            (local.get $found))
        (func (export "runs") (param i64) (result i64) (call $runs (local.get 0)))
        (func (export "traps") (param i64) (result i64)
            (drop (call $runs (local.get 0)))
            (unreachable))
        (func (export "grows") (param i64) (result i64)
            (drop (memory.grow (i32.const 1)))
            (call $runs (local.get 0))))
"#;

/// 40 and 2 in the globals, and the data.
const ALL_AS_NEW: Value = Value::I64(42 + 0x0605);

/// For a memory of one page: more operations than keep it, and fewer.
const ENOUGH: Value = Value::I64((warm::OPERATIONS_PER_BYTE as usize * PAGE) as i64);
const FEW: Value = Value::I64(1);

fn kept(program: &Program) -> usize {
    program.0.common.warm.count()
}

#[test]
fn after_a_task_that_ran_long_the_next_one_finds_its_instance_as_new() {
    let program = Program::new(&LONG.replace("PAGES", "1"));
    for round in 0..3 {
        let found = program.run("runs", &[ENOUGH]).expect("it returns");
        assert_eq!((found, kept(&program)), (vec![ALL_AS_NEW], 1), "round {round}");
    }
    assert_eq!(program.run("runs", &[FEW]).expect("it returns"), [ALL_AS_NEW]);
    assert_eq!(kept(&program), 0, "it did not run long");
}

/// It counts itself in the memory and in a global.
#[test]
fn the_start_function_runs_once_for_each_task_on_what_was_kept() {
    let start = "(func $begins
            (global.set $a (i64.add (global.get $a) (i64.const 100)))
            (i64.store (i32.const 2000) (i64.add (i64.load (i32.const 2000)) (i64.const 1000))))
        (start $begins))";
    let text = LONG.replace("PAGES", "1");
    let open = text.trim_end().strip_suffix(')').expect("the module ends there");
    let program = Program::new(&format!("{open}{start}"));
    for round in 0..3 {
        let found = program.run("runs", &[ENOUGH]).expect("it returns");
        let begun_once = Value::I64(42 + 0x0605 + 1_100);
        assert_eq!((found, kept(&program)), (vec![begun_once], 1), "round {round}");
    }
}

#[test]
fn a_task_that_trapped_or_grew_leaves_no_instance_behind() {
    let program = Program::new(&LONG.replace("PAGES", "1"));
    for _ in 0..2 {
        program.run("runs", &[ENOUGH]).expect("it returns");
        program.run("traps", &[ENOUGH]).expect_err("it traps");
        assert_eq!(kept(&program), 0, "it trapped");
        assert_eq!(program.run("runs", &[ENOUGH]).expect("it returns"), [ALL_AS_NEW]);
        program.run("grows", &[ENOUGH]).expect("it returns");
        assert_eq!(kept(&program), 0, "it grew");
    }
}

#[test]
fn an_instance_that_was_kept_asks_for_as_much_as_a_new_one() {
    let program = Program::new(&LONG.replace("PAGES", "1"));
    let mut asked = Vec::new();
    for _ in 0..2 {
        let host = Script::new();
        asked.push(host.asked());
        end(program.spawn("runs", &[ENOUGH], host)).expect("it returns");
    }
    assert_eq!(kept(&program), 1);
    assert_eq!(asked[0].all(), [Ask::Memory(0, PAGE), Ask::Table(0, 3)]);
    assert_eq!(asked[0].all(), asked[1].all());

    let refuses = Script::new().on_growth(|_, _| false);
    let trap = program.try_spawn("runs", &[FEW], refuses).err().expect("there is no memory");
    assert_eq!((trap.kind, kept(&program)), (TrapKind::Limit, 1));
    assert_eq!(program.run("runs", &[FEW]).expect("it returns"), [ALL_AS_NEW]);
}

/// All places may be taken by tasks, whatever is kept.
#[test]
fn an_instance_that_is_kept_takes_no_place_away() {
    let program =
        Program::with(&LONG.replace("PAGES", "1"), |options| options.limits.jit_tasks = 2);
    let mut tasks: Vec<Task> =
        (0..2).map(|_| program.spawn("runs", &[ENOUGH], Script::new())).collect();
    tasks.drain(..).for_each(|task| drop(end(task)));
    assert_eq!(kept(&program), 2);
    let _tasks: Vec<Task> = (0..2).map(|_| program.spawn("runs", &[FEW], Script::new())).collect();
    assert!(program.try_spawn("runs", &[FEW], Script::new()).is_err());
}

/// Stacks count too: they stay with their instances.
#[test]
fn what_is_kept_has_a_bound() {
    let stack = Program::new(&LONG.replace("PAGES", "1")).0.sizes.stack_at_most();
    let pages = (warm::WARM_BYTES / 2 - stack) / PAGE;
    let program = Program::new(&LONG.replace("PAGES", &pages.to_string()));
    let rounds = Value::I64((warm::OPERATIONS_PER_BYTE as usize * pages * PAGE) as i64);
    let tasks: Vec<Task> =
        (0..3).map(|_| program.spawn("runs", &[rounds], Script::new())).collect();
    tasks.into_iter().for_each(|task| drop(end(task)));
    assert_eq!(kept(&program), 2);
}

/// A table that was written to does not become as new by hand.
#[test]
fn a_guest_that_changes_its_table_leaves_no_instance_behind() {
    let changes = "(func (export \"changes\") (table.set (i32.const 0) (ref.null func))))";
    let text = LONG.replace("PAGES", "1");
    let open = text.trim_end().strip_suffix(')').expect("the module ends there");
    let program = Program::new(&format!("{open}{changes}"));
    program.run("runs", &[ENOUGH]).expect("it returns");
    assert_eq!(kept(&program), 0);
}
