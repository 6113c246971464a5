//! How are functions chosen, and how do values get in and out?

use crate::{check_ends, check_prints, file};

const MANY: &str = r#"(module
    (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1)))
    (func (export "negate") (param i64) (result i64) (i64.sub (i64.const 0) (local.get 0)))
    (func (export "half") (param f64) (result f64) (f64.div (local.get 0) (f64.const 2)))
    (func (export "single") (param f32) (result f32) (local.get 0))
    (func (export "pair") (param i32 f64) (result f64 i32) (local.get 1) (local.get 0))
    (func (export "nothing")))"#;

#[test]
fn values_are_read_by_the_types_of_the_function() {
    let many = file("many.wat", MANY);
    check_prints(&[&many, "--func", "add", "40", "2"], "42\n");
    check_prints(&[&many, "--func", "half", "5"], "2.5\n");
    check_prints(&[&many, "--func", "single", "0.1"], "0.1\n");
    check_prints(&[&many, "--func", "pair", "7", "1e3"], "1000 7\n");
    check_prints(&[&many, "--func", "nothing"], "");
}

#[test]
fn the_guest_in_the_readme_runs() {
    let readme = include_str!("../../../../README.md");
    let (_, guest) = readme.split_once("```wat\n").unwrap();
    let (guest, _) = guest.split_once("```").unwrap();
    check_prints(&[&file("readme.wat", guest)], "385\n");
}

#[test]
fn negative_numbers_are_numbers_and_not_options() {
    let many = file("negative.wat", MANY);
    check_prints(&[&many, "--func", "add", "-40", "-2"], "-42\n");
    check_prints(&[&many, "--func", "half", "-5"], "-2.5\n");
    check_prints(&[&many, "-1", "--func", "negate"], "1\n");
    check_prints(&[&many, "--func", "negate", "-9223372036854775807"], "9223372036854775807\n");
    check_prints(&[&many, "--func", "half", "--", "-inf"], "-inf\n");
}

#[test]
fn options_may_stand_behind_the_arguments() {
    let many = file("behind.wat", MANY);
    check_prints(&[&many, "1", "2", "--func", "add", "--workers", "1"], "3\n");
}

#[test]
fn main_is_called_or_else_start() {
    let both = r#"(module
        (func (export "_start") (result i32) (i32.const 1))
        (func (export "main") (result i32) (i32.const 2)))"#;
    check_prints(&[&file("both.wat", both)], "2\n");
    let start = r#"(module (func (export "_start") (result i32) (i32.const 1)))"#;
    check_prints(&[&file("start.wat", start)], "1\n");
}

#[test]
fn a_binary_is_run_whatever_its_name() {
    let module = wat::parse_str(MANY).unwrap();
    check_prints(&[&file("binary.wasm", &module), "--func", "add", "1", "2"], "3\n");
    check_prints(&[&file("binary", &module), "--func", "add", "1", "2"], "3\n");
    check_prints(&[&file("binary.wat", &module), "--func", "add", "1", "2"], "3\n");
}

#[test]
fn a_missing_function_is_told_with_those_there_are() {
    let many = file("missing.wat", MANY);
    let named = ["add(i32, i32) -> i32", "pair(i32, f64) -> (f64, i32)", "nothing()"];
    let said = check_ends(&[&many, "--func", "subtract"], 2, &named);
    assert!(said.contains("no function `subtract`"), "{said}");
    let said = check_ends(&[&many], 2, &named);
    assert!(said.contains("no function `main` or `_start`; choose with --func"), "{said}");
    let none = file("none.wat", "(module)");
    check_ends(&[&none], 2, &["nothing to call: the module exports no function"]);
    check_ends(&[&none, "--func", "f"], 2, &["no function `f`; the module exports no function"]);
}

#[test]
fn wrong_arguments_are_named() {
    let many = file("wrong.wat", MANY);
    let add = |arguments: &[&str], expect| {
        check_ends(&[&[&many, "--func", "add"], arguments].concat(), 2, &[expect]);
    };
    add(&[], "add(i32, i32) -> i32 takes 2 arguments, and none is given");
    add(&["1"], "takes 2 arguments, and 1 is given");
    add(&["1", "2", "3"], "takes 2 arguments, and 3 are given");
    add(&["1", "x"], "argument 2 of add is i32, and `x` is no i32");
    add(&["1.5", "2"], "argument 1 of add is i32, and `1.5` is no i32");
    add(&["1", "2147483648"], "argument 2 of add is i32, and `2147483648` is no i32");
    check_ends(
        &[&many, "--func", "nothing", "1"],
        2,
        &["nothing() takes 0 arguments, and 1 is given"],
    );
    check_ends(&[&many, "--func", "half", "five"], 2, &["argument 1 of half is f64, and `five`"]);
}
