//! Shards on a runtime of their own, with a place for their data.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use alloy_primitives::Address;
use benches::shard::Load;
use kernel::{Discipline, Runtime};
use shard::{
    Config, Shards, Transaction,
    disk::OsDisk,
    store::{DiskStore, MemoryStore, Options, Store},
};

/// Where the data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Memory,
    Disk,
}

/// Shards that can be measured.
pub(crate) struct Ours {
    pub(crate) shards: Shards,
    pub(crate) runtime: Runtime,
    pub(crate) directory: Option<PathBuf>,
}

impl Ours {
    pub(crate) fn open(config: Config, workers: usize, place: Place) -> Ours {
        let directory = (place == Place::Disk).then(directory);
        Ours::open_in(config, workers, directory)
    }

    pub(crate) fn open_in(config: Config, workers: usize, directory: Option<PathBuf>) -> Ours {
        let runtime = Runtime::builder()
            .workers(workers)
            .discipline(Discipline::Fifo)
            .quantum(Duration::from_millis(100))
            .build()
            .expect("the system gives threads");
        let store: Arc<dyn Store> = match &directory {
            None => Arc::new(MemoryStore::new()),
            Some(path) => {
                let disk = OsDisk::open(path).expect("the directory can be used");
                let store = DiskStore::open(Arc::new(disk), Options::default());
                Arc::new(store.expect("the store can be opened"))
            }
        };
        let shards = Shards::open(&runtime, config, store, 1_700_000_000);
        Ours { shards: shards.expect("the store can be read"), runtime, directory }
    }

    /// Has transactions accepted and waits until they are in blocks.
    pub(crate) fn run(&self, batches: &[(Address, Vec<Arc<Transaction>>)]) -> Duration {
        let count: usize = batches.iter().map(|(_, batch)| batch.len()).sum();
        let before = self.shards.included();
        let start = Instant::now();
        self.accept(batches);
        self.wait(before + count as u64);
        start.elapsed()
    }

    /// The same, with the pools filled before the clock runs.
    pub(crate) fn run_filled(&self, batches: &[(Address, Vec<Arc<Transaction>>)]) -> Duration {
        let count: usize = batches.iter().map(|(_, batch)| batch.len()).sum();
        let before = self.shards.included();
        self.runtime.pause();
        self.accept(batches);
        let start = Instant::now();
        self.runtime.resume();
        self.wait(before + count as u64);
        start.elapsed()
    }

    /// Shards take turns in getting transactions, as they would from many clients.
    fn accept(&self, batches: &[(Address, Vec<Arc<Transaction>>)]) {
        let longest = batches.iter().map(|(_, batch)| batch.len()).max().unwrap_or(0);
        let mut last = None;
        for at in 0..longest {
            for (shard, batch) in batches {
                let Some(transaction) = batch.get(at) else { continue };
                let accepted = self.shards.accept(*shard, transaction.clone());
                last = Some(accepted.expect("it is valid"));
            }
        }
        // They are acknowledged in order.
        if let Some(last) = last {
            last.wait().expect("the disk works");
        }
    }

    fn wait(&self, count: u64) {
        while self.shards.included() < count {
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Removes the data.
    pub(crate) fn end(self) {
        let Ours { shards, runtime, directory } = self;
        drop(shards);
        runtime.shutdown();
        if let Some(path) = directory {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

/// A directory that nobody else uses.
pub(crate) fn directory() -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = format!("shiftwork-bench-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
    std::env::temp_dir().join(name)
}

/// The n-th shard's address.
pub(crate) fn address(n: usize) -> Address {
    Address::left_padding_from(&(n as u64 + 1).to_be_bytes())
}

/// A load for each shard.
pub(crate) fn loads(
    config: &Config,
    kind: benches::shard::Kind,
    shards: usize,
    recipients: u64,
) -> Vec<Load> {
    (0..shards).map(|n| Load::new(config, kind, address(n), recipients)).collect()
}

/// So many transactions, spread evenly.
pub(crate) fn batches(loads: &mut [Load], count: u64) -> Vec<(Address, Vec<Arc<Transaction>>)> {
    let each = (count / loads.len() as u64).max(1);
    loads.iter_mut().map(|load| (load.shard(), load.transactions(each))).collect()
}

/// What the loads need first.
pub(crate) fn prepare(loads: &mut [Load]) -> Vec<(Address, Vec<Arc<Transaction>>)> {
    loads.iter_mut().map(|load| (load.shard(), load.prepare())).collect()
}
