//! Old blocks are not kept: is what is kept still right, and is what is not refused?

mod common;

use std::{num::NonZeroU64, sync::Arc, time::Duration};

use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex};
use common::{account, balance, config, send, shard, transfer};
use kernel::{Discipline, Runtime, Simulation};
use shard::{
    Config, Position, Shard, Shards, Transaction,
    amend::{AmendError, Amendment},
    disk::{SimDisk, Unsynced},
    shard::TransactionStatus,
    state::StateReader,
    store::{DiskStore, Options, Statistics, StoreError, Table},
    trace::TraceRequest,
};

/// Stores, at its input, the hash of the block whose number is its input.
const HASHER: [u8; 7] = hex!("5f35405f355500");
const HOUR: Duration = Duration::from_secs(3_600);

fn simulation() -> Simulation {
    let builder = Runtime::builder().workers(2).discipline(Discipline::Fifo);
    builder.quantum(Duration::from_millis(100)).simulate(1).unwrap()
}

fn settings(depth: u64) -> Config {
    Config { checkpoint_bytes: 1, prune_depth: NonZeroU64::new(depth), ..config() }
}

fn store(disk: &SimDisk) -> DiskStore {
    let options = Options { salt: 1, cache_bytes: 0, ..Options::default() };
    DiskStore::open(Arc::new(disk.clone()), options).unwrap()
}

fn open(simulation: &Simulation, config: &Config, disk: &SimDisk) -> Shards {
    let store = Arc::new(store(disk));
    Shards::open(&simulation.handle(), config.clone(), store, 1_700_000_000).unwrap()
}

fn include(simulation: &mut Simulation, shards: &Shards, transaction: &Arc<Transaction>) {
    let accepted = shards.accept(shard(0), transaction.clone()).unwrap();
    simulation.block_on(accepted).unwrap().unwrap();
    simulation.run_for(HOUR);
}

fn one(shards: &Shards) -> Shard {
    shards.get(shard(0)).unwrap()
}

fn statistics(disk: &SimDisk) -> Statistics {
    store(&disk.crash(Unsynced::Lost)).statistics().unwrap()
}

fn entries(statistics: &Statistics, table: Table) -> u64 {
    statistics.tables[table as usize].entries
}

fn is_pruned<T: std::fmt::Debug>(found: Result<T, StoreError>, of: u64) -> bool {
    matches!(found, Err(StoreError::Pruned { number, .. }) if number == of)
}

/// The first block that is kept. What is before it is refused, and what comes after it is right:
/// the sender has paid the same in each block.
fn check(one: &Shard, funds: &[U256]) -> u64 {
    let tip = one.tip().number();
    let first = (1..=tip).find(|&number| one.block(number).is_ok()).unwrap();
    for number in 1..first {
        assert!(is_pruned(one.block(number), number));
        assert!(is_pruned(one.header(number), number));
        assert!(is_pruned(one.included_at(Position { number, index: 0 }), number));
        assert!(is_pruned(one.calls(number, 21_000, |_| ()), number));
    }
    for number in 0..=tip {
        let found = one.state_at(number).unwrap().account(account(0));
        if number + 1 < first {
            assert!(is_pruned(found, number), "the state at {number}");
        } else {
            assert_eq!(found.unwrap().unwrap().balance, funds[number as usize]);
        }
    }
    for number in first..=tip {
        let block = one.block(number).unwrap().unwrap();
        assert_eq!(one.block_number(block.hash).unwrap(), Some(number));
        for (index, transaction) in block.transactions.iter().enumerate() {
            let (at, found, _) = one.transaction(transaction.hash()).unwrap().unwrap();
            assert_eq!((at, &found), (Position { number, index: index as u32 }, transaction));
            one.trace(at, &TraceRequest::Calls(Default::default())).unwrap();
        }
    }
    assert_eq!(one.block(0).unwrap().unwrap().number(), 0);
    first
}

#[test]
fn blocks_and_states_below_the_depth_are_refused_and_the_others_are_right() {
    let (mut simulation, mut disk, config) = (simulation(), SimDisk::new(1), settings(5));
    let mut shards = open(&simulation, &config, &disk);
    let mut funds = vec![U256::from(10u128.pow(24))];
    for nonce in 0..40 {
        let transaction = transfer(&config, shard(0), 0, nonce);
        include(&mut simulation, &shards, &transaction);
        funds.push(balance(&shards, shard(0), account(0)));
        let first = check(&one(&shards), &funds);
        // Those that a fold brings stay until the next.
        assert!(first >= nonce.saturating_sub(6), "{first} at {nonce}");
        if nonce % 10 == 9 {
            disk = disk.crash(Unsynced::Lost);
            shards = open(&simulation, &config, &disk);
            assert!(check(&one(&shards), &funds) <= first);
            simulation.run_for(HOUR);
        }
    }
    assert_eq!(one(&shards).transaction(transfer(&config, shard(0), 0, 3).hash()).unwrap(), None);
    let said = one(&shards).block(3).unwrap_err().to_string();
    assert!(said.starts_with("block 3 was pruned: this node keeps the last "), "{said}");
    let found = statistics(&disk);
    assert!(found.pruned_blocks > 30, "{found:?}");
    for table in [Table::Blocks, Table::Changes, Table::BlockHashes, Table::Transactions] {
        assert!(entries(&found, table) < 10, "{found:?}");
    }
    // Three accounts in each block.
    assert!(entries(&found, Table::AccountHistory) < 30, "{found:?}");
}

