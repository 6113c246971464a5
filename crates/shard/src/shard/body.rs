//! What does a shard do in its turn?
//!
//! ```text
//!   collect -> execute -> commit ......... -> remove
//!      ^                    | in flight         |
//!      +--------------------+-------------------+
//! ```
//!
//! 1. At most one block is in flight to the committer. Meanwhile the next may be executed on the
//!    state that the one in flight leaves, and then it waits.
//! 2. A transaction leaves the pool when the block that holds it, or the reason of its drop, is
//!    durable; never before.
//! 3. When executing or committing fails as a whole, all that is not committed is given back to the
//!    pool and the state is read anew from what is. The shard backs off, and tries again or is
//!    quarantined.
//!    While a block is still in flight then, nothing is executed: its state is not at hand any more.
//! 4. An amendment is made alone, between two blocks.
//! 5. A turn that finds nothing to do ends at once, and one that has used up its quantum yields.

mod amend;
#[cfg(test)]
mod tests;
mod traces;

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use alloy_consensus::Header;
use alloy_primitives::{B256, U256};
use kernel::{Body, Step, Timer, Turn};

use self::amend::Amendments;
use super::{
    Inner, Mail,
    roots::Roots,
    trouble::{Trouble, Verdict},
};
use crate::{
    amend::AmendError,
    block::{Block, ListRoots, seal_with},
    commit::record::{BlockBytes, NewBlock, Record, What},
    config::Rules,
    environment::Environment,
    execute::{
        BlockContext, DropReason, ExecuteError, Executed,
        parallel::{self, Finished, Work, Worth},
        sequential::Executor,
    },
    pool::{Dropped, Pool},
    shards::{SubmitError, UnderWay},
    store::StoreError,
    transaction::SharedTransaction,
    view::StateAt,
};

/// How much more gas is collected than a block holds: most transactions ask for more than they use.
const COLLECT_GAS: u64 = 4;

/// What executing a transaction takes in a simulation, so that quanta end there too.
const SIMULATED: Duration = Duration::from_millis(1);

pub(crate) struct ShardBody {
    inner: Arc<Inner>,
    executor: Executor,
    /// What the next block follows: the newest that was executed.
    parent: Parent,
    /// Taken from the pool and not a batch yet, nor lent.
    collected: Vec<B256>,
    /// Executed, and waiting for the one in flight.
    executed: Option<Batch>,
    in_flight: Option<Arc<Batch>>,
    /// The executor knows committed blocks only, not the one in flight.
    behind: bool,
    /// Lent to workers that execute a batch side by side.
    lent: Option<Lent>,
    worth: Worth,
    roots: Roots,
    amendments: Amendments,
    /// Room for the bytes of the next block, while there is one block after the other.
    room: Option<BlockBytes>,
    trouble: Trouble,
    /// Set while it backs off.
    timer: Option<Timer>,
    /// The store is closed or the runtime stops: whatever it tries would fail at once.
    over: bool,
    /// It is to see through what is under way, and to begin nothing more.
    ending: Option<UnderWay>,
}

struct Parent {
    header: Header,
    hash: B256,
}

/// A batch that several workers execute, with the executor's state.
struct Lent {
    context: BlockContext,
    collected: Vec<B256>,
    /// What the batch was executed on does not count any more.
    void: bool,
}

/// What one cycle came to.
pub(crate) struct Batch {
    pub(crate) block: Option<Arc<NewBlock>>,
    pub(crate) dropped: Vec<(SharedTransaction, DropReason)>,
}

impl ShardBody {
    pub(crate) fn new(inner: Arc<Inner>) -> ShardBody {
        let reader = Arc::new(StateAt::latest(inner.view.clone()));
        let config = &inner.core.config;
        let executor = Executor::new(&config.rules, inner.address, reader, config.cache_entries);
        let parent = Parent::newest(&inner);
        ShardBody {
            inner,
            executor,
            parent,
            collected: Vec::new(),
            executed: None,
            in_flight: None,
            behind: false,
            lent: None,
            worth: Worth::new(),
            roots: Roots::default(),
            amendments: Amendments::default(),
            room: None,
            trouble: Trouble::default(),
            timer: None,
            over: false,
            ending: None,
        }
    }

