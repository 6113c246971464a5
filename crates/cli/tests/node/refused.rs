//! What is wrong is said, with the exit code for it.

use std::net::TcpListener;

use crate::{place, run};

#[track_caller]
fn check(arguments: &[&str], code: i32, expect: &[&str]) {
    let (ended, output, said) = run(&[&["node"], arguments].concat());
    assert_eq!(ended, Some(code), "{arguments:?}: {said}");
    assert_eq!(output, "", "{arguments:?}");
    for expect in expect {
        assert!(said.contains(expect), "{arguments:?} does not say {expect:?}: {said}");
    }
}

#[test]
fn options_that_can_not_be_meant_are_refused_by_name() {
    let usage = |arguments: &[&str], expect: &[&str]| check(arguments, 2, expect);
    usage(&["--http.prot", "1"], &["similar", "--http.port"]);
    usage(&["--http.port", "nine"], &["--http.port: `nine`"]);
    usage(&["--http.port", "65536"], &["--http.port"]);
    usage(&["--http.addr", "example.org"], &["no IP address"]);
    usage(&["--time-quantum", "100"], &["--time-quantum", "no unit"]);
    usage(&["--time-quantum", "0s"], &["more than 0"]);
    usage(&["--limit.body", "5MB"], &["--limit.body", "powers of 1,024"]);
    usage(&["--limit.batch", "0"], &["at least 1"]);
    usage(&["--workers", "0"], &["at least one worker"]);
    usage(&["--chain-id", "2097152"], &["from 1 to 2097151"]);
    usage(&["--hardfork", "frontier"], &["london", "osaka"]);
    usage(&["--durability", "fast"], &["sync", "batch=10ms"]);
    usage(&["--balance", "1e3"], &["no amount of ether"]);
    usage(&["--log-level", "loud"], &["no level"]);
    usage(&["--log-format", "xml"], &["neither text nor json"]);
    usage(&["--block-gas-limit", "20000"], &["21,000"]);
    usage(&["--in-memory", "--data-dir", "x"], &["contradict"]);
    usage(&["--genesis", "/nowhere/genesis.json"], &["/nowhere/genesis.json"]);
    usage(&["--config", "/nowhere/node.toml"], &["/nowhere/node.toml"]);
}

#[test]
fn what_hinders_a_start_is_told() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port().to_string();
    check(&["--in-memory", "--http.port", &port], 1, &["can not listen", "--http.port"]);
    let free = ["--in-memory", "--http.port", "0"];
    check(&[&free[..], &["--mnemonic", "no such words"]].concat(), 1, &["no mnemonic"]);
    check(&[&free[..], &["--accounts", "1001"]].concat(), 1, &["too many"]);
    let file = place("no-directory").join("file");
    std::fs::write(&file, "").unwrap();
    let file = file.to_str().unwrap();
    check(&["--http.port", "0", "--data-dir", file], 1, &[file]);
}

#[test]
fn without_its_base_chain_a_node_does_not_start() {
    let free = ["--in-memory", "--http.port", "0", "--base-chain-wait", "0s"];
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{gone}/secret");
    let arguments = [&free[..], &["--base-chain-url", &url]].concat();
    check(&arguments, 1, &["the base chain does not answer", "refused"]);
    let arguments = [&free[..], &["--base-chain-url", "localhost:8545"]].concat();
    check(&arguments, 1, &["must begin with http"]);
}
