//! One trie, with keys chosen by hand: does it equal a fresh build, however its keys collide?

use std::collections::BTreeMap;

use alloy_primitives::B256;
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles};
use kernel::each_seed;

use super::{Dice, Stored, fresh_trie};
use crate::{
    store::StoreError,
    trie::{
        edit::{Edit, Roots, edit},
        nodes::Nodes,
    },
};

/// A value, or nothing.
impl Edit for Option<Vec<u8>> {
    fn value(&self, _: Option<&[u8]>) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.clone())
    }
}

/// A trie and what must be in it.
#[derive(Default)]
struct Checked {
    stored: Stored,
    leaves: BTreeMap<Nibbles, Vec<u8>>,
}

impl Checked {
    /// Applies changes, and compares root and nodes with a fresh build.
    fn change(&mut self, changes: BTreeMap<Nibbles, Option<Vec<u8>>>) -> Roots {
        let (before, _) = fresh_trie(None, &self.leaves);
        let changes: Vec<_> = changes.into_iter().collect();
        let mut nodes = Nodes::new(&self.stored);
        let roots = edit(&mut nodes, None, &changes).expect("nothing fails here");
        let nodes = nodes.finish();
        self.stored.apply(&nodes);
        for (key, value) in changes {
            match value {
                Some(value) => self.leaves.insert(key, value),
                None => self.leaves.remove(&key),
            };
        }
        let (root, fresh) = fresh_trie(None, &self.leaves);
        assert_eq!(roots, Roots { before, after: root });
        assert_eq!(self.stored.nodes, fresh.nodes);
        roots
    }

    fn put(&mut self, keys: &[Nibbles]) -> Roots {
        self.change(keys.iter().map(|key| (*key, Some(vec![7; 40]))).collect())
    }

    fn delete(&mut self, keys: &[Nibbles]) -> Roots {
        self.change(keys.iter().map(|key| (*key, None)).collect())
    }
}

/// A key that begins with these nibbles and goes on with zeros.
fn key(start: &[u8]) -> Nibbles {
    let mut nibbles = [0; 64];
    nibbles[..start.len()].copy_from_slice(start);
    Nibbles::from_nibbles(nibbles)
}

/// A key that is all zeros, with one nibble at one place.
fn zeros_but(place: usize, nibble: u8) -> Nibbles {
    let mut nibbles = [0; 64];
    nibbles[place] = nibble;
    Nibbles::from_nibbles(nibbles)
}

#[test]
fn the_last_leaf_that_goes_leaves_nothing() {
    let mut trie = Checked::default();
    trie.put(&[key(&[1]), key(&[2])]);
    assert_eq!(trie.delete(&[key(&[1]), key(&[2])]).after, EMPTY_ROOT_HASH);
    assert!(trie.stored.nodes.is_empty());
}

#[test]
fn a_branch_with_one_child_left_becomes_its_leaf() {
    let mut trie = Checked::default();
    trie.put(&[key(&[1]), key(&[2])]);
    trie.delete(&[key(&[1])]);
    assert_eq!(trie.stored.nodes.len(), 1);
}

#[test]
fn a_branch_with_one_branch_left_becomes_an_extension() {
    let mut trie = Checked::default();
    trie.put(&[key(&[1]), key(&[2, 1]), key(&[2, 2])]);
    trie.delete(&[key(&[1])]);
}

#[test]
fn a_branch_with_one_extension_left_becomes_a_longer_one() {
    let mut trie = Checked::default();
    trie.put(&[key(&[1]), key(&[2, 3, 4, 1]), key(&[2, 3, 4, 2])]);
    trie.delete(&[key(&[1])]);
}

#[test]
fn an_extension_splits_at_its_first_middle_and_last_nibble() {
    for fork in 0..4 {
        let mut trie = Checked::default();
        trie.put(&[key(&[5, 5, 5, 5, 1]), key(&[5, 5, 5, 5, 2])]);
        let mut other = [5; 5];
        other[fork] = 6;
        trie.put(&[key(&other)]);
        trie.delete(&[key(&other)]);
    }
}

#[test]
fn an_extension_whose_branch_goes_while_it_splits_is_gone_too() {
    let mut trie = Checked::default();
    trie.put(&[key(&[5, 5, 5, 1]), key(&[5, 5, 5, 2])]);
    trie.change(BTreeMap::from([
        (key(&[5, 5, 5, 1]), None),
        (key(&[5, 5, 5, 2]), None),
        (key(&[5, 6]), Some(vec![1; 40])),
    ]));
}

