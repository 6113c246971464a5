//! How do several threads make the roots of one block?
//!
//! The work is cut into parts: the root of the transactions, and the leaves of some receipts at a
//! time. Whoever has time takes the next part, until none is left. Which thread made which part
//! decides about nothing.

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, MutexGuard, PoisonError},
};

use alloy_primitives::{B256, Bloom};

use crate::{
    block::{
        Receipt,
        receipt::receipt_leaves,
        root::{Layout, Reference, ordered_root},
    },
    transaction::SharedTransaction,
};

/// Receipts in a part: that takes some 150 µs with swaps, and what all of them name is still hashed
/// only a few times. In tests so few that there are several parts.
pub(crate) const PART: u32 = if cfg!(test) { 4 } else { 128 };

type Included = Vec<(SharedTransaction, Receipt)>;

/// What the header says of the lists of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListRoots {
    pub(crate) transactions: B256,
    pub(crate) receipts: B256,
    pub(crate) logs_bloom: Bloom,
}

impl ListRoots {
    /// Those of a block that holds this.
    pub(crate) fn of(included: &[(SharedTransaction, Receipt)]) -> ListRoots {
        let layout = Layout::new(included.len());
        let transactions = transactions_root(&layout, included);
        let (leaves, logs_bloom) = receipt_leaves(&layout, layout.keys(), included);
        ListRoots { transactions, receipts: layout.root(&leaves), logs_bloom }
    }
}

/// Roots that are being made.
pub(crate) struct Parts {
    included: Included,
    layout: Layout,
    made: Mutex<Made>,
}

struct Made {
    /// The first part that nobody has taken. The transactions are part 0.
    next: u32,
    transactions: Option<B256>,
    /// Part 1 and later ones.
    receipts: Vec<Option<(Vec<Reference>, Bloom)>>,
}

impl Parts {
    pub(crate) fn new(included: Included) -> Parts {
        let layout = Layout::new(included.len());
        let receipts = (0..layout.keys().len().div_ceil(PART as usize)).map(|_| None).collect();
        let made = Mutex::new(Made { next: 0, transactions: None, receipts });
        Parts { included, layout, made }
    }

    /// Makes parts until all are taken.
    pub(crate) fn work(&self) {
        while let Some(part) = self.take() {
            // A part that is missing is found missing in the end, and nobody waits for it.
            let _ = catch_unwind(AssertUnwindSafe(|| self.make(part)));
        }
    }

    /// When nobody works on it any more. Without roots if a part could not be made.
    pub(crate) fn finish(self) -> (Included, Option<ListRoots>) {
        let Parts { included, layout, made } = self;
        let made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
        let roots = made.transactions.and_then(|transactions| {
            let (mut all, mut logs_bloom) = (Vec::with_capacity(included.len()), Bloom::ZERO);
            for part in made.receipts {
                let (leaves, bloom) = part?;
                all.extend(leaves);
                logs_bloom.accrue_bloom(&bloom);
            }
            Some(ListRoots { transactions, receipts: layout.root(&all), logs_bloom })
        });
        (included, roots)
    }

    fn take(&self) -> Option<u32> {
        let mut made = self.made();
        let part = made.next;
        let some = part as usize <= made.receipts.len();
        made.next += u32::from(some);
        some.then_some(part)
    }

    fn make(&self, part: u32) {
        let Some(nth) = part.checked_sub(1) else {
            let root = transactions_root(&self.layout, &self.included);
            self.made().transactions = Some(root);
            return;
        };
        let leaves = receipt_leaves(&self.layout, self.keys(nth), &self.included);
        self.made().receipts[nth as usize] = Some(leaves);
    }

    /// Of the n-th part of the receipts.
    fn keys(&self, nth: u32) -> Range<u32> {
        let begin = nth * PART;
        begin..(begin + PART).min(self.layout.keys().end)
    }

    fn made(&self) -> MutexGuard<'_, Made> {
        // What is done under it are assignments.
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn transactions_root(layout: &Layout, included: &[(SharedTransaction, Receipt)]) -> B256 {
    ordered_root(layout, |at, out| out.extend_from_slice(included[at].0.encoded()))
}

#[cfg(test)]
mod tests;
