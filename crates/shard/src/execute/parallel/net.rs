//! How does the state stand after the transactions that were taken?
//!
//! The effects of one share after the other, put together: what each account and slot was before
//! the batch, and what it is now. Lanes read it while they execute shares, and whoever leads changes
//! it when they have given it back, so it needs no lock.
//!
//! Invariant: what is not here is as it was before the batch.

use std::{
    collections::hash_map,
    hash::{Hash, Hasher},
};

use alloy_primitives::{Address, U256, map::HashMap};
use revm::{bytecode::Bytecode, primitives::KECCAK_EMPTY, state::AccountInfo};

use crate::{
    block::{Account, AccountChange, ChangeSet, SlotChange},
    execute::parallel::effects::{Effect, account_of},
};

/// An account with its code, which is left out where it was there before the batch.
pub(super) type Standing = Option<AccountInfo>;

/// A slot of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotKey {
    pub(super) address: Address,
    pub(super) slot: U256,
}

/// Seven words instead of 52 bytes.
impl Hash for SlotKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (low, rest) = self.address.split_first_chunk::<8>().expect("it has 20 bytes");
        let (middle, _) = rest.split_first_chunk::<8>().expect("it has 12 bytes");
        let high = self.address.last_chunk::<4>().expect("it has 20 bytes");
        state.write_u64(u64::from_ne_bytes(*low));
        state.write_u64(u64::from_ne_bytes(*middle));
        state.write_u64(u64::from(u32::from_ne_bytes(*high)));
        self.slot.as_limbs().iter().for_each(|limb| state.write_u64(*limb));
    }
}

/// What has changed so far.
#[derive(Debug, Default)]
pub(super) struct Net {
    accounts: HashMap<Address, Entry>,
    /// Before and after.
    slots: HashMap<SlotKey, (U256, U256)>,
}

#[derive(Debug)]
struct Entry {
    before: Option<Account>,
    after: Standing,
    /// Which of its slots were changed.
    slots: Vec<U256>,
}

impl Net {
    /// The account, if it was changed or only its slots were.
    pub(super) fn account(&self, address: Address) -> Option<&Standing> {
        self.accounts.get(&address).map(|entry| &entry.after)
    }

    /// The slot, if it was changed.
    pub(super) fn slot(&self, address: Address, slot: U256) -> Option<U256> {
        self.slots.get(&SlotKey { address, slot }).map(|(_, after)| *after)
    }

    /// All slots of an account that were changed.
    pub(super) fn slots(&self, address: Address) -> impl Iterator<Item = (U256, U256)> {
        let slots = self.accounts.get(&address).into_iter().flat_map(|entry| &entry.slots);
        slots.map(move |slot| (*slot, self.slots[&SlotKey { address, slot: *slot }].1))
    }

    /// Now this has changed too. It was made from the state as it stands.
    pub(super) fn absorb(&mut self, effects: Vec<Effect>) {
        for Effect { address, before, after, slots } in effects {
            let entry = match self.accounts.entry(address) {
                hash_map::Entry::Occupied(entry) => {
                    let entry = entry.into_mut();
                    entry.after = after;
                    entry
                }
                hash_map::Entry::Vacant(entry) => {
                    entry.insert(Entry { before, after, slots: Vec::new() })
                }
            };
            for SlotChange { slot, before, after } in slots {
                match self.slots.entry(SlotKey { address, slot }) {
                    hash_map::Entry::Occupied(entry) => entry.into_mut().1 = after,
                    hash_map::Entry::Vacant(vacant) => {
                        vacant.insert((before, after));
                        entry.slots.push(slot);
                    }
                }
            }
        }
    }

    /// An account gets these amounts, one after the other; `before` is asked for it if it was not
    /// changed so far. What no account can hold is not paid, as in the virtual machine.
    pub(super) fn credit<E>(
        &mut self,
        address: Address,
        amounts: &[U256],
        before: impl FnOnce() -> Result<Standing, E>,
    ) -> Result<(), E> {
        if amounts.is_empty() {
            return Ok(());
        }
        let entry = match self.accounts.entry(address) {
            hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hash_map::Entry::Vacant(entry) => {
                let after = before()?;
                let before = after.as_ref().map(account_of);
                entry.insert(Entry { before, after, slots: Vec::new() })
            }
        };
        let empty = || AccountInfo::new(U256::ZERO, 0, KECCAK_EMPTY, Bytecode::default());
        let account = entry.after.get_or_insert_with(empty);
        for amount in amounts {
            if let Some(balance) = account.balance.checked_add(*amount) {
                account.balance = balance;
            }
        }
        Ok(())
    }

