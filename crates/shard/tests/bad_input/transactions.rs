//! Are numbers that do not fit, nonces far ahead and floods refused, each with its reason?

use std::{sync::Arc, time::Duration};

use alloy_consensus::TxEip1559;
use alloy_primitives::{Bytes, TxKind, U256};
use kernel::{Runtime, Simulation};
use shard::{
    Config, Shards, Transaction,
    pool::{Queued, Refusal, Status},
    shard::TransactionStatus,
    shards::SubmitError,
    store::MemoryStore,
    transaction::SharedTransaction,
};

use crate::common::{GWEI, account, config, open, settle, shard, transfer};

fn fields(config: &Config) -> TxEip1559 {
    TxEip1559 {
        chain_id: config.rules.chain_id(shard(1)),
        gas_limit: 21_000,
        max_fee_per_gas: 2 * GWEI,
        max_priority_fee_per_gas: GWEI,
        to: account(5).into(),
        ..Default::default()
    }
}

fn from_first(fields: TxEip1559) -> SharedTransaction {
    Arc::new(Transaction::unsigned(fields.into(), account(0)))
}

fn simulation() -> Simulation {
    Runtime::builder().workers(2).simulate(1).unwrap()
}

fn refusal(shards: &Shards, transaction: SharedTransaction) -> Refusal {
    match shards.accept(shard(1), transaction) {
        Err(SubmitError::Refused(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// A transaction, and whether a refusal is the right one.
type Case = (TxEip1559, fn(&Refusal) -> bool);

#[test]
fn numbers_that_overflow_are_refused() {
    let (runtime, config) = (Runtime::new().unwrap(), config());
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    let fields = fields(&config);
    let cases: [Case; 7] = [
        (TxEip1559 { value: U256::MAX, ..fields.clone() }, |why| {
            matches!(why, Refusal::InsufficientFunds { cost: U256::MAX, .. })
        }),
        (TxEip1559 { value: U256::from(10u128.pow(24)), ..fields.clone() }, |why| {
            matches!(why, Refusal::InsufficientFunds { .. })
        }),
        (
            TxEip1559 {
                max_fee_per_gas: u128::MAX,
                max_priority_fee_per_gas: u128::MAX,
                ..fields.clone()
            },
            |why| matches!(why, Refusal::InsufficientFunds { .. }),
        ),
        (TxEip1559 { max_priority_fee_per_gas: u128::MAX, ..fields.clone() }, |why| {
            matches!(why, Refusal::PriorityFeeAboveMaxFee { .. })
        }),
        (TxEip1559 { gas_limit: u64::MAX, ..fields.clone() }, |why| {
            matches!(why, Refusal::ExceedsBlockGasLimit { gas: u64::MAX, .. })
        }),
        (TxEip1559 { gas_limit: 0, ..fields.clone() }, |why| {
            matches!(why, Refusal::IntrinsicGasTooLow { gas: 0, needed: 21_000 })
        }),
        (TxEip1559 { nonce: u64::MAX, ..fields.clone() }, |why| matches!(why, Refusal::NonceIsMax)),
    ];
    for (case, expected) in cases {
        let why = refusal(&shards, from_first(case.clone()));
        assert!(expected(&why), "{case:?}: {why}");
    }
    assert!(shards.is_empty(), "what is refused creates nothing");
    // The same one without these numbers is fine.
    drop(shards.accept(shard(1), from_first(fields)).unwrap());
    settle(&shards, 1);
}

#[test]
fn costs_that_overflow_only_together_are_refused() {
    let runtime = Runtime::new().unwrap();
    let mut config = config();
    let whole = U256::MAX >> 1;
    config.genesis.accounts.get_mut(&account(0)).unwrap().balance = U256::MAX;
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    let fields = TxEip1559 { value: whole, ..fields(&config) };
    // With a gap before it nothing is executed: they wait together.
    for nonce in [1, 2] {
        let one = from_first(TxEip1559 { nonce, value: whole / U256::from(2), ..fields.clone() });
        drop(shards.accept(shard(1), one).unwrap());
    }
    let more = from_first(TxEip1559 { nonce: 3, value: whole + U256::from(1), ..fields });
    let why = refusal(&shards, more);
    assert!(matches!(why, Refusal::InsufficientFunds { .. }), "{why}");
}

#[test]
fn a_balance_can_not_overflow() {
    let runtime = Runtime::new().unwrap();
    let mut config = config();
    config.genesis.accounts.get_mut(&account(5)).unwrap().balance = U256::MAX - U256::from(3);
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    let pay = from_first(TxEip1559 { value: U256::from(4), ..fields(&config) });
    drop(shards.accept(shard(1), pay.clone()).unwrap());
    settle(&shards, 1);
    let one = shards.get(shard(1)).unwrap();
    let (_, _, receipt) = one.transaction(pay.hash()).unwrap().unwrap();
    assert!(!receipt.success, "it is included, and has failed");
    let balance = crate::common::balance(&shards, shard(1), account(5));
    assert_eq!(balance, U256::MAX - U256::from(3));
}

#[test]
fn a_nonce_far_ahead_is_refused_and_one_that_is_not_waits() {
    let (mut simulation, config) = (simulation(), config());
    let shards = open(&simulation, &config, Arc::new(MemoryStore::new()));
    let most = config.pool.nonce_ahead_max;
    for nonce in [most + 1, 1 << 40, u64::MAX - 2_000] {
        let why = refusal(&shards, transfer(&config, shard(1), 0, nonce));
        assert_eq!(why, Refusal::NonceTooHigh { nonce, nonce_max: most });
    }
    let ahead = transfer(&config, shard(1), 0, most);
    drop(shards.accept(shard(1), ahead.clone()).unwrap());
    simulation.run_for(Duration::from_secs(1));
    let one = shards.get(shard(1)).unwrap();
    let missing = TransactionStatus::Queued(Status::Queued(Queued::Missing { nonce: 0 }));
    assert_eq!(one.transaction_status(ahead.hash()).unwrap(), Some(missing));
    assert_eq!(one.next_nonce(account(0)).unwrap(), 0);
    // It is in nobody's way.
    drop(shards.accept(shard(1), transfer(&config, shard(1), 1, 0)).unwrap());
    simulation.run_for(Duration::from_secs(1));
    assert_eq!(shards.included(), 1);
    // A nonce that is used is refused.
    let why = refusal(&shards, transfer(&config, shard(1), 1, 0));
    assert_eq!(why, Refusal::NonceTooLow { nonce: 0, next: 1 });
}

#[test]
fn a_sender_that_floods_fills_its_own_share_and_no_more() {
    let mut simulation = simulation();
    let mut config = config();
    config.pool.sender_max = 16;
    let shards = open(&simulation, &config, Arc::new(MemoryStore::new()));
    // Nonce 0 is missing: all of these wait.
    for nonce in 1..=16 {
        drop(shards.accept(shard(1), transfer(&config, shard(1), 0, nonce)).unwrap());
    }
    let full = Refusal::SenderFull { transactions_max: 16 };
    for nonce in 17..1_000 {
        assert_eq!(refusal(&shards, transfer(&config, shard(1), 0, nonce)), full);
    }
    let known = refusal(&shards, transfer(&config, shard(1), 0, 16));
    assert_eq!(known, Refusal::AlreadyKnown);
    // Others have theirs, and this sender in another shard too.
    drop(shards.accept(shard(1), transfer(&config, shard(1), 1, 0)).unwrap());
    drop(shards.accept(shard(2), transfer(&config, shard(2), 0, 0)).unwrap());
    simulation.run_for(Duration::from_secs(1));
    assert_eq!(shards.included(), 2);
    assert_eq!(shards.get(shard(1)).unwrap().status().pool_len, 16);
}

#[test]
fn a_pool_that_is_full_of_a_flood_takes_what_pays_more() {
    let runtime = Runtime::new().unwrap();
    let mut config = config();
    config.pool.transactions_max = 32;
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    let flood: Vec<_> = (0..4).flat_map(|from| (1..=8).map(move |nonce| (from, nonce))).collect();
    for (from, nonce) in &flood {
        drop(shards.accept(shard(1), transfer(&config, shard(1), *from, *nonce)).unwrap());
    }
    let paying = TxEip1559 {
        max_fee_per_gas: 3 * GWEI,
        max_priority_fee_per_gas: 2 * GWEI,
        ..fields(&config)
    };
    let paying = Arc::new(Transaction::unsigned(paying.into(), account(7)));
    shards.accept(shard(1), paying).unwrap().wait().unwrap();
    settle(&shards, 1);
    // One of the flood has given way, and is told so for as long as anyone asks.
    let one = shards.get(shard(1)).unwrap();
    let dropped = flood.iter().filter(|(from, nonce)| {
        let hash = transfer(&config, shard(1), *from, *nonce).hash();
        let status = one.transaction_status(hash).unwrap();
        matches!(status, Some(TransactionStatus::Dropped(_)))
    });
    assert_eq!(dropped.count(), 1);
}

#[test]
fn data_that_costs_more_gas_than_it_brings_is_refused() {
    let (runtime, config) = (Runtime::new().unwrap(), config());
    let shards = open(&runtime, &config, Arc::new(MemoryStore::new()));
    let input = Bytes::from(vec![1; 100_000]);
    let floor = from_first(TxEip1559 { gas_limit: 2_000_000, input, ..fields(&config) });
    let why = refusal(&shards, floor);
    assert!(matches!(why, Refusal::FloorGasTooLow { gas: 2_000_000, .. }), "{why}");
    let input = Bytes::from(vec![1; 60_000]);
    let (to, gas_limit) = (TxKind::Create, 16_000_000);
    let why = refusal(&shards, from_first(TxEip1559 { gas_limit, to, input, ..fields(&config) }));
    assert_eq!(why, Refusal::InitcodeTooLarge { bytes: 60_000, bytes_max: 49_152 });
}
