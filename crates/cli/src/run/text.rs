//! What came of a program, for people.

use std::fmt::Write;

use shiftwork::task::{TaskError, TaskId, TaskInfo, TaskResult, TaskState, TrapKind};

use super::{Options, Report, watch::End};
use crate::text::{count, precise, thousands};

/// So many failures are told, at most.
const FAILURES_MAX: usize = 20;
/// So many tasks that had not ended are named, at most.
const UNFINISHED_MAX: usize = 20;

/// What main returned, on a line of its own: several values with blanks between them.
pub(crate) fn result(report: &Report) -> String {
    match report.main.as_ref().map(|main| &main.outcome) {
        Some(Ok(values)) if !values.is_empty() => {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            values.join(" ") + "\n"
        }
        _ => String::new(),
    }
}

/// What went wrong.
pub(crate) fn complaints(report: &Report, options: &Options) -> String {
    let mut text = String::new();
    let main = report.main.as_ref().map(|main| main.id);
    deadlock(&mut text, report);
    let failed =
        |result: &&TaskResult| !matches!(result.outcome, Ok(_) | Err(TaskError::Deadlock(..)));
    let others = |awaited: bool| {
        let others = report.results.iter().filter(move |result| Some(result.id) != main);
        others.filter(move |result| result.awaited == awaited)
    };
    // Those first that decide the exit code.
    let all = report.main.iter().chain(others(false)).chain(others(true));
    let mut failures = all.filter(failed);
    for result in failures.by_ref().take(FAILURES_MAX) {
        failure(&mut text, result, main);
    }
    match failures.count() {
        0 => {}
        more => text.push_str(&format!("and {} failed\n", count(more, "more task"))),
    }
    forgotten(&mut text, report);
    if report.end == End::Timeout {
        let limit = options.timeout.unwrap_or_default();
        let _ = writeln!(text, "error: the time is over ({})", precise(limit));
        unfinished(&mut text, report);
    }
    text
}

/// The explanation of each deadlock, once. (Rust may spawn again after the first; we do not.)
fn deadlock(text: &mut String, report: &Report) {
    let all = report.main.iter().chain(&report.results);
    let found = all.filter_map(|result| match &result.outcome {
        Err(TaskError::Deadlock(_, deadlock)) => Some(deadlock),
        _ => None,
    });
    if let Some(deadlock) = found.into_iter().next() {
        let _ = writeln!(text, "error: {deadlock}");
    }
}

/// How many failures can not be told any more. Of many tasks the results of the oldest are forgotten.
fn forgotten(text: &mut String, report: &Report) {
    if let failures @ 1.. = report.stats.forgotten_failures {
        let tasks = count(failures as usize, "task");
        let _ = writeln!(
            text,
            "error: {tasks} failed whose results are forgotten, and nobody had awaited them"
        );
    }
}

/// Which option allows more, if it failed for want of it.
fn advice(error: &TaskError) -> &'static str {
    let TaskError::Trap(trap) = error else { return "" };
    match (trap.kind, trap.refused, trap.message.as_deref()) {
        (_, Some("spawn"), _) => " (see --tasks)",
        (TrapKind::Limit, _, Some(why)) => advice_on_limit(why),
        _ => "",
    }
}

/// The same by an engine's words. It may be the system that has no more, and then no option helps.
fn advice_on_limit(why: &str) -> &'static str {
    // wasmtime has words of its own for what it was refused.
    let no_memory = ["no memory left", "exceeds memory limits", "exceeds table limits"];
    if no_memory.iter().any(|words| why.contains(words)) {
        " (see --program-memory)"
    } else if why.contains("wasmtime has for this program's tasks") {
        " (see --engine)"
    } else {
        ""
    }
}

fn failure(text: &mut String, result: &TaskResult, main: Option<TaskId>) {
    let Err(error) = &result.outcome else { return };
    let (id, func, advice) = (result.id, &result.func, advice(error));
    let _ = match main {
        Some(main) if main == id => write!(text, "error: {func} failed: {error}{advice}"),
        // Somebody in the program has been told, and it was theirs to deal with it.
        _ if result.awaited => write!(text, "note: {id} ({func}) failed: {error}{advice}"),
        _ => write!(text, "error: {id} ({func}) failed: {error}{advice}, and nobody awaited it"),
    };
    text.push('\n');
    if let TaskError::Trap(trap) = error {
        // The innermost is named already.
        for function in trap.backtrace.iter().skip(1) {
            let _ = writeln!(text, "  called by {function}");
        }
    }
}

fn unfinished(text: &mut String, report: &Report) {
    for task in report.unfinished.iter().take(UNFINISHED_MAX) {
        let _ = writeln!(text, "  {} ({}): {}", task.id, task.func, why_unfinished(task));
    }
    match report.unfinished.len().saturating_sub(UNFINISHED_MAX) {
        0 => {}
        more => text.push_str(&format!("  and {}\n", count(more, "more task"))),
    }
}

/// What a task was doing that had not ended.
pub(crate) fn why_unfinished(task: &TaskInfo) -> String {
    match &task.state {
        TaskState::Blocked(reason) => format!("it had not ended: it {reason}"),
        TaskState::Running => "it had not ended: it was in its turn".to_owned(),
        _ => "it had not ended: it waited for its turn".to_owned(),
    }
}

/// What the scheduler did.
pub(crate) fn stats(report: &Report) -> String {
    let (stats, total) = (&report.stats, report.metrics.total());
    let workers = count(report.metrics.workers.len(), "worker");
    let mut text = format!("In {} on {workers}\n", precise(report.elapsed));
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<24} {value}");
    };
    let [spawned, completed, failed] =
        [stats.spawned, stats.completed, stats.failed].map(thousands);
    row("tasks", format!("{spawned} spawned, {completed} returned, {failed} failed"));
    if stats.forgotten > 0 {
        row("results forgotten", thousands(stats.forgotten));
    }
    row("most tasks at once", thousands(stats.live_max as u64));
    row("turns of tasks", thousands(stats.switches));
    row("preemptions", thousands(stats.preemptions));
    row("host calls", thousands(stats.host_calls));
    row("operations", thousands(stats.fuel));
    row("steals", thousands(total.steals));
    row("parks", thousands(total.parks));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_named_only_if_it_helps() {
        for (why, option) in [
            ("the program has no memory left for another task", "--program-memory"),
            ("the program has no memory left for the tables of another task", "--program-memory"),
            ("memory minimum size of 1 pages exceeds memory limits", "--program-memory"),
            ("all 2 places that wasmtime has for this program's tasks are taken", "--engine"),
        ] {
            assert_eq!(advice_on_limit(why), format!(" (see {option})"), "{why}");
        }
        for why in [
            "no address space for the memory of another task: Cannot allocate memory",
            "the system has no more memory",
        ] {
            assert_eq!(advice_on_limit(why), "", "{why}");
        }
    }
}
