//! What can a contract do to its shard, and to others?

use std::{sync::Arc, time::Duration};

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, Bytes, U256, hex};
use kernel::{Discipline, Runtime, Simulation};
use revm::primitives::hardfork::SpecId;
use shard::{
    Config, Shards, Transaction,
    config::GenesisAccount,
    disk::{SimDisk, Unsynced},
    state::StateReader,
    store::{DiskStore, MemoryStore, Options},
    trace::{Trace, TraceRequest},
    transaction::SharedTransaction,
};

use crate::common::{GWEI, account, config, open, settle, shard, transfer};

const CONTRACT: Address = Address::repeat_byte(0xc0);

/// `while true {}`
const BURN: [u8; 3] = hex!("5b5f56");
/// Logs 32 KiB at a time, as long as there is gas for more.
const LOG: [u8; 15] = hex!("5b6180005fa05a62050000105f5700");
/// Calls itself with all the gas there is.
const DEEPER: [u8; 9] = hex!("5f5f5f5f5f305af100");
/// Creates [`CHILD`] with CREATE2, always at the same address.
const FACTORY: [u8; 31] =
    hex!("73" "6b3660065733ff5b5f355f5500" "5f52600c6014f3" "5f525f6014600c5ff500");
/// What it creates: without input it destroys itself, otherwise it keeps the input in slot 0.
const CHILD: [u8; 12] = hex!("3660065733ff5b5f355f5500");

fn with_contract(mut config: Config, code: &[u8]) -> Config {
    let account = GenesisAccount { nonce: 1, code: code.to_vec().into(), ..Default::default() };
    config.genesis.accounts.insert(CONTRACT, account);
    config
}

fn call(config: &Config, from: u64, nonce: u64, to: Address, gas: u64) -> SharedTransaction {
    call_with(config, from, nonce, to, gas, Bytes::new())
}

fn call_with(
    config: &Config,
    from: u64,
    nonce: u64,
    to: Address,
    gas_limit: u64,
    input: Bytes,
) -> SharedTransaction {
    let fields = TxEip1559 {
        chain_id: config.rules.chain_id(shard(1)),
        nonce,
        gas_limit,
        max_fee_per_gas: 2 * GWEI,
        max_priority_fee_per_gas: GWEI,
        to: to.into(),
        input,
        ..Default::default()
    };
    Arc::new(Transaction::unsigned(fields.into(), account(from)))
}

fn simulation() -> Simulation {
    let quantum = Duration::from_millis(100);
    let builder = Runtime::builder().workers(2).discipline(Discipline::Fifo).quantum(quantum);
    builder.simulate(1).unwrap()
}

#[test]
fn one_that_burns_the_whole_block_each_time_leaves_others_their_turn() {
    let gas = 2_000_000;
    let mut config = with_contract(config(), &BURN);
    config.rules.block_gas_limit = gas;
    let mut simulation = simulation();
    let shards = open(&simulation, &config, Arc::new(MemoryStore::new()));
    for nonce in 0..40 {
        drop(shards.accept(shard(1), call(&config, 0, nonce, CONTRACT, gas)).unwrap());
    }
    // One in the same shard that pays more, and one in another.
    let fields = TxEip1559 {
        chain_id: config.rules.chain_id(shard(1)),
        gas_limit: 21_000,
        max_fee_per_gas: 4 * GWEI,
        max_priority_fee_per_gas: 3 * GWEI,
        to: account(9).into(),
        ..Default::default()
    };
    let paying = Arc::new(Transaction::unsigned(fields.into(), account(1)));
    drop(shards.accept(shard(1), paying.clone()).unwrap());
    let other = transfer(&config, shard(2), 0, 0);
    drop(shards.accept(shard(2), other.clone()).unwrap());
    simulation.run_for(Duration::from_secs(10));

    let burner = shards.get(shard(1)).unwrap();
    assert_eq!(burner.status().pool_len, 0, "all have found a block");
    let (position, ..) = burner.transaction(paying.hash()).unwrap().unwrap();
    assert!(position.number <= 3, "it was in block {}", position.number);
    for number in 1..=burner.tip().number() {
        let block = burner.block(number).unwrap().unwrap();
        assert!(block.header.gas_used <= gas);
        let burnt = block.receipts.iter().filter(|receipt| receipt.gas_used == gas);
        assert!(burnt.clone().count() <= 1 && burnt.clone().all(|receipt| !receipt.success));
    }
    assert!(shards.get(shard(2)).unwrap().transaction(other.hash()).unwrap().is_some());
}

