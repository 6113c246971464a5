//! How does the cost of one grow with their number, or with the workers? Lines over sizes.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use anyhow::{Context, Result, bail};

use super::{report::svg::escape, stored::Stored};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 56.0;
/// So many sizes make a curve.
const SIZES_MIN: usize = 3;

/// Ours first.
const COLOURS: &[&str] =
    &["#0b6e4f", "#b3541e", "#3d5a99", "#8a4f9e", "#7a6a00", "#a02c4a", "#4a4a4a", "#1f7a8c"];

/// Once all colours are used, they begin again with these.
const DASHES: &[&str] = &["", "7 3", "2 3"];

/// Behind the name of one who is no peer.
const INFORMATION: &str = "(no peer)";

/// A contestant, and what one cost at each size.
type Lines = BTreeMap<String, Vec<(f64, f64)>>;

/// Rows that differ in one number.
#[derive(Debug, Default)]
pub(super) struct Family {
    /// What is on the axis below.
    pub(super) of: &'static str,
    unit: String,
    lines: Lines,
}

/// Writes the chart, if the rows for it were measured.
pub(super) fn write_growth(file: &Path, rows: &[Stored]) -> Result<()> {
    let families = families(rows);
    let Some((name, family)) = families.iter().find(|(name, _)| name.contains("growth")) else {
        bail!("no row shows growth; measure the workloads that are called growth_<number>");
    };
    fs::write(file, family.draw(name)).with_context(|| format!("writing {}", file.display()))
}

/// Rows of one area that are called alike but for their size, and those that were run with one
/// worker and with two. By a name that a file may have.
pub(super) fn families(rows: &[Stored]) -> BTreeMap<String, Family> {
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    for row in rows {
        if let Some((name, size)) = sized(&row.workload) {
            families.entry(name).or_default().add("items", size, row);
        }
        let alone = format!("{}_1", row.workload);
        let twin = rows.iter().find(|other| other.workload == alone && other.workers == 1);
        if let (Some(alone), 2) = (twin, row.workers) {
            let family = families.entry(format!("{}-workers", row.workload)).or_default();
            family.add("workers", 1.0, alone);
            family.add("workers", 2.0, row);
        }
    }
    families.retain(|_, family| family.sizes().len() >= SIZES_MIN || family.of == "workers");
    families
}

/// `growth_1000_each` as `growth_each` and 1000. Numbers below a hundred are no sizes.
fn sized(name: &str) -> Option<(String, f64)> {
    let parts: Vec<&str> = name.split('_').collect();
    let is_size = |part: &&str| part.len() >= 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    let at = parts.iter().position(is_size)?;
    let rest = parts.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, part)| *part);
    Some((rest.collect::<Vec<_>>().join("_"), parts[at].parse().ok()?))
}

impl Family {
    fn add(&mut self, of: &'static str, size: f64, row: &Stored) {
        (self.of, self.unit) = (of, row.unit.clone());
        // A space sorts before every name.
        let ours = row.ours.map(|value| (" shiftwork", value));
        let named = |(name, value): (&str, f64)| (name.to_owned(), value);
        let peers = ours.into_iter().chain(row.peers_in_order()).map(named);
        let others = row.information_in_order().into_iter();
        let others = others.map(|(name, value)| (format!("{name} {INFORMATION}"), value));
        for (name, value) in peers.chain(others) {
            self.lines.entry(name).or_default().push((size, value));
        }
        self.lines.values_mut().for_each(|points| points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    }

    fn sizes(&self) -> Vec<f64> {
        let mut sizes: Vec<f64> = self.lines.values().flatten().map(|(size, _)| *size).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        sizes
    }

    pub(super) fn draw(&self, name: &str) -> String {
        draw(name, &self.lines, &self.unit, self.of)
    }
}

fn draw(name: &str, lines: &Lines, unit: &str, of: &str) -> String {
    let points = || lines.values().flatten();
    let low = points().map(|(size, _)| *size).fold(f64::INFINITY, f64::min);
    let high = points().map(|(size, _)| *size).fold(0.0, f64::max);
    let most = points().map(|(_, cost)| *cost).fold(0.0, f64::max) * 1.1;
    let decades = (high / low).log10().max(f64::MIN_POSITIVE);
    let x = |size: f64| LEFT + (size / low).log10() / decades * (WIDTH - LEFT - RIGHT);
    let y = |cost: f64| HEIGHT - BOTTOM - cost / most * (HEIGHT - TOP - BOTTOM);

    let mut svg = String::new();
    let mut add = |text: String| svg.write_str(&text).expect("a string takes everything");
    add(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">{} in {} over the number of \
         {of}</text>\n",
        escape(name),
        escape(unit)
    ));
    let step = nice(most / 5.0);
    let mut tick = 0.0;
    while tick <= most {
        let at = y(tick);
        add(format!(
            "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>\n",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0
        ));
        tick += step;
    }
    let mut sizes: Vec<f64> = points().map(|(size, _)| *size).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    for size in sizes {
        add(format!(
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{size}</text>\n",
            x(size),
            HEIGHT - BOTTOM + 20.0
        ));
    }
    add(format!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{of}</text>\n",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 14.0
    ));
    for (at, (name, points)) in lines.iter().enumerate() {
        let style = style(at);
        let path: Vec<String> =
            points.iter().map(|(s, c)| format!("{:.1},{:.1}", x(*s), y(*c))).collect();
        let width = if at == 0 { 3 } else { 1 };
        let legend = TOP + 18.0 * at as f64;
        add(format!(
            "<polyline points=\"{}\" fill=\"none\" {style} stroke-width=\"{width}\"/>\
             <path d=\"M{} {:.1}h20\" {style} stroke-width=\"3\"/>\
             <text x=\"{}\" y=\"{:.1}\">{}</text>\n",
            path.join(" "),
            WIDTH - RIGHT + 12.0,
            legend - 4.0,
            WIDTH - RIGHT + 38.0,
            legend,
            escape(name.trim())
        ));
    }
    add("</svg>\n".to_owned());
    svg
}

