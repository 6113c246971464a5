//! Is docs/rpc.md what the node answers?
//!
//! The page is made here, from the table of methods and real answers of a node in memory. With
//! `SHIFTWORK_WRITE_REFERENCE` it is written (`cargo xtask rpc-docs`); without, it is compared.

mod common;

use std::{fmt::Write, fs, path::Path};

use alloy_primitives::B256;
use common::{LOGGER, MARKET, log, path, result, sign, socket::Socket, transfer, word};
use node::{Kind, Method, Node, Param, methods};
use serde_json::{Value, json};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rpc.md");
/// An answer that is longer is cut for the page.
const LINES_SHOWN: usize = 40;

#[test]
fn the_reference_has_every_method_with_what_the_node_answers() {
    let page = Examples::new().page();
    if std::env::var_os("SHIFTWORK_WRITE_REFERENCE").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    let written = fs::read_to_string(Path::new(PAGE)).unwrap_or_default();
    let (current, wanted) = (masked(&written), masked(&page));
    let at = current.lines().zip(wanted.lines()).position(|(written, made)| written != made);
    let line = at.unwrap_or_else(|| current.lines().count().min(wanted.lines().count()));
    assert!(
        current == wanted,
        "docs/rpc.md is not what the node answers, from line {} on:\n  {}\nis now\n  {}\n\
         write it anew with `cargo xtask rpc-docs`",
        line + 1,
        written.lines().nth(line).unwrap_or("(the end)"),
        page.lines().nth(line).unwrap_or("(the end)"),
    );
}

/// Time and hashes are others each time: numbers count as alike, whatever their length.
fn masked(page: &str) -> String {
    let mut masked = String::new();
    let mut in_number = false;
    for c in page.chars() {
        let digit = c.is_ascii_digit() || (in_number && (c.is_ascii_hexdigit() || c == 'x'));
        if !digit {
            masked.push(c);
        } else if !in_number {
            masked.push('#');
        }
        in_number = digit;
    }
    masked
}

#[test]
fn numbers_are_alike_and_words_are_not() {
    assert_eq!(masked("\"0x12ab\", 7 wei"), masked("\"0xff\", 1234 wei"));
    assert_ne!(masked("\"status\": \"0x1\""), masked("\"state\": \"0x1\""));
}

/// A node in which something has happened, and what there is to ask about.
struct Examples {
    node: Node,
    socket: Socket,
    transaction: Value,
    block: Value,
    subscription: Value,
}

impl Examples {
    fn new() -> Examples {
        let node = common::start_with_logger(|settings| {
            settings.dev_api = true;
            settings.admin_api = true;
            settings.shards.rules.state_root = true;
        });
        let transaction = log(&node, MARKET, 0, [7, 42]);
        let block = node.shards().get(MARKET).expect("it was made").tip().hash;
        let socket = Socket::open(node.address(), &path(MARKET));
        let (block, subscription) = (json!(block), Value::Null);
        Examples { node, socket, transaction, block, subscription }
    }

    fn page(mut self) -> String {
        // Asked in the order of the table, since one may change what the next answers, and shown by
        // namespace.
        let mut sections: Vec<(&str, String)> = Vec::new();
        for method in methods() {
            let (of, _) = method.name.split_once('_').expect("a namespace");
            let at = sections.iter().position(|(namespace, _)| *namespace == of);
            let at = at.unwrap_or_else(|| {
                sections.push((of, format!("\n## {of}\n")));
                sections.len() - 1
            });
            self.method(&mut sections[at].1, method);
        }
        sections.into_iter().fold(INTRODUCTION.to_owned(), |page, (_, section)| page + &section)
    }

    fn method(&mut self, page: &mut String, method: &Method) {
        write!(page, "\n### {}\n\n{}\n", method.name, method.about).unwrap();
        for Param { name, optional, kind } in method.params {
            let optional = if *optional { ", optional" } else { "" };
            write!(page, "\n- `{name}`: {}{optional}", words(*kind)).unwrap();
        }
        if !method.params.is_empty() {
            page.push('\n');
        }
        let at_shard = method.is_at_shards();
        let place = match (at_shard, method.name_at_root()) {
            (true, Some(name)) if method.names_shard_at_root() => {
                format!("At `/` it is `{name}`, with the shard's address first.")
            }
            (true, Some(name)) => format!("At `/` it is `{name}`."),
            (true, None) if method.is_at_root() => "The same at `/`.".to_owned(),
            (true, None) => "At a shard's endpoint only.".to_owned(),
            (false, _) => "At `/` only.".to_owned(),
        };
        write!(page, "\n{place}\n").unwrap();
        let params = self.params(method);
        let name = method.name;
        let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{name}","params":{params}}}"#);
        let endpoint = if at_shard { path(MARKET) } else { "/".to_owned() };
        let answer = self.answer(&endpoint, method.name, params);
        let text = serde_json::to_string_pretty(&answer).unwrap();
        let mut lines: Vec<&str> = text.lines().collect();
        if lines.len() > LINES_SHOWN {
            lines.truncate(LINES_SHOWN);
            lines.push("…");
        }
        write!(page, "\n```\n{request}\n```\n\n```\n{}\n```\n", lines.join("\n")).unwrap();
    }

