//! Which shares of a stretch are there, and which of them must be executed again?

use std::{collections::BTreeMap, mem, ops::Range, sync::Arc};

use crate::execute::parallel::{attempt::Attempt, net::Net, touched::groups};

/// Transactions of a stretch that are executed in one journal.
pub(super) struct Share {
    /// In order.
    pub(super) places: Vec<u32>,
    /// The state before the stretch: what was taken so far. Given back before it is told what came.
    pub(super) net: Arc<Net>,
}

/// What came of a share. `None`: it can not tell.
#[derive(Debug)]
pub(super) struct Came {
    pub(super) places: Vec<u32>,
    pub(super) attempt: Option<Attempt>,
}

/// Transactions that follow each other, whose shares are under way.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) places: Range<u32>,
    /// What came of shares that need not be executed again, as far as is known.
    pub(super) shares: Vec<(Vec<u32>, Attempt)>,
    /// How many of its transactions were executed again, each time counted.
    pub(super) again: usize,
}

impl Stretch {
    pub(super) fn new(places: Range<u32>) -> Stretch {
        Stretch { places, shares: Vec::new(), again: 0 }
    }

    /// These are there. `false`: one of them can not tell what comes of it.
    #[must_use]
    pub(super) fn bring(&mut self, came: Vec<Came>) -> bool {
        came.into_iter().all(|Came { places, attempt }| {
            attempt.is_some_and(|attempt| {
                self.shares.push((places, attempt));
                true
            })
        })
    }

    /// Takes out those that get into each other's way, each group of them put together. None: all
    /// are independent.
    #[must_use = "what is taken out is to be executed again"]
    pub(super) fn take_conflicts(&mut self) -> Vec<Vec<u32>> {
        let touched: Vec<_> = self.shares.iter().map(|(_, attempt)| &attempt.touched).collect();
        let groups = groups(&touched);
        let mut sizes = vec![0; groups.len()];
        groups.iter().for_each(|group| sizes[*group] += 1);
        if sizes.iter().all(|size| *size <= 1) {
            return Vec::new();
        }
        let mut conflicts: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for ((places, attempt), group) in mem::take(&mut self.shares).into_iter().zip(groups) {
            if sizes[group] == 1 {
                self.shares.push((places, attempt));
            } else {
                conflicts.entry(group).or_default().extend(places);
            }
        }
        let in_order = |mut places: Vec<u32>| {
            places.sort_unstable();
            places
        };
        conflicts.into_values().map(in_order).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::parallel::touched::Touched;

    fn came(places: &[u32], reads: &[u64], writes: &[u64]) -> Came {
        let writes = writes.iter().copied().collect();
        let touched = Touched { reads: reads.to_vec(), writes, ..Touched::default() };
        let (fates, effects, hashes) = (Vec::new(), Vec::new(), Vec::new());
        let attempt = Some(Attempt { fates, effects, touched, hashes });
        Came { places: places.to_vec(), attempt }
    }

    fn left(stretch: &Stretch) -> Vec<&[u32]> {
        stretch.shares.iter().map(|(places, _)| &**places).collect()
    }

    #[test]
    fn shares_in_each_others_way_are_put_together_in_order_and_the_others_stay() {
        let mut stretch = Stretch::new(0..7);
        assert!(stretch.bring(vec![
            came(&[1, 5], &[7], &[7]),
            came(&[2, 6], &[8], &[8]),
            came(&[0, 3], &[7, 9], &[9]),
            came(&[4], &[6], &[]),
        ]));
        assert_eq!(stretch.take_conflicts(), [[0, 1, 3, 5]]);
        assert_eq!(left(&stretch), [&[2, 6][..], &[4]]);
        // Executed together they touch something else.
        assert!(stretch.bring(vec![came(&[0, 1, 3, 5], &[7, 8], &[9])]));
        assert_eq!(stretch.take_conflicts(), [[0, 1, 2, 3, 5, 6]]);
        assert!(stretch.bring(vec![came(&[0, 1, 2, 3, 5, 6], &[7, 8], &[9])]));
        assert_eq!(stretch.take_conflicts(), Vec::<Vec<u32>>::new());
    }

    #[test]
    fn share_that_can_not_tell_spoils_the_stretch() {
        let mut stretch = Stretch::new(0..2);
        let lost = Came { places: vec![1], attempt: None };
        assert!(!stretch.bring(vec![came(&[0], &[], &[]), lost]));
    }
}
