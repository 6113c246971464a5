//! How does the cost of one grow with their number? A chart of the rows `growth_<number>`.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use anyhow::{Context, Result, bail};

use super::row::Row;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 56.0;

/// Ours first.
const COLOURS: &[&str] =
    &["#0b6e4f", "#b3541e", "#3d5a99", "#8a4f9e", "#7a6a00", "#a02c4a", "#4a4a4a", "#1f7a8c"];

/// A contestant, and what one cost at each size.
type Lines = BTreeMap<String, Vec<(f64, f64)>>;

/// Writes the chart, if the rows for it were measured.
pub(super) fn write(file: &Path, rows: &[Row]) -> Result<()> {
    let lines = lines(rows);
    if lines.is_empty() {
        bail!("no row shows growth; measure the workloads that are called growth_<number>");
    }
    let unit = rows.iter().find(|row| size(row).is_some()).map_or("", |row| &row.unit);
    fs::write(file, draw(&lines, unit)).with_context(|| format!("writing {}", file.display()))
}

fn size(row: &Row) -> Option<f64> {
    row.name.strip_prefix("growth_")?.parse().ok()
}

fn lines(rows: &[Row]) -> Lines {
    let mut lines = Lines::new();
    for row in rows {
        let Some(size) = size(row) else { continue };
        // A space sorts before every name.
        let ours = row.ours.value().map(|value| (" shiftwork".to_owned(), value));
        let peers = row.peers.iter().filter_map(|(name, it)| Some((name.clone(), it.value()?)));
        for (name, value) in ours.into_iter().chain(peers) {
            lines.entry(name).or_default().push((size, value));
        }
    }
    lines.values_mut().for_each(|points| points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    lines
}

fn draw(lines: &Lines, unit: &str) -> String {
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
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">Cost of one against their number \
         ({unit}; lower is better)</text>\n"
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
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">jobs</text>\n",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 14.0
    ));
    for (at, (name, points)) in lines.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let path: Vec<String> =
            points.iter().map(|(s, c)| format!("{:.1},{:.1}", x(*s), y(*c))).collect();
        let width = if at == 0 { 3 } else { 1 };
        let legend = TOP + 18.0 * at as f64;
        add(format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>\
             <rect x=\"{}\" y=\"{:.1}\" width=\"12\" height=\"4\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"{:.1}\">{}</text>\n",
            path.join(" "),
            WIDTH - RIGHT + 12.0,
            legend - 5.0,
            WIDTH - RIGHT + 30.0,
            legend,
            name.trim()
        ));
    }
    add("</svg>\n".to_owned());
    svg
}

/// The next larger of 1, 2 and 5 times a power of ten.
fn nice(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|n| *n >= step).unwrap_or(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contestant_has_its_line_and_its_name() {
        let points = |cost: f64| vec![(1_000.0, cost), (10_000.0, cost * 1.5)];
        let lines =
            Lines::from([(" shiftwork".into(), points(20.0)), ("rayon".into(), points(30.0))]);
        let svg = draw(&lines, "ns/node");
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains(">shiftwork<") && svg.contains(">rayon<") && svg.contains("ns/node"));
        assert!(svg.contains(">10000<"));
    }

    #[test]
    fn steps_are_round() {
        assert_eq!([nice(0.7), nice(12.0), nice(40.0)], [1.0, 20.0, 50.0]);
    }
}
