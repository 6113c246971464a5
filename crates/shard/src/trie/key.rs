//! Under which key is a node stored?
//!
//! ```text
//!   account trie     00                  path, two nibbles a byte    number of nibbles
//!   storage trie     01  address (20)    path, two nibbles a byte    number of nibbles
//! ```
//!
//! The number of nibbles is what tells `1` from `10`. All nodes of one storage trie are side by
//! side.

use alloy_primitives::Address;
use alloy_trie::Nibbles;

const ACCOUNTS: u8 = 0;
const STORAGE: u8 = 1;

/// Which trie a node is in: that of the accounts, or the storage of one.
pub(super) type Owner = Option<Address>;

/// The key of the node at this path.
pub(super) fn node_key(owner: Owner, path: &Nibbles) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + 20 + path.byte_len() + 1);
    match owner {
        None => key.push(ACCOUNTS),
        Some(address) => {
            key.push(STORAGE);
            key.extend_from_slice(address.as_slice());
        }
    }
    key.extend_from_slice(&path.pack());
    key.push(path.len() as u8);
    key
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_nodes_have_the_same_key() {
        let paths: [&[u8]; 9] =
            [&[], &[0], &[0, 0], &[0, 1], &[0, 2], &[0, 0, 0], &[1], &[1, 0], &[1, 0, 0]];
        let owners = [None, Some(Address::ZERO), Some(Address::repeat_byte(1))];
        let keys: BTreeSet<_> = owners
            .iter()
            .flat_map(|owner| paths.map(|path| node_key(*owner, &Nibbles::from_nibbles(path))))
            .collect();
        assert_eq!(keys.len(), paths.len() * owners.len());
    }

    #[test]
    fn a_key_has_its_owner_its_path_and_the_length_of_the_path() {
        let path = Nibbles::from_nibbles([0xa, 0xb, 0xc]);
        assert_eq!(node_key(None, &path), [0, 0xab, 0xc0, 3]);
        let key = node_key(Some(Address::repeat_byte(7)), &path);
        assert_eq!(key, [&[1][..], &[7; 20], &[0xab, 0xc0, 3]].concat());
    }
}