    fn cycles(&mut self, turn: &mut Turn<'_>) -> Step<()> {
        loop {
            self.read_mail(turn);
            if self.ending.is_some() {
                return self.end();
            }
            let waits = self.timer.is_some() || self.lent.is_some() || self.over;
            if waits || self.inner.quarantine().is_some() {
                self.refuse_amendments();
                return Step::Pause;
            }
            if self.behind && self.in_flight.is_some() {
                return Step::Pause;
            }
            if self.amendments.is_some() {
                match self.amend(turn) {
                    Some(step) => return step,
                    None => continue,
                }
            }
            if self.executed.is_none() && !self.execute(turn) {
                self.room = None;
                self.executor.rest();
                return Step::Pause;
            }
            self.commit();
            if self.executed.is_some() {
                // Two blocks are under way: the committer wakes it.
                return Step::Pause;
            }
            if turn.expired() {
                return Step::Yield;
            }
        }
    }

    /// Sees through what is under way.
    fn end(&mut self) -> Step<()> {
        self.commit();
        if self.in_flight.is_none() && self.lent.is_none() {
            self.over = true;
            self.ending = None;
            self.refuse_amendments();
        }
        Step::Pause
    }

    /// Collects and executes a batch. Whether there was something to do.
    fn execute(&mut self, turn: &mut Turn<'_>) -> bool {
        let core = self.inner.core.clone();
        let rules = &core.config.rules;
        let environment = core.environment.get();
        let context = self.context(&environment);
        let gas = rules.block_gas_limit.saturating_mul(COLLECT_GAS);
        let base_fee = if rules.no_fee { 0 } else { context.base_fee };
        let batch = self.inner.pool().collect(rules.block_transactions_max, gas, base_fee);
        if batch.is_empty() {
            return false;
        }
        self.collected = hashes(&batch);
        if self.lends(rules, &batch) {
            self.lend(context, batch);
            return false;
        }
        let result = self.executor.execute(&context, batch, &mut || {
            turn.simulate(SIMULATED);
            !turn.expired()
        });
        if let Ok(executed) = &result {
            self.worth.observe(executed);
        }
        self.finish(&context, result, None, turn)
    }

    /// A batch was executed, or was not; perhaps its roots are known. Whether there is something to
    /// commit.
    fn finish(
        &mut self,
        context: &BlockContext,
        result: Result<Executed, ExecuteError>,
        roots: Option<ListRoots>,
        turn: &mut Turn<'_>,
    ) -> bool {
        match result.and_then(|executed| self.seal(context, executed, roots)) {
            Ok(some) => some,
            Err(error) => {
                self.failed(&error, turn);
                false
            }
        }
    }

    /// Whether several workers should execute a batch.
    fn lends(&mut self, rules: &Rules, batch: &[SharedTransaction]) -> bool {
        let core = &self.inner.core;
        if core.jobs.is_none() {
            return false;
        }
        self.worth.worthwhile(rules, batch, || core.idle_workers())
    }

    /// Hands a batch to several workers, and the executor's state with it. They send it back.
    fn lend(&mut self, context: BlockContext, batch: Vec<SharedTransaction>) {
        let core = &self.inner.core;
        let jobs = core.jobs.as_ref().expect("somebody to lend to was looked for");
        let work = Work {
            rules: core.config.rules.clone(),
            chain_id: self.inner.chain_id,
            context: context.clone(),
            batch,
            cache: self.executor.lend(),
            calm: self.worth.calm(),
        };
        let collected = mem::take(&mut self.collected);
        self.lent = Some(Lent { context, collected, void: false });
        let inner = self.inner.clone();
        let done = move |finished| inner.send(Mail::Executed(Box::new(finished)));
        parallel::start(jobs, work, core.others.worker_count(), done);
    }

    /// Several workers are done with a batch.
    fn take_back(&mut self, finished: Finished, turn: &mut Turn<'_>) {
        let lent = self.lent.take().expect("what is sent back was lent");
        if lent.void {
            return self.give_back(&lent.collected);
        }
        self.collected = lent.collected;
        self.worth.observe_parallel(&finished);
        self.executor.take_back(finished.cache);
        // Blocks may have been committed meanwhile.
        self.executor.committed(self.inner.view.tip().number());
        if finished.result.is_ok() {
            self.inner.core.parallel_blocks.fetch_add(1, Relaxed);
        }
        self.finish(&lent.context, finished.result, finished.roots, turn);
    }