/// Of the line of the n-th contestant: no two are alike.
fn style(at: usize) -> String {
    let colour = COLOURS[at % COLOURS.len()];
    match DASHES[at / COLOURS.len() % DASHES.len()] {
        "" => format!("stroke=\"{colour}\""),
        dashes => format!("stroke=\"{colour}\" stroke-dasharray=\"{dashes}\""),
    }
}

/// The next larger of 1, 2 and 5 times a power of ten.
fn nice(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|n| *n >= step).unwrap_or(step)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_contestant_has_its_line_and_its_name() {
        let points = |cost: f64| vec![(1_000.0, cost), (10_000.0, cost * 1.5)];
        let lines =
            Lines::from([(" shiftwork".into(), points(20.0)), ("rayon".into(), points(30.0))]);
        let svg = draw("growth", &lines, "ns/node", "items");
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains(">shiftwork<") && svg.contains(">rayon<") && svg.contains("ns/node"));
        assert!(svg.contains(">10000<"));
    }

    #[test]
    fn no_two_lines_look_alike() {
        let names = (0..20).map(|n| (format!("peer{n:02}"), vec![(1.0, 1.0), (2.0, 2.0)]));
        let svg = draw("growth", &names.collect(), "ns/node", "workers");
        let styles = svg.split("<polyline").skip(1).map(|line| {
            let (_, style) = line.split_once("fill=\"none\" ").unwrap();
            style.split_once(" stroke-width").unwrap().0
        });
        let styles: BTreeSet<&str> = styles.collect();
        assert_eq!(styles.len(), 20, "{styles:?}");
    }

    fn row(workload: &str, workers: usize) -> Stored {
        let ours = Some(1.0);
        Stored { workload: workload.to_owned(), workers, ours, ..Stored::default() }
    }

    #[test]
    fn a_curve_is_of_three_sizes_at_least() {
        let names = ["growth_1000_each", "growth_10000_each", "growth_100000_each", "ring_100"];
        let families = families(&names.map(|name| row(name, 2)));
        assert_eq!(families.keys().collect::<Vec<_>>(), ["growth_each"]);
        assert_eq!(families["growth_each"].sizes(), [1_000.0, 10_000.0, 100_000.0]);
    }

    #[test]
    fn one_worker_and_two_are_a_curve_too() {
        let families = families(&[row("ping_pong", 2), row("ping_pong_1", 1), row("spawn", 2)]);
        assert_eq!(families.keys().collect::<Vec<_>>(), ["ping_pong-workers"]);
        assert_eq!(families["ping_pong-workers"].sizes(), [1.0, 2.0]);
    }

    #[test]
    fn who_is_there_for_information_has_a_line_that_says_so() {
        let with = |name: &str, workers| Stored {
            information: [("erlang".to_owned(), Some(2.0)), ("lost".to_owned(), None)].into(),
            ..row(name, workers)
        };
        let families = families(&[with("spawn", 2), with("spawn_1", 1)]);
        let svg = families["spawn-workers"].draw("spawn-workers");
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains(">erlang (no peer)<"), "{svg}");
    }

    #[test]
    fn steps_are_round() {
        assert_eq!([nice(0.7), nice(12.0), nice(40.0)], [1.0, 20.0, 50.0]);
    }
}
