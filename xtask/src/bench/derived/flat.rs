//! Does throughput stay, however many accounts there are?

use crate::bench::{
    areas::Area,
    stored::{Aim, Stored, rounded},
};

/// The least that is left of the throughput with the fewest accounts, wherever there are more.
const FLAT: &str = "accounts_flat";
/// Flat means: within a tenth.
const FLAT_MIN: f64 = 0.9;

pub(super) fn is_one(row: &Stored) -> bool {
    row.workload == FLAT
}

pub(super) fn complete(area: &Area, rows: &mut Vec<Stored>) {
    let sizes = sizes(area);
    let Some(flat) = flat(area, &sizes, rows) else { return };
    let made_from =
        |row: &Stored| row.area == area.name && sizes.iter().any(|(_, name)| row.workload == *name);
    let behind = rows.iter().rposition(made_from).map_or(rows.len(), |at| at + 1);
    rows.insert(behind, flat);
}

/// The rows `accounts_<number>` of an area, from the fewest.
fn sizes(area: &Area) -> Vec<(u64, &'static str)> {
    let names = area.plans.iter().flat_map(|plan| plan.results).copied();
    let size = |name: &str| name.strip_prefix("accounts_")?.parse().ok();
    let mut sizes: Vec<(u64, &str)> = names.filter_map(|name| Some((size(name)?, name))).collect();
    sizes.sort_unstable();
    sizes
}

fn flat(area: &Area, sizes: &[(u64, &str)], rows: &[Stored]) -> Option<Stored> {
    let [(_, fewest), more @ ..] = sizes else { return None };
    let find = |name: &str| {
        rows.iter().find(|row| row.area == area.name && row.workload == name && row.ours.is_some())
    };
    let fewest = find(fewest)?;
    // All of them, or the least could be among those that are not there.
    let more = more.iter().map(|(_, name)| find(name)).collect::<Option<Vec<&Stored>>>()?;
    let worst = more.iter().min_by(|one, other| {
        one.ours.unwrap_or_default().total_cmp(&other.ours.unwrap_or_default())
    })?;
    let ours = rounded(worst.ours? / fewest.ours?);
    if !ours.is_finite() {
        return None;
    }
    // Whoever is slow may well be flat: that is no contest.
    let of_peer = |(name, fewest): (&String, &Option<f64>)| {
        let value = |row: &&Stored| row.peers.as_ref()?.get(name).copied().flatten();
        let values = more.iter().map(value).collect::<Option<Vec<f64>>>()?;
        let least = values.into_iter().reduce(f64::min)?;
        Some((name.clone(), Some(rounded(least / (*fewest)?))))
    };
    Some(Stored {
        area: area.name.to_owned(),
        workload: FLAT.to_owned(),
        unit: "of the throughput".to_owned(),
        larger_is_better: Some(true),
        ours: Some(ours),
        spread: fewest.spread.zip(worst.spread).map(|(one, other)| rounded(one + other)),
        information: fewest.peers.iter().flatten().filter_map(of_peer).collect(),
        target: Aim { min: Some(FLAT_MIN), ..Aim::default() },
        met: Some(ours >= FLAT_MIN),
        allocator: worst.allocator.clone(),
        workers: worst.workers,
        ..Stored::default()
    })
}

#[cfg(test)]
mod tests {
    use super::{super::complete, *};

    fn row(area: &str, workload: &str, ours: f64, peer: Option<f64>) -> Stored {
        Stored {
            area: area.to_owned(),
            workload: workload.to_owned(),
            ours: Some(ours),
            spread: Some(0.1),
            peers: peer.map(|value| [("anvil".to_owned(), Some(value))].into()),
            ..Stored::default()
        }
    }

    #[test]
    fn flat_is_the_worst_by_the_fewest_and_stands_behind_them() {
        let mut rows = vec![
            row("node", "accounts_100", 200.0, Some(10.0)),
            row("node", "accounts_4000", 170.0, Some(9.0)),
            row("node", "accounts_100000", 190.0, Some(8.0)),
            row("node", "call_idle", 1.0, None),
        ];
        complete(&mut rows);
        let names: Vec<&str> = rows.iter().map(|row| row.workload.as_str()).collect();
        assert_eq!(names[2..], ["accounts_100000", FLAT, "call_idle"]);
        let flat = &rows[3];
        assert_eq!((flat.ours, flat.met, flat.spread), (Some(0.85), Some(false), Some(0.2)));
        assert!(flat.falls_short(), "so that a reason is asked for");
        // It enters no ratio: a slow one may well be flat.
        assert_eq!((flat.ratio, flat.information["anvil"]), (None, Some(0.8)));
    }

    #[test]
    fn each_area_has_its_own() {
        let ours = |area: &str, name: &str, ours| row(area, name, ours, None);
        let mut rows = vec![
            ours("shard", "accounts_100", 100.0),
            ours("shard", "accounts_10000", 99.0),
            ours("shard", "accounts_1000000", 95.0),
            ours("node", "accounts_100", 100.0),
            ours("node", "accounts_4000", 99.0),
            ours("node", "accounts_100000", 50.0),
        ];
        complete(&mut rows);
        let flat: Vec<_> = rows.iter().filter(|row| row.workload == FLAT).collect();
        assert_eq!([flat[0].ours, flat[1].ours], [Some(0.95), Some(0.5)]);
        assert_eq!([flat[0].met, flat[1].met], [Some(true), Some(false)]);
    }

    #[test]
    fn where_one_is_not_there_nothing_is_said() {
        let all = ["accounts_100", "accounts_4000", "accounts_100000"];
        let all = all.map(|name| row("node", name, 1.0, None));
        for at in 0..all.len() {
            let mut gone = all.to_vec();
            gone.remove(at);
            let mut failed = all.to_vec();
            failed[at].ours = None;
            for mut rows in [gone, failed] {
                complete(&mut rows);
                assert!(rows.iter().all(|row| row.workload != FLAT), "{rows:?}");
            }
        }
    }
}
