//! Does one by one execution do what Ethereum does, and lose nothing?

mod random;

use std::sync::atomic::Ordering::Relaxed;

use alloy_consensus::TxEip1559;
use alloy_primitives::{B256, Bytes, TxKind, U256, keccak256};
use revm::primitives::hardfork::SpecId;

use super::*;
use crate::{block::Account, config::Genesis, execute::testing::*, store::StoreError};

fn executor(rules: &Rules, maps: &Arc<Maps>) -> Executor {
    Executor::new(rules, SHARD, Arc::clone(maps) as Arc<dyn StateReader>, 1 << 16)
}

fn always() -> impl FnMut() -> bool {
    || true
}

/// Executes a batch as the next block, commits it, and gives what came of it.
fn commit(
    executor: &mut Executor,
    maps: &Maps,
    height: u64,
    batch: Vec<SharedTransaction>,
) -> Executed {
    let executed = executor.execute(&context(height), batch, &mut always()).unwrap();
    maps.apply(&executed.changes);
    maps.put_hash(height, context(height + 1).parent_hash);
    executor.committed(height);
    executed
}

fn one(rules: &Rules, genesis: &Genesis, transaction: SharedTransaction) -> (Executed, Arc<Maps>) {
    let maps = Maps::new(rules, genesis);
    let executed = commit(&mut executor(rules, &maps), &maps, 1, vec![transaction]);
    (executed, maps)
}

/// A strand's turns are on different workers.
#[test]
fn an_executor_can_be_sent_to_another_worker() {
    fn sendable<T: Send>() {}
    sendable::<Executor>();
}

#[test]
fn a_transfer_moves_value_and_pays_for_its_gas() {
    let rules = Rules::default();
    let to = Address::repeat_byte(9);
    let (executed, maps) = one(&rules, &genesis(&[]), transfer(&rules, 0, 0, to, 5));
    let (_, receipt) = &executed.included[0];
    assert!(receipt.success);
    assert_eq!((receipt.gas_used, receipt.cumulative_gas_used), (21_000, 21_000));
    assert_eq!(receipt.gas_price, 2 * GWEI);
    assert_eq!(maps.account_of(to).unwrap().balance, U256::from(5));
    let rich = U256::from(10).pow(U256::from(21));
    let paid = rich - maps.account_of(user(0)).unwrap().balance;
    assert_eq!(paid, U256::from(5 + 21_000 * 2 * GWEI));
    assert_eq!(
        maps.account_of(Address::repeat_byte(0xbe)).unwrap().balance,
        U256::from(21_000 * GWEI)
    );
}

#[test]
fn a_transaction_that_fails_is_included_and_changes_nothing_but_the_fee() {
    let rules = Rules::default();
    let (executed, maps) = one(&rules, &zoo(), call(&rules, 0, 0, REVERTER, Bytes::new()));
    let (_, receipt) = &executed.included[0];
    assert!(!receipt.success);
    assert_eq!(receipt.output.as_ref(), U256::from(42).to_be_bytes::<32>());
    assert!(receipt.logs.is_empty());
    assert_eq!(maps.account_of(user(0)).unwrap().nonce, 1);
}

#[test]
fn a_contract_that_burns_all_gas_takes_no_more_than_its_limit() {
    let rules = Rules::default();
    let (executed, _) = one(&rules, &zoo(), call(&rules, 0, 0, BURNER, Bytes::new()));
    let (_, receipt) = &executed.included[0];
    assert!(!receipt.success);
    assert_eq!(receipt.gas_used, 200_000);
}

#[test]
fn a_token_is_transferred_with_a_log() {
    let rules = Rules::default();
    let (executed, maps) = one(&rules, &zoo(), call(&rules, 0, 0, TOKEN, token_input(user(1), 10)));
    let (_, receipt) = &executed.included[0];
    assert!(receipt.success);
    assert_eq!(receipt.logs.len(), 1);
    assert_eq!(receipt.logs[0].topics()[2], user(1).into_word());
    let balance = |of: Address| maps.inner.lock().unwrap().slots[&(TOKEN, of.into_word().into())];
    assert_eq!(balance(user(0)), U256::from(999_990));
    assert_eq!(balance(user(1)), U256::from(1_000_010));
}

