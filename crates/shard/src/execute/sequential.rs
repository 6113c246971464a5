//! What comes of executing transactions one after the other?
//!
//! One machine lives as long as the shard: a new one per transaction is 1.4 to 2.3 times slower.
//! Between blocks it is parked, without frames and memory, so that it takes little and may change
//! workers. Its journal collects what all transactions of a block change, and is read once, at the
//! end.
//!
//! Determinism is per sequence of blocks: the same transactions in the same order under the same
//! contexts give the same bytes. Where a batch is cut (by the block's limits or by
//! `keep_going`, which may look at a clock) decides what the next block holds, not what a block
//! that holds these transactions comes to.

use std::{
    any::Any,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, map::HashSet};
use revm::{
    Database, ExecuteEvm,
    context::{ContextSetters as _, result::ExecutionResult},
    context_interface::JournalTr,
    handler::Handler as _,
    state::EvmState,
};

use crate::{
    config::Rules,
    execute::{
        BlockContext, DropReason, ExecuteError, Executed,
        ending::Ending,
        evm::{self, Machine, Parked, Verdict},
    },
    state::{StateReader, cache::Cache},
    store::StoreError,
    transaction::{SharedTransaction, Transaction, tx_env},
};

const BETWEEN: &str = "a machine is parked between calls";

/// No transaction costs less: with less gas left, a block is full.
pub(super) const GAS_MIN: u64 = 21_000;

/// Executes the transactions of one shard.
pub struct Executor {
    rules: Rules,
    chain_id: u64,
    /// There is one between calls.
    parked: Option<Parked<Cache>>,
    /// Room for what a block touches, while there is one block after the other: fresh memory costs
    /// more than what is written to it.
    room: EvmState,
}

impl Executor {
    /// For the shard with this address, whose committed state is read from `reader`. About
    /// `entries_max` accounts and slots are kept at hand.
    pub fn new(
        rules: &Rules,
        shard: Address,
        reader: Arc<dyn StateReader>,
        entries_max: usize,
    ) -> Executor {
        let chain_id = rules.chain_id(shard);
        let machine = evm::machine(rules, chain_id, Cache::new(reader, entries_max));
        let parked = Some(Parked::new(machine));
        Executor { rules: rules.clone(), chain_id, parked, room: EvmState::default() }
    }

