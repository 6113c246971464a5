//! All workloads on one axis: how many times better or worse than the best peer?

use super::svg::{At, GRID, INK, LOSS, OURS, QUIET, Svg};
use crate::bench::stored::Stored;

const LEFT: f64 = 20.0;
/// Where the names of workloads end.
const NAMES: f64 = 250.0;
/// Of the axis.
const WIDTH: f64 = 560.0;
const LINE: f64 = 15.0;
const TOP: f64 = 86.0;
/// Above each area's rows.
const HEADING: f64 = 24.0;

/// The powers of ten that the axis goes over.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn over(ratios: impl Iterator<Item = f64>) -> Axis {
        let logs = ratios.map(f64::log10);
        let (low, high) =
            logs.fold((0.0_f64, 0.0_f64), |(low, high), log| (low.min(log), high.max(log)));
        Axis { low: low.floor().min(-1.0), high: high.ceil().max(1.0) }
    }

    fn x(&self, ratio: f64) -> f64 {
        NAMES + WIDTH * (ratio.log10() - self.low) / (self.high - self.low)
    }
}

pub(super) fn draw(rows: &[Stored]) -> String {
    let with_ratio = |row: &&Stored| row.ratio.is_some_and(|ratio| ratio > 0.0);
    let shown: Vec<&Stored> = rows.iter().filter(with_ratio).collect();
    let axis = Axis::over(shown.iter().filter_map(|row| row.ratio));
    let losses = shown.iter().filter(|row| row.ratio < Some(1.0)).count();
    let mut svg = Svg::new();
    let title = "Every workload beside its best peer";
    svg.text(At { size: 16.0, bold: true, ..At::new(LEFT, 28.0) }, title);
    let about = format!(
        "{} workloads: ahead in {}, behind in {losses}; {} more have no peer and are not shown. \
         To the right is better.",
        shown.len(),
        shown.len() - losses,
        rows.len() - shown.len(),
    );
    svg.text(At { colour: QUIET, ..At::new(LEFT, 48.0) }, &about);
    let areas = shown.chunk_by(|one, other| one.area == other.area);
    let height = TOP + areas.clone().count() as f64 * HEADING + shown.len() as f64 * LINE;
    grid(&mut svg, &axis, height);
    let mut y = TOP;
    for area in areas {
        svg.text(At { bold: true, size: 12.0, ..At::new(LEFT, y + HEADING - 7.0) }, &area[0].area);
        y += HEADING;
        for row in area {
            draw_row(&mut svg, row, &row.title(rows), &axis, y);
            y += LINE;
        }
    }
    svg.finish(title, NAMES + WIDTH + 190.0, height + 14.0)
}

fn grid(svg: &mut Svg, axis: &Axis, bottom: f64) {
    for power in axis.low as i32..=axis.high as i32 {
        let ratio = 10f64.powi(power);
        let x = axis.x(ratio);
        svg.line((x, TOP - 6.0), (x, bottom), if power == 0 { INK } else { GRID });
        let label = match power {
            0 => "as fast".to_owned(),
            1.. => format!("{ratio} times better"),
            _ => format!("{} times worse", 10f64.powi(-power)),
        };
        svg.text(At { anchor: "middle", colour: QUIET, ..At::new(x, TOP - 12.0) }, &label);
    }
}

fn draw_row(svg: &mut Svg, row: &Stored, title: &str, axis: &Axis, y: f64) {
    let Some(ratio) = row.ratio else { return };
    let loss = ratio < 1.0;
    let colour = if loss { LOSS } else { OURS };
    let name = At {
        anchor: "end",
        colour: if loss { LOSS } else { INK },
        bold: loss,
        ..At::new(NAMES - 8.0, y + 10.0)
    };
    svg.text(name, title);
    let (one, x) = (axis.x(1.0), axis.x(ratio));
    svg.bar((one.min(x), y + 2.0), ((x - one).abs().max(1.0), LINE - 5.0), colour);
    let peer = row.best_peer.as_deref().unwrap_or_default();
    let label = format!("{} {peer}", times(ratio));
    // Beside the end of the bar, or behind the line where the bar is to its left.
    let at = At {
        colour: if loss { LOSS } else { QUIET },
        size: 10.0,
        ..At::new(one.max(x) + 5.0, y + 10.0)
    };
    svg.text(at, &label);
}

fn times(ratio: f64) -> String {
    if ratio >= 10.0 { format!("{ratio:.0}") } else { format!("{ratio:.2}") }
}
