//! Are transactions of every kind read, refused, recovered and stored as they should be?

use alloy_consensus::{
    SignableTransaction, TxEip1559, TxEip2930, TxEip4844, TxEip7702, TxEnvelope, TxLegacy,
    TypedTransaction, crypto::secp256k1::sign_message,
};
use alloy_eips::{
    eip2718::Encodable2718,
    eip2930::{AccessList, AccessListItem},
    eip7702::{Authorization, SignedAuthorization},
};
use alloy_primitives::{Address, B256, Bytes, Signature, U256, address, keccak256};
use kernel::{Runtime, each_seed};
use revm::{
    Context, ExecuteEvm, MainBuilder, MainContext,
    context::{BlockEnv, CfgEnv},
    database::{CacheDB, EmptyDB},
    primitives::{KECCAK_EMPTY, hardfork::SpecId},
    state::AccountInfo,
};

use super::*;
use crate::execute::testing::Dice;

const CHAIN: u64 = 77;
const BYTES_MAX: usize = 128 << 10;
/// The order of the curve.
const N: U256 = U256::from_limbs([
    0xBFD2_5E8C_D036_4141,
    0xBAAE_DCE6_AF48_A03B,
    0xFFFF_FFFF_FFFF_FFFE,
    0xFFFF_FFFF_FFFF_FFFF,
]);

fn key(number: u8) -> B256 {
    B256::with_last_byte(number)
}

/// The address of `key(1)`, as every tool has it.
const SENDER: Address = address!("7E5F4552091A69125d5DfCb7b8C2659029395Bdf");

fn sign(fields: TypedTransaction, number: u8) -> Bytes {
    let signature = sign_message(key(number), fields.signature_hash()).unwrap();
    TxEnvelope::from(fields.into_signed(signature)).encoded_2718().into()
}

fn authorization(number: u8, nonce: u64) -> SignedAuthorization {
    let authorization =
        Authorization { chain_id: U256::from(CHAIN), address: Address::repeat_byte(9), nonce };
    let signature = sign_message(key(number), authorization.signature_hash()).unwrap();
    authorization.into_signed(signature)
}

fn access_list() -> AccessList {
    let storage_keys = vec![B256::with_last_byte(1), B256::with_last_byte(2)];
    AccessList(vec![AccessListItem { address: Address::repeat_byte(3), storage_keys }])
}

/// One of each type that shards take.
fn each_type(nonce: u64) -> [TypedTransaction; 4] {
    let (to, input) = (Address::repeat_byte(5), Bytes::from_static(b"\0\x01"));
    let (gas_limit, value) = (100_000, U256::from(3));
    [
        TypedTransaction::Legacy(TxLegacy {
            chain_id: Some(CHAIN),
            nonce,
            gas_price: 10,
            gas_limit,
            to: to.into(),
            value,
            input: input.clone(),
        }),
        TypedTransaction::Eip2930(TxEip2930 {
            chain_id: CHAIN,
            nonce,
            gas_price: 10,
            gas_limit,
            to: to.into(),
            value,
            access_list: access_list(),
            input: input.clone(),
        }),
        TypedTransaction::Eip1559(TxEip1559 {
            chain_id: CHAIN,
            nonce,
            gas_limit,
            max_fee_per_gas: 10,
            max_priority_fee_per_gas: 2,
            to: to.into(),
            value,
            access_list: access_list(),
            input: input.clone(),
        }),
        TypedTransaction::Eip7702(TxEip7702 {
            chain_id: CHAIN,
            nonce,
            gas_limit,
            max_fee_per_gas: 10,
            max_priority_fee_per_gas: 2,
            to,
            value,
            access_list: access_list(),
            authorization_list: vec![authorization(2, 0)],
            input,
        }),
    ]
}

fn decode(bytes: impl Into<Bytes>) -> Result<Unrecovered, Malformed> {
    Unrecovered::decode(bytes.into(), BYTES_MAX)
}

fn admit(bytes: impl Into<Bytes>) -> Result<Transaction, Malformed> {
    decode(bytes)?.recover()
}

#[test]
fn each_type_is_decoded_and_its_sender_recovered() {
    for fields in each_type(4) {
        let bytes = sign(fields.clone(), 1);
        let transaction = admit(bytes.clone()).unwrap();
        assert_eq!((transaction.sender(), transaction.is_signed()), (SENDER, true));
        assert_eq!(transaction.encoded(), &bytes);
        assert_eq!(transaction.hash(), keccak256(&bytes));
        assert_eq!(TypedTransaction::from(transaction.envelope().clone()), fields);
    }
}

