//! What the tests of the tries share: nodes in memory, numbers from a seed, and the nodes that
//! someone else's builder makes of the same leaves.

mod faults;
mod leaves;
mod proofs;
mod reads;
mod state;

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};

use alloy_primitives::{Address, B256, U256};
use alloy_trie::{
    HashBuilder, Nibbles, TrieAccount, proof::ProofRetainer, root::storage_root_unhashed,
};

use crate::{
    block::{Account, AccountChange, ChangeSet, SlotChange},
    store::StoreError,
};

use super::{
    TrieReader, TrieUpdate,
    key::{Owner, node_key},
    update,
};

/// Nodes in memory, with a count of those that were asked for.
#[derive(Default, Clone)]
struct Stored {
    nodes: BTreeMap<Vec<u8>, Vec<u8>>,
    reads: Cell<usize>,
}

impl TrieReader for Stored {
    fn node(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.reads.set(self.reads.get() + 1);
        Ok(self.nodes.get(key).cloned())
    }
}

impl Stored {
    /// Takes nodes over, and checks what is promised of them: in order, each once, no write of
    /// what is there, no delete of what is not.
    fn apply(&mut self, nodes: &[(Vec<u8>, Option<Vec<u8>>)]) {
        assert!(nodes.is_sorted_by(|left, right| left.0 < right.0), "not in order of keys");
        for (key, node) in nodes {
            let before = match node {
                Some(node) => self.nodes.insert(key.clone(), node.clone()),
                None => self.nodes.remove(key),
            };
            assert_ne!(&before, node, "written though it is the same");
        }
    }

    fn update(&mut self, changes: &ChangeSet) -> TrieUpdate {
        let update = update(self, changes).expect("nothing fails here");
        self.apply(&update.nodes);
        update
    }
}

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

/// The root and the nodes that alloy's builder makes of these leaves: the root and those of 32
/// bytes and more.
fn fresh_trie(owner: Owner, leaves: &BTreeMap<Nibbles, Vec<u8>>) -> (B256, Stored) {
    let mut builder = HashBuilder::default()
        .with_proof_retainer(ProofRetainer::from_iter(leaves.keys().copied()));
    for (key, value) in leaves {
        builder.add_leaf(*key, value);
    }
    let root = builder.root();
    let mut stored = Stored::default();
    for (path, node) in builder.take_proof_nodes().into_inner() {
        if !leaves.is_empty() && (path.is_empty() || node.len() >= 32) {
            stored.nodes.insert(node_key(owner, &path), node.to_vec());
        }
    }
    (root, stored)
}

/// A state as a plain map, which makes change sets and knows nothing of tries.
#[derive(Clone, Default)]
struct Model(BTreeMap<Address, (Account, BTreeMap<U256, U256>)>);

impl Model {
    fn trie_accounts(&self) -> impl Iterator<Item = (Address, TrieAccount)> {
        self.0.iter().map(|(address, (account, slots))| {
            let slots = slots.iter().map(|(slot, value)| (B256::from(*slot), *value));
            let Account { nonce, balance, code_hash } = *account;
            let storage_root = storage_root_unhashed(slots);
            (*address, TrieAccount { nonce, balance, storage_root, code_hash })
        })
    }

    /// All nodes of all tries, built from nothing.
    fn fresh(&self) -> Stored {
        let accounts = self
            .trie_accounts()
            .map(|(address, account)| {
                (super::accounts::hashed(address), alloy_rlp::encode(account))
            })
            .collect();
        let (_, mut all) = fresh_trie(None, &accounts);
        for (address, (_, slots)) in &self.0 {
            let leaves = slots
                .iter()
                .map(|(slot, value)| {
                    (super::accounts::hashed_slot(*slot), alloy_rlp::encode(value))
                })
                .collect();
            all.nodes.extend(fresh_trie(Some(*address), &leaves).1.nodes);
        }
        all
    }

    /// What leads from here to there.
    fn changes_to(&self, next: &Model) -> ChangeSet {
        let addresses: BTreeSet<_> = self.0.keys().chain(next.0.keys()).copied().collect();
        let nothing = BTreeMap::new();
        let accounts = addresses.into_iter().filter_map(|address| {
            let (was, is) = (self.0.get(&address), next.0.get(&address));
            let (slots_before, slots_after) =
                (was.map_or(&nothing, |was| &was.1), is.map_or(&nothing, |is| &is.1));
            let keys: BTreeSet<_> = slots_before.keys().chain(slots_after.keys()).collect();
            let slots = keys.into_iter().filter_map(|slot| {
                let value = |slots: &BTreeMap<U256, U256>| slots.get(slot).copied();
                let before = value(slots_before).unwrap_or_default();
                let after = value(slots_after).unwrap_or_default();
                (before != after).then_some(SlotChange { slot: *slot, before, after })
            });
            let (before, after) = (was.map(|was| was.0), is.map(|is| is.0));
            let slots: Vec<_> = slots.collect();
            (before != after || !slots.is_empty()).then_some(AccountChange {
                address,
                before,
                after,
                slots,
            })
        });
        ChangeSet { accounts: accounts.collect(), codes: Vec::new() }
    }

    /// As after a random block: some accounts come, some go with all they have, some change.
    fn random_next(&self, dice: &mut Dice, addresses: usize, slots: usize) -> Model {
        let mut next = self.clone();
        for _ in 0..dice.below(8) {
            let address = address(dice.below(addresses));
            if dice.below(4) == 0 {
                next.0.remove(&address);
                continue;
            }
            let (account, storage) = next.0.entry(address).or_insert((account(0), BTreeMap::new()));
            if dice.below(2) == 0 {
                account.nonce += 1;
                account.balance = U256::from(dice.below(3)) << dice.below(200);
            }
            for _ in 0..dice.below(6) {
                let slot = U256::from(dice.below(slots));
                match dice.below(3) {
                    0 => storage.remove(&slot),
                    _ => storage.insert(slot, U256::from(1 + dice.below(200)) << dice.below(200)),
                };
            }
            if dice.below(10) == 0 {
                storage.clear();
            }
        }
        next
    }
}

fn address(n: usize) -> Address {
    Address::from_word(B256::from(U256::from(n + 1)))
}

fn account(nonce: u64) -> Account {
    Account { nonce, balance: U256::from(1_000_000), code_hash: alloy_trie::KECCAK_EMPTY }
}
