//! Which blocks are the newest?

use std::{cmp::Reverse, collections::VecDeque, sync::Arc};

use alloy_primitives::{Address, B256};
use serde::Serialize;
use shard::{Block, Shard, events::BlockEvent};

/// So many are in a frame at most.
const SHOWN_MAX: usize = 50;
/// So many are found among those that were there before somebody looked.
pub(super) const FOUND_MAX: usize = 20;
/// So many transactions of a block are named.
const HASHES_MAX: usize = 5;

/// The newest blocks of all shards, as they were committed.
#[derive(Default)]
pub(super) struct Blocks {
    /// The oldest first, each with its number among all of them.
    newest: VecDeque<(u64, Shown)>,
    /// How many there were, those that are forgotten among them.
    count: u64,
}

/// A block, as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    shard: Address,
    number: u64,
    hash: B256,
    time: u64,
    gas_used: u64,
    count: usize,
    transactions: Vec<B256>,
}

impl Blocks {
    /// The newest ones that these shards have. A block says when it was made to the second only, so
    /// the order of those of one second is not known.
    pub(super) fn find<'a>(shards: impl Iterator<Item = &'a Shard>) -> Blocks {
        let age = |block: &Arc<Block>| Reverse((block.header.timestamp, block.number()));
        let mut tips: Vec<(&Shard, Arc<Block>)> = shards
            .map(|shard| (shard, shard.tip()))
            .filter(|(_, block)| block.number() > 0)
            .collect();
        tips.sort_by_key(|(_, block)| age(block));
        tips.truncate(FOUND_MAX);
        let mut found = Vec::new();
        while found.len() < FOUND_MAX {
            let next = (0..tips.len()).min_by_key(|place| age(&tips[*place].1));
            let Some(place) = next else { break };
            let (shard, block) = &mut tips[place];
            found.push(BlockEvent { shard: shard.address(), block: block.clone() });
            // What was pruned or can not be read is not among the newest.
            match shard.block(block.number() - 1) {
                Ok(Some(before)) if before.number() > 0 => *block = before,
                _ => drop(tips.swap_remove(place)),
            }
        }
        let mut blocks = Blocks::default();
        for block in found.iter().rev() {
            blocks.add(block);
        }
        blocks
    }

    pub(super) fn add(&mut self, block: &BlockEvent) {
        if self.newest.len() == SHOWN_MAX {
            self.newest.pop_front();
        }
        self.count += 1;
        self.newest.push_back((self.count, block.into()));
    }

    /// Nobody looks any more.
    pub(super) fn forget(&mut self) {
        self.newest = VecDeque::new();
    }

    /// There were so many that nobody has seen.
    pub(super) fn miss(&mut self, count: u64) {
        self.count += count;
    }

    /// How many there were so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Those after so many, the newest first, and how many are left out.
    pub(super) fn since(&self, known: u64) -> (Vec<&Shown>, u64) {
        let new = self.newest.iter().rev().take_while(|(number, _)| *number > known);
        let shown: Vec<&Shown> = new.map(|(_, block)| block).collect();
        let left_out = self.count.saturating_sub(known).saturating_sub(shown.len() as u64);
        (shown, left_out)
    }
}

impl From<&BlockEvent> for Shown {
    fn from(BlockEvent { shard, block }: &BlockEvent) -> Shown {
        Shown {
            shard: *shard,
            number: block.number(),
            hash: block.hash,
            time: block.header.timestamp,
            gas_used: block.header.gas_used,
            count: block.transactions.len(),
            transactions: block.transactions.iter().take(HASHES_MAX).map(|it| it.hash()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shard::Environment;

    fn block(number: u64) -> BlockEvent {
        let header = alloy_consensus::Header { number, ..Default::default() };
        let block = Block {
            header,
            hash: B256::ZERO,
            environment: Environment::own(0),
            transactions: vec![],
            receipts: vec![],
            changes: Default::default(),
        };
        BlockEvent { shard: Address::ZERO, block: Arc::new(block) }
    }

    fn numbers(shown: &[&Shown]) -> Vec<u64> {
        shown.iter().map(|block| block.number).collect()
    }

    #[test]
    fn each_sees_what_is_new_to_it_and_how_many_were_left_out() {
        let mut blocks = Blocks::default();
        for number in 1..=3 {
            blocks.add(&block(number));
        }
        let (shown, left_out) = blocks.since(1);
        assert_eq!((numbers(&shown), left_out), (vec![3, 2], 0));
        let (shown, left_out) = blocks.since(3);
        assert_eq!((numbers(&shown), left_out), (vec![], 0));
        let most = SHOWN_MAX as u64;
        for number in 4..=most + 4 {
            blocks.add(&block(number));
        }
        let (shown, left_out) = blocks.since(3);
        assert_eq!((shown.len(), left_out), (SHOWN_MAX, 1));
        assert_eq!((shown[0].number, shown[SHOWN_MAX - 1].number), (most + 4, 5));
    }

    #[test]
    fn what_was_forgotten_is_left_out() {
        let mut blocks = Blocks::default();
        for number in 1..=3 {
            blocks.add(&block(number));
        }
        blocks.forget();
        blocks.add(&block(4));
        let (shown, left_out) = blocks.since(0);
        assert_eq!((numbers(&shown), left_out), (vec![4], 3));
        // Who comes from before has seen more than there is.
        assert_eq!(blocks.since(9).1, 0);
    }

    #[test]
    fn what_was_missed_counts_as_left_out_and_nothing_is_shown_twice() {
        let mut blocks = Blocks::default();
        blocks.add(&block(1));
        let known = blocks.count();
        blocks.miss(30);
        blocks.add(&block(32));
        let (shown, left_out) = blocks.since(known);
        assert_eq!((numbers(&shown), left_out), (vec![32], 30));
    }
}
