//! Which chain id does a shard have?
//!
//! With one id for all, anyone could replay a transfer from one shard in another, since their
//! nonces are isolated. So each has its own: `base * 2^32` + the first 32 bits of the hash of its
//! address. It stays below 2^53, which every tool can hold.

use alloy_primitives::{Address, keccak256};

/// The node's part of every shard's chain id; below 2^21.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BaseChainId(u32);

impl BaseChainId {
    /// What development chains use.
    pub const DEFAULT: BaseChainId = BaseChainId(31337);
    /// The first id that is too large.
    pub const END: u32 = 1 << 21;

    /// `None` for 0, and for ids of [`BaseChainId::END`] and above.
    pub fn new(id: u32) -> Option<BaseChainId> {
        (id != 0 && id < Self::END).then_some(BaseChainId(id))
    }

    /// The number itself.
    pub fn get(self) -> u32 {
        self.0
    }

    /// The chain id of the shard with this address.
    ///
    /// ```
    /// use alloy_primitives::Address;
    /// use shard::identity::BaseChainId;
    ///
    /// let id = BaseChainId::DEFAULT.of_shard(Address::ZERO);
    /// assert_eq!(id >> 32, 31337);
    /// assert!(id < 1 << 53);
    /// ```
    pub fn of_shard(self, address: Address) -> u64 {
        let hash = keccak256(address);
        let first = u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]);
        u64::from(self.0) << 32 | u64::from(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_from_zero_to_the_end_are_checked() {
        assert_eq!(BaseChainId::new(0), None);
        assert_eq!(BaseChainId::new(BaseChainId::END), None);
        assert_eq!(
            BaseChainId::new(BaseChainId::END - 1).map(BaseChainId::get),
            Some((1 << 21) - 1)
        );
    }

    #[test]
    fn the_largest_is_below_two_to_the_53() {
        let largest = BaseChainId::new(BaseChainId::END - 1).expect("it is below the end");
        assert!((0..100u8).all(|byte| largest.of_shard(Address::repeat_byte(byte)) < 1 << 53));
    }

    #[test]
    fn shards_differ_in_their_chain_ids() {
        let base = BaseChainId::DEFAULT;
        assert_ne!(base.of_shard(Address::repeat_byte(1)), base.of_shard(Address::repeat_byte(2)));
    }
}