#[test]
fn a_transaction_without_a_chain_id_is_decoded() {
    let fields = TxLegacy { gas_limit: 21_000, ..TxLegacy::default() };
    let transaction = admit(sign(TypedTransaction::Legacy(fields), 1)).unwrap();
    assert_eq!(transaction.sender(), SENDER);
    assert_eq!(alloy_consensus::Transaction::chain_id(transaction.envelope()), None);
}

#[test]
fn no_bytes_are_refused() {
    assert_eq!(decode(Vec::new()), Err(Malformed::Empty));
}

#[test]
fn one_byte_too_many_is_refused_before_it_is_read() {
    let bytes = sign(each_type(0)[2].clone(), 1);
    assert!(Unrecovered::decode(bytes.clone(), bytes.len()).is_ok());
    let (bytes_max, len) = (bytes.len() - 1, bytes.len());
    assert_eq!(
        Unrecovered::decode(bytes, bytes_max),
        Err(Malformed::TooLong { bytes: len, bytes_max })
    );
}

#[test]
fn a_transaction_cut_off_anywhere_is_refused() {
    for fields in each_type(1) {
        let bytes = sign(fields, 1);
        for len in 0..bytes.len() {
            assert!(decode(bytes.slice(..len)).is_err(), "{len} of {}", bytes.len());
        }
    }
}

#[test]
fn bytes_after_the_transaction_are_refused() {
    for fields in each_type(1) {
        let mut bytes = sign(fields, 1).to_vec();
        bytes.extend([0; 3]);
        assert_eq!(decode(bytes), Err(Malformed::Trailing { bytes: 3 }));
    }
}

#[test]
fn a_blob_transaction_is_refused_with_what_to_send_instead() {
    let fields = TxEip4844 { chain_id: CHAIN, ..TxEip4844::default() };
    let signed = fields.into_signed(Signature::test_signature());
    let error = decode(signed.encoded_2718()).unwrap_err();
    assert_eq!(error, Malformed::Blob);
    assert!(error.to_string().contains("calldata"), "{error}");
}

#[test]
fn a_type_that_there_is_not_is_refused_by_its_number() {
    assert_eq!(decode(vec![0x42, 0xc0]), Err(Malformed::UnknownType(0x42)));
    // A legacy transaction has no type in front of it, not even its own.
    let mut legacy = vec![0];
    legacy.extend(sign(each_type(0)[0].clone(), 1));
    assert_eq!(decode(legacy), Err(Malformed::UnknownType(0)));
}

#[test]
fn a_transaction_wrapped_as_for_the_network_is_refused() {
    let bytes = sign(each_type(0)[2].clone(), 1);
    let wrapped = alloy_rlp::encode(&bytes[..]);
    let Err(Malformed::Rlp(_)) = decode(wrapped) else { panic!("it was taken") };
}

#[test]
fn a_number_with_a_leading_zero_is_refused() {
    // In place of nonce 4, written 04, stands 00 04 as two bytes: 82 00 04.
    let bytes = sign(each_type(4)[0].clone(), 1);
    let at = bytes.iter().position(|byte| *byte == 4).unwrap();
    let list = [&bytes[2..at], &[0x82, 0, 4], &bytes[at + 1..]].concat();
    let longer = [&[0xf8, u8::try_from(list.len()).unwrap()], &list[..]].concat();
    assert!(decode(longer).is_err());
}

#[test]
fn a_signature_with_a_high_s_is_refused() {
    for fields in each_type(0) {
        let signature = sign_message(key(1), fields.signature_hash()).unwrap();
        let high = Signature::new(signature.r(), N - signature.s(), !signature.v());
        let envelope = TxEnvelope::from(fields.into_signed(high));
        assert_eq!(admit(envelope.encoded_2718()), Err(Malformed::HighS));
    }
}

#[test]
fn a_signature_that_nobody_made_is_refused() {
    for (r, s) in [(0, 0), (0, 1), (1, 0)] {
        let signature = Signature::new(U256::from(r), U256::from(s), false);
        let envelope = TxEnvelope::from(each_type(0)[2].clone().into_signed(signature));
        assert_eq!(admit(envelope.encoded_2718()), Err(Malformed::Signature));
    }
    let signature = Signature::new(N, U256::from(1), true);
    let envelope = TxEnvelope::from(each_type(0)[2].clone().into_signed(signature));
    assert_eq!(admit(envelope.encoded_2718()), Err(Malformed::Signature));
}

