//! What does an amendment change, in a state?
//!
//! ```text
//!   the newest state  ->  as it was then  ->  with the system calls  ->  with what is set
//!   before                Undo                                           after
//! ```

use std::collections::BTreeMap;

use alloy_eips::{eip2935::HISTORY_STORAGE_ADDRESS, eip4788::BEACON_ROOTS_ADDRESS};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use revm::primitives::KECCAK_EMPTY;

use super::{AmendError, Amended, Amendment, REVERT_ENTRIES_MAX};
use crate::{
    block::{Account, AccountChange, ChangeSet, SlotChange},
    config::Rules,
    state::StateReader,
};

const NOTHING: Account = Account { nonce: 0, balance: U256::ZERO, code_hash: KECCAK_EMPTY };

/// What accounts and slots were at the end of a block, of those that have changed since.
#[derive(Debug)]
pub(crate) struct Undo {
    /// The block back to which it goes.
    number: u64,
    /// The next block whose changes are to be taken back.
    next: u64,
    /// What the system calls write stays: it tells of the chain, which does not go back.
    system_calls: bool,
    accounts: BTreeMap<Address, Target>,
    entries: usize,
}

/// How an account is to be.
#[derive(Clone, Debug, Default)]
struct Target {
    /// `None`: as it is.
    account: Option<Option<Account>>,
    slots: BTreeMap<U256, U256>,
}

impl Undo {
    pub(crate) fn new(number: u64, rules: &Rules) -> Undo {
        Undo {
            number,
            next: number + 1,
            system_calls: rules.system_calls,
            accounts: BTreeMap::new(),
            entries: 0,
        }
    }

    /// The block whose changes it needs next.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Takes the changes of the next block. What was before the first that changed it counts.
    pub(crate) fn take(&mut self, changes: &ChangeSet) -> Result<(), AmendError> {
        self.next += 1;
        for change in &changes.accounts {
            let tells_of_the_chain =
                [HISTORY_STORAGE_ADDRESS, BEACON_ROOTS_ADDRESS].contains(&change.address);
            if self.system_calls && tells_of_the_chain {
                continue;
            }
            let target = self.accounts.entry(change.address).or_default();
            self.entries += usize::from(target.account.is_none());
            target.account.get_or_insert(change.before);
            for slot in &change.slots {
                target.slots.entry(slot.slot).or_insert_with(|| {
                    self.entries += 1;
                    slot.before
                });
            }
        }
        if self.entries > REVERT_ENTRIES_MAX {
            return Err(AmendError::RevertTooLarge { number: self.number });
        }
        Ok(())
    }
}

/// What an amendment changes in this state. `undo` is what it sets back, `system` what the system
/// calls of its block write.
pub(crate) fn resolve(
    amendment: &Amendment,
    undo: Option<Undo>,
    system: &ChangeSet,
    state: &dyn StateReader,
) -> Result<ChangeSet, AmendError> {
    let mut targets = undo.map(|undo| undo.accounts).unwrap_or_default();
    for change in &system.accounts {
        let target = targets.entry(change.address).or_default();
        if change.before != change.after {
            target.account = Some(change.after);
        }
        target.slots.extend(change.slots.iter().map(|slot| (slot.slot, slot.after)));
    }
    for address in amendment.accounts.keys() {
        targets.entry(*address).or_default();
    }
    let mut codes = BTreeMap::new();
    let mut accounts = Vec::with_capacity(targets.len());
    for (address, mut target) in targets {
        let before = state.account(address)?;
        let mut after = target.account.unwrap_or(before);
        if let Some(amended) = amendment.accounts.get(&address) {
            after = amended.apply(after, &mut codes);
            target.slots.extend(&amended.slots);
        }
        let slots = slots(address, after, target.slots, state)?;
        if before == after && slots.is_empty() {
            continue;
        }
        let code = |account: Option<Account>| account.unwrap_or(NOTHING).code_hash;
        let hash = code(after);
        if hash != code(before) && hash != KECCAK_EMPTY && !codes.contains_key(&hash) {
            codes.insert(hash, state.code(hash)?);
        }
        accounts.push(AccountChange { address, before, after, slots });
    }
    Ok(ChangeSet { accounts, codes: codes.into_iter().collect() })
}

impl Amended {
    fn apply(
        &self,
        account: Option<Account>,
        codes: &mut BTreeMap<B256, Bytes>,
    ) -> Option<Account> {
        let mut account = account.unwrap_or(NOTHING);
        account.balance = self.balance.unwrap_or(account.balance);
        account.nonce = self.nonce.unwrap_or(account.nonce);
        if let Some(code) = &self.code {
            account.code_hash = keccak256(code);
            if !code.is_empty() {
                codes.insert(account.code_hash, code.clone());
            }
        }
        (account != NOTHING).then_some(account)
    }
}

/// The slots that change. One that is gone loses all that it has.
fn slots(
    address: Address,
    after: Option<Account>,
    mut targets: BTreeMap<U256, U256>,
    state: &dyn StateReader,
) -> Result<Vec<SlotChange>, AmendError> {
    if after.is_none() {
        if targets.values().any(|value| !value.is_zero()) {
            return Err(AmendError::EmptyAccount(address));
        }
        targets.extend(state.slots(address)?.into_iter().map(|(slot, _)| (slot, U256::ZERO)));
    }
    let mut slots = Vec::with_capacity(targets.len());
    for (slot, after) in targets {
        let before = state.storage(address, slot)?;
        if before != after {
            slots.push(SlotChange { slot, before, after });
        }
    }
    Ok(slots)
}
