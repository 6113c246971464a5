//! Do shares get into each other's way?
//!
//! A share notes what it asks for and what its transactions have changed. Keys are noted by their
//! hashes: two that have the same are taken for one, and then something is executed again in vain.
//!
//! Invariant: a share has asked for all that it depends on, and notes each key that any of its
//! transactions has left different, also where a later one has changed it back: of two that run side
//! by side either might have seen that. So shares of which none has asked for what another one has
//! changed come to the same in any order.

use alloy_primitives::map::{HashMap, HashSet};

/// What a share has asked for and changed.
#[derive(Debug, Default)]
pub(super) struct Touched {
    pub(super) reads: Vec<u64>,
    pub(super) writes: HashSet<u64>,
    /// It has asked for the beneficiary.
    pub(super) looks: bool,
    /// It has paid a fee, which is added up apart.
    pub(super) pays: bool,
}

/// For each share the first of those that it depends on, one way or the other, or itself.
pub(super) fn groups(shares: &[&Touched]) -> Vec<usize> {
    let mut groups = Groups::new(shares.len());
    let writes = shares.iter().map(|touched| touched.writes.len()).sum();
    let mut writers: HashMap<u64, usize> = HashMap::default();
    writers.reserve(writes);
    for (share, touched) in shares.iter().enumerate() {
        for key in &touched.writes {
            if let Some(other) = writers.insert(*key, share) {
                groups.join(share, other);
            }
        }
    }
    for (share, touched) in shares.iter().enumerate() {
        for writer in touched.reads.iter().filter_map(|key| writers.get(key)) {
            groups.join(share, *writer);
        }
    }
    // What the beneficiary has depends on all who pay; to pay depends on nobody.
    let pays = shares.iter().position(|touched| touched.pays);
    let looks = shares.iter().position(|touched| touched.looks);
    if let (Some(pays), Some(looks)) = (pays, looks) {
        for (share, touched) in shares.iter().enumerate() {
            if touched.pays {
                groups.join(share, looks);
            }
            if touched.looks {
                groups.join(share, pays);
            }
        }
    }
    (0..shares.len()).map(|share| groups.first(share)).collect()
}

/// Each points to one before it of its group, the first to itself.
struct Groups(Vec<usize>);

impl Groups {
    fn new(len: usize) -> Groups {
        Groups((0..len).collect())
    }

    fn first(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        if one == other {
            return;
        }
        let (one, other) = (self.first(one), self.first(other));
        self.0[one.max(other)] = one.min(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(reads: &[u64], writes: &[u64]) -> Touched {
        let writes = writes.iter().copied().collect();
        Touched { reads: reads.to_vec(), writes, ..Touched::default() }
    }

    fn check(shares: &[Touched], expected: &[usize]) {
        assert_eq!(groups(&shares.iter().collect::<Vec<_>>()), expected);
    }

    #[test]
    fn what_nobody_writes_is_read_by_many() {
        check(&[touched(&[1, 2], &[2]), touched(&[1, 3], &[3])], &[0, 1]);
    }

    #[test]
    fn who_reads_what_another_one_writes_depends_on_that_one_before_it_or_after_it() {
        check(&[touched(&[1], &[]), touched(&[2], &[]), touched(&[1], &[1])], &[0, 1, 0]);
        check(&[touched(&[1], &[1]), touched(&[2], &[]), touched(&[1], &[])], &[0, 1, 0]);
    }

    #[test]
    fn those_who_write_the_same_depend_on_each_other_though_none_has_read_it() {
        check(&[touched(&[], &[1]), touched(&[], &[1])], &[0, 0]);
    }

    #[test]
    fn dependence_is_passed_on() {
        let chain = [
            touched(&[4], &[4]),
            touched(&[1, 2], &[2]),
            touched(&[3], &[3]),
            touched(&[2, 3], &[]),
            touched(&[4, 2], &[]),
        ];
        check(&chain, &[0, 0, 0, 0, 0]);
        check(&chain[..4], &[0, 1, 1, 1]);
    }

    #[test]
    fn who_looks_at_the_beneficiary_depends_on_all_who_pay() {
        let pays = || Touched { pays: true, ..Touched::default() };
        let looks = || Touched { looks: true, ..Touched::default() };
        check(&[pays(), pays(), Touched::default()], &[0, 1, 2]);
        check(&[looks(), looks(), Touched::default()], &[0, 1, 2]);
        check(&[Touched::default(), pays(), looks(), pays()], &[0, 1, 1, 1]);
    }
}
