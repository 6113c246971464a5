//! What is known of each key of a batch, in the order in which the keys came.
//!
//! ```text
//!   places   [ hash | entry ]  8 bytes each, by hash; 0 is an empty one
//!   entries  [ key, what is known of it ]  one after the other
//! ```
//!
//! Keys are large, and most of them come once. So what is looked up is small, and what is written is
//! written in order: with keys of 53 bytes, half the time of a map that has the keys in its places.

use std::hash::{BuildHasher, Hash};

use crate::transaction::hash::Seeded;

/// No fewer places than this.
const PLACES_MIN: usize = if cfg!(test) { 2 } else { 64 };

pub(super) struct Table<K, V> {
    /// As many as a power of two, and one and a half for each entry at least.
    places: Vec<u64>,
    entries: Vec<(K, V)>,
    seeded: Seeded,
}

impl<K: Copy + Eq + Hash, V: Copy> Table<K, V> {
    pub(super) fn new() -> Table<K, V> {
        Table { places: Vec::new(), entries: Vec::new(), seeded: Seeded::default() }
    }

    /// Forgets all, and makes room for so many keys.
    pub(super) fn reset(&mut self, keys: usize) {
        let places = places_for(keys);
        if self.places.len() < places || self.places.len() > 8 * places {
            self.places = vec![0; places];
        } else if !self.entries.is_empty() {
            self.places.fill(0);
        }
        self.entries.clear();
    }

    /// What is known of a key; `unknown` if nothing was.
    #[inline]
    pub(super) fn get_or_insert(&mut self, key: K, unknown: V) -> &mut V {
        if self.places.len() < self.entries.len() + self.entries.len() / 2 + 2 {
            self.grow();
        }
        let hash = (self.seeded.hash_one(key) >> 32) as u32;
        let mask = self.places.len() - 1;
        let mut at = hash as usize & mask;
        let entry = loop {
            let place = self.places[at];
            if place == 0 {
                self.entries.push((key, unknown));
                self.places[at] = u64::from(hash) << 32 | self.entries.len() as u64;
                break self.entries.len();
            }
            let entry = place as u32 as usize;
            if (place >> 32) as u32 == hash && self.entries[entry - 1].0 == key {
                break entry;
            }
            at = (at + 1) & mask;
        };
        &mut self.entries[entry - 1].1
    }

    /// All that is known, in the order in which the keys came.
    pub(super) fn iter(&self) -> impl Iterator<Item = (K, V)> + '_ {
        self.entries.iter().copied()
    }

    #[cold]
    fn grow(&mut self) {
        let mut places = vec![0; places_for(2 * self.entries.len())];
        let mask = places.len() - 1;
        for place in self.places.iter().filter(|place| **place != 0) {
            let mut at = (place >> 32) as usize & mask;
            while places[at] != 0 {
                at = (at + 1) & mask;
            }
            places[at] = *place;
        }
        self.places = places;
    }
}

fn places_for(keys: usize) -> usize {
    (keys + keys / 2 + 2).next_power_of_two().max(PLACES_MIN)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Against std's, with and without room made before, and again after a reset.
    #[test]
    fn it_knows_what_a_map_knows() {
        let mut table = Table::new();
        for (round, reserved) in [0, 1_000, 10, 0].into_iter().enumerate() {
            table.reset(reserved);
            let mut map = HashMap::new();
            for n in 0..1_000u64 {
                let key = (n * n + round as u64) % 389;
                *table.get_or_insert(key, 0) += n;
                *map.entry(key).or_insert(0) += n;
            }
            assert_eq!(table.iter().count(), map.len());
            assert!(table.iter().all(|(key, sum)| map[&key] == sum));
        }
    }

    #[test]
    fn a_small_batch_after_a_large_one_gives_the_room_back() {
        let mut table = Table::new();
        table.reset(1_000_000);
        table.get_or_insert(1, ());
        table.reset(10);
        assert!(table.places.len() < 100);
        assert_eq!(table.iter().count(), 0);
    }
}
