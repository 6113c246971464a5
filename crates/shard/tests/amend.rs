//! A developer changes the state of a shard: is it the state of a block like any other, and does the
//! shard go on from it?

mod common;

use std::{sync::Arc, time::Duration};

use alloy_primitives::{Address, Bytes, TxKind, U256, hex};
use common::{account, balance, config, send, shard, transfer};
use kernel::{Discipline, Runtime, Simulation};
use shard::{
    Block, Config, Shard, Shards, Transaction,
    amend::{AmendError, Amendment, CODE_BYTES_MAX, ENTRIES_MAX},
    disk::{SimDisk, Unsynced},
    execute::DropReason,
    pool::{Queued, Status},
    shard::TransactionStatus,
    shards::SubmitError,
    state::StateReader,
    store::{DiskStore, MemoryStore, Options},
    trace::TraceRequest,
};

/// Adds one to slot 0.
const COUNTER: [u8; 8] = hex!("5f546001015f5500");
const HOUR: Duration = Duration::from_secs(3_600);

fn simulation() -> Simulation {
    Runtime::builder().workers(2).discipline(Discipline::Fifo).simulate(1).unwrap()
}

fn open(simulation: &Simulation, config: &Config, disk: &SimDisk) -> Shards {
    let options = Options { salt: 1, cache_bytes: 0, ..Options::default() };
    let store = DiskStore::open(Arc::new(disk.clone()), options).unwrap();
    Shards::open(&simulation.handle(), config.clone(), Arc::new(store), 1_700_000_000).unwrap()
}

fn amend(simulation: &mut Simulation, shards: &Shards, amendment: Amendment) -> Arc<Block> {
    simulation.block_on(shards.amend(shard(0), amendment)).unwrap().unwrap()
}

fn refused(simulation: &mut Simulation, shards: &Shards, amendment: Amendment) -> AmendError {
    simulation.block_on(shards.amend(shard(0), amendment)).unwrap().unwrap_err()
}

fn include(simulation: &mut Simulation, shards: &Shards, transaction: &Arc<Transaction>) {
    let accepted = shards.accept(shard(0), transaction.clone()).unwrap();
    simulation.block_on(accepted).unwrap().unwrap();
    simulation.run_for(HOUR);
}

fn one(shards: &Shards) -> Shard {
    shards.get(shard(0)).unwrap()
}

fn status(shards: &Shards, transaction: &Transaction) -> Option<TransactionStatus> {
    one(shards).transaction_status(transaction.hash()).unwrap()
}

fn nonce(shards: &Shards, of: Address) -> u64 {
    one(shards).state().account(of).unwrap().map_or(0, |account| account.nonce)
}

/// A contract that counts its calls.
fn counter() -> Address {
    Address::repeat_byte(0xcc)
}

fn count(config: &Config, from: u64, nonce: u64) -> Arc<Transaction> {
    send(config, shard(0), from, nonce, TxKind::Call(counter()), 0, 100_000, Bytes::new())
}

fn counted(one: &Shard) -> U256 {
    one.state().storage(counter(), U256::ZERO).unwrap()
}

/// Each block follows the one before, and what they have changed leads to the newest state.
fn check_chain(one: &Shard) {
    let mut parent = one.block(0).unwrap().unwrap();
    for number in 1..=one.tip().number() {
        let block = one.block(number).unwrap().expect("there are no gaps");
        assert_eq!(block.header.parent_hash, parent.hash);
        assert_eq!(block.header.hash_slow(), block.hash);
        let (before, after) = (one.state_at(number - 1).unwrap(), one.state_at(number).unwrap());
        for change in &block.changes.accounts {
            assert_eq!(before.account(change.address).unwrap(), change.before);
            assert_eq!(after.account(change.address).unwrap(), change.after);
            for slot in &change.slots {
                assert_eq!(before.storage(change.address, slot.slot).unwrap(), slot.before);
                assert_eq!(after.storage(change.address, slot.slot).unwrap(), slot.after);
            }
        }
        parent = block;
    }
}

