//! The disk fails at each single write in turn, forgets what was not synced, tears, and fills up:
//! what was acknowledged is there afterwards, every block is whole and every chain continuous.
//!
//! All of it runs in the simulated runtime, so a failure comes with its seed and its write.

mod common;

use std::{sync::Arc, time::Duration};

use alloy_consensus::{TxEip1559, TypedTransaction};
use alloy_primitives::B256;
use common::{GWEI, account, config, shard, transfer};
use kernel::{Discipline, Runtime, Simulation};
use shard::{
    Config, Shards, Transaction,
    disk::{Fails, SimDisk, Unsynced},
    shard::TransactionStatus,
    store::{DiskStore, Options},
};

const SHARDS: u8 = 2;
const NONCES: u64 = 8;

fn simulation(seed: u64) -> Simulation {
    Runtime::builder()
        .workers(2)
        .discipline(Discipline::Fifo)
        .quantum(Duration::from_millis(100))
        .simulate(seed)
        .unwrap()
}

/// Checkpoints every few blocks, so that faults hit them too.
fn settings() -> Config {
    let mut config = config();
    config.checkpoint_bytes = 4 << 10;
    config.rules.block_transactions_max = 4;
    config
}

fn open(simulation: &Simulation, disk: &SimDisk) -> Option<Shards> {
    let options = Options { salt: 1, ..Options::default() };
    let store = DiskStore::open(Arc::new(disk.clone()), options).ok()?;
    Shards::open(&simulation.handle(), settings(), Arc::new(store), 1_700_000_000).ok()
}

/// Submits everything, lets it run, and gives what was acknowledged.
fn load(simulation: &mut Simulation, shards: &Shards) -> Vec<B256> {
    let config = settings();
    let mut waiting = Vec::new();
    for nonce in 0..NONCES {
        for to in 0..SHARDS {
            let transaction = transfer(&config, shard(to), u64::from(to), nonce);
            // Refused while the store has failed: then it is not acknowledged.
            waiting.extend(shards.accept(shard(to), transaction));
        }
        simulation.run_for(Duration::from_millis(1));
    }
    simulation.run_for(Duration::from_secs(60));
    let told = waiting.into_iter().map(|one| simulation.block_on(one).expect("each is told"));
    told.flatten().collect()
}

/// Opens the disk after a crash and looks for everything.
fn check(disk: &SimDisk, acknowledged: &[B256], what: &str) {
    let mut simulation = simulation(1);
    let shards = open(&simulation, disk).unwrap_or_else(|| panic!("{what}: it can not be opened"));
    simulation.run_for(Duration::from_secs(60));
    let all = shards.all();
    for hash in acknowledged {
        let found = all.iter().find_map(|one| one.transaction_status(*hash).unwrap());
        match found {
            Some(TransactionStatus::Included(_)) => {}
            other => panic!("{what}: {hash} was acknowledged and is {other:?} after reopening"),
        }
    }
    for one in &all {
        let mut parent = one.block(0).unwrap().unwrap();
        for number in 1..=one.tip().number() {
            let block = one.block(number).unwrap();
            let block = block.unwrap_or_else(|| panic!("{what}: block {number} is missing"));
            assert_eq!(block.header.parent_hash, parent.hash, "{what}");
            assert_eq!(block.header.hash_slow(), block.hash, "{what}");
            parent = block;
        }
    }
}

#[test]
fn without_faults_all_is_acknowledged_and_there_after_each_kind_of_crash() {
    let mut simulation = simulation(7);
    let disk = SimDisk::new(7);
    let shards = open(&simulation, &disk).unwrap();
    let acknowledged = load(&mut simulation, &shards);
    assert_eq!(acknowledged.len() as u64, u64::from(SHARDS) * NONCES);
    assert!(shards.commit_counts().folds > 1, "there were checkpoints");
    for unsynced in [Unsynced::Lost, Unsynced::Kept, Unsynced::Torn] {
        check(&disk.crash(unsynced), &acknowledged, &format!("{unsynced:?}"));
    }
}

#[test]
fn the_disk_fails_once_at_each_write_and_the_shards_go_on() {
    each_write(Fails::Once, |simulation, disk, shards, acknowledged, what| {
        // It was opened again by itself, and all that was accepted has found its block.
        simulation.run_for(Duration::from_secs(60));
        assert_eq!(shards.store_failure(), None, "{what}");
        for hash in acknowledged {
            let all = shards.all();
            let status = all.iter().find_map(|one| one.transaction_status(*hash).unwrap());
            let included = matches!(status, Some(TransactionStatus::Included(_)));
            assert!(included, "{what}: {hash} is {status:?}");
        }
        check(&disk.crash(Unsynced::Torn), acknowledged, what);
    });
}

