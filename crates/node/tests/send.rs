//! What is sent gets into its shard, or a clear answer why not.

mod common;

use alloy_consensus::{SignableTransaction, TxEnvelope};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, Bytes, Signature, TxKind, U256, hex};
use common::{
    MARKET, bare, call, error, included, nonce, path, result, send, sign, start, transfer,
};
use serde_json::json;

const OTHER: Address = Address::repeat_byte(0x0b);

#[test]
fn a_transaction_to_an_address_that_nobody_has_used_makes_its_shard_and_is_included() {
    let node = start(|_| {});
    let raw = sign(&node.accounts()[0], transfer(&node, MARKET, 0));
    let hash = result(node.address(), &path(MARKET), "eth_sendRawTransaction", json!([raw]));
    assert_eq!(hash, json!(alloy_primitives::keccak256(&raw)));
    assert!(included(&node, MARKET, &hash).success);
}

#[test]
fn ten_sends_in_a_row_get_ten_nonces() {
    let node = start(|_| {});
    let alice = &node.accounts()[0];
    for expected in 0..10u64 {
        let next = nonce(&node, MARKET, alice.address());
        assert_eq!(next, expected);
        let raw = sign(alice, transfer(&node, MARKET, next));
        result(node.address(), &path(MARKET), "eth_sendRawTransaction", json!([raw]));
    }
    assert_eq!(nonce(&node, MARKET, alice.address()), 10);
}

/// Those that come alone and at once are accepted together: none of them is forgotten, and each is
/// told of its own.
#[test]
fn sends_by_many_connections_at_once_are_each_answered() {
    let node = &start(|_| {});
    std::thread::scope(|scope| {
        for number in 0..40 {
            scope.spawn(move || {
                let alice = &node.accounts()[number % 10];
                let shard = Address::repeat_byte(0x10 + (number / 10) as u8);
                for next in 0..5 {
                    let raw = sign(alice, transfer(node, shard, next));
                    let sent = json!([raw]);
                    let hash = result(node.address(), &path(shard), "eth_sendRawTransaction", sent);
                    assert_eq!(hash, json!(alloy_primitives::keccak256(&raw)));
                }
                assert_eq!(nonce(node, shard, alice.address()), 5);
            });
        }
    });
}

/// They may be recovered together. One whose signature is none is refused to whoever sent it, and the
/// others do not suffer.
#[test]
fn of_sends_at_once_those_that_nobody_has_signed_are_refused() {
    let node = &start(|_| {});
    let send = |shard, raw: &Bytes| {
        call(node.address(), &path(shard), "eth_sendRawTransaction", json!([raw]))
    };
    let send = &send;
    std::thread::scope(|scope| {
        for number in 0..40 {
            scope.spawn(move || {
                let alice = &node.accounts()[number % 10];
                let shard = Address::repeat_byte(0x10 + (number / 10) as u8);
                for next in 0..5 {
                    let fields = transfer(node, shard, next);
                    let nobody = Signature::new(U256::from(number), U256::ZERO, false);
                    let unsigned = TxEnvelope::from(fields.clone().into_signed(nobody));
                    let answer = send(shard, &unsigned.encoded_2718().into());
                    assert!(error(&answer, -32_000).contains("no sender can be recovered"));
                    let raw = sign(alice, fields);
                    let hash = alloy_primitives::keccak256(&raw);
                    assert_eq!(send(shard, &raw)["result"], json!(hash));
                }
            });
        }
    });
}

#[test]
fn a_transaction_of_one_shard_is_refused_in_another_with_the_endpoint_to_use() {
    let node = start(|_| {});
    let raw = sign(&node.accounts()[0], transfer(&node, MARKET, 0));
    result(node.address(), &path(MARKET), "eth_sendRawTransaction", json!([raw]));
    let replay = call(node.address(), &path(OTHER), "eth_sendRawTransaction", json!([raw]));
    let message = error(&replay, -32_000);
    assert!(message.starts_with("invalid chain id for signer: have "), "{message}");
    assert!(message.contains(&format!("/shard/{OTHER}")), "{message}");
    assert!(node.shards().get(OTHER).is_none(), "what is refused makes no shard");
}

#[test]
fn at_the_root_the_recipient_names_the_shard() {
    let node = start(|_| {});
    let (alice, root) = (&node.accounts()[0], "/");
    let raw = sign(alice, transfer(&node, MARKET, 0));
    let hash = result(node.address(), root, "eth_sendRawTransaction", json!([raw]));
    assert!(included(&node, MARKET, &hash).success);

    let raw = sign(alice, transfer(&node, MARKET, 1));
    let hash = result(node.address(), root, "shard_sendRawTransaction", json!([MARKET, raw]));
    assert!(included(&node, MARKET, &hash).success);

    let mut wrong = transfer(&node, MARKET, 2);
    wrong.chain_id = 1;
    let answer = call(node.address(), root, "eth_sendRawTransaction", json!([sign(alice, wrong)]));
    let message = error(&answer, -32_000);
    let chain_id = node.shards().rules().chain_id(MARKET);
    assert!(message.contains(&format!("want {chain_id}")), "{message}");
    assert!(message.contains(&format!("/shard/{MARKET}")), "{message}");
}

