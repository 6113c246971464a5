//! How long until a transaction is acknowledged, and how many blocks per second?

use std::time::{Duration, Instant};

use benches::{
    Args, Line,
    shard::{Kind, config},
};

use crate::{
    OURS,
    ours::{Ours, Place, batches, loads},
};

/// One transaction at a time to each shard, synced: each waits for its acknowledgement.
pub(crate) fn latency(args: &Args) -> Vec<Line> {
    let (_, shards) = args.workload.split_once('_').expect("the name says how many");
    let shards: usize = shards.parse().expect("the name ends in a number");
    let each = args.items(20_000) / shards as u64;
    let config = config();
    let ours = Ours::open(config.clone(), args.workers, Place::Disk);
    let mut loads = loads(&config, Kind::Transfer, shards, 1_000);
    let batches = batches(&mut loads, each * shards as u64);
    let start = Instant::now();
    let mut times: Vec<Duration> = Vec::new();
    for at in 0..each as usize {
        let begun = Instant::now();
        let round: Vec<_> = batches
            .iter()
            .map(|(shard, batch)| ours.shards.accept(*shard, batch[at].clone()))
            .collect();
        for accepted in round {
            accepted.expect("it is valid").wait().expect("the disk works");
            times.push(begun.elapsed());
        }
    }
    let elapsed = start.elapsed().as_secs_f64();
    let blocks: u64 = ours.shards.all().iter().map(|shard| shard.tip().number()).sum();
    ours.end();
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
    let name = &args.workload;
    let line = |what: &str, unit, value| Line::new(&format!("{name}_{what}"), OURS, unit, value);
    if name.starts_with("blocks") {
        return vec![Line::new(name, OURS, "blocks/s", blocks as f64 / elapsed)];
    }
    vec![line("p50", "us", at(0.5)), line("p99", "us", at(0.99))]
}
