//! What was read from the store while the batch was executed?
//!
//! What the shard's cache has at hand is read there, by all lanes. What it has not is read from the
//! store, kept by the lane that has read it, and given to the cache in the end.

use std::sync::{Mutex, MutexGuard};

use alloy_primitives::{Address, U256, map::HashMap};

use crate::{
    execute::parallel::net::{SlotKey, Standing},
    store::StoreError,
};

/// Of each lane. The locks are there since lanes share this: nobody else takes them.
pub(super) struct Bases(Box<[Own]>);

/// Apart from the lines of the cache that others have.
#[derive(Default)]
#[repr(align(128))]
struct Own(Mutex<Base>);

/// Values as they were before the batch, which nobody had at hand.
#[derive(Debug, Default)]
pub(super) struct Base {
    pub(super) accounts: HashMap<Address, Standing>,
    pub(super) slots: HashMap<SlotKey, U256>,
}

impl Bases {
    /// For so many lanes.
    pub(super) fn new(lanes: usize) -> Bases {
        Bases((0..lanes).map(|_| Own::default()).collect())
    }

    /// An account that this lane has read, or reads now.
    pub(super) fn account(
        &self,
        lane: usize,
        address: Address,
        read: impl FnOnce() -> Result<Standing, StoreError>,
    ) -> Result<Standing, StoreError> {
        let known = self.of(lane).accounts.get(&address).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let standing = read()?;
        self.of(lane).accounts.insert(address, standing.clone());
        Ok(standing)
    }

    /// A slot that this lane has read, or reads now.
    pub(super) fn slot(
        &self,
        lane: usize,
        key: SlotKey,
        read: impl FnOnce() -> Result<U256, StoreError>,
    ) -> Result<U256, StoreError> {
        let known = self.of(lane).slots.get(&key).copied();
        if let Some(known) = known {
            return Ok(known);
        }
        let value = read()?;
        self.of(lane).slots.insert(key, value);
        Ok(value)
    }

    /// All that was read.
    pub(super) fn take(&mut self) -> Base {
        let mut base = Base::default();
        for Own(own) in &mut self.0 {
            let own = own.get_mut().expect("nothing panics under its lock");
            // What several have read was the same.
            base.accounts.extend(own.accounts.drain());
            base.slots.extend(own.slots.drain());
        }
        base
    }

    fn of(&self, lane: usize) -> MutexGuard<'_, Base> {
        self.0[lane].0.lock().expect("nothing panics under its lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Address = Address::repeat_byte(0xa);
    const SLOT: SlotKey = SlotKey { address: A, slot: U256::ZERO };

    #[test]
    fn lane_reads_once_and_what_was_read_is_given_back_once_whoever_has_read_it() {
        let mut bases = Bases::new(2);
        for lane in 0..2 {
            assert_eq!(bases.slot(lane, SLOT, || Ok(U256::from(7))), Ok(U256::from(7)));
            let again = bases.slot(lane, SLOT, || panic!("it is known"));
            assert_eq!(again, Ok(U256::from(7)));
        }
        let base = bases.take();
        assert_eq!(base.slots.into_iter().collect::<Vec<_>>(), [(SLOT, U256::from(7))]);
        assert!(base.accounts.is_empty());
    }

    #[test]
    fn read_that_fails_is_not_remembered() {
        let bases = Bases::new(1);
        assert_eq!(bases.account(0, A, || Err(StoreError::Failed)), Err(StoreError::Failed));
        assert_eq!(bases.account(0, A, || Ok(None)), Ok(None));
    }
}
