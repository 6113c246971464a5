//! What is the state root after a block, without reading the whole state?
//!
//! ```text
//!   account trie                          a storage trie per account that has storage
//!   key [0, path]                         key [1, address, path]
//!
//!        root                                   root
//!       /    \                                 /    \
//!   branch   leaf: nonce, balance,         leaf     leaf: value
//!   /    \         code hash,
//! leaf   leaf      storage root = hash of the root there
//! ```
//!
//! The tries are Ethereum's: secure Merkle Patricia tries over the hashes of addresses and slots.
//! They are kept up: [`update`] reads the nodes on the paths of what a block changed and says
//! which to write and which to delete, once each.
//!
//! 1. A node is stored at its path from the root, not by its hash. So a node that changes takes
//!    the place of the one before, and nothing is left over.
//! 2. Stored are each root, and each node whose RLP has 32 bytes or more. Shorter ones are inside
//!    their parent. A trie without leaves has no nodes at all.
//! 3. What is stored depends on the state alone, not on the blocks that led there: it equals what
//!    a fresh build from all accounts would store.
//! 4. A storage trie is read only if slots of its account changed. The leaf of the account knows
//!    the root of the others.
//!
//! Hashes of nodes that are read are not checked: that would double the work, and the store keeps
//! its bytes whole. The exceptions are roots, where it costs one hash: the root of a storage trie
//! must be the one that the account names, and [`TrieUpdate::before`] is for the caller to compare.

mod accounts;
mod edit;
mod key;
mod node;
mod nodes;
mod proof;
#[cfg(test)]
mod tests;

pub use accounts::{genesis, root, update};
pub use proof::{AccountProof, StorageProof, prove};

use alloy_primitives::B256;

use crate::store::StoreError;

/// The nodes as the newest block left them, committed or not.
pub trait TrieReader {
    /// The node with this key, one of those that [`TrieUpdate::nodes`] gave. `None`: there is
    /// none.
    fn node(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;
}

/// What a block changes in the tries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrieUpdate {
    /// The state root that the nodes had before. One that is not the parent's state root says
    /// that these are not the nodes of the parent.
    pub before: B256,
    /// The state root after.
    pub root: B256,
    /// Keys with the node to write, or `None` where one is to be deleted. In order of keys, each
    /// once, and only those that differ from what was read.
    pub nodes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}
