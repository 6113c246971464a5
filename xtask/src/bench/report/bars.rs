//! Everyone in an area: a panel for each workload, a bar for each contestant.

use super::svg::{At, INFORMATION, LOSS, OURS, PEER, QUIET, Svg};
use crate::bench::{stored::Stored, table::number};

const COLUMNS: usize = 3;
const LEFT: f64 = 20.0;
/// Where the names of contestants end, at least, and how much room a character takes at most.
const NAMES_MIN: f64 = 138.0;
const CHARACTER: f64 = 6.0;
/// Between a name and its bar.
const GAP: f64 = 6.0;
/// The longest bar; what is left is for its value.
const LONGEST: f64 = 120.0;
const VALUE: f64 = 72.0;
const LINE: f64 = 15.0;
const TOP: f64 = 84.0;
/// Above and below the bars of a panel.
const AROUND: f64 = 38.0;

pub(super) fn draw(area: &str, about: &str, rows: &[Stored]) -> String {
    let mut svg = Svg::new();
    let heading = At { size: 16.0, bold: true, ..At::new(LEFT, 28.0) };
    svg.text(heading, &format!("{area}: ours and every peer"));
    svg.text(At { colour: QUIET, ..At::new(LEFT, 48.0) }, about);
    legend(&mut svg, rows);
    let names = names(rows);
    let width = names + LONGEST + VALUE;
    // Each panel goes where there is most room.
    let mut heights = [TOP; COLUMNS];
    for row in rows {
        let column = (0..COLUMNS).min_by(|a, b| heights[*a].total_cmp(&heights[*b])).unwrap_or(0);
        let left = LEFT + width * column as f64;
        heights[column] += panel(&mut svg, row, &row.title(rows), names, (left, heights[column]));
    }
    let height = heights.into_iter().fold(0.0, f64::max) + 10.0;
    svg.finish(&format!("{area}: ours and every peer"), width * COLUMNS as f64 + LEFT, height)
}

fn legend(svg: &mut Svg, rows: &[Stored]) {
    let mut entries =
        vec![(OURS, "ours, behind no peer"), (LOSS, "ours, behind one"), (PEER, "peers")];
    if rows.iter().any(|row| !row.information_in_order().is_empty()) {
        entries.push((INFORMATION, "no peers, for information"));
    }
    let mut x = LEFT;
    for (colour, name) in entries {
        svg.bar((x, 58.0), (10.0, 10.0), colour);
        svg.text(At::new(x + 15.0, 67.0), name);
        x += 40.0 + 6.5 * name.len() as f64;
    }
}

/// Draws one, with so much room for names, and returns how high it is.
fn panel(svg: &mut Svg, row: &Stored, title: &str, names: f64, (left, top): (f64, f64)) -> f64 {
    let better = if row.larger_is_better() { "more" } else { "less" };
    svg.text(At { bold: true, size: 12.0, ..At::new(left, top + 14.0) }, title);
    let about = format!("{}, {better} is better", row.unit);
    svg.text(At { colour: QUIET, size: 10.0, ..At::new(left, top + 27.0) }, &about);
    let behind = row.ratio.is_some_and(|ratio| ratio < 1.0);
    let ours = if behind { LOSS } else { OURS };
    let mut bars: Vec<(String, f64, &str)> = Vec::new();
    bars.extend(row.ours.map(|value| ("ours".to_owned(), value, ours)));
    let peers = row.peers_in_order();
    bars.extend(peers.into_iter().map(|(name, value)| (name.to_owned(), value, PEER)));
    let others = row.information_in_order();
    bars.extend(others.into_iter().map(|(name, value)| (name.to_owned(), value, INFORMATION)));
    bars.extend(row.floor.map(|value| ("(floor)".to_owned(), value, "#dddddd")));
    let largest = bars.iter().map(|(_, value, _)| *value).fold(f64::MIN_POSITIVE, f64::max);
    let mut y = top + AROUND;
    for (name, value, colour) in &bars {
        name_at(svg, name, left + names, y);
        let length = (LONGEST * value / largest).max(1.0);
        svg.bar((left + names, y), (length, LINE - 5.0), colour);
        svg.text(
            At { size: 10.0, ..At::new(left + names + length + 4.0, y + 9.0) },
            &number(*value),
        );
        y += LINE;
    }
    for name in row.peers_failed.keys() {
        name_at(svg, name, left + names, y);
        svg.text(At { colour: QUIET, size: 10.0, ..At::new(left + names, y + 9.0) }, "failed");
        y += LINE;
    }
    y - top + 12.0
}

fn name_at(svg: &mut Svg, name: &str, end: f64, y: f64) {
    svg.text(At { anchor: "end", size: 10.0, ..At::new(end - GAP, y + 9.0) }, name);
}

/// The room that the longest name of a contestant takes: none is cut.
fn names(rows: &[Stored]) -> f64 {
    let of_row = |row: &Stored| {
        let peers = row.peers_in_order().into_iter().chain(row.information_in_order());
        let named = peers.map(|(name, _)| name.chars().count());
        named.chain(row.peers_failed.keys().map(|name| name.chars().count())).max()
    };
    let longest = rows.iter().filter_map(of_row).max().unwrap_or(0);
    NAMES_MIN.max(GAP + CHARACTER * longest as f64)
}
