//! Who ran when? A schedule as a picture: a row for each worker, a bar for each turn.
//!
//! ```
//! use observe::gantt::{Bar, Gantt, Kind, Row};
//! use std::time::Duration;
//!
//! let ms = Duration::from_millis;
//! let chart = Gantt {
//!     title: "Two tills".to_owned(),
//!     kinds: vec![Kind { name: "customer".to_owned(), colour: "#0072b2" }],
//!     rows: vec![
//!         Row { name: "till 0".to_owned(), bars: vec![Bar::new(ms(0), ms(3), "Ada", 0)] },
//!         Row { name: "till 1".to_owned(), bars: vec![Bar::new(ms(1), ms(2), "Grace", 0)] },
//!     ],
//!     ..Gantt::default()
//! };
//! let svg = chart.svg();
//! assert!(svg.contains("Grace"));
//! ```
//!
//! 1. A picture has at most [`ROWS_MAX`] rows, [`BARS_MAX`] bars and [`LINKS_MAX`] lines. Of bars
//!    the longest are kept. What is left out is said in the picture.
//! 2. Bars of a row do not overlap. One that begins before the one before it has ended is cut.
//! 3. Names are text, whatever is in them.

mod layout;
mod recording;

use std::time::Duration;

use crate::svg::{AXIS, Anchor, Canvas, GRID, INK, QUIET, Stroke, Text};
use layout::{Layout, Unit};

/// So many rows are drawn.
pub const ROWS_MAX: usize = 256;
/// So many bars are drawn.
pub const BARS_MAX: usize = 10_000;
/// So many lines between bars are drawn.
pub const LINKS_MAX: usize = 1_000;

const LEFT: f64 = 24.0;
/// Where the names of rows end, and time begins.
const NAMES: f64 = 132.0;
const ROW: f64 = 22.0;
const BAR: f64 = 16.0;
/// Where the rows begin: below title, explanation and legend.
const TOP: f64 = 104.0;
/// Seen on every bar.
const LINK: &str = "#e07b39";
const NAME_CHARS_MAX: usize = 14;

/// A schedule.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Gantt {
    /// What it shows.
    pub title: String,
    /// More about that, in one line.
    pub about: String,
    /// From the top.
    pub rows: Vec<Row>,
    /// Who waited for whom.
    pub links: Vec<Link>,
    /// What the colours of bars mean.
    pub kinds: Vec<Kind>,
    /// What the reader should know besides, each in a line of its own.
    pub notes: Vec<String>,
}

/// One that does one thing at a time: a worker.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// What stands beside it.
    pub name: String,
    /// What it did, in any order.
    pub bars: Vec<Bar>,
}

/// A stretch of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bar {
    /// When it began.
    pub start: Duration,
    /// When it ended.
    pub end: Duration,
    /// Whose it was: shown to those who point at it.
    pub name: String,
    /// Its place in [`Gantt::kinds`].
    pub kind: usize,
}

impl Bar {
    /// A bar.
    pub fn new(start: Duration, end: Duration, name: impl Into<String>, kind: usize) -> Bar {
        Bar { start, end, name: name.into(), kind }
    }
}

/// What a colour means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// For the legend.
    pub name: String,
    /// As CSS writes it.
    pub colour: &'static str,
}

/// A line from the end of one bar to the start of another: a row and a time for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Where it begins.
    pub from: (usize, Duration),
    /// Where it ends.
    pub to: (usize, Duration),
}

impl Gantt {
    /// The picture: the same for the same schedule.
    pub fn svg(&self) -> String {
        let layout = Layout::of(self);
        let rows = &self.rows[..self.rows.len().min(ROWS_MAX)];
        let bottom = TOP + ROW * rows.len() as f64;
        let notes = self.notes.iter().cloned().chain(layout.left_out());
        let notes: Vec<String> = notes.collect();
        let height = bottom + 52.0 + 16.0 * notes.len() as f64;
        let mut canvas = Canvas::new(NAMES + layout::WIDTH + 2.0 * LEFT, height);
        let heading = Text { size: 16.0, bold: true, ..Text::new(INK) };
        canvas.text(LEFT, 28.0, &heading, &self.title);
        canvas.text(LEFT, 48.0, &Text::new(QUIET), &self.about);
        self.draw_legend(&mut canvas);
        draw_axis(&mut canvas, &layout, bottom);
        for (at, row) in rows.iter().enumerate() {
            let look = Text::new(INK).anchored(Anchor::End);
            let y = TOP + ROW * at as f64;
            canvas.text(NAMES - 8.0, y + BAR - 1.0, &look, &shortened(&row.name));
            canvas.line((NAMES, y + ROW), (NAMES + layout::WIDTH, y + ROW), &Stroke::thin(GRID));
        }
        for placed in &layout.bars {
            let bar = &self.rows[placed.row].bars[placed.bar];
            let colour = self.kinds.get(bar.kind).map_or(QUIET, |kind| kind.colour);
            let name = layout.unit.describe(&bar.name, bar.start, bar.end);
            let y = TOP + ROW * placed.row as f64 + (ROW - BAR) / 2.0;
            canvas.named_bar((NAMES + placed.x, y), (placed.width, BAR), colour, &name);
        }
        let middle = |(row, time): (usize, Duration)| {
            (NAMES + layout.x(time), TOP + ROW * (row as f64 + 0.5))
        };
        for link in layout.links(&self.links) {
            let stroke = Stroke::thin(LINK);
            canvas.line(middle(link.from), middle(link.to), &stroke);
        }
        for (at, note) in notes.iter().enumerate() {
            canvas.text(LEFT, bottom + 56.0 + 16.0 * at as f64, &Text::new(QUIET), note);
        }
        canvas.finish(&self.title)
    }

    fn draw_legend(&self, canvas: &mut Canvas) {
        let mut x = LEFT;
        for kind in &self.kinds {
            canvas.bar((x, TOP - 38.0), (12.0, 12.0), kind.colour, 1.0);
            canvas.text(x + 18.0, TOP - 28.0, &Text::new(INK), &kind.name);
            x += 42.0 + 7.0 * kind.name.chars().count() as f64;
        }
    }
}

fn draw_axis(canvas: &mut Canvas, layout: &Layout, bottom: f64) {
    let look = Text { size: 11.0, ..Text::new(QUIET) }.anchored(Anchor::Middle);
    for (time, label) in layout.ticks() {
        let x = NAMES + layout.x(time);
        canvas.line((x, TOP - 4.0), (x, bottom), &Stroke::thin(GRID));
        canvas.text(x, bottom + 16.0, &look, &label);
    }
    canvas.line((NAMES, TOP - 4.0), (NAMES, bottom), &Stroke::thin(AXIS));
    let Unit { name, .. } = layout.unit;
    canvas.text(NAMES + layout::WIDTH / 2.0, bottom + 34.0, &look, &format!("time in {name}"));
}

fn shortened(name: &str) -> String {
    match name.chars().count() {
        0..=NAME_CHARS_MAX => name.to_owned(),
        _ => name.chars().take(NAME_CHARS_MAX - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests;