#[test]
fn every_error_says_what_is_wrong() {
    let all = [
        Malformed::Empty,
        Malformed::TooLong { bytes: 5, bytes_max: 4 },
        Malformed::UnknownType(9),
        Malformed::Blob,
        Malformed::Rlp("input too short".into()),
        Malformed::Trailing { bytes: 1 },
        Malformed::NotCanonical,
        Malformed::HighS,
        Malformed::Signature,
    ];
    let texts: std::collections::BTreeSet<String> = all.iter().map(Malformed::to_string).collect();
    assert_eq!(texts.len(), all.len());
    assert!(texts.iter().all(|text| text.len() > 20), "{texts:?}");
}

#[test]
fn without_a_signature_the_hash_depends_on_the_sender() {
    for fields in each_type(0) {
        let one = Transaction::unsigned(fields.clone(), Address::repeat_byte(1));
        let other = Transaction::unsigned(fields, Address::repeat_byte(2));
        assert_ne!(one.hash(), other.hash());
        assert_eq!(one.hash(), keccak256(one.encoded()));
    }
}

#[test]
fn a_stand_in_signature_is_refused_from_outside() {
    for fields in each_type(0) {
        let unsigned = Transaction::unsigned(fields, SENDER);
        assert_eq!(admit(unsigned.encoded().clone()), Err(Malformed::Signature));
    }
}

/// One of a type and a nonce, with what is wrong about it: 0 and more than 5 is nothing.
fn with_flaw(nonce: u64, sort: u64, signer: u8, flaw: u64, dice: &mut Dice) -> Unrecovered {
    let fields = each_type(nonce)[sort as usize].clone();
    let good = sign_message(key(signer), fields.signature_hash()).unwrap();
    let (r, s, v) = (good.r(), good.s(), good.v());
    let word = |dice: &mut Dice| U256::from_be_bytes(keccak256(dice.roll(1 << 50).to_be_bytes()).0);
    let odd = [U256::ZERO, U256::from(1), U256::from(5), N - U256::from(1), N, U256::MAX];
    let signature = match flaw {
        1 => Signature::new(word(dice), word(dice) >> 1, v),
        2 => Signature::new(r, N - s, !v),
        3 => Signature::new(r, s, !v),
        4 => Signature::new(odd[dice.roll(6) as usize], s, v),
        5 => Signature::new(r, odd[dice.roll(6) as usize], v),
        _ => good,
    };
    decode(TxEnvelope::from(fields.into_signed(signature)).encoded_2718()).unwrap()
}

/// As this processor does it, and as each can.
const WAYS: [fn(&mut Vec<Unrecovered>); 2] =
    [|batch| recover_together(batch), |batch| recover::recover_rows(batch)];

/// What comes of them together is what comes of each, in the same order.
#[track_caller]
fn come_out_together_as_one_by_one(batch: &[Unrecovered]) {
    let one_by_one: Recovered = batch.iter().cloned().map(Unrecovered::recover).collect();
    for way in WAYS {
        let mut together = batch.to_vec();
        way(&mut together);
        compare(together, &one_by_one);
    }
}

#[track_caller]
fn compare(together: Vec<Unrecovered>, one_by_one: &Recovered) {
    let found: Vec<_> = together.iter().map(|one| one.sender).collect();
    for (at, (found, expected)) in found.iter().zip(one_by_one).enumerate() {
        let expected = expected.as_ref().ok().map(Transaction::sender);
        assert!(found.is_none() || *found == expected, "{at}: {found:?}, {expected:?}");
    }
    let together: Recovered = together.into_iter().map(Unrecovered::recover).collect();
    assert_eq!(together, *one_by_one);
}

#[test]
fn a_row_of_one_sender_is_known_together_whatever_the_types() {
    let row: Vec<_> = (0..12).map(|at| with_flaw(at, at % 4, 1, 0, &mut Dice(1))).collect();
    come_out_together_as_one_by_one(&row);
    for way in WAYS {
        let mut row = row.clone();
        way(&mut row);
        assert!(row.iter().all(|one| one.sender == Some(SENDER)));
    }
}

#[test]
fn those_of_many_senders_are_known_together_where_that_is_quicker() {
    for count in [1, 2, 3, 8, 9, 16, 18, 19, 33] {
        let of = |at: u64| with_flaw(7, at % 4, at as u8 + 1, 0, &mut Dice(1));
        let mut batch: Vec<_> = (0..count).map(of).collect();
        come_out_together_as_one_by_one(&batch);
        recover_together(&mut batch);
        // Two that are left over are not worth a vector.
        let rest = count % 16;
        let left = if is_quicker_together() { rest * u64::from(rest < 3) } else { count };
        assert_eq!(batch.iter().filter(|one| one.sender.is_some()).count() as u64, count - left);
    }
}

