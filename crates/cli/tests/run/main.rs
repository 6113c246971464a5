//! Does `shiftwork run` do with a guest's program what its help says?

mod arguments;
mod bad_input;
mod ends;
mod gantt;
mod json;
mod output;
mod signals;
mod simulated;
mod timeline;

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

/// What came of a run of the binary.
#[derive(Debug, PartialEq)]
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Main spawns a task for each of 1, 2 and 3, and adds up their squares.
const SQUARES: &str = r#"(module
    (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
    (import "shiftwork" "await" (func $await (param i64 i32) (result i32)))
    (memory 1)
    (table (export "table") funcref (elem $square))
    (func $square (param i64) (result i64) (i64.mul (local.get 0) (local.get 0)))
    (func $result_of (param $task i64) (result i64)
        (if (call $await (local.get $task) (i32.const 0)) (then unreachable))
        (i64.load (i32.const 0)))
    (func (export "main") (result i64) (local $a i64) (local $b i64) (local $c i64)
        (local.set $a (call $spawn (i32.const 0) (i64.const 1)))
        (local.set $b (call $spawn (i32.const 0) (i64.const 2)))
        (local.set $c (call $spawn (i32.const 0) (i64.const 3)))
        (call $result_of (local.get $a))
        (call $result_of (local.get $b))
        (call $result_of (local.get $c))
        i64.add
        i64.add))"#;

/// Main spawns a task that never ends, and returns 7.
const ENDLESS_CHILD: &str = r#"(module
    (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
    (table (export "table") funcref (elem $turn))
    (func $turn (param i64) (loop (br 0)))
    (func (export "main") (result i32)
        (drop (call $spawn (i32.const 0) (i64.const 0)))
        (i32.const 7)))"#;

/// Main waits for a message that nobody sends.
const LONELY: &str = r#"(module
    (import "shiftwork" "chan_open" (func $open (param i32) (result i64)))
    (import "shiftwork" "chan_recv" (func $recv (param i64 i32 i32 i32) (result i32)))
    (memory 1)
    (func (export "main") (result i32)
        (call $recv (call $open (i32.const 1)) (i32.const 0) (i32.const 8) (i32.const 8))))"#;

/// A place for a file of one test.
fn place(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    path.to_str().unwrap().to_owned()
}

/// A file of one test, with these bytes in it.
fn file(name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = place(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// `shiftwork run` with these arguments, and with nothing to read.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shiftwork"));
    command.arg("run").args(arguments).env_remove("SHIFTWORK_WORKERS").stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Ran {
    let ran = ran(command(arguments).output().unwrap());
    assert!(!ran.stderr.contains("panicked"), "{arguments:?}: {ran:#?}");
    ran
}

fn ran(output: Output) -> Ran {
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    Ran { code: output.status.code(), stdout, stderr }
}

/// The guest returns, and this is what is printed; nothing went wrong.
#[track_caller]
fn check_prints(arguments: &[&str], expect: &str) {
    let ran = run(arguments);
    let expected = Ran { code: Some(0), stdout: expect.to_owned(), stderr: String::new() };
    assert_eq!(ran, expected, "{arguments:?}");
}

/// It ends with this code, prints no result, and says all of this.
#[track_caller]
fn check_ends(arguments: &[&str], code: i32, expect: &[&str]) -> String {
    let ran = run(arguments);
    assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:#?}");
    assert_eq!(ran.stdout, "", "{arguments:?}: {ran:#?}");
    for expect in expect {
        assert!(ran.stderr.contains(expect), "{arguments:?} does not say {expect:?}: {ran:#?}");
    }
    ran.stderr
}
