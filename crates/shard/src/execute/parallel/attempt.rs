//! What comes of one transaction, on guesses or on the state?

use std::{
    any::Any,
    cell::Cell,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use alloy_primitives::U256;
use revm::{
    ExecuteEvm,
    context::{
        ContextSetters as _,
        result::{EVMError, ExecutionResult, HaltReason},
    },
    handler::{FrameResult, Handler, post_execution},
    primitives::KECCAK_EMPTY,
    state::{Account, AccountInfo, AccountStatus, EvmState},
};

use crate::{
    block::Receipt,
    execute::{
        DropReason, ExecuteError,
        evm::{self, Machine, Verdict},
        parallel::{
            effects::{Effect, effects},
            net::Net,
            state::{Common, LaneState, Settled, Told},
            versions::place,
        },
        sequential::{self, message},
    },
    state::StateReader as _,
    store::StoreError,
    transaction::tx_env,
};

/// What came of a transaction, and what it was told.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) told: Told,
    pub(super) came: Came,
}

/// What came of a transaction.
#[derive(Debug)]
pub(super) enum Came {
    /// It can be in the block. The receipt does not know of those before it.
    Included {
        receipt: Receipt,
        effects: Vec<Effect>,
        /// What the beneficiary gets on top, where the transaction does not care what it has.
        fee: U256,
    },
    Dropped(DropReason),
    Left,
    Panicked(String),
    Failed(ExecuteError),
    /// Guesses can not tell.
    Unclear,
}

impl Attempt {
    /// What it has changed.
    pub(super) fn effects(&self) -> &[Effect] {
        match &self.came {
            Came::Included { effects, .. } => effects,
            _ => &[],
        }
    }

    /// The gas that it took.
    pub(super) fn gas(&self) -> u64 {
        match &self.came {
            Came::Included { receipt, .. } => receipt.gas_used,
            _ => 0,
        }
    }
}

/// Runs transactions of a batch, one at a time.
pub(super) struct Runner {
    machine: Machine<LaneState>,
}

/// What a machine leaves behind that was told the state.
pub(super) type Settling<T> = Result<(T, EvmState, Told), Box<dyn Any + Send>>;

impl Runner {
    /// For this lane.
    pub(super) fn new(common: &Arc<Common>, lane: usize) -> Runner {
        let (rules, chain_id) = (&common.rules, common.chain_id);
        let mut machine = evm::machine(rules, chain_id, LaneState::new(Arc::clone(common), lane));
        machine.set_block(evm::block_env(rules, &common.context));
        Runner { machine }
    }

    /// Tries a transaction on what the others have done so far.
    pub(super) fn speculate(&mut self, common: &Arc<Common>, at: u32) -> Attempt {
        let transaction = &common.batch[at as usize];
        if evm::refuse(&common.rules, transaction).is_some() {
            // Whoever commits sees that too.
            return Attempt { told: Told::default(), came: Came::Unclear };
        }
        self.state().guess(place(at));
        let mut fees = FeesApart::default();
        let machine = &mut self.machine;
        let run = catch_unwind(AssertUnwindSafe(|| {
            sequential::check_value(machine, &common.rules, transaction)?;
            machine.ctx.set_tx(tx_env(transaction));
            fees.run(machine).map_err(evm::verdict)
        }));
        let Ok(run) = run else {
            // It may be that a guess made no sense. Who commits will know.
            *self = Runner::new(common, self.lane());
            return Attempt { told: Told::default(), came: Came::Unclear };
        };
        let mut state = self.machine.finalize();
        let came = match run {
            // What it had before is certain only when all before it are committed.
            Ok(result) => match effects(&mut state, |_| Err(())) {
                Ok(mut effects) => {
                    let codes = &self.state().codes;
                    effects.iter_mut().for_each(|effect| effect.forget_code(codes));
                    let receipt = receipt(common, at, result);
                    Came::Included { receipt, effects, fee: fees.fee.get() }
                }
                Err(()) => Came::Unclear,
            },
            Err(Verdict::Drop(reason)) => Came::Dropped(reason),
            Err(Verdict::Leave) => Came::Left,
            Err(Verdict::Fail(_)) => Came::Unclear,
        };
        // The table has the right size for the next one.
        state.clear();
        self.machine.ctx.journaled_state.state = state;
        Attempt { told: self.state().take_told(), came }
    }

