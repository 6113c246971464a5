//! The results as a picture: bars for one number of workers, lines over several.

mod bars;
mod lines;
mod scale;

use observe::svg::{Canvas, INK, QUIET, Text};

use super::{Report, pairs::PolicyName};
use crate::text::{count, precise};

/// Dark enough for a light ground, and told apart also by those who see fewer colours.
fn colour(policy: PolicyName) -> &'static str {
    match policy {
        PolicyName::Fcfs => "#4d4d4d",
        PolicyName::HighestPriority => "#c44e00",
        PolicyName::ShortestFirst => "#00805c",
        PolicyName::RoundRobin => "#b0518a",
        PolicyName::WorkStealing => "#8a6700",
        PolicyName::MultilevelFeedback => "#0072b2",
    }
}

/// The whole picture.
pub(crate) fn svg(report: &Report) -> String {
    match report.outcomes.as_slice() {
        [outcomes] => bars::chart(report, outcomes),
        several => lines::chart(report, several),
    }
}

/// What the picture is about, in two lines at its top. Returns where the rest may begin.
fn heading(canvas: &mut Canvas, report: &Report, left: f64) -> f64 {
    let Report { source, trace, .. } = report;
    let title = format!("{} ({source})", count(trace.jobs.len(), "job"));
    canvas.text(left, 28.0, &Text { size: 16.0, bold: true, ..Text::new(INK) }, &title);
    let workers: Vec<String> = report
        .outcomes
        .iter()
        .filter_map(|outcomes| Some(outcomes.first()?.workers.to_string()))
        .collect();
    let s = if workers == ["1"] { "" } else { "s" };
    let about = format!(
        "{} of work on {} worker{s}; however many there are, no schedule is shorter than {}",
        precise(trace.work()),
        workers.join(", "),
        precise(trace.critical_path()),
    );
    canvas.text(left, 48.0, &Text::new(QUIET), &about);
    72.0
}

/// No schedule is shorter: all workers are busy all the time, or a chain is as long.
fn shortest_makespan(report: &Report, workers: usize) -> f64 {
    let shared = report.trace.work().as_secs_f64() / workers as f64;
    shared.max(report.trace.critical_path().as_secs_f64())
}
