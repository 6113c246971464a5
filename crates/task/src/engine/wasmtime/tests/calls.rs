//! Calls of the host: what they get, what they give, and where they wait.

use super::*;
use crate::abi::{IMPORTS, Type};

/// A guest that imports everything there is, with the types that the table of imports has.
#[test]
fn every_import_can_be_linked_and_called() {
    let type_name = |ty: &Type| ty.to_string();
    let mut guest = String::from("(module\n");
    for (index, import) in IMPORTS.iter().enumerate() {
        let parameters = import.parameters.iter().map(type_name).collect::<Vec<_>>().join(" ");
        let result = import.result.iter().map(type_name).collect::<Vec<_>>().join(" ");
        guest.push_str(&format!(
            "(import \"shiftwork\" \"{}\" (func $f{index} (param {parameters}) (result {result})))\n",
            import.name
        ));
    }
    guest.push_str("(memory 1) (func (export \"main\")\n");
    for (index, import) in IMPORTS.iter().enumerate() {
        let constants: String = (1..)
            .zip(import.parameters)
            .map(|(value, ty)| format!("({ty}.const -{value})"))
            .collect();
        let call = format!("(call $f{index} {constants})");
        guest.push_str(&if import.result.is_some() { format!("(drop {call})") } else { call });
    }
    guest.push_str("))");

    let host = Script::new();
    let said = host.asked();
    assert_eq!(end(Program::new(&guest).spawn("main", &[], host)), Ok(vec![]));
    let said = calls(&said);
    assert_eq!(said.len(), IMPORTS.len());
    for ((call, arguments), import) in said.iter().zip(IMPORTS) {
        assert_eq!(*call, import.call);
        let expected = |(value, ty): (i64, &Type)| match ty {
            Type::I32 => u64::from(-value as u32),
            Type::I64 => -value as u64,
        };
        let mut expected: Vec<u64> = (1..).zip(import.parameters).map(expected).collect();
        expected.resize(MAX_PARAMETERS, 0);
        assert_eq!(arguments[..], expected[..], "{}", import.name);
    }
}

const ANSWERS: &str = r#"
    (module
        (import "shiftwork" "self" (func $self (result i64)))
        (import "shiftwork" "chan_close" (func $close (param i64) (result i32)))
        (import "shiftwork" "yield_now" (func $yield_now))
        (func (export "i64") (result i64) (call $self))
        (func (export "i32") (result i32) (call $close (i64.const 1)))
        (func (export "none") (call $yield_now)))
"#;

#[test]
fn answers_at_once_have_the_type_of_the_call() {
    let program = Program::new(ANSWERS);
    let run = |function| {
        let host = Script::new().on_call(|_, _, _| Answer::Return(u64::MAX - 1));
        end(program.spawn(function, &[], host))
    };
    assert_eq!(run("i64"), Ok(vec![Value::I64(-2)]));
    assert_eq!(run("i32"), Ok(vec![Value::I32(-2)]));
    assert_eq!(run("none"), Ok(vec![]));
}

#[test]
fn a_call_that_waits_is_resumed_with_its_answer() {
    let program = Program::new(ANSWERS);
    for (function, expected) in
        [("i64", vec![Value::I64(1 << 40 | 5)]), ("i32", vec![Value::I32(5)]), ("none", vec![])]
    {
        let host = waiting([Answer::Return(1 << 40 | 5)]);
        let mut task = program.spawn(function, &[], host);
        assert_waits(&task.step(FUEL));
        assert_eq!(returned(task.step(FUEL)), expected, "{function}");
    }
}

#[test]
fn resumed_in_vain_the_guest_does_not_run() {
    let program = Program::new(ANSWERS);
    let host = waiting([Answer::Wait, Answer::Wait, Answer::Return(3)]);
    let said = host.asked();
    let mut task = program.spawn("i64", &[], host);
    for _ in 0..3 {
        assert_waits(&task.step(FUEL));
    }
    assert_eq!(returned(task.step(FUEL)), [Value::I64(3)]);
    assert_eq!(calls(&said).len(), 1);
}

