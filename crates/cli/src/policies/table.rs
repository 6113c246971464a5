//! The results for a terminal.

use super::{Report, measure::Outcome};
use crate::text::{count, precise};

/// Columns after the names; the best of each is marked.
const COLUMNS: [&str; 5] = ["makespan", "waiting p50", "waiting p99", "fairness", "utilization"];

pub(crate) fn text(report: &Report) -> String {
    let Report { source, trace, settings, outcomes } = report;
    let mut text = format!(
        "{} ({source}): {} of work, arriving over {}.\nNo schedule is shorter than {}, however many \
         workers there are. Slices of {}.\n",
        count(trace.jobs.len(), "job"),
        precise(trace.work()),
        precise(trace.last_arrival() - trace.first_arrival()),
        precise(trace.critical_path()),
        precise(settings.slice),
    );
    for outcomes in outcomes {
        text.push_str(&block(outcomes));
    }
    text.push_str("\n* the best in its column\n");
    text
}

/// All that was measured with one number of workers.
fn block(outcomes: &[Outcome]) -> String {
    let Some(first) = outcomes.first() else { return String::new() };
    let mut text = format!("\n{}\n", count(first.workers, "worker"));
    text.push_str(&format!("{:<18}  {:<11}", "policy", "balancer"));
    for column in COLUMNS {
        text.push_str(&format!("  {column:>11} "));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    let rows: Vec<[String; 5]> = outcomes.iter().map(cells).collect();
    let best = best(outcomes, &rows);
    for (outcome, cells) in outcomes.iter().zip(&rows) {
        let balancer = outcome.pair.balancer_name().unwrap_or("-");
        let mut line = format!("{:<18}  {balancer:<11}", outcome.pair.policy_name());
        for (cell, best) in cells.iter().zip(&best) {
            let mark = if Some(cell) == best.as_ref() { '*' } else { ' ' };
            line.push_str(&format!("  {cell:>11}{mark}"));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn cells(outcome: &Outcome) -> [String; 5] {
    [
        precise(outcome.makespan),
        precise(outcome.waiting_p50),
        precise(outcome.waiting_p99),
        format!("{:.3}", outcome.fairness),
        format!("{:.1} %", outcome.utilization * 100.0),
    ]
}

/// The best of each column, as it is written; none where all are alike.
fn best(outcomes: &[Outcome], rows: &[[String; 5]]) -> [Option<String>; 5] {
    // The less the better.
    let measures: [fn(&Outcome) -> f64; 5] = [
        |outcome| outcome.makespan.as_secs_f64(),
        |outcome| outcome.waiting_p50.as_secs_f64(),
        |outcome| outcome.waiting_p99.as_secs_f64(),
        |outcome| -outcome.fairness,
        |outcome| -outcome.utilization,
    ];
    std::array::from_fn(|column| {
        let measure = |at: &usize| measures[column](&outcomes[*at]);
        let best = (0..rows.len()).min_by(|a, b| measure(a).total_cmp(&measure(b)))?;
        let cell = &rows[best][column];
        rows.iter().any(|row| row[column] != *cell).then(|| cell.clone())
    })
}
