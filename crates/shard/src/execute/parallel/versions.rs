//! What do transactions see of each other before they are committed?
//!
//! For each account and slot that was asked for: its value before the batch, and those that
//! transactions of the batch have written, by their places. A transaction sees the latest write
//! below its own place. That is a guess: a transaction in between may still be under way. Whether
//! a guess was right is decided when the transaction is committed, so nothing here needs to be
//! exact, and the result of a batch does not depend on it.
//!
//! Many small mutexes: a lock is held for one look-up, and two lanes rarely want the same.

use std::sync::{Mutex, MutexGuard};

use alloy_primitives::{Address, U256, map::HashMap};
use revm::state::AccountInfo;

use crate::store::StoreError;

/// A power of two.
const PARTS: usize = 64;

/// The place of a transaction of the batch. The one below all is that of what a block begins with.
pub(super) fn place(at: u32) -> u32 {
    at + 1
}

/// The place of what a block begins with: nobody writes below it.
pub(super) const OPENING: u32 = 0;

/// An account with its code at hand, if there is one.
pub(super) type Standing = Option<AccountInfo>;

/// Where a value was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// As it was before the batch.
    Base,
    /// A transaction of the batch has written it.
    Batch,
}

/// All versions of what a batch has touched.
#[derive(Debug)]
pub(super) struct Versions {
    parts: Box<[Mutex<Part>]>,
}

#[derive(Debug, Default)]
struct Part {
    accounts: HashMap<Address, Line<Standing>>,
    slots: HashMap<(Address, U256), Line<U256>>,
}

/// The versions of one value.
#[derive(Debug)]
struct Line<V> {
    base: Option<V>,
    /// In order of places.
    writes: Vec<(u32, V)>,
}

impl<V> Default for Line<V> {
    fn default() -> Line<V> {
        Line { base: None, writes: Vec::new() }
    }
}

impl<V: Clone> Line<V> {
    fn below(&self, place: u32) -> Option<(V, Source)> {
        let known = match self.writes.partition_point(|(at, _)| *at < place) {
            0 => (self.base.as_ref()?, Source::Base),
            later => (&self.writes[later - 1].1, Source::Batch),
        };
        Some((known.0.clone(), known.1))
    }

    fn write(&mut self, place: u32, value: V) {
        match self.writes.binary_search_by_key(&place, |(at, _)| *at) {
            Ok(at) => self.writes[at].1 = value,
            Err(at) => self.writes.insert(at, (place, value)),
        }
    }

    fn unwrite(&mut self, place: u32) {
        if let Ok(at) = self.writes.binary_search_by_key(&place, |(at, _)| *at) {
            self.writes.remove(at);
        }
    }
}

impl Versions {
    pub(super) fn new() -> Versions {
        Versions { parts: (0..PARTS).map(|_| Mutex::default()).collect() }
    }

    /// The account as the transaction at `place` sees it. `read` gives it as it was before the
    /// batch.
    pub(super) fn account(
        &self,
        address: Address,
        place: u32,
        read: impl FnOnce() -> Result<Standing, StoreError>,
    ) -> Result<(Standing, Source), StoreError> {
        if let Some(known) =
            self.part(address).accounts.get(&address).and_then(|line| line.below(place))
        {
            return Ok(known);
        }
        // Not under the lock: it may wait for a disk.
        let base = read()?;
        self.part(address).accounts.entry(address).or_default().base = Some(base.clone());
        Ok((base, Source::Base))
    }

    /// The slot as the transaction at `place` sees it.
    pub(super) fn slot(
        &self,
        address: Address,
        slot: U256,
        place: u32,
        read: impl FnOnce() -> Result<U256, StoreError>,
    ) -> Result<(U256, Source), StoreError> {
        let key = (address, slot);
        if let Some(known) =
            self.part_of_slot(key).slots.get(&key).and_then(|line| line.below(place))
        {
            return Ok(known);
        }
        let base = read()?;
        self.part_of_slot(key).slots.entry(key).or_default().base = Some(base);
        Ok((base, Source::Base))
    }

    /// The transaction at `place` has left the account like this.
    pub(super) fn write_account(&self, address: Address, place: u32, standing: Standing) {
        self.part(address).accounts.entry(address).or_default().write(place, standing);
    }

