//! Calls that wait, and what the guest sees when it goes on.

use super::{program, task};
use crate::{
    abi::{Call, IMPORTS, MAX_PARAMETERS, Type},
    engine::{
        Answer, Stepped,
        script::{self, Ask, Script, begin},
    },
    module::Entry,
    trap::TrapKind,
    value::Value,
};

/// A guest that calls one import with the arguments 11, 12, … and returns its result as an i64.
fn caller(call: Call) -> String {
    let import = call.import();
    let shown = |types: &[Type]| types.iter().map(Type::to_string).collect::<Vec<_>>().join(" ");
    let arguments: String =
        (11..).zip(import.parameters).map(|(value, ty)| format!("({ty}.const {value})")).collect();
    let (result, body) = match import.result {
        None => (String::new(), format!("(call $it {arguments}) (i64.const -1)")),
        Some(Type::I32) => {
            ("(result i32)".to_owned(), format!("(i64.extend_i32_s (call $it {arguments}))"))
        }
        Some(Type::I64) => ("(result i64)".to_owned(), format!("(call $it {arguments})")),
    };
    format!(
        r#"(module
            (import "shiftwork" "{}" (func $it (param {}) {result}))
            (memory 1)
            (func (export "main") (result i64) {body}))"#,
        import.name,
        shown(import.parameters)
    )
}

fn arguments(call: Call) -> [u64; MAX_PARAMETERS] {
    let mut arguments = [0; MAX_PARAMETERS];
    for (place, argument) in arguments[..call.import().parameters.len()].iter_mut().enumerate() {
        *argument = 11 + place as u64;
    }
    arguments
}

fn expected(call: Call, answer: i64) -> Value {
    match call.import().result {
        None => Value::I64(-1),
        Some(Type::I32) => Value::I64(i64::from(answer as i32)),
        Some(Type::I64) => Value::I64(answer),
    }
}

#[test]
fn every_import_is_called_with_its_arguments_and_returns_at_once() {
    for call in IMPORTS.iter().map(|import| import.call) {
        let script = Script::new().on_call(|_, _, _| Answer::Return(-5i64 as u64));
        let asked = script.asked();
        let program = program(&caller(call));
        let mut task = script::task(&*program, "main", &[], script).expect("it is made");
        assert_eq!(task.returned(), [expected(call, -5)], "{call:?}");
        assert_eq!(asked.all()[1..], [Ask::Call(call, arguments(call))]);
    }
}

#[test]
fn every_import_can_wait_and_be_answered_later() {
    for call in IMPORTS.iter().map(|import| import.call) {
        let mut asks = 0;
        let script = Script::new().waiting(move |_| {
            asks += 1;
            if asks < 3 { Answer::Wait } else { Answer::Return(-6i64 as u64) }
        });
        let asked = script.asked();
        let program = program(&caller(call));
        let mut task = script::task(&*program, "main", &[], script).expect("it is made");
        for step in 1..=3 {
            let step_end = task.step(10_000);
            assert!(matches!(step_end.end, Stepped::Waits), "{call:?}, step {step}: {step_end:?}");
            assert_eq!(step_end.used == 0, step > 1, "only the first step runs the guest");
        }
        assert_eq!(task.returned(), [expected(call, -6)], "{call:?}");
        assert_eq!(
            asked.all()[1..],
            [Ask::Call(call, arguments(call)), Ask::Resume, Ask::Resume, Ask::Resume]
        );
    }
}

#[test]
fn memory_can_be_read_by_the_call_and_written_by_its_answer() {
    let program = program(
        r#"(module
            (import "shiftwork" "now" (func $now (result i64)))
            (memory 1)
            (func (export "main") (result i64)
                (i64.store (i32.const 8) (i64.const 41))
                (i64.add (call $now) (i64.load (i32.const 16)))))"#,
    );
    let script = Script::new().waiting(|memory| {
        assert_eq!(memory.len(), 1 << 16);
        memory[16] = memory[8] + 1;
        Answer::Return(100)
    });
    let mut task = script::task(&*program, "main", &[], script).expect("it is made");
    assert!(matches!(task.run(10_000), Stepped::Waits));
    assert_eq!(task.returned(), [Value::I64(142)]);
}

