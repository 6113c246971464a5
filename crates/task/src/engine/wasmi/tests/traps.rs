//! Every kind of trap, by its name, with the function that the task began with.

use super::{program, task};
use crate::{
    engine::{
        Stepped,
        script::{self, Script, begin},
    },
    module::Entry,
    options::Options,
    trap::{Trap, TrapKind},
    value::Value,
};

#[test]
fn every_kind_of_trap_has_its_name() {
    let program = program(
        r#"(module
            (type $none (func))
            (table 4 4 funcref)
            (elem (i32.const 1) $takes_one)
            (memory 1)
            (data $passive "abc")
            (func $takes_one (param i32))
            (func (export "unreachable") unreachable)
            (func (export "load") (drop (i32.load (i32.const 65536))))
            (func (export "store") (i32.store (i32.const -1) (i32.const 0)))
            (func (export "fill") (memory.fill (i32.const 65535) (i32.const 0) (i32.const 2)))
            (func (export "init") (memory.init $passive (i32.const 0) (i32.const 2) (i32.const 2)))
            (func (export "table") (drop (table.get (i32.const 4))))
            (func (export "call_outside") (call_indirect (type $none) (i32.const 9)))
            (func (export "call_null") (call_indirect (type $none) (i32.const 0)))
            (func (export "call_other") (call_indirect (type $none) (i32.const 1)))
            (func (export "divide") (drop (i32.div_s (i32.const 1) (i32.const 0))))
            (func (export "remainder") (drop (i64.rem_u (i64.const 1) (i64.const 0))))
            (func (export "overflow")
                (drop (i32.div_s (i32.const 0x80000000) (i32.const -1))))
            (func (export "too_large") (drop (i32.trunc_f64_s (f64.const 1e10))))
            (func (export "no_number") (drop (i32.trunc_f32_s (f32.const nan))))
            (func $deeper (export "recursion") (call $deeper)))"#,
    );
    for (function, kind) in [
        ("unreachable", TrapKind::Unreachable),
        ("load", TrapKind::MemoryOutOfBounds),
        ("store", TrapKind::MemoryOutOfBounds),
        ("fill", TrapKind::MemoryOutOfBounds),
        ("init", TrapKind::MemoryOutOfBounds),
        ("table", TrapKind::TableOutOfBounds),
        ("call_outside", TrapKind::TableOutOfBounds),
        ("call_null", TrapKind::NullFunction),
        ("call_other", TrapKind::SignatureMismatch),
        ("divide", TrapKind::DivisionByZero),
        ("remainder", TrapKind::DivisionByZero),
        ("overflow", TrapKind::IntegerOverflow),
        ("too_large", TrapKind::IntegerOverflow),
        ("no_number", TrapKind::BadConversion),
        ("recursion", TrapKind::StackOverflow),
    ] {
        let trap = task(&*program, function, &[]).trapped();
        assert_eq!(trap.kind, kind, "{function}");
        assert_eq!(trap.function.as_deref(), Some(function));
    }
}

#[test]
fn segments_that_do_not_fit_trap_when_the_instance_is_made() {
    for (text, kind) in [
        (
            r#"(module (memory 1) (data (i32.const 65534) "abc") (func (export "main")))"#,
            TrapKind::MemoryOutOfBounds,
        ),
        (
            r#"(module (memory 1) (data (i32.const 65534) "abc")
                (func (export "main") (data.drop 0)))"#,
            TrapKind::MemoryOutOfBounds,
        ),
        (
            r#"(module (table 1 funcref) (elem (i32.const 1) $main)
                (func $main (export "main")))"#,
            TrapKind::TableOutOfBounds,
        ),
    ] {
        assert_eq!(failed(text).kind, kind, "{text}");
    }
}

fn failed(text: &str) -> Trap {
    let program = program(text);
    match begin(&*program, &Entry::Export("main".to_owned()), &[], Script::new()) {
        Ok(_) => panic!("an instance was made of {text}"),
        Err(trap) => trap,
    }
}

#[test]
fn recursion_is_bounded_by_bytes_and_by_depth() {
    // Twenty locals for each call, so that bytes can run out before calls do.
    let text = r#"(module
        (func $deeper (export "main") (param i64) (result i64)
            (local i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64)
            (if (i64.eqz (local.get 0)) (then (return (i64.const 7))))
            (call $deeper (i64.sub (local.get 0) (i64.const 1)))))"#;
    let deep = |options: &Options, calls: i64| -> Result<Vec<Value>, TrapKind> {
        let program = script::program(text, options);
        match task(&*program, "main", &[Value::I64(calls)]).run(10_000) {
            Stepped::Returned(values) => Ok(values),
            Stepped::Trapped(trap) => Err(trap.kind),
            end => panic!("{end:?}"),
        }
    };
    let mut options = Options::default();
    assert_eq!(deep(&options, 1_000), Ok(vec![Value::I64(7)]));
    assert_eq!(deep(&options, 100_000), Err(TrapKind::StackOverflow));
    options.limits.stack = 1 << 14;
    assert_eq!(deep(&options, 1_000), Err(TrapKind::StackOverflow), "too many bytes");
    options.limits.stack = 64 << 20;
    options.limits.call_depth = 500;
    assert_eq!(deep(&options, 1_000), Err(TrapKind::StackOverflow), "too many calls");
    assert_eq!(deep(&options, 400), Ok(vec![Value::I64(7)]));
    // Less than wasmi's own smallest stack is taken at its word, too.
    options.limits.stack = 100;
    assert_eq!(deep(&options, 1), Err(TrapKind::StackOverflow));
}

#[test]
fn function_that_is_not_there_is_said() {
    let program = program(r#"(module (table (export "table") 2 funcref) (func (export "f")))"#);
    for (entry, words) in [
        (Entry::Export("main".to_owned()), "no function is exported as \"main\""),
        (Entry::Table(1), "the table has no function at 1"),
        (Entry::Table(u32::MAX), "the table has no function at 4294967295"),
    ] {
        let Err(trap) = begin(&*program, &entry, &[], Script::new()) else {
            panic!("an instance was made for {entry:?}")
        };
        assert_eq!((trap.kind, trap.message.as_deref()), (TrapKind::Other, Some(words)));
    }
}

#[test]
fn arguments_of_another_type_trap() {
    let program = program(r#"(module (func (export "main") (param i64)))"#);
    for arguments in [&[][..], &[Value::I32(1)], &[Value::I64(1), Value::I64(2)]] {
        let trap = task(&*program, "main", arguments).trapped();
        assert_eq!(trap.kind, TrapKind::Other, "{arguments:?}");
    }
}