    /// Executes what fits a block, in order, and takes it as the state for the next one. If that
    /// block is not to be, [`Executor::clear`] before anything else is executed.
    ///
    /// `keep_going` is asked after each transaction: with `false` the rest is left. One is always
    /// tried, so that whoever asks again gets on.
    ///
    /// A transaction that does not fit into the gas that is left stays behind, with the later ones
    /// of its sender; others may go on. A block without transactions has changed nothing.
    pub fn execute(
        &mut self,
        context: &BlockContext,
        batch: Vec<SharedTransaction>,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<Executed, ExecuteError> {
        let mut machine = self.parked.take().expect(BETWEEN).unpark();
        machine.ctx.journaled_state.state = mem::take(&mut self.room);
        let executed = self.execute_on(&mut machine, context, batch, keep_going);
        self.room = mem::take(&mut machine.ctx.journaled_state.state);
        self.parked = Some(Parked::new(machine));
        executed
    }

    /// No block follows soon: gives memory back.
    pub fn rest(&mut self) {
        self.room = EvmState::default();
    }

    /// Blocks up to this height are committed, and the reader knows them.
    pub fn committed(&mut self, height: u64) {
        self.cache_mut().committed(height);
    }

    /// Forgets what was executed and not committed.
    pub fn clear(&mut self) {
        self.cache_mut().clear();
    }

    /// The state, with what was executed and not committed.
    pub fn cache(&self) -> &Cache {
        self.parked.as_ref().expect(BETWEEN).database()
    }

    /// The same, for another executor that takes a block of this shard.
    pub fn cache_mut(&mut self) -> &mut Cache {
        self.parked.as_mut().expect(BETWEEN).database_mut()
    }

    /// Lends the state to the [other executor](crate::execute::parallel), for one block. Until it
    /// is back nothing may be executed here.
    pub fn lend(&mut self) -> Cache {
        let cache = self.cache_mut();
        let empty = cache.emptied();
        mem::replace(cache, empty)
    }

    /// Takes the state back. Blocks that were committed meanwhile are known to it then; if one could
    /// not be committed meanwhile, [`Executor::clear`] is to be called now.
    pub fn take_back(&mut self, cache: Cache) {
        let meanwhile = mem::replace(self.cache_mut(), cache);
        self.committed(meanwhile.committed_up_to());
    }

    /// Tries until no transaction panics.
    fn execute_on(
        &self,
        machine: &mut Machine<Cache>,
        context: &BlockContext,
        mut batch: Vec<SharedTransaction>,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<Executed, ExecuteError> {
        let mut panicked = Vec::new();
        loop {
            let mut at = None;
            let attempt = catch_unwind(AssertUnwindSafe(|| {
                self.attempt(machine, context, &batch, keep_going, &mut at)
            }));
            match attempt {
                Ok(Ok(mut executed)) => {
                    executed.dropped.append(&mut panicked);
                    return Ok(executed);
                }
                Ok(Err(error)) => {
                    self.renew(machine);
                    return Err(error);
                }
                Err(payload) => {
                    self.renew(machine);
                    let what = message(payload.as_ref());
                    let Some(at) = at else { return Err(ExecuteError::Fault(what)) };
                    // What it left behind can not be trusted. The others do it again without it.
                    panicked.push((batch.remove(at), DropReason::Panicked(what)));
                }
            }
        }
    }

    /// One try at the whole batch. `at` is the transaction that is being executed.
    fn attempt(
        &self,
        machine: &mut Machine<Cache>,
        context: &BlockContext,
        batch: &[SharedTransaction],
        keep_going: &mut dyn FnMut() -> bool,
        at: &mut Option<usize>,
    ) -> Result<Executed, ExecuteError> {
        let rules = &self.rules;
        machine.ctx.journaled_state.database.begin(context);
        machine.set_block(evm::block_env(rules, context));
        evm::system_calls(machine, rules, context)?;

        let mut progress = Progress::new(rules, batch.len());
        each(machine, rules, context, batch, keep_going, at, &mut progress)?;
        let Progress { room, mut executed } = progress;

        let mut state = machine.finalize();
        if !executed.included.is_empty() {
            let cache = &mut machine.ctx.journaled_state.database;
            executed.changes = Arc::new(evm::changes(&mut state, cache)?);
            executed.gas_used = room.gas_used;
            executed.hashes_read = cache.hashes_read();
            cache.apply(context.height, &executed.changes);
        }
        state.clear();
        machine.ctx.journaled_state.state = state;
        Ok(executed)
    }

    /// A machine and a cache that no failure has touched. What uncommitted blocks have written
    /// stays: the cache takes it whole, at the end of a block, and nobody else has it.
    #[cold]
    fn renew(&self, machine: &mut Machine<Cache>) {
        let cache = &mut machine.ctx.journaled_state.database;
        let empty = cache.emptied();
        let mut cache = mem::replace(cache, empty);
        cache.forget_committed();
        *machine = evm::machine(&self.rules, self.chain_id, cache);
    }
}

/// How far a batch has come.
#[derive(Clone)]
pub(super) struct Progress {
    pub(super) room: Room,
    pub(super) executed: Executed,
}

impl Progress {
    /// With a batch of so many transactions.
    pub(super) fn new(rules: &Rules, transactions: usize) -> Progress {
        Progress {
            room: Room::new(rules),
            executed: Executed {
                included: Vec::with_capacity(transactions.min(rules.block_transactions_max)),
                dropped: Vec::new(),
                left: Vec::new(),
                changes: Default::default(),
                gas_used: 0,
                hashes_read: Vec::new(),
            },
        }
    }
}

/// Executes what fits the block, in order. `at` is the transaction that is being executed.
pub(super) fn each<D: Database<Error = StoreError>>(
    machine: &mut Machine<D>,
    rules: &Rules,
    context: &BlockContext,
    batch: &[SharedTransaction],
    keep_going: &mut dyn FnMut() -> bool,
    at: &mut Option<usize>,
    progress: &mut Progress,
) -> Result<(), ExecuteError> {
    let Progress { room, executed } = progress;
    let mut tried = 0;
    for (index, transaction) in batch.iter().enumerate() {
        *at = None;
        if tried > 0 && !keep_going() || room.is_full() {
            executed.left.extend_from_slice(&batch[index..]);
            break;
        }
        *at = Some(index);
        if let Some(reason) = evm::refuse(rules, transaction) {
            executed.dropped.push((Arc::clone(transaction), reason));
            continue;
        }
        if !room.takes(transaction) {
            executed.left.push(Arc::clone(transaction));
            continue;
        }
        tried += 1;
        match run(machine, rules, transaction) {
            Ok(result) => {
                let receipt = evm::receipt(rules, context, transaction, result, room.gas_used);
                room.included(receipt.gas_used);
                executed.included.push((Arc::clone(transaction), receipt));
            }
            Err(Verdict::Drop(reason)) => {
                executed.dropped.push((Arc::clone(transaction), reason));
            }
            Err(Verdict::Leave) => {
                room.left(transaction.sender());
                executed.left.push(Arc::clone(transaction));
            }
            Err(Verdict::Fail(error)) => return Err(error),
        }
    }
    *at = None;
    Ok(())
}

/// Runs one transaction.
pub(super) fn run<D: Database<Error = StoreError>>(
    machine: &mut Machine<D>,
    rules: &Rules,
    transaction: &Transaction,
) -> Result<ExecutionResult, Verdict> {
    check_value(machine, rules, transaction)?;
    machine.ctx.set_tx(tx_env(transaction));
    Ending::new().run(machine).map_err(evm::verdict)
}

/// Where fees are not looked at, revm does not look at the value either.
pub(super) fn check_value<D: Database<Error = StoreError>>(
    machine: &mut Machine<D>,
    rules: &Rules,
    transaction: &Transaction,
) -> Result<(), Verdict> {
    if rules.no_fee {
        let journal = &mut machine.ctx.journaled_state;
        let sender = journal
            .load_account(transaction.sender())
            .map_err(|error| Verdict::Fail(ExecuteError::Store(error)))?;
        if sender.data.info.nonce == transaction.nonce()
            && sender.data.info.balance < transaction.envelope().value()
        {
            // Or the sender would be warm for the next one.
            journal.discard_tx();
            return Err(Verdict::Drop(DropReason::InsufficientFunds));
        }
    }
    Ok(())
}

/// What a block still has room for.
#[derive(Clone)]
pub(super) struct Room {
    gas_limit: u64,
    pub(super) gas_used: u64,
    transactions_left: usize,
    /// Those of whom a transaction stayed behind: later ones must not overtake it.
    waiting: HashSet<Address>,
}

impl Room {
    fn new(rules: &Rules) -> Room {
        Room {
            gas_limit: rules.block_gas_limit,
            gas_used: 0,
            transactions_left: rules.block_transactions_max,
            waiting: HashSet::default(),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.transactions_left == 0 || self.gas_limit - self.gas_used < GAS_MIN
    }

    /// Whether there is room for this one. If not, its sender waits.
    pub(super) fn takes(&mut self, transaction: &SharedTransaction) -> bool {
        if !self.waiting.is_empty() && self.waiting.contains(&transaction.sender()) {
            return false;
        }
        if transaction.gas_limit() > self.gas_limit - self.gas_used {
            self.left(transaction.sender());
            return false;
        }
        true
    }

    pub(super) fn left(&mut self, sender: Address) {
        self.waiting.insert(sender);
    }

    pub(super) fn included(&mut self, gas: u64) {
        self.gas_used += gas;
        self.transactions_left -= 1;
    }
}

/// What a panic has to say.
pub(crate) fn message(payload: &(dyn Any + Send)) -> String {
    if let Some(what) = payload.downcast_ref::<&str>() {
        (*what).to_owned()
    } else if let Some(what) = payload.downcast_ref::<String>() {
        what.clone()
    } else {
        "a panic without words".to_owned()
    }
}

#[cfg(test)]
mod tests;
