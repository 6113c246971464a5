//! Several numbers of workers: a panel for each measure, a line for each pair.

use observe::svg::{AXIS, Anchor, Canvas, GRID, INK, QUIET, Stroke, Text};

use super::{Report, colour, heading, scale::tick, shortest_makespan};
use crate::policies::{
    measure::Outcome,
    pairs::{BalancerName, Pair},
};

const LEFT: f64 = 24.0;
/// Room for what is written beside a vertical axis.
const BESIDE: f64 = 64.0;
const PANEL: (f64, f64) = (390.0, 230.0);
/// Room above and below a panel.
const ABOVE: f64 = 30.0;
const BELOW: f64 = 62.0;
const LEGEND: f64 = 64.0;

struct Panel {
    title: &'static str,
    value: fn(&Outcome) -> f64,
    scale: Scale,
}

#[derive(Clone, Copy, PartialEq)]
enum Scale {
    /// Seconds, each power of ten as high as the next; what is nothing lies on the axis.
    Powers,
    /// From 0 to 1.
    Share,
}

const PANELS: [Panel; 4] = [
    Panel {
        title: "Makespan (dashed grey: no schedule is shorter)",
        value: |outcome| outcome.makespan.as_secs_f64(),
        scale: Scale::Powers,
    },
    Panel {
        title: "Waiting, 99 of 100 jobs wait less",
        value: |outcome| outcome.waiting_p99.as_secs_f64(),
        scale: Scale::Powers,
    },
    Panel {
        title: "Fairness (Jain's index of speeds)",
        value: |outcome| outcome.fairness,
        scale: Scale::Share,
    },
    Panel {
        title: "Utilization (of all workers' time)",
        value: |outcome| outcome.utilization,
        scale: Scale::Share,
    },
];

fn dash(balancer: BalancerName) -> &'static str {
    match balancer {
        BalancerName::None => "",
        BalancerName::RoundRobin => "12 4",
        BalancerName::LeastLoaded => "6 3",
        BalancerName::Fastest => "2 3",
        BalancerName::Affinity => "10 3 2 3",
    }
}

fn stroke(pair: Pair) -> Stroke {
    Stroke { colour: colour(pair.policy), width: 1.8, dash: dash(pair.balancer) }
}

pub(super) fn chart(report: &Report, by_workers: &[Vec<Outcome>]) -> String {
    let width = LEFT + 2.0 * (BESIDE + PANEL.0) + 2.0 * LEFT;
    let height = 72.0 + LEGEND + 2.0 * (ABOVE + PANEL.1 + BELOW);
    let mut canvas = Canvas::new(width, height);
    let top = heading(&mut canvas, report, LEFT);
    legend(&mut canvas, &by_workers[0], top);
    for (at, panel) in PANELS.iter().enumerate() {
        let left = LEFT + BESIDE + (at % 2) as f64 * (BESIDE + PANEL.0 + LEFT);
        let top = top + LEGEND + ABOVE + (at / 2) as f64 * (ABOVE + PANEL.1 + BELOW);
        let frame = Frame::new(panel, by_workers, report, (left, top));
        frame.draw_axes(&mut canvas, panel.title, by_workers);
        if at == 0 {
            let bound = |workers: usize| shortest_makespan(report, workers);
            let points = by_workers.iter().map(|outcomes| outcomes[0].workers);
            let points = points.map(|workers| frame.point(workers, bound(workers)));
            let stroke = Stroke { dash: "4 3", ..Stroke::thin(AXIS) };
            canvas.path(&points.collect::<Vec<_>>(), &stroke);
        }
        for of_pair in 0..by_workers[0].len() {
            let points: Vec<(f64, f64)> = by_workers
                .iter()
                .map(|outcomes| &outcomes[of_pair])
                .map(|outcome| frame.point(outcome.workers, (panel.value)(outcome)))
                .collect();
            let pair = by_workers[0][of_pair].pair;
            canvas.path(&points, &stroke(pair));
            points.iter().for_each(|point| canvas.dot(*point, colour(pair.policy)));
        }
    }
    canvas.finish("Policies and balancers compared, by number of workers")
}

