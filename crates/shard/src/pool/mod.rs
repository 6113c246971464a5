//! Which transactions wait in a shard, and which are executed next?
//!
//! A pool is plain data: no lock, no clock, no thread. The shard calls it, hands in the time, and is
//! told what was dropped and why.
//!
//! ```text
//!   insert --> QUEUED --collect--> EXECUTING --included--> gone
//!                 ^                    | |
//!                 +---- give_back -----+ +------dropped--> gone
//! ```
//!
//! 1. Collecting removes nothing. A transaction leaves the pool only when it was included, when
//!    executing it has shown that it never can be, or when the pool says why it drops it.
//! 2. What is being executed is neither replaced, evicted, expired nor dropped by the pool.
//! 3. A sender's transactions are collected in the order of their nonces, without gaps.
//! 4. Nothing depends on the order of a hash map: the same calls give the same results.
//!
//! Every step is O(log n) in what the pool holds, for each transaction that it concerns, except
//! when the base fee changes: then all prices do, and the order is made anew in O(n log n).

mod admit;
mod index;
mod line;
mod refusal;
mod room;
mod runs;
mod steps;
#[cfg(test)]
mod tests;
mod view;

use std::time::Duration;

use alloy_primitives::{
    Address, B256, U256,
    map::{AddressMap, B256Map},
};

use self::{
    admit::Terms,
    index::Index,
    line::{Line, Pooled},
};
use crate::{
    config::{PoolLimits, Rules},
    execute::DropReason,
    transaction::{SharedTransaction, Transaction},
};

pub use admit::SenderAccount;
pub use refusal::Refusal;
pub use view::{Counts, Queued, Status};

/// A transaction that was accepted and will not be included, and why.
pub type Dropped = (SharedTransaction, DropReason);

/// The transactions of one shard that are not in a block yet.
#[derive(Debug)]
pub struct Pool {
    terms: Terms,
    limits: PoolLimits,
    lines: AddressMap<Line>,
    hashes: B256Map<(Address, u64)>,
    index: Index,
    bytes: usize,
    executing: usize,
    arrivals: u64,
    /// Until when nobody could be served, see [`Pool::stand_still`].
    still: Duration,
}

/// What else happened when a transaction was accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "those that gave way must be reported as dropped"]
pub struct Inserted {
    /// The one with the same nonce that it has replaced.
    pub replaced: Option<SharedTransaction>,
    /// Those that gave way since the pool was full.
    pub evicted: Vec<SharedTransaction>,
}

impl Inserted {
    /// Those that are not in the pool any more. `by`: the hash of the one that was accepted.
    pub fn dropped(self, by: B256) -> impl Iterator<Item = Dropped> {
        let replaced = self.replaced.map(|transaction| (transaction, DropReason::Replaced { by }));
        let evicted =
            self.evicted.into_iter().map(|transaction| (transaction, DropReason::Evicted));
        replaced.into_iter().chain(evicted)
    }
}

impl Pool {
    /// An empty one.
    pub fn new(shard: Address, rules: &Rules, limits: PoolLimits, base_fee: u64) -> Pool {
        Pool {
            terms: Terms::new(shard, rules, &limits),
            index: Index::new(limits.order, base_fee),
            limits,
            lines: AddressMap::default(),
            hashes: B256Map::default(),
            bytes: 0,
            executing: 0,
            arrivals: 0,
            still: Duration::ZERO,
        }
    }