#[test]
fn what_is_set_is_there_in_a_block_without_transactions_and_runs() {
    let (mut simulation, config) = (simulation(), config());
    let shards = open(&simulation, &config, &SimDisk::new(1));
    let poor = Address::repeat_byte(0xbb);
    let amendment = Amendment::new()
        .balance(poor, U256::from(7))
        .nonce(poor, 3)
        .code(counter(), COUNTER.to_vec().into())
        .slot(counter(), U256::ZERO, U256::from(40));
    let block = amend(&mut simulation, &shards, amendment);
    assert_eq!((block.number(), block.transactions.len(), block.changes.codes.len()), (1, 0, 1));
    let found = one(&shards).state().account(poor).unwrap().unwrap();
    assert_eq!((found.balance, found.nonce), (U256::from(7), 3));
    for nonce in 0..2 {
        include(&mut simulation, &shards, &count(&config, 0, nonce));
    }
    assert_eq!(counted(&one(&shards)), U256::from(42));
    check_chain(&one(&shards));
    let (position, ..) = one(&shards).transaction(count(&config, 0, 0).hash()).unwrap().unwrap();
    assert_eq!(position.number, 2);
    one(&shards).trace(position, &TraceRequest::Calls(Default::default())).unwrap();
}

#[test]
fn an_empty_amendment_is_an_empty_block() {
    let (mut simulation, config) = (simulation(), config());
    let shards = open(&simulation, &config, &SimDisk::new(1));
    for number in 1..=3 {
        let block = amend(&mut simulation, &shards, Amendment::new());
        assert_eq!((block.number(), &block.changes.accounts[..]), (number, &[][..]));
    }
    check_chain(&one(&shards));
}

#[test]
fn what_was_sent_before_an_amendment_is_executed_before_it_and_what_comes_after_it_after_it() {
    let (mut simulation, config) = (simulation(), config());
    let shards = open(&simulation, &config, &SimDisk::new(1));
    amend(&mut simulation, &shards, Amendment::new().code(counter(), COUNTER.to_vec().into()));
    let mut last = None;
    for round in 0..5 {
        for nonce in 0..20 {
            drop(shards.accept(shard(0), count(&config, 0, round * 20 + nonce)).unwrap());
        }
        last = Some(shards.amend(shard(0), Amendment::new().balance(counter(), U256::from(round))));
    }
    simulation.block_on(last.unwrap()).unwrap().unwrap();
    simulation.run_for(HOUR);
    assert_eq!(counted(&one(&shards)), U256::from(100));
    check_chain(&one(&shards));
    let empty = (1..=one(&shards).tip().number())
        .filter(|&number| one(&shards).block(number).unwrap().unwrap().transactions.is_empty());
    assert_eq!(empty.count(), 6);
}

#[test]
fn after_a_revert_everything_is_as_it_was_and_the_same_transactions_run_again() {
    for (state_root, system_calls) in [(true, false), (true, true), (false, false)] {
        let (mut simulation, disk, mut config) = (simulation(), SimDisk::new(1), config());
        config.rules.state_root = state_root;
        config.rules.system_calls = system_calls;
        config.checkpoint_bytes = 1 << 10;
        let shards = open(&simulation, &config, &disk);
        let set = Amendment::new().code(counter(), COUNTER.to_vec().into()).slot(
            counter(),
            U256::from(5),
            U256::from(9),
        );
        let snapshot = amend(&mut simulation, &shards, set).number();
        let root = one(&shards).tip().header.state_root;
        let all: Vec<_> = (0..10)
            .map(|nonce| {
                if nonce % 2 == 0 {
                    count(&config, 0, nonce)
                } else {
                    transfer(&config, shard(0), 0, nonce)
                }
            })
            .collect();
        let mut positions = Vec::new();
        for again in 0..3 {
            for transaction in &all {
                include(&mut simulation, &shards, transaction);
            }
            assert_eq!(counted(&one(&shards)), U256::from(5));
            let found: Vec<_> = all.iter().map(|it| status(&shards, it)).collect();
            assert!(found.iter().all(|it| matches!(it, Some(TransactionStatus::Included(_)))));
            assert!(!positions.contains(&found), "the newest position counts");
            positions.push(found);
            // What has storage goes with it, and what is gone comes back.
            let gone = Amendment::new().code(counter(), Bytes::new());
            if again > 0 {
                amend(&mut simulation, &shards, gone);
                assert_eq!(one(&shards).state().account(counter()).unwrap(), None);
                assert_eq!(one(&shards).state().slots(counter()).unwrap(), []);
            }
            let block = amend(&mut simulation, &shards, Amendment::revert_to(snapshot));
            assert_eq!((nonce(&shards, account(0)), counted(&one(&shards))), (0, U256::ZERO));
            assert_eq!(balance(&shards, shard(0), account(1_001)), U256::ZERO);
            assert_eq!(one(&shards).state().account(account(1_001)).unwrap(), None);
            let kept = one(&shards).state().storage(counter(), U256::from(5)).unwrap();
            assert_eq!(kept, U256::from(9));
            if state_root && !system_calls {
                assert_eq!(block.header.state_root, root, "the same state");
            }
        }
        assert!(shards.commit_counts().folds > 1, "the past is in the tables");
        check_chain(&one(&shards));
    }
}

