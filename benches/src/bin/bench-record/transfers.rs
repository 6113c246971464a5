//! Shards that execute transfers, with all data in memory.

use std::{sync::Arc, thread, time::Duration};

use alloy_primitives::Address;
use benches::{
    Args,
    shard::{Kind, Load as Transfers, config},
};
use kernel::Handle;
use shard::{
    Shards, Transaction,
    config::Durability,
    store::{MemoryStore, Store},
};

use crate::{Load, timed};

const SHARDS: u64 = 16;
const RECIPIENTS: u64 = 1_000;
/// A moment that every block is later than.
const TIME: u64 = 1_700_000_000;

pub(crate) fn transfers(args: &Args, handle: &Handle) -> Load {
    let mut config = config();
    config.durability = Durability::None;
    config.parallel = false;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let shards =
        Shards::open(handle, config.clone(), store, TIME).expect("there is nothing to read");
    let mut loads: Vec<Transfers> = (1..=SHARDS)
        .map(|n| Address::left_padding_from(&n.to_be_bytes()))
        .map(|shard| Transfers::new(&config, Kind::Transfer, shard, RECIPIENTS))
        .collect();
    let prepared = loads.iter_mut().map(|load| (load.shard(), load.prepare())).collect();
    include(&shards, prepared);
    let each = (args.items(8_000) / SHARDS).max(1);
    let run = move || {
        let batches = loads.iter_mut().map(|load| (load.shard(), load.transactions(each)));
        let batches = batches.collect();
        timed(|| include(&shards, batches))
    };
    Load { items: each * SHARDS, run: Box::new(run) }
}

/// Has them accepted, in turns, and waits until they are in blocks.
fn include(shards: &Shards, batches: Vec<(Address, Vec<Arc<Transaction>>)>) {
    let count: usize = batches.iter().map(|(_, batch)| batch.len()).sum();
    let expected = shards.included() + count as u64;
    let longest = batches.iter().map(|(_, batch)| batch.len()).max().unwrap_or(0);
    for at in 0..longest {
        for (shard, batch) in &batches {
            if let Some(transaction) = batch.get(at) {
                // That it is included says more than that it is accepted.
                let _acknowledged =
                    shards.accept(*shard, transaction.clone()).expect("it is valid");
            }
        }
    }
    while shards.included() < expected {
        thread::sleep(Duration::from_micros(100));
    }
}
