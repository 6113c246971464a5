//! How keys and senders are hashed: fast, and with a seed that no stranger knows.
//!
//! Keys are chosen by whoever sends transactions. Without a seed they could be chosen such that all
//! of them fall into one place of the table, and each look-up would walk over all others. The seed
//! comes from std's own source; what it decides is only where keys lie, never the order of anything.
//!
//! Each word is mixed in by a multiplication to 128 bits, of which both halves are kept.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hasher, RandomState},
};

/// A map whose keys strangers may choose.
pub(super) type SeededMap<K, V> = HashMap<K, V, Seeded>;

/// Makes hashers with the same seed.
#[derive(Clone, Copy)]
pub(super) struct Seeded {
    start: u64,
    factor: u64,
}

impl Default for Seeded {
    fn default() -> Seeded {
        let source = RandomState::new();
        // Odd, so that a multiplication loses nothing.
        Seeded { start: source.hash_one(0), factor: source.hash_one(1) | 1 }
    }
}

impl BuildHasher for Seeded {
    type Hasher = Folding;

    #[inline]
    fn build_hasher(&self) -> Folding {
        Folding { state: self.start, factor: self.factor }
    }
}

pub(super) struct Folding {
    state: u64,
    factor: u64,
}

impl Folding {
    #[inline(always)]
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * u128::from(self.factor);
        // The rotation, so that equal words at different places do not take each other away.
        self.state = (product as u64 ^ (product >> 64) as u64).rotate_left(23);
    }
}

impl Hasher for Folding {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.mix(u64::from_le_bytes(word.try_into().expect("it has 8 bytes")));
        }
        let rest = words.remainder();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        // With the length, so that what is shorter differs from what ends with zeros.
        self.mix(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.mix(number.into());
    }

    #[inline]
    fn write_u16(&mut self, number: u16) {
        self.mix(number.into());
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.mix(number.into());
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    /// Once more, so that the last word too decides over all bits.
    #[inline]
    fn finish(&self) -> u64 {
        let product = u128::from(self.state) * u128::from(self.factor);
        product as u64 ^ (product >> 64) as u64
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn two_seeds_hash_differently_and_one_hashes_the_same() {
        let (one, other) = (Seeded::default(), Seeded::default());
        assert_eq!(one.hash_one(7u64), one.hash_one(7u64));
        assert_ne!(one.hash_one(7u64), other.hash_one(7u64));
    }

    /// Neighbouring numbers are spread over the low bits, by which the table places them, and over
    /// the high ones, by which it tells them apart.
    #[test]
    fn neighbours_are_spread() {
        let seeded = Seeded::default();
        for shift in [0, 57] {
            let mut found = [0u32; 128];
            (0..128 * 64u64).for_each(|n| found[(seeded.hash_one(n) >> shift) as usize & 127] += 1);
            assert!(found.iter().all(|n| (16..=160).contains(n)), "{found:?}");
        }
    }

    #[test]
    fn bytes_of_different_length_differ() {
        let hash = |bytes: &[u8]| {
            let mut hasher = Seeded { start: 3, factor: 5 }.build_hasher();
            hasher.write(bytes);
            hasher.finish()
        };
        assert_ne!(hash(&[1, 0, 0]), hash(&[1, 0]));
        assert_ne!(hash(&[0; 8]), hash(&[0; 9]));
    }
}
