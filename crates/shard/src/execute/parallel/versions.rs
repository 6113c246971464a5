//! What do transactions see of each other before they are committed?
//!
//! For each account and slot that was written: the values that transactions of the batch have left,
//! by their places. A transaction sees the latest write below its own place. That is a guess: a
//! transaction in between may still be under way. Whether a guess was right is decided when the
//! transaction is committed, so nothing here needs to be exact, and the result of a batch does not
//! depend on it.
//!
//! ```text
//!   lane 0:  bits   parts   base        bits:   which hashes this lane has written, without a lock
//!   lane 1:  bits   parts   base        parts:  what it has written, behind small mutexes
//!   ...                                 base:   what it has read from the store
//! ```
//!
//! Each lane writes to a table of its own, and looks into that of another only where that one's bits
//! say that it has written what is asked for. Lanes that work on nothing in common so pass nothing to
//! and fro between their cores but bits that are new. In one table for all a core has to fetch what
//! another one has written beside it for something else.
//!
//! Bits are set and read relaxed: a bit that comes late is a guess that fails, and a set bit that
//! means another key costs a look in vain.

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

/// A power of two: a lane that looks for what another one has written seldom meets it there.
const PARTS: usize = 1 << 6;
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
    lanes: Box<[Written]>,
}

/// What one lane has written and read, apart from the lines of the cache that others have.
#[repr(align(128))]
struct Written {
    /// Which hashes were written.
    bits: Box<[AtomicU64]>,
    parts: Box<[Mutex<Part>]>,
    base: Mutex<Base>,
}

/// Values as they were before the batch, which nobody had at hand.
#[derive(Debug, Default)]
pub(super) struct Base {
    pub(super) accounts: HashMap<Address, Standing>,
    pub(super) slots: HashMap<SlotKey, U256>,
}

/// In lines of the cache of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Part {
    accounts: HashMap<Address, Line<Standing>>,
    slots: HashMap<SlotKey, Line<U256>>,
}

/// The versions of one value, in order of places.
#[derive(Debug)]
struct Line<V>(Vec<(u32, V)>);

impl<V> Default for Line<V> {
    fn default() -> Line<V> {
        Line(Vec::new())
    }
}

impl<V> Line<V> {
    fn below(&self, place: u32) -> Option<&(u32, V)> {
        let later = self.0.partition_point(|(at, _)| *at < place);
        self.0[..later].last()
    }

    fn write(&mut self, place: u32, value: V) {
        match self.0.binary_search_by_key(&place, |(at, _)| *at) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (place, value)),
        }
    }

    fn unwrite(&mut self, place: u32) {
        if let Ok(at) = self.0.binary_search_by_key(&place, |(at, _)| *at) {
            self.0.remove(at);
        }
    }
}

impl Written {
    fn new() -> Written {
        Written {
            bits: (0..BITS / 64).map(|_| AtomicU64::new(0)).collect(),
            parts: (0..PARTS).map(|_| Mutex::default()).collect(),
            base: Mutex::default(),
        }
    }

    fn may_have(&self, hash: u64) -> bool {
        self.bits[hash as usize % BITS / 64].load(Relaxed) & 1 << (hash % 64) != 0
    }

    fn mark(&self, hash: u64) {
        // Most are marked already: who only looks does not take the word away from other lanes.
        if !self.may_have(hash) {
            self.bits[hash as usize % BITS / 64].fetch_or(1 << (hash % 64), Relaxed);
        }
    }

    fn part(&self, hash: u64) -> MutexGuard<'_, Part> {
        // Other bits than those of the bitmap and of the tables.
        let part = (hash >> 40) as usize % PARTS;
        self.parts[part].lock().expect("nothing panics under its lock")
    }

    fn base(&self) -> MutexGuard<'_, Base> {
        self.base.lock().expect("nothing panics under its lock")
    }
}

impl Versions {
    /// For so many lanes.
    pub(super) fn new(lanes: usize) -> Versions {
        let lanes = (0..lanes).map(|_| Written::new()).collect();
        Versions { hasher: DefaultHashBuilder::default(), lanes }
    }

