//! What does Ctrl-C do?

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStderr, Command, Stdio},
};

use crate::{command, file};

/// Logs that it is there, then waits for an hour, and returns how that ended. `endless` does not wait,
/// and `crowd` spawns so many that do not either.
const PATIENT: &str = r#"(module
    (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
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
    (func $endless (export "endless") (call $ready) (loop (br 0)))
    (table (export "table") funcref (elem $spin))
    (func $spin (param i64) (loop (br 0)))
    (func (export "crowd") (param $left i32)
        (loop
            (drop (call $spawn (i32.const 0) (i64.const 0)))
            (local.set $left (i32.sub (local.get $left) (i32.const 1)))
            (br_if 0 (local.get $left)))
        (call $endless)))"#;

const ASKED: &str =
    "interrupted: all tasks are asked to end; once more, and nobody waits for them\n";

/// A run that one can send signals to.
struct Watched {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Watched {
    /// Runs until the guest says that it is there.
    #[track_caller]
    fn start(arguments: &[&str]) -> Watched {
        let mut command = command(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut watched = Watched { child, stderr };
        watched.expect_line("[task 1] info: ready\n");
        watched
    }

    #[track_caller]
    fn expect_line(&mut self, expect: &str) {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        assert_eq!(line, expect);
    }

    #[track_caller]
    fn send(&self, signal: &str) {
        let kill = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(kill.unwrap().success());
    }

    /// Waits for the end: the exit code, the output, and what else was said.
    fn end(mut self) -> (Option<i32>, String, String) {
        let (mut said, mut output) = (String::new(), String::new());
        self.stderr.read_to_string(&mut said).unwrap();
        self.child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        (self.child.wait().unwrap().code(), output, said)
    }
}

/// Sends the signal once, and waits for the end.
#[track_caller]
fn interrupted(signal: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut watched = Watched::start(arguments);
    watched.send(signal);
    watched.expect_line(ASKED);
    watched.end()
}

#[test]
fn a_task_that_waits_is_asked_to_end() {
    let patient = file("patient.wat", PATIENT);
    for signal in ["-INT", "-TERM"] {
        let (code, output, said) = interrupted(signal, &[&patient]);
        assert_eq!(code, Some(130), "{said}");
        // It was answered code 4 (cancelled; select's codes are negative), and returned that.
        assert_eq!((&*output, &*said), ("-4\n", ""));
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

/// Slices are so long that main spawns the crowd in its first, and that it takes minutes until each of
/// them has heard that it is asked to end. Had somebody waited for that, main's end would be told.
#[test]
fn a_second_one_does_not_wait() {
    let patient = file("crowd.wat", PATIENT);
    let arguments = [&*patient, "--func", "crowd", "1000", "--threshold", "100000000"];
    let mut watched = Watched::start(&arguments);
    watched.send("-INT");
    watched.expect_line(ASKED);
    watched.send("-INT");
    assert_eq!(watched.end(), (Some(130), String::new(), String::new()));
}
