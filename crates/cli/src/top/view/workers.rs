//! How are the workers drawn?

use ratatui::text::{Line, Span};

use super::{line, style, window};
use crate::top::{
    model::{Focus, Model},
    picture::Worker,
    words::{left, rate, right, width},
};

/// From so many columns on there is a bar, and what runs.
const WIDE: usize = 66;

struct Columns {
    name: usize,
    /// No bar in a narrow terminal.
    bar: usize,
    steals: bool,
    runs: usize,
}

impl Columns {
    fn new(model: &Model, columns: usize) -> Columns {
        let names = model.picture.workers.iter().map(|worker| width(&worker.name));
        let name = names.max().unwrap_or(0).clamp(6, 16);
        if columns < WIDE {
            return Columns { name: name.min(12), bar: 0, steals: false, runs: 0 };
        }
        let bar = if columns >= 110 { 20 } else { 10 };
        // Mark, state, share, turns, steals, and the blanks between.
        let others = 1 + name + 10 + bar + 6 + 9 + 9 + 6;
        Columns { name, bar, steals: true, runs: columns.saturating_sub(others) }
    }
}

/// A heading, and so many workers around the chosen one.
pub(super) fn lines(model: &Model, columns: usize, rows: usize) -> Vec<Line<'static>> {
    let workers = &model.picture.workers;
    let wanted = Columns::new(model, columns);
    let seen = window(workers.len(), rows, model.worker);
    let mut lines = vec![heading(model, &wanted, seen.len())];
    for at in seen {
        let is_chosen = at == model.worker;
        let mut row = row(&workers[at], &wanted, is_chosen);
        if is_chosen && model.focus == Focus::Workers {
            row = row.patch_style(style::CHOSEN);
        }
        lines.push(row);
    }
    lines
}

fn heading(model: &Model, columns: &Columns, seen: usize) -> Line<'static> {
    let count = model.picture.workers.len();
    let mut text = format!(" {} STATE     ", left("WORKER", columns.name));
    text += &format!(" {}", left("BUSY", columns.bar + 5));
    text += &right("TURNS/S", 10);
    if columns.steals {
        text += &right("STEALS/S", 10);
        let more = if seen < count { format!("RUNS ({seen} of {count})") } else { "RUNS".into() };
        text += &format!(" {}", left(&more, columns.runs));
    }
    line(vec![Span::styled(text, style::heading(model.focus == Focus::Workers))])
}

fn row(worker: &Worker, columns: &Columns, is_chosen: bool) -> Line<'static> {
    let mark = if is_chosen { ">" } else { " " };
    let mut pieces = vec![
        Span::raw(format!("{mark}{} ", left(&worker.name, columns.name))),
        Span::styled(left(&worker.state, 10), style::state(&worker.state)),
        Span::raw(" "),
    ];
    pieces.extend(busy(worker.busy, columns.bar));
    pieces.push(Span::raw(format!(" {}", right(&rate(worker.turns), 9))));
    if columns.steals {
        pieces.push(Span::raw(format!(" {}", right(&rate(worker.steals), 9))));
        pieces.push(Span::raw(format!(" {}", left(&worker.runs, columns.runs))));
    }
    line(pieces)
}

/// A bar with its share.
fn busy(share: Option<f64>, bar: usize) -> [Span<'static>; 2] {
    let Some(share) = share else { return [Span::raw(left("?", bar)), Span::raw(" ".repeat(5))] };
    let filled = (share * bar as f64).round() as usize;
    let drawn = format!("{}{}", "█".repeat(filled), "░".repeat(bar - filled));
    [Span::styled(drawn, style::busy(share)), Span::raw(format!("{:>3.0} %", share * 100.0))]
}
