//! Which transactions of one sender wait, and which of them is next?
//!
//! ```text
//!   account nonce      next           missing
//!        | EXECUTING... | QUEUED...      |   gap   | QUEUED...
//! ```
//!
//! Those from the account's nonce up to `next` are being executed (or were, and the block that
//! holds them is not there yet). What is at `next` can be collected.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    time::Duration,
};

use alloy_primitives::{Address, U256};

use super::{index::Entry, runs::Runs};
use crate::transaction::SharedTransaction;

/// A transaction in the pool.
#[derive(Debug)]
pub(super) struct Pooled {
    pub(super) transaction: SharedTransaction,
    /// The order of arrival; no two are equal.
    pub(super) arrival: u64,
    pub(super) since: Duration,
    /// The most that it takes from its sender.
    pub(super) cost: U256,
}

/// All transactions of one sender.
#[derive(Debug)]
pub(super) struct Line {
    /// The account's, in the latest state that we were told.
    pub(super) nonce: u64,
    pub(super) balance: U256,
    next: u64,
    transactions: BTreeMap<u64, Pooled>,
    executing: BTreeSet<u64>,
    runs: Runs,
    /// What all of them may cost. Those that wait fit: admission has added them up. With those that
    /// were paid for already it may wrap around, and comes back when these go.
    cost: U256,
    /// How the index knows this line.
    pub(super) entry: Entry,
    /// The index does not know the line as it is, and is told at the end of the step.
    pub(super) touched: bool,
}

impl Line {
    pub(super) fn new(nonce: u64, balance: U256) -> Line {
        Line {
            nonce,
            balance,
            next: nonce,
            transactions: BTreeMap::new(),
            executing: BTreeSet::new(),
            runs: Runs::default(),
            cost: U256::ZERO,
            entry: Entry::default(),
            touched: false,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.transactions.len()
    }

    /// What those from this nonce on may cost.
    pub(super) fn cost_from(&self, nonce: u64) -> U256 {
        let before = self.transactions.range(..nonce);
        before.fold(self.cost, |cost, (_, pooled)| cost - pooled.cost)
    }

    pub(super) fn get(&self, nonce: u64) -> Option<&Pooled> {
        self.transactions.get(&nonce)
    }

    /// In order of nonces.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Pooled)> {
        self.transactions.iter().map(|(nonce, pooled)| (*nonce, pooled))
    }

    pub(super) fn is_executing(&self, nonce: u64) -> bool {
        self.executing.contains(&nonce)
    }

    pub(super) fn executing(&self) -> usize {
        self.executing.len()
    }

    /// Adds one whose nonce is not taken.
    pub(super) fn add(&mut self, pooled: Pooled) {
        let nonce = pooled.transaction.nonce();
        self.cost += pooled.cost;
        self.runs.add(nonce);
        let before = self.transactions.insert(nonce, pooled);
        assert!(before.is_none(), "nonce {nonce} was taken");
    }

    /// Takes one out, and says whether it was being executed: what comes after it waits for
    /// another then.
    pub(super) fn remove(&mut self, nonce: u64) -> Option<(Pooled, bool)> {
        let pooled = self.transactions.remove(&nonce)?;
        self.cost -= pooled.cost;
        self.runs.remove(nonce);
        Some((pooled, self.give_back(nonce)))
    }

    /// Notes that the index is to follow later, once, however often the line changes until then.
    pub(super) fn touch(&mut self, sender: Address, touched: &mut Vec<Address>) {
        if !mem::replace(&mut self.touched, true) {
            touched.push(sender);
        }
    }

    /// The one that can be collected next, whatever its fee.
    pub(super) fn next(&self) -> Option<&Pooled> {
        self.transactions.get(&self.next)
    }

    pub(super) fn next_nonce(&self) -> u64 {
        self.next
    }

    /// The first nonce that nothing here has.
    pub(super) fn missing(&self) -> u64 {
        self.runs.missing_from(self.next)
    }

    /// Those that nothing is missing before, with those that are being executed.
    pub(super) fn pending(&self) -> usize {
        let missing = self.missing();
        let both = self.executing.range(self.next..missing).count();
        self.executing.len() + (missing - self.next) as usize - both
    }

    /// The last one, which leaves no gap when it goes.
    pub(super) fn last(&self) -> Option<(u64, &Pooled)> {
        self.transactions.last_key_value().map(|(nonce, pooled)| (*nonce, pooled))
    }

    /// The one at `next` is being executed from here on.
    pub(super) fn begin_next(&mut self) {
        assert!(self.transactions.contains_key(&self.next), "there is no next transaction");
        self.executing.insert(self.next);
        self.next += 1;
        self.pass_executing();
    }

    /// One that was being executed waits again. Whether it was.
    pub(super) fn give_back(&mut self, nonce: u64) -> bool {
        let was = self.executing.remove(&nonce);
        if was {
            self.go_back_to(nonce);
        }
        was
    }

    /// The account's nonce is at least this.
    pub(super) fn nonce_is(&mut self, nonce: u64) {
        self.nonce = self.nonce.max(nonce);
        self.next = self.next.max(self.nonce);
        self.pass_executing();
    }

    /// The account's nonce is this, whatever it was.
    pub(super) fn set_nonce(&mut self, nonce: u64) {
        self.nonce = nonce;
        self.next = nonce;
        self.pass_executing();
    }

    /// The first that waits though its nonce was used.
    pub(super) fn stale(&self) -> Option<u64> {
        let mut before = self.transactions.range(..self.nonce).map(|(nonce, _)| *nonce);
        before.find(|nonce| !self.executing.contains(nonce))
    }

    /// One that was used is not waited for again.
    fn go_back_to(&mut self, nonce: u64) {
        if nonce >= self.nonce {
            self.next = self.next.min(nonce);
        }
    }

    fn pass_executing(&mut self) {
        while self.executing.contains(&self.next) {
            self.next += 1;
        }
    }
}