#[test]
fn a_deep_stack_of_calls_ends_and_counts() {
    let rules = Rules::default();
    let deep = TxEip1559 { gas_limit: 10_000_000, ..eip1559(&rules, 0, TxKind::Call(RECURSIVE)) };
    let (executed, maps) = one(&rules, &zoo(), sent(user(0), deep));
    assert!(executed.included[0].1.success);
    assert!(maps.slot_of(RECURSIVE, 0) > U256::from(100));
}

#[test]
fn transient_storage_does_not_outlive_its_transaction() {
    let rules = Rules::default();
    let maps = Maps::new(&rules, &zoo());
    let batch = (0..3).map(|nonce| call(&rules, 0, nonce, TRANSIENT, Bytes::new())).collect();
    let executed = commit(&mut executor(&rules, &maps), &maps, 1, batch);
    assert_eq!(executed.included.len(), 3);
    assert_eq!(maps.slot_of(TRANSIENT, 0), U256::from(1));
}

#[test]
fn what_is_invalid_for_good_is_dropped_and_what_may_become_valid_is_left() {
    let rules = Rules::default();
    let maps = Maps::new(&rules, &genesis(&[]));
    let mut executor = executor(&rules, &maps);
    commit(&mut executor, &maps, 1, vec![transfer(&rules, 0, 0, user(1), 1)]);

    let cheap = TxEip1559 {
        max_fee_per_gas: 5,
        max_priority_fee_per_gas: 0,
        ..eip1559(&rules, 0, TxKind::Call(user(1)))
    };
    let poor = Address::repeat_byte(0x77);
    let foreign = TxEip1559 { chain_id: 1, ..eip1559(&rules, 0, TxKind::Call(user(1))) };
    let huge = TxEip1559 { gas_limit: 1 << 40, ..eip1559(&rules, 0, TxKind::Call(user(1))) };
    let batch = vec![
        transfer(&rules, 0, 0, user(1), 1),
        transfer(&rules, 0, 7, user(1), 1),
        sent(user(2), cheap),
        sent(poor, eip1559(&rules, 0, TxKind::Call(user(1)))),
        sent(user(3), foreign),
        sent(user(4), huge),
        transfer(&rules, 5, 0, user(1), 1),
    ];
    let executed = commit(&mut executor, &maps, 2, batch.clone());
    assert_eq!(
        executed.included.iter().map(|(t, _)| t.hash()).collect::<Vec<_>>(),
        [batch[6].hash()]
    );
    assert_eq!(executed.left, [batch[1].clone(), batch[2].clone()]);
    let reasons: Vec<_> = executed.dropped.iter().map(|(_, reason)| reason.clone()).collect();
    assert_eq!(reasons[0], DropReason::NonceTooLow { nonce: 0, account: 1 });
    assert_eq!(reasons[1], DropReason::InsufficientFunds);
    assert!(
        matches!(&reasons[2], DropReason::Invalid(why) if why.contains("chain")),
        "{reasons:?}"
    );
    assert!(
        matches!(&reasons[3], DropReason::Invalid(why) if why.contains("block")),
        "{reasons:?}"
    );
}

#[test]
fn a_fee_that_overflows_is_dropped_even_where_the_funds_are_there() {
    let rules = Rules::default();
    let mut genesis = genesis(&[]);
    genesis.accounts.get_mut(&user(0)).unwrap().balance = U256::MAX >> 1;
    let dear = TxEip1559 {
        max_fee_per_gas: u128::MAX,
        max_priority_fee_per_gas: u128::MAX,
        ..eip1559(&rules, 0, TxKind::Call(user(1)))
    };
    let (executed, _) = one(&rules, &genesis, sent(user(0), dear));
    assert!(matches!(&executed.dropped[0].1, DropReason::Invalid(why) if why.contains("2^128")));
}

