//! How are many messages hashed in the time of a few?
//!
//! Keccak does the same steps whatever it hashes, so several messages can be hashed side by side:
//! each word of the state is then a vector with one lane per message. Eight lanes take not twice as
//! long as one. A block has thousands of messages that do not depend on each other.

#[cfg(target_arch = "x86_64")]
mod wide;

use alloy_primitives::B256;
#[cfg(not(target_arch = "x86_64"))]
use alloy_primitives::keccak256;

/// More than this at a time is no faster.
pub(crate) const LANES_MAX: usize = 8;

/// Writes the hash of each message to the same place in `hashes`.
pub(crate) fn keccak256_each(messages: &[&[u8]], hashes: &mut [B256]) {
    assert_eq!(messages.len(), hashes.len(), "each message has a place for its hash");
    #[cfg(target_arch = "x86_64")]
    wide::each(messages, hashes);
    #[cfg(not(target_arch = "x86_64"))]
    for (message, hash) in messages.iter().zip(hashes) {
        *hash = keccak256(message);
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;

    fn check(messages: &[&[u8]]) {
        let mut hashes = vec![B256::ZERO; messages.len()];
        keccak256_each(messages, &mut hashes);
        for (message, hash) in messages.iter().zip(hashes) {
            assert_eq!(hash, keccak256(message), "of {} bytes", message.len());
        }
    }

    #[test]
    fn messages_of_every_length_have_the_hash_that_they_have_alone() {
        let bytes: Vec<u8> = (0..1_000u32).map(|n| ((n * n) >> 3) as u8).collect();
        let all: Vec<&[u8]> = (0..=600).map(|len| &bytes[len / 2..len / 2 + len]).collect();
        check(&all);
    }

    #[test]
    fn any_number_of_messages_can_be_hashed() {
        let bytes = [0xa5; 300];
        for count in 0..=2 * LANES_MAX + 1 {
            let messages: Vec<&[u8]> = (0..count).map(|n| &bytes[n..]).collect();
            check(&messages);
        }
    }

    #[test]
    fn a_long_message_among_short_ones_has_its_hash() {
        let long = vec![7; 20_000];
        for place in 0..LANES_MAX {
            let mut messages: Vec<&[u8]> = vec![b"short"; LANES_MAX];
            messages[place] = &long;
            check(&messages);
        }
    }
}
