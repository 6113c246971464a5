//! What does a transaction of a share leave to be settled later? Its fee, and notes.
//!
//! This is Ethereum's handling of a transaction (see [`ending`](crate::execute::ending)), but for two things. Where nobody in the share has
//! looked at the beneficiary, the fee is added up apart: otherwise each transaction would depend on
//! the one before it. And at the end of each transaction it is noted what that has changed, which the
//! journal of a share forgets with the next one.

use std::cell::Cell;

use alloy_primitives::U256;
use revm::{
    context::{
        Journal, JournalEntry,
        result::{EVMError, HaltReason},
    },
    handler::{FrameResult, Handler, post_execution},
    primitives::KECCAK_EMPTY,
    state::{Account, AccountInfo, AccountStatus, EvmStorageSlot, TransactionId},
};

use crate::{
    execute::{ending::forget_nobodies, evm::Machine, parallel::state::LaneState},
    store::StoreError,
};

/// For one transaction.
#[derive(Default)]
pub(super) struct FeesApart {
    /// What the beneficiary gets on top of what he has.
    pub(super) fee: Cell<U256>,
}

impl Handler for FeesApart {
    type Evm = Machine<LaneState>;
    type Error = EVMError<StoreError>;
    type HaltReason = HaltReason;

    /// The last step that may change the state.
    fn reward_beneficiary(
        &self,
        machine: &mut Machine<LaneState>,
        result: &mut FrameResult,
    ) -> Result<(), EVMError<StoreError>> {
        let beneficiary = machine.ctx.block.beneficiary;
        let loaded = machine.ctx.journaled_state.state.contains_key(&beneficiary);
        if loaded {
            post_execution::reward_beneficiary(&mut machine.ctx, result.gas())?;
            note_changes(&mut machine.ctx.journaled_state);
            forget_nobodies(&mut machine.ctx);
            return Ok(());
        }
        // Before the fee: that it is paid is noted for all of the share at once.
        note_changes(&mut machine.ctx.journaled_state);
        let nobody = nobody(machine.ctx.journaled_state.transaction_id);
        machine.ctx.journaled_state.state.insert(beneficiary, nobody);
        post_execution::reward_beneficiary(&mut machine.ctx, result.gas())?;
        if let Some(paid) = machine.ctx.journaled_state.state.remove(&beneficiary) {
            self.fee.set(paid.info.balance);
            machine.ctx.journaled_state.database.touched.pays |= !paid.info.balance.is_zero();
        }
        forget_nobodies(&mut machine.ctx);
        Ok(())
    }
}

/// Notes what the transaction that ends has left different from what it has found.
fn note_changes(journal: &mut Journal<LaneState>) {
    let Journal { database, inner } = journal;
    let account = |address| inner.state.get(address);
    let changed = |address| account(address).is_some_and(Account::is_changed);
    let slot_changed = |address, slot| {
        account(address)
            .and_then(|account| account.storage.get(slot))
            .is_some_and(EvmStorageSlot::is_changed)
    };
    for entry in &inner.journal {
        match entry {
            JournalEntry::BalanceChange { address, .. }
            | JournalEntry::NonceChange { address, .. }
            | JournalEntry::NonceBump { address }
            | JournalEntry::CodeChange { address, .. } => {
                database.wrote_account(*address, || changed(address));
            }
            JournalEntry::BalanceTransfer { from, to, .. } => {
                database.wrote_account(*from, || changed(from));
                database.wrote_account(*to, || changed(to));
            }
            // With all its slots.
            JournalEntry::AccountCreated { address, .. } => {
                database.wrote_account(*address, || true);
            }
            JournalEntry::AccountDestroyed { address, target, .. } => {
                database.wrote_account(*address, || true);
                database.wrote_account(*target, || true);
            }
            JournalEntry::StorageChanged { address, key, .. } => {
                database.wrote_slot(*address, *key, || slot_changed(address, key));
            }
            JournalEntry::AccountWarmed { .. }
            | JournalEntry::AccountTouched { .. }
            | JournalEntry::StorageWarmed { .. }
            | JournalEntry::TransientStorageChange { .. } => {}
        }
    }
}

/// Somebody who has nothing: revm pays him the fee, and he is gone afterwards. The one that revm
/// makes itself has code that all lanes count, and so has what it notes for one of another transaction.
fn nobody(transaction: TransactionId) -> Account {
    let (balance, nonce, code_hash) = (U256::ZERO, 0, KECCAK_EMPTY);
    let mut nobody =
        Account::from(AccountInfo { balance, nonce, code_hash, account_id: None, code: None });
    nobody.status = AccountStatus::LoadedAsNotExisting;
    nobody.transaction_id = transaction;
    nobody
}
