//! Does the binary do what its help says, and say what is wrong when it can not?

use std::process::{Command, Output};

fn shiftwork(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_shiftwork"))
        .args(arguments)
        .env_remove("SHIFTWORK_WORKERS")
        .output()
        .unwrap()
}

/// The arguments are refused, with a message that contains `expect`.
#[track_caller]
fn check_refused(arguments: &[&str], expect: &str) {
    let output = shiftwork(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{arguments:?} was taken");
    assert!(said.contains(expect), "{arguments:?} said: {said}");
    assert!(!said.contains("panicked"), "{arguments:?} said: {said}");
}

#[test]
fn bad_arguments_get_clear_errors() {
    check_refused(&["demo", "--workers", "0"], "at least one worker");
    check_refused(&["demo", "--workers", "many"], "invalid value 'many'");
    check_refused(&["demo", "--seconds", "0"], "more than 0");
    check_refused(&["demo", "--seconds", "-1"], "more than 0");
    check_refused(&["demo", "--seconds", "soon"], "not a number");
    check_refused(&["demo", "--discipline", "lottery"], "fifo, stealing, priority, feedback");
    check_refused(&["dmeo"], "similar subcommand exists: 'demo'");
}

#[test]
fn the_demo_leaves_a_timeline_with_the_names_of_what_ran() {
    let out = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo_timeline.json");
    let out = out.to_str().unwrap();
    let output = shiftwork(&["demo", "--seconds", "0.3", "--workers", "2", "--timeline", out]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    assert!(text.contains("timeline: ") && text.contains(out), "{text}");
    let trace: serde_json::Value =
        serde_json::from_slice(&std::fs::read(out).unwrap()).expect("it is JSON");
    let events = trace["traceEvents"].as_array().unwrap();
    let some = |is: &dyn Fn(&serde_json::Value) -> bool| events.iter().any(is);
    assert!(some(&|event| event["args"]["name"] == "worker 1"), "there is a track per worker");
    assert!(some(&|event| event["cat"] == "turn" && event["name"] == "job"));
    let named = |start: &str| {
        some(&|event| event["name"].as_str().is_some_and(|name| name.starts_with(start)))
    };
    assert!(named("process "), "processes have names");
    assert!(some(&|event| event["ph"] == "f"), "there are arrows");
    check_refused(&["demo", "--timeline", "/nowhere/at/all.json"], "/nowhere/at/all.json");
}

#[test]
fn the_demo_without_a_terminal_ends_by_itself_with_a_summary_and_no_escapes() {
    for discipline in ["fifo", "stealing", "priority", "feedback"] {
        let arguments = ["demo", "--seconds", "0.7", "--workers", "2", "--discipline", discipline];
        let output = shiftwork(&arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{discipline}: {errors}");
        assert!(errors.is_empty(), "{discipline}: {errors}");
        assert!(!text.contains('\x1b'), "{discipline}: {text}");
        let rows = ["turns", "steals", "hand-offs", "panics contained", "jobs that were ready"];
        let rows = rows.into_iter().chain(["messages", "busiest processes"]);
        for row in rows.chain(["tasks of a guest", "a guest's long loop", "transfers in 3 shards"])
        {
            assert!(text.contains(row), "{discipline} does not tell {row}: {text}");
        }
        // One of the team may just have died.
        let stopped = text.lines().find(|line| line.contains("processes stopped")).unwrap();
        assert!(stopped.contains(" 0 killed, 0 still in a turn"), "{discipline}: {stopped}");
    }
}
