//! Rows that are computed from others: does throughput stay, however many accounts there are?

use super::{
    areas::{self, Area},
    stored::{Aim, Stored, rounded},
};

/// What is left of the throughput with the fewest accounts where there are most.
pub(super) const FLAT: &str = "accounts_flat";
/// Flat means: within a tenth.
const FLAT_MIN: f64 = 0.9;

/// Adds the rows that others make, behind those. One that is there already is made anew.
pub(super) fn complete(rows: &mut Vec<Stored>) {
    rows.retain(|row| row.workload != FLAT);
    for area in areas::ALL {
        let sizes = sizes(area);
        let Some(flat) = flat(area, &sizes, rows) else { continue };
        let made_from = |row: &Stored| {
            row.area == area.name && sizes.iter().any(|(_, name)| row.workload == *name)
        };
        let behind = rows.iter().rposition(made_from).map_or(rows.len(), |at| at + 1);
        rows.insert(behind, flat);
    }
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
    let [(_, fewest), .., (_, most)] = sizes else { return None };
    let find = |name: &str| {
        rows.iter().find(|row| row.area == area.name && row.workload == name && row.ours.is_some())
    };
    let (fewest, most) = (find(fewest)?, find(most)?);
    let share = |most: Option<f64>, fewest: Option<f64>| Some(rounded(most? / fewest?));
    let ours = share(most.ours, fewest.ours).filter(|share| share.is_finite())?;
    // Whoever is slow may well be flat: that is no contest.
    let of_peer = |(name, value): (&String, &Option<f64>)| {
        let fewest = fewest.peers.as_ref()?.get(name).copied().flatten();
        Some((name.clone(), Some(share(*value, fewest)?)))
    };
    Some(Stored {
        area: area.name.to_owned(),
        workload: FLAT.to_owned(),
        unit: "of the throughput".to_owned(),
        larger_is_better: Some(true),
        ours: Some(ours),
        spread: rounded(fewest.spread + most.spread),
        information: most.peers.iter().flatten().filter_map(of_peer).collect(),
        target: Aim { min: Some(FLAT_MIN), ..Aim::default() },
        met: Some(ours >= FLAT_MIN),
        allocator: most.allocator.clone(),
        workers: most.workers,
        ..Stored::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(area: &str, workload: &str, ours: f64, peer: Option<f64>) -> Stored {
        Stored {
            area: area.to_owned(),
            workload: workload.to_owned(),
            ours: Some(ours),
            spread: 0.1,
            peers: peer.map(|value| [("anvil".to_owned(), Some(value))].into()),
            ..Stored::default()
        }
    }

    #[test]
    fn flat_is_most_accounts_by_fewest_and_stands_behind_them() {
        let mut rows = vec![
            row("node", "accounts_100", 200.0, Some(10.0)),
            row("node", "accounts_4000", 10.0, Some(1.0)),
            row("node", "accounts_100000", 170.0, Some(8.0)),
            row("node", "call_idle", 1.0, None),
        ];
        complete(&mut rows);
        let names: Vec<&str> = rows.iter().map(|row| row.workload.as_str()).collect();
        assert_eq!(names[2..], ["accounts_100000", FLAT, "call_idle"]);
        let flat = &rows[3];
        assert_eq!((flat.ours, flat.met, flat.spread), (Some(0.85), Some(false), 0.2));
        assert!(flat.falls_short(), "so that a reason is asked for");
        // It enters no ratio: a slow one may well be flat.
        assert_eq!((flat.ratio, flat.information["anvil"]), (None, Some(0.8)));
        let once = rows.clone();
        complete(&mut rows);
        assert_eq!(rows, once);
    }

    #[test]
    fn each_area_has_its_own() {
        let ours = |area: &str, name: &str, ours| row(area, name, ours, None);
        let mut rows = vec![
            ours("shard", "accounts_100", 100.0),
            ours("shard", "accounts_1000000", 95.0),
            ours("node", "accounts_100", 100.0),
            ours("node", "accounts_100000", 50.0),
        ];
        complete(&mut rows);
        let flat: Vec<_> = rows.iter().filter(|row| row.workload == FLAT).collect();
        assert_eq!([flat[0].ours, flat[1].ours], [Some(0.95), Some(0.5)]);
        assert_eq!([flat[0].met, flat[1].met], [Some(true), Some(false)]);
    }

    #[test]
    fn without_both_ends_nothing_is_said() {
        let failed = Stored { ours: None, ..row("node", "accounts_100", 0.0, None) };
        let most = row("node", "accounts_100000", 1.0, None);
        for mut rows in [vec![most.clone()], vec![failed, most]] {
            complete(&mut rows);
            assert!(rows.iter().all(|row| row.workload != FLAT), "{rows:?}");
        }
    }
}
