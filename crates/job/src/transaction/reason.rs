//! Why a ledger refuses a transaction.

use std::{error, fmt};

use crate::transaction::{key::Key, terms::Transaction};

/// Why a ledger refused a transaction. Nothing of it was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Its sender is further than that.
    NonceTooLow {
        /// The transaction's nonce.
        nonce: u64,
        /// The nonce that its sender is at.
        next: u64,
    },
    /// One with the same nonce has been put in line and may have run, so it is not replaced.
    InLine {
        /// The nonce of both.
        nonce: u64,
    },
    /// One with the same nonce waits, and is replaced only at a price that is 10 % higher.
    Underpriced {
        /// The nonce of both.
        nonce: u64,
        /// The lowest price that would replace it.
        needed: u128,
    },
    /// No nonce could follow on it.
    NonceTooHigh,
    /// Its nonce leaves a gap, and too many others of its sender wait for gaps to close.
    HeldBySender {
        /// So many of a sender may.
        max: usize,
    },
    /// Its nonce leaves a gap, and too many others wait for gaps to close.
    Held {
        /// So many may.
        max: usize,
    },
    /// Too many wait to be submitted.
    Full {
        /// So many may.
        max: usize,
    },
    /// It names too many keys.
    TooManyKeys {
        /// So many it names.
        keys: usize,
        /// So many it may.
        max: usize,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NonceTooLow { nonce, next } => {
                write!(f, "the nonce {nonce} is too low: its sender is at {next}")
            }
            Reason::InLine { nonce } => write!(
                f,
                "a transaction with the nonce {nonce} has been put in line already, and can not \
                 be replaced any more"
            ),
            Reason::Underpriced { nonce, needed } => write!(
                f,
                "a transaction with the nonce {nonce} waits already; a price of {needed} or more \
                 would replace it"
            ),
            Reason::NonceTooHigh => {
                f.write_str("the nonce is the highest number there is, and none could follow")
            }
            Reason::HeldBySender { max } => write!(
                f,
                "the nonce leaves a gap, and {max} others of the same sender wait for gaps to \
                 close; send the missing one first"
            ),
            Reason::Held { max } => write!(
                f,
                "the nonce leaves a gap, and {max} others wait for gaps to close; send the missing \
                 one first"
            ),
            Reason::Full { max } => {
                write!(f, "{max} transactions wait to be submitted, and no more may")
            }
            Reason::TooManyKeys { keys, max } => {
                write!(f, "it declares {keys} keys, and may declare {max}")
            }
        }
    }
}

impl error::Error for Reason {}

/// A transaction that was refused, given back with the reason.
pub struct Rejected<T, K = Key> {
    reason: Reason,
    transaction: Box<Transaction<T, K>>,
}

impl<T, K> Rejected<T, K> {
    #[cold]
    pub(super) fn new(reason: Reason, transaction: Transaction<T, K>) -> Rejected<T, K> {
        Rejected { reason, transaction: Box::new(transaction) }
    }

    /// Why.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// Why, and what was given.
    pub fn into_parts(self) -> (Reason, Transaction<T, K>) {
        (self.reason, *self.transaction)
    }
}

impl<T, K> fmt::Debug for Rejected<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rejected").field(&self.reason).field(&self.transaction).finish()
    }
}

impl<T, K> fmt::Display for Rejected<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "from {}: {}", self.transaction.terms.sender, self.reason)
    }
}

impl<T, K> error::Error for Rejected<T, K> {}

impl<T, K> From<Rejected<T, K>> for Reason {
    fn from(rejected: Rejected<T, K>) -> Reason {
        rejected.reason
    }
}