    /// The account as the transaction at `place` sees it, for this lane. As it was before the batch
    /// it is `at_hand` or is `read`, and then kept.
    pub(super) fn account(
        &self,
        lane: usize,
        address: Address,
        place: u32,
        at_hand: impl FnOnce() -> Option<Standing>,
        read: impl FnOnce() -> Result<Standing, StoreError>,
    ) -> Result<(Standing, Source), StoreError> {
        let hash = self.hasher.hash_one(address);
        if let Some(written) = self.latest(hash, place, |part| part.accounts.get(&address)) {
            return Ok((written, Source::Batch));
        }
        if let Some(base) = at_hand() {
            return Ok((base, Source::Base));
        }
        let own = &self.lanes[lane];
        if let Some(base) = own.base().accounts.get(&address) {
            return Ok((base.clone(), Source::Base));
        }
        // Not under the lock: it may wait for a disk.
        let base = read()?;
        own.base().accounts.insert(address, base.clone());
        Ok((base, Source::Base))
    }

    /// The slot as the transaction at `place` sees it, for this lane.
    pub(super) fn slot(
        &self,
        lane: usize,
        key: SlotKey,
        place: u32,
        at_hand: impl FnOnce() -> Option<U256>,
        read: impl FnOnce() -> Result<U256, StoreError>,
    ) -> Result<(U256, Source), StoreError> {
        let hash = self.hasher.hash_one(key);
        if let Some(written) = self.latest(hash, place, |part| part.slots.get(&key)) {
            return Ok((written, Source::Batch));
        }
        if let Some(base) = at_hand() {
            return Ok((base, Source::Base));
        }
        let own = &self.lanes[lane];
        if let Some(base) = own.base().slots.get(&key) {
            return Ok((*base, Source::Base));
        }
        let base = read()?;
        own.base().slots.insert(key, base);
        Ok((base, Source::Base))
    }

    /// What the last of those below `place` has written, whichever lane has executed it.
    fn latest<V: Clone>(
        &self,
        hash: u64,
        place: u32,
        line: impl Fn(&Part) -> Option<&Line<V>>,
    ) -> Option<V> {
        if place == OPENING {
            return None;
        }
        let mut latest: Option<(u32, V)> = None;
        for written in self.lanes.iter().filter(|written| written.may_have(hash)) {
            let part = written.part(hash);
            if let Some(below) = line(&part).and_then(|line| line.below(place))
                && latest.as_ref().is_none_or(|(at, _)| *at < below.0)
            {
                latest = Some(below.clone());
            }
        }
        latest.map(|(_, value)| value)
    }

    /// The transaction at `place`, which this lane has executed, has left the account like this.
    pub(super) fn write_account(
        &self,
        lane: usize,
        address: Address,
        place: u32,
        standing: Standing,
    ) {
        let (hash, own) = (self.hasher.hash_one(address), &self.lanes[lane]);
        own.part(hash).accounts.entry(address).or_default().write(place, standing);
        own.mark(hash);
    }

    /// The transaction at `place`, which this lane has executed, has left the slot like this.
    pub(super) fn write_slot(&self, lane: usize, key: SlotKey, place: u32, value: U256) {
        let (hash, own) = (self.hasher.hash_one(key), &self.lanes[lane]);
        own.part(hash).slots.entry(key).or_default().write(place, value);
        own.mark(hash);
    }

    /// The transaction at `place` has not changed the account, as it now turns out. Whichever lane
    /// has executed it: at a place only one has written.
    pub(super) fn unwrite_account(&self, address: Address, place: u32) {
        let hash = self.hasher.hash_one(address);
        for written in self.lanes.iter().filter(|written| written.may_have(hash)) {
            if let Some(line) = written.part(hash).accounts.get_mut(&address) {
                line.unwrite(place);
            }
        }
    }

    /// The transaction at `place` has not changed the slot, as it now turns out.
    pub(super) fn unwrite_slot(&self, key: SlotKey, place: u32) {
        let hash = self.hasher.hash_one(key);
        for written in self.lanes.iter().filter(|written| written.may_have(hash)) {
            if let Some(line) = written.part(hash).slots.get_mut(&key) {
                line.unwrite(place);
            }
        }
    }

    /// What was read, as it was before the batch. The rest may be dropped later: it is much.
    pub(super) fn take_base(&mut self) -> Base {
        let mut base = Base::default();
        for written in &mut self.lanes {
            let own = written.base.get_mut().expect("nothing panics under its lock");
            // What several have read was the same.
            base.accounts.extend(own.accounts.drain());
            base.slots.extend(own.slots.drain());
        }
        base
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
        let (value, source) =
            versions.slot(0, SLOT, place, || None, never).expect("nothing is read");
        (value.to(), source)
    }