#[test]
fn the_disk_fails_for_good_at_each_write_and_what_was_acknowledged_is_there() {
    each_write(Fails::FromThenOn, |_, disk, _, acknowledged, what| {
        for unsynced in [Unsynced::Lost, Unsynced::Torn] {
            check(&disk.crash(unsynced), acknowledged, &format!("{what}, {unsynced:?}"));
        }
    });
}

/// The same load with the first write failing, then the second, until none fails.
fn each_write(how: Fails, then: impl Fn(&mut Simulation, &SimDisk, &Shards, &[B256], &str)) {
    for write in 0.. {
        let mut simulation = simulation(write);
        let disk = SimDisk::new(write);
        let Some(shards) = open(&simulation, &disk) else { panic!("a healthy disk") };
        disk.fail_after(write, how);
        let acknowledged = load(&mut simulation, &shards);
        if !disk.has_failed() {
            assert!(write > 20, "a load with so few writes says nothing");
            return;
        }
        let what = format!("{how:?} at write {write}");
        then(&mut simulation, &disk, &shards, &acknowledged, &what);
    }
}

#[test]
fn a_full_disk_stops_acknowledging_and_with_room_again_it_goes_on() {
    let mut simulation = simulation(3);
    let disk = SimDisk::new(3);
    let shards = open(&simulation, &disk).unwrap();
    disk.set_capacity(disk.used() + 1);
    let config = settings();
    let first = transfer(&config, shard(0), 0, 0);
    let accepted = shards.accept(shard(0), first.clone()).unwrap();
    let told = simulation.block_on(accepted).unwrap();
    if told.is_ok() {
        // The log has room that it took before: fill it.
        let mut nonce = 1;
        while shards.store_failure().is_none() {
            if let Ok(one) = shards.accept(shard(0), transfer(&config, shard(0), 0, nonce)) {
                let _ = simulation.block_on(one).unwrap();
            }
            nonce += 1;
            assert!(nonce < 1_000_000, "the disk never fills up");
        }
    }
    disk.set_capacity(u64::MAX);
    simulation.run_for(Duration::from_secs(60));
    assert_eq!(shards.store_failure(), None, "it was opened again");
    let other = transfer(&config, shard(1), 0, 0);
    let accepted = shards.accept(shard(1), other.clone()).unwrap();
    assert_eq!(simulation.block_on(accepted).unwrap().unwrap(), other.hash());
}

/// One that waits for another before it is dropped while the disk fails. Whoever was told so must not
/// find it in a block after a crash.
fn stays_dropped(drop_it: impl FnOnce(&mut Simulation, &SimDisk, &Shards)) {
    let (mut simulation, disk, config) = (simulation(5), SimDisk::new(5), settings());
    let shards = open(&simulation, &disk).unwrap();
    let waits = transfer(&config, shard(0), 0, 1);
    let accepted = shards.accept(shard(0), waits.clone()).unwrap();
    simulation.block_on(accepted).unwrap().unwrap();
    drop_it(&mut simulation, &disk, &shards);
    simulation.run_for(Duration::from_secs(60));
    assert!(disk.has_failed(), "the drop was written at once");
    assert_eq!(shards.store_failure(), None, "it was opened again");
    let is_dropped = |shards: &Shards| {
        let status = shards.get(shard(0)).unwrap().transaction_status(waits.hash()).unwrap();
        assert!(matches!(status, Some(TransactionStatus::Dropped(_))), "{status:?}");
    };
    is_dropped(&shards);
    // Whoever runs the shards calls this every minute.
    shards.expire();
    simulation.run_for(Duration::from_secs(1));

    let shards = open(&simulation, &disk.crash(Unsynced::Lost)).unwrap();
    is_dropped(&shards);
    drop(shards.accept(shard(0), transfer(&config, shard(0), 0, 0)).unwrap());
    simulation.run_for(Duration::from_secs(60));
    is_dropped(&shards);
    assert_eq!(shards.get(shard(0)).unwrap().next_nonce(account(0)).unwrap(), 1);
}

#[test]
fn one_that_is_replaced_while_the_disk_fails_stays_dropped() {
    stays_dropped(|simulation, disk, shards| {
        let config = settings();
        let fields = TxEip1559 {
            chain_id: config.rules.chain_id(shard(0)),
            nonce: 1,
            gas_limit: 21_000,
            max_fee_per_gas: 4 * GWEI,
            max_priority_fee_per_gas: 2 * GWEI,
            to: account(9).into(),
            ..TxEip1559::default()
        };
        let better = Transaction::unsigned(TypedTransaction::Eip1559(fields), account(0));
        disk.fail_after(0, Fails::Once);
        let accepted = shards.accept(shard(0), Arc::new(better)).unwrap();
        simulation.block_on(accepted).unwrap().unwrap_err();
    });
}