    /// Accepts a transaction, or says why not. Then nothing has changed.
    ///
    /// `account` is the sender's in the latest state. Read it where no block can be committed before
    /// this call: with an older nonce the transaction would wait for one that is used.
    ///
    /// The sender must have the funds for all of its transactions in the pool together, at their
    /// highest price. For the first one alone would not do: with the money for one transaction
    /// anyone could fill the pool with a thousand that can never be paid for.
    ///
    /// ```
    /// use std::{sync::Arc, time::Duration};
    ///
    /// use alloy_consensus::{TxEip1559, TypedTransaction};
    /// use alloy_primitives::{Address, U256};
    /// use shard::{
    ///     Config, Transaction,
    ///     config::Rules,
    ///     pool::{Pool, SenderAccount},
    /// };
    ///
    /// let rules = Rules { no_account_validation: true, ..Rules::default() };
    /// let (shard, sender) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// let mut pool = Pool::new(shard, &rules, Config::default().pool, 7);
    /// let fields = TxEip1559 {
    ///     chain_id: rules.chain_id(shard),
    ///     gas_limit: 21_000,
    ///     max_fee_per_gas: 10,
    ///     to: Address::ZERO.into(),
    ///     ..Default::default()
    /// };
    /// let transaction = Arc::new(Transaction::unsigned(TypedTransaction::Eip1559(fields), sender));
    /// let account = SenderAccount { balance: U256::from(1_000_000), ..Default::default() };
    /// let _ = pool.insert(transaction.clone(), &account, Duration::ZERO)?;
    /// assert_eq!(pool.collect(1_000, 30_000_000, 7), [transaction]);
    /// # Ok::<(), shard::pool::Refusal>(())
    /// ```
    ///
    /// # Errors
    /// Why it is not accepted.
    pub fn insert(
        &mut self,
        transaction: SharedTransaction,
        account: &SenderAccount,
        now: Duration,
    ) -> Result<Inserted, Refusal> {
        let (hash, sender) = (transaction.hash(), transaction.sender());
        if self.hashes.contains_key(&hash) {
            return Err(Refusal::AlreadyKnown);
        }
        let line = self.lines.get(&sender);
        let account = latest(account, line);
        self.terms.check(&transaction, &account)?;
        let nonce = transaction.nonce();
        let replaced = line.and_then(|line| line.get(nonce));
        if let Some(old) = replaced {
            if line.is_some_and(|line| line.is_executing(nonce)) {
                return Err(Refusal::ReplacementTooLate { nonce });
            }
            self.check_replacement(&old.transaction, &transaction)?;
        }
        let cost = self.check_funds(&transaction, &account, line, replaced)?;
        let victims = self.make_room_for(&transaction, account.nonce, line, replaced)?;

        // Nothing can be refused from here on.
        let replaced = self.take(sender, nonce);
        let evicted = victims.into_iter().filter_map(|(sender, nonce)| self.take(sender, nonce));
        let inserted = Inserted { evicted: evicted.collect(), replaced };
        self.add(transaction, &account, now, cost);
        Ok(inserted)
    }

    fn check_replacement(&self, old: &Transaction, new: &Transaction) -> Result<(), Refusal> {
        let least = |fee: u128| {
            let more =
                U256::from(fee) * U256::from(100 + u64::from(self.limits.replacement_percent));
            let least: U256 = more.div_ceil(U256::from(100));
            // More than nothing, where the percents come to nothing.
            u128::try_from(least).unwrap_or(u128::MAX).max(fee.saturating_add(1))
        };
        let (fee, priority_fee) = (least(old.fee_max()), least(old.priority_fee_max()));
        if new.fee_max() < fee || new.priority_fee_max() < priority_fee {
            return Err(Refusal::ReplacementUnderpriced { fee, priority_fee });
        }
        Ok(())
    }

    /// Returns the cost, if the sender has it beside that of its other transactions.
    fn check_funds(
        &self,
        transaction: &Transaction,
        account: &SenderAccount,
        line: Option<&Line>,
        replaced: Option<&Pooled>,
    ) -> Result<U256, Refusal> {
        let balance = account.balance;
        // A block that is committed shows in the account a little before the pool is told.
        let queued = line.map_or(U256::ZERO, |line| line.cost_from(account.nonce))
            - replaced.map_or(U256::ZERO, |replaced| replaced.cost);
        let cost = self.terms.cost(transaction);
        let total = cost.and_then(|cost| queued.checked_add(cost));
        match (cost, total) {
            (Some(cost), Some(total)) if total <= balance => Ok(cost),
            _ => {
                Err(Refusal::InsufficientFunds { balance, queued, cost: cost.unwrap_or(U256::MAX) })
            }
        }
    }

    fn add(
        &mut self,
        transaction: SharedTransaction,
        account: &SenderAccount,
        now: Duration,
        cost: U256,
    ) {
        let (sender, nonce) = (transaction.sender(), transaction.nonce());
        self.hashes.insert(transaction.hash(), (sender, nonce));
        self.bytes += transaction.encoded().len();
        let pooled = Pooled { transaction, arrival: self.arrivals, since: now, cost };
        self.arrivals += 1;
        self.index.starts_to_wait(&pooled);
        let new = || Line::new(account.nonce, account.balance);
        let line = self.lines.entry(sender).or_insert_with(new);
        line.add(pooled);
        self.index.update(sender, line, &self.terms);
    }

    /// Takes a transaction out. A sender without any is forgotten.
    fn take(&mut self, sender: Address, nonce: u64) -> Option<SharedTransaction> {
        let line = self.lines.get_mut(&sender)?;
        let (pooled, executing) = line.remove(nonce)?;
        if executing {
            self.executing -= 1;
        } else {
            self.index.stops_waiting(&pooled);
        }
        self.index.update(sender, line, &self.terms);
        if line.is_empty() {
            self.lines.remove(&sender);
        }
        let transaction = pooled.transaction;
        self.hashes.remove(&transaction.hash());
        self.bytes -= transaction.encoded().len();
        Some(transaction)
    }
}

/// The account as we know it best: nonces only rise.
fn latest(account: &SenderAccount, line: Option<&Line>) -> SenderAccount {
    match line {
        Some(line) if line.nonce > account.nonce => {
            SenderAccount { nonce: line.nonce, balance: line.balance, ..*account }
        }
        _ => *account,
    }
}
