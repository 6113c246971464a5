//! How are those drawn that take turns?

use ratatui::text::{Line, Span};

use super::{line, style, window};
use crate::top::{
    model::{Focus, Model},
    picture::Entry,
    sort::Column,
    words::{amount, cut_middle, left, rate, right, width},
};

/// From so many columns on kind and state have room.
const WIDE: usize = 64;
/// From so many on, what has been done in all too.
const WIDER: usize = 100;
/// An address of a shard has so many characters.
const NAME_MAX: usize = 42;

/// A heading, and so many of them around the chosen one.
pub(super) fn lines(model: &Model, columns: usize, rows: usize) -> Vec<Line<'static>> {
    let entries = model.entries();
    let chosen = model.chosen(&entries);
    let layout = layout(&entries, columns);
    let mut lines = vec![heading(model, &layout, entries.len())];
    for at in window(entries.len(), rows, chosen.unwrap_or(0)) {
        let is_chosen = chosen == Some(at) && model.focus == Focus::Entries;
        let mut row = row(entries[at], &layout, is_chosen);
        if is_chosen {
            row = row.patch_style(style::CHOSEN);
        }
        lines.push(row);
    }
    lines
}

/// Which columns there are, and how wide.
fn layout(entries: &[&Entry], columns: usize) -> Vec<(Column, usize)> {
    let mut layout = match columns {
        WIDER.. => vec![
            (Column::Kind, 8),
            (Column::Name, 0),
            (Column::State, 12),
            (Column::Rate, 9),
            (Column::Done, 13),
            (Column::Waiting, 8),
            (Column::Error, 0),
        ],
        WIDE.. => vec![
            (Column::Kind, 7),
            (Column::Name, 0),
            (Column::State, 11),
            (Column::Rate, 8),
            (Column::Waiting, 8),
            (Column::Error, 0),
        ],
        _ => vec![(Column::Name, 0), (Column::Rate, 8), (Column::Waiting, 8)],
    };
    if entries.iter().all(|entry| entry.error.is_empty()) {
        layout.retain(|(column, _)| *column != Column::Error);
    }
    // A blank before each.
    let used: usize = layout.iter().map(|(_, width)| width + 1).sum();
    let left = columns.saturating_sub(used);
    let has_error = layout.iter().any(|(column, _)| *column == Column::Error);
    let widest = entries.iter().map(|entry| width(&entry.name)).max().unwrap_or(0);
    // The heading has something to say too.
    let wanted = widest.clamp(20, NAME_MAX);
    let name = if has_error { wanted.min(left - left / 2) } else { wanted.min(left) };
    for (column, width) in &mut layout {
        match column {
            Column::Name => *width = name,
            Column::Error => *width = left - name,
            _ => {}
        }
    }
    layout
}

fn is_number(column: Column) -> bool {
    matches!(column, Column::Rate | Column::Done | Column::Waiting)
}

fn heading(model: &Model, layout: &[(Column, usize)], shown: usize) -> Line<'static> {
    let total = model.picture.entries_total.max(model.picture.entries.len() as u64);
    let mut text = String::new();
    for (column, width) in layout {
        let mut heading = column.heading().to_owned();
        if *column == model.sort.by {
            heading.push(if model.sort.is_rising() { '▲' } else { '▼' });
        }
        if *column == Column::Name && shown as u64 != total {
            heading += &format!(" ({shown} of {})", amount(total));
        }
        let heading =
            if is_number(*column) { right(&heading, *width) } else { left(&heading, *width) };
        text += &format!(" {heading}");
    }
    line(vec![Span::styled(text, style::heading(model.focus == Focus::Entries))])
}

fn row(entry: &Entry, layout: &[(Column, usize)], is_chosen: bool) -> Line<'static> {
    let has_error_column = layout.iter().any(|(column, _)| *column == Column::Error);
    let mut pieces = Vec::new();
    for (at, (column, width)) in layout.iter().enumerate() {
        let before = match at {
            0 if is_chosen => ">",
            // There is no room for more than that there is one.
            0 if !entry.error.is_empty() && !has_error_column => "!",
            _ => " ",
        };
        let (text, style) = match column {
            Column::Kind => (left(&entry.kind, *width), style::PLAIN),
            Column::Name => (left(&cut_middle(&entry.name, *width), *width), style::PLAIN),
            Column::State => (left(&entry.state, *width), style::state(&entry.state)),
            Column::Rate => (right(&rate(entry.rate), *width), style::BOLD),
            Column::Done => (right(&amount(entry.done), *width), style::PLAIN),
            Column::Waiting => (right(&amount(entry.waiting), *width), style::PLAIN),
            Column::Error => (left(&entry.error, *width), style::BAD),
        };
        pieces.push(Span::raw(before));
        pieces.push(Span::styled(text, style));
    }
    line(pieces)
}
