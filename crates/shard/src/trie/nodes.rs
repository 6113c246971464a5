//! Which nodes were read, and which are other than they were?

use std::collections::BTreeMap;

use alloy_primitives::{B256, hex, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles, nodes::RlpNode};

use crate::store::StoreError;

use super::{
    TrieReader,
    key::{Owner, node_key},
    node::{Link, Node},
};

/// The nodes that an update touches, of all tries.
pub(super) struct Nodes<'r> {
    reader: &'r dyn TrieReader,
    /// By key, so that they come out in its order.
    touched: BTreeMap<Vec<u8>, Touched>,
}

/// A node that was read and is not written again is gone.
#[derive(Default)]
struct Touched {
    read: Option<Vec<u8>>,
    written: Option<Vec<u8>>,
}

impl<'r> Nodes<'r> {
    pub(super) fn new(reader: &'r dyn TrieReader) -> Nodes<'r> {
        Nodes { reader, touched: BTreeMap::new() }
    }

    /// The root of a trie with its hash, or `None` and the hash of nothing.
    pub(super) fn open_root(&mut self, owner: Owner) -> Result<(Option<Node>, B256), StoreError> {
        let path = Nibbles::new();
        let key = node_key(owner, &path);
        let Some(bytes) = self.reader.node(&key)? else { return Ok((None, EMPTY_ROOT_HASH)) };
        let node = Node::decode(&path, &bytes)?;
        let hash = keccak256(&bytes);
        self.touched.entry(key).or_default().read = Some(bytes);
        Ok((Some(node), hash))
    }

    /// The node at `path` that a link leads to.
    pub(super) fn open(
        &mut self,
        owner: Owner,
        path: &Nibbles,
        link: Link,
    ) -> Result<Node, StoreError> {
        let sealed = match link {
            Link::Open(node) => return Ok(*node),
            Link::Sealed(sealed) => sealed,
        };
        if !sealed.is_hash() {
            return Node::decode(path, &sealed);
        }
        let key = node_key(owner, path);
        let bytes = read(self.reader, &key)?;
        let node = Node::decode(path, &bytes)?;
        self.touched.entry(key).or_default().read = Some(bytes);
        Ok(node)
    }

    /// How its parent knows the node at `path`. One that is too long to be inside is written.
    pub(super) fn seal(&mut self, owner: Owner, path: &Nibbles, rlp: Vec<u8>) -> RlpNode {
        let link = RlpNode::from_rlp(&rlp);
        if link.is_hash() {
            self.touched.entry(node_key(owner, path)).or_default().written = Some(rlp);
        }
        link
    }

    /// The hash of the root, which is written however short it is.
    pub(super) fn seal_root(&mut self, owner: Owner, rlp: Vec<u8>) -> B256 {
        let hash = keccak256(&rlp);
        self.touched.entry(node_key(owner, &Nibbles::new())).or_default().written = Some(rlp);
        hash
    }

    /// What is to be written or deleted.
    pub(super) fn finish(self) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
        self.touched
            .into_iter()
            .filter(|(_, touched)| touched.read != touched.written)
            .map(|(key, touched)| (key, touched.written))
            .collect()
    }
}

/// The node that another one has a hash of.
pub(super) fn read(reader: &dyn TrieReader, key: &[u8]) -> Result<Vec<u8>, StoreError> {
    reader.node(key)?.ok_or_else(|| {
        StoreError::Corrupt(format!("there is no trie node with the key {}", hex::encode(key)))
    })
}
