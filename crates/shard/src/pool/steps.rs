//! What happens to transactions after they were accepted?

use std::time::Duration;

use alloy_primitives::{Address, B256, U256};

use super::{Dropped, Pool, line::Line};
use crate::{execute::DropReason, transaction::SharedTransaction};

impl Pool {
    /// Whether [`Pool::collect`] would give anything, under the base fee that we know.
    pub fn has_ready(&self) -> bool {
        self.index.first_ready().is_some()
    }

    /// Those that are executed next, in order: of each sender without gaps, and among senders by
    /// price or arrival. They stay in the pool, marked as executing, until [`Pool::included`],
    /// [`Pool::dropped`] or [`Pool::give_back`] says what became of them.
    ///
    /// `gas_limit` bounds the sum of their gas limits, and the first one that does not fit ends the
    /// batch: the order is a promise. Most use less than their limit, so whoever wants full blocks
    /// asks for more than a block's gas, and gives back what did not fit. The first one is taken in
    /// any case: otherwise one that no block can hold would be collected from for ever.
    pub fn collect(
        &mut self,
        transactions_max: usize,
        gas_limit: u64,
        base_fee: u64,
    ) -> Vec<SharedTransaction> {
        self.set_base_fee(base_fee);
        let (mut batch, mut gas_left) = (Vec::new(), gas_limit);
        let mut touched = Vec::new();
        while batch.len() < transactions_max
            && let Some(sender) = self.index.first_ready()
        {
            let line = self.lines.get_mut(&sender).expect("it is ready");
            let pooled = line.next().expect("it is ready");
            let gas = pooled.transaction.gas_limit();
            if gas > gas_left && !batch.is_empty() {
                break;
            }
            gas_left = gas_left.saturating_sub(gas);
            batch.push(pooled.transaction.clone());
            self.index.stops_waiting(pooled);
            line.begin_next();
            self.executing += 1;
            self.index.update_ready(sender, line, &self.terms);
            line.touch(sender, &mut touched);
        }
        self.settle_index(&touched);
        batch
    }

    /// Lines have changed: the index follows, once for each. A sender without any is forgotten.
    fn settle_index(&mut self, touched: &[Address]) {
        for sender in touched {
            let line = self.lines.get_mut(sender).expect("it is forgotten here at the earliest");
            line.touched = false;
            self.index.update(*sender, line, &self.terms);
            if line.is_empty() {
                self.lines.remove(sender);
            }
        }
    }

    /// These are in a block that is committed: they leave. Then tell the accounts that the block has
    /// changed, with [`Pool::account_changed`], and after that give back what it had no room for:
    /// whether that can be paid for depends on the accounts. Unknown ones are passed over.
    pub fn included(&mut self, hashes: &[B256]) {
        let mut touched = Vec::new();
        // First all of these, which are far apart in memory: then none waits for the one before.
        let mut places = Vec::with_capacity(hashes.len());
        places.extend(hashes.iter().filter_map(|hash| self.hashes.remove(hash)));
        for (sender, nonce) in places {
            let line = self.lines.get_mut(&sender).expect("it has a transaction");
            line.nonce_is(nonce + 1);
            let (pooled, executing) = line.remove(nonce).expect("it has this transaction");
            if executing {
                self.executing -= 1;
            } else {
                self.index.stops_waiting(&pooled);
            }
            self.bytes -= pooled.transaction.encoded().len();
            line.touch(sender, &mut touched);
        }
        self.settle_index(&touched);
    }

    /// This one can never be included: it leaves. `None`: it is not in the pool.
    pub fn dropped(&mut self, hash: B256) -> Option<SharedTransaction> {
        let &(sender, nonce) = self.hashes.get(&hash)?;
        self.take(sender, nonce)
    }

