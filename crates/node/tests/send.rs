//! What is sent gets into its shard, or a clear answer why not.

mod common;

use alloy_primitives::{Address, TxKind, hex};
use common::{MARKET, bare, call, included, nonce, path, result, sign, start, transfer};
use serde_json::json;

const OTHER: Address = Address::repeat_byte(0x0b);

/// The message of an error with this code.
fn error(answer: &serde_json::Value, code: i64) -> String {
    assert_eq!(answer["error"]["code"], code, "{answer}");
    answer["error"]["message"].as_str().unwrap().to_owned()
}

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
    let send = |raw: String| {
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

    assert_eq!(send(signed(waiting())), "already known");
    let mut other = waiting();
    other.value += alloy_primitives::U256::ONE;
    assert!(send(signed(other)).starts_with("replacement transaction underpriced"));
    let mut poor = transfer(&node, MARKET, 1);
    poor.value = alloy_primitives::U256::MAX >> 1;
    assert!(send(signed(poor)).starts_with("insufficient funds for gas * price + value: "));
    let mut cheap = transfer(&node, MARKET, 1);
    cheap.gas_limit = 20_999;
    assert!(send(signed(cheap)).starts_with("intrinsic gas too low: "));
    assert!(send("0x02".into()).starts_with("rlp: "));
    assert!(send("0x03".into()).starts_with("transaction type not supported: 3"));
    // The first one is in a block by the time that its nonce is asked about as used.
    common::until_height(&node, MARKET, 1);
    let mut used = transfer(&node, MARKET, 0);
    used.value += alloy_primitives::U256::ONE;
    assert_eq!(send(signed(used)), "nonce too low: next nonce 1, tx nonce 0");
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
