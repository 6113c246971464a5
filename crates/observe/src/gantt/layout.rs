//! Where do bars lie, and which of them are left out?

use std::{cmp::Reverse, time::Duration};

use super::{BARS_MAX, Gantt, LINKS_MAX, Link, ROWS_MAX};

/// Of the time axis, in pixels.
pub(super) const WIDTH: f64 = 1_000.0;
/// A bar is at least so wide, where there is room.
const WIDTH_MIN: f64 = 0.5;
/// What the file's numbers are rounded to.
const STEP: f64 = 0.01;

/// In what times are written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    pub(super) name: &'static str,
    nanos: f64,
}

const UNITS: [Unit; 4] = [
    Unit { name: "ns", nanos: 1.0 },
    Unit { name: "µs", nanos: 1e3 },
    Unit { name: "ms", nanos: 1e6 },
    Unit { name: "s", nanos: 1e9 },
];

impl Unit {
    /// In which so long a time is a number of two digits at least.
    fn for_span(span: Duration) -> Unit {
        let nanos = span.as_nanos() as f64;
        UNITS.into_iter().rev().find(|unit| nanos >= 10.0 * unit.nanos).unwrap_or(UNITS[0])
    }

    fn number(self, time: Duration) -> String {
        let text = format!("{:.3}", time.as_nanos() as f64 / self.nanos);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    pub(super) fn describe(self, name: &str, start: Duration, end: Duration) -> String {
        let (from, to) = (self.number(start), self.number(end));
        format!("{name}: {from} to {to} {}", self.name)
    }
}

/// A bar with its place.
pub(super) struct Placed {
    pub(super) row: usize,
    pub(super) bar: usize,
    pub(super) x: f64,
    pub(super) width: f64,
}

pub(super) struct Layout {
    start: Duration,
    span: Duration,
    pub(super) unit: Unit,
    /// Row by row, from the left.
    pub(super) bars: Vec<Placed>,
    rows_left_out: usize,
    bars_left_out: usize,
    bars_too_thin: usize,
    links_left_out: usize,
}

impl Layout {
    pub(super) fn of(gantt: &Gantt) -> Layout {
        let all = || gantt.rows.iter().flat_map(|row| &row.bars);
        let start = all().map(|bar| bar.start).min().unwrap_or_default();
        let end = all().map(|bar| bar.end).max().unwrap_or_default();
        let span = end.saturating_sub(start).max(Duration::from_nanos(1));
        let mut layout = Layout {
            start,
            span,
            unit: Unit::for_span(span),
            bars: Vec::new(),
            rows_left_out: gantt.rows.len().saturating_sub(ROWS_MAX),
            bars_left_out: 0,
            bars_too_thin: 0,
            links_left_out: gantt.links.len().saturating_sub(LINKS_MAX),
        };
        let kept = longest(gantt, &mut layout.bars_left_out);
        for (row, bars) in kept.into_iter().enumerate() {
            layout.place(gantt, row, &bars);
        }
        layout
    }

    /// Places the bars of a row, which are in order of their starts.
    fn place(&mut self, gantt: &Gantt, row: usize, bars: &[usize]) {
        let of_row = &gantt.rows[row].bars;
        let mut free_from = 0.0_f64;
        for (at, bar) in bars.iter().enumerate() {
            let next = bars.get(at + 1).map_or(WIDTH, |next| self.x(of_row[*next].start));
            let x = rounded(self.x(of_row[*bar].start)).max(free_from);
            let wanted = (self.x(of_row[*bar].end) - x).max(WIDTH_MIN);
            // Thin ones may grow into the gap after them, not into the next one.
            let width = rounded(wanted.min(next - x));
            if width < STEP {
                self.bars_too_thin += 1;
                continue;
            }
            self.bars.push(Placed { row, bar: *bar, x, width });
            free_from = rounded(x + width);
        }
    }

    pub(super) fn x(&self, time: Duration) -> f64 {
        let since = time.saturating_sub(self.start).as_secs_f64();
        (WIDTH * since / self.span.as_secs_f64()).min(WIDTH)
    }

    /// Times at round numbers, and what is written there.
    pub(super) fn ticks(&self) -> Vec<(Duration, String)> {
        let step = round_step(self.span.as_nanos() as f64 / 10.0);
        let first = (self.start.as_nanos() as f64 / step).ceil();
        let times = (0..=20).map(|n| Duration::from_nanos(((first + n as f64) * step) as u64));
        let end = self.start + self.span;
        times.take_while(|at| *at <= end).map(|at| (at, self.unit.number(at))).collect()
    }

    /// Those that are drawn.
    pub(super) fn links<'a>(&self, links: &'a [Link]) -> impl Iterator<Item = &'a Link> {
        let drawn = |link: &&Link| link.from.0 < ROWS_MAX && link.to.0 < ROWS_MAX;
        links.iter().take(LINKS_MAX).filter(drawn)
    }

    /// What is not in the picture, in words.
    pub(super) fn left_out(&self) -> Vec<String> {
        let counted = [
            (self.rows_left_out, "more rows are not drawn"),
            (self.bars_left_out, "shorter bars are not drawn"),
            (self.bars_too_thin, "bars are too thin to be seen and not drawn"),
            (self.links_left_out, "more lines between bars are not drawn"),
        ];
        let some = counted.iter().filter(|(count, _)| *count > 0);
        some.map(|(count, what)| format!("{count} {what}.")).collect()
    }
}

/// The bars of each row that are drawn, by their starts; counts the others.
fn longest(gantt: &Gantt, left_out: &mut usize) -> Vec<Vec<usize>> {
    let rows = || gantt.rows.iter().take(ROWS_MAX).enumerate();
    let length = |(row, bar): &(usize, usize)| {
        let bar = &gantt.rows[*row].bars[*bar];
        bar.end.saturating_sub(bar.start)
    };
    let mut bars: Vec<(usize, usize)> =
        rows().flat_map(|(row, of)| (0..of.bars.len()).map(move |bar| (row, bar))).collect();
    *left_out = bars.len().saturating_sub(BARS_MAX);
    if *left_out > 0 {
        bars.sort_by_key(|bar| Reverse(length(bar)));
        bars.truncate(BARS_MAX);
    }
    let mut by_row = vec![Vec::new(); rows().count()];
    for (row, bar) in bars {
        by_row[row].push(bar);
    }
    for (row, bars) in by_row.iter_mut().enumerate() {
        bars.sort_by_key(|bar| {
            let of = &gantt.rows[row].bars[*bar];
            (of.start, of.end, *bar)
        });
    }
    by_row
}

fn rounded(x: f64) -> f64 {
    (x / STEP).floor() * STEP
}

/// The next larger of 1, 2 and 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.max(1.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|n| *n >= step).unwrap_or(step)
}
