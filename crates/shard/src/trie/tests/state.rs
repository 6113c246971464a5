//! Accounts with storage: is the root of each block that of a full rebuild?

use std::collections::BTreeMap;

use alloy_primitives::{B256, Bytes, U256, keccak256};
use alloy_trie::{
    EMPTY_ROOT_HASH, TrieAccount, root::state_root_unhashed, root::storage_root_unhashed,
};
use kernel::each_seed;

use super::{Dice, Model, Stored, account, address};
use crate::{
    block::{AccountChange, ChangeSet},
    config::{Genesis, GenesisAccount},
    store::StoreError,
    trie::{genesis, root, update},
};

fn random_blocks(seed: u64, blocks: usize, addresses: usize, slots: usize) {
    let dice = &mut Dice(seed.wrapping_mul(7919) ^ 0x9E37_79B9);
    let (mut stored, mut model) = (Stored::default(), Model::default());
    for _ in 0..blocks {
        let next = model.random_next(dice, addresses, slots);
        let update = stored.update(&model.changes_to(&next));
        assert_eq!(update.before, state_root_unhashed(model.trie_accounts()));
        assert_eq!(update.root, state_root_unhashed(next.trie_accounts()));
        assert_eq!(root(&stored), Ok(update.root));
        assert_eq!(stored.nodes, next.fresh().nodes);
        model = next;
    }
}

#[test]
fn random_blocks_over_few_accounts_equal_a_full_rebuild() {
    each_seed(30, |seed| random_blocks(seed, 20, 4, 4));
}

#[test]
fn random_blocks_over_many_accounts_equal_a_full_rebuild() {
    each_seed(3, |seed| random_blocks(seed, 20, 200, 100));
}

#[test]
fn a_block_without_changes_has_the_root_of_its_parent_and_writes_nothing() {
    let mut stored = Stored::default();
    assert_eq!(stored.update(&ChangeSet::default()).root, EMPTY_ROOT_HASH);
    let model = Model(BTreeMap::from([(address(1), (account(1), BTreeMap::new()))]));
    let parent = stored.update(&Model::default().changes_to(&model));
    let update = stored.update(&ChangeSet::default());
    assert_eq!((update.before, update.root), (parent.root, parent.root));
    assert!(update.nodes.is_empty());
}

#[test]
fn slots_that_change_while_the_account_does_not_change_its_root() {
    let slots = |value: u64| BTreeMap::from([(U256::ONE, U256::from(value))]);
    let before = Model(BTreeMap::from([(address(1), (account(1), slots(1)))]));
    let after = Model(BTreeMap::from([(address(1), (account(1), slots(2)))]));
    let mut stored = Stored::default();
    let first = stored.update(&Model::default().changes_to(&before));
    let second = stored.update(&before.changes_to(&after));
    assert_ne!(first.root, second.root);
    assert_eq!(second.root, state_root_unhashed(after.trie_accounts()));
}

#[test]
fn an_account_that_goes_takes_the_nodes_of_its_storage_along() {
    let slots = (1..100).map(|slot| (U256::from(slot), U256::from(slot))).collect();
    let model = Model(BTreeMap::from([(address(1), (account(1), slots))]));
    let mut stored = Stored::default();
    stored.update(&Model::default().changes_to(&model));
    assert!(stored.nodes.len() > 50);
    stored.update(&model.changes_to(&Model::default()));
    assert!(stored.nodes.is_empty());
}

#[test]
fn an_account_that_goes_without_its_slots_is_refused() {
    let slots = BTreeMap::from([(U256::ONE, U256::ONE)]);
    let model = Model(BTreeMap::from([(address(1), (account(1), slots))]));
    let mut stored = Stored::default();
    stored.update(&Model::default().changes_to(&model));
    let gone =
        AccountChange { address: address(1), before: Some(account(1)), after: None, slots: vec![] };
    let error = update(&stored, &ChangeSet { accounts: vec![gone], codes: vec![] });
    assert!(matches!(error, Err(StoreError::Corrupt(what)) if what.contains("storage left")));
}

#[test]
fn the_genesis_has_the_root_of_its_accounts() {
    let storage = BTreeMap::from([
        (B256::with_last_byte(1), B256::with_last_byte(9)),
        (B256::with_last_byte(2), B256::ZERO),
    ]);
    let code = Bytes::from_static(&[0x60, 0x00]);
    let rich = GenesisAccount { balance: U256::from(5), ..GenesisAccount::default() };
    let contract = GenesisAccount { code: code.clone(), storage, nonce: 1, ..rich.clone() };
    let empty = GenesisAccount::default();
    let accounts =
        BTreeMap::from([(address(1), rich), (address(2), contract), (address(3), empty)]);

    let update = genesis(&Genesis { accounts, timestamp: 0 });

    let rich = TrieAccount { balance: U256::from(5), ..TrieAccount::default() };
    let slot = (B256::with_last_byte(1), U256::from(9));
    let contract = TrieAccount {
        nonce: 1,
        code_hash: keccak256(code),
        storage_root: storage_root_unhashed([slot]),
        ..rich
    };
    assert_eq!(update.root, state_root_unhashed([(address(1), rich), (address(2), contract)]));
    assert_eq!(update.before, EMPTY_ROOT_HASH);
    let mut stored = Stored::default();
    stored.apply(&update.nodes);
    assert_eq!(root(&stored), Ok(update.root));
}

#[test]
fn a_genesis_without_accounts_has_the_root_of_nothing() {
    let update = genesis(&Genesis::default());
    assert_eq!((update.root, update.nodes.len()), (EMPTY_ROOT_HASH, 0));
}
