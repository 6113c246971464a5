//! Do transactions that somebody has really signed get in, and those with a wrong signature not?

use std::sync::Arc;

use alloy_consensus::{
    SignableTransaction, TxEip1559, TxEip2930, TxEip4844, TxEip7702, TxEnvelope, TxLegacy,
    TypedTransaction, crypto::secp256k1::sign_message,
};
use alloy_eips::{
    eip2718::Encodable2718,
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Address, B256, Bytes, Signature, U256, address};
use kernel::Runtime;
use shard::{
    Config, Shards,
    config::{Genesis, GenesisAccount},
    pool::Refusal,
    shards::SubmitError,
    state::StateReader,
    store::MemoryStore,
    transaction::Malformed,
};

use crate::common::{self, GWEI, balance, block_on, settle, shard};

/// The addresses of the keys 1 and 2, as every tool has them.
const SENDER: Address = address!("7E5F4552091A69125d5DfCb7b8C2659029395Bdf");
const OTHER: Address = address!("2B5AD5c4795c026514f8317c7a215E218DcCD6cF");
const TO: Address = Address::repeat_byte(0x77);
/// The order of the curve.
const N: U256 = U256::from_limbs([
    0xBFD2_5E8C_D036_4141,
    0xBAAE_DCE6_AF48_A03B,
    0xFFFF_FFFF_FFFF_FFFE,
    0xFFFF_FFFF_FFFF_FFFF,
]);

/// Signatures are asked for, as by default.
fn config() -> Config {
    let given = GenesisAccount { balance: U256::from(10u128.pow(24)), ..Default::default() };
    let accounts = [(SENDER, given)].into();
    Config { genesis: Genesis { accounts, timestamp: 1_000 }, ..Config::default() }
}

fn open(runtime: &Runtime, config: &Config) -> Shards {
    common::open(runtime, config, Arc::new(MemoryStore::new()))
}

fn submit(shards: &Shards, encoded: impl Into<Bytes>) -> Result<B256, SubmitError> {
    block_on(shards.submit(shard(1), encoded.into()))
}

fn signature(fields: &TypedTransaction, key: u8) -> Signature {
    sign_message(B256::with_last_byte(key), fields.signature_hash()).expect("it is a key")
}

fn sign(fields: TypedTransaction) -> Bytes {
    let signature = signature(&fields, 1);
    TxEnvelope::from(fields.into_signed(signature)).encoded_2718().into()
}

fn plain(config: &Config, nonce: u64) -> TxEip1559 {
    TxEip1559 {
        chain_id: config.rules.chain_id(shard(1)),
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: 2 * GWEI,
        max_priority_fee_per_gas: GWEI,
        to: TO.into(),
        value: U256::from(5),
        ..Default::default()
    }
}

fn authorization(chain_id: u64, nonce: u64) -> SignedAuthorization {
    let fields = Authorization { chain_id: U256::from(chain_id), address: TO, nonce };
    let signature = sign_message(B256::with_last_byte(2), fields.signature_hash());
    fields.into_signed(signature.expect("it is a key"))
}

/// One of each type, with the nonces 0 to 3.
fn each_type(config: &Config) -> [TypedTransaction; 4] {
    let chain_id = config.rules.chain_id(shard(1));
    let (to, value, gas_price) = (TO.into(), U256::from(5), 2 * GWEI);
    let legacy = TxLegacy {
        chain_id: Some(chain_id),
        gas_limit: 21_000,
        gas_price,
        to,
        value,
        ..Default::default()
    };
    let listed = TxEip2930 {
        chain_id,
        nonce: 1,
        gas_limit: 21_000,
        gas_price,
        to,
        value,
        ..Default::default()
    };
    let delegating = TxEip7702 {
        chain_id,
        nonce: 3,
        gas_limit: 100_000,
        max_fee_per_gas: gas_price,
        to: TO,
        value,
        authorization_list: vec![authorization(chain_id, 0)],
        ..Default::default()
    };
    [legacy.into(), listed.into(), plain(config, 2).into(), delegating.into()]
}

#[test]
fn each_type_of_transaction_is_taken_and_executed() {
    let (runtime, config) = (Runtime::new().unwrap(), config());
    let shards = open(&runtime, &config);
    let hashes = each_type(&config).map(|fields| submit(&shards, sign(fields)).unwrap());
    settle(&shards, 4);
    let one = shards.get(shard(1)).unwrap();
    for (nonce, hash) in hashes.into_iter().enumerate() {
        let (_, transaction, receipt) = one.transaction(hash).unwrap().unwrap();
        assert_eq!((transaction.sender(), transaction.nonce()), (SENDER, nonce as u64));
        assert!(transaction.is_signed() && receipt.success, "{receipt:?}");
    }
    assert_eq!(balance(&shards, shard(1), TO), U256::from(4 * 5));
    // The authorisation holds: the account of the other key runs the code of another.
    let delegated = one.state().account(OTHER).unwrap().unwrap();
    let code = one.state().code(delegated.code_hash).unwrap();
    assert_eq!(code[..], [&[0xef, 1, 0][..], TO.as_slice()].concat());
    assert_eq!(delegated.nonce, 1);
}

