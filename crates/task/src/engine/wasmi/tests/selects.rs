//! A `select` looks at its own condition, however that was computed.

use super::{program, task};
use crate::value::Value;

/// A condition on parameter 0, and whether it holds for a number.
type Condition = (&'static str, fn(i32) -> bool);

/// Each is computed after something that leaves another value in wasmi's register.
const CONDITIONS: &[Condition] = &[
    ("(i32.eqz (local.get 0))", |x| x == 0),
    ("(i32.eq (local.get 0) (i32.const 0))", |x| x == 0),
    ("(i32.eq (i32.const 0) (local.get 0))", |x| x == 0),
    ("(i32.ne (local.get 0) (i32.const 0))", |x| x != 0),
    ("(i32.eqz (i32.eqz (local.get 0)))", |x| x != 0),
    ("(i32.eqz (i32.ne (local.get 0) (i32.const 0)))", |x| x == 0),
    ("(i32.eqz (i32.xor (local.get 0) (i32.const 0)))", |x| x == 0),
    ("(i32.eqz (i32.xor (local.get 0) (i32.const 7)))", |x| x == 7),
    ("(block (result i32) (i32.eqz (local.get 0)))", |x| x == 0),
    ("(i32.or (i32.eqz (local.get 0)) (i32.const 0))", |x| x == 0),
    ("(i32.wrap_i64 (i64.extend_i32_u (i32.eqz (local.get 0))))", |x| x == 0),
    ("(local.tee 2 (i32.eqz (local.get 0)))", |x| x == 0),
    ("(i32.eqz (i32.clz (local.get 0)))", |x| x < 0),
    ("(i32.lt_s (local.get 0) (i32.const 0))", |x| x < 0),
    ("(local.get 0)", |x| x != 0),
];

#[test]
fn every_condition_chooses_what_it_should() {
    for (condition, is_true) in CONDITIONS {
        for select in ["select", "select (result i32)"] {
            let program = program(&format!(
                r#"(module (func (export "main") (param i32 i32) (result i32) (local i32)
                    (i32.add (i32.clz (local.get 1))
                        ({select} (i32.const 900) (i32.const 500) {condition}))))"#
            ));
            for x in [0, 1, 7, -1] {
                for y in [0i32, 1, -1] {
                    let chosen = if is_true(x) { 900 } else { 500 };
                    let expected = Value::I32(y.leading_zeros() as i32 + chosen);
                    let arguments = [Value::I32(x), Value::I32(y)];
                    assert_eq!(
                        task(&*program, "main", &arguments).returned(),
                        [expected],
                        "{select} by {condition} with {x} and {y}"
                    );
                }
            }
        }
    }
}

/// What it chooses between may itself be a choice, in a function among others.
#[test]
fn selects_within_selects_choose_what_they_should() {
    let program = program(
        r#"(module
            (func $first (param i32) (result i32) (i32.popcnt (local.get 0)))
            (func (export "main") (param i32 i32) (result i64)
                (i64.add (i64.extend_i32_s (call $first (local.get 1)))
                    (select
                        (select (i64.const 1000) (i64.const 2000) (i32.eqz (local.get 1)))
                        (i64.const 3000)
                        (i32.eqz (local.get 0)))))
            (func (export "last") (param f64 i32) (result f64)
                (f64.add (f64.neg (local.get 0))
                    (select (f64.const 10) (f64.const 20) (i32.eqz (local.get 1))))))"#,
    );
    let main = |x, y| task(&*program, "main", &[Value::I32(x), Value::I32(y)]).returned();
    assert_eq!(main(0, 0), [Value::I64(1000)]);
    assert_eq!(main(0, 1), [Value::I64(2001)]);
    assert_eq!(main(1, 0), [Value::I64(3000)]);
    assert_eq!(main(1, 3), [Value::I64(3002)]);
    let last = |y| task(&*program, "last", &[Value::F64(1.0), Value::I32(y)]).returned();
    assert_eq!(last(0), [Value::F64(9.0)]);
    assert_eq!(last(5), [Value::F64(19.0)]);
}
