//! What waits in a shard's pool?
//!
//! Whoever submits or executes needs the pool's lock too, so it is held for a moment only: for a
//! look-up, for one sender's transactions, or for a copy of the senders' addresses. What concerns
//! many senders is put together from several such moments, so it may show a transaction that came
//! or went meanwhile.

use alloy_primitives::{Address, B256};

use super::Shard;
use crate::{
    pool::{Counts, Status},
    transaction::SharedTransaction,
};

/// For so many transactions at once the lock is held, or for one sender.
const AT_ONCE: usize = 256;

impl Shard {
    /// How much is in its pool.
    pub fn pool_counts(&self) -> Counts {
        self.inner.pool().counts()
    }

    /// A transaction that waits or is being executed.
    pub fn pooled(&self, hash: B256) -> Option<SharedTransaction> {
        self.inner.pool().get(hash).cloned()
    }

    /// What is in its pool, by sender and nonce, and where it stands: at most so many.
    ///
    /// All senders are copied and put in order, so it costs O(s log s) in their number; the lock is
    /// held for the copy, 20 bytes each, and then for a few hundred transactions at a time.
    pub fn pool_content(&self, most: usize) -> Vec<(SharedTransaction, Status)> {
        let mut senders = self.inner.pool().senders_unordered();
        senders.sort_unstable();
        let mut senders = senders.into_iter().peekable();
        let mut content = Vec::new();
        while senders.peek().is_some() && content.len() < most {
            let enough = content.len().saturating_add(AT_ONCE);
            let pool = self.inner.pool();
            while let Some(sender) = senders.next_if(|_| content.len() < enough.min(most)) {
                let left = most - content.len();
                content.extend(pool.of_sender(sender).take(left).map(owned));
            }
        }
        content
    }

    /// What a sender has in its pool, by nonce, and where it stands. The pool has a limit for each
    /// sender, which is also the limit here.
    pub fn pool_content_of(&self, sender: Address) -> Vec<(SharedTransaction, Status)> {
        self.inner.pool().of_sender(sender).map(owned).collect()
    }
}

fn owned((transaction, status): (&SharedTransaction, Status)) -> (SharedTransaction, Status) {
    (transaction.clone(), status)
}
