//! What waited when the shards stopped: is it there when they are opened again, and is it known
//! what became of the rest?

mod common;

use std::{sync::Arc, time::Duration};

use alloy_consensus::{TxEip1559, TypedTransaction};
use alloy_primitives::TxKind;
use common::{GWEI, account, config, shard, transfer};
use kernel::{Discipline, Runtime, Simulation};
use shard::{
    Config, Environment, Shards, Transaction,
    config::PoolOrder,
    disk::{SimDisk, Unsynced},
    environment::BASE_FEE,
    execute::DropReason,
    pool::{Refusal, Status},
    shard::TransactionStatus,
    shards::SubmitError,
    store::{DiskStore, Options},
};

const HOUR: Duration = Duration::from_secs(3_600);

fn simulation() -> Simulation {
    Runtime::builder().workers(2).discipline(Discipline::Fifo).simulate(1).unwrap()
}

fn open(simulation: &Simulation, config: &Config, disk: &SimDisk) -> Shards {
    let options = Options { salt: 1, cache_bytes: 0, ..Options::default() };
    let store = DiskStore::open(Arc::new(disk.clone()), options).unwrap();
    Shards::open(&simulation.handle(), config.clone(), Arc::new(store), 1_700_000_000).unwrap()
}

fn accept(simulation: &mut Simulation, shards: &Shards, transaction: &Arc<Transaction>) {
    let accepted = shards.accept(shard(0), transaction.clone()).unwrap();
    simulation.block_on(accepted).unwrap().unwrap();
}

fn status(shards: &Shards, transaction: &Transaction) -> Option<TransactionStatus> {
    shards.get(shard(0)).unwrap().transaction_status(transaction.hash()).unwrap()
}

/// It waits for one that never comes.
fn behind_a_gap(config: &Config, from: u64) -> Arc<Transaction> {
    transfer(config, shard(0), from, 1)
}

/// It moves nothing, and offers this for its gas.
fn offering(config: &Config, from: u64, nonce: u64, fee: u128) -> Arc<Transaction> {
    let fields = TxEip1559 {
        chain_id: config.rules.chain_id(shard(0)),
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: fee,
        max_priority_fee_per_gas: fee,
        to: TxKind::Call(account(1_000)),
        ..Default::default()
    };
    Arc::new(Transaction::unsigned(TypedTransaction::Eip1559(fields), account(from)))
}

#[test]
fn what_was_dropped_and_is_accepted_again_waits_after_reopening() {
    let (mut simulation, disk, mut config) = (simulation(), SimDisk::new(1), config());
    config.pool.expiry = HOUR;
    let shards = open(&simulation, &config, &disk);
    let transaction = behind_a_gap(&config, 0);
    accept(&mut simulation, &shards, &transaction);
    simulation.run_for(2 * HOUR);
    assert_eq!(shards.expire(), 1);
    simulation.run_for(HOUR);
    let dropped = Some(TransactionStatus::Dropped(DropReason::Expired));
    assert_eq!(status(&shards, &transaction), dropped);
    accept(&mut simulation, &shards, &transaction);

    let shards = open(&simulation, &config, &disk.crash(Unsynced::Lost));
    let found = status(&shards, &transaction);
    let waits = matches!(found, Some(TransactionStatus::Queued(Status::Queued(_))));
    assert!(waits, "it was acknowledged and is {found:?}");
}

#[test]
fn a_drop_in_a_shard_whose_creation_was_not_written_can_be_opened_again() {
    let (mut simulation, disk, mut config) = (simulation(), SimDisk::new(1), config());
    config.pool.expiry = HOUR;
    let shards = open(&simulation, &config, &disk);
    disk.fail_syncs(true);
    let transaction = behind_a_gap(&config, 0);
    let accepted = shards.accept(shard(0), transaction.clone()).unwrap();
    assert!(matches!(simulation.block_on(accepted).unwrap(), Err(SubmitError::Store(_))));
    disk.fail_syncs(false);
    simulation.run_for(2 * HOUR);
    assert_eq!(shards.store_failure(), None);
    assert_eq!(shards.expire(), 1);
    simulation.run_for(HOUR);

    let shards = open(&simulation, &config, &disk.crash(Unsynced::Lost));
    let dropped = Some(TransactionStatus::Dropped(DropReason::Expired));
    assert_eq!(status(&shards, &transaction), dropped);
}

#[test]
fn what_a_smaller_pool_does_not_take_is_dropped_for_all_to_see() {
    let (mut simulation, disk, mut config) = (simulation(), SimDisk::new(1), config());
    let shards = open(&simulation, &config, &disk);
    let all: Vec<_> = (0..6).map(|from| behind_a_gap(&config, from)).collect();
    all.iter().for_each(|one| accept(&mut simulation, &shards, one));

    config.pool.transactions_max = 2;
    let mut disk = disk;
    // The second time it is the log that says so.
    for _ in 0..2 {
        disk = disk.crash(Unsynced::Lost);
        let shards = open(&simulation, &config, &disk);
        simulation.run_for(HOUR);
        let is_waiting = |one: &&Arc<Transaction>| {
            matches!(status(&shards, one), Some(TransactionStatus::Queued(_)))
        };
        assert_eq!(all.iter().filter(is_waiting).count(), 2);
        for one in all.iter().filter(|one| !is_waiting(one)) {
            let found = status(&shards, one);
            assert!(matches!(found, Some(TransactionStatus::Dropped(_))), "{found:?}");
        }
    }
}

