//! Do jobs run unchanged in virtual time, the same for the same seed, and faster on more workers?

mod common;

use std::{collections::HashSet, time::Duration};

use common::{Log, MS};
use job::{Batch, Job, OnFailure, Policy, Pool};
use kernel::each_seed;

/// Which job started where, and when.
type Trace = Vec<(u32, usize, Duration)>;

/// Layers of jobs that each depend on some of the layer before.
fn layered(seed: u64, policy: Policy) -> (Trace, String) {
    let builder = Pool::builder().workers(3).policy(policy).record(4096);
    let mut pool = builder.simulate(seed).unwrap();
    let log = Log::new();
    let mut batch = Batch::new().on_failure(OnFailure::RunDependents);
    let mut nodes = Vec::new();
    for number in 0..60u32 {
        let note = log.clone();
        let mut job = Job::fallible(move |cx| {
            note.write((number, cx.worker().get(), cx.now()));
            cx.simulate(MS * (number % 7));
            if number % 11 == 0 { Err("bad") } else { Ok(()) }
        })
        .priority(f64::from(number % 5))
        .estimate(MS * (number % 7));
        for before in [10, 13] {
            if let Some(before) = (number as usize).checked_sub(before) {
                job = job.after(&nodes[before]);
            }
        }
        nodes.push(batch.add(job));
    }
    drop(pool.submit_batch(batch).unwrap());
    pool.simulation().run();
    (log.take(), pool.simulation().log())
}

#[test]
fn same_seed_is_the_same_run_and_another_seed_another_one() {
    for policy in [Policy::Fcfs, Policy::HighestPriority, Policy::RoundRobin, Policy::WorkStealing]
    {
        let runs: Vec<_> = (0..10).map(|seed| layered(seed, policy)).collect();
        for (seed, run) in (0..).zip(&runs) {
            assert_eq!(*run, layered(seed, policy), "{policy:?}, seed {seed}");
            assert_eq!(run.0.len(), 60);
        }
        let different: HashSet<_> = runs.iter().map(|(trace, _)| trace).collect();
        assert!(different.len() > 5, "{policy:?}: {} of 10 differ", different.len());
    }
}

/// What the policy leaves open is the seed's; what it does not, is not.
#[test]
fn seed_does_not_change_the_order_of_a_policy() {
    let order = |seed| -> Vec<u32> {
        let mut pool = Pool::builder().workers(3).policy(Policy::Fcfs).simulate(seed).unwrap();
        let log = Log::new();
        for number in 0..50u32 {
            let log = log.clone();
            let job = Job::new(move |cx| {
                log.write(number);
                cx.simulate(MS * (number % 3));
            });
            drop(pool.submit(job).unwrap());
        }
        pool.simulation().run();
        log.take()
    };
    each_seed(20, |seed| assert_eq!(order(seed), (0..50).collect::<Vec<_>>()));
}

fn makespan(workers: usize, policy: Policy, together: bool) -> Duration {
    let mut pool = Pool::builder().workers(workers).policy(policy).simulate(7).unwrap();
    let job = || Job::new(|cx| cx.simulate(10 * MS));
    if together {
        let mut batch = Batch::new();
        for _ in 0..4096 {
            batch.add(job());
        }
        drop(pool.submit_batch(batch).unwrap());
    } else {
        for _ in 0..4096 {
            drop(pool.submit(job()).unwrap());
        }
    }
    let time = pool.simulation().run();
    assert_eq!(pool.metrics().completed, 4096);
    time
}

#[test]
fn twice_the_workers_take_half_the_time_for_independent_jobs() {
    for policy in [Policy::WorkStealing, Policy::Fcfs, Policy::RoundRobin] {
        for power in 0..=10 {
            let workers = 1 << power;
            let time = makespan(workers, policy, policy != Policy::RoundRobin);
            // And the cost of the turns themselves, a hundred nanoseconds each at most.
            let ideal = 4096 / workers as u128 * 10;
            assert_eq!(time.as_millis(), ideal, "{workers} workers, {policy:?}");
        }
    }
}

#[test]
fn chain_takes_as_long_on_many_workers_as_on_one() {
    let chain = |workers| {
        let mut pool = Pool::builder().workers(workers).simulate(3).unwrap();
        let mut batch = Batch::new();
        let mut last = batch.add(Job::new(|cx| cx.simulate(MS))).dep();
        for _ in 1..100 {
            last = batch.add(Job::new(|cx| cx.simulate(MS)).after(&last)).dep();
        }
        drop(pool.submit_batch(batch).unwrap());
        pool.simulation().run().as_millis()
    };
    assert_eq!([1, 4, 64].map(chain), [100; 3]);
}

#[test]
fn jobs_await_jobs_and_timers_in_virtual_time() {
    let mut pool = Pool::builder().workers(2).simulate(1).unwrap();
    let shared = pool.share();
    let waited = pool.simulation().block_on(async move {
        let first = shared.submit(Job::new(|cx| (cx.simulate(5 * MS), cx.now()).1)).unwrap();
        let ended = first.await.unwrap();
        shared.handle().sleep(10 * MS).await;
        let second = shared.submit(Job::new(|cx| cx.now())).unwrap();
        (ended, second.await.unwrap())
    });
    assert_eq!(waited, Ok((5 * MS, 15 * MS)));
}