    /// Makes a block of what was executed. Whether there is something to commit.
    fn seal(
        &mut self,
        context: &BlockContext,
        mut executed: Executed,
        roots: Option<ListRoots>,
    ) -> Result<bool, ExecuteError> {
        let core = self.inner.core.clone();
        let rules = &core.config.rules;
        let (mut state_root, mut nodes) = (None, Vec::new());
        if rules.state_root && !executed.included.is_empty() {
            let (view, parent) = (&self.inner.view, self.parent.header.state_root);
            let (root, written) =
                self.roots.update(view, context.height, parent, &executed.changes)?;
            (state_root, nodes) = (Some(root), written);
        }
        let left = mem::take(&mut executed.left);
        self.give_back(&hashes(&left));
        let dropped = mem::take(&mut executed.dropped);
        let block = (!executed.included.is_empty()).then(|| {
            let roots = roots.unwrap_or_else(|| ListRoots::of(&executed.included));
            let address = self.inner.address;
            let block = seal_with(rules, address, context, executed, roots, state_root);
            self.parent = Parent { header: block.header.clone(), hash: block.hash };
            Arc::new(NewBlock::new(block, nodes, self.room.take().unwrap_or_default()))
        });
        // From here on the batch knows them.
        self.collected.clear();
        if block.is_none() && dropped.is_empty() {
            return Ok(false);
        }
        self.executed = Some(Batch { block, dropped });
        Ok(true)
    }

    /// Hands the executed block to the committer, unless one is in flight.
    fn commit(&mut self) {
        if self.in_flight.is_some() {
            return;
        }
        let Some(batch) = &self.executed else { return };
        // After a panic here the batch is still there, to be given back.
        let record = |what| Record { shard: self.inner.index, what };
        let mut records = self.inner.created_record();
        records.extend(batch.block.iter().cloned().map(|block| record(What::Block(block))));
        let dropped = batch.dropped.iter();
        records.extend(
            dropped.map(|(transaction, reason)| self.inner.drop_record(transaction.hash(), reason)),
        );
        let Some(batch) = self.executed.take().map(Arc::new) else { return };
        self.in_flight = Some(batch.clone());
        let inner = self.inner.clone();
        let done = move |result: Result<_, StoreError>| {
            let told = result.and_then(|epoch| inner.committed(epoch, &batch));
            inner.send(Mail::Committed(told));
        };
        self.inner.core.committer.submit(records, Box::new(done));
    }

    fn read_mail(&mut self, turn: &mut Turn<'_>) {
        while let Some(mail) = self.inner.next_mail() {
            match mail {
                Mail::Committed(Ok(())) => self.remove(),
                Mail::Committed(Err(error)) => {
                    self.amendments.tell(|| Err(error.clone().into()));
                    let lost = self.in_flight.take();
                    self.give_back_batch(lost.as_deref());
                    self.failed(&ExecuteError::Store(error), turn);
                }
                Mail::Executed(finished) => self.take_back(*finished, turn),
                Mail::TryAgain => {
                    self.timer = None;
                    self.inner.set_backing_off(None);
                }
                Mail::Close(under_way) => self.ending = Some(under_way),
                Mail::Amend(request) => self.amendments.add(request),
            }
        }
    }

    /// The block in flight is durable: what it holds leaves the pool.
    fn remove(&mut self) {
        let batch = self.in_flight.take().expect("a commit that was told was in flight");
        self.trouble.none();
        if mem::take(&mut self.behind) {
            self.parent = Parent::newest(&self.inner);
        }
        self.inner.change_pool(|pool| {
            for (transaction, _) in &batch.dropped {
                pool.dropped(transaction.hash());
            }
            batch.block.as_ref().map_or(Vec::new(), |new| follow(pool, &new.block))
        });
        if let Some(new) = &batch.block {
            self.room = new.take_bytes();
            self.executor.committed(new.block.number());
            self.roots.committed(new.block.number());
            self.amendments.tell(|| Ok(new.block.clone()));
            self.store_traces(&new.block);
        }
    }

    /// Nothing is made while this lasts. Those that wait for a pause to end go on waiting.
    fn refuse_amendments(&mut self) {
        if let Some(why) = self.inner.quarantine() {
            self.amendments.refuse(&SubmitError::Quarantined(why).into());
        } else if self.over {
            self.amendments.refuse(&AmendError::from(SubmitError::Stopped));
        }
    }

