//! What do transactions see of each other before they are committed?
//!
//! For each account and slot that was asked for: its value before the batch, and those that
//! transactions of the batch have written, by their places. A transaction sees the latest write
//! below its own place. That is a guess: a transaction in between may still be under way. Whether
//! a guess was right is decided when the transaction is committed, so nothing here needs to be
//! exact, and the result of a batch does not depend on it.
//!
//! Most of what is read nobody in the batch writes: a bitmap of hashes says so, without a lock. Its
//! bits are set and read relaxed: a bit that comes late is a guess that fails, and a set bit that
//! means another key costs a look in vain. Otherwise there are many small mutexes: a lock is held
//! for one look-up, and two lanes rarely want the same.

use std::{
    hash::{BuildHasher, Hash, Hasher},
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use alloy_primitives::{
    Address, U256,
    map::{DefaultHashBuilder, HashMap},
};
use revm::state::AccountInfo;

use crate::store::StoreError;

/// A power of two: as many as a block of swaps writes, so that lanes that have nothing in common
/// seldom meet in one.
const PARTS: usize = 1 << 10;
/// A power of two: some eight times as many as a block of swaps writes.
const BITS: usize = 1 << 16;

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

/// All versions of what a batch has touched.
pub(super) struct Versions {
    hasher: DefaultHashBuilder,
    /// Which hashes were written.
    bits: Box<[AtomicU64]>,
    parts: Box<[Mutex<Part>]>,
}

/// Values as they were before the batch.
#[derive(Debug, Default)]
pub(super) struct Base {
    pub(super) accounts: Vec<(Address, Standing)>,
    pub(super) slots: Vec<(SlotKey, U256)>,
}

/// In lines of the cache of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Part {
    accounts: HashMap<Address, Line<Standing>>,
    slots: HashMap<SlotKey, Line<U256>>,
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
        Versions {
            hasher: DefaultHashBuilder::default(),
            bits: (0..BITS / 64).map(|_| AtomicU64::new(0)).collect(),
            parts: (0..PARTS).map(|_| Mutex::default()).collect(),
        }
    }

    /// The account as the transaction at `place` sees it. As it was before the batch it is `at_hand`
    /// or is `read`, and then kept.
    pub(super) fn account(
        &self,
        address: Address,
        place: u32,
        at_hand: impl FnOnce() -> Option<Standing>,
        read: impl FnOnce() -> Result<Standing, StoreError>,
    ) -> Result<(Standing, Source), StoreError> {
        let hash = self.hasher.hash_one(address);
        let find = || self.part(hash).accounts.get(&address).and_then(|line| line.below(place));
        let keep = |base| self.part(hash).accounts.entry(address).or_default().base = Some(base);
        self.find(hash, find, at_hand, read, keep)
    }

    /// The slot as the transaction at `place` sees it.
    pub(super) fn slot(
        &self,
        key: SlotKey,
        place: u32,
        at_hand: impl FnOnce() -> Option<U256>,
        read: impl FnOnce() -> Result<U256, StoreError>,
    ) -> Result<(U256, Source), StoreError> {
        let hash = self.hasher.hash_one(key);
        let find = || self.part(hash).slots.get(&key).and_then(|line| line.below(place));
        let keep = |base| self.part(hash).slots.entry(key).or_default().base = Some(base);
        self.find(hash, find, at_hand, read, keep)
    }

    fn find<V: Clone>(
        &self,
        hash: u64,
        find: impl FnOnce() -> Option<(V, Source)>,
        at_hand: impl FnOnce() -> Option<V>,
        read: impl FnOnce() -> Result<V, StoreError>,
        keep: impl FnOnce(V),
    ) -> Result<(V, Source), StoreError> {
        if !self.may_be_written(hash)
            && let Some(base) = at_hand()
        {
            return Ok((base, Source::Base));
        }
        if let Some(known) = find() {
            return Ok(known);
        }
        // Not under the lock: it may wait for a disk.
        let base = read()?;
        keep(base.clone());
        Ok((base, Source::Base))
    }

    /// The transaction at `place` has left the account like this.
    pub(super) fn write_account(&self, address: Address, place: u32, standing: Standing) {
        let hash = self.hasher.hash_one(address);
        self.part(hash).accounts.entry(address).or_default().write(place, standing);
        self.mark(hash);
    }

    /// The transaction at `place` has left the slot like this.
    pub(super) fn write_slot(&self, key: SlotKey, place: u32, value: U256) {
        let hash = self.hasher.hash_one(key);
        self.part(hash).slots.entry(key).or_default().write(place, value);
        self.mark(hash);
    }

    /// The transaction at `place` has not changed the account, as it now turns out.
    pub(super) fn unwrite_account(&self, address: Address, place: u32) {
        let hash = self.hasher.hash_one(address);
        if let Some(line) = self.part(hash).accounts.get_mut(&address) {
            line.unwrite(place);
        }
    }

    /// The transaction at `place` has not changed the slot, as it now turns out.
    pub(super) fn unwrite_slot(&self, key: SlotKey, place: u32) {
        let hash = self.hasher.hash_one(key);
        if let Some(line) = self.part(hash).slots.get_mut(&key) {
            line.unwrite(place);
        }
    }

    fn may_be_written(&self, hash: u64) -> bool {
        self.bits[hash as usize % BITS / 64].load(Relaxed) & 1 << (hash % 64) != 0
    }

    fn mark(&self, hash: u64) {
        // Most are marked already: who only looks does not take the word away from other lanes.
        if !self.may_be_written(hash) {
            self.bits[hash as usize % BITS / 64].fetch_or(1 << (hash % 64), Relaxed);
        }
    }

    /// What was asked for, as it was before the batch.
    pub(super) fn into_base(self) -> Base {
        let mut base = Base::default();
        for part in self.parts {
            let Part { accounts, slots } =
                part.into_inner().expect("nothing panics under its lock");
            let accounts = accounts.into_iter().filter_map(|(key, line)| Some((key, line.base?)));
            base.accounts.extend(accounts);
            base.slots.extend(slots.into_iter().filter_map(|(key, line)| Some((key, line.base?))));
        }
        base
    }

    fn part(&self, hash: u64) -> MutexGuard<'_, Part> {
        // Other bits than those of the bitmap and of the tables.
        let part = (hash >> 40) as usize % PARTS;
        self.parts[part].lock().expect("nothing panics under its lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Address = Address::repeat_byte(0xa);
    const SLOT: SlotKey = SlotKey { address: A, slot: U256::ZERO };

    fn never() -> Result<U256, StoreError> {
        panic!("it is known")
    }

    fn slot(versions: &Versions, place: u32) -> (u64, Source) {
        let (value, source) = versions.slot(SLOT, place, || None, never).expect("nothing is read");
        (value.to(), source)
    }

    #[test]
    fn base_is_read_once_and_seen_by_all_places_below_the_first_write() {
        let versions = Versions::new();
        let read = || Ok(U256::from(7));
        assert_eq!(versions.slot(SLOT, 5, || None, read), Ok((U256::from(7), Source::Base)));
        versions.write_slot(SLOT, 3, U256::from(30));
        assert_eq!(slot(&versions, 3), (7, Source::Base), "nobody sees his own write");
        assert_eq!(slot(&versions, 4), (30, Source::Batch));
    }

    #[test]
    fn latest_write_below_counts_in_whatever_order_they_came() {
        let versions = Versions::new();
        for place in [4, 2, 6] {
            versions.write_slot(SLOT, place, U256::from(place));
        }
        assert_eq!(slot(&versions, 3), (2, Source::Batch));
        assert_eq!(slot(&versions, 5), (4, Source::Batch));
        assert_eq!(slot(&versions, 9), (6, Source::Batch));
        versions.write_slot(SLOT, 4, U256::from(44));
        versions.unwrite_slot(SLOT, 6);
        assert_eq!(slot(&versions, 9), (44, Source::Batch));
    }

    #[test]
    fn what_is_at_hand_is_not_kept_and_counts_until_somebody_writes() {
        let versions = Versions::new();
        let at_hand = || Some(U256::from(7));
        assert_eq!(versions.slot(SLOT, 5, at_hand, never), Ok((U256::from(7), Source::Base)));
        versions.write_slot(SLOT, 3, U256::from(30));
        assert_eq!(versions.slot(SLOT, 5, at_hand, never), Ok((U256::from(30), Source::Batch)));
        let read = || Ok(U256::from(7));
        assert_eq!(versions.slot(SLOT, 2, at_hand, read), Ok((U256::from(7), Source::Base)));
    }

    #[test]
    fn read_that_fails_is_not_remembered() {
        let versions = Versions::new();
        let failed = versions.account(A, 0, || None, || Err(StoreError::Failed));
        assert_eq!(failed, Err(StoreError::Failed));
        assert_eq!(versions.account(A, 0, || None, || Ok(None)), Ok((None, Source::Base)));
    }

    #[test]
    fn accounts_that_are_gone_are_seen_as_gone() {
        let versions = Versions::new();
        versions.write_account(A, 1, None);
        let read = || panic!("it is known");
        assert_eq!(versions.account(A, 2, || None, read), Ok((None, Source::Batch)));
        versions.unwrite_account(A, 1);
        let before = Some(AccountInfo::from_balance(U256::from(5)));
        let read = || Ok(before.clone());
        assert_eq!(versions.account(A, 2, || None, read), Ok((before.clone(), Source::Base)));
    }
}
