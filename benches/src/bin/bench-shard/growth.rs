//! Does a long chain make anything slower?

use std::time::{Duration, Instant};

use alloy_primitives::B256;
use benches::{
    Args, Line,
    shard::{Kind, config},
};
use shard::{Shard, config::Durability};

use crate::{
    OURS,
    ours::{Ours, address, batches, directory, loads},
};

/// Blocks that are asked for at once.
const PART: u64 = 10_000;
/// Of the chain, so much at its end is timed.
const LAST: u64 = 10;
const READS: u64 = 10_000;

/// A chain of so many blocks with one transfer each: the time per block at its end, that of reads
/// anywhere in it, and that of opening it again.
pub(crate) fn growth(args: &Args) -> Vec<Line> {
    let (_, blocks) = args.workload.split_once('_').expect("the name says how many");
    let count = args.items(blocks.parse().expect("the name ends in a number"));
    let mut config = config();
    config.rules.block_transactions_max = 1;
    config.durability = Durability::None;
    let path = directory();
    let ours = Ours::open_in(config.clone(), args.workers, Some(path.clone()));
    let mut loads = loads(&config, Kind::Transfer, 1, 10_000);
    let (mut hashes, mut last): (Vec<B256>, _) = (Vec::new(), (0, Duration::ZERO));
    while (hashes.len() as u64) < count {
        let done = hashes.len() as u64;
        // A part ends where the timed one begins.
        let timed = count - count / LAST;
        let end = if done < timed { timed } else { count };
        let batch = batches(&mut loads, PART.min(end - done));
        let time = ours.run_filled(&batch);
        if done >= timed {
            last = (last.0 + batch[0].1.len() as u64, last.1 + time);
        }
        hashes.extend(batch[0].1.iter().map(|transaction| transaction.hash()));
    }
    let each = last.1.as_secs_f64() * 1e6 / last.0 as f64;
    let shard = ours.shards.get(address(0)).expect("it was written to");
    assert_eq!(shard.tip().number(), count, "each block holds one");
    let (block, receipt) = reads(&shard, &hashes);
    let tip = shard.tip().hash;
    drop((shard, ours.shards));
    ours.runtime.shutdown();
    let start = Instant::now();
    let again = Ours::open_in(config, args.workers, Some(path));
    let opened = start.elapsed().as_secs_f64() * 1e3;
    let shard = again.shards.get(address(0)).expect("it was stored");
    assert_eq!(shard.tip().hash, tip, "nothing is lost");
    drop(shard);
    again.end();
    let name = &args.workload;
    let line = |what: &str, unit, value| Line::new(&format!("{name}_{what}"), OURS, unit, value);
    vec![
        line("each", "us/block", each).with("items", count as f64),
        line("block", "ns", block),
        line("receipt", "ns", receipt),
        line("reopen", "ms", opened),
    ]
}

/// Nanoseconds to read a block, and a transaction with its receipt, anywhere in the chain.
fn reads(shard: &Shard, hashes: &[B256]) -> (f64, f64) {
    let count = hashes.len() as u64;
    let times = READS.min(count);
    // Far apart from each other.
    let place = |n: u64| n * 7_919 * (count / times) % count;
    let per = |start: Instant| start.elapsed().as_secs_f64() * 1e9 / times as f64;
    let start = Instant::now();
    for n in 0..times {
        let found = shard.block(place(n) + 1).expect("the store can be read");
        assert!(found.is_some(), "each block is there");
    }
    let block = per(start);
    let start = Instant::now();
    for n in 0..times {
        let found = shard.transaction(hashes[place(n) as usize]).expect("the store can be read");
        assert!(found.is_some(), "each transaction is there");
    }
    (block, per(start))
}
