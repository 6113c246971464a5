//! Each way to fail has its name, and says where.

use super::*;

/// One function for each kind, called through another.
const TRAPS: &str = r#"
    (module
        (memory 1)
        (table (export "table") 3 funcref)
        (elem (i32.const 0) func $nullary)
        (type $unary (func (param i32)))
        (func $nullary)
        (func $unreachable unreachable)
        (func $load (drop (i32.load (i32.const 65533))))
        (func $fill (memory.fill (i32.const 65530) (i32.const 1) (i32.const 7)))
        (func $no_entry (call_indirect (type $unary) (i32.const 0) (i32.const 3)))
        (func $null (call_indirect (type $unary) (i32.const 0) (i32.const 1)))
        (func $mismatch (call_indirect (type $unary) (i32.const 0) (i32.const 0)))
        (func $zero (drop (i32.div_u (i32.const 1) (i32.const 0))))
        (func $zero64 (drop (i64.rem_s (i64.const 1) (i64.const 0))))
        (func $overflow (drop (i32.div_s (i32.const 0x80000000) (i32.const -1))))
        (func $large (drop (i32.trunc_f64_s (f64.const 1e30))))
        (func $nan (drop (i32.trunc_f32_u (f32.const nan))))
        (func $deep (call $deep))
        (func (export "unreachable") call $unreachable)
        (func (export "load") call $load)
        (func (export "fill") call $fill)
        (func (export "no_entry") call $no_entry)
        (func (export "null") call $null)
        (func (export "mismatch") call $mismatch)
        (func (export "zero") call $zero)
        (func (export "zero64") call $zero64)
        (func (export "overflow") call $overflow)
        (func (export "large") call $large)
        (func (export "nan") call $nan)
        (func (export "deep") call $deep))
"#;

#[test]
fn every_trap_has_its_kind_and_its_function() {
    let program = Program::new(TRAPS);
    for (function, kind) in [
        ("unreachable", TrapKind::Unreachable),
        ("load", TrapKind::MemoryOutOfBounds),
        ("fill", TrapKind::MemoryOutOfBounds),
        ("no_entry", TrapKind::TableOutOfBounds),
        ("null", TrapKind::NullFunction),
        ("mismatch", TrapKind::SignatureMismatch),
        ("zero", TrapKind::DivisionByZero),
        ("zero64", TrapKind::DivisionByZero),
        ("overflow", TrapKind::IntegerOverflow),
        ("large", TrapKind::IntegerOverflow),
        ("nan", TrapKind::BadConversion),
        ("deep", TrapKind::StackOverflow),
    ] {
        let trap = program.run(function, &[]).expect_err(function);
        assert_eq!(trap.kind, kind, "{function}");
        assert_eq!(trap.function.as_deref(), Some(function), "{function}");
        assert_eq!(trap.message, None, "{function}");
    }
}

#[test]
fn the_backtrace_names_functions_from_the_innermost_outwards() {
    let program = Program::new(
        r#"(module
            (func $_ZN5guest5inner17h0123456789abcdefE unreachable)
            (func (call $_ZN5guest5inner17h0123456789abcdefE))
            (func $middle (call 1))
            (func (export "main") (call $middle)))"#,
    );
    let trap = program.run("main", &[]).unwrap_err();
    assert_eq!(trap.backtrace, ["guest::inner", "func[1]", "middle", "main"]);
    assert_eq!(trap.to_string(), "unreachable executed (in guest::inner)");
}

#[test]
fn a_backtrace_of_deep_recursion_is_short() {
    let trap = Program::new(TRAPS).run("deep", &[]).unwrap_err();
    assert_eq!(trap.backtrace, vec!["deep"; 32]);
}

#[test]
fn the_stack_is_as_large_as_the_limit_says() {
    let recursion = r#"(module
        (func $down (param i64) (result i64)
            (if (result i64) (i64.eqz (local.get 0))
                (then (i64.const 7))
                (else (call $down (i64.sub (local.get 0) (i64.const 1))))))
        (func (export "down") (param i64) (result i64) (call $down (local.get 0))))"#;
    let small = Program::with(recursion, |options| options.limits.stack = 128 << 10);
    let large = Program::with(recursion, |options| options.limits.stack = 4 << 20);
    let depth = [Value::I64(20_000)];
    assert_eq!(small.run("down", &depth).unwrap_err().kind, TrapKind::StackOverflow);
    assert_eq!(large.run("down", &depth), Ok(vec![Value::I64(7)]));
}

/// Host code runs on the guest's stack, and has room there however deep the guest is.
#[test]
fn a_call_at_the_bottom_of_the_stack_has_room() {
    let program = Program::new(
        r#"(module
            (import "shiftwork" "yield_now" (func $yield_now))
            (func $down (call $yield_now) (call $down))
            (func (export "main") (call $down)))"#,
    );
    let host = Script::new().on_call(|_, _, _| {
        let room = std::hint::black_box([1u8; 64 << 10]);
        Answer::Return(u64::from(room[room.len() / 2]))
    });
    let trap = end(program.spawn("main", &[], host)).unwrap_err();
    assert_eq!(trap.kind, TrapKind::StackOverflow);
}

#[test]
fn a_segment_that_does_not_fit_traps_before_the_first_step() {
    let memory = Program::new(
        r#"(module (memory 1) (data (i32.const 65535) "too long") (func (export "main")))"#,
    );
    let trap = memory.run("main", &[]).unwrap_err();
    assert_eq!(trap.kind, TrapKind::MemoryOutOfBounds);
    let table = Program::new(
        r#"(module (table 1 funcref) (func $f (export "main")) (elem (i32.const 1) func $f))"#,
    );
    let trap = table.run("main", &[]).unwrap_err();
    assert_eq!(trap.kind, TrapKind::TableOutOfBounds);
}
