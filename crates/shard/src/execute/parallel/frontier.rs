//! What becomes of stretches in their order?
//!
//! Who leads decides how far the next stretch goes, and takes it when its shares are there and none
//! gets into another's way. So the result is that of one by one execution, however the stretch was
//! divided.
//!
//! A stretch holds only transactions for which the block has room whatever those before them take:
//! shares do not know what gas is left. Those for which nobody knows are executed one by one.
//!
//! Stretches grow while all goes well: what conflicts shows in the first and small ones. Where too
//! much is executed again, the rest is executed one by one.

use std::{collections::BTreeMap, mem, ops::Range, sync::Arc};

use alloy_consensus::Transaction as _;
use alloy_primitives::B256;

use crate::{
    execute::{
        DropReason, ExecuteError, Executed, evm,
        parallel::{
            attempt::{Fate, Ran, Runner, Stopped},
            net::Net,
            share::Senders,
            state::Common,
            stretch::{Came, Share, Stretch},
        },
        sequential::{self, GAS_MIN, Progress},
    },
    transaction::SharedTransaction,
};

/// What is executed again weighs as much as so many that need not be: a fifth may be.
const WEIGHT: usize = 4;
/// So much is borne. A few conflicts at a time are no reason to give up.
const STRAIN_MAX: usize = 24;

/// So many transactions per lane has the first stretch.
const FIRST: usize = if cfg!(test) { 2 } else { 16 };
/// It has twice as many for each batch before in which all went well, up to so many batches.
const CALM_MAX: u32 = 6;
/// So many times as many has the next one.
const GROWTH: usize = 4;
/// With fewer it takes longer to divide a stretch than to execute it.
const LEAST: usize = if cfg!(test) { 2 } else { 8 };
/// So many shares there are for each lane: none waits long for the last one.
const SHARES: usize = if cfg!(test) { 3 } else { 16 };

/// What was taken so far.
pub(super) struct Frontier {
    net: Arc<Net>,
    progress: Progress,
    /// They come last among those that are dropped, as one by one execution has it.
    panicked: Vec<(SharedTransaction, DropReason)>,
    hashes: BTreeMap<u64, B256>,
    senders: Senders,
    lanes: usize,
    /// All below are taken.
    next: u32,
    /// So many transactions the next stretch may have.
    reach: usize,
    /// The one that is under way.
    stretch: Option<Stretch>,
    opened: bool,
    failed: Option<ExecuteError>,
    strain: usize,
    /// How many were executed in shares that were taken.
    pub(super) together: usize,
    /// How many were executed again.
    pub(super) conflicts: usize,
    /// How many were executed one by one, since there were too many conflicts.
    pub(super) alone: usize,
    /// The gas of what was executed one by one since somebody asked.
    settled: u64,
}

impl Frontier {
    pub(super) fn new(common: &Common, lanes: usize, calm: u32) -> Frontier {
        Frontier {
            net: Arc::default(),
            progress: Progress::new(&common.rules, common.batch.len()),
            panicked: Vec::new(),
            hashes: BTreeMap::new(),
            senders: Senders::of(&common.batch),
            lanes,
            next: 0,
            reach: (FIRST * lanes) << calm.min(CALM_MAX),
            stretch: None,
            opened: false,
            failed: None,
            strain: 0,
            together: 0,
            conflicts: 0,
            alone: 0,
            settled: 0,
        }
    }

    /// This came of the shares that were given out. Gives others, or none: all is done.
    pub(super) fn lead(
        &mut self,
        runner: &mut Runner,
        common: &Common,
        came: Vec<Came>,
    ) -> Vec<Share> {
        let shares = self.try_lead(runner, common, came).unwrap_or_else(|error| {
            self.failed = Some(error);
            Vec::new()
        });
        let net = &self.net;
        shares.into_iter().map(|places| Share { places, net: Arc::clone(net) }).collect()
    }

