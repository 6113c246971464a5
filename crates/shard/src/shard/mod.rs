//! A shard: its pool, its blocks and its strand, and the handle that people hold.

mod amend;
mod body;
mod calls;
mod drops;
mod included;
mod logs;
mod pooled;
mod query;
mod roots;
pub mod trouble;

use std::{
    any::Any,
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::Duration,
};

use alloy_primitives::{Address, B256, map::B256Set};
use arc_swap::ArcSwapOption;
use kernel::{Phase, ScheduleError, Strand};

use crate::{
    amend::Request,
    commit::record::{Record, ShardIndex, What},
    events::BlockEvent,
    execute::parallel::Finished,
    pool::{self, Pool},
    shards::{UnderWay, core::Core, tickets::Ticket},
    store::{Epoch, StoreError},
    view::View,
};
pub(crate) use body::Batch;
use body::ShardBody;
use drops::Drops;
pub(crate) use drops::Telling;

pub use included::Included;
pub use logs::{BYTES_MAX as LOG_BYTES_MAX, LogEntry, LogsError};
pub use query::{BackingOff, Status, TransactionStatus};

/// A small chain, named by an address. Handles are cheap to clone.
#[derive(Clone)]
pub struct Shard {
    pub(crate) inner: Arc<Inner>,
}

impl fmt::Debug for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shard").field("address", &self.inner.address).finish_non_exhaustive()
    }
}

/// What the strand, the committer and the handles share.
pub(crate) struct Inner {
    pub(crate) core: Arc<Core>,
    pub(crate) index: ShardIndex,
    pub(crate) address: Address,
    pub(crate) chain_id: u64,
    pub(crate) view: Arc<View>,
    pool: Mutex<Pool>,
    /// Until it stops: the strand's body holds this, so one of the two must let go.
    strand: ArcSwapOption<Strand>,
    /// What is in the pool and could not be written to the log.
    unwritten: Mutex<B256Set>,
    drops: Mutex<Drops>,
    mail: Mutex<VecDeque<Mail>>,
    quarantine: Mutex<Option<String>>,
    /// Until when it waits after a failure, by the runtime's clock, and what has failed.
    backing_off: Mutex<Option<(Duration, String)>>,
    ticket: Ticket,
    /// The log says that it was created.
    durable: AtomicBool,
    pub(crate) included: AtomicU64,
    /// Of those, the ones that were reverted or ran out of gas.
    failed: AtomicU64,
}

/// What others tell the strand.
pub(crate) enum Mail {
    /// What became of the block in flight.
    Committed(Result<(), StoreError>),
    /// What several workers made of a batch.
    Executed(Box<Finished>),
    /// It has backed off for long enough.
    TryAgain,
    /// It is to begin nothing more, and to let go of this when nothing is under way.
    Close(UnderWay),
    /// Somebody wants its state changed.
    Amend(Request),
}

impl Inner {
    pub(crate) fn new(
        core: Arc<Core>,
        index: ShardIndex,
        address: Address,
        view: Arc<View>,
        durable: bool,
    ) -> Arc<Inner> {
        let chain_id = core.config.rules.chain_id(address);
        let base_fee = core.environment.get().base_fee;
        let pool = Pool::new(address, &core.config.rules, core.config.pool.clone(), base_fee);
        Arc::new(Inner {
            core,
            index,
            address,
            chain_id,
            view,
            pool: Mutex::new(pool),
            strand: ArcSwapOption::empty(),
            unwritten: Mutex::default(),
            drops: Mutex::default(),
            mail: Mutex::default(),
            quarantine: Mutex::default(),
            backing_off: Mutex::default(),
            ticket: Ticket::default(),
            durable: AtomicBool::new(durable),
            included: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        })
    }

    /// Gives it its strand. Until then wakes are not needed: its first turn looks at everything.
    pub(crate) fn start(self: &Arc<Inner>) -> Result<(), ScheduleError> {
        let name = format!("shard {}", self.address);
        let builder = self.core.runtime.strand().name(name);
        let (strand, _) = builder.idle_body(ShardBody::new(self.clone()))?;
        let before = self.strand.swap(Some(Arc::new(strand)));
        assert!(before.is_none(), "a shard is started once");
        Ok(())
    }

