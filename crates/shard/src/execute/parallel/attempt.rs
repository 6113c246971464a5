//! What comes of a share, or of anything else that runs on the state?

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use alloy_primitives::{Address, B256, U256};
use revm::{ExecuteEvm, context::ContextSetters as _, handler::Handler as _};

use crate::{
    block::Receipt,
    execute::{
        DropReason, ExecuteError,
        evm::{self, Machine, Verdict},
        parallel::{
            effects::{Effect, account_of, effects},
            fees::FeesApart,
            net::Net,
            state::{Common, LaneState},
            touched::Touched,
        },
        sequential::{self, message},
    },
    transaction::tx_env,
};

/// What came of a share.
#[derive(Debug)]
pub(super) struct Attempt {
    /// Of each transaction, in order.
    pub(super) fates: Vec<Fate>,
    pub(super) effects: Vec<Effect>,
    pub(super) touched: Touched,
    /// The hashes that BLOCKHASH has given out.
    pub(super) hashes: Vec<(u64, B256)>,
}

/// What came of a transaction, if the block has room for it.
#[derive(Debug)]
pub(super) enum Fate {
    Included {
        /// It does not know of those before it.
        receipt: Receipt,
        /// What the beneficiary gets on top of what he has.
        fee: U256,
    },
    Dropped(DropReason),
    Left,
}

impl Attempt {
    /// The gas that it took.
    pub(super) fn gas(&self) -> u64 {
        let gas = |fate: &Fate| match fate {
            Fate::Included { receipt, .. } => receipt.gas_used,
            _ => 0,
        };
        self.fates.iter().map(gas).sum()
    }
}

/// Runs transactions of a batch.
pub(super) struct Runner {
    machine: Machine<LaneState>,
}

/// What a run leaves behind.
pub(super) struct Ran<T> {
    pub(super) came: T,
    pub(super) effects: Vec<Effect>,
    pub(super) touched: Touched,
    pub(super) hashes: Vec<(u64, B256)>,
}

/// Why a run has left nothing behind.
#[derive(Debug)]
pub(super) enum Stopped {
    Panicked(String),
    Failed(ExecuteError),
}

impl Runner {
    /// For this lane.
    pub(super) fn new(common: &Arc<Common>, lane: usize) -> Runner {
        let (rules, chain_id) = (&common.rules, common.chain_id);
        let mut machine = evm::machine(rules, chain_id, LaneState::new(Arc::clone(common), lane));
        machine.set_block(evm::block_env(rules, &common.context));
        Runner { machine }
    }

    /// Executes a share, on the state with this on top. `None`: it can not tell.
    pub(super) fn attempt(&mut self, net: &Arc<Net>, share: &[u32]) -> Option<Attempt> {
        let common = Arc::clone(&self.state().common);
        let ran = self.run(net, |machine| each(machine, &common, share)).ok()?;
        let Ran { came: fates, effects, mut touched, hashes } = ran;
        if touched.pays && touched.looks {
            // It has looked at a beneficiary who did not have these fees yet.
            return None;
        }
        // An account that was there with nothing goes when it is touched, and nobody changes it.
        for effect in &effects {
            if effect.before != effect.after.as_ref().map(account_of) {
                touched.writes.insert(common.key(effect.address));
            }
        }
        Some(Attempt { fates, effects, touched, hashes })
    }

    /// Lets the machine run on the state with this on top. After a panic there is a new one.
    pub(super) fn run<T>(
        &mut self,
        net: &Arc<Net>,
        run: impl FnOnce(&mut Machine<LaneState>) -> Result<T, ExecuteError>,
    ) -> Result<Ran<T>, Stopped> {
        self.state().begin(net);
        let machine = &mut self.machine;
        let ran = catch_unwind(AssertUnwindSafe(|| (run(machine), machine.finalize())));
        let (common, lane) = (Arc::clone(&self.state().common), self.lane());
        let (came, mut state) = match ran {
            Ok(ran) => ran,
            Err(payload) => {
                *self = Runner::new(&common, lane);
                return Err(Stopped::Panicked(message(payload.as_ref())));
            }
        };
        let (touched, hashes) = self.state().end();
        let came = came.map_err(Stopped::Failed)?;
        let effects = effects(&mut state, &common, lane, net);
        let effects = effects.map_err(|error| Stopped::Failed(error.into()))?;
        // The table has the right size for the next run.
        state.clear();
        self.machine.ctx.journaled_state.state = state;
        Ok(Ran { came, effects, touched, hashes })
    }

    /// Whose it is.
    pub(super) fn lane(&self) -> usize {
        self.machine.ctx.journaled_state.database.lane
    }

    fn state(&mut self) -> &mut LaneState {
        &mut self.machine.ctx.journaled_state.database
    }
}

/// Executes the transactions of a share, whatever room the block has.
fn each(
    machine: &mut Machine<LaneState>,
    common: &Common,
    share: &[u32],
) -> Result<Vec<Fate>, ExecuteError> {
    // Later ones must not overtake one that stays behind.
    let mut waiting: Vec<Address> = Vec::new();
    let mut fates = Vec::with_capacity(share.len());
    for at in share {
        let transaction = &common.batch[*at as usize];
        if waiting.contains(&transaction.sender()) {
            fates.push(Fate::Left);
            continue;
        }
        let mut handler = FeesApart::default();
        let ran = sequential::check_value(machine, &common.rules, transaction).and_then(|()| {
            machine.ctx.set_tx(tx_env(transaction));
            handler.run(machine).map_err(evm::verdict)
        });
        fates.push(match ran {
            Ok(result) => {
                let (rules, context) = (&common.rules, &common.context);
                let receipt = evm::receipt(rules, context, transaction, result, 0);
                Fate::Included { receipt, fee: handler.fee.get() }
            }
            Err(Verdict::Drop(reason)) => Fate::Dropped(reason),
            Err(Verdict::Leave) => {
                waiting.push(transaction.sender());
                Fate::Left
            }
            Err(Verdict::Fail(error)) => return Err(error),
        });
    }
    Ok(fates)
}
