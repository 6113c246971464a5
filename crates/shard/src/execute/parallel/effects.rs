//! What has one transaction changed?

use alloy_primitives::{Address, U256};
use revm::state::{AccountInfo, EvmState, EvmStorage, EvmStorageSlot};

use crate::{
    block::{Account, SlotChange},
    execute::parallel::{
        codes::Codes,
        versions::{SlotKey, Standing, Versions},
    },
};

/// One account that a transaction has changed, itself or some of its slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Effect {
    pub(super) address: Address,
    pub(super) before: Option<Account>,
    pub(super) after: Standing,
    pub(super) slots: Vec<SlotChange>,
}

impl Effect {
    /// Leaves out code that the account had before and that every lane finds.
    pub(super) fn forget_code(&mut self, codes: &Codes) {
        if let (Some(before), Some(after)) = (&self.before, &mut self.after)
            && before.code_hash == after.code_hash
            && codes.knows(after.code_hash)
        {
            after.code = None;
        }
    }
}

/// The part of an account that is kept.
pub(super) fn account_of(info: &AccountInfo) -> Account {
    Account { nonce: info.nonce, balance: info.balance, code_hash: info.code_hash }
}

/// What the journal of a single transaction says that it has changed. It is empty afterwards. `slots` gives all slots of
/// an account before it: it is asked for one that is gone or was made anew where there was one.
pub(super) fn effects<E>(
    state: &mut EvmState,
    slots: impl Fn(Address) -> Result<Vec<(U256, U256)>, E>,
) -> Result<Vec<Effect>, E> {
    let mut effects = Vec::with_capacity(state.len());
    for (address, account) in state.drain() {
        if !account.is_touched() && !account.is_selfdestructed() {
            continue;
        }
        let before =
            (!account.is_loaded_as_not_existing()).then(|| account_of(&account.original_info()));
        let gone = account.is_selfdestructed_locally() || account.info.is_empty();
        let slots = if gone || account.is_created() {
            let had = if before.is_some() { slots(address)? } else { Vec::new() };
            anew(had, if gone { Default::default() } else { account.storage })
        } else {
            let changed = account.storage.into_iter().filter(|(_, value)| value.is_changed());
            let change = |(slot, value): (U256, EvmStorageSlot)| SlotChange {
                slot,
                before: value.original_value(),
                after: value.present_value(),
            };
            changed.map(change).collect()
        };
        let after = (!gone).then_some(account.info);
        if slots.is_empty() && before == after.as_ref().map(account_of) {
            continue;
        }
        effects.push(Effect { address, before, after, slots });
    }
    Ok(effects)
}

/// The changes of an account that begins with no slots, whatever the journal says of before.
fn anew(had: Vec<(U256, U256)>, mut has: EvmStorage) -> Vec<SlotChange> {
    let mut changes = Vec::with_capacity(had.len() + has.len());
    for (slot, before) in had {
        let after = has.remove(&slot).map_or(U256::ZERO, |value| value.present_value());
        changes.push(SlotChange { slot, before, after });
    }
    let new = has.into_iter().map(|(slot, value)| (slot, value.present_value()));
    changes.extend(new.map(|(slot, after)| SlotChange { slot, before: U256::ZERO, after }));
    changes.retain(|change| change.before != change.after);
    changes
}

impl Versions {
    /// Later transactions see what this one has done, which this lane has executed.
    pub(super) fn publish(&self, lane: usize, place: u32, effects: &[Effect]) {
        for effect in effects {
            if effect.before != effect.after.as_ref().map(account_of) {
                self.write_account(lane, effect.address, place, effect.after.clone());
            }
            for change in &effect.slots {
                let key = SlotKey { address: effect.address, slot: change.slot };
                self.write_slot(lane, key, place, change.after);
            }
        }
    }

    /// It has not done it after all.
    pub(super) fn retract(&self, place: u32, effects: &[Effect]) {
        for effect in effects {
            self.unwrite_account(effect.address, place);
            for change in &effect.slots {
                self.unwrite_slot(SlotKey { address: effect.address, slot: change.slot }, place);
            }
        }
    }
}
