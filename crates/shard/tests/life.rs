//! The life of a transaction, from its acceptance to its block.

mod common;

use std::{
    num::NonZeroUsize,
    sync::Arc,
    task::{Context, Wake, Waker},
    time::Duration,
};

use alloy_primitives::U256;
use common::{account, balance, block_on, config, open, settle, shard, transfer};
use kernel::Runtime;
use shard::{
    events::Interest,
    pool::{Queued, Status},
    shard::TransactionStatus,
    shards::SubmitError,
    store::MemoryStore,
};

#[test]
fn a_transaction_that_is_accepted_gets_into_a_block() {
    let runtime = Runtime::new().unwrap();
    let config = config();
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    let transaction = transfer(&config, shard(1), 0, 0);
    let hash = shards.accept(shard(1), transaction.clone()).unwrap().wait().unwrap();
    assert_eq!(hash, transaction.hash());
    settle(&shards, 1);
    let one = shards.get(shard(1)).unwrap();
    let (position, found, receipt) = one.transaction(hash).unwrap().unwrap();
    assert_eq!((position.number, position.index), (1, 0));
    assert_eq!(found, transaction);
    assert!(receipt.success);
    assert_eq!(balance(&shards, shard(1), account(1_000)), U256::from(5));
    let status = one.transaction_status(hash).unwrap().unwrap();
    assert_eq!(status, TransactionStatus::Included(position));
}

#[test]
fn a_transaction_of_one_shard_is_refused_in_another() {
    let runtime = Runtime::new().unwrap();
    let config = config();
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    let transaction = transfer(&config, shard(1), 0, 0);
    let error = shards.accept(shard(2), transaction).unwrap_err();
    assert!(matches!(error, SubmitError::Refused(_)), "{error}");
    assert!(shards.is_empty(), "an invalid transaction creates nothing");
}

#[test]
fn however_many_ask_at_once_there_is_one_shard_per_address() {
    let runtime = Runtime::new().unwrap();
    let config = config();
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    std::thread::scope(|scope| {
        for sender in 0..8 {
            let (shards, config) = (&shards, &config);
            scope.spawn(move || {
                for to in 1..=4 {
                    let transaction = transfer(config, shard(to), sender, 0);
                    shards.accept(shard(to), transaction).unwrap().wait().unwrap();
                }
            });
        }
    });
    assert_eq!(shards.len(), 4);
    settle(&shards, 32);
    for to in 1..=4 {
        assert_eq!(balance(&shards, shard(to), account(1_000)), U256::from(8 * 5));
    }
}

#[test]
fn strict_mode_creates_no_shard_for_a_transaction_and_one_on_purpose() {
    let runtime = Runtime::new().unwrap();
    let mut config = config();
    config.strict = true;
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    let transaction = transfer(&config, shard(1), 0, 0);
    let error = shards.accept(shard(1), transaction.clone()).unwrap_err();
    assert_eq!(error, SubmitError::NoSuchShard(shard(1)));
    block_on(shards.create(shard(1))).unwrap();
    shards.accept(shard(1), transaction).unwrap().wait().unwrap();
    settle(&shards, 1);
}

#[test]
fn there_are_no_more_shards_than_allowed() {
    let runtime = Runtime::new().unwrap();
    let mut config = config();
    config.shards_max = 2;
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    for to in 1..=2 {
        shards.accept(shard(to), transfer(&config, shard(to), 0, 0)).unwrap().wait().unwrap();
    }
    let error = shards.accept(shard(3), transfer(&config, shard(3), 0, 0)).unwrap_err();
    assert_eq!(error, SubmitError::TooManyShards(2));
}

#[test]
fn a_gap_waits_and_runs_when_it_is_filled() {
    let runtime = Runtime::new().unwrap();
    let config = config();
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    for nonce in [0, 2, 3] {
        shards.accept(shard(1), transfer(&config, shard(1), 0, nonce)).unwrap().wait().unwrap();
    }
    settle(&shards, 1);
    let one = shards.get(shard(1)).unwrap();
    for nonce in [2, 3] {
        let status = one.transaction_status(transfer(&config, shard(1), 0, nonce).hash()).unwrap();
        let missing = Status::Queued(Queued::Missing { nonce: 1 });
        assert_eq!(status, Some(TransactionStatus::Queued(missing)));
    }
    shards.accept(shard(1), transfer(&config, shard(1), 0, 1)).unwrap().wait().unwrap();
    settle(&shards, 4);
}

/// Panics when it wakes somebody.
struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Panics>) {
        panic!("a waker of somebody else's");
    }
}

#[test]
fn a_subscriber_whose_waker_panics_holds_up_no_acceptance_and_no_block() {
    let mut simulation = Runtime::builder().workers(2).simulate(1).unwrap();
    let config = config();
    let shards = open(&simulation.handle(), &config, Arc::new(MemoryStore::new()));
    let room = NonZeroUsize::new(10).unwrap();
    let mut blocks = shards.subscribe(room, Interest::default());
    let mut accepted = shards.subscribe_accepted(room, None);
    let waker = Waker::from(Arc::new(Panics));
    let mut context = Context::from_waker(&waker);
    for nonce in 0..3 {
        while blocks.poll_next(&mut context).is_ready() {}
        while accepted.poll_next(&mut context).is_ready() {}
        let told = shards.accept(shard(1), transfer(&config, shard(1), 0, nonce)).unwrap();
        simulation.block_on(told).unwrap().unwrap();
        simulation.run_for(Duration::from_secs(1));
        assert_eq!(shards.included(), nonce + 1);
    }
}

#[test]
fn blocks_follow_each_other_without_gaps_and_hold_each_transaction_once() {
    let runtime = Runtime::new().unwrap();
    let mut config = config();
    config.rules.block_transactions_max = 7;
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    for nonce in 0..100 {
        for sender in 0..3 {
            let transaction = transfer(&config, shard(1), sender, nonce);
            drop(shards.accept(shard(1), transaction).unwrap());
        }
    }
    settle(&shards, 300);
    let one = shards.get(shard(1)).unwrap();
    let tip = one.tip().number();
    assert!(tip >= 300 / 7);
    let mut parent = one.block(0).unwrap().unwrap();
    let mut nonces = [0; 3];
    for number in 1..=tip {
        let block = one.block(number).unwrap().unwrap();
        assert_eq!(block.header.parent_hash, parent.hash);
        assert!(block.header.timestamp >= parent.header.timestamp);
        assert!(block.transactions.len() <= 7);
        for transaction in &block.transactions {
            let sender = (0..3).find(|&n| account(n) == transaction.sender()).unwrap() as usize;
            assert_eq!(transaction.nonce(), nonces[sender]);
            nonces[sender] += 1;
        }
        parent = block;
    }
    assert_eq!(nonces, [100; 3]);
}
