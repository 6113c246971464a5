//! What is the root of a list?
//!
//! Ethereum keeps the transactions and the receipts of a block in tries whose keys are the places
//! in the list, in RLP. Which nodes such a trie has follows from the length of the list alone, so
//! they are laid out first and then hashed from the leaves up, those of one level side by side:
//! that is some four times as fast as one after the other.
//!
//! ```text
//!   level 0               root                    keys in order: 1 to 127 (one byte each),
//!              /     |          |     \           0 (0x80), 128 on (0x81 and one byte),
//!   level 1   0x0    0x1  ...  0x7    0x8         256 on (0x82 and two bytes), ...
//!            /  \    / \       / \   / | \
//!   level 2  1 ..15 16 ..    112 .. 0  ...  ...
//! ```

use std::ops::Range;

use alloy_primitives::{B256, keccak256};
use alloy_rlp::{Encodable, Header};
use alloy_trie::EMPTY_ROOT_HASH;

use crate::keccak::{LANES_MAX, keccak256_each};

/// Room for what stands before the value in a leaf: the list's header, the path and the value's
/// header.
const HEAD: usize = 24;

/// The root of a list with so many items; `encode` appends the bytes of the one at a place.
pub(super) fn ordered_root(layout: &Layout, encode: impl FnMut(usize, &mut Vec<u8>)) -> B256 {
    layout.root(&layout.leaves(layout.keys(), encode))
}

/// The nodes of a trie, level by level. The children of a node stand together.
pub(super) struct Layout {
    len: u32,
    nodes: Vec<Node>,
    levels: Vec<Range<usize>>,
    /// Of each key, in their order: the depth of its leaf.
    depths: Vec<u32>,
}

struct Node {
    /// Which of the keys, in their order, are below it.
    keys: Range<u32>,
    /// How many digits of the key the nodes above it stand for.
    depth: u32,
    children: Range<usize>,
}

impl Layout {
    /// That of a list with so many items.
    pub(super) fn new(len: usize) -> Layout {
        let len = u32::try_from(len).expect("a block has fewer transactions");
        let depths = vec![0; len as usize];
        if len == 0 {
            return Layout { len, nodes: Vec::new(), levels: Vec::new(), depths };
        }
        let root = Node { keys: 0..len, depth: 0, children: 0..0 };
        // Each full branch has 16 leaves.
        let mut nodes = Vec::with_capacity(len as usize + len as usize / 8 + 8);
        nodes.push(root);
        let mut layout = Layout { len, nodes, levels: Vec::new(), depths };
        let mut level = 0..1;
        while !level.is_empty() {
            for at in level.clone() {
                layout.add_children(at);
            }
            let next = level.end..layout.nodes.len();
            layout.levels.push(level);
            level = next;
        }
        layout
    }

    /// The keys in their order, by their numbers in it.
    pub(super) fn keys(&self) -> Range<u32> {
        0..self.len
    }

    /// The leaves of some keys: several threads may make those of one list.
    pub(super) fn leaves(
        &self,
        keys: Range<u32>,
        mut encode: impl FnMut(usize, &mut Vec<u8>),
    ) -> Vec<Reference> {
        let mut leaves = vec![Reference::UNKNOWN; keys.len()];
        let mut batch = Batch::default();
        for (at, n) in keys.enumerate() {
            let room = batch.bytes.len();
            batch.bytes.resize(room + HEAD, 0);
            encode(self.place(n), &mut batch.bytes);
            let key = self.key(n);
            let path = key.path(self.depths[n as usize]..key.len, true);
            let begin = put_leaf_head(&mut batch.bytes, room, path);
            batch.add(at, begin..batch.bytes.len(), &mut leaves);
        }
        batch.hash(&mut leaves);
        leaves
    }

    /// The root, from the leaves of all keys.
    pub(super) fn root(&self, leaves: &[Reference]) -> B256 {
        match leaves {
            [] => return EMPTY_ROOT_HASH,
            [leaf] => return leaf.as_root(),
            _ => {}
        }
        let mut references = vec![Reference::UNKNOWN; self.nodes.len()];
        let mut batch = Batch::default();
        for level in self.levels.iter().skip(1).rev() {
            for at in level.clone() {
                let node = &self.nodes[at];
                if node.children.is_empty() {
                    references[at] = leaves[node.keys.start as usize];
                    continue;
                }
                let begin = batch.bytes.len();
                self.encode(node, &references, &mut batch.bytes);
                batch.add(at, begin..batch.bytes.len(), &mut references);
            }
            batch.hash(&mut references);
        }
        self.encode(&self.nodes[0], &references, &mut batch.bytes);
        keccak256(&batch.bytes)
    }