#[test]
fn a_creation_at_the_root_is_refused_with_the_endpoint_to_use() {
    let node = start(|_| {});
    let mut creation = transfer(&node, MARKET, 0);
    creation.to = TxKind::Create;
    creation.gas_limit = 100_000;
    let raw = sign(&node.accounts()[0], creation);
    let answer = call(node.address(), "/", "eth_sendRawTransaction", json!([raw]));
    assert!(error(&answer, -32_602).contains("/shard/<address>"));
    let hash = result(node.address(), &path(MARKET), "eth_sendRawTransaction", json!([raw]));
    assert!(included(&node, MARKET, &hash).created.is_some());
}

#[test]
fn what_is_refused_is_refused_in_the_words_of_geth() {
    let node = start(|_| {});
    let alice = &node.accounts()[0];
    let refused = |raw: String| {
        let answer = call(node.address(), &path(MARKET), "eth_sendRawTransaction", json!([raw]));
        error(&answer, -32_000)
    };
    let signed = |fields| sign(alice, fields).to_string();
    let waiting = || transfer(&node, MARKET, 5);
    result(
        node.address(),
        &path(MARKET),
        "eth_sendRawTransaction",
        json!([signed(transfer(&node, MARKET, 0))]),
    );
    result(node.address(), &path(MARKET), "eth_sendRawTransaction", json!([signed(waiting())]));

    assert_eq!(refused(signed(waiting())), "already known");
    let mut other = waiting();
    other.value += alloy_primitives::U256::ONE;
    assert!(refused(signed(other)).starts_with("replacement transaction underpriced"));
    let mut poor = transfer(&node, MARKET, 1);
    poor.value = alloy_primitives::U256::MAX >> 1;
    assert!(refused(signed(poor)).starts_with("insufficient funds for gas * price + value: "));
    let mut cheap = transfer(&node, MARKET, 1);
    cheap.gas_limit = 20_999;
    assert!(refused(signed(cheap)).starts_with("intrinsic gas too low: "));
    assert!(refused("0x02".into()).starts_with("rlp: "));
    assert!(refused("0x03".into()).starts_with("transaction type not supported: 3"));
    // The first one is in a block by the time that its nonce is asked about as used.
    common::until_height(&node, MARKET, 1);
    let mut used = transfer(&node, MARKET, 0);
    used.value += alloy_primitives::U256::ONE;
    assert_eq!(refused(signed(used)), "nonce too low: next nonce 1, tx nonce 0");
}

#[test]
fn a_batch_of_transactions_is_answered_in_its_order() {
    let node = start(|_| {});
    let alice = &node.accounts()[0];
    let raws: Vec<_> = (0..50).map(|nonce| sign(alice, transfer(&node, MARKET, nonce))).collect();
    let batch: Vec<_> = raws
        .iter()
        .enumerate()
        .map(|(id, raw)| bare(id, "eth_sendRawTransaction", json!([raw])))
        .collect();
    let (status, body) = common::post(node.address(), &path(MARKET), &json!(batch).to_string());
    assert_eq!(status, 200);
    let answers: Vec<serde_json::Value> = serde_json::from_str(&body).unwrap();
    assert_eq!(answers.len(), 50);
    for (id, (answer, raw)) in answers.iter().zip(&raws).enumerate() {
        assert_eq!(answer["id"], id, "{answer}");
        let hash = hex::encode_prefixed(alloy_primitives::keccak256(raw));
        assert_eq!(answer["result"], hash, "{answer}");
    }
}

#[test]
fn each_of_a_batch_gets_its_own_answer_whatever_becomes_of_the_others() {
    let node = start(|_| {});
    let [alice, bob] = [0, 1].map(|index| &node.accounts()[index]);
    let mut elsewhere = transfer(&node, MARKET, 1);
    elsewhere.chain_id = 1;
    // More than the workers take at a time, to two shards.
    let mut raws: Vec<String> = (0..40)
        .flat_map(|nonce| [(alice, MARKET, nonce), (bob, OTHER, nonce)])
        .map(|(account, shard, nonce)| sign(account, transfer(&node, shard, nonce)).to_string())
        .collect();
    let refused = ["0x02".to_owned(), sign(bob, elsewhere).to_string()];
    let words = ["rlp: ", "invalid chain id for signer: "];
    raws.extend(refused);
    let batch: Vec<_> = raws
        .iter()
        .enumerate()
        .map(|(id, raw)| bare(id, "eth_sendRawTransaction", json!([raw])))
        .collect();
    let (status, body) = common::post(node.address(), "/", &json!(batch).to_string());
    assert_eq!(status, 200);
    let answers: Vec<serde_json::Value> = serde_json::from_str(&body).unwrap();
    let (taken, refused) = answers.split_at(80);
    for (answer, raw) in taken.iter().zip(&raws) {
        let hash = alloy_primitives::keccak256(hex::decode(raw).unwrap());
        assert_eq!(answer["result"], hex::encode_prefixed(hash), "{answer}");
    }
    for (answer, words) in refused.iter().zip(words) {
        assert!(error(answer, -32_000).starts_with(words), "{answer}");
    }
    assert!(included(&node, MARKET, &taken[78]["result"]).success);
    assert!(included(&node, OTHER, &taken[79]["result"]).success);
}

