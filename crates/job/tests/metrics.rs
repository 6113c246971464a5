//! Are the numbers that a pool gives of itself true?
//!
//! Against metrics that nothing writes. Each is checked against a workload whose numbers are
//! known, in virtual time.

mod common;

use std::time::Duration;

use common::{MS, on_one, simulated};
use job::{Batch, Class, Job, Metrics, Policy, Pool, Progress, SimulatedPool};

const US: Duration = Duration::from_micros(1);

/// What a turn costs on a pool with one worker.
const COST: Duration = kernel::TURN_COST;

fn counts(metrics: &Metrics) -> [u64; 5] {
    let Metrics { scheduled, completed, failed, cancelled, queue_depth, .. } = *metrics;
    [scheduled, completed, failed, cancelled, queue_depth]
}

#[test]
fn new_pool_has_done_nothing() {
    let pool = simulated(3);
    let metrics = pool.metrics();
    assert_eq!(counts(&metrics), [0; 5]);
    assert_eq!(metrics.execution_total, Duration::ZERO);
    assert_eq!((metrics.execution_average, metrics.waiting_average), Default::default());
    assert_eq!((metrics.estimate_error_average, metrics.estimate_error_ratio), (None, None));
    assert_eq!(metrics.workers.len(), 3);
    assert!(metrics.workers.iter().all(|worker| worker.jobs == 0 && worker.utilization == 0.0));
}

#[test]
fn jobs_are_counted_from_their_submission_to_their_end() {
    let mut pool = on_one().policy(Policy::Fcfs).simulate(0).unwrap();
    let mut batch = Batch::new();
    let bad = batch.add(Job::fallible(|cx| {
        cx.simulate(10 * MS);
        Err::<(), _>("bad")
    }));
    batch.add(Job::new(|_| ()).after(&bad));
    let cancelled = batch.add(Job::new(|_| ()));
    batch.add(Job::new(|cx| cx.simulate(10 * MS)));
    let handle = pool.submit_batch(batch).unwrap();
    handle.job(cancelled).cancel();
    assert_eq!(counts(&pool.metrics()), [4, 0, 0, 0, 4]);
    pool.simulation().run_for(5 * MS);
    assert_eq!(counts(&pool.metrics()), [4, 0, 0, 0, 4], "it has not ended in virtual time");
    pool.simulation().run_for(10 * MS);
    assert_eq!(counts(&pool.metrics()), [4, 0, 2, 1, 1]);
    pool.simulation().run();
    assert_eq!(counts(&pool.metrics()), [4, 1, 2, 1, 0]);
}

#[test]
fn execution_and_waiting_times_are_those_of_the_jobs() {
    let mut pool = on_one().policy(Policy::Fcfs).simulate(0).unwrap();
    // The very first nanosecond counts as the second one.
    pool.simulation().run_for(MS);
    let mut batch = Batch::new();
    for work in [10, 20, 30, 40] {
        batch.add(Job::new(move |cx| cx.simulate(work * MS)));
    }
    drop(pool.submit_batch(batch).unwrap());
    pool.simulation().run_for(15 * MS);
    let metrics = pool.metrics();
    assert_eq!(metrics.execution_total, 10 * MS, "of what has ended");
    let busy = (15 * MS - COST).as_secs_f64() / (16 * MS).as_secs_f64();
    assert!((metrics.workers[0].utilization - busy).abs() < 1e-6, "with what runs: {metrics:?}");
    assert_eq!(metrics.execution_average, 10 * MS, "of those that have ended");
    pool.simulation().run();
    let metrics = pool.metrics();
    assert_eq!(metrics.execution_total, 100 * MS);
    assert_eq!(metrics.execution_average, 25 * MS);
    // They started after 0, 10, 30 and 60 ms, and the cost of the turns before.
    assert_eq!(metrics.waiting_average, (100 * MS + 6 * COST) / 4);
    assert_eq!(metrics.waiting.count(), 4);
    assert_eq!(metrics.waiting.total, 100 * MS + 6 * COST);
    assert_eq!(metrics.uptime, 101 * MS + 4 * COST);
    let worker = metrics.workers[0];
    assert_eq!((worker.jobs, worker.execution), (4, 100 * MS));
    assert!((0.98..=1.0).contains(&worker.utilization));
}

#[test]
fn waiting_times_are_distributed_over_powers_of_two() {
    let mut pool = on_one().policy(Policy::Fcfs).simulate(0).unwrap();
    let mut batch = Batch::new();
    for _ in 0..3 {
        batch.add(Job::new(|cx| cx.simulate(Duration::from_nanos(4000))));
    }
    drop(pool.submit_batch(batch).unwrap());
    pool.simulation().run();
    // 0 ns, 4,100 ns and 8,200 ns.
    let buckets = pool.metrics().waiting.buckets;
    let filled: Vec<_> =
        (0..64).filter(|at| buckets[*at] > 0).map(|at| (at, buckets[at])).collect();
    assert_eq!(filled, [(0, 1), (13, 1), (14, 1)]);
}

