//! Start functions: they run before the entry, in the same steps, and may do all that it may.

use super::{program, task};
use crate::{
    abi::Call,
    engine::{
        Answer, Stepped,
        script::{self, Ask, Script},
    },
    trap::TrapKind,
    value::Value,
};

#[test]
fn start_function_runs_before_the_entry_in_each_task() {
    let program = program(
        r#"(module
            (global $count (mut i64) (i64.const 1))
            (func $start (global.set $count (i64.add (global.get $count) (i64.const 10))))
            (start $start)
            (func (export "main") (result i64) (global.get $count)))"#,
    );
    for _ in 0..3 {
        assert_eq!(task(&*program, "main", &[]).returned(), [Value::I64(11)]);
    }
}

#[test]
fn start_function_that_waits_keeps_the_entry_waiting() {
    let program = program(
        r#"(module
            (import "shiftwork" "now" (func $now (result i64)))
            (global $began (mut i64) (i64.const 0))
            (func $start (global.set $began (call $now)))
            (start $start)
            (func (export "main") (param i64) (result i64)
                (i64.add (global.get $began) (local.get 0))))"#,
    );
    let mut asks = 0;
    let script = Script::new().waiting(move |_| {
        asks += 1;
        if asks == 1 { Answer::Wait } else { Answer::Return(100) }
    });
    let mut task = script::task(&*program, "main", &[Value::I64(5)], script).expect("it is made");
    assert!(matches!(task.run(10_000), Stepped::Waits));
    assert!(matches!(task.run(10_000), Stepped::Waits));
    assert_eq!(task.returned(), [Value::I64(105)]);
}

#[test]
fn start_function_that_loops_for_ever_is_preempted() {
    let program = program(
        r#"(module
            (func $start (loop (br 0)))
            (start $start)
            (func (export "main")))"#,
    );
    let mut task = task(&*program, "main", &[]);
    for _ in 0..100 {
        assert!(matches!(task.step(1_000).end, Stepped::Preempted));
    }
}

#[test]
fn start_function_that_traps_fails_the_task_and_is_named() {
    let program =
        program(r#"(module (func $start unreachable) (start $start) (func (export "main")))"#);
    let trap = task(&*program, "main", &[]).trapped();
    assert_eq!(trap.kind, TrapKind::Unreachable);
    assert_eq!(trap.function.as_deref(), Some("the start function"));
}

#[test]
fn import_can_be_the_start_function() {
    let program = program(
        r#"(module
            (import "shiftwork" "yield_now" (func $yield))
            (start $yield)
            (func (export "main") (result i64) (i64.const 8)))"#,
    );
    let script = Script::new().waiting(|_| Answer::Return(0));
    let asked = script.asked();
    let mut task = script::task(&*program, "main", &[], script).expect("it is made");
    assert!(matches!(task.run(10_000), Stepped::Waits));
    assert_eq!(task.returned(), [Value::I64(8)]);
    assert_eq!(asked.all(), [Ask::Call(Call::YieldNow, [0; 4]), Ask::Resume]);
}

#[test]
fn task_begins_with_the_function_that_the_table_had_before_the_start_function() {
    let program = program(
        r#"(module
            (table (export "table") 1 funcref)
            (elem (i32.const 0) $first)
            (elem declare func $second)
            (func $first (param i64) (result i64) (i64.const 1))
            (func $second (param i64) (result i64) (i64.const 2))
            (func $start (table.set (i32.const 0) (ref.func $second)))
            (start $start))"#,
    );
    let entry = crate::module::Entry::Table(0);
    let mut task =
        script::begin(&*program, &entry, &[Value::I64(0)], Script::new()).expect("it is made");
    assert_eq!(task.returned(), [Value::I64(1)]);
}
