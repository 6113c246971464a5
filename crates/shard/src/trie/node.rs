//! What is a node, and which bytes stand for it?
//!
//! The bytes are its RLP as Ethereum hashes it, so that a proof is made of stored nodes as they
//! are.

use alloy_primitives::hex;
use alloy_rlp::{Decodable, Encodable};
use alloy_trie::{
    Nibbles, TrieMask,
    nodes::{BranchNodeRef, ExtensionNodeRef, LeafNodeRef, RlpNode, TrieNode},
};

use crate::store::StoreError;

/// How many nibbles a key has.
pub(super) const KEY_NIBBLES: usize = 64;

/// A node that was read or made.
#[derive(Debug)]
pub(super) enum Node {
    /// `key` is what is left of the path.
    Leaf { key: Nibbles, value: Vec<u8> },
    /// Leads to a branch. Its `key` is never empty.
    Extension { key: Nibbles, child: Link },
    /// Has two children or more.
    Branch(Children),
}

pub(super) type Children = Box<[Option<Link>; 16]>;

/// How a node knows its child.
#[derive(Debug)]
pub(super) enum Link {
    /// By its hash, or as a whole where it is shorter than that. It was not touched.
    Sealed(RlpNode),
    /// It was touched, and has no hash yet.
    Open(Box<Node>),
}

impl Node {
    /// The node at `path` that has these bytes. Whatever they are: what is accepted fits its path,
    /// so that no later step can go past the end of a key.
    pub(super) fn decode(path: &Nibbles, mut bytes: &[u8]) -> Result<Node, StoreError> {
        let corrupt = |what: &str| {
            let path = hex::encode(path.to_vec());
            StoreError::Corrupt(format!("the trie node at path {path:?} {what}"))
        };
        let node = TrieNode::decode(&mut bytes)
            .map_err(|error| corrupt(&format!("is not one: {error}")))?;
        if !bytes.is_empty() {
            return Err(corrupt("has bytes after its end"));
        }
        match node {
            TrieNode::EmptyRoot => Err(corrupt("is empty")),
            TrieNode::Leaf(leaf) if path.len() + leaf.key.len() == KEY_NIBBLES => {
                Ok(Node::Leaf { key: leaf.key, value: leaf.value })
            }
            TrieNode::Extension(extension)
                if !extension.key.is_empty() && path.len() + extension.key.len() < KEY_NIBBLES =>
            {
                Ok(Node::Extension { key: extension.key, child: Link::Sealed(extension.child) })
            }
            TrieNode::Branch(branch) if path.len() < KEY_NIBBLES && branch.stack.len() > 1 => {
                let mut children = Children::default();
                for (nibble, child) in branch.state_mask.iter().zip(branch.stack) {
                    children[usize::from(nibble)] = Some(Link::Sealed(child));
                }
                Ok(Node::Branch(children))
            }
            _ => Err(corrupt("does not fit there")),
        }
    }
}

/// The RLP of a leaf.
pub(super) fn leaf_rlp(key: &Nibbles, value: &[u8]) -> Vec<u8> {
    rlp(&LeafNodeRef::new(key, value))
}

/// The RLP of an extension.
pub(super) fn extension_rlp(key: &Nibbles, child: &RlpNode) -> Vec<u8> {
    rlp(&ExtensionNodeRef::new(key, child))
}

/// The RLP of a branch with these children, in order of the bits of `mask`.
pub(super) fn branch_rlp(children: &[RlpNode], mask: TrieMask) -> Vec<u8> {
    rlp(&BranchNodeRef::new(children, mask))
}

fn rlp(node: &impl Encodable) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(node.length());
    node.encode(&mut bytes);
    bytes
}

/// `prefix`, then `node`: as short as it can be said. An extension that leads to a leaf or to
/// another extension is one with it.
pub(super) fn lift(prefix: Nibbles, node: Node) -> Node {
    match node {
        node if prefix.is_empty() => node,
        Node::Leaf { key, value } => Node::Leaf { key: prefix.join(&key), value },
        Node::Extension { key, child } => Node::Extension { key: prefix.join(&key), child },
        branch @ Node::Branch(_) => {
            Node::Extension { key: prefix, child: Link::Open(Box::new(branch)) }
        }
    }
}
