//! What goes where: results to standard output, and all else to standard error?

use std::process::Stdio;

use crate::{SQUARES, check_prints, command, file, ran, run};

/// Logs a line at each level from 0 to 4, and one with what a terminal would obey.
const TALKATIVE: &str = r#"(module
    (import "shiftwork" "log" (func $log (param i32 i32 i32)))
    (memory 1)
    (data (i32.const 0) "hello")
    (data (i32.const 16) "a\1b[2Jb\nc")
    (func (export "main") (result i32) (local $level i32)
        (loop
            (call $log (local.get $level) (i32.const 0) (i32.const 5))
            (local.set $level (i32.add (local.get $level) (i32.const 1)))
            (br_if 0 (i32.lt_s (local.get $level) (i32.const 5))))
        (i32.const 1))
    (func (export "rude") (call $log (i32.const 0) (i32.const 16) (i32.const 8))))"#;

#[test]
fn lines_of_the_log_go_to_standard_error_with_task_and_level() {
    let talkative = file("talkative.wat", TALKATIVE);
    let ran = run(&[&talkative]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "1\n"));
    let lines = "[task 1] error: hello\n[task 1] warn: hello\n[task 1] info: hello\n";
    assert_eq!(ran.stderr, lines);
    check_prints(&[&talkative, "--log", "off"], "1\n");
    for (level, count) in [("error", 1), ("warn", 2), ("info", 3), ("debug", 4), ("trace", 5)] {
        let ran = run(&[&talkative, "--log", level]);
        assert_eq!(ran.stderr.lines().count(), count, "{level}: {ran:#?}");
    }
}

#[test]
fn a_guest_writes_one_line_and_does_not_move_the_cursor() {
    let ran = run(&[&file("rude.wat", TALKATIVE), "--func", "rude"]);
    assert_eq!(ran.stderr, "[task 1] error: a\\u{1b}[2Jb\\nc\n");
}

#[test]
fn stats_are_told_beside_the_result() {
    let ran = run(&[&file("stats.wat", SQUARES), "--stats", "--workers", "2"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "14\n"));
    for row in ["on 2 workers", "4 spawned, 4 returned, 0 failed", "preemptions", "host calls"] {
        assert!(ran.stderr.contains(row), "{row}: {ran:#?}");
    }
}

#[test]
fn nobody_who_reads_is_no_error() {
    let mut command = command(&[&file("unread.wat", SQUARES)]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    drop(child.stdout.take());
    let ran = ran(child.wait_with_output().unwrap());
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
}

#[test]
fn a_full_disk_is_told() {
    let mut command = command(&[&file("full.wat", SQUARES)]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ran = ran(command.stdout(full).output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(ran.stderr.contains("could not write the result: No space left"), "{ran:#?}");
}

#[test]
fn closed_standard_streams_do_no_harm() {
    let squares = file("closed.wat", SQUARES);
    let shell = |redirections: &str| {
        let run = format!("exec \"$0\" run \"$1\" {redirections}");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &run, env!("CARGO_BIN_EXE_shiftwork"), &squares]);
        ran(shell.output().unwrap())
    };
    let ran = shell("<&-");
    assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (Some(0), "14\n", ""));
    let ran = shell("<&- 2>&-");
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "14\n"));
}

#[test]
fn the_help_tells_the_exit_codes() {
    let ran = run(&["--help"]);
    assert_eq!(ran.code, Some(0));
    for expect in ["Usage: shiftwork run", "3   deadlock", "--exit-with-main", "docs/tasks.md"] {
        assert!(ran.stdout.contains(expect), "{expect}: {}", ran.stdout);
    }
}