/// A transaction that is not in the block must not make accounts warm for the next.
#[test]
fn what_was_dropped_leaves_no_trace_in_the_gas_of_others() {
    for no_fee in [false, true] {
        let rules = Rules { no_fee, ..Rules::default() };
        let poor = FACTORY.create(77);
        let dear = TxEip1559 { value: U256::from(1), ..eip1559(&rules, 0, TxKind::Call(user(1))) };
        let look = Code::new().push(U256::from_be_bytes(poor.into_word().0));
        let look = look.op(revm::bytecode::opcode::BALANCE).bytes();
        let looker = Address::repeat_byte(0x21);
        let maps = Maps::new(&rules, &genesis(&[(looker, look)]));
        let alone = vec![call(&rules, 0, 0, looker, Bytes::new())];
        let both = vec![sent(poor, dear), alone[0].clone()];
        let gas = |batch| {
            let executed =
                executor(&rules, &maps).execute(&context(1), batch, &mut always()).unwrap();
            assert_eq!(executed.included.len(), 1);
            executed.gas_used
        };
        assert_eq!(gas(alone), gas(both));
    }
}

#[test]
fn one_that_does_not_fit_waits_with_the_later_ones_of_its_sender_and_others_go_on() {
    let rules = Rules { block_gas_limit: 300_000, ..Rules::default() };
    let maps = Maps::new(&rules, &zoo());
    let batch = vec![
        call(&rules, 0, 0, BURNER, Bytes::new()),
        call(&rules, 1, 0, BURNER, Bytes::new()),
        transfer(&rules, 1, 1, user(2), 1),
        transfer(&rules, 2, 0, user(3), 1),
        transfer(&rules, 0, 1, user(3), 1),
    ];
    let executed = commit(&mut executor(&rules, &maps), &maps, 1, batch.clone());
    let included: Vec<_> = executed.included.iter().map(|(t, _)| Arc::clone(t)).collect();
    assert_eq!(included, [batch[0].clone(), batch[3].clone(), batch[4].clone()]);
    assert_eq!(executed.left, [batch[1].clone(), batch[2].clone()]);
    assert_eq!(executed.gas_used, 242_000);
    assert_eq!(executed.included[2].1.cumulative_gas_used, 242_000);
}

#[test]
fn one_that_waits_is_not_overtaken_by_another_with_its_nonce() {
    let rules = Rules { block_gas_limit: 300_000, ..Rules::default() };
    let maps = Maps::new(&rules, &zoo());
    let batch = vec![
        call(&rules, 0, 0, BURNER, Bytes::new()),
        call(&rules, 1, 0, BURNER, Bytes::new()),
        transfer(&rules, 1, 0, user(2), 1),
    ];
    let executed = commit(&mut executor(&rules, &maps), &maps, 1, batch.clone());
    assert_eq!(executed.left, batch[1..]);
}

#[test]
fn a_block_holds_no_more_transactions_than_it_may_and_none_is_lost() {
    let rules = Rules { block_transactions_max: 2, ..Rules::default() };
    let maps = Maps::new(&rules, &genesis(&[]));
    let batch: Vec<_> = (0..5).map(|nonce| transfer(&rules, 0, nonce, user(1), 1)).collect();
    let executed = commit(&mut executor(&rules, &maps), &maps, 1, batch.clone());
    assert_eq!(executed.included.len(), 2);
    assert_eq!(executed.left, batch[2..]);
}

#[test]
fn a_batch_is_cut_when_time_is_up_but_one_is_always_tried() {
    let rules = Rules::default();
    let maps = Maps::new(&rules, &genesis(&[]));
    let batch: Vec<_> = (0..3).map(|nonce| transfer(&rules, 0, nonce, user(1), 1)).collect();
    let executed =
        executor(&rules, &maps).execute(&context(1), batch.clone(), &mut || false).unwrap();
    assert_eq!(executed.included.len(), 1);
    assert_eq!(executed.left, batch[1..]);
}

