//! What does the screen show of the model?
//!
//! Lines of text, each cut and filled to its columns: a terminal draws them, `--once` prints them.

mod entries;
mod frame;
mod runtimes;
mod style;
#[cfg(test)]
mod tests;
mod workers;

use std::ops::Range;

use ratatui::{
    Frame,
    text::{Line, Span},
    widgets::Paragraph,
};

use super::model::{Mode, Model};

/// So many runtimes have a line.
const RUNTIMES_MAX: usize = 4;
/// A blank line between parts, from so many rows on.
const ROWS_FOR_GAPS: usize = 30;

/// How large the picture may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    /// `None`: as many as it takes.
    pub(crate) rows: Option<usize>,
}

/// Draws all of it.
pub(crate) fn draw(frame: &mut Frame<'_>, model: &Model) {
    let area = frame.area();
    let size = Size { columns: area.width.into(), rows: Some(area.height.into()) };
    frame.render_widget(Paragraph::new(lines(model, size)), area);
}

/// The same as plain text.
pub(crate) fn text(model: &Model, size: Size) -> String {
    let mut text = String::new();
    for line in lines(model, size) {
        let line: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// How many rows each part has.
#[derive(Debug, PartialEq)]
struct Plan {
    node: bool,
    workers: usize,
    runtimes: usize,
    drawing: bool,
    entries: usize,
    gaps: bool,
}

impl Plan {
    fn new(model: &Model, rows: Option<usize>) -> Plan {
        let picture = &model.picture;
        let (workers, runtimes) = (picture.workers.len(), picture.runtimes.len());
        let Some(rows) = rows else {
            let (node, entries) = (true, usize::MAX);
            return Plan { node, workers, runtimes, drawing: false, entries, gaps: true };
        };
        // Title, throughput and the last line.
        let mut left = rows.saturating_sub(3);
        let mut take = |is_wanted: bool, rows: usize| {
            if is_wanted {
                left = left.saturating_sub(rows);
            }
            is_wanted
        };
        let node = take(picture.node.is_some() && rows >= 16, 1);
        let gaps = take(rows >= ROWS_FOR_GAPS, 3);
        let runtimes = runtimes.min(RUNTIMES_MAX);
        let has_runtimes = take(rows >= 14 && runtimes > 0, runtimes + 1);
        let drawing = take(rows >= 34 && runtimes > 0, runtimes::DRAWING_ROWS + gaps as usize);
        // Both lists have a heading.
        let lists = left.saturating_sub(2);
        let workers = workers.min((lists / 2).max(1));
        let runtimes = if has_runtimes { runtimes } else { 0 };
        let entries = lists.saturating_sub(workers);
        Plan { node, workers, runtimes, drawing, entries, gaps }
    }
}

fn lines(model: &Model, size: Size) -> Vec<Line<'static>> {
    let columns = size.columns;
    let plan = Plan::new(model, size.rows);
    let mut lines = vec![frame::title(model, columns), frame::throughput(model, columns)];
    if model.mode == Mode::Help {
        lines.extend(frame::help(columns));
    } else {
        if plan.node {
            lines.extend(frame::node(model, columns));
        }
        let gap = || plan.gaps.then(Line::default);
        lines.extend(gap());
        lines.extend(workers::lines(model, columns, plan.workers));
        if plan.runtimes > 0 {
            lines.extend(gap());
            lines.extend(runtimes::lines(model, columns, plan.runtimes));
        }
        if plan.drawing {
            lines.extend(gap());
            lines.extend(runtimes::drawing(model, columns));
        }
        lines.extend(gap());
        lines.extend(entries::lines(model, columns, plan.entries));
    }
    if let Some(rows) = size.rows {
        lines.resize(rows.saturating_sub(1), Line::default());
        lines.push(frame::last(model, columns));
        lines.truncate(rows);
    }
    lines
}

/// Which of `count` rows are seen in a window of `room`, so that the one at `at` is among them.
fn window(count: usize, room: usize, at: usize) -> Range<usize> {
    let room = room.min(count);
    let start = at.saturating_sub(room / 2).min(count - room);
    start..start + room
}

/// One line from pieces that are as wide as they should be.
fn line(pieces: Vec<Span<'static>>) -> Line<'static> {
    Line::from(pieces)
}