/// What is known stays so, and is not asked for again, not even where it is wrong.
#[test]
fn a_sender_that_was_found_is_kept() {
    let mut batch: Vec<_> = (0..12).map(|at| with_flaw(at, 2, 1, 0, &mut Dice(1))).collect();
    assert_eq!(batch[3].find_sender(), Ok(SENDER));
    batch[3].sender = Some(Address::ZERO);
    for way in WAYS {
        way(&mut batch);
        assert_eq!(batch[3].find_sender(), Ok(Address::ZERO));
    }
    assert_eq!(with_flaw(0, 2, 1, 2, &mut Dice(1)).find_sender(), Err(Malformed::HighS));
}

/// Each flaw in each place of a row, and one of somebody else.
#[test]
fn a_row_with_one_that_is_wrong_comes_out_as_one_by_one() {
    let mut dice = Dice(7);
    for at in 0..7 {
        for (signer, flaw) in [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (2, 0)] {
            let row: Vec<_> = (0..7)
                .map(|nonce| match nonce == at {
                    true => with_flaw(nonce, 2, signer, flaw, &mut dice),
                    false => with_flaw(nonce, 2, 1, 0, &mut dice),
                })
                .collect();
            come_out_together_as_one_by_one(&row);
        }
    }
}

#[test]
fn any_mixture_comes_out_together_as_one_by_one() {
    each_seed(60, |seed| {
        let mut dice = Dice(seed.wrapping_mul(7919) ^ 0x9E37_79B9);
        // Some mixtures have few that are wrong, others many; so with senders and gaps.
        let (flaws, senders, gaps) = (6 << dice.roll(6), 1 + dice.roll(3), 4 << dice.roll(4));
        let mut nonce = dice.roll(100);
        let batch: Vec<_> = (0..dice.roll(33))
            .map(|_| {
                nonce = if dice.roll(gaps) == 0 { dice.roll(100) } else { nonce + 1 };
                let (sort, signer) = (dice.roll(4), 1 + dice.roll(senders) as u8);
                let flaw = dice.roll(flaws);
                with_flaw(nonce, sort, signer, flaw, &mut dice)
            })
            .collect();
        come_out_together_as_one_by_one(&batch);
    });
}

/// There is nothing to find out about those that are refused in any case.
#[test]
fn one_with_a_high_s_is_not_asked_about() {
    let flaw = |at: u64| if at < 7 { 0 } else { 2 };
    let row: Vec<_> = (0..20).map(|at| with_flaw(at, 2, 1, flaw(at), &mut Dice(1))).collect();
    for way in WAYS {
        let mut row = row.clone();
        way(&mut row);
        let known: Vec<bool> = row.iter().map(|one| one.sender.is_some()).collect();
        assert_eq!(known, [[true; 7].as_slice(), &[false; 13]].concat());
    }
}

/// Twenty transactions, of which two have no valid signature, and what must come of them.
fn batch() -> (Vec<Unrecovered>, Recovered) {
    let mut batch: Vec<Unrecovered> = (0..20)
        .map(|at: u8| {
            let fields = each_type(u64::from(at))[usize::from(at % 4)].clone();
            decode(sign(fields, at + 1)).unwrap()
        })
        .collect();
    for at in [3, 17] {
        let unsigned = Transaction::unsigned(each_type(0)[2].clone(), SENDER);
        batch[at] = decode(unsigned.encoded().clone()).unwrap();
    }
    let one_by_one = batch.iter().cloned().map(Unrecovered::recover).collect();
    (batch, one_by_one)
}

#[test]
fn a_batch_comes_back_in_its_order() {
    let runtime = Runtime::builder().workers(3).build().unwrap();
    let (batch, expected) = batch();
    let all = recover_all(&runtime, batch).unwrap();
    assert_eq!(runtime.spawn(all).unwrap().join().unwrap().unwrap(), expected);
}

#[test]
fn a_batch_comes_back_in_its_order_in_a_simulation() {
    let (batch, expected) = batch();
    each_seed(5, |seed| {
        let mut simulation = Runtime::builder().workers(3).simulate(seed).unwrap();
        let all = recover_all(&simulation, batch.clone()).unwrap();
        assert_eq!(simulation.block_on(all).unwrap().unwrap(), expected);
    });
}