#[test]
fn a_panic_drops_its_transaction_and_the_others_are_executed_without_it() {
    let rules = Rules::default();
    let maps = Maps::new(&rules, &genesis(&[]));
    let mut executor = executor(&rules, &maps);
    // A block that is not committed must survive the panic: only the cache has it.
    let first = executor
        .execute(&context(1), vec![transfer(&rules, 0, 0, user(1), 1)], &mut always())
        .unwrap();

    let cursed = Address::repeat_byte(0xcc);
    *maps.cursed.lock().unwrap() = Some(cursed);
    let batch = vec![
        transfer(&rules, 0, 1, user(1), 1),
        transfer(&rules, 1, 0, cursed, 1),
        transfer(&rules, 2, 0, user(1), 1),
        transfer(&rules, 1, 0, user(3), 1),
    ];
    let executed = executor.execute(&context(2), batch.clone(), &mut always()).unwrap();
    let included: Vec<_> = executed.included.iter().map(|(t, _)| Arc::clone(t)).collect();
    assert_eq!(included, [batch[0].clone(), batch[2].clone(), batch[3].clone()]);
    assert_eq!(executed.dropped.len(), 1);
    let (dropped, DropReason::Panicked(what)) = &executed.dropped[0] else {
        panic!("{executed:?}")
    };
    assert_eq!(dropped.hash(), batch[1].hash());
    assert!(what.contains("cursed"));
    assert_eq!(executed.gas_used, 63_000);
    maps.apply(&first.changes);
    maps.apply(&executed.changes);
}

#[test]
fn a_store_that_fails_fails_the_batch_and_the_next_try_succeeds() {
    let rules = Rules::default();
    let maps = Maps::new(&rules, &genesis(&[]));
    let mut executor = executor(&rules, &maps);
    let batch = vec![transfer(&rules, 0, 0, user(1), 1)];
    maps.broken.store(true, Relaxed);
    let error = executor.execute(&context(1), batch.clone(), &mut always()).unwrap_err();
    assert!(matches!(error, ExecuteError::Store(StoreError::Failed)));
    maps.broken.store(false, Relaxed);
    let executed = executor.execute(&context(1), batch, &mut always()).unwrap();
    assert_eq!(executed.included.len(), 1);
}

#[test]
fn a_batch_of_which_nothing_is_included_has_changed_nothing() {
    let rules = Rules { system_calls: true, ..Rules::default() };
    let maps = Maps::new(&rules, &genesis(&[]));
    let mut executor = executor(&rules, &maps);
    let executed = executor
        .execute(&context(1), vec![transfer(&rules, 0, 9, user(1), 1)], &mut always())
        .unwrap();
    assert_eq!(executed.changes, Default::default());
    assert_eq!((executed.included.len(), executed.left.len()), (0, 1));
}

#[test]
fn uncommitted_blocks_are_seen_by_the_next_and_forgotten_when_cleared() {
    let rules = Rules::default();
    let maps = Maps::new(&rules, &zoo());
    let mut executor = executor(&rules, &maps);
    for height in 1..=3 {
        let batch = vec![call(&rules, 0, height - 1, TOKEN, token_input(user(1), 10))];
        let executed = executor.execute(&context(height), batch, &mut always()).unwrap();
        assert_eq!(executed.included.len(), 1, "at {height}");
    }
    executor.clear();
    let batch = vec![call(&rules, 0, 0, TOKEN, token_input(user(1), 10))];
    let executed = executor.execute(&context(1), batch, &mut always()).unwrap();
    maps.apply(&executed.changes);
}

#[test]
fn an_account_that_becomes_empty_is_none() {
    let rules = Rules::default();
    let nobody = Address::repeat_byte(9);
    let (executed, maps) = one(&rules, &genesis(&[]), transfer(&rules, 0, 0, nobody, 0));
    assert_eq!(maps.account_of(nobody), None);
    assert!(executed.changes.accounts.iter().all(|change| change.address != nobody));
}

#[test]
fn blockhash_knows_uncommitted_and_committed_blocks_and_says_what_it_gave_out() {
    let rules = Rules::default();
    let maps = Maps::new(&rules, &zoo());
    let mut executor = executor(&rules, &maps);
    commit(&mut executor, &maps, 1, vec![transfer(&rules, 0, 0, user(1), 1)]);
    let second = executor
        .execute(&context(2), vec![transfer(&rules, 0, 1, user(1), 1)], &mut always())
        .unwrap();
    let third = executor
        .execute(&context(3), vec![call(&rules, 0, 2, HASHER, Bytes::new())], &mut always())
        .unwrap();
    let (one_back, two_back) = (context(3).parent_hash, context(2).parent_hash);
    assert_eq!(third.hashes_read, [(1, two_back), (2, one_back)]);
    maps.apply(&second.changes);
    maps.apply(&third.changes);
    assert_eq!(maps.slot_of(HASHER, 1), U256::from_be_bytes(one_back.0));
    assert_eq!(maps.slot_of(HASHER, 2), U256::from_be_bytes(two_back.0));
}

