//! What becomes of transactions in their order?
//!
//! Who holds the frontier takes one outcome after the other. If all that the transaction has seen
//! is still so, it has done what it would do now: the virtual machine is a function of what it
//! reads. Otherwise it is executed once more, on the state, which nobody changes meanwhile. So the
//! result is that of one by one execution, whatever the guesses were.
//!
//! Where guesses fail too often, the rest is executed one by one.

use std::{collections::BTreeMap, mem, sync::Arc};

use alloy_primitives::B256;

use crate::{
    block::{AccountChange, ChangeSet},
    execute::{
        DropReason, ExecuteError, Executed, evm,
        parallel::{
            attempt::{Attempt, Came, Runner},
            effects::Effect,
            net::Net,
            state::{Common, Settled},
            versions::{OPENING, Standing, place},
        },
        sequential::{self, Progress, message},
    },
    state::bytecode,
    transaction::SharedTransaction,
};

/// A guess that failed weighs as much as so many that were right: a fifth may fail.
const WEIGHT: u32 = 4;
/// So much is borne. A few conflicts at a time are no reason to give up.
const STRAIN_MAX: u32 = 24;

/// What was committed so far.
pub(super) struct Frontier {
    net: Net,
    progress: Progress,
    /// They come last among those that are dropped, as one by one execution has it.
    panicked: Vec<(SharedTransaction, DropReason)>,
    hashes: BTreeMap<u64, B256>,
    opened: bool,
    failed: Option<ExecuteError>,
    strain: u32,
    /// How many guesses have failed.
    pub(super) conflicts: usize,
    /// How many were executed one by one.
    pub(super) alone: usize,
}

/// What is to be done after a transaction.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Onward {
    /// The next one is committed.
    Next,
    /// The rest is done alone.
    Alone,
    /// There is nothing more to do.
    End,
}

impl Frontier {
    pub(super) fn new(common: &Common) -> Frontier {
        Frontier {
            net: Net::default(),
            progress: Progress::new(&common.rules, common.batch.len()),
            panicked: Vec::new(),
            hashes: BTreeMap::new(),
            opened: false,
            failed: None,
            strain: 0,
            conflicts: 0,
            alone: 0,
        }
    }

    /// Commits a transaction, of which this came on guesses.
    pub(super) fn commit(
        &mut self,
        runner: &mut Runner,
        common: &Common,
        at: u32,
        guessed: Box<Attempt>,
    ) -> Onward {
        match self.try_commit(runner, common, at, guessed) {
            Ok(onward) => onward,
            Err(error) => {
                self.failed = Some(error);
                Onward::End
            }
        }
    }

    fn try_commit(
        &mut self,
        runner: &mut Runner,
        common: &Common,
        at: u32,
        guessed: Box<Attempt>,
    ) -> Result<Onward, ExecuteError> {
        self.open(runner, common)?;
        let transaction = &common.batch[at as usize];
        let Progress { room, executed } = &mut self.progress;
        if room.is_full() {
            executed.left.extend_from_slice(&common.batch[at as usize..]);
            return Ok(Onward::End);
        }
        if let Some(reason) = evm::refuse(&common.rules, transaction) {
            executed.dropped.push((Arc::clone(transaction), reason));
            return Ok(Onward::Next);
        }
        if !room.takes(transaction) {
            common.versions.retract(place(at), guessed.effects());
            executed.left.push(Arc::clone(transaction));
            return Ok(Onward::Next);
        }
        let attempt = self.make_sure(runner, common, at, guessed);
        let Progress { room, executed } = &mut self.progress;
        match attempt.came {
            Came::Included { mut receipt, effects, fee } => {
                receipt.cumulative_gas_used = room.gas_used + receipt.gas_used;
                room.included(receipt.gas_used);
                executed.included.push((Arc::clone(transaction), receipt));
                self.net.absorb(effects);
                let (lane, beneficiary) = (runner.lane(), common.context.beneficiary);
                self.net.credit(beneficiary, fee, || common.account_before(lane, beneficiary))?;
            }
            Came::Dropped(reason) => executed.dropped.push((Arc::clone(transaction), reason)),
            Came::Left => {
                room.left(transaction.sender());
                executed.left.push(Arc::clone(transaction));
            }
            Came::Panicked(what) => {
                self.panicked.push((Arc::clone(transaction), DropReason::Panicked(what)));
            }
            Came::Failed(error) => return Err(error),
            Came::Unclear => unreachable!("the state is clear"),
        }
        self.hashes.extend(attempt.told.hashes);
        Ok(if self.strain > STRAIN_MAX { Onward::Alone } else { Onward::Next })
    }

