//! Do calls answer as geth's do, and leave nothing behind?

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, keccak256};
use revm::bytecode::opcode as op;

use super::*;
use crate::{
    execute::testing::*,
    store::StoreError,
    trace::{TraceRequest, trace_call},
};

struct Place {
    rules: Rules,
    maps: Arc<Maps>,
    context: BlockContext,
}

impl Place {
    fn new(rules: Rules) -> Place {
        let maps = Maps::new(&rules, &zoo());
        Place { maps, context: context(1), rules }
    }

    fn put_code(&self, address: Address, code: &Bytes) {
        let mut maps = self.maps.inner.lock().unwrap();
        let hash = keccak256(code);
        maps.codes.insert(hash, code.clone());
        maps.accounts.get_mut(&address).expect("it is there").code_hash = hash;
    }

    fn calls(&self) -> Calls<'_> {
        Calls {
            rules: &self.rules,
            chain_id: self.rules.chain_id(SHARD),
            reader: self.maps.as_ref(),
            context: &self.context,
            gas_cap: 50_000_000,
        }
    }
}

fn to(address: Address, input: impl Into<Bytes>) -> Call {
    Call { from: user(0), to: TxKind::Call(address), input: input.into(), ..Call::default() }
}

fn no() -> Overrides {
    Overrides::default()
}

fn override_of(address: Address, change: AccountOverride) -> Overrides {
    Overrides { accounts: [(address, change)].into(), ..Overrides::default() }
}

