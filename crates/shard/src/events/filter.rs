//! Which logs does someone want to see, and which blocks can not have any of them?
//!
//! The bloom of a block's header says of most blocks without a look at their logs that none
//! matches. Subscriptions and queries use the same filter.

use alloy_primitives::{Address, B256, Bloom, Log, keccak256};

use crate::block::Block;

/// Addresses and topics of logs, as `eth_getLogs` has them.
///
/// ```
/// use alloy_primitives::{Address, B256, Bytes, Log};
/// use shard::events::LogFilter;
///
/// let (token, transfer) = (Address::repeat_byte(1), B256::repeat_byte(2));
/// let filter = LogFilter::new([token], [vec![transfer], vec![], vec![], vec![]]);
/// assert!(filter.matches(&Log::new_unchecked(token, vec![transfer], Bytes::new())));
/// assert!(!filter.matches(&Log::new_unchecked(token, vec![], Bytes::new())));
/// ```
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    addresses: OneOf<Address>,
    topics: [OneOf<B256>; 4],
}

/// A log of a block, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundLog<'b> {
    /// The position of its transaction in the block.
    pub transaction: usize,
    /// Its own position among all logs of the block.
    pub position: usize,
    pub log: &'b Log,
}

impl LogFilter {
    /// Logs of one of the addresses that have at each place one of the topics given for it. No
    /// addresses are all, and no topics for a place are any topic there or none.
    pub fn new(addresses: impl IntoIterator<Item = Address>, topics: [Vec<B256>; 4]) -> LogFilter {
        LogFilter { addresses: OneOf::new(addresses), topics: topics.map(OneOf::new) }
    }

    /// Whether this log is wanted.
    pub fn matches(&self, log: &Log) -> bool {
        self.addresses.has(Some(&log.address))
            && (0..).zip(&self.topics).all(|(place, topics)| topics.has(log.topics().get(place)))
    }

    /// `false`: no log behind this bloom matches. `true`: one may.
    pub fn may_match(&self, bloom: &Bloom) -> bool {
        self.addresses.may_be_in(bloom) && self.topics.iter().all(|topics| topics.may_be_in(bloom))
    }

    /// The logs of a block that are wanted, in order. Looks at none if the bloom says so.
    pub fn logs<'b>(&self, block: &'b Block) -> impl Iterator<Item = FoundLog<'b>> {
        let receipts: &[_] =
            if self.may_match(&block.header.logs_bloom) { &block.receipts } else { &[] };
        let logs = (0..).zip(receipts).flat_map(|(transaction, receipt)| {
            receipt.logs.iter().map(move |log| (transaction, log))
        });
        (0..)
            .zip(logs)
            .map(|(position, (transaction, log))| FoundLog { transaction, position, log })
            .filter(|found| self.matches(found.log))
    }
}

/// Values of which one is wanted, in order; none are all.
#[derive(Clone, Debug)]
struct OneOf<T> {
    values: Vec<T>,
    bits: Vec<Bits>,
}

impl<T> Default for OneOf<T> {
    fn default() -> OneOf<T> {
        OneOf { values: Vec::new(), bits: Vec::new() }
    }
}

impl<T: Ord + AsRef<[u8]>> OneOf<T> {
    fn new(values: impl IntoIterator<Item = T>) -> OneOf<T> {
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort_unstable();
        values.dedup();
        let bits = values.iter().map(|value| Bits::of(value.as_ref())).collect();
        OneOf { values, bits }
    }

    fn has(&self, value: Option<&T>) -> bool {
        self.values.is_empty()
            || value.is_some_and(|value| self.values.binary_search(value).is_ok())
    }

    fn may_be_in(&self, bloom: &Bloom) -> bool {
        self.bits.is_empty() || self.bits.iter().any(|bits| bits.are_in(bloom))
    }
}

/// The three bits that a value sets in a bloom, counted from its end. Kept, since they cost a
/// hash.
#[derive(Clone, Copy, Debug)]
struct Bits([u16; 3]);

impl Bits {
    fn of(value: &[u8]) -> Bits {
        let hash = keccak256(value);
        Bits([0, 2, 4].map(|at| u16::from_be_bytes([hash[at], hash[at + 1]]) & 0x7ff))
    }

