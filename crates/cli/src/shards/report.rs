//! What is told about shards, for people and as JSON.

use std::fmt::Write;

use alloy_primitives::{Address, B256};
use serde::Serialize;

use super::directory::CheckedShards;
use crate::text::{count, thousands, visible};

/// One line of the list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listed {
    pub(crate) address: Address,
    pub(crate) chain_id: u64,
    pub(crate) height: u64,
}

/// How a shard is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shown {
    pub(crate) address: Address,
    pub(crate) chain_id: u64,
    pub(crate) height: u64,
    pub(crate) tip: B256,
    pub(crate) timestamp: u64,
    /// Transactions that wait in its pool.
    pub(crate) waiting: u64,
    /// What it does, for a node that runs.
    pub(crate) state: Option<String>,
    pub(crate) quarantine: Option<String>,
}

pub(crate) fn list(shards: &[Listed], json: bool) -> String {
    if json {
        return as_json(shards);
    }
    let mut text = String::new();
    let _ = writeln!(text, "{:<42}  {:>16}  {:>10}", "address", "chain id", "height");
    for shard in shards {
        let (address, height) = (shard.address, thousands(shard.height));
        let _ = writeln!(text, "{address}  {:>16}  {height:>10}", shard.chain_id);
    }
    let _ = writeln!(text, "{}", count(shards.len(), "shard"));
    text
}

pub(crate) fn show(shard: &Shown, json: bool) -> String {
    if json {
        return as_json(shard);
    }
    let mut text = String::new();
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<12} {}", visible(value));
    };
    row("address", &shard.address.to_string());
    row("chain id", &shard.chain_id.to_string());
    row("height", &thousands(shard.height));
    row("tip", &shard.tip.to_string());
    row("timestamp", &shard.timestamp.to_string());
    row("waiting", &count(shard.waiting as usize, "transaction"));
    if let Some(state) = &shard.state {
        row("state", state);
    }
    if let Some(why) = &shard.quarantine {
        row("quarantine", why);
    }
    text
}

pub(crate) fn check(checked: &CheckedShards, json: bool) -> String {
    if json {
        return as_json(checked);
    }
    format!(
        "in order: {}, {}, {}; {} in the tables, {} in the log\n",
        count(checked.shards, "shard"),
        count(checked.blocks as usize, "block"),
        count(checked.transactions as usize, "transaction"),
        count(checked.entries as usize, "entry").replace("entrys", "entries"),
        count(checked.records as usize, "record"),
    )
}

fn as_json(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string_pretty(value).expect("numbers and texts can be written") + "\n"
}
