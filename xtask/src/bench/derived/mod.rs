//! Rows that are computed from others, whenever results are measured or read.

mod beside;
mod flat;

use super::{areas, stored::Stored};

/// Adds the rows that others make, behind those. One that is there already is made anew.
pub(super) fn complete(rows: &mut Vec<Stored>) {
    rows.retain(|row| !is_derived(row));
    for area in areas::ALL {
        beside::complete(area, rows);
        flat::complete(area, rows);
    }
}

pub(super) fn is_derived(row: &Stored) -> bool {
    flat::is_one(row) || beside::is_one(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_computed_again_stays_as_it_was() {
        let row = |workload: &str| Stored {
            area: "node".to_owned(),
            workload: workload.to_owned(),
            ours: Some(100.0),
            allocator: "mimalloc".to_owned(),
            beside: [("recovery_share".to_owned(), 0.5)].into(),
            ..Stored::default()
        };
        let names = ["token_1_batch", "accounts_100", "accounts_4000", "accounts_100000"];
        let mut rows = names.map(row).to_vec();
        complete(&mut rows);
        let named: Vec<&str> = rows.iter().map(|row| row.workload.as_str()).collect();
        assert_eq!(named[..2], ["token_1_batch", "token_1_batch_recovery"]);
        assert_eq!(named[2..], [&names[1..], &["accounts_flat"]].concat());
        let once = rows.clone();
        complete(&mut rows);
        assert_eq!(rows, once);
    }
}
