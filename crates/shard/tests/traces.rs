//! Call trees that are kept with their block: are they those that executing it again would give?

mod common;

use std::{num::NonZeroU64, sync::Arc, time::Duration};

use alloy_consensus::{TxEip1559, TypedTransaction};
use alloy_primitives::{Address, Bytes, TxKind, U256, hex};
use alloy_rpc_types_trace::geth::{CallConfig, CallFrame, PreStateConfig};
use common::{account, config, send, settle, shard};
use kernel::{Discipline, Runtime, Simulation};
use revm::primitives::hardfork::SpecId;
use shard::{
    Config, Position, Shards, Transaction,
    amend::Amendment,
    config::{GenesisAccount, Traces},
    disk::{SimDisk, Unsynced},
    store::{Change, DiskStore, MemoryStore, Options, Statistics, Store, Table},
    trace::{Trace, TraceRequest},
};

/// Burns gas in a loop, then adds one to a slot that its caller chooses.
const HEAVY: [u8; 25] = hex!("610bb85b6001900380600357506000355460010160003555" "00");
/// Calls whom its input names, with one wei, and then fails if that has failed. Before Osaka it fails
/// at once: there is no CLZ.
const CALLER: [u8; 21] = hex!("5f1e50" "5f5f5f5f60015f355af1601357" "5f5ffd" "5b00");
/// Fails.
const FAILING: [u8; 3] = hex!("5f5ffd");
/// Makes a thousand calls with 256 KiB of input each.
const MANY: [u8; 26] = hex!("6103e8" "5b" "5f5f62040000" "5f5f60e05ff150" "6001900380600357" "00");
const HOUR: Duration = Duration::from_secs(3_600);

fn heavy() -> Address {
    Address::repeat_byte(0xc0)
}

fn caller() -> Address {
    Address::repeat_byte(0xc1)
}

fn failing() -> Address {
    Address::repeat_byte(0xc2)
}

fn settings(traces: Traces) -> Config {
    let mut config = config();
    let contracts = [(heavy(), &HEAVY[..]), (caller(), &CALLER), (failing(), &FAILING)];
    for (address, code) in contracts {
        let (balance, code) = (U256::from(1_000), code.to_vec().into());
        let account = GenesisAccount { nonce: 1, balance, code, ..Default::default() };
        config.genesis.accounts.insert(address, account);
    }
    config.rules.block_transactions_max = 70;
    Config { traces, ..config }
}

fn calls() -> TraceRequest {
    TraceRequest::Calls(CallConfig::default())
}

/// Some that call somebody, some that fail, and some that only burn gas.
fn input(from: u64, nonce: u64) -> (Address, Bytes) {
    let word = |address: Address| Bytes::from(address.into_word().to_vec());
    match nonce % 10 {
        8 => (caller(), word(account(50))),
        9 => (caller(), word(failing())),
        _ => (heavy(), Bytes::from(U256::from(from).to_be_bytes_vec())),
    }
}

/// All call trees of the one shard.
fn all(shards: &Shards) -> Vec<(Position, Trace)> {
    let one = &shards.all()[0];
    let of = |number| {
        let count = one.block(number).unwrap().unwrap().transactions.len() as u32;
        (0..count).map(move |index| Position { number, index })
    };
    let positions = (1..=one.tip().number()).flat_map(of);
    positions.map(|at| (at, one.trace(at, &calls()).unwrap())).collect()
}

