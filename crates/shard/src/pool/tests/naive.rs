//! What would a pool be that is a list, searched from end to end for everything?

use std::collections::{BTreeMap, BTreeSet};

use super::*;

#[derive(Clone)]
pub(super) struct Entry {
    pub(super) transaction: SharedTransaction,
    arrival: u64,
    pub(super) since: Duration,
    pub(super) executing: bool,
}

impl Entry {
    fn pays(&self, base_fee: u64) -> bool {
        self.transaction.fee_max() >= u128::from(base_fee)
    }

    pub(super) fn nonce(&self) -> u64 {
        self.transaction.nonce()
    }
}

/// The pool as anyone would write it down.
pub(super) struct Naive {
    pub(super) limits: PoolLimits,
    pub(super) base_fee: u64,
    pub(super) entries: Vec<Entry>,
    pub(super) accounts: BTreeMap<Address, SenderAccount>,
    pub(super) arrivals: u64,
}

impl Naive {
    pub(super) fn line(&self, sender: Address) -> Vec<&Entry> {
        let mut line: Vec<&Entry> =
            self.entries.iter().filter(|it| it.transaction.sender() == sender).collect();
        line.sort_by_key(|it| it.nonce());
        line
    }

    fn at(&self, sender: Address, nonce: u64) -> Option<&Entry> {
        self.line(sender).into_iter().find(|it| it.nonce() == nonce)
    }

    /// The first nonce that is not being executed.
    fn next(&self, sender: Address) -> u64 {
        let executing = |nonce: &u64| self.at(sender, *nonce).is_some_and(|it| it.executing);
        (self.accounts[&sender].nonce..).find(|nonce| !executing(nonce)).expect("it ends")
    }

    pub(super) fn missing(&self, sender: Address) -> u64 {
        (self.next(sender)..).find(|nonce| self.at(sender, *nonce).is_none()).expect("it ends")
    }

    fn price(&self, it: &Entry) -> u128 {
        it.transaction.gas_price(self.base_fee)
    }

    pub(super) fn ready(&self) -> Option<&Entry> {
        let heads = self.accounts.keys().filter_map(|sender| self.at(*sender, self.next(*sender)));
        let heads = heads.filter(|it| it.pays(self.base_fee));
        heads.min_by_key(|it| match self.limits.order {
            PoolOrder::Price => (u128::MAX - self.price(it), it.arrival),
            PoolOrder::Fifo => (0, it.arrival),
        })
    }

    fn may_give_way(&self, it: &Entry) -> bool {
        let next = it.nonce() == self.next(it.transaction.sender());
        !(it.executing || next && it.pays(self.base_fee))
    }

    pub(super) fn insert(
        &mut self,
        new: &SharedTransaction,
        now: Duration,
    ) -> Result<Inserted, Refusal> {
        let (sender, nonce) = (new.sender(), new.nonce());
        if self.entries.iter().any(|it| it.transaction.hash() == new.hash()) {
            return Err(Refusal::AlreadyKnown);
        }
        let account = self.accounts[&sender];
        if nonce < account.nonce {
            return Err(Refusal::NonceTooLow { nonce, next: account.nonce });
        }
        let nonce_max = account.nonce + self.limits.nonce_ahead_max;
        if nonce > nonce_max {
            return Err(Refusal::NonceTooHigh { nonce, nonce_max });
        }
        let old = self.at(sender, nonce).cloned();
        if let Some(old) = &old {
            if old.executing {
                return Err(Refusal::ReplacementTooLate { nonce });
            }
            let least = |fee: u128| (fee * 110).div_ceil(100).max(fee + 1);
            let fee = least(old.transaction.fee_max());
            let priority_fee = least(old.transaction.priority_fee_max());
            if new.fee_max() < fee || new.priority_fee_max() < priority_fee {
                return Err(Refusal::ReplacementUnderpriced { fee, priority_fee });
            }
        }
        let others = self.line(sender).into_iter();
        let others = others.filter(|it| it.nonce() != nonce && it.nonce() >= account.nonce);
        let queued: U256 = others.map(|it| it.transaction.cost_max()).sum();
        let (balance, cost) = (account.balance, new.cost_max());
        if queued + cost > balance {
            return Err(Refusal::InsufficientFunds { balance, queued, cost });
        }
        let evicted = self.room(new, &old)?;
        let gone = |it: &Entry| {
            evicted.contains(&it.transaction)
                || old.as_ref().is_some_and(|old| old.transaction == it.transaction)
        };
        self.entries.retain(|it| !gone(it));
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.entries.push(Entry {
            transaction: new.clone(),
            arrival,
            since: now,
            executing: false,
        });
        Ok(Inserted { replaced: old.map(|old| old.transaction), evicted })
    }

