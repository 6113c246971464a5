//! The process is killed under load, again and again: is everything there that was acknowledged?
//!
//! A child submits transactions to several shards and prints the hash of each that was
//! acknowledged. After some of them it is killed, as by a power failure of the process. Then the
//! data is opened and everything is looked for; and the next child goes on with it.
//!
//! `SHIFTWORK_CRASH_SECONDS` says for how long (5 by default, a minute in `cargo xtask test`).
#![allow(clippy::disallowed_methods, reason = "it plays the outside world, which has a clock")]

mod common;

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use alloy_primitives::B256;
use common::{account, config, open, shard, transfer};
use kernel::Runtime;
use shard::{
    Config, Shards,
    disk::OsDisk,
    shard::TransactionStatus,
    store::{DiskStore, Options},
};

const SHARDS: u8 = 8;
const SENDERS: u64 = 10;

fn main() {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("child") => child(Path::new(&arguments.next().expect("the data's directory"))),
        _ => parent(),
    }
}

/// Small checkpoints, so that a kill hits folds too.
fn settings() -> Config {
    let mut config = config();
    config.checkpoint_bytes = 64 << 10;
    config
}

fn open_in(path: &Path, runtime: &Runtime) -> Shards {
    let disk = OsDisk::open(path).expect("the directory can be used");
    let store = DiskStore::open(Arc::new(disk), Options::default()).expect("the store opens");
    open(runtime, &settings(), Arc::new(store))
}

/// Submits for ever, and prints what was acknowledged.
fn child(path: &Path) {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let shards = open_in(path, &runtime);
    let config = settings();
    let mut out = std::io::stdout().lock();
    loop {
        let mut round = Vec::new();
        for to in (0..SHARDS).map(shard) {
            for from in 0..SENDERS {
                let one = shards.get(to);
                let nonce = one.map_or(0, |one| one.next_nonce(account(from)).unwrap());
                let transaction = transfer(&config, to, from, nonce);
                round.push(shards.accept(to, transaction).expect("it is valid"));
            }
        }
        for accepted in round {
            let hash = accepted.wait().expect("the disk works");
            writeln!(out, "{hash}").expect("the parent listens");
        }
        out.flush().expect("the parent listens");
    }
}

fn parent() {
    let seconds = std::env::var("SHIFTWORK_CRASH_SECONDS").ok().and_then(|it| it.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(5));
    let path = directory();
    let mut acknowledged = BTreeSet::new();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut rounds = 0;
    while Instant::now() < end {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let before_kill = random % 2_000;
        acknowledged.extend(kill_after(&path, before_kill));
        check(&path, &acknowledged);
        rounds += 1;
    }
    let _ = std::fs::remove_dir_all(&path);
    assert!(acknowledged.len() > 100, "so few transactions say nothing");
    println!("killed {rounds} times, {} acknowledged transactions, none lost", acknowledged.len());
}

/// Starts a child and kills it when it has acknowledged so many. Gives all that it has told.
fn kill_after(path: &Path, count: u64) -> Vec<B256> {
    let own = std::env::current_exe().expect("this program is a file");
    let mut child: Child = Command::new(own)
        .arg("child")
        .arg(path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the child starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut told = Vec::new();
    let read = |line: std::io::Result<String>| line.ok()?.parse::<B256>().ok();
    while told.len() < count as usize {
        match lines.next() {
            Some(line) => told.extend(read(line)),
            None => panic!("the child has ended by itself: {:?}", child.wait()),
        }
    }
    child.kill().expect("it can be killed");
    // What it had printed before it died was acknowledged too. The last line may be cut.
    told.extend(lines.filter_map(read));
    child.wait().expect("it has died");
    told
}

fn check(path: &Path, acknowledged: &BTreeSet<B256>) {
    let runtime = Runtime::builder().workers(2).build().unwrap();
    let shards = open_in(path, &runtime);
    let all = shards.all();
    for hash in acknowledged {
        let found = all.iter().any(|one| {
            match one.transaction_status(*hash).expect("the store can be read") {
                Some(TransactionStatus::Included(_) | TransactionStatus::Queued(_)) => true,
                Some(TransactionStatus::Dropped(reason)) => panic!("{hash} was dropped: {reason}"),
                None => false,
            }
        });
        assert!(found, "{hash} was acknowledged and is lost");
    }
    for one in all {
        let mut parent = one.block(0).unwrap().expect("each shard has a block 0");
        for number in 1..=one.tip().number() {
            let block = one.block(number).unwrap();
            let block = block.unwrap_or_else(|| panic!("block {number} is missing"));
            assert_eq!(block.header.parent_hash, parent.hash, "the chain is continuous");
            assert_eq!(block.header.hash_slow(), block.hash, "the block is whole");
            assert_eq!(block.transactions.len(), block.receipts.len());
            parent = block;
        }
    }
    drop(shards);
    runtime.shutdown();
}

fn directory() -> PathBuf {
    std::env::temp_dir().join(format!("shiftwork-crash-{}", std::process::id()))
}