#[test]
fn a_revert_after_a_crash_takes_back_what_was_there_before_it() {
    let (mut simulation, mut disk, mut config) = (simulation(), SimDisk::new(1), config());
    config.checkpoint_bytes = 2 << 10;
    config.rules.state_root = true;
    let shards = open(&simulation, &config, &disk);
    for nonce in 0..10 {
        include(&mut simulation, &shards, &transfer(&config, shard(0), 0, nonce));
    }
    let (root, tip) = (one(&shards).block(4).unwrap().unwrap().header.state_root, 10);
    for again in 1..=3 {
        disk = disk.crash(Unsynced::Lost);
        let shards = open(&simulation, &config, &disk);
        assert_eq!(one(&shards).tip().number(), tip + 2 * (again - 1));
        let block = amend(&mut simulation, &shards, Amendment::revert_to(4));
        assert_eq!(block.header.state_root, root);
        // It is acknowledged, so it is there after the next crash.
        include(&mut simulation, &shards, &transfer(&config, shard(0), 0, 4));
        check_chain(&one(&shards));
    }
}

#[test]
fn a_transaction_that_waits_again_is_queued_until_it_is_in_a_block_again() {
    let (mut simulation, disk, config) = (simulation(), SimDisk::new(1), config());
    let shards = open(&simulation, &config, &disk);
    let both = [0, 1].map(|nonce| transfer(&config, shard(0), 0, nonce));
    both.iter().for_each(|transaction| include(&mut simulation, &shards, transaction));
    amend(&mut simulation, &shards, Amendment::revert_to(0));
    // The block that held it is still there.
    assert!(matches!(status(&shards, &both[1]), Some(TransactionStatus::Included(_))));
    include(&mut simulation, &shards, &both[1]);
    let waits = Some(TransactionStatus::Queued(Status::Queued(Queued::Missing { nonce: 0 })));
    assert_eq!(status(&shards, &both[1]), waits);

    let shards = open(&simulation, &config, &disk.crash(Unsynced::Lost));
    assert_eq!(status(&shards, &both[1]), waits);
    include(&mut simulation, &shards, &both[0]);
    let found = both.each_ref().map(|transaction| {
        let Some(TransactionStatus::Included(at)) = status(&shards, transaction) else { panic!() };
        at.number
    });
    assert_eq!(found[0], 4);
    assert!(found[1] >= 4, "the newest position counts");
    check_chain(&one(&shards));
}

#[test]
fn what_does_not_fit_the_amended_accounts_is_dropped_with_the_reason() {
    let (mut simulation, mut config) = (simulation(), config());
    config.pool.nonce_ahead_max = 5;
    let shards = open(&simulation, &config, &SimDisk::new(1));
    amend(&mut simulation, &shards, Amendment::new().nonce(account(2), 10));
    // All wait behind a gap.
    let used = transfer(&config, shard(0), 0, 1);
    let dear = transfer(&config, shard(0), 1, 1);
    let far = transfer(&config, shard(0), 2, 15);
    let near = transfer(&config, shard(0), 2, 11);
    for transaction in [&used, &dear, &far, &near] {
        include(&mut simulation, &shards, transaction);
    }
    let amendment = Amendment::new()
        .nonce(account(0), 2)
        .nonce(account(1), 1)
        .balance(account(1), U256::from(1))
        .nonce(account(2), 7);
    amend(&mut simulation, &shards, amendment);
    simulation.run_for(HOUR);
    let too_low = DropReason::NonceTooLow { nonce: 1, account: 2 };
    assert_eq!(status(&shards, &used), Some(TransactionStatus::Dropped(too_low)));
    let unpaid = Some(TransactionStatus::Dropped(DropReason::InsufficientFunds));
    assert_eq!(status(&shards, &dear), unpaid);
    let Some(TransactionStatus::Dropped(DropReason::Invalid(why))) = status(&shards, &far) else {
        panic!("{:?}", status(&shards, &far))
    };
    assert!(why.contains("too far ahead"), "{why}");
    let missing = Status::Queued(Queued::Missing { nonce: 7 });
    assert_eq!(status(&shards, &near), Some(TransactionStatus::Queued(missing)));
    assert_eq!(one(&shards).next_nonce(account(2)).unwrap(), 7);
}

