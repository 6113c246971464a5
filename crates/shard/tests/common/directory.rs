//! Shards in a directory of the operating system.

use std::{fs, path::PathBuf, sync::Arc};

use kernel::Runtime;
use shard::{
    Shards,
    disk::OsDisk,
    shards::OpenError,
    store::{DiskStore, Options},
};

use super::{config, settle, shard, transfer};

/// A temporary directory of its own, removed at the end.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Directory {
        let path = std::env::temp_dir().join(format!("shards-{name}-{}", std::process::id()));
        // A process with this id may have died here before.
        let _ = fs::remove_dir_all(&path);
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Opens the shards in a directory.
pub(crate) fn open(runtime: &kernel::Handle, directory: &Directory) -> Result<Shards, OpenError> {
    let disk = OsDisk::open(&directory.0)?;
    let store = DiskStore::open(Arc::new(disk), Options::default())?;
    Shards::open(runtime, config(), Arc::new(store), 1_700_000_000)
}

/// A directory with 20 blocks in it, each with a transaction of the same sender. In its log the
/// acceptance of each stands behind the block of the one before.
pub(crate) fn used(name: &str) -> Directory {
    let (directory, config) = (Directory::new(name), config());
    let runtime = Runtime::new().unwrap();
    let shards = open(&runtime, &directory).unwrap();
    for nonce in 0..20 {
        shards.accept(shard(1), transfer(&config, shard(1), 0, nonce)).unwrap().wait().unwrap();
        settle(&shards, nonce + 1);
    }
    drop(shards);
    runtime.shutdown();
    directory
}