#[test]
fn a_runtime_that_has_stopped_recovers_nothing() {
    let runtime = Runtime::builder().workers(1).build().unwrap();
    let handle = runtime.handle();
    runtime.shutdown();
    assert!(recover_all(&handle, batch().0).is_err());
}

/// One of each type, signed and not, and one whose authorisations are partly void.
fn stored() -> Vec<Transaction> {
    let signed = each_type(2).map(|fields| admit(sign(fields, 1)).unwrap());
    let unsigned = each_type(2).map(|fields| Transaction::unsigned(fields, SENDER));
    signed.into_iter().chain(unsigned).chain([partly_void()]).collect()
}

fn partly_void() -> Transaction {
    let [.., TypedTransaction::Eip7702(mut fields)] = each_type(0) else { panic!("the last") };
    let void = SignedAuthorization::new_unchecked(
        fields.authorization_list[0].inner().clone(),
        5,
        U256::from(1),
        U256::from(1),
    );
    fields.authorization_list = vec![authorization(3, 0), void, authorization(4, 7)];
    admit(sign(TypedTransaction::Eip7702(fields), 1)).unwrap()
}

#[test]
fn what_is_stored_is_read_as_it_was() {
    for transaction in stored() {
        let mut bytes = Vec::new();
        transaction.to_bytes(&mut bytes);
        let read = Transaction::from_bytes(&bytes.into()).unwrap();
        assert_eq!(read, transaction);
        assert_eq!(read.hash(), transaction.hash());
    }
}

#[test]
fn what_is_stored_is_refused_when_it_is_cut_off_or_too_long() {
    for transaction in stored() {
        let mut bytes = Vec::new();
        transaction.to_bytes(&mut bytes);
        let bytes = Bytes::from(bytes);
        for len in 0..bytes.len() {
            assert_eq!(Transaction::from_bytes(&bytes.slice(..len)), Err(Corrupt));
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(Transaction::from_bytes(&longer.into()), Err(Corrupt));
    }
}

#[test]
fn a_flag_that_there_is_not_is_refused() {
    let mut bytes = Vec::new();
    stored()[0].to_bytes(&mut bytes);
    bytes[0] |= 4;
    assert_eq!(Transaction::from_bytes(&bytes.into()), Err(Corrupt));
}

#[test]
fn authorities_are_those_who_signed() {
    let transaction = partly_void();
    let [first, second, third] = transaction.authorities() else { panic!("there are three") };
    assert_eq!(*second, None);
    let sender = |number| admit(sign(each_type(0)[0].clone(), number)).unwrap().sender();
    assert_eq!((*first, *third), (Some(sender(3)), Some(sender(4))));
}

#[test]
fn the_virtual_machine_executes_each_type() {
    let mut database = CacheDB::new(EmptyDB::default());
    let rich = AccountInfo { balance: U256::from(10).pow(U256::from(18)), ..Default::default() };
    database.insert_account_info(SENDER, rich);
    let authority = admit(sign(each_type(0)[0].clone(), 2)).unwrap().sender();
    for (nonce, fields) in each_type(0).into_iter().enumerate() {
        let transaction = admit(sign(each_type(nonce as u64)[nonce].clone(), 1)).unwrap();
        let machine = tx_env(&transaction);
        assert_eq!(machine.tx_type, u8::from(fields.tx_type()));
        let mut rules = CfgEnv::new_with_spec(SpecId::OSAKA);
        rules.chain_id = CHAIN;
        let block = BlockEnv { basefee: 7, gas_limit: 30_000_000, ..BlockEnv::default() };
        let context = Context::mainnet().with_db(&mut database).with_cfg(rules).with_block(block);
        let mut evm = context.build_mainnet();
        let executed = evm.transact(machine).unwrap();
        assert!(executed.result.is_success(), "{:?}", executed.result);
        let sender = &executed.state[&SENDER].info;
        assert_eq!(sender.nonce, nonce as u64 + 1);
        // What was paid is gas at the price that we say, and the value.
        let paid = U256::from(10).pow(U256::from(18)) - sender.balance;
        let gas = U256::from(executed.result.tx_gas_used());
        let price = transaction.gas_price(7);
        assert_eq!(paid, gas * U256::from(price) + U256::from(3));
        let delegated =
            executed.state.get(&authority).is_some_and(|it| it.info.code_hash != KECCAK_EMPTY);
        assert_eq!(delegated, nonce == 3);
        drop(evm);
        database.cache.accounts.get_mut(&SENDER).unwrap().info.nonce += 1;
    }
}