    fn try_lead(
        &mut self,
        runner: &mut Runner,
        common: &Common,
        came: Vec<Came>,
    ) -> Result<Vec<Vec<u32>>, ExecuteError> {
        self.open(runner, common)?;
        if let Some(stretch) = self.stretch.take() {
            let again = self.close(runner, common, stretch, came)?;
            if !again.is_empty() {
                return Ok(again);
            }
        }
        let end = common.batch.len() as u32;
        while self.next < end {
            if self.lanes == 1 || self.strain > STRAIN_MAX {
                if self.lanes > 1 {
                    self.alone = (end - self.next) as usize;
                }
                self.settle(runner, common, self.next..end)?;
                break;
            }
            let places = self.next..self.certain(common);
            if places.len() < LEAST {
                self.settle(runner, common, self.next..end.min(self.next + LEAST as u32))?;
                continue;
            }
            let shares = self.senders.divide(places.clone(), SHARES * self.lanes);
            if shares.len() < 2 {
                self.settle(runner, common, places)?;
                continue;
            }
            self.stretch = Some(Stretch::new(places));
            return Ok(shares);
        }
        Ok(Vec::new())
    }

    /// What a block begins with, before its first transaction.
    fn open(&mut self, runner: &mut Runner, common: &Common) -> Result<(), ExecuteError> {
        if mem::replace(&mut self.opened, true) || !common.rules.system_calls {
            return Ok(());
        }
        let ran = runner
            .run(&self.net, |machine| evm::system_calls(machine, &common.rules, &common.context));
        match ran {
            Ok(Ran { effects, hashes, .. }) => {
                self.net_mut().absorb(effects);
                self.hashes.extend(hashes);
                Ok(())
            }
            Err(Stopped::Failed(error)) => Err(error),
            Err(Stopped::Panicked(what)) => Err(ExecuteError::Fault(what)),
        }
    }

    /// How far the next stretch may go: so far the block has room for each, whatever they take, and
    /// whatever becomes of it does not depend on the room.
    fn certain(&self, common: &Common) -> u32 {
        let beneficiary = common.context.beneficiary;
        let mut room = self.progress.room.clone();
        let certain = |transaction: &&SharedTransaction| {
            let fits = evm::refuse(&common.rules, transaction).is_none()
                && !room.is_full()
                && room.takes(transaction)
                // They would depend on all who pay him.
                && transaction.sender() != beneficiary
                && transaction.envelope().to() != Some(beneficiary);
            if fits {
                room.included(transaction.gas_limit().max(GAS_MIN));
            }
            fits
        };
        let rest = &common.batch[self.next as usize..];
        self.next + rest.iter().take(self.reach).take_while(certain).count() as u32
    }

    /// All shares of a stretch have come that were under way. Gives those that are to be executed
    /// again; if there are none, the stretch is taken.
    fn close(
        &mut self,
        runner: &mut Runner,
        common: &Common,
        mut stretch: Stretch,
        came: Vec<Came>,
    ) -> Result<Vec<Vec<u32>>, ExecuteError> {
        let length = stretch.places.len();
        let clear = stretch.bring(came);
        let again = if clear { stretch.take_conflicts() } else { Vec::new() };
        let conflicts = again.iter().map(Vec::len).sum();
        if clear && conflicts == 0 {
            self.take(runner, common, stretch)?;
            return Ok(Vec::new());
        }
        stretch.again += conflicts;
        // Each round may bring others into the way: all of them count, or there were as many as shares.
        let hopeless = !clear || 2 * stretch.again > length;
        let conflicts = if hopeless { length } else { conflicts };
        self.conflicts += conflicts;
        self.strain += WEIGHT * conflicts;
        // In a larger stretch there would be more of them.
        self.reach = FIRST * self.lanes;
        if hopeless {
            self.settle(runner, common, stretch.places)?;
            return Ok(Vec::new());
        }
        self.stretch = Some(stretch);
        Ok(again)
    }