#[test]
fn one_that_logs_megabytes_gets_its_block_and_the_store_opens_again() {
    let config = with_contract(config(), &LOG);
    let mut simulation = simulation();
    let disk = SimDisk::new(1);
    let open = |simulation: &Simulation, disk: &SimDisk| -> Shards {
        let options = Options { salt: 1, ..Options::default() };
        let store = DiskStore::open(Arc::new(disk.clone()), options).unwrap();
        Shards::open(simulation, config.clone(), Arc::new(store), 1_700_000_000).unwrap()
    };
    let shards = open(&simulation, &disk);
    let calls: Vec<_> = (0..4).map(|nonce| call(&config, 0, nonce, CONTRACT, 14_000_000)).collect();
    for call in &calls {
        let accepted = shards.accept(shard(1), call.clone()).unwrap();
        simulation.block_on(accepted).unwrap().unwrap();
    }
    simulation.run_for(Duration::from_secs(10));
    let check = |shards: &Shards| {
        let one = shards.get(shard(1)).unwrap();
        for call in &calls {
            let (_, _, receipt) = one.transaction(call.hash()).unwrap().unwrap();
            let bytes: usize = receipt.logs.iter().map(|log| log.data.data.len()).sum();
            assert!(receipt.success && bytes > 1_500_000, "{bytes} bytes of logs");
        }
        one.tip().hash
    };
    let tip = check(&shards);
    let disk = disk.crash(Unsynced::Lost);
    let again = self::simulation();
    assert_eq!(check(&open(&again, &disk)), tip);
}

#[test]
fn one_that_destroys_itself_and_is_created_again_begins_anew() {
    let mut config = with_contract(config(), &FACTORY);
    // Later forks only destroy what was created in the same transaction.
    config.rules.fork = SpecId::SHANGHAI;
    config.rules.state_root = true;
    let child = CONTRACT.create2_from_code(U256::ZERO.to_be_bytes(), child_init());
    let seven = Bytes::from(U256::from(7).to_be_bytes_vec());
    let life = [
        call(&config, 0, 0, CONTRACT, 500_000),
        call_with(&config, 0, 1, child, 500_000, seven),
        call(&config, 0, 2, child, 500_000),
        call(&config, 0, 3, CONTRACT, 500_000),
    ];
    // All in one block, and each in its own.
    let mut roots = Vec::new();
    for per_block in [4, 1] {
        config.rules.block_transactions_max = per_block;
        let runtime = Runtime::new().unwrap();
        let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
        crate::common::pause(&runtime);
        for step in &life {
            drop(shards.accept(shard(1), step.clone()).unwrap());
        }
        runtime.resume();
        settle(&shards, 4);
        let one = shards.get(shard(1)).unwrap();
        assert_eq!(one.tip().number(), 4 / per_block as u64);
        let account = one.state().account(child).unwrap().expect("it was created again");
        assert_eq!(one.state().code(account.code_hash).unwrap()[..], CHILD);
        assert_eq!(one.state().storage(child, U256::ZERO).unwrap(), U256::ZERO);
        if per_block == 1 {
            let past = |number| one.state_at(number).unwrap();
            let slots = [1, 2, 3, 4].map(|number| past(number).storage(child, U256::ZERO).unwrap());
            assert_eq!(slots, [0, 7, 0, 0].map(U256::from));
            let there = [1, 2, 3, 4].map(|number| past(number).account(child).unwrap().is_some());
            assert_eq!(there, [true, true, false, true]);
        }
        roots.push(one.tip().header.state_root);
    }
    assert_eq!(roots[0], roots[1], "it does not matter which block did what");
}

fn child_init() -> Vec<u8> {
    FACTORY[1..21].to_vec()
}

#[test]
fn calls_that_go_as_deep_as_they_can_end_and_can_be_traced() {
    let mut config = with_contract(config(), &DEEPER);
    // With the gas of a million blocks the limit is the depth of 1,024.
    config.rules.fork = SpecId::PRAGUE;
    config.rules.block_gas_limit = 1 << 40;
    let runtime = Runtime::new().unwrap();
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    let deep = call(&config, 0, 0, CONTRACT, 1 << 38);
    drop(shards.accept(shard(1), deep.clone()).unwrap());
    settle(&shards, 1);
    let one = shards.get(shard(1)).unwrap();
    let (position, _, receipt) = one.transaction(deep.hash()).unwrap().unwrap();
    assert!(receipt.success, "{receipt:?}");
    let trace = one.trace(position, &TraceRequest::Flat).unwrap();
    let Trace::Flat(calls) = trace else { panic!("{trace:?}") };
    // The last one tried to go one deeper.
    let done = calls.iter().filter(|call| call.trace.error.is_none());
    assert_eq!(done.map(|call| call.trace.trace_address.len()).max(), Some(1_024));
    assert_eq!(calls.iter().map(|call| call.trace.trace_address.len()).max(), Some(1_025));
}
