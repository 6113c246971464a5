//! Is exactly that refused which could never be executed?

use alloy_consensus::{SignableTransaction, TxEip2930, TxEip7702, TxEnvelope, TxLegacy};
use alloy_eips::{
    eip2718::Encodable2718,
    eip2930::{AccessList, AccessListItem},
    eip7702::Authorization,
};
use alloy_primitives::{Bytes, Signature};
use revm::primitives::hardfork::SpecId;

use super::*;
use crate::execute::evm;

/// What a pool under these rules says to a transaction of a rich sender with nonce 0.
fn judge(rules: &Rules, transaction: SharedTransaction) -> Result<(), Refusal> {
    let mut pool = Pool::new(SHARD, rules, limits(), BASE_FEE);
    let judged = pool.insert(transaction, &account(0), Duration::ZERO).map(drop);
    assert_eq!(pool.len(), usize::from(judged.is_ok()), "a refusal changes nothing");
    judged
}

fn check(transaction: SharedTransaction) -> Result<(), Refusal> {
    judge(&rules(), transaction)
}

fn legacy(chain_id: Option<u64>) -> SharedTransaction {
    let fields = TxLegacy {
        chain_id,
        gas_price: 20,
        gas_limit: GAS,
        to: Address::ZERO.into(),
        ..TxLegacy::default()
    };
    Arc::new(Transaction::unsigned(TypedTransaction::Legacy(fields), alice()))
}

fn set_code(chains: &[u64], gas_limit: u64) -> SharedTransaction {
    let authorize = |chain: &u64| {
        let authorization =
            Authorization { chain_id: U256::from(*chain), address: bob(), nonce: 0 };
        authorization.into_signed(Signature::test_signature())
    };
    let fields = TxEip7702 {
        chain_id: rules().chain_id(SHARD),
        gas_limit,
        max_fee_per_gas: 20,
        authorization_list: chains.iter().map(authorize).collect(),
        ..TxEip7702::default()
    };
    Arc::new(Transaction::unsigned(TypedTransaction::Eip7702(fields), alice()))
}

#[test]
fn a_transaction_of_another_shard_is_refused() {
    let other = rules().chain_id(Address::repeat_byte(2));
    let own = rules().chain_id(SHARD);
    let refused = Refusal::WrongChainId { have: other, want: own };
    assert_eq!(
        check(unsigned(alice(), TxEip1559 { chain_id: other, ..fields(0, 20) })),
        Err(refused.clone())
    );
    assert_eq!(check(legacy(Some(other))), Err(refused));
    assert_eq!(check(legacy(Some(own))), Ok(()));
}

#[test]
fn a_transaction_without_a_chain_id_is_refused_unless_allowed() {
    assert_eq!(check(legacy(None)), Err(Refusal::Unprotected));
    let rules = Rules { allow_unprotected: true, ..rules() };
    assert_eq!(judge(&rules, legacy(None)), Ok(()));
}

#[test]
fn an_authorisation_for_every_chain_is_refused_unless_allowed() {
    let own = rules().chain_id(SHARD);
    let everywhere = set_code(&[own, 0], 100_000);
    let refused = Refusal::UnprotectedAuthorization { index: 1 };
    assert_eq!(check(everywhere.clone()), Err(refused));
    let allowing = Rules { allow_unprotected: true, ..rules() };
    assert_eq!(judge(&allowing, everywhere), Ok(()));
    // One for another chain is void here, and can be repeated nowhere.
    assert_eq!(check(set_code(&[own, 5], 100_000)), Ok(()));
}

#[test]
fn authorisations_need_a_fork_that_knows_them_and_one_of_them() {
    let own = rules().chain_id(SHARD);
    let cancun = Rules { fork: SpecId::CANCUN, ..rules() };
    let refused = Refusal::TypeNotSupported { kind: 4, fork: SpecId::CANCUN };
    assert_eq!(judge(&cancun, set_code(&[own], 100_000)), Err(refused));
    assert_eq!(check(set_code(&[], 100_000)), Err(Refusal::NoAuthorizations));
}

#[test]
fn without_a_signature_it_is_refused_where_signatures_are_asked_for() {
    assert_eq!(judge(&Rules::default(), transfer(alice(), 0, 20)), Err(Refusal::Unsigned));
}

