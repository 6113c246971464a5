//! How does one trie get from one set of leaves to another?
//!
//! All changes are applied in one pass from the root down, so that a node on the paths of many is
//! read, hashed and written once. A branch looks at what is left of it when all its children are
//! done, so that a delete and an insert below the same branch do not take it away and build it
//! again.

use std::mem::take;

use alloy_primitives::B256;
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles, TrieMask, nodes::RlpNode};

use crate::store::StoreError;

use super::{
    key::Owner,
    node::{Children, Link, Node, branch_rlp, extension_rlp, leaf_rlp, lift},
    nodes::Nodes,
};

/// What becomes of one leaf.
pub(super) trait Edit {
    /// Its value after, if it is to be there, from the one before.
    fn value(&self, before: Option<&[u8]>) -> Result<Option<Vec<u8>>, StoreError>;
}

/// The root of a trie before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Roots {
    pub(super) before: B256,
    pub(super) after: B256,
}

/// Applies changes, in order of keys, to one trie.
pub(super) fn edit<E: Edit>(
    nodes: &mut Nodes<'_>,
    owner: Owner,
    changes: &[(Nibbles, E)],
) -> Result<Roots, StoreError> {
    assert!(
        changes.is_sorted_by(|left, right| left.0 < right.0),
        "changes of a trie must be in order of keys, each key once"
    );
    let (root, before) = nodes.open_root(owner)?;
    let mut trie = Trie { nodes, owner };
    let after = match trie.edit(Nibbles::new(), root, changes)? {
        None => EMPTY_ROOT_HASH,
        Some(root) => {
            let rlp = trie.encode(&Nibbles::new(), root);
            nodes.seal_root(owner, rlp)
        }
    };
    Ok(Roots { before, after })
}

struct Trie<'n, 'r> {
    nodes: &'n mut Nodes<'r>,
    owner: Owner,
}

impl Trie<'_, '_> {
    /// What is at `path` after changes that are all below it.
    fn edit<E: Edit>(
        &mut self,
        path: Nibbles,
        node: Option<Node>,
        changes: &[(Nibbles, E)],
    ) -> Result<Option<Node>, StoreError> {
        if changes.is_empty() {
            return Ok(node);
        }
        match node {
            None => build_around(path, None, changes),
            Some(Node::Leaf { key, value }) => {
                build_around(path, Some((path.join(&key), value)), changes)
            }
            Some(Node::Extension { key, child }) => self.edit_extension(path, key, child, changes),
            Some(Node::Branch(children)) => self.edit_branch(path, children, changes),
        }
    }

    fn edit_extension<E: Edit>(
        &mut self,
        path: Nibbles,
        key: Nibbles,
        child: Link,
        changes: &[(Nibbles, E)],
    ) -> Result<Option<Node>, StoreError> {
        let end = path.join(&key);
        // Where the first of the changes leaves the extension, if one does. Should it turn out to
        // put nothing there, the branch has one child and becomes the extension again.
        let common = changes.iter().map(|(leaf, _)| end.common_prefix_length(leaf));
        let fork = common.min().unwrap_or(end.len());
        let node = if fork == end.len() {
            let child = self.nodes.open(self.owner, &end, child)?;
            self.edit(end, Some(child), changes)?
        } else {
            let mut children = Children::default();
            let rest = end.slice(fork + 1..);
            children[usize::from(end.get_unchecked(fork))] = Some(if rest.is_empty() {
                child
            } else {
                Link::Open(Box::new(Node::Extension { key: rest, child }))
            });
            self.edit_branch(end.slice(..fork), children, changes)?
        };
        Ok(node.map(|node| lift(end.slice(path.len()..fork), node)))
    }

