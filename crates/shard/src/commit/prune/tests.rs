//! Is what a fold takes out bounded, and does the rest go in the folds after it?

use std::{
    mem,
    sync::{Arc, Mutex},
    time::Duration,
};

use alloy_primitives::{Address, U256};

use super::*;
use crate::{
    block::{AccountChange, SlotChange, seal},
    commit::{
        Commit, Next, Submission,
        fold::{self, Beginning},
        record::{BlockBytes, NewBlock},
    },
    config::{Durability, Rules},
    execute::{Executed, testing},
    store::{Epoch, MemoryStore},
};

const SHARD: ShardIndex = ShardIndex(3);
const SLOTS: u64 = 10;

struct Nothing;

impl Beginning for Nothing {
    fn has_slot(&self, _: Address, _: U256) -> bool {
        false
    }

    fn has_node(&self, _: &[u8]) -> bool {
        false
    }
}

/// A block that sets some slots.
fn record(number: u64) -> Record {
    let slot = |slot| {
        let (before, after) = (U256::from(number), U256::from(number + 1));
        SlotChange { slot: U256::from(slot), before, after }
    };
    let slots = (0..SLOTS).map(slot).collect();
    let account = AccountChange { address: testing::SHARD, before: None, after: None, slots };
    let changes = Arc::new(ChangeSet { accounts: vec![account], ..ChangeSet::default() });
    let executed = Executed {
        included: Vec::new(),
        dropped: Vec::new(),
        left: Vec::new(),
        changes,
        gas_used: 0,
        hashes_read: Vec::new(),
    };
    let context = testing::context(number);
    let block = seal(&Rules::default(), testing::SHARD, &context, executed, None);
    let new = NewBlock::new(block, Vec::new(), BlockBytes::default());
    Record { shard: SHARD, what: What::Block(Arc::new(new)) }
}

fn blocks(count: u64) -> Vec<Record> {
    (1..=count).map(record).collect()
}

/// A store whose tables hold blocks up to this one.
fn store(count: u64) -> (MemoryStore, Epoch) {
    let store = MemoryStore::new();
    let (epoch, _) = store.current();
    store.rotate().unwrap();
    store.fold(epoch, &mut fold::changes(Vec::new(), &blocks(count), &Nothing)).unwrap();
    (store, epoch)
}

fn has(store: &dyn Store, table: Table, key: &[u8]) -> bool {
    store.get(table, key, &mut |_| {}).unwrap()
}

fn reached(store: &dyn Store) -> u64 {
    let mut reached = 0;
    store
        .get(Table::Pruned, &keys::shard(SHARD), &mut |value| {
            reached = pruned_value(value).unwrap();
        })
        .unwrap();
    reached
}

/// Blocks up to what was reached are gone with their history, and the others are all there.
fn check(store: &dyn Store, count: u64) {
    let reached = reached(store);
    for number in 1..=count {
        let (key, kept) = (keys::number(SHARD, number), number > reached);
        assert_eq!(has(store, Table::Blocks, &key), kept, "block {number}, {reached} was reached");
        let slot = keys::slot_at(SHARD, testing::SHARD, U256::ZERO, number);
        assert_eq!(has(store, Table::StorageHistory, &slot), kept, "the state before {number}");
        let has_hash = !kept && number + HASHES > reached;
        assert_eq!(has(store, Table::Pruned, &key), has_hash, "hash {number}, {reached}");
    }
}

#[test]
fn a_fold_takes_out_so_many_entries_and_one_block_more_and_says_what_is_left() {
    let (store, epoch) = store(300);
    let mut left = vec![Cut { shard: SHARD, to: 299 }];
    let (mut rounds, most) = (0, 200);
    while !left.is_empty() {
        let cuts = mem::take(&mut left);
        let (changes, rest) = changes(&store, &cuts, most).unwrap();
        let block = OWN_ENTRIES + 1 + SLOTS as usize;
        assert!(changes.len() <= most + block, "{} at once", changes.len());
        store.fold(epoch, &mut fold::changes(changes, &[], &Nothing)).unwrap();
        check(&store, 300);
        (left, rounds) = (rest, rounds + 1);
    }
    assert_eq!(reached(&store), 299);
    assert!(rounds > 20, "{rounds}");
}

#[test]
fn one_that_was_not_reached_is_left_and_goes_first_the_next_time() {
    let (store, _) = store(5);
    let cut = |shard, to| Cut { shard: ShardIndex(shard), to };
    let (changes, left) = changes(&store, &[cut(3, 4), cut(4, 4)], 20).unwrap();
    assert!(!changes.is_empty());
    assert_eq!(left, [cut(3, 4), cut(4, 4)]);
    assert_eq!(in_turn(left, vec![cut(1, 2), cut(4, 9)]), [cut(3, 4), cut(4, 9), cut(1, 2)]);
}

#[test]
fn what_a_fold_did_not_get_to_goes_in_the_next_ones_without_being_asked_again() {
    let (store, _) = store(100);
    let store = Arc::new(store);
    let cuts = Mutex::new(vec![Cut { shard: SHARD, to: 90 }]);
    let once = Box::new(move |_| mem::take(&mut *cuts.lock().unwrap()));
    let (folded, clock) = (Box::new(|_| {}), Box::new(|| Duration::ZERO));
    let (sync, nothing) = (Durability::Sync, Arc::new(Nothing));
    let commit = Commit::new(store.clone(), sync, 1, nothing, folded, once, clock);
    let mut before = 0;
    for _ in 0..90 {
        let what = What::Created { address: Address::ZERO, chain_id: 1 };
        let other = Record { shard: ShardIndex(0), what };
        assert!(
            commit.submit([Submission { records: vec![other], done: Box::new(|_| {}) }]).is_ok()
        );
        assert_eq!((commit.step(), commit.fold()), (Next::Again, Next::Again));
        check(&*store, 100);
        assert!(reached(&*store) <= before + 5, "a fold is bounded");
        before = reached(&*store);
    }
    assert_eq!(before, 90);
}
