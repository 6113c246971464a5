//! A filter tells what has happened since it was asked last.

mod common;

use std::{num::NonZeroU64, time::Duration};

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, TxKind, hex};
use common::{
    LOGGER, MARKET, call, error, included, log, path, result, sign, start, start_with_logger,
    transfer, word,
};
use node::Node;
use serde_json::{Value, json};
use shard::config::GenesisAccount;

fn ask(node: &Node, method: &str, params: Value) -> Value {
    result(node.address(), &path(MARKET), method, params)
}

fn changes(node: &Node, id: &Value) -> Value {
    ask(node, "eth_getFilterChanges", json!([id]))
}

#[test]
fn a_filter_for_blocks_gives_each_hash_once() {
    let node = start_with_logger(|_| {});
    let id = ask(&node, "eth_newBlockFilter", json!([]));
    assert_eq!(changes(&node, &id), json!([]));
    log(&node, MARKET, 0, [1, 2]);
    log(&node, MARKET, 1, [1, 2]);
    let hash = |number| ask(&node, "eth_getBlockByNumber", json!([number, false]))["hash"].take();
    assert_eq!(changes(&node, &id), json!([hash("0x1"), hash("0x2")]));
    assert_eq!(changes(&node, &id), json!([]));
}

#[test]
fn a_filter_for_logs_gives_new_ones_that_match_and_all_when_asked() {
    let node = start_with_logger(|_| {});
    log(&node, MARKET, 0, [1, 0]);
    let filter = json!([{ "fromBlock": "0x0", "topics": [null, word(0)] }]);
    let id = ask(&node, "eth_newFilter", filter.clone());
    log(&node, MARKET, 1, [2, 1]);
    log(&node, MARKET, 2, [3, 0]);
    let new = changes(&node, &id);
    assert_eq!(new.as_array().unwrap().len(), 1);
    assert_eq!(new[0]["topics"][0], word(3));
    assert_eq!(changes(&node, &id), json!([]));
    let all = ask(&node, "eth_getFilterLogs", json!([id]));
    assert_eq!(all, ask(&node, "eth_getLogs", filter));
    assert_eq!(all.as_array().unwrap().len(), 2);
}

#[test]
fn more_logs_than_an_answer_holds_come_with_the_next_one() {
    let node = start_with_logger(|settings| settings.limits.logs = 2);
    let id = ask(&node, "eth_newFilter", json!([{}]));
    for nonce in 0..5 {
        log(&node, MARKET, nonce, [nonce, 0]);
    }
    let topics = || -> Vec<Value> {
        let new = changes(&node, &id);
        new.as_array().unwrap().iter().map(|log| log["topics"][0].clone()).collect()
    };
    assert_eq!(topics(), [word(0), word(1)]);
    assert_eq!(topics(), [word(2), word(3)]);
    assert_eq!(topics(), [word(4)]);
    assert_eq!(topics(), [] as [Value; 0]);
}

#[test]
fn logs_of_one_block_come_together_however_many_an_answer_holds() {
    let node = start_with_logger(|settings| settings.limits.logs = 0);
    let id = ask(&node, "eth_newFilter", json!([{}]));
    log(&node, MARKET, 0, [1, 0]);
    assert_eq!(changes(&node, &id)[0]["topics"][0], word(1));
    assert_eq!(changes(&node, &id), json!([]));
}

/// Blocks of one transaction that logs three times 512 KiB.
#[test]
fn more_bytes_of_logs_than_an_answer_holds_are_told_and_come_with_the_next_one() {
    let node = start(|settings| {
        let code = hex!("620800005fa0" "620800005fa0" "620800005fa0" "00").into();
        let account = GenesisAccount { code, ..GenesisAccount::default() };
        settings.shards.genesis.accounts.insert(LOGGER, account);
    });
    let id = ask(&node, "eth_newFilter", json!([{}]));
    for nonce in 0..6 {
        let (gas_limit, to) = (15_000_000, TxKind::Call(LOGGER));
        let fields = TxEip1559 { gas_limit, to, ..transfer(&node, MARKET, nonce) };
        let raw = sign(&node.accounts()[0], fields);
        let hash = ask(&node, "eth_sendRawTransaction", json!([raw]));
        assert!(included(&node, MARKET, &hash).success);
    }
    let all = json!([{ "fromBlock": "0x1" }]);
    let why = error(&call(node.address(), &path(MARKET), "eth_getLogs", all), -32_005);
    assert!(why.contains(&format!("{} bytes", 9 << 20)) && why.contains("block 6"), "{why}");
    let count = || changes(&node, &id).as_array().unwrap().len();
    assert_eq!([count(), count(), count()], [5 * 3, 3, 0]);
}