#[test]
fn with_a_base_chain_number_and_blockhash_are_the_base_chains() {
    let rules = Rules::default();
    let maps = Maps::new(&rules, &zoo());
    let known = B256::repeat_byte(0xab);
    let hashes = [(4_999_999, known), (4_000_000, B256::repeat_byte(1))].into_iter().collect();
    let based =
        BlockContext { number: 5_000_000, base_hashes: Some(Arc::new(hashes)), ..context(1) };
    let executed = executor(&rules, &maps)
        .execute(&based, vec![call(&rules, 0, 0, HASHER, Bytes::new())], &mut always())
        .unwrap();
    assert_eq!(executed.hashes_read, [(4_999_999, known)]);
    maps.apply(&executed.changes);
    assert_eq!(maps.slot_of(HASHER, 1), U256::from_be_bytes(known.0));
    assert_eq!(maps.slot_of(HASHER, 2), U256::ZERO);
}

#[test]
fn before_cancun_a_destroyed_contract_goes_with_its_storage_also_uncommitted_one() {
    let rules = Rules { fork: SpecId::SHANGHAI, ..Rules::default() };
    let mut genesis = zoo();
    let mortal = genesis.accounts.get_mut(&MORTAL).unwrap();
    mortal.storage.insert(B256::from(U256::from(5)), B256::from(U256::from(6)));
    let maps = Maps::new(&rules, &genesis);
    let mut executor = executor(&rules, &maps);
    let write = executor
        .execute(&context(1), vec![call(&rules, 0, 0, MORTAL, Bytes::new())], &mut always())
        .unwrap();
    let destroy = executor
        .execute(&context(2), vec![call(&rules, 0, 1, MORTAL, vec![0])], &mut always())
        .unwrap();
    maps.apply(&write.changes);
    assert_eq!(maps.slot_of(MORTAL, 1), U256::from(7));
    maps.apply(&destroy.changes);
    assert_eq!(maps.account_of(MORTAL), None);
    assert!(maps.slots(MORTAL).unwrap().is_empty());
    let gone = destroy.changes.accounts.iter().find(|change| change.address == MORTAL).unwrap();
    assert_eq!(gone.slots.len(), 2);
}

#[test]
fn from_cancun_on_a_contract_survives_its_destruction() {
    let rules = Rules::default();
    let (_, maps) = one(&rules, &zoo(), call(&rules, 0, 0, MORTAL, vec![0]));
    assert!(maps.account_of(MORTAL).is_some());
}

/// The journal still says that it was destroyed; what counts is what is there at the end.
#[test]
fn before_cancun_a_contract_is_created_destroyed_and_created_again_in_one_block() {
    let rules = Rules { fork: SpecId::SHANGHAI, ..Rules::default() };
    let maps = Maps::new(&rules, &zoo());
    let mut executor = executor(&rules, &maps);
    let init = init_of(&mortal());
    let at = FACTORY.create2(B256::ZERO, keccak256(&init));
    let batch = vec![
        call(&rules, 0, 0, FACTORY, init.clone()),
        call(&rules, 0, 1, at, Bytes::new()),
        call(&rules, 0, 2, at, vec![0]),
        call(&rules, 0, 3, FACTORY, init),
    ];
    let executed = commit(&mut executor, &maps, 1, batch);
    assert!(executed.included.iter().all(|(_, receipt)| receipt.success));
    assert_eq!(maps.account_of(at).unwrap().code_hash, keccak256(mortal()));
    assert_eq!(maps.slot_of(at, 1), U256::ZERO);
    let again = commit(&mut executor, &maps, 2, vec![call(&rules, 0, 4, at, Bytes::new())]);
    assert!(again.included[0].1.success);
    assert_eq!(maps.slot_of(at, 1), U256::from(7));
}

