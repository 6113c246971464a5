//! Do proofs convince someone else's verifier, of what is there and of what is not?

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256};
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles, TrieAccount, proof::verify_proof};
use kernel::each_seed;

use super::{Dice, Model, Stored, account, address, fresh_trie};
use crate::trie::{
    AccountProof,
    accounts::{hashed, hashed_slot},
    proof::walk,
    prove,
};

/// Proves an account and slots, has that verified, and compares with what the model says.
fn check(stored: &Stored, model: &Model, root: B256, address: Address, slots: &[U256]) {
    let proof = prove(stored, address, slots).expect("nothing fails here");
    let AccountProof { account, storage_root, ref nodes, .. } = proof;
    let (expected, storage) = model.0.get(&address).cloned().unzip();
    let storage = storage.unwrap_or_default();
    assert_eq!(account, expected);
    let leaf = account.map(|account| {
        let (nonce, balance, code_hash) = (account.nonce, account.balance, account.code_hash);
        alloy_rlp::encode(TrieAccount { nonce, balance, storage_root, code_hash })
    });
    verify_proof(root, hashed(address), leaf, nodes).expect("the account verifies");
    assert_eq!(proof.storage.len(), slots.len());
    for (proof, slot) in proof.storage.iter().zip(slots) {
        assert_eq!(proof.slot, *slot);
        assert_eq!(proof.value, storage.get(slot).copied().unwrap_or_default());
        let leaf = (!proof.value.is_zero()).then(|| alloy_rlp::encode(proof.value));
        verify_proof(storage_root, hashed_slot(*slot), leaf, &proof.nodes)
            .expect("the slot verifies");
    }
}

#[test]
fn all_that_is_there_and_some_that_is_not_verifies() {
    each_seed(8, |seed| {
        let dice = &mut Dice(seed.wrapping_mul(7919) ^ 0x9E37_79B9);
        let (mut stored, mut model) = (Stored::default(), Model::default());
        let most = 2 + dice.below(12);
        for _ in 0..10 {
            let next = model.random_next(dice, most, most);
            let root = stored.update(&model.changes_to(&next)).root;
            model = next;
            let slots: Vec<_> = (0..most + 3).map(U256::from).collect();
            for n in 0..most + 3 {
                check(&stored, &model, root, address(n), &slots);
            }
        }
    });
}

#[test]
fn an_account_without_storage_proves_its_slots_with_nothing() {
    let model = Model(BTreeMap::from([(address(1), (account(1), BTreeMap::new()))]));
    let mut stored = Stored::default();
    stored.update(&Model::default().changes_to(&model));
    let proof = prove(&stored, address(1), &[U256::ONE]).expect("nothing fails here");
    assert_eq!(proof.storage_root, EMPTY_ROOT_HASH);
    assert_eq!(proof.storage[0].nodes.len(), 0);
}

#[test]
fn a_proof_holds_the_nodes_that_a_builder_retains_but_not_those_inside_their_parent() {
    let mut leaves = BTreeMap::new();
    for (place, len) in [(63, 1), (62, 1), (61, 40), (31, 1), (0, 40)] {
        for nibble in 1..3 {
            let mut nibbles = [0; 64];
            nibbles[place] = nibble;
            leaves.insert(Nibbles::from_nibbles(nibbles), vec![nibble; len]);
        }
    }
    let (root, stored) = fresh_trie(None, &leaves);
    for (key, value) in &leaves {
        let (nodes, found) = walk(&stored, None, *key).expect("nothing fails here");
        assert_eq!(found.as_ref(), Some(value));
        assert!(nodes.iter().skip(1).all(|node| node.len() >= 32));
        verify_proof(root, *key, found, &nodes).expect("it verifies");
    }
    // Off an extension, off a branch, and off leaves, stored and inside their parent.
    for place in [0, 1, 30, 31, 40, 61, 62, 63] {
        let mut nibbles = [0; 64];
        nibbles[place] = 9;
        let key = Nibbles::from_nibbles(nibbles);
        let (nodes, found) = walk(&stored, None, key).expect("nothing fails here");
        assert_eq!(found, None);
        verify_proof(root, key, None, &nodes).expect("its absence verifies");
    }
}