    /// These were collected and not executed: the batch has failed, or the block was full. They wait
    /// again, with the place that they had. Returns those that can not wait any more, since their
    /// nonce was used meanwhile or the funds are gone. Unknown ones are passed over.
    pub fn give_back(&mut self, hashes: &[B256]) -> Vec<Dropped> {
        let mut senders = Vec::new();
        for hash in hashes {
            let Some(&(sender, nonce)) = self.hashes.get(hash) else { continue };
            let line = self.lines.get_mut(&sender).expect("it has a transaction");
            if !line.give_back(nonce) {
                continue;
            }
            self.executing -= 1;
            self.index.starts_to_wait(line.get(nonce).expect("it has this transaction"));
            self.index.update(sender, line, &self.terms);
            senders.push(sender);
        }
        let mut dropped = Vec::new();
        for sender in senders {
            self.settle(sender, &mut dropped);
        }
        dropped
    }

    /// A block has changed this account. Returns those that can never be included now: their nonce was
    /// used, or it is their turn and the sender can not pay for them.
    pub fn account_changed(&mut self, sender: Address, nonce: u64, balance: U256) -> Vec<Dropped> {
        let mut dropped = Vec::new();
        if let Some(line) = self.lines.get_mut(&sender) {
            line.balance = balance;
            line.nonce_is(nonce);
            self.index.update(sender, line, &self.terms);
            self.settle(sender, &mut dropped);
        }
        dropped
    }

    /// An amendment has changed this account: its nonce may have gone back. Returns those that can
    /// never be included now, and those that are too far ahead to wait for. Nothing of the sender's
    /// is to be executing.
    pub fn account_amended(&mut self, sender: Address, nonce: u64, balance: U256) -> Vec<Dropped> {
        let mut dropped = Vec::new();
        let Some(line) = self.lines.get_mut(&sender) else { return dropped };
        line.balance = balance;
        line.set_nonce(nonce);
        self.index.update(sender, line, &self.terms);
        self.settle(sender, &mut dropped);
        let most = nonce.saturating_add(self.limits.nonce_ahead_max);
        while let Some((last, _)) = self.lines.get(&sender).and_then(Line::last)
            && last > most
        {
            let why =
                format!("its nonce {last} is too far ahead: the account went back to {nonce}");
            let reason = DropReason::Invalid(why);
            dropped.extend(self.take(sender, last).map(|transaction| (transaction, reason)));
        }
        dropped
    }

    /// Drops what of a sender's can not wait any more.
    ///
    /// Only the next one can lack funds for good: what comes before the others may still change the
    /// balance. And not while something is being executed: the balance is that of before.
    fn settle(&mut self, sender: Address, dropped: &mut Vec<Dropped>) {
        while let Some(line) = self.lines.get(&sender) {
            let account = line.nonce;
            let (nonce, reason) = if let Some(nonce) = line.stale() {
                (nonce, DropReason::NonceTooLow { nonce, account })
            } else if line.executing() == 0 && line.next().is_some_and(|it| it.cost > line.balance)
            {
                (line.next_nonce(), DropReason::InsufficientFunds)
            } else {
                return;
            };
            dropped.extend(self.take(sender, nonce).map(|transaction| (transaction, reason)));
        }
    }

    /// Under this base fee prices are compared, and those that offer less wait. O(n log n) if it
    /// differs from the one before, which is rare: it is the same for all blocks of an environment.
    pub fn set_base_fee(&mut self, base_fee: u64) {
        if base_fee != self.index.base_fee() {
            self.index.set_base_fee(base_fee, self.lines.iter_mut(), &self.terms);
        }
    }

    /// Drops what has waited for longer than the limit. What is being executed does not wait.
    pub fn expire(&mut self, now: Duration) -> Vec<Dropped> {
        let mut dropped = Vec::new();
        while let Some((since, hash)) = self.index.oldest()
            && now.saturating_sub(since.max(self.still)) > self.limits.expiry
        {
            let transaction = self.dropped(hash).expect("what waits is in the pool");
            dropped.push((transaction, DropReason::Expired));
        }
        dropped
    }

    /// Nobody can be served at the moment. What waits may wait for as long as ever once that is over.
    pub fn stand_still(&mut self, now: Duration) {
        self.still = now;
    }

    /// Since when the one waits that has waited longest: with the limit, when to call
    /// [`Pool::expire`] next.
    pub fn oldest(&self) -> Option<Duration> {
        self.index.oldest().map(|(since, _)| since)
    }
}
