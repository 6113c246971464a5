//! How many nodes does a change touch, when there are many accounts?

use std::collections::BTreeMap;

use alloy_primitives::U256;

use super::{Model, Stored, account, address};
use crate::trie::TrieUpdate;

fn world(accounts: usize) -> (Stored, Model) {
    let model = Model((0..accounts).map(|n| (address(n), (account(1), BTreeMap::new()))).collect());
    let mut stored = Stored::default();
    stored.update(&Model::default().changes_to(&model));
    stored.reads.set(0);
    (stored, model)
}

/// How many nodes a trie of so many leaves may have on a path: its depth if all paths were
/// equally long, and the few that chance adds.
fn path_max(leaves: usize) -> usize {
    leaves.ilog2() as usize / 4 + 5
}

/// Applies a change of the model. What it read and wrote.
fn change(
    stored: &mut Stored,
    model: &mut Model,
    change: impl FnOnce(&mut Model),
) -> (usize, TrieUpdate) {
    let mut next = model.clone();
    change(&mut next);
    stored.reads.set(0);
    let update = stored.update(&model.changes_to(&next));
    *model = next;
    (stored.reads.get(), update)
}

#[test]
fn a_change_of_an_account_touches_its_path_only() {
    for accounts in [10, 100, 1_000, 10_000] {
        let (mut stored, mut model) = world(accounts);
        let (reads, update) = change(&mut stored, &mut model, |next| {
            next.0.get_mut(&address(3)).expect("it is there").0.nonce += 1;
        });
        assert!(reads <= path_max(accounts), "{reads} reads with {accounts} accounts");
        assert_eq!(update.nodes.len(), reads, "what is on the path is written, and no more");
    }
}

#[test]
fn an_account_that_comes_or_goes_touches_its_path_and_one_beside_it() {
    for accounts in [10, 100, 1_000, 10_000] {
        let (mut stored, mut model) = world(accounts);
        for round in 0..20 {
            let come = |next: &mut Model| {
                next.0.insert(address(accounts + round), (account(1), BTreeMap::new()));
            };
            let (reads, update) = change(&mut stored, &mut model, come);
            assert!(reads <= path_max(accounts));
            // The leaf that comes, and where it meets another one: that leaf, a branch, an
            // extension.
            assert!(update.nodes.len() <= reads + 3);

            let go = |next: &mut Model| {
                next.0.remove(&address(round));
            };
            let (reads, update) = change(&mut stored, &mut model, go);
            assert!(reads <= path_max(accounts) + 1);
            assert!(update.nodes.len() <= reads + 1);
        }
    }
}

#[test]
fn storage_that_did_not_change_is_not_read() {
    let mut stored = Stored::default();
    let mut model = Model::default();
    let slots: BTreeMap<_, _> = (1..1_000).map(|slot| (U256::from(slot), U256::ONE)).collect();
    change(&mut stored, &mut model, |next| {
        next.0.insert(address(1), (account(1), slots));
    });
    let nonce = |next: &mut Model| next.0.get_mut(&address(1)).expect("it is there").0.nonce += 1;
    let (reads, update) = change(&mut stored, &mut model, nonce);
    assert_eq!((reads, update.nodes.len()), (1, 1), "the only leaf is the root");
}

#[test]
fn a_slot_that_changes_touches_its_path_and_that_of_its_account() {
    for count in [10, 100, 1_000, 10_000] {
        let (mut stored, mut model) = (Stored::default(), Model::default());
        let slots: BTreeMap<_, _> = (1..count).map(|slot| (U256::from(slot), U256::ONE)).collect();
        change(&mut stored, &mut model, |next| {
            next.0.insert(address(1), (account(1), slots));
        });
        let (reads, update) = change(&mut stored, &mut model, |next| {
            let slots = &mut next.0.get_mut(&address(1)).expect("it is there").1;
            slots.insert(U256::from(5), U256::from(77));
        });
        assert!(reads <= path_max(count) + 1, "{reads} reads with {count} slots");
        assert_eq!(update.nodes.len(), reads);
    }
}

#[test]
fn a_block_of_many_changes_reads_each_node_once() {
    let (mut stored, mut model) = world(1_000);
    let all = stored.nodes.len();
    let (reads, update) = change(&mut stored, &mut model, |next| {
        next.0.values_mut().for_each(|(account, _)| account.nonce += 1);
    });
    assert_eq!((reads, update.nodes.len()), (all, all));
}
