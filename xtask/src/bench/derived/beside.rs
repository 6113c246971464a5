//! Numbers beside a value that are aimed at themselves: each is a row of its own.

use std::collections::BTreeMap;

use crate::bench::{
    areas::{self, Area},
    plan::{Allocator, Number},
    row::{Row, Series},
    stored::{Stored, rounded},
};

pub(super) fn is_one(row: &Stored) -> bool {
    let numbers = areas::find(&row.area).map_or(&[][..], |area| area.numbers);
    let made_by = |number: &Number| number.of.iter().any(|of| number.row(of) == row.workload);
    numbers.iter().any(made_by)
}

pub(super) fn complete(area: &Area, rows: &mut Vec<Stored>) {
    let made = |row: &Stored| {
        let numbers = area.numbers.iter().filter(|number| number.of.contains(&&*row.workload));
        numbers.filter_map(|number| made(number, row)).collect::<Vec<Stored>>()
    };
    let with_numbers = |row: Stored| {
        let made = if row.area == area.name { made(&row) } else { Vec::new() };
        std::iter::once(row).chain(made)
    };
    *rows = std::mem::take(rows).into_iter().flat_map(with_numbers).collect();
}

fn made(number: &Number, from: &Stored) -> Option<Stored> {
    let series = |beside: &BTreeMap<String, f64>| Some(Series::of(*beside.get(number.name)?));
    let peer = |(name, beside): (&String, _)| Some((name.clone(), series(beside)?));
    let row = Row {
        name: number.row(&from.workload),
        unit: number.unit.to_owned(),
        // It may be another; the row that it is from knows.
        allocator: Allocator::System,
        apart: false,
        workers: from.workers,
        better: number.better,
        ours: series(&from.beside)?,
        peers: from.peers_beside.iter().filter_map(peer).collect(),
        information: BTreeMap::new(),
        floor: None,
        target: number.target,
    };
    let mut row = Stored::new(&from.area, &row);
    row.allocator = from.allocator.clone();
    row.range = from.beside_range.get(number.name).copied();
    let share = |range: f64| row.ours.filter(|ours| *ours > 0.0).map(|ours| rounded(range / ours));
    row.spread = row.range.and_then(share);
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dag(ours: f64, rayon: f64, levels: f64) -> Stored {
        let overhead = |value: f64| BTreeMap::from([("overhead_ns".to_owned(), value)]);
        let peers = [("rayon", rayon), ("petgraph-levels", levels)];
        let row = Stored {
            area: "job".to_owned(),
            workload: "dag_1us".to_owned(),
            ours: Some(440.0),
            beside_range: overhead(5.0),
            beside: overhead(ours),
            peers_beside: peers.map(|(name, value)| (name.to_owned(), overhead(value))).into(),
            ..Stored::default()
        };
        let mut rows = vec![row];
        complete(areas::find("job").unwrap(), &mut rows);
        rows.swap_remove(1)
    }

    #[test]
    fn a_number_has_its_peers_and_its_target() {
        let row = dag(20.0, 60.0, 40.0);
        assert_eq!((row.workload.as_str(), row.ours), ("dag_1us_overhead", Some(20.0)));
        assert_eq!((row.best_peer.as_deref(), row.ratio), (Some("petgraph-levels"), Some(2.0)));
        assert_eq!((row.met, row.range, row.spread), (Some(true), Some(5.0), Some(0.25)));
        assert_eq!(dag(31.0, 60.0, 40.0).met, Some(false), "more than 30");
        assert_eq!(dag(20.0, 25.0, 40.0).met, Some(false), "more than 0.7 times rayon");
        assert!(dag(20.0, 60.0, 10.0).falls_short(), "behind a peer");
    }

    #[test]
    fn what_is_next_to_nothing_has_no_ratio() {
        let row = dag(20.0, 60.0, -1.0);
        assert_eq!((row.best_peer.as_deref(), row.ratio), (Some("petgraph-levels"), None));
        assert_eq!(row.met, Some(false));
        let row = dag(-1.0, 60.0, 40.0);
        assert_eq!((row.ratio, row.met), (None, Some(true)));
    }

    #[test]
    fn a_row_without_the_number_makes_none() {
        let mut rows = vec![Stored { beside: BTreeMap::new(), ..dag(20.0, 60.0, 40.0) }];
        rows[0].workload = "dag_1us".to_owned();
        complete(areas::find("job").unwrap(), &mut rows);
        assert_eq!(rows.len(), 1);
    }
}
