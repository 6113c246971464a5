//! How many transactions per second?

use benches::{
    Args, Line,
    shard::{Kind, config, throughput},
};
use shard::{Config, config::Durability};

use crate::{
    OURS, middle,
    ours::{Ours, Place, batches, loads, prepare},
};

/// Recipients, where a workload does not say how many.
const RECIPIENTS: u64 = 10_000;
const COUNT: u64 = 100_000;

/// Transfers before those to many accounts are measured, however many accounts there are: tables, and
/// what waits to be folded into them, have the same history then. So many times those measured.
const HISTORY: u64 = 5;
/// Transfers to many accounts that are measured: so many that several folds are among them.
const STEADY: u64 = 600_000;

struct Case {
    config: Config,
    place: Place,
    kind: Kind,
    shards: usize,
    recipients: u64,
    count: u64,
    workers: usize,
}

/// Seconds for the whole count, with pools filled before; and how much was executed side by side.
fn seconds(case: &Case) -> f64 {
    let ours = Ours::open(case.config.clone(), case.workers, case.place);
    let mut loads = loads(&case.config, case.kind, case.shards, case.recipients);
    ours.run(&prepare(&mut loads));
    let warm_up = batches(&mut loads, case.count / 10);
    ours.run(&warm_up);
    let time = ours.run_filled(&batches(&mut loads, case.count));
    ours.end();
    time.as_secs_f64()
}

fn rate(args: &Args, case: &Case) -> Line {
    let rates: Vec<f64> = (0..args.repeats).map(|_| case.count as f64 / seconds(case)).collect();
    let line = Line::new(&args.workload, OURS, "tx/s", middle(rates));
    line.with("items", case.count as f64).with("workers", case.workers as f64)
}

pub(crate) fn transactions(args: &Args) -> Vec<Line> {
    let (kind, shards, sync) = throughput(&args.workload).expect("it was looked up by this");
    let mut config = config();
    config.durability = if sync { Durability::Sync } else { Durability::None };
    config.parallel = false;
    let count = args.items(COUNT).max(shards as u64);
    let (place, recipients) = (Place::Disk, RECIPIENTS);
    let case = Case { config, place, kind, shards, recipients, count, workers: args.workers };
    vec![rate(args, &case)]
}

/// What a synced disk costs per transaction, over keeping everything in memory.
pub(crate) fn storage_cost(args: &Args) -> Vec<Line> {
    let count = args.items(COUNT);
    let case = |place, durability| {
        let mut config = config();
        config.durability = durability;
        config.parallel = false;
        let (kind, shards, recipients) = (Kind::Token, 1, RECIPIENTS);
        Case { config, place, kind, shards, recipients, count, workers: args.workers }
    };
    let (synced, memory) =
        (case(Place::Disk, Durability::Sync), case(Place::Memory, Durability::None));
    let costs = (0..args.repeats).map(|_| (seconds(&synced) - seconds(&memory)) / count as f64);
    let cost = middle(costs.map(|cost| cost * 1e6));
    vec![Line::new(&args.workload, OURS, "us/tx", cost).with("items", count as f64)]
}

/// Transfers to random ones of many accounts, all of which exist.
pub(crate) fn accounts(args: &Args) -> Vec<Line> {
    let recipients: u64 =
        args.workload.trim_start_matches("accounts_").parse().expect("the name ends in a number");
    let count = args.items(STEADY);
    let config = config();
    let ours = Ours::open(config.clone(), args.workers, Place::Disk);
    let mut loads = loads(&config, Kind::Transfer, 1, recipients);
    // In a full run three for each of a million: all but a twentieth of them exist then.
    let mut left = HISTORY * count;
    while left > 0 {
        let part = left.min(COUNT);
        ours.run(&batches(&mut loads, part));
        left -= part;
    }
    let rates: Vec<f64> = (0..args.repeats)
        .map(|_| {
            let batch = batches(&mut loads, count);
            count as f64 / ours.run_filled(&batch).as_secs_f64()
        })
        .collect();
    ours.end();
    vec![Line::new(&args.workload, OURS, "tx/s", middle(rates)).with("items", count as f64)]
}

/// The executor on several workers beside the one by one: swaps with and without conflicts.
pub(crate) fn parallel(args: &Args) -> Vec<Line> {
    let kind = Kind::of(args.workload.trim_start_matches("parallel_")).expect("the name says it");
    let count = args.items(20_000);
    let case = |parallel| {
        let mut config = config();
        config.durability = Durability::None;
        config.parallel = parallel;
        let (place, shards, recipients) = (Place::Memory, 1, RECIPIENTS);
        Case { config, place, kind, shards, recipients, count, workers: args.workers }
    };
    let (with, without) = (case(true), case(false));
    let ratios = (0..args.repeats).map(|_| seconds(&without) / seconds(&with));
    let ratio = middle(ratios);
    vec![Line::new(&args.workload, OURS, "times one by one", ratio).with("items", count as f64)]
}