    /// What has changed in all, in order.
    pub(super) fn into_changes(self) -> ChangeSet {
        let mut set = ChangeSet::default();
        for (address, Entry { before, after, slots }) in self.accounts {
            let change = |slot| {
                let (before, after) = self.slots[&SlotKey { address, slot }];
                (before != after).then_some(SlotChange { slot, before, after })
            };
            let mut own: Vec<_> = slots.into_iter().filter_map(change).collect();
            own.sort_unstable_by_key(|change| change.slot);
            let now = after.as_ref().map(account_of);
            if before == now && own.is_empty() {
                continue;
            }
            if let Some(AccountInfo { code_hash, code: Some(code), .. }) = after
                && code_hash != KECCAK_EMPTY
                && before.is_none_or(|before| before.code_hash != code_hash)
            {
                set.codes.push((code_hash, code.original_bytes()));
            }
            set.accounts.push(AccountChange { address, before, after: now, slots: own });
        }
        set.accounts.sort_unstable_by_key(|change| change.address);
        set.codes.sort_unstable_by_key(|(hash, _)| *hash);
        set.codes.dedup_by_key(|(hash, _)| *hash);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Address = Address::repeat_byte(0xa);
    const B: Address = Address::repeat_byte(0xb);

    fn number(number: u64) -> U256 {
        U256::from(number)
    }

    fn holding(balance: u64) -> Standing {
        Some(AccountInfo::from_balance(number(balance)))
    }

    fn account(balance: u64) -> Option<Account> {
        holding(balance).as_ref().map(account_of)
    }

    fn effect(address: Address, before: u64, after: u64, slots: &[(u64, u64, u64)]) -> Effect {
        let slots = slots.iter().map(|(slot, before, after)| SlotChange {
            slot: number(*slot),
            before: number(*before),
            after: number(*after),
        });
        Effect { address, before: account(before), after: holding(after), slots: slots.collect() }
    }

    #[test]
    fn changes_of_several_transactions_are_from_the_first_before_to_the_last_after() {
        let mut net = Net::default();
        net.absorb(vec![effect(B, 5, 6, &[(1, 10, 11)])]);
        net.absorb(vec![effect(A, 7, 9, &[]), effect(B, 6, 8, &[(1, 11, 12), (0, 0, 1)])]);
        let changes = net.into_changes();
        let summary: Vec<_> = changes
            .accounts
            .iter()
            .map(|change| (change.address, change.before, change.after, change.slots.len()))
            .collect();
        let expected = [(A, account(7), account(9), 0), (B, account(5), account(8), 2)];
        assert_eq!(summary, expected);
        let slot = SlotChange { slot: number(1), before: number(10), after: number(12) };
        assert_eq!(changes.accounts[1].slots[1], slot);
    }

    #[test]
    fn what_was_changed_back_is_no_change() {
        let mut net = Net::default();
        net.absorb(vec![effect(A, 5, 6, &[(1, 10, 11)])]);
        net.absorb(vec![effect(A, 6, 5, &[(1, 11, 10)])]);
        assert_eq!(net.into_changes(), ChangeSet::default());
    }

    #[test]
    fn credits_add_up_and_what_no_account_can_hold_is_not_paid() {
        let mut net = Net::default();
        let none = || Ok::<_, ()>(None);
        net.credit(A, &[], || Err("it is not asked for nothing")).unwrap();
        net.credit(A, &[number(2)], none).unwrap();
        net.credit(A, &[U256::MAX, number(3)], || Err(())).unwrap();
        let changes = net.into_changes();
        assert_eq!(changes.accounts[0].before, None);
        assert_eq!(changes.accounts[0].after, account(5));
    }
}
