//! One number of workers: a row for each pair, and a panel for each measure.

use observe::svg::{AXIS, Anchor, Canvas, GRID, INK, QUIET, Stroke, Text};

use super::{
    Report, colour, heading,
    scale::{round_up, tick},
    shortest_makespan,
};
use crate::{policies::measure::Outcome, text::precise};

const LEFT: f64 = 24.0;
/// Where the names of pairs end.
const NAMES: f64 = 222.0;
const PANEL: f64 = 132.0;
const ROW: f64 = 20.0;
const BAR: f64 = 12.0;
/// Room between policies.
const GAP: f64 = 8.0;

/// One measure of all rows.
struct Panel {
    title: &'static str,
    about: &'static str,
    /// Bars from the lightest to the darkest.
    values: fn(&Outcome) -> Vec<f64>,
    /// The scale ends there; `None`: at the largest value, rounded up.
    end: Option<f64>,
    /// What stands behind the bars.
    label: fn(&Outcome) -> String,
    tick: fn(f64) -> String,
    /// Room for that, and between panels.
    behind: f64,
}

const PANELS: [Panel; 4] = [
    Panel {
        title: "Makespan",
        about: "dashed: no schedule is shorter",
        values: |outcome| vec![outcome.makespan.as_secs_f64()],
        end: None,
        label: |outcome| precise(outcome.makespan),
        tick,
        behind: 68.0,
    },
    Panel {
        title: "Waiting",
        about: "dark: p50, light: p99",
        values: |outcome| {
            vec![outcome.waiting_p99.as_secs_f64(), outcome.waiting_p50.as_secs_f64()]
        },
        end: None,
        label: |outcome| {
            format!("{}, {}", precise(outcome.waiting_p50), precise(outcome.waiting_p99))
        },
        tick,
        behind: 128.0,
    },
    Panel {
        title: "Fairness",
        about: "Jain's index of speeds",
        values: |outcome| vec![outcome.fairness],
        end: Some(1.0),
        label: |outcome| format!("{:.3}", outcome.fairness),
        tick: |value| value.to_string(),
        behind: 68.0,
    },
    Panel {
        title: "Utilization",
        about: "of all workers' time",
        values: |outcome| vec![outcome.utilization],
        end: Some(1.0),
        label: |outcome| format!("{:.1} %", outcome.utilization * 100.0),
        tick: |value| format!("{:.0} %", value * 100.0),
        behind: 68.0,
    },
];

pub(super) fn chart(report: &Report, outcomes: &[Outcome]) -> String {
    let rows = places(outcomes);
    let height_of_rows = rows.last().map_or(0.0, |last| last + ROW);
    let width = NAMES + PANELS.iter().map(|panel| PANEL + panel.behind).sum::<f64>();
    let mut canvas = Canvas::new(width, 72.0 + 40.0 + height_of_rows + 44.0);
    let top = heading(&mut canvas, report, LEFT) + 40.0;
    for (outcome, place) in outcomes.iter().zip(&rows) {
        let pair = outcome.pair;
        let y = top + place + ROW / 2.0 + 4.0;
        let name = Text { bold: true, ..Text::new(colour(pair.policy)) };
        if outcomes.iter().position(|other| other.pair.policy == pair.policy)
            == outcomes.iter().position(|other| other.pair == pair)
        {
            canvas.text(LEFT, y, &name, pair.policy_name());
        }
        let balancer = pair.balancer_name().unwrap_or("none");
        let look = Text::new(QUIET).anchored(Anchor::End);
        canvas.text(NAMES - 8.0, y, &look, balancer);
    }
    let mut left = NAMES;
    for (at, panel) in PANELS.iter().enumerate() {
        let bound = outcomes.first().filter(|_| at == 0);
        let bound = bound.map(|first| shortest_makespan(report, first.workers));
        draw(&mut canvas, panel, outcomes, &rows, (left, top), bound);
        left += PANEL + panel.behind;
    }
    canvas.finish("Policies and balancers compared")
}

/// How far down each row begins: policies stand apart.
fn places(outcomes: &[Outcome]) -> Vec<f64> {
    let mut y = 0.0;
    let mut places = Vec::with_capacity(outcomes.len());
    for (at, outcome) in outcomes.iter().enumerate() {
        if at > 0 && outcomes[at - 1].pair.policy != outcome.pair.policy {
            y += GAP;
        }
        places.push(y);
        y += ROW;
    }
    places
}

fn draw(
    canvas: &mut Canvas,
    panel: &Panel,
    outcomes: &[Outcome],
    rows: &[f64],
    (left, top): (f64, f64),
    bound: Option<f64>,
) {
    let bottom = top + rows.last().map_or(0.0, |last| last + ROW);
    canvas.text(left, top - 24.0, &Text { size: 13.0, bold: true, ..Text::new(INK) }, panel.title);
    canvas.text(left, top - 9.0, &Text { size: 11.0, ..Text::new(QUIET) }, panel.about);
    let largest = outcomes.iter().flat_map(panel.values).fold(0.0, f64::max);
    let end = panel.end.unwrap_or_else(|| round_up(largest));
    let x = |value: f64| left + PANEL * (value / end).clamp(0.0, 1.0);
    for part in [0.0, 0.5, 1.0] {
        let at = x(end * part);
        let stroke = Stroke::thin(if part == 0.0 { AXIS } else { GRID });
        canvas.line((at, top - 2.0), (at, bottom), &stroke);
        let look = Text { size: 11.0, ..Text::new(QUIET) }.anchored(Anchor::Middle);
        canvas.text(at, bottom + 16.0, &look, &(panel.tick)(end * part));
    }
    for (outcome, row) in outcomes.iter().zip(rows) {
        let values = (panel.values)(outcome);
        let y = top + row + (ROW - BAR) / 2.0;
        let lightest = 1.0 / values.len() as f64;
        for (at, value) in values.iter().enumerate() {
            let opacity = 0.85 * if at + 1 == values.len() { 1.0 } else { 0.7 * lightest };
            let size = (x(*value) - left, BAR);
            canvas.bar((left, y), size, colour(outcome.pair.policy), opacity);
        }
        let largest = values.iter().copied().fold(0.0, f64::max);
        let look = Text { size: 11.0, ..Text::new(INK) };
        canvas.text(x(largest) + 5.0, y + BAR - 2.0, &look, &(panel.label)(outcome));
    }
    if let Some(bound) = bound {
        let stroke = Stroke { dash: "4 3", ..Stroke::thin(INK) };
        canvas.line((x(bound), top - 2.0), (x(bound), bottom), &stroke);
    }
}