    fn add_children(&mut self, at: usize) {
        let Node { keys, depth, .. } = &self.nodes[at];
        let (mut keys, depth) = (keys.clone(), *depth);
        let first = self.nodes.len();
        let shared = self.shared(&keys);
        if keys.len() > 1 && shared > depth {
            self.nodes.push(Node { keys, depth: shared, children: 0..0 });
        } else if keys.len() > 1 {
            while !keys.is_empty() {
                let digit = self.key(keys.start).digit(depth);
                let end = keys.clone().find(|&other| self.key(other).digit(depth) != digit);
                let own = keys.start..end.unwrap_or(keys.end);
                keys.start = own.end;
                self.nodes.push(Node { keys: own, depth: depth + 1, children: 0..0 });
            }
        } else {
            self.depths[keys.start as usize] = depth;
        }
        self.nodes[at].children = first..self.nodes.len();
    }

    /// With how many digits all of these keys begin alike.
    fn shared(&self, keys: &Range<u32>) -> u32 {
        let (first, last) = (self.key(keys.start), self.key(keys.end - 1));
        (first.digits ^ last.digits).leading_zeros() / 4
    }

    /// The place in the list of the key that is the n-th in order.
    pub(super) fn place(&self, n: u32) -> usize {
        let zero_at = (self.len - 1).min(0x7f);
        let place = if n < zero_at {
            n + 1
        } else if n == zero_at {
            0
        } else {
            n
        };
        place as usize
    }

    fn key(&self, n: u32) -> Key {
        Key::of(self.place(n) as u32)
    }

    /// Appends a node that has children, all of which are known.
    fn encode(&self, node: &Node, references: &[Reference], out: &mut Vec<u8>) {
        let key = self.key(node.keys.start);
        let children = &references[node.children.clone()];
        if let [child] = children {
            let path = key.path(node.depth..self.nodes[node.children.start].depth, false);
            let payload_length = path.bytes().length() + child.bytes().len();
            Header { list: true, payload_length }.encode(out);
            path.bytes().encode(out);
            out.extend_from_slice(child.bytes());
        } else {
            // 16 children, each at least one byte, and a value that no node here has.
            let payload_length = 17 - children.len()
                + children.iter().map(|child| child.bytes().len()).sum::<usize>();
            Header { list: true, payload_length }.encode(out);
            let mut digit = 0;
            for (child, at) in children.iter().zip(node.children.clone()) {
                let own = self.key(self.nodes[at].keys.start).digit(node.depth);
                out.extend((digit..own).map(|_| alloy_rlp::EMPTY_STRING_CODE));
                out.extend_from_slice(child.bytes());
                digit = own + 1;
            }
            out.extend((digit..17).map(|_| alloy_rlp::EMPTY_STRING_CODE));
        }
    }
}

/// Writes what stands before a leaf's value, into the room before it. Where the leaf begins.
fn put_leaf_head(out: &mut [u8], room: usize, path: Path) -> usize {
    let value = &out[room + HEAD..];
    let (value_length, first) = (value.len(), value.first().copied());
    // One byte that is small is its own header.
    let bare = value_length == 1 && first.is_some_and(|first| first < alloy_rlp::EMPTY_STRING_CODE);
    let value_header = Header { list: false, payload_length: value_length };
    let header_length = if bare { 0 } else { value_header.length() };
    let payload_length = path.bytes().length() + header_length + value_length;
    let mut head = [0; HEAD];
    let mut rest = &mut head[..];
    Header { list: true, payload_length }.encode(&mut rest);
    path.bytes().encode(&mut rest);
    if !bare {
        value_header.encode(&mut rest);
    }
    let length = HEAD - rest.len();
    let begin = room + HEAD - length;
    out[begin..room + HEAD].copy_from_slice(&head[..length]);
    begin
}

/// A place in the list, in RLP: its digits of four bits each, the first one highest.
#[derive(Clone, Copy)]
struct Key {
    digits: u64,
    len: u32,
}

impl Key {
    fn of(place: u32) -> Key {
        match place {
            0 => Key { digits: 0x80 << 56, len: 2 },
            1..0x80 => Key { digits: u64::from(place) << 56, len: 2 },
            _ => {
                let bytes = 4 - place.leading_zeros() / 8;
                let digits = u64::from(0x80 + bytes) << 56 | u64::from(place) << (56 - 8 * bytes);
                Key { digits, len: 2 + 2 * bytes }
            }
        }
    }

    fn digit(self, depth: u32) -> u64 {
        self.digits >> (60 - 4 * depth) & 0xf
    }

