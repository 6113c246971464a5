//! What can be asked of shards: those that exist, those to come, and their pools.

mod common;

use std::{num::NonZeroUsize, sync::Arc, time::Duration};

use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy_eips::Encodable2718;
use alloy_primitives::{Address, B256, Signature, TxKind, U256, hex};
use common::{GWEI, account, balance, block_on, config, open, send, settle, shard, transfer};
use kernel::{Discipline, Runtime, Simulation};
use revm::primitives::hardfork::SpecId;
use shard::{
    Config, Position, Shard, Shards,
    config::GenesisAccount,
    disk::SimDisk,
    events::{Interest, LogFilter},
    execute::call::{Call, Outcome, Overrides},
    pool::{Queued, Status},
    shard::LogsError,
    shards::{OpenError, SubmitError},
    state::StateReader,
    store::{DiskStore, MemoryStore, Options},
    trace::{Trace, TraceRequest},
};

const CONTRACT: Address = Address::repeat_byte(0xc0);
/// Logs the first word of the input as a topic, and returns the balance of its caller.
const LOGGER: [u8; 14] = hex!("5f355f5fa133315f5260205ff300");
const GAS: u64 = 50_000_000;

fn with_logger() -> Config {
    let mut config = config();
    let account = GenesisAccount { nonce: 1, code: LOGGER.into(), ..Default::default() };
    config.genesis.accounts.insert(CONTRACT, account);
    config
}

fn simulation() -> Simulation {
    Runtime::builder().workers(2).discipline(Discipline::Fifo).simulate(1).unwrap()
}

/// One block for each topic.
fn logged(simulation: &mut Simulation, shards: &Shards, config: &Config, topics: &[u8]) -> Shard {
    for (nonce, topic) in (0..).zip(topics) {
        let input = B256::repeat_byte(*topic).to_vec().into();
        let to = TxKind::Call(CONTRACT);
        let transaction = send(config, shard(1), 0, nonce, to, 0, 100_000, input);
        simulation.block_on(shards.accept(shard(1), transaction).unwrap()).unwrap().unwrap();
        simulation.run_for(Duration::from_secs(60));
    }
    shards.get(shard(1)).unwrap()
}

fn with_topics(topics: &[u8]) -> LogFilter {
    let topics = topics.iter().map(|topic| B256::repeat_byte(*topic)).collect();
    LogFilter::new([], [topics, vec![], vec![], vec![]])
}

#[test]
fn a_shard_to_come_answers_from_genesis_and_stays_there_when_it_is_created() {
    let runtime = Runtime::new().unwrap();
    let config = config();
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    let early = shards.look(shard(1));
    let check = |early: &Shard| {
        assert!(!early.exists());
        assert_eq!(early.chain_id(), config.rules.chain_id(shard(1)));
        assert_eq!((early.tip().number(), early.status().height), (0, 0));
        assert_eq!(early.block(0).unwrap(), Some(early.tip()));
        assert_eq!(early.block_by_hash(early.tip().hash).unwrap(), Some(early.tip()));
        assert!(early.block(1).unwrap().is_none() && early.state_at(1).is_none());
        assert_eq!(early.next_nonce(account(0)).unwrap(), 0);
        let found = early.state().account(account(0)).unwrap().unwrap();
        assert_eq!(found.balance, U256::from(10u128.pow(24)));
        assert!(early.transaction(B256::ZERO).unwrap().is_none());
        assert!(early.trace(Position { number: 0, index: 0 }, &TraceRequest::Flat).is_err());
        assert!(early.pool_content(10).is_empty() && early.pool_counts().pending == 0);
    };
    check(&early);
    assert!(shards.is_empty() && shards.get(shard(1)).is_none());
    let transaction = transfer(&config, shard(1), 0, 0);
    shards.accept(shard(1), transaction).unwrap().wait().unwrap();
    settle(&shards, 1);
    check(&early);
    let now = shards.look(shard(1));
    assert!(now.exists() && now.tip().number() == 1);
    assert_eq!(now.block(0).unwrap(), early.block(0).unwrap());
}