    pub(crate) fn pool(&self) -> MutexGuard<'_, Pool> {
        lock(&self.pool)
    }

    /// Something has changed that its next turn should see.
    pub(crate) fn wake(&self) {
        if let Some(strand) = &*self.strand.load() {
            self.is_queued();
            // A runtime that takes no wakes is shutting down: what is accepted is in the log.
            let _ = strand.wake();
        }
    }

    pub(crate) fn stop(&self) {
        if let Some(strand) = self.strand.swap(None) {
            // A runtime that has stopped gives it no turn to end in: it goes with this handle.
            strand.abort();
            self.turn_begins();
        }
        self.refuse_amendments();
    }

    /// Whether it was started and not stopped.
    pub(crate) fn is_started(&self) -> bool {
        self.strand.load().is_some()
    }

    pub(crate) fn phase(&self) -> Phase {
        self.strand.load().as_ref().map_or(Phase::Idle, |strand| strand.phase())
    }

    /// It is queued, or will be when this turn is over.
    fn is_queued(&self) {
        self.ticket.draw(&self.core.tickets);
    }

    fn turn_begins(&self) {
        self.ticket.hand_in(&self.core.tickets);
    }

    /// How many shards are before it, while it waits for its turn.
    fn queue_position(&self) -> Option<usize> {
        (self.phase() == Phase::Queued).then(|| self.ticket.before(&self.core.tickets))
    }

    pub(crate) fn send(&self, mail: Mail) {
        lock(&self.mail).push_back(mail);
        self.wake();
    }

    /// One by one: after a panic the others are still there.
    fn next_mail(&self) -> Option<Mail> {
        lock(&self.mail).pop_front()
    }

    pub(crate) fn quarantine(&self) -> Option<String> {
        lock(&self.quarantine).clone()
    }

    fn set_quarantine(&self, why: String) {
        lock(&self.quarantine).get_or_insert(why);
    }

    fn set_backing_off(&self, until: Option<(Duration, String)>) {
        *lock(&self.backing_off) = until;
    }

    pub(crate) fn backing_off(&self) -> Option<BackingOff> {
        let (until, why) = lock(&self.backing_off).clone()?;
        Some(BackingOff { left: until.saturating_sub(self.core.runtime.now()), why })
    }

    /// Ends a quarantine: the next turn tries again.
    pub(crate) fn release(&self) {
        lock(&self.quarantine).take();
        self.wake();
    }

    /// The record that says that it exists, as long as no log does.
    pub(crate) fn created_record(&self) -> Vec<Record> {
        if self.durable.load(Acquire) {
            return Vec::new();
        }
        let what = What::Created { address: self.address, chain_id: self.chain_id };
        vec![Record { shard: self.index, what }]
    }

    pub(crate) fn set_durable(&self) {
        self.durable.store(true, Release);
    }

    /// A batch is durable: now it can be seen. Called by the committer, in the order of the log.
    pub(crate) fn committed(&self, epoch: Epoch, batch: &Batch) -> Result<(), StoreError> {
        self.set_durable();
        let dropped = batch.dropped.iter();
        let dropped = dropped.map(|(transaction, reason)| (transaction.hash(), reason.clone()));
        self.view.drop_transactions(epoch, dropped);
        let Some(new) = &batch.block else { return Ok(()) };
        self.view.add(epoch, new)?;
        self.included.fetch_add(new.block.transactions.len() as u64, Relaxed);
        let failed = new.block.receipts.iter().filter(|receipt| !receipt.success).count();
        self.failed.fetch_add(failed as u64, Relaxed);
        self.core.events.publish(&BlockEvent { shard: self.address, block: new.block.clone() });
        Ok(())
    }
}

impl Inner {
    /// The acceptance of a transaction could not be written.
    pub(crate) fn set_unwritten(&self, hash: B256) {
        let pool = self.pool();
        if pool.get(hash).is_none() {
            return;
        }
        let mut unwritten = lock(&self.unwritten);
        unwritten.insert(hash);
        if unwritten.len() > pool.len() {
            // Some of them have left it.
            unwritten.retain(|hash| pool.get(*hash).is_some());
        }
    }

    /// Whether it waits and was not written. From now on it counts as written. One that is being
    /// executed may be in a block that is on its way: its acceptance must not come after that.
    pub(crate) fn take_unwritten(&self, pool: &Pool, hash: B256) -> bool {
        let waits = matches!(pool.status(hash), Some(pool::Status::Queued(_)));
        waits && lock(&self.unwritten).remove(&hash)
    }
}

/// A lock whose holders leave the value whole whatever happens.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a panic said.
pub(crate) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without words".to_owned())
}
