//! What came of it all: the lines that stay on the screen.

use shiftwork::process::StopReport;

use super::{census::Census, jobs, part::Part, view::Sample};
use crate::text::{quantile, thousands};

/// More of them say nothing new.
const REPORTS_SHOWN_MAX: usize = 3;
const BUSIEST_SHOWN_MAX: usize = 3;

pub(crate) fn text(
    last: &Sample,
    parts: &[Part],
    stopped: &StopReport,
    reports: &[String],
) -> String {
    let total = last.metrics.total();
    let seconds = last.at.as_secs_f64();
    let workers = match last.metrics.workers.len() {
        1 => "1 worker".to_owned(),
        n => format!("{n} workers"),
    };
    let mut text = format!("\nIn {seconds:.1} s on {workers}\n");
    let mut row = |name: &str, value: String| text.push_str(&format!("  {name:<28} {value}\n"));
    let per_second = (total.turns as f64 / seconds.max(0.001)) as u64;
    row("turns", format!("{} ({} per second)", thousands(total.turns), thousands(per_second)));
    row("wakes", thousands(total.wakes));
    row("steals", thousands(total.steals));
    row("hand-offs", thousands(total.hand_offs));
    row("parks", thousands(total.parks));
    row(
        "waiting for a turn, sampled",
        format!(
            "p50 under {}, p99 under {}",
            quantile(total.waiting.quantile(0.5)),
            quantile(total.waiting.quantile(0.99))
        ),
    );
    row("panics contained", thousands(total.panics));
    row("turns that overran grossly", thousands(total.overruns));
    for (part, count) in parts.iter().zip(&last.counts) {
        row(part.name, format!("{} {}", thousands(*count), part.unit));
    }
    row("jobs", jobs::states(&last.jobs));
    row("jobs that were ready", jobs::waited(&last.jobs));
    let census = &last.census;
    row("processes", format!("{}: {}", thousands(census.count()), census.states()));
    let messages = last.messages(parts);
    let per_second = (messages as f64 / seconds.max(0.001)) as u64;
    row("messages", format!("{} ({} per second)", thousands(messages), thousands(per_second)));
    if let Some((name, mailbox)) = census.fullest_mailbox() {
        row("fullest mailbox at the end", format!("{name}, {mailbox}"));
    }
    // Since their birth: nobody was there before.
    let busiest = census.busiest(&Census::default());
    let busiest = busiest.iter().take(BUSIEST_SHOWN_MAX);
    let busiest: Vec<String> =
        busiest.map(|busy| format!("{} ({} turns)", busy.name, thousands(busy.steps))).collect();
    row("busiest processes", busiest.join(", "));
    row("processes stopped", stop_line(stopped));
    if !reports.is_empty() {
        text.push_str("\nReported meanwhile\n");
        for report in reports.iter().take(REPORTS_SHOWN_MAX) {
            text.push_str(&format!("  {report}\n"));
        }
        if let Some(more) = reports.len().checked_sub(REPORTS_SHOWN_MAX).filter(|more| *more > 0) {
            text.push_str(&format!("  and {more} more\n"));
        }
    }
    text
}

fn stop_line(stopped: &StopReport) -> String {
    let [orderly, failed, killed, left] =
        [stopped.orderly, stopped.failed, stopped.killed, stopped.left]
            .map(|n| thousands(n as u64));
    format!("{orderly} when asked, {failed} failed, {killed} killed, {left} still in a turn")
}
