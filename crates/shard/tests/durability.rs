//! Where acknowledged does not mean synced: the disk fails at each single write in turn, and the
//! chain goes on without a gap, here and after a crash.

mod common;

use std::{sync::Arc, time::Duration};

use common::{config, shard, transfer};
use kernel::{Discipline, Runtime, Simulation};
use shard::{
    Config, Shards,
    config::Durability,
    disk::{Fails, SimDisk, Unsynced},
    shard::TransactionStatus,
    store::{DiskStore, Options},
};

const NONCES: u64 = 8;
const DELAY: Duration = Duration::from_millis(3);

fn simulation(seed: u64) -> Simulation {
    Runtime::builder().workers(2).discipline(Discipline::Fifo).simulate(seed).unwrap()
}

fn open(simulation: &Simulation, config: &Config, disk: &SimDisk) -> Shards {
    let options = Options { salt: 1, ..Options::default() };
    let store = DiskStore::open(Arc::new(disk.clone()), options).unwrap();
    Shards::open(&simulation.handle(), config.clone(), Arc::new(store), 1_700_000_000).unwrap()
}

fn check_chain(shards: &Shards, what: &str) {
    let Some(one) = shards.get(shard(0)) else { return };
    let mut parent = one.block(0).unwrap().unwrap();
    for number in 1..=one.tip().number() {
        let block = one.block(number).unwrap();
        let block = block.unwrap_or_else(|| panic!("{what}: block {number} is missing"));
        assert_eq!(block.header.parent_hash, parent.hash, "{what}");
        parent = block;
    }
}

fn each_write(durability: Durability) {
    for write in 0.. {
        let (mut simulation, disk) = (simulation(write), SimDisk::new(write));
        let mut config = Config { durability, checkpoint_bytes: 1 << 10, ..config() };
        config.rules.block_transactions_max = 2;
        let what = format!("{durability:?}, write {write}");
        let shards = open(&simulation, &config, &disk);
        disk.fail_after(write, Fails::Once);
        let mut acknowledged = Vec::new();
        for nonce in 0..NONCES {
            // Refused while the store has failed: then it is not acknowledged.
            let transaction = transfer(&config, shard(0), 0, nonce);
            if let Ok(accepted) = shards.accept(shard(0), transaction) {
                acknowledged.extend(simulation.block_on(accepted).unwrap());
            }
            simulation.run_for(Duration::from_millis(1));
        }
        simulation.run_for(Duration::from_secs(20));
        assert_eq!(shards.store_failure(), None, "{what}");
        check_chain(&shards, &what);
        for hash in &acknowledged {
            let one = shards.get(shard(0)).unwrap();
            let status = one.transaction_status(*hash).unwrap();
            let included = matches!(status, Some(TransactionStatus::Included(_)));
            assert!(included, "{what}: {hash} is {status:?}");
        }
        for unsynced in [Unsynced::Lost, Unsynced::Torn] {
            let crashed = disk.crash(unsynced);
            let reopened = open(&simulation, &config, &crashed);
            check_chain(&reopened, &format!("{what}, {unsynced:?}"));
            let height = |shards: &Shards| shards.get(shard(0)).map_or(0, |it| it.tip().number());
            if durability != Durability::None {
                assert_eq!(height(&reopened), height(&shards), "{what}, {unsynced:?}");
            }
        }
        if !disk.has_failed() {
            assert_eq!(acknowledged.len() as u64, NONCES);
            assert!(write > 20, "a load with so few writes says nothing");
            return;
        }
    }
}

#[test]
fn the_chain_has_no_gap_when_syncs_come_late() {
    each_write(Durability::Batch(DELAY));
}

#[test]
fn the_chain_has_no_gap_when_syncs_are_left_to_the_system() {
    each_write(Durability::None);
}