#[test]
fn senders_are_recovered_on_the_other_runtime_and_blocks_are_made_on_the_first() {
    let (runtime, others) = (Runtime::new().unwrap(), Runtime::new().unwrap());
    let config = config();
    let store = Arc::new(MemoryStore::new());
    let shards = Shards::open_beside(&runtime, &others, config.clone(), store, 0).unwrap();
    others.shutdown();
    shards.accept(shard(1), transfer(&config, shard(1), 0, 0)).unwrap().wait().unwrap();
    settle(&shards, 1);
    let fields = TxEip1559 { chain_id: config.rules.chain_id(shard(1)), ..Default::default() };
    let signed = TxEnvelope::from(fields.into_signed(Signature::test_signature()));
    let submitted = block_on(shards.submit(shard(1), signed.encoded_2718().into()));
    assert_eq!(submitted, Err(SubmitError::Stopped));
}

#[test]
fn what_a_pool_holds_is_given_by_sender_and_nonce_up_to_a_limit() {
    let runtime = Runtime::new().unwrap();
    let config = config();
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    // A gap before each, so they stay.
    for from in [3, 1, 2] {
        for nonce in [2, 1] {
            let transaction = transfer(&config, shard(1), from, nonce);
            shards.accept(shard(1), transaction).unwrap().wait().unwrap();
        }
    }
    let one = shards.get(shard(1)).unwrap();
    let counts = one.pool_counts();
    assert_eq!((counts.pending, counts.waiting), (0, 6));
    let all: Vec<_> = [1, 2, 3]
        .into_iter()
        .flat_map(|from| [1, 2].map(|nonce| transfer(&config, shard(1), from, nonce)))
        .collect();
    for most in 0..=7 {
        let content = one.pool_content(most);
        let expected = &all[..most.min(6)];
        assert!(content.iter().map(|(transaction, _)| transaction).eq(expected), "{most}");
        let waits = Status::Queued(Queued::Missing { nonce: 0 });
        assert!(content.iter().all(|(_, status)| *status == waits));
    }
    let of_two = one.pool_content_of(account(2));
    assert!(of_two.iter().map(|(transaction, _)| transaction).eq(&all[2..4]));
    assert_eq!(one.pooled(all[3].hash()), Some(all[3].clone()));
    assert_eq!(one.pooled(B256::ZERO), None);
}

#[test]
fn calls_see_the_state_and_the_context_of_their_block() {
    let (mut simulation, config) = (simulation(), with_logger());
    let config = Config { checkpoint_bytes: 1, ..config };
    let shards = open(&simulation, &config, Arc::new(MemoryStore::new()));
    let one = logged(&mut simulation, &shards, &config, &[1, 2, 3]);
    let call = Call {
        from: account(0),
        to: TxKind::Call(CONTRACT),
        input: [0; 32].into(),
        ..Call::default()
    };
    for number in 0..=3 {
        let called = one.calls(number, GAS, |calls| {
            assert_eq!(calls.context.height, number);
            calls.call(&call, &Overrides::default()).unwrap()
        });
        let Some(Outcome::Returned { output, .. }) = called.unwrap() else { panic!("{number}") };
        let then = one.state_at(number).unwrap().account(account(0)).unwrap().unwrap().balance;
        assert_eq!(U256::from_be_slice(&output), then);
    }
    assert!(one.calls(4, GAS, |_| ()).unwrap().is_none());
}

#[test]
fn a_block_is_traced_as_its_transactions_are() {
    let runtime = Runtime::new().unwrap();
    let config = config();
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    for nonce in 0..5 {
        drop(shards.accept(shard(1), transfer(&config, shard(1), 0, nonce)).unwrap());
    }
    settle(&shards, 5);
    let one = shards.get(shard(1)).unwrap();
    for number in 1..=one.tip().number() {
        let block = one.block(number).unwrap().unwrap();
        let traces = one.trace_block(number, &TraceRequest::Flat).unwrap();
        assert_eq!(traces.len(), block.transactions.len());
        for (index, trace) in (0..).zip(&traces) {
            let alone = one.trace(Position { number, index }, &TraceRequest::Flat).unwrap();
            let (Trace::Flat(alone), Trace::Flat(trace)) = (&alone, trace) else { panic!() };
            assert_eq!(alone, trace);
        }
    }
    assert!(one.trace_block(one.tip().number() + 1, &TraceRequest::Flat).is_err());
}

