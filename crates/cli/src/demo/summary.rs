//! What came of it all: the lines that stay on the screen.

use super::{
    part::Part,
    view::{Sample, quantile, thousands},
};

/// More of them say nothing new.
const REPORTS_SHOWN_MAX: usize = 3;

pub(crate) fn text(last: &Sample, parts: &[Part], reports: &[String]) -> String {
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
