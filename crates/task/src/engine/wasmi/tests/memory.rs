//! Memories and tables: how they begin, grow, and are asked for.

use super::{program, task};
use crate::{
    engine::{
        Stepped,
        script::{self, Ask, Script},
    },
    options::Options,
    trap::TrapKind,
    value::Value,
};

const GROW: &str = r#"(module
    (memory 1 5)
    (func (export "grow") (param i64) (result i64)
        (i64.extend_i32_s (memory.grow (i32.wrap_i64 (local.get 0)))))
    (func (export "twice") (param i64) (result i64)
        (drop (memory.grow (i32.wrap_i64 (local.get 0))))
        (i64.extend_i32_s (memory.grow (i32.wrap_i64 (local.get 0)))))
    (func (export "size") (result i64) (i64.extend_i32_s (memory.size))))"#;

const PAGE: usize = 1 << 16;

#[test]
fn memory_grows_to_its_maximum_and_no_further() {
    let program = program(GROW);
    for (function, pages, result) in
        [("grow", 4, 1), ("grow", 5, -1), ("grow", 0, 1), ("grow", -1, -1), ("twice", 2, 3)]
    {
        let mut task = task(&*program, function, &[Value::I64(pages)]);
        assert_eq!(task.returned(), [Value::I64(result)], "{function}({pages})");
    }
}

#[test]
fn memory_without_a_maximum_grows_to_what_a_task_may_have() {
    let text = GROW.replace("(memory 1 5)", "(memory 1)");
    let mut options = Options::default();
    options.limits.task_memory = 10 * PAGE + 5;
    let program = script::program(&text, &options);
    for (pages, result) in [(9, 1), (10, -1), (65_535, -1)] {
        let mut task = task(&*program, "grow", &[Value::I64(pages)]);
        assert_eq!(task.returned(), [Value::I64(result)], "{pages} more");
    }
}

#[test]
fn host_is_asked_for_each_growth_once_and_may_refuse() {
    let program = program(GROW);
    let script = Script::new().on_growth(|_, to| to <= 3 * PAGE);
    let asked = script.asked();
    let mut task = script::task(&*program, "twice", &[Value::I64(2)], script)
        .expect("the first page is there");
    // Slices so small that the growth is cut short for lack of fuel, and tried again.
    assert!(matches!(task.run(1), Stepped::Returned(values) if values == [Value::I64(-1)]));
    assert_eq!(
        asked.all(),
        [
            Ask::Memory(0, PAGE),
            Ask::Memory(PAGE, 3 * PAGE),
            // Refused.
            Ask::Memory(3 * PAGE, 5 * PAGE),
        ]
    );
}

/// What is allowed is counted, and a growth that can not be is none.
#[test]
fn host_is_not_asked_for_more_than_the_maximum() {
    let program = program(GROW);
    let script = Script::new();
    let asked = script.asked();
    let mut task =
        script::task(&*program, "grow", &[Value::I64(5)], script).expect("the first page is there");
    assert_eq!(task.returned(), [Value::I64(-1)]);
    assert_eq!(asked.all(), [Ask::Memory(0, PAGE)]);
}

#[test]
fn task_whose_first_memory_is_refused_is_not_made() {
    let program = program(GROW);
    let script = Script::new().on_growth(|_, to| to < PAGE);
    let Err(trap) = script::task(&*program, "size", &[], script) else {
        panic!("an instance was made without memory")
    };
    assert_eq!(trap.kind, TrapKind::Limit);
}

#[test]
fn tables_are_asked_for_and_do_not_grow() {
    let program = program(
        r#"(module
            (table $a 3 funcref)
            (table $b 7 100 funcref)
            (func (export "grow") (result i64)
                (i64.extend_i32_s (table.grow $b (ref.null func) (i32.const 1))))
            (func (export "grow_by_nothing") (result i64)
                (i64.extend_i32_s (table.grow $b (ref.null func) (i32.const 0)))))"#,
    );
    let script = Script::new();
    let asked = script.asked();
    let mut grow = script::task(&*program, "grow", &[], script).expect("it is made");
    assert_eq!(asked.all(), [Ask::Table(0, 3), Ask::Table(0, 7)]);
    assert_eq!(grow.returned(), [Value::I64(-1)]);
    assert_eq!(task(&*program, "grow_by_nothing", &[]).returned(), [Value::I64(7)]);
}

#[test]
fn memory_of_no_pages_is_a_memory() {
    let text = GROW.replace("(memory 1 5)", "(memory 0 0)");
    let program = program(&text);
    assert_eq!(task(&*program, "size", &[]).returned(), [Value::I64(0)]);
    assert_eq!(task(&*program, "grow", &[Value::I64(1)]).returned(), [Value::I64(-1)]);
    assert_eq!(task(&*program, "grow", &[Value::I64(0)]).returned(), [Value::I64(0)]);
}

#[test]
fn grown_memory_can_be_used_to_its_last_byte() {
    let program = program(
        r#"(module
            (memory 1 9)
            (func (export "main") (result i64)
                (drop (memory.grow (i32.const 8)))
                (i64.store (i32.const 589816) (i64.const 5))
                (i64.load (i32.const 589816))))"#,
    );
    assert_eq!(task(&*program, "main", &[]).returned(), [Value::I64(5)]);
}