#[test]
fn a_call_and_its_resumption_see_the_guests_memory() {
    let program = Program::new(
        r#"(module
            (import "shiftwork" "chan_recv"
                (func $recv (param i64 i32 i32 i32) (result i32)))
            (memory 1)
            (data (i32.const 8) "question")
            (func (export "main") (result i64)
                (drop (memory.grow (i32.const 1)))
                (drop (call $recv (i64.const 1) (i32.const 16) (i32.const 8) (i32.const 0)))
                (i64.load (i32.const 16))))"#,
    );
    let host = Script::new()
        .waiting(|memory| {
            memory[16..24].copy_from_slice(&42i64.to_le_bytes());
            Answer::Return(0)
        })
        .on_call(|_, _, memory| {
            assert_eq!(memory.len(), 2 << 16);
            assert_eq!(&memory[8..16], b"question");
            Answer::Wait
        });
    assert_eq!(end(program.spawn("main", &[], host)), Ok(vec![Value::I64(42)]));
}

#[test]
fn a_guest_without_memory_has_an_empty_one() {
    let program = Program::new(ANSWERS);
    let host = Script::new().on_call(|_, _, memory| Answer::Return(memory.len() as u64));
    assert_eq!(end(program.spawn("i64", &[], host)), Ok(vec![Value::I64(0)]));
}

#[test]
fn values_of_all_types_go_in_and_come_out() {
    let program = Program::new(
        r#"(module
            (func (export "swap") (param i32 i64 f32 f64) (result f64 f32 i64 i32)
                (local.get 3) (local.get 2) (local.get 1) (local.get 0)))"#,
    );
    let arguments =
        [Value::I32(-1), Value::I64(i64::MIN), Value::F32(0.5), Value::F64(f64::INFINITY)];
    let mut expected = arguments.to_vec();
    expected.reverse();
    assert_eq!(program.run("swap", &arguments), Ok(expected));
}

#[test]
fn a_task_can_begin_with_an_entry_of_the_table() {
    let program = Program::new(
        r#"(module
            (table (export "table") 3 funcref)
            (elem (i32.const 1) func $double)
            (func $double (param i64) (result i64) (i64.add (local.get 0) (local.get 0))))"#,
    );
    let spawn =
        |index| script::begin(&program.0, &Entry::Table(index), &[Value::I64(21)], Script::new());
    assert_eq!(end(spawn(1).unwrap()), Ok(vec![Value::I64(42)]));
    assert_eq!(spawn(0).err().unwrap().kind, TrapKind::NullFunction);
    assert_eq!(spawn(3).err().unwrap().kind, TrapKind::TableOutOfBounds);
}

/// Then no guest is suspended: the call is all there is.
#[test]
fn a_task_can_begin_with_an_import_that_is_exported() {
    let program = Program::new(
        r#"(module
            (import "shiftwork" "chan_close" (func $close (param i64) (result i32)))
            (export "close" (func $close)))"#,
    );
    let host = waiting([Answer::Wait, Answer::Return(7)]);
    let asked = host.asked();
    let mut task = program.spawn("close", &[Value::I64(-3)], host);
    assert_waits(&task.step(FUEL));
    assert_waits(&task.step(FUEL));
    assert_eq!(returned(task.step(FUEL)), [Value::I32(7)]);
    assert_eq!(calls(&asked), [(Call::ChanClose, [-3i64 as u64, 0, 0, 0])]);
}

#[test]
fn the_start_function_runs_first_and_may_wait() {
    let program = Program::new(
        r#"(module
            (import "shiftwork" "self" (func $self (result i64)))
            (global $first (mut i64) (i64.const 0))
            (func $start (global.set $first (call $self)))
            (start $start)
            (func (export "main") (result i64) (global.get $first)))"#,
    );
    let mut task = program.spawn("main", &[], waiting([Answer::Return(9)]));
    assert_waits(&task.step(FUEL));
    assert_eq!(returned(task.step(FUEL)), [Value::I64(9)]);
}

#[test]
fn a_start_function_that_traps_is_the_tasks_trap() {
    let program =
        Program::new(r#"(module (func $start unreachable) (start $start) (func (export "main")))"#);
    let trap = program.run("main", &[]).unwrap_err();
    assert_eq!((trap.kind, trap.function.as_deref()), (TrapKind::Unreachable, Some("start")));
}
