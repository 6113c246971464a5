//! Under which keys do the tables hold what?
//!
//! Each begins with the shard's index, so that a shard's entries lie together, and numbers are
//! big-endian, so that a scan gives them in order.

use alloy_primitives::{Address, B256, U256};

use super::record::ShardIndex;
use crate::block::Account;

fn key<const N: usize>(shard: ShardIndex, parts: [&[u8]; N]) -> Vec<u8> {
    let mut key = Vec::with_capacity(4 + parts.iter().map(|part| part.len()).sum::<usize>());
    key.extend_from_slice(&shard.0.to_be_bytes());
    parts.iter().for_each(|part| key.extend_from_slice(part));
    key
}

pub(crate) fn shard(shard: ShardIndex) -> Vec<u8> {
    key(shard, [])
}

/// Of Accounts; and the start of the account's keys in its history and storage.
pub(crate) fn account(shard: ShardIndex, address: Address) -> Vec<u8> {
    key(shard, [address.as_slice()])
}

pub(crate) fn slot(shard: ShardIndex, address: Address, slot: U256) -> Vec<u8> {
    key(shard, [address.as_slice(), &slot.to_be_bytes::<32>()])
}

/// Of Blocks, Changes, Traces and Pruned.
pub(crate) fn number(shard: ShardIndex, number: u64) -> Vec<u8> {
    key(shard, [&number.to_be_bytes()])
}

/// Of BlockHashes, Transactions, Codes, Pool and Dropped.
pub(crate) fn hash(shard: ShardIndex, hash: B256) -> Vec<u8> {
    key(shard, [hash.as_slice()])
}

pub(crate) fn account_at(shard: ShardIndex, address: Address, number: u64) -> Vec<u8> {
    key(shard, [address.as_slice(), &number.to_be_bytes()])
}

pub(crate) fn slot_at(shard: ShardIndex, address: Address, slot: U256, number: u64) -> Vec<u8> {
    key(shard, [address.as_slice(), &slot.to_be_bytes::<32>(), &number.to_be_bytes()])
}

/// Of TrieNodes: `node` is the trie's own key.
pub(crate) fn node(shard: ShardIndex, node: &[u8]) -> Vec<u8> {
    key(shard, [node])
}

/// An account's value; an account that is gone has an empty one, since the genesis may have it.
pub(crate) fn account_value(account: Option<Account>) -> Vec<u8> {
    let Some(account) = account else { return Vec::new() };
    let mut value = Vec::with_capacity(48);
    value.extend_from_slice(&account.nonce.to_be_bytes());
    value.extend_from_slice(account.code_hash.as_slice());
    value.extend_from_slice(&account.balance.to_be_bytes_trimmed_vec());
    value
}

/// Reads what [`account_value`] wrote; the outer `None` for anything else.
pub(crate) fn read_account(value: &[u8]) -> Option<Option<Account>> {
    if value.is_empty() {
        return Some(None);
    }
    let (nonce, rest) = value.split_first_chunk::<8>()?;
    let (code_hash, balance) = rest.split_first_chunk::<32>()?;
    Some(Some(Account {
        nonce: u64::from_be_bytes(*nonce),
        balance: U256::try_from_be_slice(balance)?,
        code_hash: B256::from(*code_hash),
    }))
}

/// A slot's value, without leading zeros.
pub(crate) fn slot_value(value: U256) -> Vec<u8> {
    value.to_be_bytes_trimmed_vec()
}

/// Reads what [`slot_value`] wrote; `None` for anything else.
pub(crate) fn read_slot(value: &[u8]) -> Option<U256> {
    U256::try_from_be_slice(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_and_slots_come_back() {
        for balance in [U256::ZERO, U256::from(1), U256::MAX] {
            let account = Account { nonce: 9, balance, code_hash: B256::repeat_byte(3) };
            assert_eq!(read_account(&account_value(Some(account))), Some(Some(account)));
            assert_eq!(read_slot(&slot_value(balance)), Some(balance));
        }
        assert_eq!(read_account(&account_value(None)), Some(None));
        assert_eq!(read_account(&[0; 39]), None);
        assert_eq!(read_slot(&[1; 33]), None);
    }

    #[test]
    fn the_order_of_keys_is_that_of_numbers() {
        let at = |number| account_at(ShardIndex(1), Address::ZERO, number);
        assert!(at(255) < at(256) && at(256) < at(u64::MAX));
        assert!(at(u64::MAX) < account(ShardIndex(2), Address::ZERO));
    }
}
