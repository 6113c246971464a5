//! What can be asked about a pool?

use std::fmt;

use alloy_primitives::{Address, B256};

use super::{Pool, line::Line};
use crate::transaction::SharedTransaction;

/// Where a transaction of the pool stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Queued(Queued),
    /// It was collected.
    Executing,
}

/// What a transaction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queued {
    /// For its turn, after those of the same sender before it.
    Ready,
    /// For a transaction of the same sender with this nonce.
    Missing { nonce: u64 },
    /// For a base fee of what it offers at most.
    Fee { base_fee: u64, offered: u128 },
    /// For the sender's next one, which waits for a lower base fee.
    Behind { nonce: u64 },
}

impl fmt::Display for Queued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Queued::Ready => f.write_str("waits for its turn"),
            Queued::Missing { nonce } => write!(f, "waits for the sender's nonce {nonce}"),
            Queued::Fee { base_fee, offered } => {
                write!(
                    f,
                    "waits for a lower base fee: it offers {offered}, the base fee is {base_fee}"
                )
            }
            Queued::Behind { nonce } => {
                write!(f, "waits for the sender's nonce {nonce}, which waits for a lower base fee")
            }
        }
    }
}

/// How much is in a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Those that no nonce is missing before, with those that are being executed.
    pub pending: usize,
    /// Those that wait for a nonce.
    pub waiting: usize,
    /// Of the pending ones, those that were collected.
    pub executing: usize,
    /// Encoded bytes of all.
    pub bytes: usize,
}

impl Pool {
    /// How much is in it.
    pub fn counts(&self) -> Counts {
        let pending = self.index.pending();
        Counts {
            pending,
            waiting: self.hashes.len() - pending,
            executing: self.executing,
            bytes: self.bytes,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// Transactions in it.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// The transaction with this hash.
    pub fn get(&self, hash: B256) -> Option<&SharedTransaction> {
        let (sender, nonce) = self.hashes.get(&hash)?;
        Some(&self.lines[sender].get(*nonce)?.transaction)
    }

    /// Where it stands; `None`: it is not in the pool.
    pub fn status(&self, hash: B256) -> Option<Status> {
        let (sender, nonce) = self.hashes.get(&hash)?;
        Some(self.status_of(&self.lines[sender], *nonce))
    }

    fn status_of(&self, line: &Line, nonce: u64) -> Status {
        if line.is_executing(nonce) {
            return Status::Executing;
        }
        let base_fee = self.index.base_fee();
        let pays =
            |nonce| line.get(nonce).is_some_and(|it| self.terms.pays(&it.transaction, base_fee));
        let (missing, next) = (line.missing(), line.next_nonce());
        Status::Queued(if nonce > missing {
            Queued::Missing { nonce: missing }
        } else if !pays(nonce) {
            let offered = line.get(nonce).map_or(0, |it| it.transaction.fee_max());
            Queued::Fee { base_fee, offered }
        } else if !pays(next) {
            Queued::Behind { nonce: next }
        } else {
            Queued::Ready
        })
    }

    /// The nonce of a sender's next transaction: after those here that no nonce is missing before.
    /// `None`: there is nothing of this sender, and the account knows.
    pub fn next_nonce(&self, sender: Address) -> Option<u64> {
        self.lines.get(&sender).map(Line::missing)
    }

    /// Transactions of one sender in the order of their nonces, and where they stand.
    pub fn of_sender(&self, sender: Address) -> impl Iterator<Item = (&SharedTransaction, Status)> {
        let line = self.lines.get(&sender);
        line.into_iter().flat_map(move |line| {
            line.iter().map(|(nonce, it)| (&it.transaction, self.status_of(line, nonce)))
        })
    }

    /// All senders, in whatever order.
    pub(crate) fn senders_unordered(&self) -> Vec<Address> {
        self.lines.keys().copied().collect()
    }

    /// All senders, in order.
    pub fn senders(&self) -> Vec<Address> {
        let mut senders = self.senders_unordered();
        senders.sort_unstable();
        senders
    }

    /// Everything in it, by sender and nonce, and where it stands.
    pub fn iter(&self) -> impl Iterator<Item = (&SharedTransaction, Status)> {
        self.senders().into_iter().flat_map(|sender| self.of_sender(sender))
    }

    pub(super) fn is_executing(&self, sender: Address, nonce: u64) -> bool {
        self.lines.get(&sender).is_some_and(|line| line.is_executing(nonce))
    }
}
