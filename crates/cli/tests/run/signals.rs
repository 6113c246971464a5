//! What does Ctrl-C do?

use std::{
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
};

use crate::{command, file};

/// Logs that it is there, then waits for an hour; says how that ended.
const PATIENT: &str = r#"(module
    (import "shiftwork" "log" (func $log (param i32 i32 i32)))
    (import "shiftwork" "chan_open" (func $open (param i32) (result i64)))
    (import "shiftwork" "select" (func $select (param i32 i32 i64) (result i32)))
    (memory 1)
    (data (i32.const 0) "ready")
    (func $ready (call $log (i32.const 2) (i32.const 0) (i32.const 5)))
    (func (export "main") (result i32)
        (i64.store (i32.const 16) (call $open (i32.const 0)))
        (call $ready)
        (call $select (i32.const 16) (i32.const 1) (i64.const 3_600_000_000_000)))
    (func (export "endless") (call $ready) (loop (br 0))))"#;

/// Runs until the guest says that it is there, sends the signal, and returns the exit code, the
/// output, and what was said afterwards.
#[track_caller]
fn interrupted(signal: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = command(arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert_eq!(line, "[task 1] info: ready\n");
    let kill = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
    let (mut said, mut output) = (String::new(), String::new());
    stderr.read_to_string(&mut said).unwrap();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    (child.wait().unwrap().code(), output, said)
}

#[test]
fn a_task_that_waits_is_asked_to_end() {
    let patient = file("patient.wat", PATIENT);
    for signal in ["-INT", "-TERM"] {
        let (code, output, said) = interrupted(signal, &[&patient]);
        assert_eq!(code, Some(130), "{said}");
        // It was answered code 4 (cancelled; select's codes are negative), and returned that.
        assert_eq!(output, "-4\n", "{said}");
        assert!(said.contains("interrupted"), "{said}");
    }
}

#[test]
fn a_task_that_does_not_listen_is_ended() {
    let patient = file("endless.wat", PATIENT);
    let (code, output, said) = interrupted("-INT", &[&patient, "--func", "endless"]);
    assert_eq!((code, &*output), (Some(130), ""), "{said}");
    assert!(said.contains("endless failed: it was cancelled"), "{said}");
}

#[test]
fn a_simulation_hears_it_too() {
    let patient = file("simulated_endless.wat", PATIENT);
    let arguments = [&*patient, "--func", "endless", "--seed", "1"];
    let (code, _, said) = interrupted("-INT", &arguments);
    assert_eq!(code, Some(130), "{said}");
}