    /// Nothing that was executed and is not in flight counts any more.
    fn forget(&mut self) {
        let (collected, executed) = (mem::take(&mut self.collected), self.executed.take());
        self.give_back(&collected);
        self.give_back_batch(executed.as_ref());
        self.executor.clear();
        self.roots.clear();
        if let Some(lent) = &mut self.lent {
            lent.void = true;
        }
        self.parent = Parent::newest(&self.inner);
        self.behind = self.in_flight.is_some();
    }

    fn give_back_batch(&self, batch: Option<&Batch>) {
        let Some(batch) = batch else { return };
        let included = batch.block.iter().flat_map(|new| &new.block.transactions);
        let dropped = batch.dropped.iter().map(|(transaction, _)| transaction);
        let all: Vec<B256> = included.chain(dropped).map(|one| one.hash()).collect();
        self.give_back(&all);
    }

    fn give_back(&self, hashes: &[B256]) {
        if hashes.is_empty() {
            return;
        }
        self.inner.change_pool(|pool| pool.give_back(hashes));
    }

    fn failed(&mut self, error: &ExecuteError, turn: &mut Turn<'_>) {
        self.forget();
        let verdict = match error {
            // The last words of a store that was closed on purpose.
            ExecuteError::Store(StoreError::Closed) => {
                self.over = true;
                return;
            }
            // Trying again does not mend these.
            ExecuteError::Store(StoreError::Corrupt(_) | StoreError::TooLong { .. })
            | ExecuteError::Fault(_)
            | ExecuteError::TraceTooLarge(_) => self.trouble.failed(),
            ExecuteError::Store(_) => self.trouble.store_failed(),
        };
        match verdict {
            Verdict::Quarantine => self.inner.set_quarantine(error.to_string()),
            Verdict::TryAfter(time) => {
                let inner = self.inner.clone();
                let until = inner.core.runtime.now() + time;
                inner.set_backing_off(Some((until, error.to_string())));
                let again = move || inner.send(Mail::TryAgain);
                self.timer = turn.handle().call_after(time, again).ok();
                self.over = self.timer.is_none();
            }
        }
    }

    /// The shared environment, as the next block of this shard sees it.
    fn context(&self, environment: &Environment) -> BlockContext {
        let parent = &self.parent;
        if environment.number.is_some() {
            return BlockContext::after(&parent.header, parent.hash, environment);
        }
        let timestamp = self.inner.core.unix_time().max(environment.timestamp);
        let environment = Environment { timestamp, ..environment.clone() };
        BlockContext::after(&parent.header, parent.hash, &environment)
    }
}

impl Body for ShardBody {
    type Output = ();

    fn turn(&mut self, turn: &mut Turn<'_>) -> Step<()> {
        self.inner.turn_begins();
        // A panic of ours must not end the strand, which would leave its pool to nobody.
        match catch_unwind(AssertUnwindSafe(|| self.cycles(turn))) {
            Ok(step) => {
                if matches!(step, Step::Yield) {
                    self.inner.is_queued();
                }
                step
            }
            Err(panic) => {
                let what = super::message(&*panic);
                self.inner.set_quarantine(what.clone());
                self.forget();
                if self.in_flight.is_none() {
                    // Nobody else tells whoever waits for it.
                    self.amendments.tell(|| Err(AmendError::Fault(what)));
                }
                self.refuse_amendments();
                // There may be mail behind that which made it panic, and nobody wakes it for that.
                self.inner.is_queued();
                Step::Yield
            }
        }
    }
}

impl Parent {
    fn newest(inner: &Inner) -> Parent {
        let tip = inner.view.tip();
        Parent { header: tip.header.clone(), hash: tip.hash }
    }
}

/// Tells the pool of a block that is committed. Gives what can never be included now.
fn follow(pool: &mut Pool, block: &Block) -> Vec<Dropped> {
    pool.included(&hashes(&block.transactions));
    let mut dropped = Vec::new();
    // A block without transactions is an amendment: nonces may have gone back.
    let amended = block.transactions.is_empty();
    for change in &block.changes.accounts {
        let (nonce, balance) =
            change.after.map_or((0, U256::ZERO), |after| (after.nonce, after.balance));
        let mut gone = if amended {
            pool.account_amended(change.address, nonce, balance)
        } else {
            pool.account_changed(change.address, nonce, balance)
        };
        dropped.append(&mut gone);
    }
    dropped
}

fn hashes(transactions: &[SharedTransaction]) -> Vec<B256> {
    transactions.iter().map(|transaction| transaction.hash()).collect()
}