#[test]
fn a_call_returns_what_a_transaction_would_and_leaves_nothing() {
    let place = Place::new(Rules::default());
    let before = place.maps.inner.lock().unwrap().slots.clone();
    for _ in 0..2 {
        let outcome = place.calls().call(&to(TOKEN, token_input(user(1), 5)), &no()).unwrap();
        let Outcome::Returned { output, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(output.as_ref(), U256::from(5).to_be_bytes::<32>());
    }
    assert_eq!(place.maps.inner.lock().unwrap().slots, before);
}

#[test]
fn a_revert_gives_its_reason_and_a_halt_its_own() {
    let place = Place::new(Rules::default());
    let outcome = place.calls().call(&to(REVERTER, Bytes::new()), &no()).unwrap();
    let Outcome::Reverted { output, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(output.as_ref(), U256::from(42).to_be_bytes::<32>());
    let burn = Call { gas: Some(100_000), ..to(BURNER, Bytes::new()) };
    let outcome = place.calls().call(&burn, &no()).unwrap();
    assert!(matches!(
        outcome,
        Outcome::Halted { reason: HaltReason::OutOfGas(_), gas_used: 100_000 }
    ));
}

#[test]
fn a_call_gets_no_more_gas_than_the_cap() {
    let place = Place::new(Rules::default());
    let calls = Calls { gas_cap: 60_000, ..place.calls() };
    let burn = Call { gas: Some(u64::MAX), ..to(BURNER, Bytes::new()) };
    let outcome = calls.call(&burn, &no()).unwrap();
    assert!(matches!(outcome, Outcome::Halted { gas_used: 60_000, .. }), "{outcome:?}");
}

#[test]
fn a_small_call_is_made_as_in_full_and_others_are_left() {
    let place = Place::new(Rules::default());
    let calls = place.calls();
    let small = [
        to(TOKEN, token_input(user(1), 5)),
        to(REVERTER, Bytes::new()),
        to(user(1), Bytes::new()),
        Call { gas: Some(60_000), ..to(TRANSIENT, Bytes::new()) },
    ];
    for call in small {
        assert_eq!(calls.call_if_small(&call, &no()), calls.call(&call, &no()).ok(), "{call:?}");
    }
    let others = [
        to(BURNER, Bytes::new()),
        Call { gas: Some(30_000), ..to(BURNER, Bytes::new()) },
        to(TOKEN, vec![1; 10_000]),
        Call { gas_price: Some(2 * GWEI), ..to(user(1), Bytes::new()) },
        Call { to: TxKind::Create, ..Call::default() },
        to(Address::with_last_byte(4), vec![1; 4]),
        to(HASHER, Bytes::new()),
        Call { from: Address::repeat_byte(0xee), value: U256::ONE, ..to(user(1), Bytes::new()) },
    ];
    for call in others {
        assert_eq!(calls.call_if_small(&call, &no()), None, "{call:?}");
    }
}

/// Whatever a program does: what it comes to with little gas is what it comes to with much.
#[test]
fn a_small_call_never_says_anything_else_than_one_in_full() {
    for fork in [SpecId::LONDON, SpecId::SHANGHAI, SpecId::CANCUN, SpecId::PRAGUE, SpecId::OSAKA] {
        compare_random_programs(&Place::new(Rules { fork, ..Rules::default() }));
    }
}

fn compare_random_programs(place: &Place) {
    let mut random = Dice(7);
    let opcodes: Vec<u8> = (0..=0xff).filter(|byte| op::OpCode::new(*byte).is_some()).collect();
    let (mut made, mut left) = (0, 0);
    for _ in 0..5_000 {
        let mut code = Code::new();
        for _ in 0..random.roll(24) {
            let numbers = [0, 1, 2, 32, 96, 60_000, u64::MAX];
            code = match random.roll(2) {
                0 => code.push(numbers[random.roll(numbers.len() as u64) as usize]),
                _ => code.op(opcodes[random.roll(opcodes.len() as u64) as usize]),
            };
        }
        let end = [op::STOP, op::RETURN, op::REVERT][random.roll(3) as usize];
        let code = code.push(0u64).op(op::MSTORE).push(64u64).push(0u64).op(end).bytes();
        place.put_code(TOKEN, &code);
        let call = to(TOKEN, vec![7; 40]);
        match place.calls().call_if_small(&call, &no()) {
            Some(small) => {
                made += 1;
                assert_eq!(Some(small), place.calls().call(&call, &no()).ok(), "{code}");
            }
            None => left += 1,
        }
    }
    assert!(made > 500 && left > 500, "{made} were made, {left} were left");
}

#[test]
fn contracts_and_strangers_may_call_with_any_nonce_and_without_fee() {
    let place = Place::new(Rules::default());
    for from in [TOKEN, Address::repeat_byte(0xee)] {
        let call = Call { from, nonce: Some(99), ..to(TRANSIENT, Bytes::new()) };
        assert!(matches!(place.calls().call(&call, &no()), Ok(Outcome::Returned { .. })));
    }
}

#[test]
fn value_and_named_fees_must_be_there() {
    let place = Place::new(Rules::default());
    let poor = Address::repeat_byte(0xee);
    let value = Call { from: poor, value: U256::from(1), ..to(user(1), Bytes::new()) };
    assert!(
        matches!(place.calls().call(&value, &no()), Err(CallError::Invalid(why)) if why.contains("funds"))
    );
    let fee = Call { from: poor, gas_price: Some(2 * GWEI), ..to(user(1), Bytes::new()) };
    assert!(matches!(place.calls().call(&fee, &no()), Err(CallError::Invalid(_))));
    let cheap = Call { gas_price: Some(1), ..to(user(1), Bytes::new()) };
    assert!(matches!(place.calls().call(&cheap, &no()), Err(CallError::Invalid(_))));
}

#[test]
fn a_fee_that_overflows_is_refused_even_where_the_funds_are_there() {
    let place = Place::new(Rules::default());
    let rich = AccountOverride { balance: Some(U256::MAX), ..Default::default() };
    for priority_fee in [None, Some(u128::MAX)] {
        let call = Call { gas_price: Some(u128::MAX), priority_fee, ..to(user(1), Bytes::new()) };
        let outcome = place.calls().call(&call, &override_of(user(0), rich.clone()));
        assert!(matches!(outcome, Err(CallError::Invalid(why)) if why.contains("2^128")));
    }
}

#[test]
fn a_store_that_fails_is_an_error_of_the_store() {
    let place = Place::new(Rules::default());
    place.maps.broken.store(true, std::sync::atomic::Ordering::Relaxed);
    let error = place.calls().call(&to(TOKEN, Bytes::new()), &no()).unwrap_err();
    assert!(matches!(error, CallError::Store(StoreError::Failed)));
}

#[test]
fn balance_nonce_and_code_can_be_overridden() {
    let place = Place::new(Rules::default());
    let poor = Address::repeat_byte(0xee);
    let rich = AccountOverride { balance: Some(U256::from(9)), ..Default::default() };
    let value = Call { from: poor, value: U256::from(9), ..to(user(1), Bytes::new()) };
    assert!(place.calls().call(&value, &override_of(poor, rich)).is_ok());

    let coded = AccountOverride { code: Some(reverter()), ..Default::default() };
    let outcome = place.calls().call(&to(TOKEN, Bytes::new()), &override_of(TOKEN, coded)).unwrap();
    assert!(matches!(outcome, Outcome::Reverted { .. }));
    // Code that returns its own address, which depends on the nonce.
    let aged = AccountOverride { nonce: Some(5), ..Default::default() };
    let own = Code::new().op(op::ADDRESS).push(0u64).op(op::MSTORE);
    let own = own.push(32u64).push(0u64).op(op::RETURN).bytes();
    let create = Call { from: user(0), to: TxKind::Create, input: own, ..Call::default() };
    let outcome = place.calls().call(&create, &override_of(user(0), aged)).unwrap();
    let Outcome::Returned { output, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(output.as_ref(), user(0).create(5).into_word().as_slice());
}

#[test]
fn storage_can_be_overridden_in_part_or_whole() {
    let place = Place::new(Rules::default());
    let key = user(0).into_word();
    let some = AccountOverride {
        state_diff: [(key, B256::from(U256::from(1)))].into(),
        ..Default::default()
    };
    let five = to(TOKEN, token_input(user(1), 5));
    let one = to(TOKEN, token_input(user(1), 1));
    let overrides = override_of(TOKEN, some);
    assert!(matches!(place.calls().call(&five, &overrides), Ok(Outcome::Reverted { .. })));
    assert!(matches!(place.calls().call(&one, &overrides), Ok(Outcome::Returned { .. })));
    let other = Call { from: user(2), ..five.clone() };
    assert!(matches!(place.calls().call(&other, &overrides), Ok(Outcome::Returned { .. })));

    let whole = AccountOverride {
        state: Some([(key, B256::from(U256::from(5)))].into()),
        ..Default::default()
    };
    let overrides = override_of(TOKEN, whole);
    assert!(matches!(place.calls().call(&five, &overrides), Ok(Outcome::Returned { .. })));
    assert!(matches!(place.calls().call(&other, &overrides), Ok(Outcome::Reverted { .. })));
}

#[test]
fn the_block_can_be_overridden() {
    let place = Place::new(Rules::default());
    let mut code = Code::new();
    let opcodes = [op::NUMBER, op::TIMESTAMP, op::BASEFEE, op::COINBASE, op::BLOBBASEFEE];
    for (at, opcode) in opcodes.into_iter().enumerate() {
        code = code.op(opcode).push(at as u64 * 32).op(op::MSTORE);
    }
    code = code.push(70u64).op(op::BLOCKHASH).push(160u64).op(op::MSTORE);
    let code = code.push(192u64).push(0u64).op(op::RETURN).bytes();
    let mut overrides =
        override_of(REVERTER, AccountOverride { code: Some(code), ..Default::default() });
    overrides.block = BlockOverride {
        number: Some(77),
        timestamp: Some(88),
        base_fee: Some(3),
        blob_base_fee: Some(1 << 100),
        beneficiary: Some(Address::repeat_byte(4)),
        hashes: [(70, keccak256("seventy"))].into(),
        ..BlockOverride::default()
    };
    let call = Call { gas_price: Some(5), ..to(REVERTER, Bytes::new()) };
    let outcome = place.calls().call(&call, &overrides).unwrap();
    let Outcome::Returned { output, .. } = outcome else { panic!("{outcome:?}") };
    let word = |at: usize| U256::from_be_slice(&output[at * 32..][..32]);
    assert_eq!([word(0), word(1), word(2)], [77, 88, 3].map(U256::from));
    assert_eq!(word(3), U256::from_be_bytes(Address::repeat_byte(4).into_word().0));
    assert_eq!(word(4), U256::from(1u128 << 100));
    assert_eq!(word(5), U256::from_be_bytes(keccak256("seventy").0));
}

#[test]
fn the_difficulty_can_be_overridden_where_there_is_one() {
    for (fork, expect) in [(SpecId::LONDON, 77), (SpecId::MERGE, 99)] {
        let place = Place::new(Rules { fork, ..Rules::default() });
        let code = Code::new().op(op::DIFFICULTY).push(0u64).op(op::MSTORE);
        let code = Some(code.push(32u64).push(0u64).op(op::RETURN).bytes());
        let mut overrides = override_of(REVERTER, AccountOverride { code, ..Default::default() });
        overrides.block = BlockOverride {
            difficulty: Some(U256::from(77)),
            prevrandao: Some(U256::from(99).into()),
            ..BlockOverride::default()
        };
        let outcome = place.calls().call(&to(REVERTER, Bytes::new()), &overrides).unwrap();
        let Outcome::Returned { output, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(U256::from_be_slice(&output), U256::from(expect), "{fork:?}");
    }
}

#[test]
fn an_estimate_suffices_and_is_close_to_the_least() {
    let place = Place::new(Rules::default());
    let calls = place.calls();
    for call in [
        to(TOKEN, token_input(Address::repeat_byte(0xaa), 5)),
        to(FACTORY, init_of(&mortal())),
        to(HASHER, Bytes::new()),
        Call { to: TxKind::Create, ..to(TOKEN, init_of(&token())) },
    ] {
        let gas = calls.estimate(&call, &no()).unwrap();
        let with = |gas| calls.call(&Call { gas: Some(gas), ..call.clone() }, &no());
        assert!(matches!(with(gas), Ok(Outcome::Returned { .. })));
        assert!(!matches!(with(gas - gas / 50), Ok(Outcome::Returned { .. })), "{gas}");
    }
}

#[test]
fn a_plain_transfer_is_estimated_at_what_it_costs() {
    let place = Place::new(Rules::default());
    let call = Call { value: U256::from(1), ..to(user(1), Bytes::new()) };
    assert_eq!(place.calls().estimate(&call, &no()).unwrap(), 21_000);
}

#[test]
fn what_can_not_succeed_has_no_estimate_but_a_reason() {
    let place = Place::new(Rules::default());
    let error = place.calls().estimate(&to(REVERTER, Bytes::new()), &no()).unwrap_err();
    assert!(matches!(error, CallError::Reverted(output) if output.len() == 32));
    let error = place.calls().estimate(&to(BURNER, Bytes::new()), &no()).unwrap_err();
    assert!(matches!(error, CallError::GasAbove(TRANSACTION_GAS_MAX)));
    let little = Call { gas: Some(22_000), ..to(TOKEN, token_input(user(1), 1)) };
    assert!(matches!(place.calls().estimate(&little, &no()), Err(CallError::GasAbove(22_000))));
}

#[test]
fn an_access_list_names_what_is_touched() {
    let place = Place::new(Rules::default());
    let call = to(TOKEN, token_input(user(1), 5));
    let (list, outcome) = place.calls().access_list(&call, &no()).unwrap();
    assert!(matches!(outcome, Outcome::Returned { .. }));
    assert_eq!(list.0.len(), 1);
    assert_eq!(list.0[0].address, TOKEN);
    let mut keys = [user(0).into_word(), user(1).into_word()];
    keys.sort_unstable();
    assert_eq!(list.0[0].storage_keys, keys);
}

#[test]
fn a_panic_is_an_error_of_the_call() {
    let place = Place::new(Rules::default());
    *place.maps.cursed.lock().unwrap() = Some(TOKEN);
    let (calls, call) = (place.calls(), to(TOKEN, token_input(user(1), 5)));
    let request = TraceRequest::Flat;
    let errors = [
        calls.call(&call, &no()).unwrap_err(),
        calls.estimate(&call, &no()).unwrap_err(),
        calls.access_list(&call, &no()).unwrap_err(),
        trace_call(&calls, &call, &no(), &request).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(&error, CallError::Panicked(what) if what.contains("cursed")), "{error}");
    }
    assert!(calls.call(&to(user(1), []), &no()).is_ok(), "others can be called");
}
