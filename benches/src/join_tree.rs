//! What is summed in fork-join, and how do two halves meet where there is no `join` to call?

use std::sync::{
    Arc,
    atomic::{
        AtomicU64,
        Ordering::{AcqRel, Relaxed},
    },
};

/// Leaves of a run of the usual size: a power of two.
pub const LEAVES: u64 = 1 << 18;

/// The grain: elements that one leaf sums.
const GRAIN: usize = 100;

/// Few enough for the cache, so that memory is not what is measured.
const DATA: usize = 64 * GRAIN;

/// A slot whose first half has not come.
const EMPTY: u64 = u64::MAX;

/// The numbers.
#[derive(Clone)]
pub struct Numbers(Arc<[u64]>);

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers((0..DATA as u64).collect())
    }
}

impl Numbers {
    /// The work of one leaf: its hundred elements, added one by one.
    #[inline]
    pub fn leaf(&self, leaf: u64) -> u64 {
        let from = (leaf as usize * GRAIN) % DATA;
        self.0[from..from + GRAIN].iter().sum()
    }

    /// What all leaves come to, counted without any scheduler.
    pub fn total(&self, leaves: u64) -> u64 {
        (0..leaves).map(|leaf| self.leaf(leaf)).sum()
    }
}

/// Where the halves of each node meet, for schedulers without a `join`: the first to come leaves
/// its sum and goes, the second takes it along to the parent. One swap per node.
pub struct JoinTree {
    leaves: u64,
    /// Heap order: the root is 1, the children of i are 2i and 2i + 1.
    slots: Box<[AtomicU64]>,
}

impl JoinTree {
    pub fn new(leaves: u64) -> JoinTree {
        assert!(leaves.is_power_of_two(), "a tree of {leaves} leaves is not even");
        JoinTree { leaves, slots: (0..leaves).map(|_| AtomicU64::new(EMPTY)).collect() }
    }

    /// Makes it as new. Nobody else may be using it.
    pub fn reset(&self) {
        self.slots.iter().for_each(|slot| slot.store(EMPTY, Relaxed));
    }

    /// If `node` is a leaf, its number from the left.
    #[inline]
    pub fn leaf(&self, node: u64) -> Option<u64> {
        node.checked_sub(self.leaves)
    }

    /// Brings the sum of `node` to its parent, and as far up as both halves have come. Returns
    /// the total to the one who completes the root.
    #[inline]
    pub fn arrive(&self, mut node: u64, mut sum: u64) -> Option<u64> {
        while node > 1 {
            node /= 2;
            match self.slots[node as usize].swap(sum, AcqRel) {
                EMPTY => return None,
                other => sum += other,
            }
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_leaf_completes_the_root() {
        let (numbers, tree) = (Numbers::default(), JoinTree::new(8));
        for node in 8..15 {
            assert_eq!(tree.arrive(node, numbers.leaf(tree.leaf(node).unwrap())), None);
        }
        assert_eq!(tree.arrive(15, numbers.leaf(7)), Some(numbers.total(8)));
    }
}