#[test]
fn one_that_expires_while_the_disk_fails_stays_dropped() {
    stays_dropped(|simulation, disk, shards| {
        simulation.run_for(2 * settings().pool.expiry);
        disk.fail_after(0, Fails::Once);
        assert_eq!(shards.expire(), 1);
    });
}

/// The same without anybody who calls `expire`: the end writes what is left.
#[test]
fn a_drop_that_could_not_be_written_is_written_at_the_end() {
    let (mut simulation, disk, config) = (simulation(5), SimDisk::new(5), settings());
    let shards = open(&simulation, &disk).unwrap();
    let waits = transfer(&config, shard(0), 0, 1);
    let accepted = shards.accept(shard(0), waits.clone()).unwrap();
    simulation.block_on(accepted).unwrap().unwrap();
    simulation.run_for(2 * config.pool.expiry);
    disk.fail_after(0, Fails::Once);
    assert_eq!(shards.expire(), 1);
    simulation.run_for(Duration::from_secs(60));
    let _ = shards.close(Duration::ZERO);
    simulation.run_for(Duration::from_secs(60));
    let shards = open(&simulation, &disk.crash(Unsynced::Lost)).unwrap();
    let status = shards.get(shard(0)).unwrap().transaction_status(waits.hash()).unwrap();
    assert!(matches!(status, Some(TransactionStatus::Dropped(_))), "{status:?}");
}

/// Each fold takes out of memory what is in the log, and this is in no log yet.
#[test]
fn why_one_was_dropped_is_known_while_it_is_not_written_and_others_are_folded() {
    let (mut simulation, disk, config) = (simulation(5), SimDisk::new(5), settings());
    let shards = open(&simulation, &disk).unwrap();
    let waits = transfer(&config, shard(0), 0, 1);
    let accepted = shards.accept(shard(0), waits.clone()).unwrap();
    simulation.block_on(accepted).unwrap().unwrap();
    simulation.run_for(2 * config.pool.expiry);
    disk.fail_after(0, Fails::Once);
    assert_eq!(shards.expire(), 1);
    simulation.run_for(Duration::from_secs(60));
    assert_eq!(shards.store_failure(), None, "it was opened again");

    let folds = shards.commit_counts().folds;
    for nonce in 0..100 {
        let accepted = shards.accept(shard(1), transfer(&config, shard(1), 0, nonce)).unwrap();
        simulation.block_on(accepted).unwrap().unwrap();
        simulation.run_for(Duration::from_secs(1));
        let status = shards.get(shard(0)).unwrap().transaction_status(waits.hash()).unwrap();
        assert!(matches!(status, Some(TransactionStatus::Dropped(_))), "{status:?}");
    }
    assert!(shards.commit_counts().folds > folds + 1, "that epoch was folded, and a later one");
}

#[test]
fn nothing_expires_while_the_store_has_failed() {
    let (mut simulation, disk, config) = (simulation(6), SimDisk::new(6), settings());
    let shards = open(&simulation, &disk).unwrap();
    // The first waits for one that never comes, the second for the disk.
    let accepted = shards.accept(shard(0), transfer(&config, shard(0), 0, 1)).unwrap();
    simulation.block_on(accepted).unwrap().unwrap();
    let ready = transfer(&config, shard(0), 1, 0);
    let accepted = shards.accept(shard(0), ready.clone()).unwrap();
    disk.fail_after(0, Fails::FromThenOn);
    let _ = simulation.block_on(accepted).unwrap();
    simulation.run_for(2 * config.pool.expiry);
    assert!(shards.store_failure().is_some());
    assert_eq!(shards.expire(), 0);
    disk.repair();
    simulation.run_for(Duration::from_secs(60));
    let status = shards.get(shard(0)).unwrap().transaction_status(ready.hash()).unwrap();
    assert!(matches!(status, Some(TransactionStatus::Included(_))), "{status:?}");
    assert_eq!(shards.expire(), 0, "the store has only just begun to work again");
    simulation.run_for(2 * config.pool.expiry);
    assert_eq!(shards.expire(), 1, "nothing has kept us from it");
}

#[test]
fn the_same_seed_gives_the_same_blocks() {
    let run = || {
        let mut simulation = simulation(11);
        let shards = open(&simulation, &SimDisk::new(11)).unwrap();
        load(&mut simulation, &shards);
        shards.all().iter().map(|one| one.tip().hash).collect::<Vec<_>>()
    };
    assert_eq!(run(), run());
}