#[test]
fn a_filter_for_logs_of_blocks_that_were_pruned_ends_and_says_so() {
    let node = start_with_logger(|settings| {
        settings.shards.prune_depth = NonZeroU64::new(1);
        settings.shards.checkpoint_bytes = 1;
    });
    let [logs, blocks] = [("eth_newFilter", json!([{}])), ("eth_newBlockFilter", json!([]))]
        .map(|(method, params)| ask(&node, method, params));
    // Each makes a block, and sooner or later a fold takes out the first.
    let is_pruned = |nonce| {
        log(&node, MARKET, nonce, [nonce, 0]);
        let params = json!([{ "fromBlock": "0x1", "toBlock": "0x1" }]);
        !call(node.address(), &path(MARKET), "eth_getLogs", params)["error"].is_null()
    };
    assert!((0..500).any(is_pruned), "nothing is pruned");
    let ask_again = || {
        error(&call(node.address(), &path(MARKET), "eth_getFilterChanges", json!([logs])), -32_000)
    };
    let why = ask_again();
    assert!(why.starts_with("filter not found any more: block 1 is not kept"), "{why}");
    assert_eq!(ask_again(), "filter not found");
    let hashes = changes(&node, &blocks);
    assert!(!hashes.as_array().unwrap().is_empty(), "blocks that are gone are passed over");
}

#[test]
fn a_filter_for_pending_transactions_gives_what_was_accepted() {
    let node = start(|_| {});
    let hashes = ask(&node, "eth_newPendingTransactionFilter", json!([]));
    let whole = ask(&node, "eth_newPendingTransactionFilter", json!([true]));
    let raw = sign(&node.accounts()[0], transfer(&node, MARKET, 0));
    let hash = ask(&node, "eth_sendRawTransaction", json!([raw]));
    assert_eq!(changes(&node, &hashes), json!([hash]));
    assert_eq!(changes(&node, &hashes), json!([]));
    assert_eq!(changes(&node, &whole)[0]["hash"], hash);
    let wrong = call(node.address(), &path(MARKET), "eth_getFilterLogs", json!([hashes]));
    assert!(error(&wrong, -32_000).starts_with("filter not found"));
}

#[test]
fn a_filter_belongs_to_its_shard_and_ends_when_it_is_uninstalled() {
    let node = start(|_| {});
    let id = ask(&node, "eth_newBlockFilter", json!([]));
    let other = path(Address::repeat_byte(9));
    let elsewhere = call(node.address(), &other, "eth_getFilterChanges", json!([id]));
    assert_eq!(error(&elsewhere, -32_000), "filter not found");
    assert_eq!(result(node.address(), &other, "eth_uninstallFilter", json!([id])), false);
    assert_eq!(ask(&node, "eth_uninstallFilter", json!([id])), true);
    assert_eq!(ask(&node, "eth_uninstallFilter", json!([id])), false);
    let gone = call(node.address(), &path(MARKET), "eth_getFilterChanges", json!([id]));
    assert_eq!(error(&gone, -32_000), "filter not found");
}

#[test]
fn there_are_so_many_filters_and_no_more() {
    let node = start(|settings| settings.limits.filters = 2);
    let first = ask(&node, "eth_newBlockFilter", json!([]));
    ask(&node, "eth_newFilter", json!([{}]));
    let answer = call(node.address(), &path(MARKET), "eth_newBlockFilter", json!([]));
    assert!(error(&answer, -32_005).contains("2 at most"));
    ask(&node, "eth_uninstallFilter", json!([first]));
    ask(&node, "eth_newBlockFilter", json!([]));
}

#[test]
fn a_filter_that_nobody_has_asked_for_is_gone_and_leaves_its_place() {
    let node = start(|settings| {
        settings.limits.filters = 1;
        settings.limits.filter_expiry = Duration::ZERO;
    });
    let id = ask(&node, "eth_newBlockFilter", json!([]));
    let gone = call(node.address(), &path(MARKET), "eth_getFilterChanges", json!([id]));
    assert_eq!(error(&gone, -32_000), "filter not found");
    ask(&node, "eth_newBlockFilter", json!([]));
}

#[test]
fn what_all_filters_look_for_has_a_limit_and_goes_with_them() {
    let node = start(|settings| settings.limits.log_values = 3);
    let filter = |values: u64| json!([{ "topics": [(0..values).map(word).collect::<Vec<_>>()] }]);
    let first = ask(&node, "eth_newFilter", filter(2));
    let answer = call(node.address(), &path(MARKET), "eth_newFilter", filter(2));
    assert!(error(&answer, -32_005).contains("keeps 3"));
    ask(&node, "eth_newFilter", filter(1));
    ask(&node, "eth_uninstallFilter", json!([first]));
    ask(&node, "eth_newFilter", filter(2));
}