#[test]
fn one_byte_above_the_limit_is_refused() {
    let transaction = unsigned(
        alice(),
        TxEip1559 { input: vec![1; 1_000].into(), gas_limit: 100_000, ..fields(0, 20) },
    );
    let bytes = transaction.encoded().len();
    for bytes_max in [bytes, bytes - 1] {
        let mut pool = pool(PoolLimits { transaction_bytes_max: bytes_max, ..limits() });
        let expected = if bytes > bytes_max {
            Err(Refusal::TooLarge { bytes, bytes_max })
        } else {
            Ok(Inserted::default())
        };
        assert_eq!(insert(&mut pool, &transaction), expected);
    }
}

#[test]
fn a_nonce_that_was_used_is_refused() {
    let mut pool = pool(limits());
    let insert = |pool: &mut Pool, nonce| {
        pool.insert(transfer(alice(), nonce, 20), &account(5), Duration::ZERO).map(drop)
    };
    assert_eq!(insert(&mut pool, 4), Err(Refusal::NonceTooLow { nonce: 4, next: 5 }));
    assert_eq!(insert(&mut pool, 5), Ok(()));
}

#[test]
fn a_nonce_too_far_ahead_is_refused() {
    let max = limits().nonce_ahead_max;
    assert_eq!(check(transfer(alice(), max, 20)), Ok(()));
    let refused = Refusal::NonceTooHigh { nonce: max + 1, nonce_max: max };
    assert_eq!(check(transfer(alice(), max + 1, 20)), Err(refused));
}

#[test]
fn the_last_nonce_of_all_is_refused() {
    let mut pool = pool(limits());
    let last = transfer(alice(), u64::MAX, 20);
    let refused = pool.insert(last, &account(u64::MAX), Duration::ZERO);
    assert_eq!(refused, Err(Refusal::NonceIsMax));
    let before = transfer(alice(), u64::MAX - 1, 20);
    assert!(pool.insert(before, &account(u64::MAX - 1), Duration::ZERO).is_ok());
    assert_eq!(collect(&mut pool).len(), 1);
}

#[test]
fn intrinsic_gas_counts_data_lists_and_creation() {
    // 21,000, and 16 for each byte that is not 0; the floor of EIP-7623 is 40 for each.
    let with = |input: &[u8], gas_limit| {
        let fields = TxEip1559 { input: input.to_vec().into(), gas_limit, ..fields(0, 20) };
        check(unsigned(alice(), fields))
    };
    assert_eq!(with(&[], 20_999), Err(Refusal::IntrinsicGasTooLow { gas: 20_999, needed: 21_000 }));
    let refused = Refusal::IntrinsicGasTooLow { gas: 21_159, needed: 21_160 };
    assert_eq!(with(&[1; 10], 21_159), Err(refused));
    assert_eq!(
        with(&[1; 10], 21_399),
        Err(Refusal::FloorGasTooLow { gas: 21_399, needed: 21_400 })
    );
    assert_eq!(with(&[1; 10], 21_400), Ok(()));

    let item = AccessListItem { address: bob(), storage_keys: vec![B256::ZERO; 2] };
    let listed = |gas_limit| {
        let fields = TxEip2930 {
            chain_id: rules().chain_id(SHARD),
            gas_price: 20,
            gas_limit,
            to: Address::ZERO.into(),
            access_list: AccessList(vec![item.clone()]),
            ..TxEip2930::default()
        };
        check(Arc::new(Transaction::unsigned(TypedTransaction::Eip2930(fields), alice())))
    };
    let needed = 21_000 + 2_400 + 2 * 1_900;
    assert_eq!(listed(needed - 1), Err(Refusal::IntrinsicGasTooLow { gas: needed - 1, needed }));
    assert_eq!(listed(needed), Ok(()));

    let own = rules().chain_id(SHARD);
    let needed = 21_000 + 25_000;
    let refused = Refusal::IntrinsicGasTooLow { gas: needed - 1, needed };
    assert_eq!(check(set_code(&[own], needed - 1)), Err(refused));
    assert_eq!(check(set_code(&[own], needed)), Ok(()));

    // Creation: 32,000 more, and 2 for each word of the code.
    let created = |gas_limit| {
        let fields = TxEip1559 {
            to: alloy_primitives::TxKind::Create,
            input: vec![0; 32].into(),
            gas_limit,
            ..fields(0, 20)
        };
        check(unsigned(alice(), fields))
    };
    let needed = 21_000 + 32_000 + 32 * 4 + 2;
    assert_eq!(created(needed - 1), Err(Refusal::IntrinsicGasTooLow { gas: needed - 1, needed }));
    assert_eq!(created(needed), Ok(()));
}