    fn are_in(self, bloom: &Bloom) -> bool {
        self.0.iter().all(|&bit| bloom[255 - usize::from(bit / 8)] & 1 << (bit % 8) != 0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use alloy_consensus::Header;
    use alloy_primitives::{BloomInput, Bytes, logs_bloom};

    use super::*;
    use crate::{block::Receipt, environment::Environment};

    fn log(address: u8, topics: &[u8]) -> Log {
        let topics = topics.iter().map(|byte| B256::repeat_byte(*byte)).collect();
        Log::new_unchecked(Address::repeat_byte(address), topics, Bytes::new())
    }

    fn filter(addresses: &[u8], topics: [&[u8]; 4]) -> LogFilter {
        let topics =
            topics.map(|place| place.iter().map(|byte| B256::repeat_byte(*byte)).collect());
        LogFilter::new(addresses.iter().map(|byte| Address::repeat_byte(*byte)), topics)
    }

    fn block(receipts: &[&[Log]]) -> Block {
        let receipt = |logs: &&[Log]| Receipt {
            success: true,
            gas_used: 0,
            cumulative_gas_used: 0,
            gas_price: 0,
            created: None,
            output: Bytes::new(),
            logs: logs.to_vec(),
        };
        let logs_bloom = logs_bloom(receipts.iter().copied().flatten());
        Block {
            header: Header { logs_bloom, ..Header::default() },
            hash: B256::ZERO,
            environment: Environment::own(0),
            transactions: vec![],
            receipts: receipts.iter().map(receipt).collect(),
            changes: Arc::default(),
        }
    }

    #[test]
    fn a_filter_of_nothing_takes_all_logs() {
        let all = LogFilter::default();
        assert!(all.matches(&log(1, &[])));
        assert!(all.matches(&log(2, &[1, 2, 3, 4])));
        assert!(all.may_match(&Bloom::ZERO));
    }

    #[test]
    fn one_of_the_addresses_is_enough() {
        let filter = filter(&[3, 1], [&[], &[], &[], &[]]);
        assert!(filter.matches(&log(1, &[])));
        assert!(filter.matches(&log(3, &[9])));
        assert!(!filter.matches(&log(2, &[])));
    }

    #[test]
    fn each_place_needs_one_of_its_topics() {
        let filter = filter(&[], [&[1, 2], &[], &[3], &[]]);
        assert!(filter.matches(&log(1, &[1, 9, 3])));
        assert!(filter.matches(&log(1, &[2, 9, 3, 9])));
        assert!(!filter.matches(&log(1, &[3, 9, 1])), "the places differ");
        assert!(!filter.matches(&log(1, &[1, 9])), "there is no third topic");
    }

    #[test]
    fn the_bits_of_a_value_are_those_that_a_bloom_has_of_it() {
        for byte in 0..=255 {
            let value = B256::repeat_byte(byte);
            let bloom = Bloom::from(BloomInput::Raw(value.as_slice()));
            let mut made = Bloom::ZERO;
            for bit in Bits::of(value.as_slice()).0 {
                made[255 - usize::from(bit / 8)] |= 1 << (bit % 8);
            }
            assert_eq!(made, bloom);
        }
    }

    /// Over all small filters and logs.
    #[test]
    fn a_bloom_never_hides_a_log_that_matches() {
        let choices: [&[u8]; 3] = [&[], &[1], &[1, 2]];
        let (mut hidden, mut matched) = (0, 0);
        for addresses in choices {
            for first in choices {
                for second in choices {
                    let filter = filter(addresses, [first, second, &[], &[]]);
                    for log in [log(1, &[]), log(2, &[1]), log(3, &[1, 2]), log(1, &[3, 1])] {
                        let may = filter.may_match(&logs_bloom([&log]));
                        assert!(may || !filter.matches(&log));
                        hidden += usize::from(!may);
                        matched += usize::from(filter.matches(&log));
                    }
                }
            }
        }
        assert!(hidden > 0 && matched > 0);
    }

    #[test]
    fn logs_of_a_block_are_found_with_their_places() {
        let block = block(&[&[log(1, &[]), log(2, &[])], &[], &[log(2, &[5]), log(1, &[6])]]);
        let found: Vec<_> = filter(&[1], [&[], &[], &[], &[]])
            .logs(&block)
            .map(|found| (found.transaction, found.position, found.log.topics().len()))
            .collect();
        assert_eq!(found, [(0, 0, 0), (2, 3, 1)]);
    }

    #[test]
    fn logs_behind_a_bloom_that_lacks_them_are_not_looked_at() {
        let mut block = block(&[&[log(1, &[])]]);
        let filter = filter(&[1], [&[], &[], &[], &[]]);
        assert_eq!(filter.logs(&block).count(), 1);
        block.header.logs_bloom = Bloom::ZERO;
        assert_eq!(filter.logs(&block).count(), 0);
    }
}
