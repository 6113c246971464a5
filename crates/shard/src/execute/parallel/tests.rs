//! Is the result that of one by one execution, whatever the batch and whoever runs it?

mod contracts;
mod deeds;
mod world;

use std::{sync::mpsc, time::Duration};

use alloy_primitives::Address;
use job::Pool;
use kernel::Runtime;

use super::*;
use crate::execute::sequential::Executor;
use world::World;

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Executes blocks of a random world in both ways, and compares all of it. Says how many
/// transactions were included, how many were executed again or one by one, how many blocks had their
/// roots made by whoever had time, how many transactions were executed in shares, and how many of them in
/// blocks in which others were executed again.
fn compare(seed: u64, mut execute: impl FnMut(Work) -> Finished) -> [usize; 6] {
    let mut world = World::new(seed);
    let rules = world.rules.clone();
    let chain_id = rules.chain_id(Address::ZERO);
    let executor = || Executor::new(&rules, Address::ZERO, world.memory.clone(), 1_000);
    let (mut one_by_one, mut other) = (executor(), executor());
    let mut counts = [0; 6];
    for block in 0..4 {
        let context = world.context(block);
        world.learn(one_by_one.cache());
        let batch = world.batch();
        let expected = one_by_one.execute(&context, batch.clone(), &mut || true);
        // What the one leaves behind is what the other goes on with, both ways.
        let found = if block == 2 {
            other.execute(&context, batch, &mut || true)
        } else {
            let (rules, cache) = (rules.clone(), other.lend());
            let calm = seed as u32 % 5;
            let finished = execute(Work { rules, chain_id, context, batch, cache, calm });
            counts[1] += finished.conflicts;
            counts[2] += finished.alone;
            counts[3] += usize::from(check_roots(&finished));
            counts[4] += finished.together;
            counts[5] += if finished.conflicts > 0 { finished.together } else { 0 };
            other.take_back(finished.cache);
            finished.result
        };
        let why = format!("seed {seed}, block {block}");
        match (&expected, &found) {
            (Ok(expected), Ok(found)) => {
                for (expected, found) in expected.included.iter().zip(&found.included) {
                    assert_eq!(expected, found, "{why}");
                }
                assert_eq!(expected, found, "{why}");
                counts[0] += found.included.len();
            }
            (expected, found) => assert_eq!(format!("{expected:?}"), format!("{found:?}"), "{why}"),
        }
    }
    counts
}

/// Whether there are roots, which must be those of what the block holds.
fn check_roots(finished: &Finished) -> bool {
    let (Some(roots), Ok(executed)) = (&finished.roots, &finished.result) else { return false };
    assert_eq!(*roots, ListRoots::of(&executed.included));
    true
}

/// On real workers.
fn on_pool(pool: &Pool, work: Work, lanes: usize) -> Finished {
    let (send, receive) = mpsc::channel();
    start(pool, work, lanes, move |finished| {
        send.send(finished).expect("somebody waits for it");
    });
    receive.recv_timeout(PATIENCE).expect("it is called when it is done")
}

/// In virtual time. Also how much of it passed.
fn simulated(seed: u64, workers: usize, work: Work) -> (Finished, Duration) {
    let mut simulation = Runtime::builder().workers(workers).simulate(seed).expect("it is valid");
    let pool = Pool::on(&simulation.handle());
    let (send, receive) = mpsc::channel();
    start(&pool, work, workers, move |finished| {
        send.send(finished).expect("somebody waits for it");
    });
    let time = simulation.run();
    (receive.try_recv().expect("it is called before all are idle"), time)
}

fn seeds(few: u64) -> std::ops::Range<u64> {
    match std::env::var("SHARD_SEEDS").ok().and_then(|seeds| seeds.parse().ok()) {
        Some(many) => 0..many,
        None => 0..few,
    }
}

#[test]
fn random_batches_in_virtual_time_come_to_the_same_as_one_by_one() {
    let mut counts = [0; 6];
    for seed in seeds(300) {
        let workers = 1 + (seed % 4) as usize;
        let of_seed = compare(seed, |work| simulated(seed, workers, work).0);
        (0..6).for_each(|at| counts[at] += of_seed[at]);
    }
    println!("{counts:?}");
    assert!(counts.iter().all(|count| *count > 0), "nothing was tested: {counts:?}");
}

#[test]
fn random_batches_on_real_workers_come_to_the_same_as_one_by_one() {
    for workers in 1..=4 {
        let pool = Pool::builder().workers(workers).build().expect("it is valid");
        for seed in seeds(100) {
            compare(seed, |work| on_pool(&pool, work, workers));
        }
    }
}

/// Executes one batch in both ways, in virtual time on so many workers.
fn same(world: &World, workers: usize, batch: Vec<SharedTransaction>) -> (Finished, Duration) {
    let rules = world.rules.clone();
    let chain_id = rules.chain_id(Address::ZERO);
    let context = world.context(0);
    let mut one_by_one = Executor::new(&rules, Address::ZERO, world.memory.clone(), 1_000);
    let expected = one_by_one.execute(&context, batch.clone(), &mut || true);
    let cache = Cache::new(world.memory.clone(), 1_000);
    let (finished, time) =
        simulated(7, workers, Work { rules, chain_id, context, batch, cache, calm: 0 });
    assert_eq!(format!("{expected:?}"), format!("{:?}", finished.result));
    check_roots(&finished);
    (finished, time)
}