    /// The transaction at `place` has left the slot like this.
    pub(super) fn write_slot(&self, address: Address, slot: U256, place: u32, value: U256) {
        let key = (address, slot);
        self.part_of_slot(key).slots.entry(key).or_default().write(place, value);
    }

    /// The transaction at `place` has not changed the account, as it now turns out.
    pub(super) fn unwrite_account(&self, address: Address, place: u32) {
        if let Some(line) = self.part(address).accounts.get_mut(&address) {
            line.unwrite(place);
        }
    }

    /// The transaction at `place` has not changed the slot, as it now turns out.
    pub(super) fn unwrite_slot(&self, address: Address, slot: U256, place: u32) {
        let key = (address, slot);
        if let Some(line) = self.part_of_slot(key).slots.get_mut(&key) {
            line.unwrite(place);
        }
    }

    /// What was asked for, as it was before the batch.
    pub(super) fn into_base(self) -> (Vec<(Address, Standing)>, Vec<((Address, U256), U256)>) {
        let (mut accounts, mut slots) = (Vec::new(), Vec::new());
        for part in self.parts {
            let part = part.into_inner().expect("nothing panics under its lock");
            let known = part.accounts.into_iter();
            accounts.extend(known.filter_map(|(key, line)| Some((key, line.base?))));
            slots.extend(part.slots.into_iter().filter_map(|(key, line)| Some((key, line.base?))));
        }
        (accounts, slots)
    }

    fn part(&self, address: Address) -> MutexGuard<'_, Part> {
        self.lock(address[19])
    }

    fn part_of_slot(&self, (address, slot): (Address, U256)) -> MutexGuard<'_, Part> {
        // Slots of one contract that are used together are neighbours, or hashes.
        self.lock(address[19] ^ slot.byte(0))
    }

    fn lock(&self, byte: u8) -> MutexGuard<'_, Part> {
        self.parts[usize::from(byte) % PARTS].lock().expect("nothing panics under its lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Address = Address::repeat_byte(0xa);
    const SLOT: U256 = U256::ZERO;

    fn never() -> Result<U256, StoreError> {
        panic!("it is known")
    }

    fn slot(versions: &Versions, place: u32) -> (u64, Source) {
        let (value, source) = versions.slot(A, SLOT, place, never).expect("nothing is read");
        (value.to(), source)
    }

    #[test]
    fn base_is_read_once_and_seen_by_all_places_below_the_first_write() {
        let versions = Versions::new();
        let read = || Ok(U256::from(7));
        assert_eq!(versions.slot(A, SLOT, 5, read), Ok((U256::from(7), Source::Base)));
        versions.write_slot(A, SLOT, 3, U256::from(30));
        assert_eq!(slot(&versions, 3), (7, Source::Base), "nobody sees his own write");
        assert_eq!(slot(&versions, 4), (30, Source::Batch));
    }

    #[test]
    fn latest_write_below_counts_in_whatever_order_they_came() {
        let versions = Versions::new();
        for place in [4, 2, 6] {
            versions.write_slot(A, SLOT, place, U256::from(place));
        }
        assert_eq!(slot(&versions, 3), (2, Source::Batch));
        assert_eq!(slot(&versions, 5), (4, Source::Batch));
        assert_eq!(slot(&versions, 9), (6, Source::Batch));
        versions.write_slot(A, SLOT, 4, U256::from(44));
        versions.unwrite_slot(A, SLOT, 6);
        assert_eq!(slot(&versions, 9), (44, Source::Batch));
    }

    #[test]
    fn read_that_fails_is_not_remembered() {
        let versions = Versions::new();
        let failed = versions.account(A, 0, || Err(StoreError::Failed));
        assert_eq!(failed, Err(StoreError::Failed));
        assert_eq!(versions.account(A, 0, || Ok(None)), Ok((None, Source::Base)));
    }

    #[test]
    fn accounts_that_are_gone_are_seen_as_gone() {
        let versions = Versions::new();
        versions.write_account(A, 1, None);
        let read = || panic!("it is known");
        assert_eq!(versions.account(A, 2, read), Ok((None, Source::Batch)));
        versions.unwrite_account(A, 1);
        let before = Some(AccountInfo::from_balance(U256::from(5)));
        let read = || Ok(before.clone());
        assert_eq!(versions.account(A, 2, read), Ok((before.clone(), Source::Base)));
    }
}