#[test]
fn code_to_create_with_has_a_limit_since_shanghai() {
    let create = |len: usize| {
        let fields = TxEip1559 {
            to: alloy_primitives::TxKind::Create,
            input: Bytes::from(vec![0; len]),
            gas_limit: 10_000_000,
            ..fields(0, 20)
        };
        unsigned(alice(), fields)
    };
    let bytes_max = 2 * 24_576;
    assert_eq!(check(create(bytes_max)), Ok(()));
    let refused = Refusal::InitcodeTooLarge { bytes: bytes_max + 1, bytes_max };
    assert_eq!(check(create(bytes_max + 1)), Err(refused));
    let london = Rules { fork: SpecId::LONDON, ..rules() };
    assert_eq!(judge(&london, create(bytes_max + 1)), Ok(()));
}

#[test]
fn more_gas_than_a_block_or_the_fork_has_is_refused() {
    let with = |rules: &Rules, gas_limit| {
        judge(rules, unsigned(alice(), TxEip1559 { gas_limit, ..fields(0, 20) }))
    };
    let gas_max = rules().block_gas_limit;
    let refused = Refusal::ExceedsBlockGasLimit { gas: gas_max + 1, gas_max };
    assert_eq!(with(&rules(), gas_max + 1), Err(refused));
    // EIP-7825, from Osaka on.
    let gas_max = 1 << 24;
    assert_eq!(with(&rules(), gas_max), Ok(()));
    let refused = Refusal::GasLimitTooHigh { gas: gas_max + 1, gas_max };
    assert_eq!(with(&rules(), gas_max + 1), Err(refused));
    let prague = Rules { fork: SpecId::PRAGUE, ..rules() };
    assert_eq!(with(&prague, gas_max + 1), Ok(()));
}

#[test]
fn a_priority_fee_above_the_whole_fee_is_refused() {
    let fields = TxEip1559 { max_priority_fee_per_gas: 21, ..fields(0, 20) };
    let refused = Refusal::PriorityFeeAboveMaxFee { priority_fee: 21, fee: 20 };
    assert_eq!(check(unsigned(alice(), fields)), Err(refused));
}

/// As if the sender had signed it: who has, was found out before it comes to the pool.
fn signed(fields: TxEip1559, sender: Address) -> SharedTransaction {
    let signed = fields.into_signed(Signature::test_signature());
    let envelope = TxEnvelope::from(signed);
    let encoded = envelope.encoded_2718().into();
    Arc::new(Transaction::from_parts(envelope, encoded, sender, true))
}

fn from_contract(transaction: SharedTransaction) -> Result<(), Refusal> {
    let contract = SenderAccount { is_contract: true, ..account(0) };
    pool(limits()).insert(transaction, &contract, Duration::ZERO).map(drop)
}

#[test]
fn what_is_signed_for_a_contract_is_refused() {
    let refused = from_contract(signed(fields(0, 20), alice()));
    assert_eq!(refused, Err(Refusal::SenderHasCode { sender: alice() }));
}

#[test]
fn where_no_signature_is_asked_for_a_contract_sends_as_anybody_does() {
    assert_eq!(from_contract(transfer(alice(), 0, 20)), Ok(()));
}

#[test]
fn all_of_a_sender_together_must_be_paid_for() {
    let cost = U256::from(GAS * 20 + 1);
    let paying = |nonce, value: U256| unsigned(alice(), TxEip1559 { value, ..fields(nonce, 20) });
    let with = |pool: &mut Pool, transaction, balance| {
        let account = SenderAccount { balance, ..account(0) };
        pool.insert(transaction, &account, Duration::ZERO).map(drop)
    };
    let mut pool = pool(limits());
    let one = U256::from(1);
    let (balance, queued) = (cost - one, U256::ZERO);
    let refused = Refusal::InsufficientFunds { balance, queued, cost };
    assert_eq!(with(&mut pool, paying(0, one), balance), Err(refused));
    assert_eq!(with(&mut pool, paying(0, one), cost), Ok(()));
    let balance = cost + cost - one;
    let refused = Refusal::InsufficientFunds { balance, queued: cost, cost };
    assert_eq!(with(&mut pool, paying(1, one), balance), Err(refused));
    assert_eq!(with(&mut pool, paying(1, one), cost + cost), Ok(()));
}