#[test]
fn logs_are_the_same_from_memory_and_from_the_tables() {
    let mut both = Vec::new();
    for checkpoint_bytes in [1, 64 << 20] {
        let (mut simulation, config) = (simulation(), with_logger());
        let config = Config { checkpoint_bytes, ..config };
        let shards = open(&simulation, &config, Arc::new(MemoryStore::new()));
        let one = logged(&mut simulation, &shards, &config, &[1, 2, 1, 3, 1]);
        assert_eq!(shards.commit_counts().folds > 0, checkpoint_bytes == 1);
        let found = one.logs(0, 100, &with_topics(&[1]), 3).unwrap();
        let numbers: Vec<u64> = found.iter().map(|found| found.block_number).collect();
        assert_eq!(numbers, [1, 3, 5]);
        for entry in &found {
            let block = one.block_by_hash(entry.block_hash).unwrap().unwrap();
            assert_eq!(
                (block.number(), 0, 0),
                (entry.block_number, entry.transaction_index, entry.log_index)
            );
            assert_eq!(block.header.timestamp, entry.block_timestamp);
            assert_eq!(block.transactions[0].hash(), entry.transaction_hash);
            assert_eq!(block.receipts[0].logs[0], entry.log);
        }
        assert_eq!(one.logs(2, 4, &with_topics(&[1, 3]), 9).unwrap().len(), 2);
        assert_eq!(one.logs(6, 9, &LogFilter::default(), 9), Ok(vec![]));
        let many = one.logs(0, 5, &LogFilter::default(), 2);
        assert_eq!(many, Err(LogsError::TooMany { found: 3, most: 2, block: 3 }));
        both.push(found);
    }
    assert_eq!(both[0], both[1]);
}

#[test]
fn the_logs_of_several_blocks_have_a_limit_in_bytes_and_those_of_one_do_not() {
    let mut config = config();
    // Logs three times 512 KiB.
    let code = hex!("620800005fa0" "620800005fa0" "620800005fa0" "00").into();
    let account = GenesisAccount { nonce: 1, code, ..Default::default() };
    config.genesis.accounts.insert(CONTRACT, account);
    config.rules.block_gas_limit = 100_000_000;
    let builder = Runtime::builder().workers(2).quantum(Duration::from_millis(100));
    let mut simulation = builder.simulate(1).unwrap();
    let shards = open(&simulation, &config, Arc::new(MemoryStore::new()));
    for nonces in [0..6, 6..7] {
        for nonce in nonces {
            let to = TxKind::Call(CONTRACT);
            let call = send(&config, shard(1), 0, nonce, to, 0, 15_000_000, Default::default());
            drop(shards.accept(shard(1), call).unwrap());
        }
        simulation.run_for(Duration::from_secs(60));
    }
    let one = shards.get(shard(1)).unwrap();
    assert_eq!(one.tip().number(), 2, "all six are in one block");
    let count = |from, to| one.logs(from, to, &LogFilter::default(), 100).map(|found| found.len());
    assert_eq!(count(1, 2), Err(LogsError::TooLong { bytes: 9 << 20, block: 1 }));
    assert_eq!((count(1, 1), count(2, 2), count(2, 9)), (Ok(18), Ok(3), Ok(3)));
}

#[test]
fn who_wants_to_know_hears_of_an_acceptance_before_the_block() {
    let runtime = Runtime::new().unwrap();
    let config = config();
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    let room = NonZeroUsize::new(100).unwrap();
    let mut accepted = shards.subscribe_accepted(room, Some(shard(1)));
    let mut blocks = shards.subscribe(room, Interest { shard: Some(shard(1)), logs: None });
    for to in [2, 1] {
        drop(shards.accept(shard(to), transfer(&config, shard(to), 0, 0)).unwrap());
    }
    block_on(blocks.next()).unwrap();
    let event = accepted.try_next().unwrap().expect("it was told of before");
    assert_eq!(event.shard, shard(1));
    assert_eq!(event.transaction, transfer(&config, shard(1), 0, 0));
    assert_eq!(accepted.try_next(), Ok(None), "the other shard's is not ours");
}