#[test]
fn in_strict_mode_a_transaction_makes_no_shard() {
    let node = start(|settings| settings.shards.strict = true);
    let raw = sign(&node.accounts()[0], transfer(&node, MARKET, 0));
    for (path, method) in
        [(path(MARKET), "eth_sendRawTransaction"), ("/".to_owned(), "eth_sendRawTransaction")]
    {
        let answer = call(node.address(), &path, method, json!([raw]));
        assert_eq!(error(&answer, -32_602), format!("shard not found: {MARKET}"));
    }
}

#[test]
fn a_development_account_sends_without_a_nonce_gas_or_fees() {
    let node = start(|_| {});
    let (alice, bob) = (node.accounts()[0].address(), node.accounts()[1].address());
    let request = json!({ "from": alice, "to": bob, "value": "0x5" });
    let first = send(&node, MARKET, request.clone());
    let second = send(&node, MARKET, request);
    assert_ne!(first, second, "each has its own nonce");
    assert_eq!(nonce(&node, MARKET, alice), 2);
    assert_eq!(included(&node, MARKET, &first).gas_used, 21_000);
}

#[test]
fn sends_side_by_side_get_different_nonces() {
    let node = start(|_| {});
    let alice = node.accounts()[0].address();
    let request = |id| {
        bare(id, "eth_sendTransaction", json!([{ "from": alice, "to": MARKET, "gas": "0x5208" }]))
    };
    let batch: Vec<_> = (0..20).map(request).collect();
    let (_, body) = common::post(node.address(), &path(MARKET), &json!(batch).to_string());
    let answers: Vec<serde_json::Value> = serde_json::from_str(&body).unwrap();
    assert!(answers.iter().all(|answer| answer["result"].is_string()), "{answers:?}");
    assert_eq!(nonce(&node, MARKET, alice), 20);
}

#[test]
fn nobody_else_sends_without_a_signature_unless_that_was_chosen() {
    let stranger = Address::repeat_byte(0x57);
    let request = json!([{ "from": stranger, "to": MARKET, "gas": "0x5208", "gasPrice": "0x0" }]);
    let node = start(|_| {});
    let answer = call(node.address(), &path(MARKET), "eth_sendTransaction", request.clone());
    assert!(error(&answer, -32_000).starts_with("unknown account"));

    let node = start(|settings| {
        settings.shards.rules.no_account_validation = true;
        settings.shards.rules.no_fee = true;
    });
    let hash = result(node.address(), &path(MARKET), "eth_sendTransaction", request);
    assert!(included(&node, MARKET, &hash).success);
}

#[test]
fn a_transaction_is_filled_and_signed_without_being_sent() {
    let node = start(|_| {});
    let alice = node.accounts()[0].address();
    let request = json!([{ "from": alice, "to": MARKET, "value": "0x5" }]);
    let filled = result(node.address(), &path(MARKET), "eth_fillTransaction", request.clone());
    assert_eq!(filled["tx"]["nonce"], "0x0", "{filled}");
    assert_eq!(filled["tx"]["gas"], "0x5208", "{filled}");
    let signed = result(node.address(), &path(MARKET), "eth_signTransaction", request);
    assert!(node.shards().get(MARKET).is_none());
    let raw = json!([signed["raw"]]);
    let hash = result(node.address(), &path(MARKET), "eth_sendRawTransaction", raw);
    assert!(included(&node, MARKET, &hash).success);
}

#[test]
fn a_receipt_can_be_waited_for_while_sending() {
    let node = start(|_| {});
    let alice = &node.accounts()[0];
    let raw = sign(alice, transfer(&node, MARKET, 0));
    let method = "eth_sendRawTransactionSync";
    let receipt = result(node.address(), &path(MARKET), method, json!([raw]));
    assert_eq!(receipt["status"], "0x1");
    assert_eq!(receipt["transactionHash"], json!(alloy_primitives::keccak256(&raw)));

    // A nonce is missing before it, so it waits.
    let raw = sign(alice, transfer(&node, MARKET, 7));
    let answer = call(node.address(), &path(MARKET), method, json!([raw, 10]));
    assert!(error(&answer, 4).contains("10 ms"));
    assert_eq!(answer["error"]["data"], json!(alloy_primitives::keccak256(&raw)));
}

#[test]
fn a_message_is_signed_by_a_development_account() {
    let node = start(|_| {});
    let alice = node.accounts()[0].address();
    let signature: alloy_primitives::Bytes = serde_json::from_value(result(
        node.address(),
        "/",
        "personal_sign",
        json!(["0x68656c6c6f", alice]),
    ))
    .unwrap();
    let signature = alloy_primitives::Signature::try_from(&signature[..]).unwrap();
    let digest = alloy_primitives::eip191_hash_message("hello");
    let signer = alloy_consensus::crypto::secp256k1::recover_signer(&signature, digest).unwrap();
    assert_eq!(signer, alice);
}