#[test]
fn deletes_of_what_is_not_there_change_nothing() {
    let mut trie = Checked::default();
    trie.delete(&[key(&[1])]);
    trie.put(&[key(&[5, 5, 1]), key(&[5, 5, 2])]);
    let before = trie.stored.nodes.clone();
    // Past the extension, off the branch, off a leaf.
    trie.delete(&[key(&[1]), key(&[5, 6]), key(&[5, 5, 3]), key(&[5, 5, 1, 1])]);
    assert_eq!(trie.stored.nodes, before);
}

#[test]
fn keys_that_differ_in_the_last_nibble_only_are_two_leaves() {
    let mut trie = Checked::default();
    trie.put(&[zeros_but(63, 1), zeros_but(63, 2)]);
    trie.put(&[zeros_but(0, 1)]);
    trie.delete(&[zeros_but(63, 2)]);
}

#[test]
fn short_nodes_are_inside_their_parent_and_leave_it_when_they_grow() {
    let mut trie = Checked::default();
    let (one, two) = (zeros_but(63, 1), zeros_but(63, 2));
    let put = |value: &[u8]| Some(value.to_vec());
    trie.change(BTreeMap::from([(one, put(&[1])), (two, put(&[2]))]));
    assert_eq!(trie.stored.nodes.len(), 1, "the extension holds all");
    trie.change(BTreeMap::from([(one, put(&[1; 40]))]));
    assert_eq!(trie.stored.nodes.len(), 3, "extension, branch, and the leaf that grew");
    trie.change(BTreeMap::from([(one, put(&[3]))]));
    assert_eq!(trie.stored.nodes.len(), 1);
}

#[test]
#[should_panic(expected = "in order of keys")]
fn changes_out_of_order_are_a_mistake_of_the_caller() {
    let changes = [(key(&[2]), Some(vec![1])), (key(&[1]), Some(vec![1]))];
    let _ = edit(&mut Nodes::new(&Stored::default()), None, &changes);
}

/// Keys from a small set in which most have long prefixes in common.
fn colliding_key(dice: &mut Dice) -> Nibbles {
    let mut nibbles = [0; 64];
    for _ in 0..1 + dice.below(3) {
        let place = [0, 1, 2, 31, 32, 61, 62, 63][dice.below(8)];
        nibbles[place] = dice.below(3) as u8;
    }
    Nibbles::from_nibbles(nibbles)
}

fn spread_key(dice: &mut Dice, keys: usize) -> Nibbles {
    Nibbles::unpack(alloy_primitives::keccak256(B256::with_last_byte(dice.below(keys) as u8)))
}

/// Values on both sides of the length at which a node is not inside its parent any more.
fn value(dice: &mut Dice) -> Vec<u8> {
    let len = [1, 2, 20, 27, 28, 29, 30, 31, 32, 33, 70][dice.below(11)];
    vec![1 + dice.below(255) as u8; len]
}

fn random_blocks(seed: u64, blocks: usize, key: impl Fn(&mut Dice) -> Nibbles) {
    let dice = &mut Dice(seed.wrapping_mul(7919) ^ 0x9E37_79B9);
    let mut trie = Checked::default();
    for _ in 0..blocks {
        // Times of growth and of decline, so that tries become large and vanish again.
        let deletes = 1 + dice.below(4);
        let mut changes = BTreeMap::new();
        for _ in 0..dice.below(12) {
            let delete = dice.below(4) < deletes;
            changes.insert(key(dice), (!delete).then(|| value(dice)));
        }
        trie.change(changes);
    }
}

#[test]
fn random_changes_of_colliding_keys_equal_a_fresh_build() {
    each_seed(60, |seed| random_blocks(seed, 20, colliding_key));
}

#[test]
fn random_changes_of_few_keys_equal_a_fresh_build() {
    each_seed(40, |seed| random_blocks(seed, 20, |dice| spread_key(dice, 6)));
}

#[test]
fn random_changes_of_many_keys_equal_a_fresh_build() {
    each_seed(6, |seed| random_blocks(seed, 30, |dice| spread_key(dice, 256)));
}