#[test]
fn trees_that_are_kept_are_those_of_executing_again_for_both_executors() {
    for parallel in [true, false] {
        let builder = Runtime::builder().workers(2).discipline(Discipline::Fifo);
        let runtime = builder.quantum(HOUR).build().unwrap();
        let config = Config { parallel, ..settings(Traces::Stored) };
        let store = Arc::new(MemoryStore::new());
        let shards = common::open(&runtime, &config, store.clone());
        common::pause(&runtime);
        for nonce in 0..20 {
            for from in 0..7 {
                let (to, input) = input(from, nonce);
                let to = TxKind::Call(to);
                let call = send(&config, shard(1), from, nonce, to, 0, 200_000, input);
                drop(shards.accept(shard(1), call).unwrap());
            }
        }
        runtime.resume();
        settle(&shards, 7 * 20);
        // In the log behind the trees of all.
        shards.amend(shard(1), Amendment::new()).wait().unwrap();
        assert_eq!(shards.parallel_blocks() > 0, parallel);
        let crashed = store.crash();
        forge(&crashed);
        let kept = all(&common::open(&runtime, &before_osaka(&config), Arc::new(crashed)));
        let has_failed = |frame: &CallFrame| !frame.calls.is_empty() && frame.error.is_some();
        let failed = |tree: &&Trace| matches!(tree, Trace::Calls(frame) if has_failed(frame));
        assert_eq!(kept.iter().map(|(_, tree)| tree).filter(failed).count(), 7 * 2);
        // Nothing here logs, so what is executed again for the logs differs in nothing.
        let logs = CallConfig { with_log: Some(true), ..CallConfig::default() };
        let one = shards.get(shard(1)).unwrap();
        for (at, tree) in kept.iter().step_by(11) {
            assert_eq!(*tree, one.trace(*at, &TraceRequest::Calls(logs)).unwrap());
        }
    }
}

/// Under these rules executing again would give other trees.
fn before_osaka(config: &Config) -> Config {
    let mut other = config.clone();
    other.rules.fork = SpecId::PRAGUE;
    other.traces = Traces::OnDemand;
    other
}

/// Lets the data say that it was made under them: else it would not be opened.
fn forge(store: &dyn Store) {
    let (key, value) = (b"fork".to_vec(), b"Prague".to_vec());
    let put = Change::Put { table: Table::Meta, key, value };
    store.fold(store.folded(), &mut std::iter::once(put)).unwrap();
}

fn simulation() -> Simulation {
    let builder = Runtime::builder().workers(2).discipline(Discipline::Fifo);
    builder.quantum(Duration::from_millis(100)).simulate(1).unwrap()
}

fn store(disk: &SimDisk) -> DiskStore {
    let options = Options { salt: 1, cache_bytes: 0, ..Options::default() };
    DiskStore::open(Arc::new(disk.clone()), options).unwrap()
}

fn open(simulation: &Simulation, config: &Config, disk: &SimDisk) -> Shards {
    let store = Arc::new(store(disk));
    Shards::open(&simulation.handle(), config.clone(), store, 1_700_000_000).unwrap()
}

fn statistics(disk: &SimDisk) -> Statistics {
    store(&disk.crash(Unsynced::Lost)).statistics().unwrap()
}

fn include(simulation: &mut Simulation, shards: &Shards, config: &Config, nonce: u64) {
    let to = TxKind::Call(caller());
    let word = Bytes::from(account(50).into_word().to_vec());
    let call = send(config, shard(0), 0, nonce, to, 0, 200_000, word);
    simulation.block_on(shards.accept(shard(0), call).unwrap()).unwrap().unwrap();
    simulation.run_for(HOUR);
}

#[test]
fn what_is_kept_is_given_without_executing_and_survives_a_crash() {
    // In the log, and folded.
    for checkpoint_bytes in [1 << 20, 1] {
        let (mut simulation, disk) = (simulation(), SimDisk::new(1));
        let config = Config { checkpoint_bytes, ..settings(Traces::Stored) };
        let shards = open(&simulation, &config, &disk);
        for nonce in 0..5 {
            include(&mut simulation, &shards, &config, nonce);
        }
        let kept = all(&shards);
        assert_eq!(kept.len(), 5);
        let crashed = disk.crash(Unsynced::Lost);
        forge(&store(&crashed));
        let shards = open(&simulation, &before_osaka(&config), &crashed);
        assert_eq!(all(&shards), kept);
        let one = shards.get(shard(0)).unwrap();
        let top = CallConfig { only_top_call: Some(true), ..CallConfig::default() };
        let again = one.trace(Position { number: 1, index: 0 }, &TraceRequest::Calls(top)).unwrap();
        assert!(matches!(again, Trace::Calls(frame) if frame.error.is_some()));
        assert!(one.trace(Position { number: 1, index: 1 }, &calls()).is_err());
    }
}

#[test]
fn blocks_from_before_it_was_turned_on_are_executed_again() {
    let (mut simulation, disk, config) =
        (simulation(), SimDisk::new(1), settings(Traces::OnDemand));
    let shards = open(&simulation, &config, &disk);
    include(&mut simulation, &shards, &config, 0);
    let before = all(&shards);
    let config = settings(Traces::Stored);
    let shards = open(&simulation, &config, &disk.crash(Unsynced::Lost));
    include(&mut simulation, &shards, &config, 1);
    let both = all(&shards);
    assert_eq!((both.len(), &both[0]), (2, &before[0]));
}

