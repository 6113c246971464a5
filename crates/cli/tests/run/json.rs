//! Does `--json` have the shape that other programs rely on?

use serde_json::{Value, json};

use crate::{ENDLESS_CHILD, LONELY, SQUARES, command, file, ran, run};

/// The document that a run prints, and its exit code.
#[track_caller]
fn document(arguments: &[&str]) -> (Value, i32) {
    let ran = run(&[arguments, &["--json"]].concat());
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let keys: Vec<&String> = document.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["result", "stats", "tasks"], "{document}");
    (document, ran.code.unwrap())
}

#[test]
fn every_task_has_its_state_and_its_result() {
    let (document, code) = document(&[&file("json.wat", SQUARES)]);
    assert_eq!((code, &document["result"]), (0, &json!(14)));
    let task = |id: u64, func: &str, result: u64| json!({ "id": id, "func": func, "state": "complete", "result": result });
    let tasks =
        [task(1, "main", 14), task(2, "square", 1), task(3, "square", 4), task(4, "square", 9)];
    assert_eq!(document["tasks"], json!(tasks));
}

#[test]
fn a_failure_has_an_error_instead_of_a_result() {
    let trap = file("json_trap.wat", r#"(module (func (export "main") unreachable))"#);
    let (document, code) = document(&[&trap]);
    assert_eq!((code, &document["result"]), (1, &Value::Null));
    let task = document["tasks"][0].as_object().unwrap();
    assert_eq!((&task["id"], &task["state"]), (&json!(1), &json!("failed")));
    assert!(task["error"].as_str().unwrap().contains("unreachable"), "{document}");
    assert!(!task.contains_key("result"), "{document}");
}

#[test]
fn who_had_not_ended_has_an_error_that_says_so() {
    let endless = file("json_endless.wat", ENDLESS_CHILD);
    // In virtual time, so that main gets its turn in time.
    let (document, code) = document(&[&endless, "--timeout", "1ms", "--seed", "1"]);
    assert_eq!((code, &document["result"]), (4, &json!(7)));
    assert_eq!(document["tasks"][0]["state"], "complete");
    let child = &document["tasks"][1];
    assert!(["ready", "running"].contains(&child["state"].as_str().unwrap()), "{document}");
    assert!(child["error"].as_str().unwrap().starts_with("it had not ended"), "{document}");
}

#[test]
fn a_deadlock_is_told_to_programs_and_to_people() {
    let lonely = file("json_lonely.wat", LONELY);
    let (document, code) = document(&[&lonely]);
    assert_eq!(code, 3);
    let error = document["tasks"][0]["error"].as_str().unwrap();
    assert!(error.contains("deadlock: it waits for a message from channel 1"), "{document}");
    assert!(run(&[&lonely, "--json"]).stderr.contains("task 1 (main) waits"));
}

#[test]
fn results_are_null_a_number_or_a_list() {
    let many = r#"(module
        (func (export "nothing"))
        (func (export "large") (result i64) (i64.const -9223372036854775808))
        (func (export "float") (result f64) (f64.const 0.5))
        (func (export "nan") (result f64) (f64.const nan))
        (func (export "pair") (result i32 i64) (i32.const 1) (i64.const 2)))"#;
    let many = file("json_many.wat", many);
    let expected = [
        ("nothing", Value::Null),
        ("large", json!(i64::MIN)),
        ("float", json!(0.5)),
        ("nan", json!("NaN")),
        ("pair", json!([1, 2])),
    ];
    for (func, result) in expected {
        assert_eq!(document(&[&many, "--func", func]).0["result"], result, "{func}");
    }
}

#[test]
fn the_stats_count_what_was_done() {
    let squares = file("json_stats.wat", SQUARES);
    let stats = document(&[&squares, "--workers", "2"]).0["stats"].clone();
    let count = |name: &str| stats[name].as_u64().unwrap_or_else(|| panic!("{name} in {stats}"));
    assert_eq!(count("spawned"), 4);
    assert_eq!(count("completed"), 4);
    assert_eq!(count("failed"), 0);
    assert_eq!((count("forgotten"), count("forgotten_failures")), (0, 0));
    // Three times spawn, and three times await.
    assert_eq!(count("host_calls"), 6);
    assert_eq!(count("workers"), 2);
    assert!(count("switches") >= 4 && count("fuel") > 0 && count("live_max") >= 1, "{stats}");
    assert!(count("elapsed_nanos") > 0);

    let forced = document(&[&squares, "--threshold", "1"]).0["stats"].clone();
    assert!(forced["preemptions"].as_u64().unwrap() > 0, "{forced}");
}

#[test]
fn the_environment_says_how_many_workers_unless_the_option_does() {
    let squares = file("json_workers.wat", SQUARES);
    let with = |value: &str, arguments: &[&str]| {
        let mut command = command(&[&[&squares, "--json"], arguments].concat());
        ran(command.env("SHIFTWORK_WORKERS", value).output().unwrap())
    };
    let workers = |stdout: &str| {
        let document: Value = serde_json::from_str(stdout).unwrap();
        document["stats"]["workers"].as_u64().unwrap()
    };
    assert_eq!(workers(&with("3", &[]).stdout), 3);
    assert_eq!(workers(&with("3", &["--workers", "2"]).stdout), 2);
    let refused = with("many", &[]);
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    assert!(refused.stderr.contains("SHIFTWORK_WORKERS"), "{refused:#?}");
}