    #[test]
    fn base_is_read_once_and_seen_by_all_places_below_the_first_write() {
        let versions = Versions::new(2);
        let read = || Ok(U256::from(7));
        assert_eq!(versions.slot(0, SLOT, 5, || None, read), Ok((U256::from(7), Source::Base)));
        versions.write_slot(0, SLOT, 3, U256::from(30));
        assert_eq!(slot(&versions, 3), (7, Source::Base), "nobody sees his own write");
        assert_eq!(slot(&versions, 4), (30, Source::Batch));
    }

    /// Each lane has its own table, and all of them count.
    #[test]
    fn latest_write_below_counts_whichever_lane_has_executed_it() {
        let versions = Versions::new(3);
        for (lane, place) in [(0, 2), (2, 5), (1, 4)] {
            versions.write_slot(lane, SLOT, place, U256::from(place));
        }
        assert_eq!(slot(&versions, 5), (4, Source::Batch));
        assert_eq!(slot(&versions, 9), (5, Source::Batch));
        // It was not so, as it now turns out, and then another lane has executed it.
        versions.unwrite_slot(SLOT, 5);
        assert_eq!(slot(&versions, 9), (4, Source::Batch));
        versions.write_slot(0, SLOT, 5, U256::from(55));
        assert_eq!(slot(&versions, 9), (55, Source::Batch));
    }

    #[test]
    fn what_was_read_is_given_back_once_whoever_has_read_it() {
        let mut versions = Versions::new(2);
        for lane in 0..2 {
            let read = || Ok(U256::from(7));
            assert_eq!(
                versions.slot(lane, SLOT, 1, || None, read),
                Ok((U256::from(7), Source::Base))
            );
        }
        let base = versions.take_base();
        assert_eq!(base.slots.into_iter().collect::<Vec<_>>(), [(SLOT, U256::from(7))]);
        assert!(base.accounts.is_empty());
    }

    #[test]
    fn latest_write_below_counts_in_whatever_order_they_came() {
        let versions = Versions::new(2);
        for place in [4, 2, 6] {
            versions.write_slot(0, SLOT, place, U256::from(place));
        }
        assert_eq!(slot(&versions, 3), (2, Source::Batch));
        assert_eq!(slot(&versions, 5), (4, Source::Batch));
        assert_eq!(slot(&versions, 9), (6, Source::Batch));
        versions.write_slot(0, SLOT, 4, U256::from(44));
        versions.unwrite_slot(SLOT, 6);
        assert_eq!(slot(&versions, 9), (44, Source::Batch));
    }

    #[test]
    fn what_is_at_hand_is_not_kept_and_counts_until_somebody_writes() {
        let versions = Versions::new(2);
        let at_hand = || Some(U256::from(7));
        assert_eq!(versions.slot(0, SLOT, 5, at_hand, never), Ok((U256::from(7), Source::Base)));
        versions.write_slot(0, SLOT, 3, U256::from(30));
        assert_eq!(versions.slot(0, SLOT, 5, at_hand, never), Ok((U256::from(30), Source::Batch)));
        let read = || Ok(U256::from(7));
        assert_eq!(versions.slot(0, SLOT, 2, at_hand, read), Ok((U256::from(7), Source::Base)));
    }

    #[test]
    fn read_that_fails_is_not_remembered() {
        let versions = Versions::new(2);
        let failed = versions.account(0, A, 0, || None, || Err(StoreError::Failed));
        assert_eq!(failed, Err(StoreError::Failed));
        assert_eq!(versions.account(0, A, 0, || None, || Ok(None)), Ok((None, Source::Base)));
    }

    #[test]
    fn accounts_that_are_gone_are_seen_as_gone() {
        let versions = Versions::new(2);
        versions.write_account(0, A, 1, None);
        let read = || panic!("it is known");
        assert_eq!(versions.account(0, A, 2, || None, read), Ok((None, Source::Batch)));
        versions.unwrite_account(A, 1);
        let before = Some(AccountInfo::from_balance(U256::from(5)));
        let read = || Ok(before.clone());
        assert_eq!(versions.account(0, A, 2, || None, read), Ok((before.clone(), Source::Base)));
    }
}