/// Colours are policies, dashes are balancers.
fn legend(canvas: &mut Canvas, outcomes: &[Outcome], top: f64) {
    let mut policies: Vec<Pair> = outcomes.iter().map(|outcome| outcome.pair).collect();
    let mut balancers = policies.clone();
    policies.dedup_by_key(|pair| pair.policy);
    balancers.sort_by_key(|pair| pair.balancer as usize);
    balancers.dedup_by_key(|pair| pair.balancer);
    let mut row = |y: f64, entries: Vec<(Stroke, &str)>| {
        let mut x = LEFT;
        for (stroke, name) in entries {
            canvas.line((x, y - 4.0), (x + 34.0, y - 4.0), &stroke);
            canvas.text(x + 40.0, y, &Text::new(INK), name);
            x += 66.0 + 7.0 * name.len() as f64;
        }
    };
    let plain = |pair: &Pair| Stroke { width: 3.0, dash: "", ..stroke(*pair) };
    let of_policies = policies.iter().map(|pair| (plain(pair), pair.policy_name()));
    row(top + 8.0, of_policies.collect());
    let grey = |pair: &Pair| Stroke { colour: QUIET, ..stroke(*pair) };
    let name = |pair: &Pair| pair.balancer_name().unwrap_or("no balancer");
    row(top + 32.0, balancers.iter().map(|pair| (grey(pair), name(pair))).collect());
}

/// Where values lie in a panel.
struct Frame {
    origin: (f64, f64),
    scale: Scale,
    /// The smallest and the largest power of ten.
    powers: (f64, f64),
    /// The logarithms of the least and the most workers.
    workers: (f64, f64),
}

impl Frame {
    fn new(
        panel: &Panel,
        by_workers: &[Vec<Outcome>],
        report: &Report,
        origin: (f64, f64),
    ) -> Frame {
        let logs = by_workers.iter().map(|outcomes| (outcomes[0].workers as f64).log2());
        let workers =
            logs.fold((f64::MAX, f64::MIN), |(min, max), log| (min.min(log), max.max(log)));
        let values = by_workers.iter().flatten().map(panel.value);
        let bounds = by_workers.iter().map(|of| shortest_makespan(report, of[0].workers));
        let bounds = bounds.filter(|_| panel.title.starts_with("Makespan"));
        let values = values.chain(bounds).filter(|value| *value > 0.0).map(f64::log10);
        let (min, max) =
            values.fold((f64::MAX, f64::MIN), |(min, max), v| (min.min(v), max.max(v)));
        let powers = match (min.floor(), max.ceil()) {
            (min, max) if min > max => (-3.0, 0.0),
            (min, max) if min == max => (min, max + 1.0),
            powers => powers,
        };
        Frame { origin, scale: panel.scale, powers, workers }
    }

    fn point(&self, workers: usize, value: f64) -> (f64, f64) {
        let (min, max) = self.workers;
        let across = if max > min { ((workers as f64).log2() - min) / (max - min) } else { 0.5 };
        (self.origin.0 + PANEL.0 * across, self.y(value))
    }

    fn y(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Share => value,
            Scale::Powers if value <= 0.0 => 0.0,
            // The lowest part is for what is nothing.
            Scale::Powers => {
                let (min, max) = self.powers;
                0.06 + 0.94 * (value.log10() - min) / (max - min)
            }
        };
        self.origin.1 + PANEL.1 * (1.0 - share.clamp(0.0, 1.0))
    }

    fn draw_axes(&self, canvas: &mut Canvas, title: &str, by_workers: &[Vec<Outcome>]) {
        let (left, top) = self.origin;
        let bottom = top + PANEL.1;
        canvas.text(left, top - 12.0, &Text { size: 13.0, bold: true, ..Text::new(INK) }, title);
        let small = Text { size: 11.0, ..Text::new(QUIET) };
        let marks: Vec<(f64, String)> = match self.scale {
            Scale::Share => [0.0, 0.25, 0.5, 0.75, 1.0].map(|at| (at, at.to_string())).to_vec(),
            Scale::Powers => {
                let powers = self.powers.0 as i32..=self.powers.1 as i32;
                let marks = powers.map(|power| 10f64.powi(power)).map(|at| (at, tick(at)));
                marks.chain([(0.0, "0".to_owned())]).collect()
            }
        };
        for (value, name) in marks {
            let y = self.y(value);
            canvas.line((left, y), (left + PANEL.0, y), &Stroke::thin(GRID));
            canvas.text(left - 8.0, y + 4.0, &small.anchored(Anchor::End), &name);
        }
        let mut free_from = f64::MIN;
        for outcomes in by_workers {
            let workers = outcomes[0].workers;
            let (x, _) = self.point(workers, 0.0);
            canvas.line((x, bottom), (x, bottom + 4.0), &Stroke::thin(AXIS));
            // A name that would stand in another is left out.
            if x >= free_from {
                canvas.text(
                    x,
                    bottom + 17.0,
                    &small.anchored(Anchor::Middle),
                    &workers.to_string(),
                );
                free_from = x + 32.0;
            }
        }
        canvas.line((left, bottom), (left + PANEL.0, bottom), &Stroke::thin(AXIS));
        canvas.line((left, top), (left, bottom), &Stroke::thin(AXIS));
        let middle = left + PANEL.0 / 2.0;
        canvas.text(middle, bottom + 34.0, &small.anchored(Anchor::Middle), "workers");
    }
}
