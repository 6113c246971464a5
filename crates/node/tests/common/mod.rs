//! A node in memory, and somebody who asks it.

#![allow(dead_code, unreachable_pub, reason = "each test program uses some of it")]

pub mod client;
pub mod socket;

use std::{
    future::poll_fn,
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    num::NonZeroUsize,
    time::Duration,
};

use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use alloy_signer::SignerSync;
use node::{Node, Settings, accounts::DevAccount};
use serde_json::{Value, json};
use shard::{
    Receipt,
    events::{BlockEvent, Interest, Subscription},
};

/// A node on any free port, with what `change` chooses.
pub fn start(change: impl FnOnce(&mut Settings)) -> Node {
    let mut settings = Settings::in_memory();
    settings.http.port = 0;
    change(&mut settings);
    Node::start(settings).expect("it starts")
}

/// Sends a request's body and gives the status and the body of the answer.
pub fn post(address: SocketAddr, path: &str, body: &str) -> (u16, String) {
    let mut socket = TcpStream::connect(address).expect("it listens");
    // A guard against hanging, no more.
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let length = body.len();
    write!(
        socket,
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("an answer in UTF-8");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), body.to_owned())
}

/// Calls a method and gives the whole answer.
pub fn call(address: SocketAddr, path: &str, method: &str, params: Value) -> Value {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let (_, body) = post(address, path, &request.to_string());
    serde_json::from_str(&body).unwrap_or_else(|why| panic!("{why}: {body}"))
}

/// Calls a method and gives its result.
pub fn result(address: SocketAddr, path: &str, method: &str, params: Value) -> Value {
    let mut answer = call(address, path, method, params);
    assert!(answer.get("error").is_none(), "{method}: {answer}");
    answer["result"].take()
}

/// A request, for batches.
pub fn bare(id: usize, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// The shard of most tests.
pub const MARKET: Address = Address::repeat_byte(0x3a);

/// Where a shard is asked.
pub fn path(shard: Address) -> String {
    format!("/shard/{shard}")
}

/// A transfer of 5 wei, for a shard.
pub fn transfer(node: &Node, shard: Address, nonce: u64) -> TxEip1559 {
    TxEip1559 {
        chain_id: node.shards().rules().chain_id(shard),
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: 2_000_000_000,
        to: TxKind::Call(shard),
        value: U256::from(5),
        ..TxEip1559::default()
    }
}

/// A transaction as a wallet sends it.
pub fn sign(account: &DevAccount, fields: TxEip1559) -> Bytes {
    let signature = account.signer().sign_hash_sync(&fields.signature_hash()).unwrap();
    TxEnvelope::from(fields.into_signed(signature)).encoded_2718().into()
}

/// The nonce of an account's next transaction.
pub fn nonce(node: &Node, shard: Address, account: Address) -> u64 {
    let method = "eth_getTransactionCount";
    let nonce = result(node.address(), &path(shard), method, json!([account, "pending"]));
    u64::from_str_radix(nonce.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

/// Waits until a shard has a block of this number.
pub fn until_height(node: &Node, shard: Address, height: u64) {
    let mut blocks = blocks(node, shard);
    while node.shards().get(shard).is_none_or(|shard| shard.tip().number() < height) {
        next(&mut blocks);
    }
}

/// Waits until a transaction is in a block, and gives its receipt.
pub fn included(node: &Node, shard: Address, hash: &Value) -> Receipt {
    let hash: B256 = serde_json::from_value(hash.clone()).unwrap();
    let mut blocks = blocks(node, shard);
    let shard = node.shards().get(shard).expect("it was sent there");
    loop {
        if let Some((_, _, receipt)) = shard.transaction(hash).unwrap() {
            return receipt;
        }
        next(&mut blocks);
    }
}

fn blocks(node: &Node, shard: Address) -> Subscription<BlockEvent> {
    let room = NonZeroUsize::new(1_024).unwrap();
    node.shards().subscribe(room, Interest { shard: Some(shard), logs: None })
}

fn next(blocks: &mut Subscription<BlockEvent>) -> BlockEvent {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(poll_fn(|context| blocks.poll_next(context))).expect("blocks come")
}

/// Sends a transaction that the node signs or believes, waits for its block and gives its hash.
pub fn send(node: &Node, shard: Address, transaction: Value) -> Value {
    let hash = result(node.address(), &path(shard), "eth_sendTransaction", json!([transaction]));
    included(node, shard, &hash);
    hash
}

/// Adds one to the first slot with each call.
pub const COUNTER: &str = "0x60016000540160005500";
/// Makes such a contract.
pub const COUNTER_CREATION: &str = "0x6960016000540160005500600052600a6016f3";

/// Makes a counter and gives its address.
pub fn counter(node: &Node, shard: Address) -> Address {
    let alice = node.accounts()[0].address();
    let hash = send(node, shard, json!({ "from": alice, "data": COUNTER_CREATION }));
    included(node, shard, &hash).created.expect("it was made")
}

/// A contract that keeps the first word of its input in slot 0, and logs it with the second.
pub const LOGGER: Address = Address::repeat_byte(0x10);

/// A node whose shards begin with [`LOGGER`].
pub fn start_with_logger(change: impl FnOnce(&mut Settings)) -> Node {
    start(|settings| {
        let code = Bytes::from_static(&alloy_primitives::hex!("6020355f355f5fa25f355f5500"));
        let contract = shard::config::GenesisAccount { code, ..Default::default() };
        settings.shards.genesis.accounts.insert(LOGGER, contract);
        change(settings);
    })
}

/// Has [`LOGGER`] keep and log these, from the first account, and waits until that is in a block.
pub fn log(node: &Node, shard: Address, nonce: u64, words: [u64; 2]) -> Value {
    let input = words.map(|word| B256::from(U256::from(word))).concat();
    let fields = TxEip1559 {
        gas_limit: 100_000,
        to: TxKind::Call(LOGGER),
        value: U256::ZERO,
        input: input.into(),
        ..transfer(node, shard, nonce)
    };
    let raw = sign(&node.accounts()[0], fields);
    let hash = result(node.address(), &path(shard), "eth_sendRawTransaction", json!([raw]));
    assert!(included(node, shard, &hash).success);
    hash
}

/// A number as a word of 32 bytes.
pub fn word(number: u64) -> Value {
    json!(B256::from(U256::from(number)))
}

/// The message of an error with this code.
pub fn error(answer: &Value, code: i64) -> String {
    assert_eq!(answer["error"]["code"], code, "{answer}");
    answer["error"]["message"].as_str().unwrap().to_owned()
}
