//! Which nodes show that an account or a slot is as it is, or is not there?
//!
//! As `eth_getProof` has them: the RLP of the nodes from the root on, without those that are
//! inside their parent. Where the key is not there, they show where its path ends. A trie without
//! leaves needs none.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rlp::Decodable;
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles};

use crate::{block::Account, store::StoreError};

use super::{
    TrieReader,
    accounts::{decode_account, hashed, hashed_slot},
    key::{Owner, node_key},
    node::{Link, Node},
    nodes::read,
};

/// What an account is, shown by nodes up to the state root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountProof {
    pub address: Address,
    /// `None`: there is no such account.
    pub account: Option<Account>,
    /// That of a trie without leaves where there is no storage.
    pub storage_root: B256,
    pub nodes: Vec<Bytes>,
    /// One for each slot that was asked for, in that order.
    pub storage: Vec<StorageProof>,
}

/// What a slot holds, shown by nodes up to the account's storage root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageProof {
    pub slot: U256,
    /// 0 where nothing was written.
    pub value: U256,
    pub nodes: Vec<Bytes>,
}

/// Shows what an account and some of its slots are.
///
/// # Errors
/// What the reader says. [`StoreError::Corrupt`] if a node is missing or is not one.
pub fn prove(
    reader: &dyn TrieReader,
    address: Address,
    slots: &[U256],
) -> Result<AccountProof, StoreError> {
    let (nodes, leaf) = walk(reader, None, hashed(address))?;
    let found = leaf.map(|leaf| decode_account(address, &leaf)).transpose()?;
    let mut storage = Vec::with_capacity(slots.len());
    for &slot in slots {
        let (nodes, leaf) = walk(reader, Some(address), hashed_slot(slot))?;
        let value = match leaf {
            None => U256::ZERO,
            Some(leaf) => U256::decode(&mut &*leaf).map_err(|error| {
                StoreError::Corrupt(format!(
                    "the leaf of slot {slot} of {address} is not one: {error}"
                ))
            })?,
        };
        storage.push(StorageProof { slot, value, nodes });
    }
    Ok(AccountProof {
        address,
        account: found.map(|account| Account {
            nonce: account.nonce,
            balance: account.balance,
            code_hash: account.code_hash,
        }),
        storage_root: found.map_or(EMPTY_ROOT_HASH, |account| account.storage_root),
        nodes,
        storage,
    })
}

/// The stored nodes on the way to a key, and the value if it is there.
pub(super) fn walk(
    reader: &dyn TrieReader,
    owner: Owner,
    key: Nibbles,
) -> Result<(Vec<Bytes>, Option<Vec<u8>>), StoreError> {
    let mut path = Nibbles::new();
    let Some(root) = reader.node(&node_key(owner, &path))? else { return Ok((vec![], None)) };
    let mut node = Node::decode(&path, &root)?;
    let mut nodes = vec![Bytes::from(root)];
    loop {
        let link = match node {
            Node::Leaf { key: rest, value } => {
                let found = key.slice(path.len()..) == rest;
                return Ok((nodes, found.then_some(value)));
            }
            Node::Extension { key: rest, child } => {
                path.extend(&rest);
                if !key.starts_with(&path) {
                    return Ok((nodes, None));
                }
                child
            }
            Node::Branch(mut children) => {
                let nibble = key.get_unchecked(path.len());
                path.push(nibble);
                match children[usize::from(nibble)].take() {
                    Some(child) => child,
                    None => return Ok((nodes, None)),
                }
            }
        };
        let Link::Sealed(sealed) = link else { unreachable!("nothing is edited here") };
        node = if sealed.is_hash() {
            let bytes = read(reader, &node_key(owner, &path))?;
            let node = Node::decode(&path, &bytes)?;
            nodes.push(Bytes::from(bytes));
            node
        } else {
            Node::decode(&path, &sealed)?
        };
    }
}