    /// The result. What was sent is waited for, so that what follows is the same each time.
    fn answer(&mut self, endpoint: &str, name: &str, params: Value) -> Value {
        if name.ends_with("ubscribe") {
            let answer = self.socket.result(name, params);
            self.subscription = answer.clone();
            return answer;
        }
        self.settle();
        let answer = result(self.node.address(), endpoint, name, params);
        if ["eth_sendTransaction", "eth_sendRawTransaction"].contains(&name) {
            common::included(&self.node, MARKET, &answer);
        }
        answer
    }

    /// Waits until the shard has put away its last block, so that nothing shows it half done.
    fn settle(&self) {
        let status = || result(self.node.address(), &path(MARKET), "shard_status", json!([]));
        while status()["state"] != "idle" {
            std::thread::yield_now();
        }
    }

    fn params(&mut self, method: &Method) -> Value {
        let alice = self.node.accounts()[0].address();
        let bob = self.node.accounts()[1].address();
        let ask = |name: &str| result(self.node.address(), &path(MARKET), name, json!([]));
        let raw = || {
            let nonce = common::nonce(&self.node, MARKET, alice);
            sign(&self.node.accounts()[0], transfer(&self.node, MARKET, nonce))
        };
        let call = json!({ "from": alice, "to": LOGGER, "data": B256::with_last_byte(7) });
        match method.name {
            "eth_sendRawTransaction" | "eth_sendRawTransactionSync" => json!([raw()]),
            "eth_getFilterLogs" => {
                let filter = json!([{ "address": LOGGER, "fromBlock": "0x0" }]);
                let id = result(self.node.address(), &path(MARKET), "eth_newFilter", filter);
                json!([id])
            }
            "eth_getFilterChanges" | "eth_uninstallFilter" => json!([ask("eth_newBlockFilter")]),
            "eth_subscribe" => json!(["newHeads"]),
            "eth_unsubscribe" => json!([self.subscription]),
            "eth_feeHistory" => json!(["0x1", "latest", [50]]),
            "eth_getProof" => json!([LOGGER, ["0x0"], "latest"]),
            "eth_sign" => json!([alice, "0x68656c6c6f"]),
            "personal_sign" => json!(["0x68656c6c6f", alice]),
            "evm_revert" | "anvil_revert" => json!([ask("evm_snapshot")]),
            "evm_increaseTime" | "anvil_increaseTime" => json!(["0x3c"]),
            "anvil_mine" | "hardhat_mine" => json!(["0x2"]),
            "trace_call" => json!([call, ["trace"]]),
            "shard_chainId" | "admin_releaseShard" => json!([MARKET]),
            "admin_pauseWorker" | "admin_resumeWorker" => json!(["shards", "0x0"]),
            "shard_getStateUpdate" => json!(["0x1"]),
            _ => {
                let required = method.params.iter().filter(|param| !param.optional);
                required
                    .map(|param| self.argument(method.name, *param, &call, json!(bob)))
                    .collect()
            }
        }
    }

    /// An argument as its name and kind ask for it.
    fn argument(&self, method: &str, param: Param, call: &Value, who: Value) -> Value {
        match (param.kind, param.name) {
            (Kind::Address, _) => who.clone(),
            (Kind::Hash, "value") => word(7),
            (Kind::Hash, _) if method.contains("Block") => self.block.clone(),
            (Kind::Hash, _) => self.transaction.clone(),
            (Kind::Quantity, "timestamp") => json!("0x77359400"),
            (Kind::Quantity, _) => json!("0x0"),
            (Kind::Block, _) => json!("0x1"),
            (Kind::Bytes, _) => json!("0x00"),
            (Kind::Bool, _) => json!(true),
            (Kind::Call, _) => call.clone(),
            (Kind::LogFilter, _) => json!({ "address": LOGGER, "fromBlock": "0x0" }),
            (kind, name) => panic!("{method} needs an example of {name}, {kind:?}"),
        }
    }
}

fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::Address => "an address",
        Kind::Hash => "32 bytes, in hexadecimal",
        Kind::Quantity => "a number, in hexadecimal",
        Kind::Block => "a block: a number, `latest` and the like, or `{\"blockHash\": …}`",
        Kind::Bytes => "bytes, in hexadecimal",
        Kind::Bool => "`true` or `false`",
        Kind::Call => "a call or transaction, as an object",
        Kind::LogFilter => {
            "what to look for: `address`, `topics`, `fromBlock`, `toBlock`, `blockHash`"
        }
        Kind::Options => "an object",
        Kind::List => "a list",
        Kind::Text => "a word",
        _ => "see the example",
    }
}

const INTRODUCTION: &str = "\
# Every method, with a request and its answer

This page is made from answers of a node (`cargo xtask rpc-docs`), and the tests compare it with what
the node answers today. How to run one is in [node.md](node.md).

A method of a shard is called at the shard's own endpoint, `/shard/<address>`, under its usual name. Most
of them can also be called at `/`, in the namespace `shard_`, with the shard's address as the first
argument. Those of `trace` and `txpool` can not, nor those of the development tools: without their
namespaces some would be called as others are (`txpool_status`, `trace_call`). Both endpoints take HTTP
and WebSocket, single requests and batches. Below, the request is what is sent and the answer is its
`result`; long ones are cut.

The methods of `anvil`, `hardhat` and `evm` are there with `--dev-api` only, those of `admin` with
`--admin-api` only.
";
