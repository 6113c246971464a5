//! What does a data directory hold?
//!
//! Its shards are opened in a simulation in which nothing is ever run, so nothing is executed and
//! nothing is written to the log. Opening makes the lock and, where they are missing, empty files.

use std::{path::Path, sync::Arc, time::Instant};

use ::node::{Settings, settings::Storage};
use alloy_primitives::Address;
use progress::Progress;
use serde::Serialize;
use shard::{
    Shard, Shards,
    disk::OsDisk,
    store::{DiskStore, Options, Store, StoreError},
};
use shiftwork::{Runtime, Simulation};

use super::report::{Listed, Shown};

/// A directory that is open.
pub(crate) struct Opened {
    shards: Shards,
    /// The shards take their turns here: never.
    _simulation: Simulation,
}

/// What a check has gone through without finding anything wrong.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CheckedShards {
    pub(crate) shards: usize,
    pub(crate) blocks: u64,
    pub(crate) transactions: u64,
    /// In the tables.
    pub(crate) entries: u64,
    /// In a log and not yet in the tables.
    pub(crate) records: u64,
}

/// Its store, if it is one and nobody has it open. Whether what is behind damage is cut off.
fn store(settings: &Settings, cut_damaged: bool) -> Result<DiskStore, String> {
    let Storage::Directory(path) = &settings.storage else {
        return Err("shards in memory are gone when the node ends: give --data-dir".to_owned());
    };
    let shown = path.display();
    if !is_store(path) {
        return Err(format!("{shown} is no data directory of a node"));
    }
    let options = Options { cut_damaged, ..Options::default() };
    let opened = OsDisk::open(path).and_then(|disk| DiskStore::open(Arc::new(disk), options));
    opened.map_err(|why| match why {
        StoreError::Locked(_) => {
            format!("a node has {shown} open: ask it with --url, or end it first")
        }
        why => format!("{shown}: {why}"),
    })
}

/// Opening would make what is missing.
fn is_store(path: &Path) -> bool {
    path.join("lock").is_file()
}

impl Opened {
    pub(crate) fn open(settings: &Settings) -> Result<Opened, String> {
        Opened::over(Arc::new(store(settings, false)?), settings)
    }

    fn over(store: Arc<dyn Store>, settings: &Settings) -> Result<Opened, String> {
        let simulation =
            Runtime::builder().workers(1).simulate(0).map_err(|why| why.to_string())?;
        let config = settings.shards_config().map_err(|why| why.to_string())?;
        let shards = Shards::open(&simulation, config, store, 0).map_err(|why| why.to_string())?;
        Ok(Opened { shards, _simulation: simulation })
    }

    pub(crate) fn list(&self) -> Vec<Listed> {
        let listed = |shard: Shard| Listed {
            address: shard.address(),
            chain_id: shard.chain_id(),
            height: shard.tip().number(),
        };
        self.shards.all().into_iter().map(listed).collect()
    }

    pub(crate) fn status(&self, address: Address) -> Result<Shown, String> {
        let shard = self.shards.get(address);
        let shard = shard.ok_or_else(|| format!("there is no shard {address}"))?;
        let tip = shard.tip();
        Ok(Shown {
            address,
            chain_id: shard.chain_id(),
            height: tip.number(),
            tip: tip.hash,
            timestamp: tip.header.timestamp,
            waiting: shard.status().pool_len as u64,
            state: None,
            quarantine: None,
        })
    }
}

/// Reads everything: each record, each page of the tables, and each block that is kept, which must
/// follow the one before it. Changes nothing of it, unless what is behind damage is to be cut off.
#[expect(clippy::disallowed_methods, reason = "how long it takes is told to whoever waits for it")]
pub(crate) fn check(settings: &Settings, cut_damaged: bool) -> Result<CheckedShards, String> {
    let begun = Instant::now();
    let mut store = store(settings, cut_damaged)?;
    let checked = store.check().map_err(|why| why.to_string())?;
    let opened = Opened::over(Arc::new(store), settings)?;
    let all = opened.shards.all();
    let (mut blocks, mut transactions) = (0_u64, 0);
    let total = all.iter().map(|shard| shard.tip().number() + 1).sum();
    let mut progress = Progress::stderr("blocks").of(total);
    for shard in &all {
        let wrong = |number: u64, what: &str| {
            Err(format!("block {number} of shard {}: {what}", shard.address()))
        };
        let mut parent = None;
        for number in 0..=shard.tip().number() {
            let block = match shard.block(number) {
                Ok(Some(block)) => block,
                Ok(None) => return wrong(number, "it is missing"),
                // It is gone on purpose, and with it the parent of the first that is kept.
                Err(StoreError::Pruned { .. }) => {
                    parent = None;
                    continue;
                }
                Err(why) => return wrong(number, &why.to_string()),
            };
            if parent.is_some_and(|parent| parent != block.header.parent_hash) {
                return wrong(number, "it does not follow the one before it");
            }
            if block.header.hash_slow() != block.hash {
                return wrong(number, "its header has another hash");
            }
            parent = Some(block.hash);
            blocks += 1;
            if blocks.is_multiple_of(64) {
                progress.show(begun.elapsed(), blocks, &format!("shard {}", shard.address()));
            }
            transactions += block.transactions.len() as u64;
        }
    }
    progress.finish();
    let (entries, records) = (checked.entries, checked.records);
    Ok(CheckedShards { shards: all.len(), blocks, transactions, entries, records })
}
