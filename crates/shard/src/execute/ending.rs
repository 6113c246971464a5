//! What of a transaction may those see that come after it?
//!
//! A journal of several transactions keeps of an account that it was touched, and so does a database that
//! is given what a journal holds. An account that is empty and was nobody's before is nobody's again when
//! the transaction ends that touched it (EIP-161), so nothing of that may stay: what EIP-7702 gives back
//! for an account would depend on whether somebody had called it earlier in the same journal or block, and
//! so on where those begin.

use std::marker::PhantomData;

use revm::{
    Database,
    context::{
        JournalEntry,
        result::{EVMError, HaltReason},
    },
    handler::{FrameResult, Handler, MainnetContext, post_execution},
    primitives::hardfork::SpecId,
    state::{Account, EvmState},
};

use crate::{execute::evm::Machine, store::StoreError};

/// Ethereum's handling of a transaction, with its end.
pub(super) struct Ending<D>(PhantomData<fn() -> D>);

impl<D> Ending<D> {
    pub(super) fn new() -> Ending<D> {
        Ending(PhantomData)
    }
}

impl<D: Database<Error = StoreError>> Handler for Ending<D> {
    type Evm = Machine<D>;
    type Error = EVMError<StoreError>;
    type HaltReason = HaltReason;

    /// The last step that may change the state.
    fn reward_beneficiary(
        &self,
        machine: &mut Machine<D>,
        result: &mut FrameResult,
    ) -> Result<(), EVMError<StoreError>> {
        post_execution::reward_beneficiary(&mut machine.ctx, result.gas())?;
        forget_nobodies(&mut machine.ctx);
        Ok(())
    }
}

/// Accounts that the transaction has touched, and that are nobody's all the same, are as if it had not.
pub(super) fn forget_nobodies<D: Database>(context: &mut MainnetContext<D>) {
    if !context.cfg.spec.is_enabled_in(SpecId::SPURIOUS_DRAGON) {
        return;
    }
    let inner = &mut context.journaled_state.inner;
    for entry in &inner.journal {
        if let JournalEntry::AccountTouched { address } = entry
            && let Some(account) = inner.state.get_mut(address)
            && is_nobody(account)
        {
            account.unmark_touch();
        }
    }
}

/// What a journal that ends with its transaction leaves to a database: the same without those who are
/// nobody's. For the forks that there are, from London on.
pub(crate) fn without_nobodies(mut state: EvmState) -> EvmState {
    state.retain(|_, account| !is_nobody(account));
    state
}

/// Whether an account has nothing, and was nobody's before.
fn is_nobody(account: &Account) -> bool {
    account.is_empty() && account.is_loaded_as_not_existing() && !account.is_selfdestructed()
}