#[test]
fn a_blob_transaction_is_refused_and_told_what_to_send_instead() {
    let (runtime, config) = (Runtime::new().unwrap(), config());
    let shards = open(&runtime, &config);
    let chain_id = config.rules.chain_id(shard(1));
    let fields = TxEip4844 {
        chain_id,
        gas_limit: 21_000,
        to: TO,
        max_fee_per_gas: 2 * GWEI,
        blob_versioned_hashes: vec![B256::with_last_byte(1)],
        max_fee_per_blob_gas: 1,
        ..Default::default()
    };
    let error = submit(&shards, sign(TypedTransaction::from(fields))).unwrap_err();
    assert_eq!(error, SubmitError::Malformed(Malformed::Blob));
    assert!(error.to_string().contains("type 2"), "{error}");
    assert!(shards.is_empty());
}

#[test]
fn a_wrong_signature_is_refused_or_is_somebody_elses() {
    let (runtime, config) = (Runtime::new().unwrap(), config());
    let shards = open(&runtime, &config);
    let fields = TypedTransaction::from(plain(&config, 0));
    let right = signature(&fields, 1);
    let with = |signature: Signature| {
        submit(&shards, TxEnvelope::from(fields.clone().into_signed(signature)).encoded_2718())
    };
    let malformed = |why| Err(SubmitError::Malformed(why));
    // The same signature in its other form would give the transaction a second hash.
    let high = Signature::new(right.r(), N - right.s(), !right.v());
    assert_eq!(with(high), malformed(Malformed::HighS));
    for none in [
        Signature::new(U256::ZERO, U256::ZERO, false),
        Signature::new(right.r(), U256::ZERO, false),
        Signature::new(N, right.s(), false),
        Signature::new(U256::MAX, right.s(), true),
    ] {
        assert_eq!(with(none), malformed(Malformed::Signature), "{none:?}");
    }
    // Signed with another key it is from an account without funds.
    let error = with(signature(&fields, 2)).unwrap_err();
    assert!(matches!(error, SubmitError::Refused(Refusal::InsufficientFunds { .. })), "{error}");
    assert!(shards.is_empty(), "nothing of it has made a shard");
    with(right).unwrap();
}

#[test]
fn a_transaction_without_a_signature_is_refused() {
    let (runtime, config) = (Runtime::new().unwrap(), config());
    let shards = open(&runtime, &config);
    let unsigned = shard::Transaction::unsigned(plain(&config, 0).into(), SENDER);
    let error = submit(&shards, unsigned.encoded().clone()).unwrap_err();
    assert_eq!(error, SubmitError::Malformed(Malformed::Signature));
    let error = shards.accept(shard(1), Arc::new(unsigned)).unwrap_err();
    assert_eq!(error, SubmitError::Refused(Refusal::Unsigned));
}

#[test]
fn another_chain_and_all_chains_are_refused() {
    let (runtime, config) = (Runtime::new().unwrap(), config());
    let shards = open(&runtime, &config);
    let own = config.rules.chain_id(shard(1));
    let refused = |encoded: Bytes| match submit(&shards, encoded) {
        Err(SubmitError::Refused(why)) => why,
        other => panic!("{other:?}"),
    };
    for chain_id in [0, 1, 31_337, own + 1, own - 1, u64::MAX] {
        let fields = TxEip1559 { chain_id, ..plain(&config, 0) };
        let why = refused(sign(fields.into()));
        assert_eq!(why, Refusal::WrongChainId { have: chain_id, want: own });
    }
    let [legacy, .., delegating] = each_type(&config);
    let (TypedTransaction::Legacy(mut legacy), TypedTransaction::Eip7702(mut delegating)) =
        (legacy, delegating)
    else {
        unreachable!("the first is legacy and the last delegates")
    };
    legacy.chain_id = None;
    assert_eq!(refused(sign(legacy.into())), Refusal::Unprotected);
    delegating.authorization_list.push(authorization(0, 1));
    let why = refused(sign(delegating.into()));
    assert_eq!(why, Refusal::UnprotectedAuthorization { index: 1 });
    assert!(shards.is_empty());
}

#[test]
fn bytes_that_are_cut_stretched_or_changed_anywhere_never_pass_for_the_transaction() {
    let (runtime, config) = (Runtime::new().unwrap(), config());
    let shards = open(&runtime, &config);
    for fields in each_type(&config) {
        let whole = sign(fields);
        for end in 0..whole.len() {
            let error = submit(&shards, whole.slice(..end)).unwrap_err();
            assert!(matches!(error, SubmitError::Malformed(_)), "cut at {end}: {error}");
        }
        let longer = [&whole[..], &[0]].concat();
        let error = submit(&shards, longer).unwrap_err();
        assert!(matches!(error, SubmitError::Malformed(_)), "{error}");
        for at in 0..whole.len() {
            let mut changed = whole.to_vec();
            changed[at] ^= 1;
            // It is no transaction any more, or that of a stranger without funds.
            assert!(submit(&shards, changed).is_err(), "byte {at}");
        }
    }
    assert!(shards.is_empty());
}

#[test]
fn a_transaction_that_is_too_long_is_refused_before_it_is_read() {
    let (runtime, config) = (Runtime::new().unwrap(), config());
    let shards = open(&runtime, &config);
    let bytes_max = config.pool.transaction_bytes_max;
    for bytes in [bytes_max + 1, 16 << 20] {
        let error = submit(&shards, vec![0xff; bytes]).unwrap_err();
        assert_eq!(error, SubmitError::Malformed(Malformed::TooLong { bytes, bytes_max }));
    }
    // As long as may be, it is looked at.
    let error = submit(&shards, vec![0xff; bytes_max]).unwrap_err();
    assert!(matches!(error, SubmitError::Malformed(Malformed::Rlp(_))), "{error}");
}
