//! How does a transaction end whose journal goes on?
//!
//! A journal of several transactions keeps of an account that it was touched. An account that is empty
//! and was nobody's before is nobody's again when the transaction ends that touched it (EIP-161), so
//! nothing of that may stay: what EIP-7702 gives back for an account would depend on whether somebody had
//! called it earlier in the same journal, and so on where journals begin.

use std::marker::PhantomData;

use revm::{
    Database,
    context::{
        JournalEntry,
        result::{EVMError, HaltReason},
    },
    handler::{FrameResult, Handler, MainnetContext, post_execution},
    primitives::hardfork::SpecId,
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
            && account.is_empty()
            && account.is_loaded_as_not_existing()
            && !account.is_selfdestructed()
        {
            account.unmark_touch();
        }
    }
}