    fn edit_branch<E: Edit>(
        &mut self,
        path: Nibbles,
        mut children: Children,
        changes: &[(Nibbles, E)],
    ) -> Result<Option<Node>, StoreError> {
        for group in groups(changes, path.len()) {
            let nibble = group[0].0.get_unchecked(path.len());
            let child = &mut children[usize::from(nibble)];
            let child_path = step(path, nibble);
            let before = match child.take() {
                None => None,
                Some(link) => Some(self.nodes.open(self.owner, &child_path, link)?),
            };
            let after = self.edit(child_path, before, group)?;
            *child = after.map(|node| Link::Open(Box::new(node)));
        }
        let mut left = (0u8..).zip(children.iter_mut()).filter(|(_, child)| child.is_some());
        match (left.next(), left.next()) {
            (None, _) => Ok(None),
            (Some((nibble, only)), None) => {
                // An only child is one with its parent, so it must be known what it is.
                let link = only.take().expect("it was found");
                let node = self.nodes.open(self.owner, &step(path, nibble), link)?;
                Ok(Some(lift(Nibbles::from_nibbles([nibble]), node)))
            }
            _ => Ok(Some(Node::Branch(children))),
        }
    }

    /// The RLP of a node, with all that is open below it sealed.
    fn encode(&mut self, path: &Nibbles, node: Node) -> Vec<u8> {
        match node {
            Node::Leaf { key, value } => leaf_rlp(&key, &value),
            Node::Extension { key, child } => {
                let child = self.seal(&path.join(&key), child);
                extension_rlp(&key, &child)
            }
            Node::Branch(children) => {
                let mut mask = TrieMask::default();
                let mut sealed = Vec::with_capacity(children.len());
                for (nibble, child) in (0u8..).zip(*children) {
                    if let Some(child) = child {
                        mask.set_bit(nibble);
                        sealed.push(self.seal(&step(*path, nibble), child));
                    }
                }
                branch_rlp(&sealed, mask)
            }
        }
    }

    fn seal(&mut self, path: &Nibbles, link: Link) -> RlpNode {
        match link {
            Link::Sealed(sealed) => sealed,
            Link::Open(node) => {
                let rlp = self.encode(path, *node);
                self.nodes.seal(self.owner, path, rlp)
            }
        }
    }
}

/// What is at `path`, where there was one leaf at most.
fn build_around<E: Edit>(
    path: Nibbles,
    leaf: Option<(Nibbles, Vec<u8>)>,
    changes: &[(Nibbles, E)],
) -> Result<Option<Node>, StoreError> {
    let before = |key: &Nibbles| leaf.as_ref().filter(|leaf| leaf.0 == *key).map(|leaf| &*leaf.1);
    let mut leaves = Vec::with_capacity(changes.len() + 1);
    for (key, change) in changes {
        if let Some(value) = change.value(before(key))? {
            leaves.push((*key, value));
        }
    }
    if let Some(leaf) = leaf
        && changes.binary_search_by(|(key, _)| key.cmp(&leaf.0)).is_err()
    {
        let place = leaves.partition_point(|(key, _)| *key < leaf.0);
        leaves.insert(place, leaf);
    }
    Ok(build(path.len(), &mut leaves))
}

/// The trie of these leaves, in order of keys, from this depth on.
fn build(depth: usize, leaves: &mut [(Nibbles, Vec<u8>)]) -> Option<Node> {
    let (first, last) = match leaves {
        [] => return None,
        [(key, value)] => {
            return Some(Node::Leaf { key: key.slice(depth..), value: take(value) });
        }
        [first, .., last] => (first.0, last.0),
    };
    let fork = first.common_prefix_length(&last);
    let mut children = Children::default();
    for group in leaves.chunk_by_mut(|left, right| same_nibble(left, right, fork)) {
        let nibble = group[0].0.get_unchecked(fork);
        let child = build(fork + 1, group);
        children[usize::from(nibble)] = child.map(|node| Link::Open(Box::new(node)));
    }
    Some(lift(first.slice(depth..fork), Node::Branch(children)))
}

/// The changes by their nibble at this depth.
fn groups<E>(changes: &[(Nibbles, E)], depth: usize) -> impl Iterator<Item = &[(Nibbles, E)]> {
    changes.chunk_by(move |left, right| same_nibble(left, right, depth))
}

fn same_nibble<T>(left: &(Nibbles, T), right: &(Nibbles, T), depth: usize) -> bool {
    left.0.get_unchecked(depth) == right.0.get_unchecked(depth)
}

fn step(mut path: Nibbles, nibble: u8) -> Nibbles {
    path.push(nibble);
    path
}