#[test]
fn what_the_account_has_paid_for_already_is_not_counted_again() {
    let mut pool = pool(limits());
    let cost = U256::from(GAS * 20);
    let with = |nonce, balance| SenderAccount { balance, ..account(nonce) };
    let both = [0, 1].map(|nonce| transfer(alice(), nonce, 20));
    assert!(pool.insert(both[0].clone(), &with(0, cost + cost), Duration::ZERO).is_ok());
    assert_eq!(collect(&mut pool), both[..1]);
    // Its block is committed and shows in the account; the pool is told a little later.
    assert!(pool.insert(both[1].clone(), &with(1, cost), Duration::ZERO).is_ok());
    pool.included(&hashes(&both[..1]));
    assert_eq!(pool.account_changed(alice(), 1, cost), []);
    assert_eq!(collect(&mut pool), both[1..]);
}

#[test]
fn a_value_beyond_all_numbers_is_refused() {
    let fields = TxEip1559 { value: U256::MAX, max_fee_per_gas: u128::MAX, ..fields(0, 20) };
    let refused = check(unsigned(alice(), fields));
    assert!(matches!(refused, Err(Refusal::InsufficientFunds { .. })), "{refused:?}");
}

#[test]
fn where_fees_are_not_charged_only_the_value_must_be_there() {
    let rules = Rules { no_fee: true, ..rules() };
    let mut pool = Pool::new(SHARD, &rules, limits(), BASE_FEE);
    let free = unsigned(alice(), TxEip1559 { value: U256::from(9), ..fields(0, 0) });
    let with = |balance: u64| SenderAccount { balance: U256::from(balance), ..account(0) };
    assert!(pool.insert(free.clone(), &with(8), Duration::ZERO).is_err());
    assert!(pool.insert(free, &with(9), Duration::ZERO).is_ok());
    assert_eq!(collect(&mut pool).len(), 1, "a fee of nothing is enough");
}

#[test]
fn where_fees_are_not_charged_a_fee_that_can_not_be_computed_is_refused() {
    let rules = Rules { no_fee: true, ..rules() };
    let mut pool = Pool::new(SHARD, &rules, limits(), BASE_FEE);
    let most = u128::MAX / u128::from(GAS);
    let with = |max_fee_per_gas| {
        unsigned(alice(), TxEip1559 { max_fee_per_gas, gas_limit: GAS, ..fields(0, 0) })
    };
    let refused = insert(&mut pool, &with(most + 1));
    assert_eq!(refused, Err(Refusal::FeeTooHigh { gas: GAS, fee: most + 1 }));
    assert!(evm::refuse(&rules, &with(most + 1)).is_some());
    assert!(insert(&mut pool, &with(most)).is_ok());
    assert_eq!(evm::refuse(&rules, &with(most)), None, "what is taken is executed");
}

#[test]
fn what_is_known_is_refused() {
    let mut pool = pool(limits());
    let [known] = fill(&mut pool, [(alice(), 0, 20)]);
    assert_eq!(insert(&mut pool, &known), Err(Refusal::AlreadyKnown));
}

#[test]
fn tools_find_the_words_that_they_look_for() {
    let words = [
        (Refusal::AlreadyKnown, "already known"),
        (Refusal::NonceTooLow { nonce: 1, next: 2 }, "nonce too low"),
        (Refusal::NonceTooHigh { nonce: 9, nonce_max: 2 }, "nonce too high"),
        (
            Refusal::ReplacementUnderpriced { fee: 1, priority_fee: 1 },
            "replacement transaction underpriced",
        ),
        (
            Refusal::InsufficientFunds { balance: U256::ZERO, queued: U256::ZERO, cost: U256::MAX },
            "insufficient funds for gas * price + value",
        ),
        (Refusal::IntrinsicGasTooLow { gas: 1, needed: 2 }, "intrinsic gas too low"),
        (Refusal::ExceedsBlockGasLimit { gas: 2, gas_max: 1 }, "exceeds block gas limit"),
        (
            Refusal::PriorityFeeAboveMaxFee { priority_fee: 2, fee: 1 },
            "max priority fee per gas higher than max fee per gas",
        ),
        (Refusal::Underpriced { price: 1 }, "transaction underpriced"),
        (Refusal::Full, "txpool is full"),
        (Refusal::WrongChainId { have: 1, want: 2 }, "invalid chain id for signer"),
        (Refusal::Unprotected, "only replay-protected (EIP-155) transactions allowed over RPC"),
        (Refusal::SenderHasCode { sender: Address::ZERO }, "sender not an eoa"),
        (Refusal::InitcodeTooLarge { bytes: 2, bytes_max: 1 }, "max initcode size exceeded"),
    ];
    for (refusal, words) in words {
        assert!(refusal.to_string().starts_with(words), "{refusal}");
    }
}
