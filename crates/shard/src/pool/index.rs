//! Which transaction of all senders is collected next, gives way first, and expires first?
//!
//! Each line (a sender) has at most one entry in `ready` and one in `tails`. An entry is changed
//! only where it differs, so a step costs O(log n) in the number of senders. When the base fee
//! changes, so does the price of everything: then both are made anew, in O(n log n).

use std::{cmp::Reverse, collections::BTreeMap, time::Duration};

use alloy_primitives::{Address, B256};

use super::{
    admit::Terms,
    line::{Line, Pooled},
};
use crate::config::PoolOrder;

/// The lowest is collected first: what the price lacks to the highest there is, and the arrival.
type Rank = (u128, u64);

/// The lowest gives way first: the price, and among equals the last that came.
type Tail = (u128, Reverse<u64>);

/// How a line is known here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    ready: Option<Rank>,
    tail: Option<Tail>,
    pending: usize,
}

#[derive(Debug)]
pub(super) struct Index {
    order: PoolOrder,
    base_fee: u64,
    ready: BTreeMap<Rank, Address>,
    tails: BTreeMap<Tail, Address>,
    expiries: BTreeMap<(Duration, u64), B256>,
    pending: usize,
}

impl Index {
    pub(super) fn new(order: PoolOrder, base_fee: u64) -> Index {
        Index {
            order,
            base_fee,
            ready: BTreeMap::new(),
            tails: BTreeMap::new(),
            expiries: BTreeMap::new(),
            pending: 0,
        }
    }

    pub(super) fn base_fee(&self) -> u64 {
        self.base_fee
    }

    /// Who is collected from next.
    pub(super) fn first_ready(&self) -> Option<Address> {
        self.ready.first_key_value().map(|(_, sender)| *sender)
    }

    /// The last ones of senders that may give way, the cheapest first, with their price.
    pub(super) fn tails(&self) -> impl Iterator<Item = (u128, Address)> {
        self.tails.iter().map(|((price, _), sender)| (*price, *sender))
    }

    /// Transactions that nothing is missing before.
    pub(super) fn pending(&self) -> usize {
        self.pending
    }

    /// To be called after each change of a line.
    pub(super) fn update(&mut self, sender: Address, line: &mut Line, terms: &Terms) {
        self.update_ready(sender, line, terms);
        let (was, is) = (line.entry, self.entry_of(line, terms));
        if was.tail != is.tail {
            was.tail.map(|tail| self.tails.remove(&tail));
            is.tail.map(|tail| self.tails.insert(tail, sender));
        }
        self.pending = self.pending - was.pending + is.pending;
        line.entry = is;
    }

    /// The part of it that decides who is collected from next. The rest is to follow before anybody
    /// else looks.
    pub(super) fn update_ready(&mut self, sender: Address, line: &mut Line, terms: &Terms) {
        let ready = self.ready_of(line, terms);
        if line.entry.ready != ready {
            line.entry.ready.map(|rank| self.ready.remove(&rank));
            ready.map(|rank| self.ready.insert(rank, sender));
            line.entry.ready = ready;
        }
    }

    /// Makes everything anew that depends on prices.
    pub(super) fn set_base_fee<'a>(
        &mut self,
        base_fee: u64,
        lines: impl Iterator<Item = (&'a Address, &'a mut Line)>,
        terms: &Terms,
    ) {
        self.base_fee = base_fee;
        self.ready.clear();
        self.tails.clear();
        for (sender, line) in lines {
            line.entry = Entry { pending: line.entry.pending, ..Entry::default() };
            self.update(*sender, line, terms);
        }
    }

    fn entry_of(&self, line: &Line, terms: &Terms) -> Entry {
        let pays = |pooled: &&Pooled| terms.pays(&pooled.transaction, self.base_fee);
        let tail = line.last().filter(|(nonce, pooled)| {
            // What would be executed next stays, and so does what is being executed.
            !line.is_executing(*nonce) && (*nonce != line.next_nonce() || !pays(pooled))
        });
        let tail = tail.map(|(_, pooled)| (self.price(pooled, terms), Reverse(pooled.arrival)));
        Entry { tail, pending: line.pending(), ready: line.entry.ready }
    }

    fn ready_of(&self, line: &Line, terms: &Terms) -> Option<Rank> {
        let next = line.next().filter(|pooled| terms.pays(&pooled.transaction, self.base_fee))?;
        Some(match self.order {
            PoolOrder::Price => (u128::MAX - self.price(next, terms), next.arrival),
            PoolOrder::Fifo => (0, next.arrival),
        })
    }

    fn price(&self, pooled: &Pooled, terms: &Terms) -> u128 {
        pooled.transaction.gas_price(terms.base_fee(self.base_fee))
    }

    /// A transaction waits from now on, or again.
    pub(super) fn starts_to_wait(&mut self, pooled: &Pooled) {
        self.expiries.insert((pooled.since, pooled.arrival), pooled.transaction.hash());
    }

    /// A transaction does not wait any more.
    pub(super) fn stops_waiting(&mut self, pooled: &Pooled) {
        self.expiries.remove(&(pooled.since, pooled.arrival));
    }

    /// The one that has waited longest, and since when.
    pub(super) fn oldest(&self) -> Option<(Duration, B256)> {
        self.expiries.first_key_value().map(|((since, _), hash)| (*since, *hash))
    }
}