/// EIP-161: who was only called has no account. So a later transaction pays as much for the delegation as
/// if it were alone, and a share of a batch as much as all of it.
#[test]
fn somebody_who_was_called_and_has_nothing_is_still_nobody_for_a_delegation() {
    let rules = Rules::default();
    let signed = authorization(&rules, 0x43, TRANSIENT, 0);
    let authority = signed.recover_authority().unwrap();
    let gas = |called_before: bool| {
        let maps = Maps::new(&rules, &zoo());
        let mut batch = vec![delegate(&rules, 0, 0, user(3), vec![signed.clone()])];
        if called_before {
            batch.insert(0, call(&rules, 1, 0, authority, Bytes::new()));
        }
        let executed = commit(&mut executor(&rules, &maps), &maps, 1, batch);
        executed.included.last().unwrap().1.gas_used
    };
    assert_eq!(gas(true), gas(false));
    assert_eq!(gas(false), 21_000 + 25_000, "nothing is given back for a new account");
}

#[test]
fn a_delegation_is_set_used_and_taken_away() {
    let rules = Rules::default();
    let maps = Maps::new(&rules, &zoo());
    let mut executor = executor(&rules, &maps);
    let sign = |address, nonce| authorization(&rules, 0x42, address, nonce);
    let set = sign(TRANSIENT, 0);
    let authority = set.recover_authority().unwrap();
    let executed = commit(
        &mut executor,
        &maps,
        1,
        vec![
            delegate(&rules, 0, 0, authority, vec![set]),
            call(&rules, 1, 0, authority, Bytes::new()),
        ],
    );
    assert!(executed.included.iter().all(|(_, receipt)| receipt.success));
    let Account { nonce, code_hash, .. } = maps.account_of(authority).unwrap();
    assert_eq!(nonce, 1);
    let code = maps.code(code_hash).unwrap();
    assert_eq!(code[..3], [0xef, 0x01, 0x00]);
    assert_eq!(maps.slot_of(authority, 0), U256::from(1));

    commit(
        &mut executor,
        &maps,
        2,
        vec![delegate(&rules, 0, 1, user(1), vec![sign(Address::ZERO, 1)])],
    );
    assert_eq!(maps.account_of(authority).unwrap().code_hash, NO_CODE);
    assert_eq!(maps.slot_of(authority, 0), U256::from(1));
}

#[test]
fn without_fees_nothing_is_charged_and_value_is_still_looked_at() {
    let rules = Rules { no_fee: true, ..Rules::default() };
    let maps = Maps::new(&rules, &genesis(&[]));
    let poor = Address::repeat_byte(0x77);
    let free = TxEip1559 {
        max_fee_per_gas: 0,
        max_priority_fee_per_gas: 0,
        ..eip1559(&rules, 0, TxKind::Call(user(1)))
    };
    let dear = TxEip1559 { value: U256::from(1), ..free.clone() };
    let batch = vec![sent(poor, dear), sent(poor, free), transfer(&rules, 0, 0, user(1), 1)];
    let executed = commit(&mut executor(&rules, &maps), &maps, 1, batch);
    assert_eq!(executed.dropped[0].1, DropReason::InsufficientFunds);
    assert_eq!(executed.included.len(), 2);
    assert_eq!(executed.included[1].1.gas_price, 0);
    let rich = U256::from(10).pow(U256::from(21));
    assert_eq!(maps.account_of(user(0)).unwrap().balance, rich - U256::from(1));
    assert_eq!(maps.account_of(Address::repeat_byte(0xbe)), None);
}

#[test]
fn system_calls_write_the_parents_hash_and_the_beacon_root() {
    let rules = Rules { system_calls: true, ..Rules::default() };
    let root = B256::repeat_byte(0xbb);
    let context = BlockContext { parent_beacon_block_root: root, ..context(1) };
    let maps = Maps::new(&rules, &genesis(&[]));
    let executed = executor(&rules, &maps)
        .execute(&context, vec![transfer(&rules, 0, 0, user(1), 1)], &mut always())
        .unwrap();
    maps.apply(&executed.changes);
    let history = alloy_eips::eip2935::HISTORY_STORAGE_ADDRESS;
    assert_eq!(maps.slot_of(history, 0), U256::from_be_bytes(context.parent_hash.0));
    let roots = alloy_eips::eip4788::BEACON_ROOTS_ADDRESS;
    assert_eq!(maps.slot_of(roots, context.timestamp % 8_191 + 8_191), U256::from_be_bytes(root.0));
}
