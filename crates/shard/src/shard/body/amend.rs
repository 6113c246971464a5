//! How does an amendment become a block?
//!
//! Alone: what was executed before it is committed first, and nothing is executed until it is
//! committed itself. So the view holds the state that it amends, and the pool learns of nonces that
//! went back while nothing of it is being executed.

use std::{collections::VecDeque, sync::Arc};

use kernel::{Step, Turn};
use revm::{ExecuteEvm, database::CacheDB};

use super::{Batch, Parent, ShardBody};
use crate::{
    amend::{AmendError, Outcome, Request, Undo, resolve},
    block::{ChangeSet, seal},
    commit::record::NewBlock,
    execute::{BlockContext, ExecuteError, Executed, evm},
    state::ReaderDatabase,
    view::StateAt,
};

/// The amendments of a shard that are not in a committed block yet.
#[derive(Default)]
pub(super) struct Amendments {
    waiting: VecDeque<Request>,
    /// How far the first of them has come with what it takes back.
    undo: Option<Undo>,
    /// The one whose block is in flight.
    in_flight: Option<Request>,
}

impl Amendments {
    pub(super) fn add(&mut self, request: Request) {
        self.waiting.push_back(request);
    }

    /// Whether there is one, waiting or in flight.
    pub(super) fn is_some(&self) -> bool {
        !self.waiting.is_empty() || self.in_flight.is_some()
    }

    pub(super) fn set_in_flight(&mut self, request: Request) {
        self.in_flight = Some(request);
    }

    /// What became of the one in flight.
    pub(super) fn tell(&mut self, outcome: impl FnOnce() -> Outcome) {
        if let Some(request) = self.in_flight.take() {
            request.tell(outcome());
        }
    }

    /// None of those that wait is made.
    pub(super) fn refuse(&mut self, why: &AmendError) {
        self.undo = None;
        for request in self.waiting.drain(..) {
            request.tell(Err(why.clone()));
        }
    }
}

impl ShardBody {
    /// Gets on with the amendments. Gives how the turn ends, or nothing if all was refused.
    pub(super) fn amend(&mut self, turn: &Turn<'_>) -> Option<Step<()>> {
        // What was executed goes first.
        self.commit();
        if self.in_flight.is_some() {
            // The committer wakes it.
            return Some(Step::Pause);
        }
        let Some(request) = self.amendments.waiting.pop_front() else {
            // One is in flight and its block is not: looking again at once would find the same.
            return Some(Step::Pause);
        };
        match self.make(&request, turn) {
            Ok(true) => {
                self.amendments.set_in_flight(request);
                self.commit();
                Some(Step::Pause)
            }
            Ok(false) => {
                self.amendments.waiting.push_front(request);
                Some(Step::Yield)
            }
            Err(error) => {
                self.amendments.undo = None;
                request.tell(Err(error));
                None
            }
        }
    }

    /// Makes a block of an amendment. `false`: the turn is over before.
    fn make(&mut self, request: &Request, turn: &Turn<'_>) -> Result<bool, AmendError> {
        let amendment = &request.amendment;
        let core = self.inner.core.clone();
        let rules = &core.config.rules;
        let undo = match amendment.back_to() {
            None => None,
            Some(number) => {
                if !self.take_back_to(number, turn)? {
                    return Ok(false);
                }
                self.amendments.undo.take()
            }
        };
        let context = self.context(&core.environment.get());
        let state = StateAt::latest(self.inner.view.clone());
        let system = self.system_changes(&context, &state)?;
        let changes = Arc::new(resolve(amendment, undo, &system, &state)?);
        let (mut state_root, mut nodes) = (None, Vec::new());
        if rules.state_root {
            let (view, parent) = (&self.inner.view, self.parent.header.state_root);
            let (root, written) = self.roots.update(view, context.height, parent, &changes)?;
            (state_root, nodes) = (Some(root), written);
        }
        self.executor.cache_mut().apply(context.height, &changes);
        // Of a base chain's hashes the system calls have read that before this number.
        let known = |number| Some((number, *context.base_hashes.as_ref()?.get(&number)?));
        let hashes_read = context.number.checked_sub(1).filter(|_| rules.system_calls);
        let executed = Executed {
            included: Vec::new(),
            dropped: Vec::new(),
            left: Vec::new(),
            changes,
            gas_used: 0,
            hashes_read: hashes_read.and_then(known).into_iter().collect(),
        };
        let block = seal(rules, self.inner.address, &context, executed, state_root);
        self.parent = Parent { header: block.header.clone(), hash: block.hash };
        let block =
            Some(Arc::new(NewBlock::new(block, nodes, self.room.take().unwrap_or_default())));
        self.executed = Some(Batch { block, dropped: Vec::new() });
        Ok(true)
    }

    /// Finds out what everything was at the end of a block. `false`: the turn is over before.
    fn take_back_to(&mut self, number: u64, turn: &Turn<'_>) -> Result<bool, AmendError> {
        let (view, rules) = (&self.inner.view, &self.inner.core.config.rules);
        let newest = view.tip().number();
        if number > newest {
            return Err(AmendError::NoSuchBlock { number, newest });
        }
        let undo = self.amendments.undo.get_or_insert_with(|| Undo::new(number, rules));
        while undo.next() <= newest {
            if turn.expired() {
                return Ok(false);
            }
            let changes = view.changes(undo.next())?;
            undo.take(&changes)?;
        }
        Ok(true)
    }

    /// What the calls write that each block begins with, where they are on.
    fn system_changes(
        &self,
        context: &BlockContext,
        state: &StateAt,
    ) -> Result<ChangeSet, ExecuteError> {
        let rules = &self.inner.core.config.rules;
        if !rules.system_calls {
            return Ok(ChangeSet::default());
        }
        let database = CacheDB::new(ReaderDatabase::new(state, context));
        let mut machine = evm::machine(rules, self.inner.chain_id, database);
        machine.set_block(evm::block_env(rules, context));
        evm::system_calls(&mut machine, rules, context)?;
        Ok(evm::changes(&mut machine.finalize(), state)?)
    }
}
