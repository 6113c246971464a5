//! How long does a shard wait for its turn, and what does it do in it?

use std::{sync::Arc, time::Duration};

use alloy_primitives::{Bytes, TxKind};
use kernel::{Phase, each_seed};
use shard::{
    Config, Environment, Shards, pool::Status, shard::TransactionStatus, store::MemoryStore,
};

use crate::{
    QUANTUM,
    common::{GWEI, account, config, open, send, shard, transfer},
    simulation,
};

/// Fills a shard's pool with more than it can execute in several quanta.
fn backlog(shards: &Shards, config: &Config, to: u8) {
    for from in 0..2 {
        for nonce in 0..400 {
            drop(shards.accept(shard(to), transfer(config, shard(to), from, nonce)).unwrap());
        }
    }
}

/// How long a shard's single transaction waits for its turn and for its block, while so many
/// others have an endless backlog.
fn waits(workers: usize, busy: u8, seed: u64) -> (Duration, Duration) {
    let mut simulation = simulation(workers, seed);
    let mut config = config();
    // Only the quantum ends a turn.
    config.rules.block_transactions_max = 100_000;
    config.rules.block_gas_limit = 1 << 40;
    config.parallel = false;
    let shards = open(&simulation, &config, Arc::new(MemoryStore::new()));
    for to in 1..=busy {
        backlog(&shards, &config, to);
    }
    simulation.run_for(Duration::from_millis(1));
    let single = transfer(&config, shard(0), 0, 0);
    drop(shards.accept(shard(0), single.clone()).unwrap());
    let begin = simulation.now();
    let mut turn = None;
    loop {
        let one = shards.get(shard(0)).unwrap();
        let status = one.transaction_status(single.hash()).unwrap().expect("it was accepted");
        let waited = simulation.now() - begin;
        match status {
            TransactionStatus::Queued(Status::Executing) => turn = turn.or(Some(waited)),
            TransactionStatus::Included(_) => break (turn.unwrap_or(waited), waited),
            _ => assert!(waited < Duration::from_secs(60), "it never has its turn"),
        }
        simulation.run_for(Duration::from_millis(1));
    }
}

#[test]
fn an_endless_backlog_costs_another_shard_about_a_quantum_per_busy_shard_and_worker() {
    for (workers, busy) in [(1, 1), (1, 3), (2, 2), (2, 5)] {
        let (turn, block) = waits(workers, busy, 7);
        let rounds = u32::from(busy).div_ceil(workers as u32);
        let most = QUANTUM * rounds + QUANTUM / 10;
        assert!(turn <= most, "{workers} workers, {busy} busy: its turn came after {turn:?}");
        assert!(turn > QUANTUM / 2, "{turn:?}: nobody was busy, so this says nothing");
        // In a simulation the committer is a strand that waits in the same queue.
        assert!(
            block <= most * 2,
            "{workers} workers, {busy} busy: its block came after {block:?}"
        );
    }
}

#[test]
fn a_wake_at_any_moment_of_a_turn_is_never_lost() {
    let config = config();
    each_seed(150, |seed| {
        let mut simulation = simulation(1 + seed as usize % 3, seed);
        let shards = open(&simulation, &config, Arc::new(MemoryStore::new()));
        for nonce in 0..20 {
            drop(shards.accept(shard(1), transfer(&config, shard(1), 0, nonce)).unwrap());
            // A turn that finds nothing lasts 100 ns, one that executes a millisecond.
            let wait = simulation.random() % if nonce % 2 == 0 { 400 } else { 2_000_000 };
            simulation.run_for(Duration::from_nanos(wait));
        }
        simulation.run();
        let one = shards.get(shard(1)).unwrap();
        assert_eq!((shards.included(), one.status().pool_len), (20, 0));
        assert_eq!(one.status().phase, Phase::Idle);
    });
}

#[test]
fn a_batch_that_fills_the_block_removes_nothing_that_was_not_executed() {
    let mut config = config();
    // Each asks for 60,000 and uses 21,000: after two there is no room for a third.
    config.rules.block_gas_limit = 100_000;
    let mut simulation = simulation(1, 3);
    let shards = open(&simulation, &config, Arc::new(MemoryStore::new()));
    let mut all = Vec::new();
    for nonce in 0..10 {
        for from in 0..3 {
            let to = TxKind::Call(account(500));
            let one = send(&config, shard(1), from, nonce, to, 1, 60_000, Bytes::new());
            drop(shards.accept(shard(1), one.clone()).unwrap());
            all.push(one.hash());
        }
    }
    simulation.run();
    let one = shards.get(shard(1)).unwrap();
    for hash in &all {
        let status = one.transaction_status(*hash).unwrap();
        assert!(matches!(status, Some(TransactionStatus::Included(_))), "{status:?}");
    }
    let blocks = (1..=one.tip().number()).map(|number| one.block(number).unwrap().unwrap());
    let sizes: Vec<usize> = blocks.map(|block| block.transactions.len()).collect();
    assert_eq!(sizes, [2; 15], "each once, and each block is full");
}

#[test]
fn a_turn_with_nothing_to_do_ends_at_once() {
    let config = config();
    let mut simulation = simulation(2, 1);
    let shards = open(&simulation, &config, Arc::new(MemoryStore::new()));
    // One waits for a nonce, one for a lower base fee: neither can run.
    let dear = Environment { base_fee: 3 * GWEI as u64, ..Environment::own(1_000) };
    shards.set_environment(dear);
    drop(shards.accept(shard(1), transfer(&config, shard(1), 0, 1)).unwrap());
    drop(shards.accept(shard(2), transfer(&config, shard(2), 0, 0)).unwrap());
    for _ in 0..3 {
        let begin = simulation.now();
        // It returns when nobody has anything to do; whoever spins is seen in the time.
        simulation.run();
        assert!(simulation.now() - begin < Duration::from_micros(10), "{:?}", simulation.now());
        for one in shards.all() {
            assert_eq!((one.status().phase, one.status().pool_len), (Phase::Idle, 1));
        }
        shards.set_environment((*shards.environment()).clone());
    }
    // What they wait for comes: it wakes them.
    drop(shards.accept(shard(1), transfer(&config, shard(1), 0, 0)).unwrap());
    shards.set_environment(Environment::own(1_001));
    simulation.run();
    assert_eq!(shards.included(), 3);
}