#[test]
fn utilization_is_the_share_of_the_time_that_a_worker_executed() {
    let mut pool = Pool::builder().workers(4).simulate(1).unwrap();
    for _ in 0..2 {
        drop(pool.submit(Job::new(|cx| cx.simulate(10 * MS))).unwrap());
    }
    pool.simulation().run();
    pool.simulation().run_for(30 * MS);
    let metrics = pool.metrics();
    let mut shares: Vec<f64> = metrics.workers.iter().map(|worker| worker.utilization).collect();
    shares.sort_by(f64::total_cmp);
    assert_eq!(shares[..2], [0.0; 2]);
    assert!(shares[2..].iter().all(|share| (share - 0.25).abs() < 0.001), "{shares:?}");
    let jobs: u64 = metrics.workers.iter().map(|worker| worker.jobs).sum();
    let execution: Duration = metrics.workers.iter().map(|worker| worker.execution).sum();
    assert_eq!((jobs, execution), (2, metrics.execution_total));
}

#[test]
fn job_of_many_turns_counts_once_with_all_of_its_time() {
    let mut pool = on_one().simulate(0).unwrap();
    let mut turns = 0;
    let job = pool.submit(Job::resumable(move |cx| {
        cx.simulate(5 * MS);
        turns += 1;
        if turns < 4 { Progress::Continue } else { Progress::Done(Ok::<_, &str>(())) }
    }));
    let job = job.unwrap();
    pool.simulation().run();
    let metrics = pool.metrics();
    assert_eq!((metrics.execution_total, metrics.execution_average), (20 * MS, 20 * MS));
    assert_eq!((metrics.completed, metrics.waiting.count()), (1, 1));
    assert_eq!(job.timings().unwrap().execution, 20 * MS);
}

#[test]
fn large_batches_are_measured_by_a_sample_that_stands_for_all() {
    // The last of the sample stands for 64 jobs, and for one.
    for jobs in [6400, 129] {
        let metrics = after(simulated(4), jobs, US);
        assert_eq!((metrics.completed, metrics.execution_total), (u64::from(jobs), jobs * US));
        assert_eq!((metrics.execution_average, metrics.waiting.count()), (US, u64::from(jobs)));
    }
}

/// Three jobs of the sample can not tell what four workers did.
#[test]
fn large_batches_of_long_jobs_are_measured_job_by_job() {
    let metrics = after(on_one().simulate(0).unwrap(), 129, MS);
    assert_eq!((metrics.execution_total, metrics.execution_average), (129 * MS, MS));
    assert_eq!(metrics.waiting.count(), 129);
    let metrics = after(simulated(4), 132, MS);
    // What started before the first one had ended is not known to be long.
    assert!((124 * MS..=132 * MS).contains(&metrics.execution_total), "{metrics:?}");
    assert_eq!(metrics.execution_average, MS);
    for worker in &metrics.workers {
        assert!(worker.utilization > 0.9, "{metrics:?}");
    }
}

/// What is measured of so many jobs of one batch.
fn after(mut pool: SimulatedPool, jobs: u32, each: Duration) -> Metrics {
    let mut batch = Batch::new();
    for _ in 0..jobs {
        batch.add(Job::new(move |cx| cx.simulate(each)));
    }
    drop(pool.submit_batch(batch).unwrap());
    pool.simulation().run();
    pool.metrics()
}

#[test]
fn estimate_error_is_the_mean_distance_from_what_the_jobs_took() {
    let mut pool = on_one().policy(Policy::ShortestFirst).simulate(0).unwrap();
    for (estimate, took) in [(10, 10), (10, 20), (50, 30)] {
        let job = Job::new(move |cx| cx.simulate(took * MS)).estimate(estimate * MS);
        drop(pool.submit(job).unwrap());
        pool.simulation().run();
    }
    let metrics = pool.metrics();
    assert_eq!(metrics.estimate_error_average, Some(10 * MS));
    assert_eq!(metrics.estimate_error_ratio, Some(0.5));
}

#[test]
fn estimates_that_do_not_fit_a_number_do_not_turn_the_error_around() {
    let mut pool = on_one().policy(Policy::ShortestFirst).simulate(0).unwrap();
    for estimate in [Duration::MAX, Duration::MAX, Duration::MAX, Duration::ZERO] {
        drop(pool.submit(Job::new(|cx| cx.simulate(MS)).estimate(estimate)).unwrap());
    }
    pool.simulation().run();
    let error = pool.metrics().estimate_error_average.unwrap();
    assert!(error >= Duration::from_nanos(u64::MAX / 4), "{error:?}");
    assert!(pool.metrics().estimate_error_ratio.unwrap() > 1e9);
}

#[test]
fn error_shrinks_as_a_class_is_learnt() {
    let mut pool = on_one().policy(Policy::ShortestFirst).simulate(0).unwrap();
    let class = Class::new(7);
    let mut errors = Vec::new();
    for _ in 0..20 {
        let job = Job::new(|cx| cx.simulate(40 * MS)).class(class).estimate(MS);
        drop(pool.submit(job).unwrap());
        pool.simulation().run();
        errors.push(pool.metrics().estimate_error_average.unwrap());
    }
    // The first was wrong by 39 ms, all others were right.
    assert_eq!((errors[0], errors[19]), (39 * MS, 39 * MS / 20));
    assert!(errors.is_sorted_by(|a, b| a > b));
}