#[test]
fn guest_without_a_memory_has_an_empty_one() {
    let program = program(
        r#"(module
            (import "shiftwork" "now" (func $now (result i64)))
            (func (export "main") (result i64) (call $now)))"#,
    );
    let script = Script::new().waiting(|memory| Answer::Return(memory.len() as u64));
    let mut task = script::task(&*program, "main", &[], script).expect("it is made");
    assert!(matches!(task.run(10_000), Stepped::Waits));
    assert_eq!(task.returned(), [Value::I64(0)]);
}

#[test]
fn waits_deep_in_calls_and_in_loops_keep_the_guests_stack() {
    // sum(n) = n + sum(n - 1), with a wait at every level on the way down and on the way up.
    let program = program(
        r#"(module
            (import "shiftwork" "yield_now" (func $yield))
            (import "shiftwork" "now" (func $now (result i64)))
            (func $sum (export "main") (param i64) (result i64)
                (if (i64.eqz (local.get 0)) (then (return (i64.const 0))))
                (call $yield)
                (i64.add
                    (i64.add (local.get 0) (call $sum (i64.sub (local.get 0) (i64.const 1))))
                    (call $now))))"#,
    );
    for fuel in [1, 5, 10_000] {
        let script = Script::new().waiting(|_| Answer::Return(1));
        let mut task =
            script::task(&*program, "main", &[Value::I64(100)], script).expect("it is made");
        let mut waits = 0;
        let values = loop {
            match task.run(fuel) {
                Stepped::Waits => waits += 1,
                Stepped::Returned(values) => break values,
                end => panic!("{end:?}"),
            }
        };
        assert_eq!((waits, values), (200, vec![Value::I64(5_050 + 100)]), "slices of {fuel}");
    }
}

#[test]
fn task_that_begins_with_an_import_waits_and_returns_its_answer() {
    let program = program(
        r#"(module
            (import "shiftwork" "now" (func $now (result i64)))
            (import "shiftwork" "sleep" (func $sleep (param i64)))
            (table (export "table") 1 funcref)
            (elem (i32.const 0) $sleep)
            (export "main" (func $now)))"#,
    );
    let script = Script::new().waiting(|_| Answer::Return(9));
    let mut task = script::task(&*program, "main", &[], script).expect("it is made");
    assert!(matches!(task.run(10_000), Stepped::Waits));
    assert_eq!(task.returned(), [Value::I64(9)]);

    let script = Script::new().waiting(|_| Answer::Return(0));
    let asked = script.asked();
    let mut task =
        begin(&*program, &Entry::Table(0), &[Value::I64(77)], script).expect("it is made");
    assert!(matches!(task.run(10_000), Stepped::Waits));
    assert_eq!(task.returned(), []);
    assert!(asked.all().contains(&Ask::Call(Call::Sleep, [77, 0, 0, 0])));

    let mut at_once = super::task(&*program, "main", &[]);
    assert_eq!(at_once.returned(), [Value::I64(0)]);
}

#[test]
fn guest_traps_after_its_call_was_answered() {
    let program = program(
        r#"(module
            (import "shiftwork" "now" (func $now (result i64)))
            (func (export "main") (drop (i64.div_u (i64.const 1) (call $now)))))"#,
    );
    let script = Script::new().waiting(|_| Answer::Return(0));
    let mut task = script::task(&*program, "main", &[], script).expect("it is made");
    assert!(matches!(task.run(10_000), Stepped::Waits));
    assert_eq!(task.trapped().kind, TrapKind::DivisionByZero);
}

#[test]
fn values_of_every_type_go_in_and_come_out() {
    let program = program(
        r#"(module
            (func (export "main") (param i32 i64 f32 f64) (result f64 f32 i64 i32)
                (local.get 3) (local.get 2) (local.get 1) (local.get 0)))"#,
    );
    let arguments = [Value::I32(-1), Value::I64(i64::MIN), Value::F32(0.5), Value::F64(-2.25)];
    let mut task = task(&*program, "main", &arguments);
    let mut back = arguments;
    back.reverse();
    assert_eq!(task.returned(), back);
}

#[test]
fn suspended_task_can_be_dropped_at_any_time() {
    let text = caller(Call::Await);
    let program = program(&text);
    for fuel in [1, 10_000] {
        let script = Script::new().waiting(|_| Answer::Wait);
        let mut task = script::task(&*program, "main", &[], script).expect("it is made");
        drop(task.step(fuel));
        drop(task);
    }
    drop(script::task(&*program, "main", &[], Script::new()).expect("it is made"));
    let mut task = task(&*program, "main", &[]);
    drop(program);
    assert_eq!(task.returned(), [Value::I64(0)], "a task keeps its program alive");
}
