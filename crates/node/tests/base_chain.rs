//! What do wallets see of a base chain's fees?

mod common;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use alloy_consensus::TxEip1559;
use alloy_primitives::{B256, U64, U256};
use common::{MARKET, included, nonce, path, result, sign, start, transfer};
use node::{Node, settings::BaseChain};
use serde_json::{Value, json};

const GWEI: u64 = 1_000_000_000;

/// A chain whose base fee is what the test says.
struct Base {
    address: SocketAddr,
    /// In gwei, and the number of its newest block.
    fee: Arc<AtomicU64>,
}

impl Base {
    fn start(fee: u64) -> Base {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let fee = Arc::new(AtomicU64::new(fee));
        let now = fee.clone();
        let serve = move || {
            for socket in listener.incoming().map_while(Result::ok) {
                serve(socket, now.load(SeqCst));
            }
        };
        thread::Builder::new().spawn(serve).unwrap();
        Base { address, fee }
    }

    fn node(&self) -> Node {
        start(|settings| {
            let mut base = BaseChain::new(format!("http://{}", self.address));
            base.poll_interval = Duration::from_millis(1);
            settings.base_chain = Some(base);
        })
    }

    /// The fee is another one, and the node has seen it.
    fn becomes(&self, node: &Node, fee: u64) {
        self.fee.store(fee, SeqCst);
        while quantity(&ask(node, "eth_gasPrice", json!([]))) != u128::from(fee * GWEI) {}
    }
}

/// Answers one request.
fn serve(mut socket: TcpStream, fee: u64) {
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let (mut line, mut length) = (String::new(), 0);
    while line != "\r\n" {
        line.clear();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let request: Value = serde_json::from_slice(&body).unwrap();
    let result = match request["method"].as_str() {
        Some("eth_chainId") => json!("0x1"),
        _ => json!({
            "number": U64::from(fee),
            "hash": B256::with_last_byte(fee as u8),
            "parentHash": B256::with_last_byte(fee as u8 - 1),
            "timestamp": U64::from(fee),
            "baseFeePerGas": U64::from(fee * GWEI),
        }),
    };
    let body = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string();
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n");
    // The node may have ended.
    let _ = socket.write_all((head + &body).as_bytes());
}

fn ask(node: &Node, method: &str, params: Value) -> Value {
    result(node.address(), &path(MARKET), method, params)
}

fn quantity(value: &Value) -> u128 {
    u128::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

/// The base fee of a block, by its number or name.
fn base_fee(node: &Node, block: &str) -> u128 {
    quantity(&ask(node, "eth_getBlockByNumber", json!([block, false]))["baseFeePerGas"])
}

/// As ethers and web3.py offer: twice the newest block's base fee, and the tip.
fn by_block(node: &Node) -> u128 {
    let tip = quantity(&ask(node, "eth_maxPriorityFeePerGas", json!([])));
    2 * base_fee(node, "latest") + tip
}

/// As cast and forge offer: the same, by the history's newest block and not the next one.
fn by_history(node: &Node) -> u128 {
    let history = ask(node, "eth_feeHistory", json!(["0xa", "latest", [20.0]]));
    let fees = history["baseFeePerGas"].as_array().unwrap();
    2 * quantity(&fees[fees.len() - 2]) + 1
}

/// Sends a transfer that offers this, and waits until it is in a block.
fn is_included(node: &Node, max_fee_per_gas: u128) {
    // With less it would wait, and this test for it.
    assert!(max_fee_per_gas >= quantity(&ask(node, "eth_gasPrice", json!([]))));
    let alice = &node.accounts()[0];
    let nonce = nonce(node, MARKET, alice.address());
    let fields =
        TxEip1559 { max_fee_per_gas, value: U256::from(1), ..transfer(node, MARKET, nonce) };
    let hash = ask(node, "eth_sendRawTransaction", json!([sign(alice, fields)]));
    assert!(included(node, MARKET, &hash).success);
}

#[test]
fn what_wallets_offer_by_the_newest_block_is_enough_in_a_shard_that_nobody_has_used() {
    for offer in [by_block, by_history] {
        let node = Base::start(20).node();
        assert_eq!(base_fee(&node, "latest"), u128::from(20 * GWEI));
        is_included(&node, offer(&node));
        assert_eq!(base_fee(&node, "0x1"), u128::from(20 * GWEI));
    }
}

#[test]
fn what_wallets_offer_is_enough_when_the_base_fee_has_risen_since_the_newest_block() {
    let base = Base::start(1);
    let node = base.node();
    is_included(&node, by_block(&node));
    base.becomes(&node, 20);
    is_included(&node, by_block(&node));
    base.becomes(&node, 120);
    is_included(&node, by_history(&node));
}

#[test]
fn by_number_and_by_hash_a_block_is_told_as_it_is() {
    let base = Base::start(1);
    let node = base.node();
    is_included(&node, by_block(&node));
    base.becomes(&node, 20);
    for name in ["latest", "pending"] {
        assert_eq!(base_fee(&node, name), u128::from(20 * GWEI), "{name}");
    }
    for name in ["0x1", "safe", "finalized"] {
        assert_eq!(base_fee(&node, name), u128::from(GWEI), "{name}");
    }
    let numbered = ask(&node, "eth_getBlockByNumber", json!(["0x1", true]));
    let latest = ask(&node, "eth_getBlockByNumber", json!(["latest", true]));
    assert_eq!(latest["hash"], numbered["hash"], "it is the same block");
    assert_eq!(ask(&node, "eth_getBlockByHash", json!([numbered["hash"], true])), numbered);
    let history = ask(&node, "eth_feeHistory", json!(["0x1", "0x1"]));
    let fees: Vec<_> = history["baseFeePerGas"].as_array().unwrap().iter().map(quantity).collect();
    assert_eq!(fees, [GWEI, 20 * GWEI].map(u128::from));
}
