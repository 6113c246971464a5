//! How are queues drawn, and how long what is in them waits?

use ratatui::text::{Line, Span};

use super::{line, style};
use crate::{
    text::quantile,
    top::{
        model::Model,
        waiting::{COLUMNS, MARKS},
        words::{age, amount, cut, left, right, width},
    },
};

/// From so many columns on there is a drawing behind each runtime.
const WIDE: usize = 78;
/// How high the large drawing is, without its title and its marks.
const HEIGHT: usize = 5;
/// With them.
pub(super) const DRAWING_ROWS: usize = HEIGHT + 2;

/// A heading, and so many runtimes.
pub(super) fn lines(model: &Model, columns: usize, rows: usize) -> Vec<Line<'static>> {
    let runtimes = &model.picture.runtimes;
    let is_wide = columns >= WIDE;
    let widest = runtimes.iter().map(|runtime| width(&runtime.name)).max().unwrap_or(0);
    let name = widest.clamp(7, if is_wide { 12 } else { 9 });
    let mut heading = format!(" {}{}", left("RUNTIME", name), right("QUEUED", 8));
    if is_wide {
        heading += &right("TIMERS", 8);
    }
    heading += &format!("{}{}", right("P50", 9), right("P99", 9));
    if is_wide {
        heading += &format!("  {}", marks(1));
    }
    let mut lines = vec![line(vec![Span::styled(heading, style::HEADING)])];
    for (at, runtime) in runtimes.iter().enumerate().take(rows) {
        let more = runtimes.len().saturating_sub(rows);
        let shown = match more {
            more if more > 0 && at + 1 == rows => format!("{} +{more}", runtime.name),
            _ => runtime.name.clone(),
        };
        let mut text = format!(" {}{}", left(&shown, name), right(&amount(runtime.queued), 8));
        if is_wide {
            text += &right(&amount(runtime.timers), 8);
        }
        for q in [0.5, 0.99] {
            text += &right(&quantile(runtime.waiting.quantile(q)), 9);
        }
        let mut pieces = vec![Span::raw(text)];
        if is_wide {
            pieces.push(Span::raw(format!("  {}", runtime.waiting.drawing(1).concat())));
        }
        lines.push(line(pieces));
    }
    lines
}

/// The runtime of the chosen worker, large.
pub(super) fn drawing(model: &Model, columns: usize) -> Vec<Line<'static>> {
    let picture = &model.picture;
    let at = picture.workers.get(model.worker).map_or(0, |worker| worker.runtime);
    let Some(runtime) = picture.runtimes.get(at) else { return Vec::new() };
    let waiting = &runtime.waiting;
    let when = waiting.seconds.map_or_else(
        || "since the start".to_owned(),
        |seconds| format!("in the last {}", age(seconds.max(1.0))),
    );
    let title = format!(
        " WAITING for {}, {when}: half under {}, 99 of 100 under {}",
        runtime.name,
        quantile(waiting.quantile(0.5)),
        quantile(waiting.quantile(0.99)),
    );
    // As wide as a whole number of columns allows.
    let wide = (columns.saturating_sub(2) / COLUMNS).clamp(1, 3);
    let stretch = |line: String| -> String {
        line.chars().flat_map(|c| std::iter::repeat_n(c, wide)).collect()
    };
    let mut lines = vec![line(vec![Span::styled(cut(&title, columns), style::HEADING)])];
    for row in waiting.drawing(HEIGHT) {
        lines.push(line(vec![Span::raw(format!(" {}", stretch(row)))]));
    }
    lines.push(line(vec![Span::styled(format!(" {}", marks(wide)), style::DIM)]));
    lines
}

/// Where times are, below or above a drawing.
fn marks(wide: usize) -> String {
    let mut text = String::new();
    for (at, mark) in MARKS {
        text += &" ".repeat((at * wide).saturating_sub(width(&text)));
        text += mark;
    }
    left(&text, COLUMNS * wide)
}
