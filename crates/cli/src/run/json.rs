//! What came of a program, for other programs.
//!
//! ```text
//! {"result": 42,
//!  "tasks": [{"id": 1, "func": "main", "state": "complete", "result": 42},
//!            {"id": 2, "func": "worker", "state": "failed", "error": "division by zero"}],
//!  "stats": {"spawned": 2, …}}
//! ```
//!
//! A result is a number, `null` for a function that returns nothing, or a list for one that returns
//! several. Every task has a result or an error; one that had not ended has an error that says so. Of
//! more than a million the oldest are left out: `stats` has how many are `forgotten`, and how many of
//! them had failed without being awaited.

use anyhow::Result;
use serde::Serialize;
use serde_json::Value as Json;
use shiftwork::task::{TaskResult, TaskState, Value};

use super::{Report, text};

#[derive(Serialize)]
struct Document {
    result: Json,
    tasks: Vec<Task>,
    stats: Stats,
}

#[derive(Serialize)]
struct Task {
    id: u64,
    func: String,
    state: &'static str,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Result(Json),
    Error(String),
}

#[derive(Serialize)]
struct Stats {
    spawned: u64,
    completed: u64,
    failed: u64,
    forgotten: u64,
    forgotten_failures: u64,
    live_max: usize,
    switches: u64,
    preemptions: u64,
    host_calls: u64,
    fuel: u64,
    workers: usize,
    steals: u64,
    parks: u64,
    elapsed_nanos: u64,
}

pub(crate) fn text(report: &Report) -> Result<String> {
    let main = report.main.as_ref().and_then(|main| main.outcome.as_ref().ok());
    let unfinished = report.unfinished.iter().map(|task| Task {
        id: task.id.get(),
        func: task.func.clone(),
        state: state(&task.state),
        outcome: Outcome::Error(text::why_unfinished(task)),
    });
    let mut tasks: Vec<Task> = report.results.iter().map(ended).chain(unfinished).collect();
    tasks.sort_by_key(|task| task.id);
    let document = Document {
        result: main.map_or(Json::Null, |values| json(values)),
        tasks,
        stats: stats(report),
    };
    Ok(serde_json::to_string(&document)? + "\n")
}

fn ended(result: &TaskResult) -> Task {
    let (state, outcome) = match &result.outcome {
        Ok(values) => ("complete", Outcome::Result(json(values))),
        Err(error) => ("failed", Outcome::Error(error.to_string())),
    };
    Task { id: result.id.get(), func: result.func.clone(), state, outcome }
}

fn state(state: &TaskState) -> &'static str {
    match state {
        TaskState::Running => "running",
        TaskState::Blocked(_) => "blocked",
        TaskState::Complete => "complete",
        TaskState::Failed => "failed",
        _ => "ready",
    }
}

fn json(values: &[Value]) -> Json {
    match values {
        [] => Json::Null,
        [value] => number(*value),
        many => many.iter().map(|value| number(*value)).collect(),
    }
}

/// Floats that JSON has no number for are strings, as JavaScript calls them.
fn number(value: Value) -> Json {
    let float = match value {
        Value::I32(value) => return value.into(),
        Value::I64(value) => return value.into(),
        // With as many digits as it has, not as its double has.
        Value::F32(value) => value.to_string().parse().unwrap_or(value.into()),
        Value::F64(value) => value,
    };
    match float {
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        _ if float.is_nan() => "NaN".into(),
        _ => float.into(),
    }
}

fn stats(report: &Report) -> Stats {
    let (stats, total) = (&report.stats, report.metrics.total());
    Stats {
        spawned: stats.spawned,
        completed: stats.completed,
        failed: stats.failed,
        forgotten: stats.forgotten,
        forgotten_failures: stats.forgotten_failures,
        live_max: stats.live_max,
        switches: stats.switches,
        preemptions: stats.preemptions,
        host_calls: stats.host_calls,
        fuel: stats.fuel,
        workers: report.metrics.workers.len(),
        steals: total.steals,
        parks: total.parks,
        elapsed_nanos: report.elapsed.as_nanos() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_and_what_is_no_number_is_a_string() {
        let text = |values: &[Value]| json(values).to_string();
        assert_eq!(text(&[]), "null");
        assert_eq!(text(&[Value::I64(i64::MIN)]), "-9223372036854775808");
        assert_eq!(text(&[Value::F32(0.1)]), "0.1");
        assert_eq!(text(&[Value::I32(-1), Value::F64(2.5)]), "[-1,2.5]");
        assert_eq!(text(&[Value::F32(f32::NAN)]), r#""NaN""#);
        assert_eq!(text(&[Value::F64(f64::NEG_INFINITY)]), r#""-Infinity""#);
    }
}