    /// Executes a transaction on the state.
    pub(super) fn execute(&mut self, at: u32, net: &mut Net) -> Attempt {
        let common = Arc::clone(&self.state().common);
        let transaction = &common.batch[at as usize];
        let run = self.settled(net, |machine| sequential::run(machine, &common.rules, transaction));
        let (run, state, told) = match run {
            Ok(run) => run,
            Err(payload) => {
                let came = Came::Panicked(message(payload.as_ref()));
                return Attempt { told: Told::default(), came };
            }
        };
        let came = match run {
            Ok(result) => match settled_effects(&common, self.lane(), net, state) {
                Ok(effects) => {
                    let receipt = receipt(&common, at, result);
                    Came::Included { receipt, effects, fee: U256::ZERO }
                }
                Err(error) => Came::Failed(error.into()),
            },
            Err(Verdict::Drop(reason)) => Came::Dropped(reason),
            Err(Verdict::Leave) => Came::Left,
            Err(Verdict::Fail(error)) => Came::Failed(error),
        };
        Attempt { told, came }
    }

    /// Does what a block begins with.
    pub(super) fn open(&mut self, net: &mut Net) -> Result<(Vec<Effect>, Told), ExecuteError> {
        let common = Arc::clone(&self.state().common);
        let run =
            self.settled(net, |machine| evm::system_calls(machine, &common.rules, &common.context));
        let (run, state, told) =
            run.map_err(|payload| ExecuteError::Fault(message(payload.as_ref())))?;
        run?;
        Ok((settled_effects(&common, self.lane(), net, state)?, told))
    }

    /// Lets the machine run on the state. After a panic there is a new one.
    pub(super) fn settled<T>(
        &mut self,
        net: &mut Net,
        run: impl FnOnce(&mut Machine<LaneState>) -> T,
    ) -> Settling<T> {
        self.state().settle(mem::take(net));
        let machine = &mut self.machine;
        let run = catch_unwind(AssertUnwindSafe(|| {
            let ran = run(machine);
            (ran, machine.finalize())
        }));
        *net = self.state().unsettle();
        match run {
            Ok((ran, state)) => Ok((ran, state, self.state().take_told())),
            Err(payload) => {
                let common = Arc::clone(&self.state().common);
                *self = Runner::new(&common, self.lane());
                Err(payload)
            }
        }
    }

    /// Whose it is.
    pub(super) fn lane(&self) -> usize {
        self.machine.ctx.journaled_state.database.lane
    }

    fn state(&mut self) -> &mut LaneState {
        &mut self.machine.ctx.journaled_state.database
    }
}

fn receipt(common: &Common, at: u32, result: ExecutionResult) -> Receipt {
    evm::receipt(&common.rules, &common.context, &common.batch[at as usize], result, 0)
}

fn settled_effects(
    common: &Common,
    lane: usize,
    net: &Net,
    mut state: EvmState,
) -> Result<Vec<Effect>, StoreError> {
    effects(&mut state, |address| Settled { common, lane, net }.slots(address))
}

/// Somebody who has nothing: revm pays him the fee, and he is gone afterwards. The one that revm
/// makes itself has code that all lanes count.
fn nobody() -> Account {
    let (balance, nonce, code_hash) = (U256::ZERO, 0, KECCAK_EMPTY);
    let mut nobody =
        Account::from(AccountInfo { balance, nonce, code_hash, account_id: None, code: None });
    nobody.status = AccountStatus::LoadedAsNotExisting;
    nobody
}

/// Ethereum's handling of a transaction, but for the fee of the beneficiary: where the transaction
/// has not looked at the beneficiary, the fee is only noted. Otherwise each would depend on the
/// one before it.
#[derive(Default)]
struct FeesApart {
    fee: Cell<U256>,
}

impl Handler for FeesApart {
    type Evm = Machine<LaneState>;
    type Error = EVMError<StoreError>;
    type HaltReason = HaltReason;

    fn reward_beneficiary(
        &self,
        machine: &mut Machine<LaneState>,
        result: &mut FrameResult,
    ) -> Result<(), EVMError<StoreError>> {
        let beneficiary = machine.ctx.block.beneficiary;
        let loaded = machine.ctx.journaled_state.state.contains_key(&beneficiary);
        if !loaded {
            machine.ctx.journaled_state.state.insert(beneficiary, nobody());
        }
        post_execution::reward_beneficiary(&mut machine.ctx, result.gas())?;
        if !loaded && let Some(paid) = machine.ctx.journaled_state.state.remove(&beneficiary) {
            self.fee.set(paid.info.balance);
        }
        Ok(())
    }
}