#[test]
fn an_acceptance_that_could_not_be_written_is_told_of_when_it_is() {
    let (mut simulation, disk, config) = (simulation(), SimDisk::new(1), config());
    let store = DiskStore::open(Arc::new(disk.clone()), Options::default()).unwrap();
    let shards = open(&simulation, &config, Arc::new(store));
    let mut accepted = shards.subscribe_accepted(NonZeroUsize::new(9).unwrap(), None);
    let transaction = transfer(&config, shard(1), 0, 1);
    disk.fail_syncs(true);
    let refused = shards.accept(shard(1), transaction.clone()).unwrap();
    assert!(simulation.block_on(refused).unwrap().is_err());
    assert_eq!(accepted.try_next(), Ok(None));
    disk.fail_syncs(false);
    simulation.run_for(Duration::from_secs(60));
    simulation.block_on(shards.accept(shard(1), transaction.clone()).unwrap()).unwrap().unwrap();
    assert_eq!(accepted.try_next().unwrap().map(|event| event.transaction), Some(transaction));
    assert_eq!(accepted.try_next(), Ok(None));
}

#[test]
fn a_time_that_was_moved_forward_dates_the_blocks_of_all_shards() {
    let runtime = Runtime::new().unwrap();
    let config = config();
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    let later = shards.unix_time() + 1_000_000;
    assert_eq!(shards.set_time(later), Ok(later));
    for to in [1, 2] {
        shards.accept(shard(to), transfer(&config, shard(to), 0, 0)).unwrap().wait().unwrap();
    }
    settle(&shards, 2);
    for to in [1, 2] {
        assert!(shards.get(shard(to)).unwrap().tip().header.timestamp >= later);
    }
    assert!(shards.set_time(later - 1).is_err());
    assert_eq!(shards.expire(), 0);
}

#[test]
fn a_status_tells_the_place_in_the_queue() {
    let runtime = Runtime::builder().workers(2).discipline(Discipline::Fifo).build().unwrap();
    let config = config();
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    common::pause(&runtime);
    for to in 1..=3 {
        shards.accept(shard(to), transfer(&config, shard(to), 0, 0)).unwrap().wait().unwrap();
    }
    let places = || [1, 2, 3].map(|to| shards.get(shard(to)).unwrap().status().queue_position);
    assert_eq!(places(), [Some(0), Some(1), Some(2)]);
    runtime.resume();
    settle(&shards, 3);
    for to in 1..=3 {
        assert_eq!(balance(&shards, shard(to), account(1_000)), U256::from(5));
    }
}

#[test]
fn a_status_tells_that_a_shard_backs_off_and_no_longer_when_it_does_not() {
    let (mut simulation, disk, config) = (simulation(), SimDisk::new(1), config());
    let store = DiskStore::open(Arc::new(disk.clone()), Options::default()).unwrap();
    let shards = open(&simulation, &config, Arc::new(store));
    disk.fail_syncs(true);
    let refused = shards.accept(shard(1), transfer(&config, shard(1), 0, 0)).unwrap();
    assert!(simulation.block_on(refused).unwrap().is_err());
    let one = shards.get(shard(1)).unwrap();
    let backs_off = (0..1_000).find_map(|_| {
        simulation.run_for(Duration::from_millis(1));
        one.status().backing_off
    });
    let backs_off = backs_off.expect("it could not commit");
    assert!(backs_off.left > Duration::ZERO && !backs_off.why.is_empty(), "{backs_off:?}");
    disk.fail_syncs(false);
    simulation.run_for(Duration::from_secs(60));
    assert_eq!((one.tip().number(), one.status().backing_off), (1, None));
}

#[test]
fn data_of_another_genesis_or_fork_is_refused() {
    let (mut simulation, disk, config) = (simulation(), SimDisk::new(1), config());
    let open = |simulation: &Simulation, config: &Config| {
        let store = DiskStore::open(Arc::new(disk.clone()), Options::default()).unwrap();
        Shards::open(simulation, config.clone(), Arc::new(store), 0)
    };
    drop(open(&simulation, &config).unwrap());
    simulation.run();
    let mut richer = config.clone();
    richer.genesis.accounts.entry(account(0)).or_default().balance += U256::from(GWEI);
    let mut later = config.clone();
    later.genesis.timestamp += 1;
    let mut larger = config.clone();
    larger.rules.block_gas_limit += 1;
    for other in [richer, later, larger] {
        let error = open(&simulation, &other).unwrap_err();
        assert!(matches!(error, OpenError::Genesis), "{error}");
        simulation.run();
    }
    let mut older = config.clone();
    older.rules.fork = SpecId::PRAGUE;
    let error = open(&simulation, &older).unwrap_err();
    assert!(error.to_string().contains("made for the hard fork Osaka"), "{error}");
    simulation.run();
    open(&simulation, &config).unwrap();
}