    /// Its shares are independent: together they have done what one by one execution does.
    fn take(
        &mut self,
        runner: &mut Runner,
        common: &Common,
        stretch: Stretch,
    ) -> Result<(), ExecuteError> {
        let Stretch { places, shares, .. } = stretch;
        let mut share_of = vec![0; places.len()];
        let mut fates = Vec::with_capacity(shares.len());
        for (own, attempt) in shares {
            own.iter().for_each(|place| share_of[(place - places.start) as usize] = fates.len());
            fates.push(attempt.fates.into_iter());
            self.net_mut().absorb(attempt.effects);
            self.hashes.extend(attempt.hashes);
        }
        let mut fees = Vec::with_capacity(places.len());
        let Progress { room, executed } = &mut self.progress;
        for (place, share) in places.clone().zip(share_of) {
            let transaction = Arc::clone(&common.batch[place as usize]);
            match fates[share].next().expect("there is one for each of its transactions") {
                Fate::Included { mut receipt, fee } => {
                    receipt.cumulative_gas_used = room.gas_used + receipt.gas_used;
                    room.included(receipt.gas_used);
                    executed.included.push((transaction, receipt));
                    fees.extend((!fee.is_zero()).then_some(fee));
                }
                Fate::Dropped(reason) => executed.dropped.push((transaction, reason)),
                Fate::Left => {
                    room.left(transaction.sender());
                    executed.left.push(transaction);
                }
            }
        }
        let (lane, beneficiary) = (runner.lane(), common.context.beneficiary);
        let before = || common.account_before(lane, beneficiary);
        self.net_mut().credit(beneficiary, &fees, before)?;
        self.together += places.len();
        self.strain = self.strain.saturating_sub(places.len());
        self.reach = self.reach.saturating_mul(GROWTH);
        self.next = places.end;
        Ok(())
    }

    /// Executes these one by one, on the state. They are the next ones.
    fn settle(
        &mut self,
        runner: &mut Runner,
        common: &Common,
        places: Range<u32>,
    ) -> Result<(), ExecuteError> {
        let mut batch = common.batch[places.start as usize..places.end as usize].to_vec();
        loop {
            let mut progress = Progress::new(&common.rules, batch.len());
            progress.room.clone_from(&self.progress.room);
            let mut at = None;
            let ran = runner.run(&self.net, |machine| {
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
            match ran {
                Ok(Ran { effects, hashes, .. }) => {
                    self.net_mut().absorb(effects);
                    self.hashes.extend(hashes);
                    let Progress { room, executed } = &mut self.progress;
                    self.settled += progress.room.gas_used - room.gas_used;
                    *room = progress.room;
                    executed.included.append(&mut progress.executed.included);
                    executed.dropped.append(&mut progress.executed.dropped);
                    executed.left.append(&mut progress.executed.left);
                    self.next = places.end;
                    return Ok(());
                }
                Err(Stopped::Failed(error)) => return Err(error),
                Err(Stopped::Panicked(what)) => {
                    let Some(at) = at else { return Err(ExecuteError::Fault(what)) };
                    // The others do it again without it.
                    self.panicked.push((batch.remove(at), DropReason::Panicked(what)));
                }
            }
        }
    }

    /// The gas of what was executed here since the last time.
    pub(super) fn take_settled(&mut self) -> u64 {
        mem::take(&mut self.settled)
    }

    /// What the batch came to, but for what it has changed; and that, if it has changed something.
    pub(super) fn finish(self) -> Result<(Executed, Option<Net>), ExecuteError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let Progress { room, mut executed } = self.progress;
        executed.dropped.extend(self.panicked);
        // A block without transactions has changed nothing.
        if executed.included.is_empty() {
            return Ok((executed, None));
        }
        executed.gas_used = room.gas_used;
        executed.hashes_read = self.hashes.into_iter().collect();
        let net = Arc::into_inner(self.net).expect("lanes have given it back");
        Ok((executed, Some(net)))
    }

    fn net_mut(&mut self) -> &mut Net {
        Arc::get_mut(&mut self.net).expect("lanes give it back before they say what came")
    }
}
