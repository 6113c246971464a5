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
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, MutexGuard, atomic::Ordering::SeqCst},
    time::Duration,
};

use alloy_primitives::{Address, B256, Bytes};
use kernel::ScheduleError;

use super::{
    Shards,
    acknowledge::{Acknowledgement, pair},
};
use crate::{
    commit::{
        Refused, Submission,
        record::{Record, ShardIndex, What},
    },
    events::AcceptedEvent,
    pool::{Inserted, Pool, Refusal, SenderAccount},
    shard::{Inner, Telling},
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
        let inner = self.for_transaction(shard, &transaction)?;
        let (give, acknowledgement) = pair();
        let now = self.core.runtime.now();
        let mut pool = inner.pool();
        // Under the lock: who closes waits for it.
        self.check_open()?;
        let accepted = inner.accept(&mut pool, &transaction, now)?;
        let submission = accepted.submission(&inner, transaction, |result| give.give(result));
        self.enqueue(&inner, pool, [submission]);
        Ok(acknowledgement)
    }

    /// The same for several at once, in their order: the pool is locked and the shard woken once for
    /// all of them. Each is told what became of it: at once if it is refused, otherwise when it is
    /// durable, by the committer. So whoever is told should take no time.
    ///
    /// ```
    /// use std::sync::{Arc, mpsc};
    ///
    /// use alloy_consensus::{TxEip1559, TypedTransaction};
    /// use alloy_primitives::Address;
    /// use kernel::Runtime;
    /// use shard::{Config, Shards, Transaction, store::MemoryStore};
    ///
    /// let (told, hear) = mpsc::channel();
    /// let mut config = Config::default();
    /// (config.rules.no_account_validation, config.rules.no_fee) = (true, true);
    /// let mut simulation = Runtime::builder().simulate(1)?;
    /// let store = Arc::new(MemoryStore::new());
    /// let shards = Shards::open(&simulation, config.clone(), store, 0)?;
    /// let (market, sender) = (Address::repeat_byte(7), Address::repeat_byte(1));
    /// let of = |nonce| {
    ///     let chain_id = config.rules.chain_id(market);
    ///     let to = sender.into();
    ///     let fields =
    ///         TxEip1559 { chain_id, nonce, gas_limit: 21_000, to, ..TxEip1559::default() };
    ///     let transaction = Transaction::unsigned(TypedTransaction::Eip1559(fields), sender);
    ///     let told = told.clone();
    ///     (transaction.into(), move |result| told.send(result).expect("somebody listens"))
    /// };
    /// shards.accept_all(market, vec![of(0), of(1), of(1)]);
    /// simulation.run();
    /// let all: Vec<_> = hear.try_iter().collect();
    /// // The second of the same is refused, and that is known first.
    /// assert_eq!(all.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, true, true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If the check of one of them panics: that one is told nothing, and nothing changes for the
    /// others.
    pub fn accept_all<T>(&self, shard: Address, transactions: Vec<(SharedTransaction, T)>)
    where
        T: FnOnce(Result<B256, SubmitError>) + Send + 'static,
    {
        let mut transactions = transactions.into_iter();
        // The first that is valid makes the shard, if need be.
        while let Some((transaction, tell)) = transactions.next() {
            match self.for_transaction(shard, &transaction) {
                Ok(inner) => {
                    let all = std::iter::once((transaction, tell)).chain(transactions);
                    return self.accept_into(&inner, all);
                }
                Err(why) => tell(Err(why)),
            }
        }
    }

    fn accept_into<T>(
        &self,
        inner: &Arc<Inner>,
        transactions: impl Iterator<Item = (SharedTransaction, T)>,
    ) where
        T: FnOnce(Result<B256, SubmitError>) + Send + 'static,
    {
        let now = self.core.runtime.now();
        let (mut submissions, mut refused) = (Vec::new(), Vec::new());
        let mut panicked = Vec::new();
        let mut pool = inner.pool();
        for (transaction, tell) in transactions {
            // The others are not to suffer: those before it are in the pool, and must be in the log.
            let accepted = catch_unwind(AssertUnwindSafe(|| {
                // Under the lock: who closes waits for it.
                self.check_open()?;
                inner.accept(&mut pool, &transaction, now)
            }));
            match accepted {
                Ok(Ok(accepted)) => submissions.push(accepted.submission(inner, transaction, tell)),
                Ok(Err(why)) => refused.push((tell, why)),
                Err(panic) => panicked.push((panic, tell)),
            }
        }
        if submissions.is_empty() {
            drop(pool);
        } else {
            self.enqueue(inner, pool, submissions);
        }
        refused.into_iter().for_each(|(tell, why)| tell(Err(why)));
        if let Some((panic, _)) = panicked.into_iter().next() {
            resume_unwind(panic);
        }
    }

    /// Hands what was put into the pool to the committer, and wakes the shard.
    fn enqueue(
        &self,
        inner: &Inner,
        pool: MutexGuard<'_, Pool>,
        submissions: impl IntoIterator<Item = Submission>,
    ) {
        // Before anyone can collect them: an acceptance is in the log before the block.
        let enqueued = self.core.committer.enqueue(submissions);
        drop(pool);
        if let Err(refused) = enqueued {
            refused.into_iter().for_each(Refused::tell);
        }
        inner.wake();
    }

    /// The shard with this address, if it takes transactions. A valid one makes it, if need be.
    fn for_transaction(
        &self,
        shard: Address,
        transaction: &SharedTransaction,
    ) -> Result<Arc<Inner>, SubmitError> {
        let inner = match self.registry.get(shard) {
            Some(inner) => inner,
            None => self.create_for(shard, transaction)?,
        };
        match inner.quarantine() {
            Some(why) => Err(SubmitError::Quarantined(why)),
            None => Ok(inner),
        }
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

    /// Puts a transaction into the pool, and gives what the log is to say of that.
    fn accept(
        &self,
        pool: &mut Pool,
        transaction: &SharedTransaction,
        now: Duration,
    ) -> Result<Accepted, SubmitError> {
        let hash = transaction.hash();
        let inserted = match self.insert(pool, transaction.clone(), now)? {
            // It could not be written before: this is another try at that.
            Err(Refusal::AlreadyKnown) if self.take_unwritten(pool, hash) => Inserted::default(),
            inserted => inserted.map_err(SubmitError::Refused)?,
        };
        self.forget_drop(hash);
        let mut records = self.created_record();
        records.push(Record { shard: self.index, what: What::Accepted(transaction.clone()) });
        let dropped = self.submit_drops(inserted.dropped(hash));
        records.extend(self.drop_records(&dropped));
        Ok(Accepted { records, dropped })
    }
}

/// What the log says of an acceptance, and which transactions have given way.
struct Accepted {
    records: Vec<Record>,
    dropped: Vec<Telling>,
}

impl Accepted {
    fn submission(
        self,
        inner: &Arc<Inner>,
        transaction: SharedTransaction,
        tell: impl FnOnce(Result<B256, SubmitError>) + Send + 'static,
    ) -> Submission {
        let Accepted { records, dropped } = self;
        let inner = inner.clone();
        let hash = transaction.hash();
        let done = move |result: Result<Epoch, StoreError>| {
            let shard = inner.address;
            match &result {
                Ok(_) => inner.core.accepted.publish(&AcceptedEvent { shard, transaction }),
                Err(_) => inner.set_unwritten(hash),
            }
            inner.told_of_drops(result.clone(), dropped);
            tell(result.map(|_| hash).map_err(SubmitError::from));
        };
        Submission { records, done: Box::new(done) }
    }
}
