//! How does the log get to know what a pool has dropped?
//!
//! 1. What happens to a transaction is submitted under the pool's lock, its acceptance too: so the
//!    log tells it in order. One that was dropped may be accepted again, and then that counts.
//! 2. A drop that could not be written is submitted again with the next change of the pool, until it
//!    is in the log. Otherwise a transaction that somebody was told is dropped would be in the pool
//!    again after opening.
//! 3. One that is accepted again is forgotten here: its drop must not come after that.
//! 4. What the view knows of drops that are in no log is changed under the lock of [`Drops`], and is of
//!    those alone that are on their way or left.

use std::sync::Arc;

use alloy_primitives::{B256, map::B256Map};

use super::{Inner, lock};
use crate::{
    commit::{
        Refused, Submission,
        record::{Record, What},
    },
    execute::DropReason,
    pool::{Dropped, Pool},
    store::{Epoch, StoreError},
};

/// The drops that are in no log, as far as is known.
#[derive(Default)]
pub(super) struct Drops {
    /// The committer has them; the number of each.
    submitted: B256Map<u64>,
    /// They could not be written.
    left: B256Map<Telling>,
    /// How many there were so far.
    count: u64,
}

/// A drop on its way to the log.
#[derive(Clone)]
#[must_use = "the log is to be told"]
pub(crate) struct Telling {
    hash: B256,
    reason: DropReason,
    /// Which drop it is: the same transaction may be accepted and dropped more than once.
    number: u64,
}

impl Drops {
    fn submit(&mut self, dropped: impl Iterator<Item = (B256, DropReason)>) -> Vec<Telling> {
        let tellings = dropped.map(|(hash, reason)| {
            self.count += 1;
            self.submitted.insert(hash, self.count);
            Telling { hash, reason, number: self.count }
        });
        tellings.collect()
    }

    /// Those that could not be written, in the order in which they were dropped.
    fn submit_left(&mut self) -> Vec<Telling> {
        let mut left: Vec<Telling> = self.left.drain().map(|(_, telling)| telling).collect();
        left.sort_unstable_by_key(|telling| telling.number);
        self.submitted.extend(left.iter().map(|telling| (telling.hash, telling.number)));
        left
    }

    /// The log has them, or they are left. Gives those that are.
    fn told(&mut self, written: bool, tellings: &[Telling]) -> Vec<(B256, DropReason)> {
        let mut left = Vec::new();
        for telling in tellings {
            if self.submitted.get(&telling.hash) == Some(&telling.number) {
                self.submitted.remove(&telling.hash);
                if !written {
                    self.left.insert(telling.hash, telling.clone());
                    left.push((telling.hash, telling.reason.clone()));
                }
            }
        }
        left
    }

    /// Whether there was something to forget.
    fn forget(&mut self, hash: B256) -> bool {
        let submitted = self.submitted.remove(&hash).is_some();
        self.left.remove(&hash).is_some() || submitted
    }
}

impl Inner {
    /// Changes the pool. Why it drops something is written down, and then it can be asked for.
    pub(crate) fn change_pool(self: &Arc<Inner>, change: impl FnOnce(&mut Pool) -> Vec<Dropped>) {
        let mut pool = self.pool();
        let dropped = change(&mut pool);
        let mut tellings = lock(&self.drops).submit_left();
        tellings.extend(self.submit_drops(dropped));
        if tellings.is_empty() {
            return;
        }
        let mut records = self.created_record();
        records.extend(self.drop_records(&tellings));
        let inner = self.clone();
        let done = move |result| inner.told_of_drops(result, tellings);
        let submission = Submission { records, done: Box::new(done) };
        let enqueued = self.core.committer.enqueue([submission]);
        drop(pool);
        if let Err(refused) = enqueued {
            refused.into_iter().for_each(Refused::tell);
        }
    }

    /// What the log is to be told now that the pool has dropped these. Under the pool's lock, and
    /// under the same one it must be submitted.
    pub(crate) fn submit_drops(&self, dropped: impl IntoIterator<Item = Dropped>) -> Vec<Telling> {
        let dropped = dropped.into_iter();
        lock(&self.drops).submit(dropped.map(|(transaction, reason)| (transaction.hash(), reason)))
    }

    /// A transaction is in the pool (again). Under its lock.
    pub(crate) fn forget_drop(&self, hash: B256) {
        let mut drops = lock(&self.drops);
        if drops.forget(hash) {
            self.view.forget_unwritten(hash);
        }
    }

    /// The reasons of drops are in the log, or could not be written.
    pub(crate) fn told_of_drops(&self, result: Result<Epoch, StoreError>, tellings: Vec<Telling>) {
        let mut drops = lock(&self.drops);
        let left = drops.told(result.is_ok(), &tellings);
        let Ok(epoch) = result else { return self.view.drop_unwritten(left) };
        self.set_durable();
        let dropped = tellings.into_iter().map(|telling| (telling.hash, telling.reason));
        self.view.drop_transactions(epoch, dropped);
    }

    pub(crate) fn drop_records(&self, tellings: &[Telling]) -> impl Iterator<Item = Record> {
        tellings.iter().map(|telling| self.drop_record(telling.hash, &telling.reason))
    }

    pub(super) fn drop_record(&self, hash: B256, reason: &DropReason) -> Record {
        Record { shard: self.index, what: What::Dropped { hash, reason: reason.clone() } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: B256 = B256::repeat_byte(1);
    const OTHER: B256 = B256::repeat_byte(2);

    fn drop_of(hash: B256) -> impl Iterator<Item = (B256, DropReason)> {
        std::iter::once((hash, DropReason::InsufficientFunds))
    }

    fn hashes(tellings: &[Telling]) -> Vec<B256> {
        tellings.iter().map(|telling| telling.hash).collect()
    }

    #[test]
    fn a_drop_that_failed_is_submitted_again_until_it_is_written() {
        let mut drops = Drops::default();
        let first = drops.submit(drop_of(HASH));
        let second = drops.submit(drop_of(OTHER));
        assert!(drops.submit_left().is_empty(), "both are under way");
        drops.told(false, &second);
        drops.told(false, &first);
        let again = drops.submit_left();
        assert_eq!(hashes(&again), [HASH, OTHER]);
        drops.told(false, &again);
        assert!(drops.forget(OTHER));
        let again = drops.submit_left();
        assert_eq!(hashes(&again), [HASH], "the other was accepted again");
        drops.told(true, &again);
        assert!(drops.submit_left().is_empty() && drops.submitted.is_empty());
    }

    #[test]
    fn what_becomes_of_an_earlier_drop_says_nothing_about_a_later_one() {
        for written in [false, true] {
            let mut drops = Drops::default();
            let first = drops.submit(drop_of(HASH));
            // It is accepted again, and dropped again.
            drops.forget(HASH);
            let second = drops.submit(drop_of(HASH));
            drops.told(written, &first);
            assert!(drops.submit_left().is_empty(), "it is under way");
            drops.told(false, &second);
            assert_eq!(hashes(&drops.submit_left()), [HASH]);
        }
    }
}