#[test]
fn what_gives_way_while_a_pool_is_filled_again_is_dropped_for_all_to_see() {
    let (mut simulation, disk, mut config) = (simulation(), SimDisk::new(1), config());
    let shards = open(&simulation, &config, &disk);
    // All offer less than the base fee, so they wait.
    let cheap = [0, 1].map(|nonce| offering(&config, 0, nonce, GWEI / 4));
    let dear = offering(&config, 1, 0, GWEI / 2);
    cheap.iter().chain([&dear]).for_each(|one| accept(&mut simulation, &shards, one));

    config.pool.transactions_max = 2;
    let shards = open(&simulation, &config, &disk.crash(Unsynced::Lost));
    simulation.run_for(HOUR);
    let evicted = Some(TransactionStatus::Dropped(DropReason::Evicted));
    assert_eq!(status(&shards, &cheap[1]), evicted);
    for one in [&cheap[0], &dear] {
        assert!(matches!(status(&shards, one), Some(TransactionStatus::Queued(_))));
    }
}

#[test]
fn after_an_error_of_a_read_the_store_is_opened_again_without_a_write() {
    let (mut simulation, disk) = (simulation(), SimDisk::new(1));
    let config = Config { checkpoint_bytes: 1, ..config() };
    let shards = open(&simulation, &config, &disk);
    for nonce in 0..40 {
        accept(&mut simulation, &shards, &transfer(&config, shard(0), 0, nonce));
        simulation.run_for(HOUR);
    }
    let one = shards.get(shard(0)).unwrap();
    let blocks = || (1..=40).map(|number| one.block(number));
    assert!(blocks().all(|block| block.is_ok_and(|block| block.is_some())));

    disk.fail_reads(true);
    assert!(blocks().any(|block| block.is_err()), "nothing was read from the disk");
    disk.fail_reads(false);
    simulation.run_for(HOUR);
    for block in blocks() {
        assert!(block.unwrap().is_some());
    }
}

#[test]
fn blocks_in_the_tables_are_read_while_no_sync_works() {
    let (mut simulation, disk) = (simulation(), SimDisk::new(1));
    let config = Config { checkpoint_bytes: 1, ..config() };
    let shards = open(&simulation, &config, &disk);
    for nonce in 0..40 {
        accept(&mut simulation, &shards, &transfer(&config, shard(0), 0, nonce));
        simulation.run_for(HOUR);
    }
    disk.fail_syncs(true);
    let accepted = shards.accept(shard(0), transfer(&config, shard(0), 0, 40)).unwrap();
    assert!(simulation.block_on(accepted).unwrap().is_err());
    let one = shards.get(shard(0)).unwrap();
    for _ in 0..3 {
        // It is opened again and again meanwhile, in vain.
        simulation.run_for(HOUR);
        assert!(shards.store_failure().is_some());
        for number in 1..=40 {
            assert!(one.block(number).unwrap().is_some());
        }
    }
    disk.fail_syncs(false);
    simulation.run_for(HOUR);
    assert_eq!(shards.store_failure(), None);
}

#[test]
fn what_could_not_be_written_can_be_sent_again() {
    let (mut simulation, disk, config) = (simulation(), SimDisk::new(1), config());
    let shards = open(&simulation, &config, &disk);
    disk.fail_syncs(true);
    let transaction = behind_a_gap(&config, 0);
    let accepted = shards.accept(shard(0), transaction.clone()).unwrap();
    assert!(matches!(simulation.block_on(accepted).unwrap(), Err(SubmitError::Store(_))));
    disk.fail_syncs(false);
    simulation.run_for(HOUR);
    accept(&mut simulation, &shards, &transaction);
    let again = shards.accept(shard(0), transaction.clone()).unwrap_err();
    assert_eq!(again, SubmitError::Refused(Refusal::AlreadyKnown));

    let shards = open(&simulation, &config, &disk.crash(Unsynced::Lost));
    assert!(matches!(status(&shards, &transaction), Some(TransactionStatus::Queued(_))));
}

#[test]
fn what_waits_keeps_the_order_in_which_it_came() {
    let (mut simulation, disk, mut config) = (simulation(), SimDisk::new(1), config());
    config.pool.order = PoolOrder::Fifo;
    config.rules.block_transactions_max = 1;
    let shards = open(&simulation, &config, &disk);
    // The base fee is above what they offer, until they are opened again.
    let expensive = Environment { base_fee: 1_000 * BASE_FEE, ..Environment::own(0) };
    shards.set_environment(expensive);
    let senders = [4, 1, 7, 0, 9, 2];
    for from in senders {
        accept(&mut simulation, &shards, &offering(&config, from, 0, 2 * GWEI));
    }
    assert_eq!(shards.included(), 0);

    let shards = open(&simulation, &config, &disk.crash(Unsynced::Lost));
    simulation.run_for(HOUR);
    let one = shards.get(shard(0)).unwrap();
    let order = (1..=6).map(|number| one.block(number).unwrap().unwrap().transactions[0].sender());
    assert!(order.eq(senders.map(account)));
}
