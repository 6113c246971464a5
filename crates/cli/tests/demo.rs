//! Does the binary do what its help says, and say what is wrong when it can not?

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Command, Output, Stdio},
};

use shiftwork::observe::Snapshot;

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
    check_refused(&["demo", "--listen", "0.0.0.0:7777"], "listen on 127.0.0.1:7777 or [::1]:7777");
    check_refused(&["demo", "--listen", "everywhere"], "invalid value 'everywhere'");
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
fn a_demo_that_listens_is_watched_and_its_workers_are_paused() {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_shiftwork"))
        .args(["demo", "--seconds", "600", "--workers", "2", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(demo.stderr.take().unwrap()).read_line(&mut said).unwrap();
    let address = said.trim().strip_prefix("watch it: shiftwork top http://").expect(&said);
    let ask = |head: &str, body: &str| {
        let mut socket = TcpStream::connect(address).unwrap();
        let length = body.len();
        write!(
            socket,
            "{head} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer.split_once("\r\n\r\n").expect("an answer").1.to_owned()
    };
    let state = || -> Snapshot {
        serde_json::from_str(&ask("GET /dashboard/state", "")).expect("a snapshot")
    };
    let seen = state();
    assert_eq!((seen.program.as_str(), seen.runtimes[0].workers.len()), ("demo", 2));
    for kind in ["strand", "job", "process", "task", "shard"] {
        assert!(seen.entries.iter().any(|entry| entry.kind == kind), "no {kind}");
    }
    let call = |method: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":["demo",1]}}"#);
        let answer: serde_json::Value = serde_json::from_str(&ask("POST /", &body)).unwrap();
        assert_eq!(answer["result"], true, "{answer}");
    };
    call("admin_pauseWorker");
    while state().runtimes[0].workers[1].state != "paused" {}
    // Ctrl-C ends it also with a worker that is paused.
    let kill = Command::new("kill").args(["-INT", &demo.id().to_string()]).status();
    assert!(kill.unwrap().success());
    assert!(demo.wait().unwrap().success());
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
