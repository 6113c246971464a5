//! What happens when nodes can not be read, are missing, or are not what was written?

use std::{cell::Cell, collections::BTreeMap};

use alloy_primitives::U256;
use kernel::each_seed;

use super::{Dice, Model, Stored, account, address};
use crate::{
    block::ChangeSet,
    store::StoreError,
    trie::{TrieReader, key::node_key, prove, root, update},
};

/// A reader that fails at the n-th read.
struct Failing<'s> {
    stored: &'s Stored,
    left: Cell<usize>,
}

impl TrieReader for Failing<'_> {
    fn node(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        match self.left.get() {
            0 => Err(StoreError::Failed),
            left => {
                self.left.set(left - 1);
                self.stored.node(key)
            }
        }
    }
}

/// Forty accounts with storage, and a block that touches many paths.
fn world() -> (Stored, ChangeSet) {
    let slots = || (1..5).map(|slot| (U256::from(slot), U256::from(slot))).collect();
    let model = Model((0..40).map(|n| (address(n), (account(1), slots()))).collect());
    let mut stored = Stored::default();
    stored.update(&Model::default().changes_to(&model));
    let mut next = model.clone();
    for n in 0..10 {
        next.0.remove(&address(n));
        let (account, slots) = next.0.get_mut(&address(n + 10)).expect("it is there");
        account.nonce += 1;
        slots.remove(&U256::from(1));
        slots.insert(U256::from(2), U256::from(99));
    }
    (stored, model.changes_to(&next))
}

#[test]
fn a_read_that_fails_fails_the_update_and_the_proof_with_its_error() {
    let (stored, changes) = world();
    stored.reads.set(0);
    let expected = update(&stored, &changes).expect("nothing fails here");
    let reads = stored.reads.get();
    assert!(reads > 50);
    for left in 0..reads {
        let reader = Failing { stored: &stored, left: Cell::new(left) };
        assert_eq!(update(&reader, &changes), Err(StoreError::Failed));
    }
    let reader = Failing { stored: &stored, left: Cell::new(reads) };
    assert_eq!(update(&reader, &changes), Ok(expected));

    stored.reads.set(0);
    prove(&stored, address(20), &[U256::ONE]).expect("nothing fails here");
    for left in 0..stored.reads.get() {
        let reader = Failing { stored: &stored, left: Cell::new(left) };
        assert_eq!(prove(&reader, address(20), &[U256::ONE]), Err(StoreError::Failed));
    }
    let reader = Failing { stored: &stored, left: Cell::new(0) };
    assert_eq!(root(&reader), Err(StoreError::Failed));
}

#[test]
fn a_node_that_is_missing_is_an_error_and_never_another_root() {
    let (stored, changes) = world();
    let expected = update(&stored, &changes).expect("nothing fails here");
    let account_root = node_key(None, &alloy_trie::Nibbles::new());
    let mut errors = 0;
    for key in stored.nodes.keys().filter(|key| **key != account_root) {
        let mut lossy = stored.clone();
        lossy.nodes.remove(key);
        match update(&lossy, &changes) {
            Err(StoreError::Corrupt(_)) => errors += 1,
            other => assert_eq!(other.as_ref(), Ok(&expected), "it was not on any path"),
        }
    }
    assert!(errors > 50);
}

#[test]
fn another_trie_than_that_of_the_parent_is_seen_by_its_root() {
    let (mut stored, _) = world();
    let parent = root(&stored).expect("nothing fails here");
    let nothing = ChangeSet::default();
    assert_eq!(update(&stored, &nothing).expect("nothing fails here").before, parent);
    stored.nodes.remove(&node_key(None, &alloy_trie::Nibbles::new()));
    assert_ne!(update(&stored, &nothing).expect("nothing fails here").before, parent);
}

/// Not which error: that there is no panic, and no endless walk.
#[test]
fn bytes_that_were_damaged_never_panic() {
    let (stored, changes) = world();
    let keys: Vec<_> = stored.nodes.keys().cloned().collect();
    let outcomes = Cell::new(BTreeMap::<bool, usize>::new());
    each_seed(400, |seed| {
        let dice = &mut Dice(seed.wrapping_mul(7919) ^ 0x9E37_79B9);
        let mut damaged = stored.clone();
        let node = damaged.nodes.get_mut(&keys[dice.below(keys.len())]).expect("it is there");
        match dice.below(4) {
            0 => node.truncate(dice.below(node.len())),
            1 => node.push(dice.below(256) as u8),
            2 => {
                // Another node of the same store, at the wrong place.
                *node = stored.nodes[&keys[dice.below(keys.len())]].clone();
            }
            _ => {
                let place = dice.below(node.len());
                node[place] = dice.below(256) as u8;
            }
        }
        let update = update(&damaged, &changes);
        for n in 8..12 {
            let _ = prove(&damaged, address(n), &[U256::ONE]);
        }
        let mut counted = outcomes.take();
        *counted.entry(update.is_ok()).or_default() += 1;
        outcomes.set(counted);
    });
    let counted = outcomes.take();
    assert!(counted.values().all(|count| *count > 20), "{counted:?}");
}