/// Whether fees are charged and signatures are asked for may change from start to start.
#[test]
fn a_block_is_executed_again_as_it_was_whatever_is_chosen_now() {
    for no_fee in [false, true] {
        let (mut simulation, disk) = (simulation(), SimDisk::new(1));
        let mut config = settings(Traces::OnDemand);
        config.rules.no_fee = no_fee;
        let shards = open(&simulation, &config, &disk);
        include(&mut simulation, &shards, &config, 0);
        if no_fee {
            let fields = TxEip1559 {
                chain_id: config.rules.chain_id(shard(0)),
                gas_limit: 21_000,
                to: TxKind::Call(account(60)),
                ..TxEip1559::default()
            };
            let free = Transaction::unsigned(TypedTransaction::Eip1559(fields), account(1));
            let accepted = shards.accept(shard(0), Arc::new(free)).unwrap();
            simulation.block_on(accepted).unwrap().unwrap();
            simulation.run_for(HOUR);
        }
        let changed = |shards: &Shards| -> Vec<Trace> {
            let diff = PreStateConfig { diff_mode: Some(true), ..PreStateConfig::default() };
            let one = shards.get(shard(0)).unwrap();
            let of = |number| {
                one.trace(Position { number, index: 0 }, &TraceRequest::PreState(diff)).unwrap()
            };
            (1..=one.tip().number()).map(of).collect()
        };
        let before = changed(&shards);
        config.rules.no_fee = !no_fee;
        config.rules.no_account_validation = false;
        let shards = open(&simulation, &config, &disk.crash(Unsynced::Lost));
        assert_eq!(changed(&shards), before, "{no_fee}");
    }
}

#[test]
fn trees_that_take_too_much_are_not_kept_and_those_of_the_next_block_are() {
    let (mut simulation, disk) = (simulation(), SimDisk::new(1));
    let mut config = Config { checkpoint_bytes: 1, ..settings(Traces::Stored) };
    let (many, code) = (Address::repeat_byte(0xc3), MANY.to_vec().into());
    let account = GenesisAccount { nonce: 1, code, ..Default::default() };
    config.genesis.accounts.insert(many, account);
    let shards = open(&simulation, &config, &disk);
    let to = TxKind::Call(many);
    let call = send(&config, shard(0), 0, 0, to, 0, 2_000_000, Bytes::new());
    simulation.block_on(shards.accept(shard(0), call).unwrap()).unwrap().unwrap();
    simulation.run_for(HOUR);
    include(&mut simulation, &shards, &config, 1);
    simulation.block_on(shards.amend(shard(0), Amendment::new())).unwrap().unwrap();
    simulation.run_for(HOUR);
    let one = shards.get(shard(0)).unwrap();
    assert!(one.block(1).unwrap().unwrap().receipts[0].success);
    assert!(one.trace(Position { number: 1, index: 0 }, &calls()).is_err());
    one.trace(Position { number: 2, index: 0 }, &calls()).unwrap();
    assert_eq!(statistics(&disk).tables[Table::Traces as usize].entries, 1);
}

#[test]
fn trees_go_with_their_block() {
    let (mut simulation, disk) = (simulation(), SimDisk::new(1));
    let prune_depth = NonZeroU64::new(3);
    let config = Config { checkpoint_bytes: 1, prune_depth, ..settings(Traces::Stored) };
    let shards = open(&simulation, &config, &disk);
    for nonce in 0..20 {
        include(&mut simulation, &shards, &config, nonce);
    }
    simulation.block_on(shards.amend(shard(0), Amendment::new())).unwrap().unwrap();
    simulation.run_for(HOUR);
    let one = shards.get(shard(0)).unwrap();
    assert!(one.trace(Position { number: 2, index: 0 }, &calls()).is_err());
    one.trace(Position { number: 20, index: 0 }, &calls()).unwrap();
    let found = statistics(&disk);
    let entries = |table| found.tables[table as usize].entries;
    assert!(entries(Table::Traces) > 0 && entries(Table::Traces) <= entries(Table::Blocks));
    assert!(entries(Table::Blocks) < 8, "{found:?}");
}