#[test]
fn the_last_256_hashes_are_known_whatever_the_depth() {
    let (mut simulation, disk, mut config) = (simulation(), SimDisk::new(1), settings(2));
    config.checkpoint_bytes = 4 << 10;
    let hasher = Address::repeat_byte(0xcc);
    let mut shards = open(&simulation, &config, &disk);
    let set = Amendment::new().code(hasher, HASHER.to_vec().into());
    simulation.block_on(shards.amend(shard(0), set)).unwrap().unwrap();
    let mut hashes = vec![B256::ZERO, one(&shards).tip().hash];
    for round in 0..2u64 {
        for _ in 0..300 {
            let mined = simulation.block_on(shards.amend(shard(0), Amendment::new()));
            hashes.push(mined.unwrap().unwrap().hash);
        }
        simulation.run_for(HOUR);
        let next = one(&shards).tip().number() + 1;
        let asked = [1, 2, 3, 100, 254, 255, 256].map(|back| next - back);
        for (nonce, number) in asked.into_iter().enumerate() {
            let (nonce, word) = (round * 7 + nonce as u64, U256::from(number).to_be_bytes_vec());
            let to = TxKind::Call(hasher);
            let call = send(&config, shard(0), 0, nonce, to, 0, 100_000, Bytes::from(word));
            drop(shards.accept(shard(0), call).unwrap());
        }
        simulation.run_for(HOUR);
        assert_eq!(one(&shards).tip().number(), next, "all are in one block");
        hashes.push(one(&shards).tip().hash);
        for number in asked {
            let found = one(&shards).state().storage(hasher, U256::from(number)).unwrap();
            assert_eq!(B256::from(found), hashes[number as usize], "block {number}");
        }
        // And they are found again by execution.
        for index in 0..7 {
            let at = Position { number: next, index };
            one(&shards).trace(at, &TraceRequest::Calls(Default::default())).unwrap();
        }
        shards = open(&simulation, &config, &disk.crash(Unsynced::Lost));
    }
    assert!(statistics(&disk).pruned_blocks > 250);
    assert!(entries(&statistics(&disk), Table::Pruned) <= 257);
}

#[test]
fn what_is_older_goes_in_portions_when_pruning_is_turned_on_later() {
    let (mut simulation, disk) = (simulation(), SimDisk::new(1));
    let without = Config { prune_depth: None, checkpoint_bytes: 64 << 10, ..config() };
    let shards = open(&simulation, &without, &disk);
    for _ in 0..3_000 {
        simulation.block_on(shards.amend(shard(0), Amendment::new())).unwrap().unwrap();
    }
    simulation.run_for(HOUR);
    assert_eq!(statistics(&disk).pruned_blocks, 0);
    drop(shards);
    let disk = disk.crash(Unsynced::Lost);
    let shards = open(&simulation, &settings(10), &disk);
    let mut seen = Vec::new();
    for _ in 0..8 {
        simulation.block_on(shards.amend(shard(0), Amendment::new())).unwrap().unwrap();
        simulation.run_for(HOUR);
        seen.push(statistics(&disk).pruned_blocks);
    }
    assert!(
        seen.windows(2).all(|pair| pair[0] <= pair[1] && pair[1] - pair[0] < 2_000),
        "{seen:?}"
    );
    assert!(seen[0] < 3_000 && seen[7] >= 2_990, "{seen:?}");
}

#[test]
fn one_that_was_dropped_and_included_later_is_not_dropped_when_its_block_is_pruned() {
    let (mut simulation, disk, config) = (simulation(), SimDisk::new(1), settings(3));
    let shards = open(&simulation, &config, &disk);
    let early = transfer(&config, shard(0), 0, 1);
    include(&mut simulation, &shards, &early);
    let status = || one(&shards).transaction_status(early.hash()).unwrap();
    simulation.run_for(3 * HOUR);
    assert_eq!(shards.expire(), 1, "those before it never came");
    simulation.run_for(HOUR);
    assert!(matches!(status(), Some(TransactionStatus::Dropped(_))), "{:?}", status());
    for nonce in 0..20 {
        include(&mut simulation, &shards, &transfer(&config, shard(0), 0, nonce));
    }
    assert!(is_pruned(one(&shards).block(2), 2));
    assert_eq!(status(), None);
}

#[test]
fn there_is_no_way_back_to_a_state_that_was_pruned() {
    let (mut simulation, disk, config) = (simulation(), SimDisk::new(1), settings(5));
    let shards = open(&simulation, &config, &disk);
    for nonce in 0..20 {
        include(&mut simulation, &shards, &transfer(&config, shard(0), 0, nonce));
    }
    let back = simulation.block_on(shards.amend(shard(0), Amendment::revert_to(3))).unwrap();
    assert!(matches!(back, Err(AmendError::Store(StoreError::Pruned { .. }))), "{back:?}");
    let tip = one(&shards).tip().number();
    simulation.block_on(shards.amend(shard(0), Amendment::revert_to(tip - 4))).unwrap().unwrap();
    // It is found at its newest place when its first is gone.
    for nonce in 16..20 {
        include(&mut simulation, &shards, &transfer(&config, shard(0), 0, nonce));
        let hash = transfer(&config, shard(0), 0, nonce).hash();
        let (at, ..) = one(&shards).transaction(hash).unwrap().unwrap();
        assert_eq!(at.number, nonce + 6);
    }
}