    /// Some of its digits as nodes hold them: a flag, and two digits in each byte.
    fn path(self, digits: Range<u32>, leaf: bool) -> Path {
        let mut path = Path { bytes: [0; 6], len: 1 };
        path.bytes[0] = if leaf { 0x20 } else { 0 };
        let mut digits = digits.map(|depth| self.digit(depth) as u8);
        if digits.len() % 2 == 1 {
            path.bytes[0] |= 0x10 | digits.next().unwrap_or(0);
        }
        while let (Some(high), Some(low)) = (digits.next(), digits.next()) {
            path.bytes[path.len] = high << 4 | low;
            path.len += 1;
        }
        path
    }
}

struct Path {
    bytes: [u8; 6],
    len: usize,
}

impl Path {
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// How a node is known to its parent: by its hash, or it is inside, if it is shorter than that.
#[derive(Clone, Copy)]
pub(super) struct Reference {
    bytes: [u8; 33],
    len: u8,
}

impl Reference {
    const UNKNOWN: Reference = Reference { bytes: [0; 33], len: 0 };

    fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    fn new(bytes: &[u8]) -> Reference {
        let mut reference = Reference { len: bytes.len() as u8, ..Reference::UNKNOWN };
        reference.bytes[..bytes.len()].copy_from_slice(bytes);
        reference
    }

    /// The hash of a trie that consists of this node alone.
    fn as_root(&self) -> B256 {
        match self.bytes() {
            [_, hash @ ..] if hash.len() == B256::len_bytes() => B256::from_slice(hash),
            inside => keccak256(inside),
        }
    }

    fn hash(hash: &B256) -> Reference {
        let mut reference = Reference { bytes: [alloy_rlp::EMPTY_STRING_CODE + 32; 33], len: 33 };
        reference.bytes[1..].copy_from_slice(hash.as_slice());
        reference
    }
}

/// Nodes that are hashed together, with their places.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    nodes: Vec<(usize, Range<usize>)>,
}

impl Batch {
    fn add(&mut self, at: usize, bytes: Range<usize>, references: &mut [Reference]) {
        if bytes.len() < B256::len_bytes() {
            references[at] = Reference::new(&self.bytes[bytes]);
            return;
        }
        self.nodes.push((at, bytes));
        if self.nodes.len() == LANES_MAX {
            self.hash(references);
        }
    }

    fn hash(&mut self, references: &mut [Reference]) {
        let (mut messages, mut hashes) = ([&[][..]; LANES_MAX], [B256::ZERO; LANES_MAX]);
        for (message, (_, bytes)) in messages.iter_mut().zip(&self.nodes) {
            *message = &self.bytes[bytes.clone()];
        }
        let count = self.nodes.len();
        keccak256_each(&messages[..count], &mut hashes[..count]);
        for ((at, _), hash) in self.nodes.drain(..).zip(&hashes) {
            references[at] = Reference::hash(hash);
        }
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use alloy_trie::root::ordered_trie_root_with_encoder;

    use super::*;

    fn check(items: &[Vec<u8>]) {
        let expected =
            ordered_trie_root_with_encoder(items, |item, out| out.extend_from_slice(item));
        let layout = Layout::new(items.len());
        let root = ordered_root(&layout, |at, out| out.extend_from_slice(&items[at]));
        assert_eq!(root, expected, "of {} items", items.len());
    }

    #[test]
    fn lists_of_every_length_have_the_root_of_ethereum() {
        let item = |n: usize| (0..n * 7 % 300 + 40).map(|at| (at * n) as u8).collect();
        let items: Vec<Vec<u8>> = (0..700).map(item).collect();
        for len in 0..=items.len() {
            check(&items[..len]);
        }
    }

    #[test]
    fn long_lists_have_the_root_of_ethereum() {
        let items: Vec<Vec<u8>> = (0..70_000u32).map(|n| n.to_be_bytes().repeat(10)).collect();
        for len in [4_095, 4_096, 4_097, 65_535, 65_536, 65_537, 70_000] {
            check(&items[..len]);
        }
    }

    #[test]
    fn nodes_that_are_shorter_than_a_hash_are_inside_their_parents() {
        for len in [1, 2, 3, 17, 128, 129, 300] {
            for size in [0, 1, 2, 20, 26, 27, 28, 29, 30, 31, 32, 54, 55, 56, 57] {
                let items: Vec<Vec<u8>> = (0..len).map(|n| vec![n as u8; size]).collect();
                check(&items);
            }
        }
    }

    #[test]
    fn items_of_any_size_may_be_mixed() {
        let sizes = [1, 70_000, 300, 2, 136, 0, 135, 5_000, 65_536, 256, 255];
        let items: Vec<Vec<u8>> = sizes.iter().map(|&size| vec![0x5a; size]).collect();
        for len in 1..=items.len() {
            check(&items[..len]);
        }
    }
}
