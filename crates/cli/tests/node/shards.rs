//! What do `shiftwork shard list`, `show` and `check` tell?

use alloy_primitives::Address;
use serde_json::{Value, json};

use crate::{Running, command, ended, path, place, run, signer, transfer};

const SHARD: Address = Address::repeat_byte(0x3a);
const OTHER: Address = Address::repeat_byte(0x3b);
/// In milliseconds, and the most that a node waits: a guard against hanging, no more.
const PATIENCE: &str = "0x7530";

/// It goes well, and this is what it prints.
#[track_caller]
fn told(arguments: &[&str]) -> String {
    let (code, output, said) = run(&[&["shard"], arguments].concat());
    assert_eq!(code, Some(0), "{arguments:?}: {said}");
    assert_eq!(said, "", "{arguments:?}");
    output
}

#[track_caller]
fn refused(arguments: &[&str], code: i32, expect: &str) {
    let (ended, output, said) = run(&[&["shard"], arguments].concat());
    assert_eq!((ended, &*output), (Some(code), ""), "{arguments:?}: {said}");
    assert!(said.contains(expect), "{arguments:?} does not say {expect:?}: {said}");
}

#[test]
fn a_node_and_its_data_directory_tell_the_same() {
    let data = place("shards");
    let data = data.to_str().unwrap();
    let node = Running::start(&["--data-dir", data]);
    for (shard, nonces) in [(SHARD, 0..3), (OTHER, 0..1)] {
        for nonce in nonces {
            let raw = transfer(&signer(0), shard, nonce);
            node.result(&path(shard), "eth_sendRawTransaction", json!([raw]));
        }
    }
    let url = format!("http://{}", node.address);
    let list = told(&["list", "--url", &url]);
    assert!(list.contains(&SHARD.to_string()) && list.ends_with("2 shards\n"), "{list}");
    let address = SHARD.to_string();
    let shown = told(&["show", &address, "--url", &url]);
    assert!(shown.contains("chain id") && shown.contains("state"), "{shown}");
    let missing = Address::repeat_byte(1).to_string();
    refused(&["show", &missing, "--url", &url], 1, "shard not found");
    refused(&["list", "--data-dir", data], 1, "a node has");
    refused(&["check", "--data-dir", data], 1, "--url");
    refused(&["check", "--url", &url], 2, "--data-dir");
    node.send("-TERM");
    let (code, said) = node.end();
    assert_eq!(code, Some(0), "{said}");

    let list: Value = serde_json::from_str(&told(&["list", "--data-dir", data, "--json"])).unwrap();
    let addresses: Vec<&str> =
        list.as_array().unwrap().iter().map(|shard| shard["address"].as_str().unwrap()).collect();
    assert_eq!(addresses.len(), 2);
    // What was acknowledged is in a block or waits.
    let shown = told(&["show", &address, "--data-dir", data, "--json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert!(shown["height"].as_u64().unwrap() + shown["waiting"].as_u64().unwrap() >= 1);
    // Twice: looking changes nothing.
    let checked = told(&["check", "--data-dir", data]);
    assert!(checked.starts_with("in order: 2 shards, "), "{checked}");
    assert_eq!(told(&["check", "--data-dir", data]), checked);
    refused(&["show", &missing, "--data-dir", data], 1, "there is no shard");
    refused(&["list", "--data-dir", data, "--node=--accounts=3"], 1, "genesis");
}

#[test]
fn a_directory_whose_old_blocks_are_pruned_is_in_order() {
    let data = place("pruned");
    let data = data.to_str().unwrap();
    let node = Running::start(&["--data-dir", data, "--prune", "1", "--checkpoint-bytes", "1"]);
    // Each makes a block, and sooner or later a fold takes out the first.
    let is_pruned = |nonce| {
        let raw = transfer(&signer(0), SHARD, nonce);
        node.result(&path(SHARD), "eth_sendRawTransactionSync", json!([raw, PATIENCE]));
        let first = node.call(&path(SHARD), "eth_getBlockByNumber", json!(["0x1", false]));
        first["error"]["message"].as_str().is_some_and(|why| why.contains("pruned"))
    };
    assert!((0..500).any(is_pruned), "nothing is pruned");
    node.send("-TERM");
    let (code, said) = node.end();
    assert_eq!(code, Some(0), "{said}");
    let checked = told(&["check", "--data-dir", data]);
    assert!(checked.starts_with("in order: 1 shard, "), "{checked}");
}

#[test]
fn a_damaged_log_is_told_and_left_alone_until_the_loss_is_accepted() {
    let data = place("damaged");
    let log = data.join("log-1");
    let data = data.to_str().unwrap();
    let node = Running::start(&["--data-dir", data]);
    for nonce in 0..4 {
        let raw = transfer(&signer(0), SHARD, nonce);
        node.result(&path(SHARD), "eth_sendRawTransactionSync", json!([raw, PATIENCE]));
    }
    node.send("-TERM");
    let (code, said) = node.end();
    assert_eq!(code, Some(0), "{said}");
    let mut bytes = std::fs::read(&log).unwrap();
    // In the first record of the log.
    bytes[4_096 + 20] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    for action in ["check", "list", "check"] {
        refused(&[action, "--data-dir", data], 1, "check --cut");
        assert!(std::fs::read(&log).unwrap() == bytes, "{action} has changed the log");
    }
    let checked = told(&["check", "--cut", "--data-dir", data]);
    assert!(checked.starts_with("in order: 0 shards, "), "{checked}");
    assert_eq!(told(&["check", "--data-dir", data]), checked);
}

#[test]
fn a_directory_is_looked_at_although_the_node_is_told_elsewhere_to_keep_none() {
    let data = place("none-elsewhere");
    let data = data.to_str().unwrap();
    let node = Running::start(&["--data-dir", data]);
    node.send("-TERM");
    let (code, said) = node.end();
    assert_eq!(code, Some(0), "{said}");
    let mut list = command(&["shard", "list", "--data-dir", data]);
    list.env("SHIFTWORK_NODE_IN_MEMORY", "true");
    let (code, output, said) = ended(list.output().unwrap());
    assert!(code == Some(0) && output.ends_with("\n0 shards\n"), "{output}{said}");
    refused(&["list", "--data-dir", data, "--node=--in-memory"], 2, "contradict");
}

#[test]
fn where_there_are_no_shards_it_is_said() {
    let empty = place("no-shards");
    let empty = empty.to_str().unwrap();
    refused(&["list", "--data-dir", empty], 1, "no data directory");
    refused(&["list", "--url", "https://localhost"], 1, "http://");
    refused(&["list", "--url", "http://127.0.0.1:1"], 1, "does not answer");
    refused(&["list", "--node=--nonsense"], 2, "--nonsense");
    refused(&["show", "0x12"], 2, "0x12");
    assert_eq!(std::fs::read_dir(empty).unwrap().count(), 0, "looking makes nothing");
}