#[test]
fn what_can_not_be_made_is_refused_and_changes_and_creates_nothing() {
    let (mut simulation, config) = (simulation(), config());
    let shards = open(&simulation, &config, &SimDisk::new(1));
    let (nobody, one_slot) = (Address::repeat_byte(0xbb), U256::from(1));
    let mut many = Amendment::new();
    for slot in 0..ENTRIES_MAX {
        many = many.slot(nobody, U256::from(slot), one_slot);
    }
    let code = Bytes::from(vec![0; CODE_BYTES_MAX + 1]);
    let wrong = [
        many,
        Amendment::new().code(nobody, code),
        Amendment::revert_to(u64::MAX),
        Amendment::new().slot(nobody, one_slot, one_slot),
        Amendment::new().nonce(nobody, u64::MAX),
    ];
    let first = wrong.clone().map(|amendment| refused(&mut simulation, &shards, amendment));
    assert!(shards.is_empty(), "{first:?}");
    let tip = amend(&mut simulation, &shards, Amendment::new());
    for (amendment, error) in wrong.into_iter().zip(first) {
        let again = refused(&mut simulation, &shards, amendment);
        assert_eq!(std::mem::discriminant(&again), std::mem::discriminant(&error));
    }
    let future = refused(&mut simulation, &shards, Amendment::revert_to(2));
    assert_eq!(future, AmendError::NoSuchBlock { number: 2, newest: 1 });
    assert_eq!(one(&shards).tip(), tip);
}

#[test]
fn in_strict_mode_an_amendment_creates_no_shard() {
    let (mut simulation, mut config) = (simulation(), config());
    config.strict = true;
    let shards = open(&simulation, &config, &SimDisk::new(1));
    let error = refused(&mut simulation, &shards, Amendment::new());
    assert_eq!(error, AmendError::Shard(SubmitError::NoSuchShard(shard(0))));
    simulation.block_on(shards.create(shard(0))).unwrap().unwrap();
    assert_eq!(amend(&mut simulation, &shards, Amendment::new()).number(), 1);
}

#[test]
fn an_amendment_that_could_not_be_written_has_changed_nothing_and_can_be_tried_again() {
    let (mut simulation, disk, config) = (simulation(), SimDisk::new(1), config());
    let shards = open(&simulation, &config, &disk);
    include(&mut simulation, &shards, &transfer(&config, shard(0), 0, 0));
    let set = Amendment::new().nonce(account(0), 0);
    disk.fail_syncs(true);
    let error = refused(&mut simulation, &shards, set.clone());
    assert!(matches!(error, AmendError::Store(_)), "{error}");
    disk.fail_syncs(false);
    simulation.run_for(HOUR);
    assert_eq!((one(&shards).tip().number(), nonce(&shards, account(0))), (1, 1));
    assert_eq!(amend(&mut simulation, &shards, set).number(), 2);
    include(&mut simulation, &shards, &transfer(&config, shard(0), 0, 0));
    check_chain(&one(&shards));
}

#[test]
fn whoever_waits_for_an_amendment_is_told_when_the_shards_stop() {
    let runtime = Runtime::new().unwrap();
    let shards = common::open(&runtime, &config(), Arc::new(MemoryStore::new()));
    shards.amend(shard(0), Amendment::new()).wait().unwrap();
    let one = one(&shards);
    runtime.pause();
    let waiting = one.amend(Amendment::new());
    drop(shards);
    runtime.resume();
    // It may have been made before; but it is told in any case.
    let told = waiting.wait();
    assert!(told.is_ok() || told == Err(AmendError::Shard(SubmitError::Stopped)), "{told:?}");
    let after = one.amend(Amendment::new()).wait();
    assert_eq!(after, Err(AmendError::Shard(SubmitError::Stopped)));
}
