//! How fast are questions answered, and how soon is a store open again?

use std::time::Instant;

use alloy_primitives::map::HashMap;
use benches::{
    Args, Line,
    shard::{Kind, account, config},
};
use shard::state::StateReader;

use crate::{
    OURS, middle,
    ours::{Ours, Place, address, batches, directory, loads},
};

/// Balances and receipts of a shard with many accounts, most of which are in the tables.
pub(crate) fn reads(args: &Args) -> Vec<Line> {
    let count = args.items(200_000);
    let mut config = config();
    config.checkpoint_bytes = 8 << 20;
    let ours = Ours::open(config.clone(), args.workers, Place::Disk);
    let mut loads = loads(&config, Kind::Transfer, 1, count);
    let batches = batches(&mut loads, count);
    ours.run(&batches);
    let shard = ours.shards.get(address(0)).expect("it was written to");
    let state = shard.state();
    let per = |times: u64, mut read: Box<dyn FnMut(u64) + '_>| {
        let samples = (0..args.repeats).map(|_| {
            let start = Instant::now();
            (0..times).for_each(&mut read);
            start.elapsed().as_secs_f64() * 1e9 / times as f64
        });
        middle(samples)
    };
    let times = count.min(100_000);
    let balance = per(
        times,
        Box::new(|n| {
            state.account(account(n * 7 % count)).expect("the store can be read");
        }),
    );
    let transactions = &batches[0].1;
    let receipt = per(
        times,
        Box::new(|n| {
            let hash = transactions[(n * 7 % count) as usize].hash();
            assert!(shard.transaction(hash).expect("the store can be read").is_some());
        }),
    );
    let past = shard.state_at(shard.tip().number() / 2).expect("there is such a block");
    let history = per(
        times,
        Box::new(|n| {
            past.account(account(n * 7 % count)).expect("the store can be read");
        }),
    );
    drop((past, state, shard));
    ours.end();
    let line = |what: &str, value| Line::new(&format!("reads_{what}"), OURS, "ns", value);
    vec![line("balance", balance), line("receipt", receipt), line("balance_past", history)]
}

/// The time to open what a crash has left: the log is as long as it gets.
pub(crate) fn reopen(args: &Args) -> Vec<Line> {
    let count = args.items(100_000);
    let config = config();
    let times = (0..args.repeats).map(|_| {
        let path = directory();
        let ours = Ours::open_in(config.clone(), args.workers, Some(path.clone()));
        let mut loads = loads(&config, Kind::Transfer, 64, 10_000);
        ours.run(&batches(&mut loads, count));
        let heights: HashMap<_, _> =
            ours.shards.all().iter().map(|one| (one.address(), one.tip().hash)).collect();
        drop(ours.shards);
        ours.runtime.shutdown();
        let start = Instant::now();
        let again = Ours::open_in(config.clone(), args.workers, Some(path));
        let time = start.elapsed().as_secs_f64() * 1e3;
        for shard in again.shards.all() {
            assert_eq!(heights[&shard.address()], shard.tip().hash, "nothing is lost");
        }
        again.end();
        time
    });
    vec![Line::new(&args.workload, OURS, "ms", middle(times))]
}