    fn room(
        &self,
        new: &SharedTransaction,
        old: &Option<Entry>,
    ) -> Result<Vec<SharedTransaction>, Refusal> {
        let (sender, limits) = (new.sender(), &self.limits);
        let mut rest = self.entries.clone();
        if let Some(old) = old {
            rest.retain(|it| it.transaction != old.transaction);
        }
        let full = |rest: &[Entry]| {
            let bytes: usize = rest.iter().map(|it| it.transaction.encoded().len()).sum();
            rest.len() >= limits.transactions_max || bytes + new.encoded().len() > limits.bytes_max
        };
        let own = |it: &&Entry| it.transaction.sender() == sender;
        let sender_full = rest.iter().filter(own).count() >= limits.sender_max;
        let mut evicted = Vec::new();
        if sender_full || full(&rest) {
            let last = rest.iter().filter(own).max_by_key(|it| it.nonce()).cloned();
            match last.filter(|it| it.nonce() > new.nonce() && !it.executing) {
                Some(last) => {
                    rest.retain(|it| it.transaction != last.transaction);
                    evicted.push(last.transaction);
                }
                None if sender_full => {
                    return Err(Refusal::SenderFull { transactions_max: limits.sender_max });
                }
                None => {}
            }
        }
        if !full(&rest) {
            return Ok(evicted);
        }
        if limits.order == PoolOrder::Fifo || new.nonce() > self.missing(sender) {
            return Err(Refusal::Full);
        }
        let senders = self.accounts.keys().filter(|other| **other != sender);
        let mut tails: Vec<&Entry> = senders.filter_map(|it| self.line(*it).pop()).collect();
        tails.retain(|it| self.may_give_way(it));
        tails.sort_by_key(|it| (self.price(it), u64::MAX - it.arrival));
        for tail in tails {
            if self.price(tail) >= new.gas_price(self.base_fee) {
                return Err(Refusal::Underpriced { price: self.price(tail) });
            }
            rest.retain(|it| it.transaction != tail.transaction);
            evicted.push(tail.transaction.clone());
            if !full(&rest) {
                return Ok(evicted);
            }
        }
        Err(Refusal::Full)
    }

    pub(super) fn collect(&mut self, max: usize, gas_limit: u64) -> Vec<SharedTransaction> {
        let (mut batch, mut gas) = (Vec::new(), 0);
        while batch.len() < max
            && let Some(first) = self.ready().cloned()
        {
            gas += first.transaction.gas_limit();
            if gas > gas_limit && !batch.is_empty() {
                break;
            }
            self.mark(first.transaction.hash(), true);
            batch.push(first.transaction);
        }
        batch
    }

    pub(super) fn mark(&mut self, hash: B256, executing: bool) {
        for it in &mut self.entries {
            if it.transaction.hash() == hash {
                it.executing = executing;
            }
        }
    }

    pub(super) fn remove(&mut self, hash: B256) {
        self.entries.retain(|it| it.transaction.hash() != hash);
    }

    /// What of a sender's can not wait any more.
    pub(super) fn settle(&mut self, sender: Address) -> Vec<Dropped> {
        let account = self.accounts[&sender];
        let mut dropped = Vec::new();
        for it in self.line(sender).into_iter().filter(|it| !it.executing) {
            if it.nonce() < account.nonce {
                let reason = DropReason::NonceTooLow { nonce: it.nonce(), account: account.nonce };
                dropped.push((it.transaction.clone(), reason));
            }
        }
        let idle = self.line(sender).iter().all(|it| !it.executing);
        let next = self.at(sender, account.nonce);
        if let Some(next) = next.filter(|it| idle && it.transaction.cost_max() > account.balance) {
            dropped.push((next.transaction.clone(), DropReason::InsufficientFunds));
        }
        for (transaction, _) in &dropped {
            self.remove(transaction.hash());
        }
        dropped
    }

    pub(super) fn expire(&mut self, now: Duration) -> BTreeSet<B256> {
        let late = |it: &Entry| !it.executing && now - it.since > self.limits.expiry;
        let late: BTreeSet<B256> =
            self.entries.iter().filter(|it| late(it)).map(|it| it.transaction.hash()).collect();
        late.iter().for_each(|hash| self.remove(*hash));
        late
    }

    pub(super) fn status(&self, it: &Entry) -> Status {
        if it.executing {
            return Status::Executing;
        }
        let sender = it.transaction.sender();
        let (next, missing, base_fee) = (self.next(sender), self.missing(sender), self.base_fee);
        Status::Queued(if it.nonce() > missing {
            Queued::Missing { nonce: missing }
        } else if !it.pays(base_fee) {
            Queued::Fee { base_fee, offered: it.transaction.fee_max() }
        } else if !self.at(sender, next).is_some_and(|next| next.pays(base_fee)) {
            Queued::Behind { nonce: next }
        } else {
            Queued::Ready
        })
    }
}
