//! How does a transaction get into a shard's pool?
//!
//! 1. Decoded and recovered, on the workers, before any lock.
//! 2. Checked against the shard's newest state and put into its pool, and under the same lock
//!    handed to the committer. The shard is woken: it may execute the transaction at once.
//! 3. Written to the log, with what it has replaced. Only then it is acknowledged.
//!
//! The log is one sequence, so a block that holds the transaction comes after its acceptance.

use std::{
    fmt,
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use alloy_primitives::{Address, B256, Bytes};
use kernel::ScheduleError;

use super::{
    Shards,
    acknowledge::{Acknowledgement, pair},
};
use crate::{
    commit::record::{Record, ShardIndex, What},
    events::AcceptedEvent,
    execute::DropReason,
    pool::{Inserted, Pool, Refusal, SenderAccount},
    shard::Inner,
    store::{Epoch, StoreError},
    transaction::{Malformed, SharedTransaction, Unrecovered},
    view::{StateAt, View},
};

/// Why a transaction was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubmitError {
    /// It is no transaction that is taken here.
    Malformed(Malformed),
    /// The pool does not take it.
    Refused(Refusal),
    /// There is no such shard, and transactions create none.
    NoSuchShard(Address),
    /// There are as many shards as may be.
    TooManyShards(usize),
    /// Another shard has the chain id that this one would have.
    ChainIdTaken { by: Address },
    /// The shard executes nothing, for this reason.
    Quarantined(String),
    /// It could not be made durable. It may still be executed, and it can be sent again.
    Store(StoreError),
    /// The runtime has stopped, or the shards are being closed.
    Stopped,
}

impl fmt::Display for SubmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubmitError::Malformed(why) => why.fmt(f),
            SubmitError::Refused(why) => why.fmt(f),
            SubmitError::NoSuchShard(address) => {
                write!(f, "shard not found: {address} (it must be created first)")
            }
            SubmitError::TooManyShards(most) => {
                write!(f, "there are {most} shards, as many as may be: raise the limit for more")
            }
            SubmitError::ChainIdTaken { by } => write!(
                f,
                "this address gives the chain id that shard {by} has, so there can be no shard \
                 for it: choose another address"
            ),
            SubmitError::Quarantined(why) => write!(f, "the shard is quarantined: {why}"),
            SubmitError::Store(why) => {
                write!(f, "the transaction could not be made durable, it may be lost: {why}")
            }
            SubmitError::Stopped => f.write_str("the node is shutting down"),
        }
    }
}

impl std::error::Error for SubmitError {}

impl From<Malformed> for SubmitError {
    fn from(why: Malformed) -> SubmitError {
        SubmitError::Malformed(why)
    }
}

impl From<StoreError> for SubmitError {
    fn from(why: StoreError) -> SubmitError {
        match why {
            StoreError::Closed => SubmitError::Stopped,
            why => SubmitError::Store(why),
        }
    }
}

impl From<ScheduleError> for SubmitError {
    fn from(_: ScheduleError) -> SubmitError {
        SubmitError::Stopped
    }
}

impl Shards {
    /// Submits a transaction as it came: decodes it, recovers its sender on a worker, and gives its
    /// hash when it is accepted.
    ///
    /// # Errors
    /// If it is not accepted: nothing of it is kept, unless the error says so.
    pub async fn submit(&self, shard: Address, encoded: Bytes) -> Result<B256, SubmitError> {
        self.check_open()?;
        let most = self.core.config.pool.transaction_bytes_max;
        let unrecovered = Unrecovered::decode(encoded, most)?;
        let recover = self.core.others.compute(move |_| unrecovered.recover())?;
        let transaction = recover.await.map_err(|_| SubmitError::Stopped)??;
        self.accept(shard, Arc::new(transaction))?.await
    }

