//! Which places does a run surely not hold?
//!
//! Most runs do not hold what is asked for, and to look into one costs more than to look here: one
//! line of memory, six bits of it. For one place in a hundred it is wrong, and then the run is looked
//! into for nothing.

use crate::store::Table;

/// Bits for each place.
const BITS: usize = 10;
/// What is looked at for one place, in words of 64 bits.
const LINE: usize = 8;
const PROBES: u32 = 6;
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A set of hashes of which some more seem to be in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Filter(Vec<u64>);

impl Filter {
    /// An empty one for so many places.
    pub(super) fn new(places: usize) -> Filter {
        let lines = (places * BITS).div_ceil(64 * LINE).max(1);
        Filter(vec![0; lines * LINE])
    }

    pub(super) fn add(&mut self, hash: u64) {
        let line = self.line(hash);
        for (word, bit) in probes(hash) {
            self.0[line + word] |= bit;
        }
    }

    pub(super) fn may_hold(&self, hash: u64) -> bool {
        let line = self.line(hash);
        probes(hash).all(|(word, bit)| self.0[line + word] & bit != 0)
    }

    fn line(&self, hash: u64) -> usize {
        let lines = (self.0.len() / LINE) as u64;
        (((hash >> 32) * lines) >> 32) as usize * LINE
    }

    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        self.0.iter().for_each(|word| into.extend_from_slice(&word.to_le_bytes()));
    }

    /// Reads what [`Filter::encode`] wrote; `None` for what it can not have written.
    pub(super) fn decode(bytes: &[u8]) -> Option<Filter> {
        let (words, rest) = bytes.as_chunks::<8>();
        let fits = rest.is_empty() && !words.is_empty() && words.len() % LINE == 0;
        fits.then(|| Filter(words.iter().map(|word| u64::from_le_bytes(*word)).collect()))
    }
}

/// Which bits of a line stand for a hash: a word each and a bit in it.
fn probes(hash: u64) -> impl Iterator<Item = (usize, u64)> {
    let mut bits = (hash | 1).wrapping_mul(MULTIPLIER);
    (0..PROBES).map(move |_| {
        let at = (bits >> 55) as usize;
        bits <<= 9;
        (at / 64, 1 << (at % 64))
    })
}

/// How much of a table's keys is hashed: of a history what it is the history of, so that it is found
/// without the block's number.
fn stem_len(table: Table) -> usize {
    match table {
        Table::AccountHistory => 4 + 20,
        Table::StorageHistory => 4 + 20 + 32,
        _ => usize::MAX,
    }
}

/// The hash that stands for a key in filters. It is on disk: another one needs another schema.
pub(super) fn hash(table: Table, key: &[u8]) -> u64 {
    let stem = &key[..key.len().min(stem_len(table))];
    let mut hash = (table as u64 + 1) ^ ((stem.len() as u64) << 32);
    let mut add = |word: u64| hash = ((hash ^ word).wrapping_mul(MULTIPLIER)).rotate_left(29);
    let (words, rest) = stem.as_chunks::<8>();
    words.iter().for_each(|word| add(u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    add(u64::from_le_bytes(last));
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(MULTIPLIER);
    hash ^ (hash >> 29)
}

/// The hash that all keys from `from` on and below `end` have, if they have one in common.
pub(super) fn hash_of_all(table: Table, from: &[u8], end: &[u8]) -> Option<u64> {
    let stem = from.get(..stem_len(table))?;
    let begins_alike = end.starts_with(stem);
    (begins_alike || is_end_of(stem, end)).then(|| hash(table, stem))
}

/// Whether it is the first key behind all that begin with this.
fn is_end_of(stem: &[u8], end: &[u8]) -> bool {
    let Some(last) = stem.iter().rposition(|byte| *byte < u8::MAX) else { return false };
    end.split_last() == Some((&(stem[last] + 1), &stem[..last]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u64) -> Vec<u8> {
        [&[0; 4][..], &[0xac; 12], &n.to_be_bytes()].concat()
    }

    #[test]
    fn what_was_added_may_be_there_and_most_of_the_rest_is_not() {
        let mut filter = Filter::new(10_000);
        (0..10_000).for_each(|n| filter.add(hash(Table::Accounts, &key(n))));
        let holds = |filter: &Filter, n| filter.may_hold(hash(Table::Accounts, &key(n)));
        let mut bytes = Vec::new();
        filter.encode(&mut bytes);
        assert_eq!(Filter::decode(&bytes).as_ref(), Some(&filter));
        assert_eq!(Filter::decode(&bytes[8..]), None);
        assert!((0..10_000).all(|n| holds(&filter, n)));
        let wrong = (10_000..110_000).filter(|n| holds(&filter, *n)).count();
        assert!(wrong < 3_000, "{wrong} of 100,000 seem to be there");
    }

    #[test]
    fn a_history_is_known_by_whose_it_is() {
        let (table, of) = (Table::AccountHistory, key(7));
        let at = |n: u64| [&of[..], &n.to_be_bytes()].concat();
        let one = Some(hash(table, &at(1)));
        assert_eq!(hash_of_all(table, &at(5), &key(8)), one);
        assert_eq!(hash_of_all(table, &at(5), &at(9)), one);
        assert_eq!(hash_of_all(table, &at(5), &key(9)), None, "those of 8 are between");
        let last = [&of[..23], &[u8::MAX][..]].concat();
        let behind = [&of[..22], &[of[22] + 1][..]].concat();
        assert_eq!(hash_of_all(table, &last, &behind), Some(hash(table, &last)));
        assert_eq!(hash_of_all(table, b"", &[u8::MAX; 40]), None);
        assert_eq!(hash_of_all(Table::Accounts, &of, &key(8)), None);
    }

    /// Filters are on disk: another hash would not find what an older program has added.
    #[test]
    fn hashes_stay_what_they_are() {
        assert_eq!(hash(Table::Accounts, &key(7)), 0xfe3f_8681_e80c_2a92);
        let at = [&key(7)[..], &1u64.to_be_bytes()].concat();
        assert_eq!(hash(Table::AccountHistory, &at), 0xc59b_8dfb_859c_bc5a);
        let mut filter = Filter::new(1);
        filter.add(0xfe3f_8681_e80c_2a92);
        let mut bits = Vec::new();
        filter.encode(&mut bits);
        let is_set = |at: &usize| bits[at / 8] & (1 << (at % 8)) != 0;
        let set: Vec<usize> = (0..512).filter(is_set).collect();
        assert_eq!(set, [29, 135, 137, 194, 291, 300]);
    }
}
