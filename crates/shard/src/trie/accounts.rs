//! How do the changes of a block become changes of tries?

use alloy_primitives::{Address, B256, U256, keccak256};
use alloy_rlp::Decodable;
use alloy_trie::{EMPTY_ROOT_HASH, KECCAK_EMPTY, Nibbles, TrieAccount};

use crate::{
    block::{Account, AccountChange, ChangeSet, SlotChange},
    config::Genesis,
    store::StoreError,
};

use super::{
    TrieReader, TrieUpdate,
    edit::{Edit, Roots, edit},
    nodes::Nodes,
};

/// What a block changes in the tries. `reader` sees the nodes as the block before left them.
///
/// ```
/// use std::{collections::BTreeMap, sync::Arc};
///
/// use alloy_primitives::{Address, KECCAK256_EMPTY, U256};
/// use shard::{
///     block::{Account, AccountChange, ChangeSet},
///     store::StoreError,
///     trie::{TrieReader, root, update},
/// };
///
/// #[derive(Default)]
/// struct Nodes(BTreeMap<Vec<u8>, Vec<u8>>);
///
/// impl TrieReader for Nodes {
///     fn node(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
///         Ok(self.0.get(key).cloned())
///     }
/// }
///
/// let account = Account { nonce: 0, balance: U256::ONE, code_hash: KECCAK256_EMPTY };
/// let created = AccountChange {
///     address: Address::repeat_byte(1),
///     before: None,
///     after: Some(account),
///     slots: vec![],
/// };
/// let changes = ChangeSet { accounts: vec![created], codes: vec![] };
///
/// let mut nodes = Nodes::default();
/// let update = update(&nodes, &changes)?;
/// for (key, node) in update.nodes {
///     match node {
///         Some(node) => nodes.0.insert(key, node),
///         None => nodes.0.remove(&key),
///     };
/// }
/// assert_eq!(root(&nodes)?, update.root);
/// # Ok::<(), StoreError>(())
/// ```
///
/// # Errors
/// What the reader says. [`StoreError::Corrupt`] if a node is missing or is not one, or if an
/// account is gone and has storage left.
pub fn update(reader: &dyn TrieReader, changes: &ChangeSet) -> Result<TrieUpdate, StoreError> {
    let mut nodes = Nodes::new(reader);
    let mut leaves = Vec::with_capacity(changes.accounts.len());
    for change in &changes.accounts {
        let storage = if change.slots.is_empty() {
            None
        } else {
            Some(edit(&mut nodes, Some(change.address), &slot_edits(&change.slots))?)
        };
        let leaf = AccountEdit { address: change.address, after: change.after, storage };
        leaves.push((hashed(change.address), leaf));
    }
    leaves.sort_unstable_by_key(|leaf| leaf.0);
    let roots = edit(&mut nodes, None, &leaves)?;
    Ok(TrieUpdate { before: roots.before, root: roots.after, nodes: nodes.finish() })
}

/// The tries that a shard begins with. An account that is empty and has no storage is not there.
pub fn genesis(genesis: &Genesis) -> TrieUpdate {
    let accounts = genesis.accounts.iter().filter_map(|(address, account)| {
        let after = Account {
            nonce: account.nonce,
            balance: account.balance,
            code_hash: keccak256(&account.code),
        };
        let slots: Vec<_> = account
            .storage
            .iter()
            .map(|(slot, value)| (U256::from_be_bytes(slot.0), U256::from_be_bytes(value.0)))
            .filter(|(_, value)| !value.is_zero())
            .map(|(slot, after)| SlotChange { slot, before: U256::ZERO, after })
            .collect();
        let nothing = Account { nonce: 0, balance: U256::ZERO, code_hash: KECCAK_EMPTY };
        (after != nothing || !slots.is_empty()).then_some(AccountChange {
            address: *address,
            before: None,
            after: Some(after),
            slots,
        })
    });
    let changes = ChangeSet { accounts: accounts.collect(), codes: Vec::new() };
    update(&Nothing, &changes).expect("where nothing is read, nothing can be wrong")
}

/// The state root of the nodes as they are.
///
/// # Errors
/// What the reader says, or that the root is not a node.
pub fn root(reader: &dyn TrieReader) -> Result<B256, StoreError> {
    Ok(Nodes::new(reader).open_root(None)?.1)
}

/// A trie without nodes.
struct Nothing;

impl TrieReader for Nothing {
    fn node(&self, _: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(None)
    }
}

/// Where the leaf of an account is.
pub(super) fn hashed(address: Address) -> Nibbles {
    Nibbles::unpack_array(&keccak256(address).0)
}

/// Where the leaf of a slot is, in the storage of its account.
pub(super) fn hashed_slot(slot: U256) -> Nibbles {
    Nibbles::unpack_array(&keccak256(slot.to_be_bytes::<32>()).0)
}

fn slot_edits(slots: &[SlotChange]) -> Vec<(Nibbles, U256)> {
    let mut edits: Vec<_> =
        slots.iter().map(|change| (hashed_slot(change.slot), change.after)).collect();
    edits.sort_unstable_by_key(|edit| edit.0);
    edits
}

/// A slot that is 0 is not there.
impl Edit for U256 {
    fn value(&self, _: Option<&[u8]>) -> Result<Option<Vec<u8>>, StoreError> {
        Ok((!self.is_zero()).then(|| alloy_rlp::encode(self)))
    }
}

struct AccountEdit {
    address: Address,
    after: Option<Account>,
    /// `None`: its storage is as it was, whatever that is.
    storage: Option<Roots>,
}

impl Edit for AccountEdit {
    fn value(&self, before: Option<&[u8]>) -> Result<Option<Vec<u8>>, StoreError> {
        let was = match before {
            Some(leaf) => decode_account(self.address, leaf)?.storage_root,
            None => EMPTY_ROOT_HASH,
        };
        let storage_root = match self.storage {
            None => was,
            Some(roots) if roots.before == was => roots.after,
            Some(roots) => {
                return Err(StoreError::Corrupt(format!(
                    "the storage trie of {} has the root {}, its account says {was}",
                    self.address, roots.before
                )));
            }
        };
        match self.after {
            Some(Account { nonce, balance, code_hash }) => {
                Ok(Some(alloy_rlp::encode(TrieAccount { nonce, balance, storage_root, code_hash })))
            }
            None if storage_root == EMPTY_ROOT_HASH => Ok(None),
            None => Err(StoreError::Corrupt(format!(
                "the account {} is gone and has storage left: its change set lacks slots",
                self.address
            ))),
        }
    }
}

/// What the leaf of an account says.
pub(super) fn decode_account(address: Address, mut leaf: &[u8]) -> Result<TrieAccount, StoreError> {
    TrieAccount::decode(&mut leaf).map_err(|error| {
        StoreError::Corrupt(format!("the leaf of the account {address} is not one: {error}"))
    })
}
