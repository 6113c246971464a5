//! What comes of a damaged file, a file of somebody else, a full disk?

use std::{fs, sync::Arc, time::Duration};

use alloy_primitives::U256;
use kernel::{Discipline, Runtime};
use shard::{
    Shards,
    disk::{OsDisk, SimDisk},
    shard::TransactionStatus,
    shards::{OpenError, SubmitError},
    store::{DiskStore, Options, StoreError},
};

use crate::common::{
    account, balance, config,
    directory::{open, used},
    shard, transfer,
};

#[test]
fn a_file_of_somebody_else_is_refused_by_name_and_left_alone() {
    let runtime = Runtime::new().unwrap();
    for name in ["tables.redb", "log-0"] {
        let directory = used("foreign");
        let path = directory.0.join(name);
        let theirs = b"SQLite format 3\0, or a diary. ".repeat(400);
        fs::write(&path, &theirs).unwrap();
        let error = open(&runtime, &directory).expect_err(name);
        assert!(
            matches!(error, OpenError::Store(StoreError::Foreign(_) | StoreError::Corrupt(_))),
            "{error:?}"
        );
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        assert_eq!(fs::read(&path).unwrap(), theirs, "{name} was written to");
    }
}

#[test]
fn a_damaged_record_that_was_acknowledged_is_told_and_never_silently_dropped() {
    let runtime = Runtime::new().unwrap();
    let directory = used("damaged");
    // Epoch 1: nothing was folded.
    let log = directory.0.join("log-1");
    let mut bytes = fs::read(&log).unwrap();
    // In the middle of the records that were synced, which begin behind the header's page.
    let (begin, end) = (4_096, bytes.iter().rposition(|byte| *byte != 0).unwrap());
    assert!(end > begin + 1_000, "there are no records");
    bytes[begin + (end - begin) / 2] ^= 0x40;
    fs::write(&log, &bytes).unwrap();
    for _ in 0..2 {
        let error = open(&runtime, &directory).expect_err("a record is damaged");
        assert!(matches!(error, OpenError::Store(StoreError::Corrupt(_))), "{error}");
        assert!(error.to_string().contains(log.to_str().unwrap()), "{error}");
        assert!(fs::read(&log).unwrap() == bytes, "the log was changed");
    }
}

#[test]
fn who_accepts_the_loss_keeps_what_is_before_the_damage() {
    let runtime = Runtime::new().unwrap();
    let directory = used("accepted");
    let log = directory.0.join("log-1");
    let mut bytes = fs::read(&log).unwrap();
    let (begin, end) = (4_096, bytes.iter().rposition(|byte| *byte != 0).unwrap());
    bytes[begin + (end - begin) / 2] ^= 0x40;
    fs::write(&log, &bytes).unwrap();
    let disk = OsDisk::open(&directory.0).unwrap();
    let options = Options { cut_damaged: true, ..Options::default() };
    drop(DiskStore::open(Arc::new(disk), options).unwrap());
    let shards = open(&runtime, &directory).unwrap();
    let one = shards.get(shard(1)).unwrap();
    let tip = one.tip().number();
    assert!(tip >= 1, "what was before the damage is lost");
    assert!(one.next_nonce(account(0)).unwrap() < 20, "what was damaged was read");
}

#[test]
fn on_a_full_disk_nothing_is_acknowledged_and_queries_still_answer() {
    let config = config();
    let quantum = Duration::from_millis(100);
    let builder = Runtime::builder().workers(2).discipline(Discipline::Fifo).quantum(quantum);
    let mut simulation = builder.simulate(5).unwrap();
    let disk = SimDisk::new(5);
    let options = Options { salt: 1, log_step_bytes: 4 << 10, ..Options::default() };
    let store = DiskStore::open(Arc::new(disk.clone()), options).unwrap();
    let shards = Shards::open(&simulation, config.clone(), Arc::new(store), 1_000).unwrap();
    disk.set_capacity(disk.used() + (64 << 10));
    let mut acknowledged = Vec::new();
    let refused = loop {
        let next = transfer(&config, shard(1), 0, acknowledged.len() as u64);
        let told = shards.accept(shard(1), next.clone()).map(|one| simulation.block_on(one));
        match told.map(|told| told.expect("each is told")) {
            Ok(Ok(hash)) => acknowledged.push(hash),
            Ok(Err(error)) | Err(error) => break error,
        }
        assert!(acknowledged.len() < 100_000, "the disk never fills up");
    };
    assert!(matches!(refused, SubmitError::Store(StoreError::Io { .. })), "{refused}");
    assert!(refused.to_string().contains("could not be made durable"), "{refused}");
    assert!(shards.commit_counts().failures > 0, "it has not failed for another reason");
    let one = shards.get(shard(1)).unwrap();
    for hash in &acknowledged {
        let status = one.transaction_status(*hash).unwrap();
        let there =
            matches!(status, Some(TransactionStatus::Included(_) | TransactionStatus::Queued(_)));
        assert!(there, "{status:?}");
    }
    assert!(balance(&shards, shard(1), account(0)) > U256::ZERO);
    // With room again, all of them find their block.
    disk.set_capacity(u64::MAX);
    simulation.run_for(Duration::from_secs(60));
    for hash in acknowledged {
        let status = one.transaction_status(hash).unwrap();
        assert!(matches!(status, Some(TransactionStatus::Included(_))), "{status:?}");
    }
}
