//! How does a reader see at a glance where we stand?

use super::{
    derived::is_derived,
    plan::{Allocator, Target},
    row::{Row, Series},
    stored::Stored,
};

const HEAD: [&str; 9] =
    ["workload", "unit", "ours", "best peer", "ratio", "target", "met", "floor", "spread"];

/// Prints the summary, then what each peer needed.
pub(super) fn print(rows: &[Row]) {
    let mut lines = vec![HEAD.map(String::from).to_vec()];
    lines.extend(rows.iter().map(|row| summary(row).to_vec()));
    print_aligned(&lines);
    println!(
        "\nratio: above 1 ours is better than the best peer; spread: of ours, (max-min)/median, \
         none of one round\n"
    );
    for row in rows {
        let mut others = row.others_in_order();
        others.insert(0, ("ours", &row.ours));
        let shown: Vec<String> =
            others.into_iter().map(|(name, series)| all(name, series)).collect();
        println!("{} [{}]: {}", title(row), row.unit, shown.join(", "));
    }
    println!();
}

/// Prints what was computed from other rows.
pub(super) fn print_derived<'a>(rows: impl Iterator<Item = &'a Stored>) {
    for row in rows.filter(|row| is_derived(row)) {
        let value = row.ours.map_or_else(|| "-".to_owned(), number);
        let best = row.peers_in_order().into_iter().next();
        let best = best.map(|(name, value)| format!(", {name} {}", number(value)));
        let best = best.unwrap_or_default();
        let met = if row.met == Some(true) { "yes" } else { "NO" };
        let target = row.target.words(number);
        println!("{}: {value} {}{best} (target: {target}; met: {met})", row.workload, row.unit);
    }
}

fn title(row: &Row) -> String {
    match row.allocator {
        Allocator::Mimalloc if row.apart => format!("{} ({})", row.name, row.allocator),
        _ => row.name.clone(),
    }
}

fn summary(row: &Row) -> [String; 9] {
    let none = || "-".to_owned();
    [
        title(row),
        row.unit.clone(),
        row.ours.value().map_or_else(none, number),
        row.best_peer().map_or_else(none, |(name, value)| format!("{} {name}", number(value))),
        row.ratio().map_or_else(none, |ratio| format!("{ratio:.2}")),
        target(&row.target),
        row.met().map_or_else(none, |met| if met { "yes" } else { "NO" }.to_owned()),
        row.floor.map_or_else(none, number),
        spread(row.ours.spread(), row.ours.range(), &row.unit).unwrap_or_else(none),
    ]
}

fn target(target: &Target) -> String {
    let mut parts = Vec::new();
    parts.extend(target.max.map(|max| format!("<= {}", number(max))));
    parts.extend(target.min.map(|min| format!(">= {}", number(min))));
    parts.extend(target.ratio.map(|ratio| format!("x{}", number(ratio))));
    parts.extend(target.ahead.then(|| "x1".to_owned()));
    parts.extend(target.of_floor.map(|times| format!("floor x{}", number(times))));
    parts.extend(target.beside.map(|(name, max)| format!("{name} <= {max}")));
    parts.join(", ")
}

/// A contestant with the numbers beside its value, if they say more than how it was run.
fn all(name: &str, series: &Series) -> String {
    let beside: Vec<String> = series
        .beside()
        .into_iter()
        .filter(|(name, _)| !["items", "workers", "bound", "handled"].contains(name))
        .map(|(name, value)| format!("{name} {}", number(value)))
        .collect();
    let Some(value) = series.value() else {
        return format!("{name} - ({})", series.failure().unwrap_or("not run"));
    };
    let value = number(value);
    if beside.is_empty() {
        format!("{name} {value}")
    } else {
        format!("{name} {value} ({})", beside.join(", "))
    }
}

/// How far rounds are apart: as a share of the value, or in its unit where it is no part of it.
pub(super) fn spread(share: Option<f64>, range: Option<f64>, unit: &str) -> Option<String> {
    let share = share.map(|share| format!("{:.0} %", 100.0 * share));
    share.or_else(|| Some(format!("{} {unit}", number(range?))))
}

/// Three digits that matter; two of what is small.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        v if v.fract() == 0.0 || v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 => format!("{value:.2}"),
        v => format!("{value:.*}", 1 + (-v.log10()).ceil() as usize),
    }
}

pub(super) fn print_aligned(lines: &[Vec<String>]) {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    for line in lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        assert_eq!(["1.23", "12.3", "123", "8"], [1.234, 12.34, 123.4, 8.0].map(number));
        assert_eq!(["0", "-0.39", "-12.3", "-200"], [0.0, -0.388, -12.34, -200.4].map(number));
    }

    #[test]
    fn small_numbers_keep_two_digits() {
        assert_eq!(["0.12", "0.028", "0.010"], [0.123, 0.0283, 0.01].map(number));
        assert_eq!(["0.0045", "-0.0045"], [0.0045, -0.0045].map(number));
    }

    #[test]
    fn a_spread_is_a_share_where_it_can_be_one() {
        assert_eq!(spread(Some(0.123), Some(2.0), "ns").as_deref(), Some("12 %"));
        assert_eq!(spread(None, Some(2.0), "ns").as_deref(), Some("2 ns"));
        assert_eq!(spread(None, None, "ns"), None);
    }
}