    /// What a block begins with, before its first transaction.
    fn open(&mut self, runner: &mut Runner, common: &Common) -> Result<(), ExecuteError> {
        if mem::replace(&mut self.opened, true) || !common.rules.system_calls {
            return Ok(());
        }
        let (effects, told) = runner.open(&mut self.net)?;
        common.versions.publish(runner.lane(), OPENING, &effects);
        self.net.absorb(effects);
        self.hashes.extend(told.hashes);
        Ok(())
    }

    /// What came of the guesses, if they were right; otherwise what comes of the state.
    fn make_sure(
        &mut self,
        runner: &mut Runner,
        common: &Common,
        at: u32,
        guessed: Box<Attempt>,
    ) -> Attempt {
        if !matches!(guessed.came, Came::Unclear) && self.net.confirms(&guessed.told.reads) {
            self.strain = self.strain.saturating_sub(1);
            return *guessed;
        }
        self.strain += WEIGHT;
        self.conflicts += 1;
        let certain = runner.execute(at, &mut self.net);
        common.versions.retract(place(at), guessed.effects());
        common.versions.publish(runner.lane(), place(at), certain.effects());
        certain
    }

    /// Executes the rest one by one, beginning here.
    pub(super) fn go_on_alone(&mut self, runner: &mut Runner, common: &Common, from: u32) {
        self.alone = common.batch.len() - from as usize;
        if let Err(error) = self.try_alone(runner, common, from) {
            self.failed = Some(error);
        }
    }

    fn try_alone(
        &mut self,
        runner: &mut Runner,
        common: &Common,
        from: u32,
    ) -> Result<(), ExecuteError> {
        let mut batch = common.batch[from as usize..].to_vec();
        loop {
            let mut progress = Progress::new(&common.rules, batch.len());
            progress.room.clone_from(&self.progress.room);
            let mut at = None;
            let run = runner.settled(&mut self.net, |machine| {
                let (rules, context) = (&common.rules, &common.context);
                let keep_going = &mut || true;
                sequential::each(
                    machine,
                    rules,
                    context,
                    &batch,
                    keep_going,
                    &mut at,
                    &mut progress,
                )
            });
            match run {
                Ok((ran, mut state, told)) => {
                    ran?;
                    let before = Settled { common, lane: runner.lane(), net: &self.net };
                    let effects = self.effects(evm::changes(&mut state, &before)?);
                    self.net.absorb(effects);
                    self.hashes.extend(told.hashes);
                    let Progress { room, executed } = &mut self.progress;
                    *room = progress.room;
                    executed.included.append(&mut progress.executed.included);
                    executed.dropped.append(&mut progress.executed.dropped);
                    executed.left.append(&mut progress.executed.left);
                    return Ok(());
                }
                Err(payload) => {
                    let what = message(payload.as_ref());
                    let Some(at) = at else { return Err(ExecuteError::Fault(what)) };
                    // The others do it again without it.
                    self.panicked.push((batch.remove(at), DropReason::Panicked(what)));
                }
            }
        }
    }

    /// Changes of several transactions at once.
    fn effects(&self, changes: ChangeSet) -> Vec<Effect> {
        let ChangeSet { accounts, codes } = changes;
        let standing = |change: &AccountChange| -> Standing {
            let account = change.after?;
            let new = codes.binary_search_by_key(&account.code_hash, |(hash, _)| *hash);
            let code = match (new, self.net.account(change.address)) {
                (Ok(at), _) => Some(bytecode(codes[at].1.clone())),
                (Err(_), Some(Some(info))) if info.code_hash == account.code_hash => {
                    info.code.clone()
                }
                // It had this code before the batch.
                _ => None,
            };
            Some(revm::state::AccountInfo {
                balance: account.balance,
                nonce: account.nonce,
                code_hash: account.code_hash,
                account_id: None,
                code,
            })
        };
        let effect = |change: AccountChange| Effect {
            after: standing(&change),
            address: change.address,
            before: change.before,
            slots: change.slots,
        };
        accounts.into_iter().map(effect).collect()
    }

    /// What the batch came to.
    pub(super) fn finish(self) -> Result<Executed, ExecuteError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let Progress { room, mut executed } = self.progress;
        executed.dropped.extend(self.panicked);
        // A block without transactions has changed nothing.
        if !executed.included.is_empty() {
            executed.changes = Arc::new(self.net.into_changes());
            executed.gas_used = room.gas_used;
            executed.hashes_read = self.hashes.into_iter().collect();
        }
        Ok(executed)
    }
}