    /// Puts a transaction whose sender is known into a shard's pool. What it gives says when it is
    /// durable.
    ///
    /// # Errors
    /// If the shard or its pool does not take it.
    pub fn accept(
        &self,
        shard: Address,
        transaction: SharedTransaction,
    ) -> Result<Acknowledgement<Result<B256, SubmitError>>, SubmitError> {
        let inner = match self.registry.get(shard) {
            Some(inner) => inner,
            None => self.create_for(shard, &transaction)?,
        };
        if let Some(why) = inner.quarantine() {
            return Err(SubmitError::Quarantined(why));
        }
        let hash = transaction.hash();
        let now = self.core.runtime.now();
        let (give, acknowledgement) = pair();
        let mut pool = inner.pool();
        // Under the lock: who closes waits for it.
        self.check_open()?;
        let inserted = match inner.insert(&mut pool, transaction.clone(), now)? {
            // It could not be written before: this is another try at that.
            Err(Refusal::AlreadyKnown) if inner.take_unwritten(&pool, hash) => Inserted::default(),
            inserted => inserted.map_err(SubmitError::Refused)?,
        };
        let (records, dropped) = inner.acceptance(transaction.clone(), inserted);
        let told = inner.clone();
        let done = move |result: Result<Epoch, StoreError>| {
            match &result {
                Ok(_) => told.core.accepted.publish(&AcceptedEvent { shard, transaction }),
                Err(_) => told.set_unwritten(hash),
            }
            told.told_of_drops(result.clone(), dropped);
            give.give(result.map(|_| hash).map_err(SubmitError::from));
        };
        // Before anyone can collect it: its acceptance is in the log before its block.
        let enqueued = self.core.committer.enqueue(records, Box::new(done));
        drop(pool);
        if let Err(refused) = enqueued {
            refused.tell();
        }
        inner.wake();
        Ok(acknowledgement)
    }

    fn check_open(&self) -> Result<(), SubmitError> {
        if self.core.closing.load(SeqCst) { Err(SubmitError::Stopped) } else { Ok(()) }
    }

    /// A new shard for a transaction that would be valid in it. One that is not creates nothing.
    fn create_for(
        &self,
        shard: Address,
        transaction: &SharedTransaction,
    ) -> Result<Arc<Inner>, SubmitError> {
        let core = &self.core;
        if core.config.strict {
            return Err(SubmitError::NoSuchShard(shard));
        }
        let rules = &core.config.rules;
        let base_fee = core.environment.get().base_fee;
        let mut trial = Pool::new(shard, rules, core.config.pool.clone(), base_fee);
        let sender = SenderAccount::read(&*core.genesis, transaction.sender())?;
        let inserted = trial.insert(transaction.clone(), &sender, core.runtime.now());
        let _ = inserted.map_err(SubmitError::Refused)?;
        self.create_unless_there(shard)
    }

    /// The shard with this address, which is made if it is not there: one, however many ask.
    pub(super) fn create_unless_there(&self, shard: Address) -> Result<Arc<Inner>, SubmitError> {
        let core = &self.core;
        let mut members = self.registry.write();
        // Under the lock: who closes waits for it.
        self.check_open()?;
        if let Some(inner) = members.by_address.get(&shard) {
            return Ok(inner.clone());
        }
        let most = core.config.shards_max;
        if members.by_address.len() >= most {
            return Err(SubmitError::TooManyShards(most));
        }
        let chain_id = core.config.rules.chain_id(shard);
        if let Some(&by) = members.by_chain_id.get(&chain_id) {
            return Err(SubmitError::ChainIdTaken { by });
        }
        let index = ShardIndex(members.next);
        let view = View::new(index, shard, core.tables.clone(), core.genesis.clone());
        let inner = Inner::new(core.clone(), index, shard, Arc::new(view), false);
        inner.start()?;
        members.insert(inner.clone());
        Ok(inner)
    }
}

impl Inner {
    /// Puts a transaction into the pool, as the newest state allows. The outer error is the
    /// store's, the inner one the pool's.
    pub(super) fn insert(
        &self,
        pool: &mut Pool,
        transaction: SharedTransaction,
        now: Duration,
    ) -> Result<Result<Inserted, Refusal>, StoreError> {
        // Read under the pool's lock: a block that is committed later tells the pool after it.
        let state = StateAt::latest(self.view.clone());
        let sender = SenderAccount::read(&state, transaction.sender())?;
        Ok(pool.insert(transaction, &sender, now))
    }

    /// What the log says of an acceptance, and which transactions have given way.
    fn acceptance(
        &self,
        transaction: SharedTransaction,
        inserted: Inserted,
    ) -> (Vec<Record>, Vec<(B256, DropReason)>) {
        let by = transaction.hash();
        let mut records = self.created_record();
        records.push(Record { shard: self.index, what: What::Accepted(transaction) });
        let dropped = inserted.dropped(by);
        let dropped: Vec<(B256, DropReason)> =
            dropped.map(|(transaction, reason)| (transaction.hash(), reason)).collect();
        records.extend(dropped.iter().map(|(hash, reason)| self.drop_record(*hash, reason)));
        (records, dropped)
    }
}
