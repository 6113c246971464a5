//! Does `shiftwork node` do what its help says, from its first line to its exit code?

#[path = "../common/mod.rs"]
mod common;
mod config;
mod crash;
mod life;
mod refused;
mod shards;

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::PathBuf,
    process::{Child, ChildStdout, Command, Output, Stdio},
    time::Duration,
};

use alloy_consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, Bytes, U256};
use alloy_signer::SignerSync;
use alloy_signer_local::{MnemonicBuilder, PrivateKeySigner};
use common::command;
use serde_json::{Value, json};
use shard::identity::BaseChainId;

/// A place of one test, which is empty.
fn place(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("node").join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// The exit code, the output, and what else was said.
fn ended(output: Output) -> (Option<i32>, String, String) {
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(!stderr.contains("panicked"), "{stderr}");
    (output.status.code(), stdout, stderr)
}

/// Runs it to its end.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    ended(command(arguments).output().unwrap())
}

/// A node that runs. Dropped, it is killed.
struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    banner: String,
    address: SocketAddr,
}

impl Running {
    /// A node on any free port, when it listens.
    fn start(arguments: &[&str]) -> Running {
        let mut all = vec!["node", "--http.port", "0"];
        all.extend(arguments);
        let mut child =
            command(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut banner = String::new();
        while !banner.ends_with("Ctrl-C ends it.\n") {
            if stdout.read_line(&mut banner).unwrap() == 0 {
                let (code, _, said) = ended(child.wait_with_output().unwrap());
                panic!("it ended with {code:?} and said: {said}");
            }
        }
        let url = banner.split("http://").nth(1).expect("the banner has an endpoint");
        let address = url.split('/').next().unwrap().parse().unwrap();
        Running { child, stdout, banner, address }
    }

    fn send(&self, signal: &str) {
        let kill = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(kill.unwrap().success());
    }

    /// Waits for its end: the exit code, and what it said.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "only the banner goes to standard output");
        (self.child.wait().unwrap().code(), said)
    }

    fn call(&self, path: &str, method: &str, params: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = post(self.address, path, &request.to_string()).expect("it answers");
        serde_json::from_str(&answer).unwrap_or_else(|why| panic!("{why}: {answer}"))
    }

    fn result(&self, path: &str, method: &str, params: Value) -> Value {
        let mut answer = self.call(path, method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].take()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a body and gives that of the answer; `None` if there is none.
fn post(address: SocketAddr, path: &str, body: &str) -> Option<String> {
    let mut socket = TcpStream::connect(address).ok()?;
    // A guard against hanging, no more.
    socket.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    let length = body.len();
    write!(
        socket,
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .ok()?;
    let mut answer = String::new();
    socket.read_to_string(&mut answer).ok()?;
    Some(answer.split_once("\r\n\r\n")?.1.to_owned())
}

/// One of the development accounts.
fn signer(index: u32) -> PrivateKeySigner {
    let words = "test test test test test test test test test test test junk";
    MnemonicBuilder::english().phrase(words).index(index).unwrap().build().unwrap()
}

/// A transfer in a shard, signed.
fn transfer(signer: &PrivateKeySigner, shard: Address, nonce: u64) -> Bytes {
    let transaction = TxEip1559 {
        chain_id: BaseChainId::DEFAULT.of_shard(shard),
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: 2_000_000_000,
        max_priority_fee_per_gas: 1,
        to: Address::repeat_byte(0xb0).into(),
        value: U256::from(1),
        ..TxEip1559::default()
    };
    let signature = signer.sign_hash_sync(&transaction.signature_hash()).unwrap();
    TxEnvelope::from(transaction.into_signed(signature)).encoded_2718().into()
}

fn path(shard: Address) -> String {
    format!("/shard/{shard}")
}
