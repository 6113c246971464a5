//! In which order do jobs run, and where, as the pool was built?

mod common;

use std::{convert::Infallible, sync::Arc, time::Duration};

use common::{Log, MS, on_one, worker};
use job::{
    Balancer, Batch, Class, Job, JobInfo, Policy, Pool, PoolBuilder, Progress, SimulatedPool,
    WorkerId,
};

const FEEDBACK: Policy = Policy::MultilevelFeedback { queue_count: 3, time_slice: MS };

/// Runs jobs that are all ready at once; returns the order in which they ran.
fn order<B: job::Body>(
    pool: &mut SimulatedPool,
    jobs: impl IntoIterator<Item = (&'static str, Job<B>)>,
    log: &Log<&'static str>,
) -> Vec<&'static str> {
    for (_, job) in jobs {
        drop(pool.submit(job).unwrap());
    }
    pool.simulation().run();
    log.take()
}

fn noting(log: &Log<&'static str>, name: &'static str) -> Job<impl job::Body> {
    let log = log.clone();
    Job::new(move |cx| {
        log.write(name);
        cx.simulate(MS);
    })
}

#[test]
fn first_come_is_first_served_over_all_workers() {
    let mut pool = Pool::builder().workers(3).policy(Policy::Fcfs).simulate(1).unwrap();
    let log = Log::new();
    for number in 0..100u32 {
        let log = log.clone();
        drop(
            pool.submit(
                Job::new(move |cx| {
                    log.write(number);
                    cx.simulate(MS * (number * 7 % 5));
                })
                .priority(f64::from(number)),
            )
            .unwrap(),
        );
    }
    pool.simulation().run();
    assert_eq!(log.take(), (0..100).collect::<Vec<_>>());
}

#[test]
fn highest_priority_comes_first_and_equals_in_order_of_arrival() {
    let mut pool = on_one().policy(Policy::HighestPriority).simulate(0).unwrap();
    let log = Log::new();
    let jobs = [
        ("low", -1.0),
        ("first of two", 2.0),
        ("high", 7.5),
        ("second of two", 2.0),
        ("none", 0.0),
    ];
    let jobs = jobs.map(|(name, priority)| (name, noting(&log, name).priority(priority)));
    let ran = order(&mut pool, jobs, &log);
    assert_eq!(ran, ["high", "first of two", "second of two", "none", "low"]);
}

#[test]
fn shortest_comes_first_and_what_nobody_knows_last() {
    let mut pool = on_one().policy(Policy::ShortestFirst).simulate(0).unwrap();
    let log = Log::new();
    drop(pool.submit(noting(&log, "unknown")).unwrap());
    let jobs = [("long", Duration::MAX), ("short", MS), ("nothing", Duration::ZERO)];
    let jobs = jobs.map(|(name, estimate)| (name, noting(&log, name).estimate(estimate)));
    let ran = order(&mut pool, jobs, &log);
    // One without an estimate counts as one that never ends: in order of arrival.
    assert_eq!(ran, ["nothing", "short", "unknown", "long"]);
}

#[test]
fn round_robin_deals_to_each_worker_in_turn() {
    let mut pool = Pool::builder().workers(4).policy(Policy::RoundRobin).simulate(3).unwrap();
    let log = Log::new();
    for number in 0..40usize {
        let log = log.clone();
        let job = Job::new(move |cx| {
            log.write((number, cx.worker().get()));
            cx.simulate(MS);
        });
        drop(pool.submit(job).unwrap());
    }
    pool.simulation().run();
    assert!(log.take().into_iter().all(|(number, at)| number % 4 == at));
}

#[test]
fn work_stealing_serves_what_a_job_released_before_what_waited() {
    let mut pool = on_one().policy(Policy::WorkStealing).simulate(0).unwrap();
    let log = Log::new();
    let mut batch = Batch::new();
    let note = |name| {
        let log = log.clone();
        Job::new(move |_| log.write(name))
    };
    let gate = batch.add(note("gate"));
    batch.add(note("released first").after(&gate));
    batch.add(note("waited"));
    batch.add(note("released last").after(&gate));
    drop(pool.submit_batch(batch).unwrap());
    pool.simulation().run();
    assert_eq!(log.take(), ["gate", "released last", "released first", "waited"]);
}

#[test]
fn default_is_work_stealing_and_a_pool_says_its_policy() {
    assert_eq!(on_one().simulate(0).unwrap().policy(), Policy::WorkStealing);
    assert_eq!(on_one().policy(FEEDBACK).simulate(0).unwrap().policy(), FEEDBACK);
}

/// A job of so many turns, each of which uses up its slice.
fn turns(log: &Log<&'static str>, name: &'static str, count: u32) -> Job<impl job::Body> {
    let (log, mut left) = (log.clone(), count);
    Job::resumable(move |cx| {
        log.write(name);
        cx.simulate(2 * MS);
        left -= 1;
        if left > 0 { Progress::Continue } else { Progress::Done(Ok::<_, Infallible>(())) }
    })
}

#[test]
fn resumable_job_that_uses_up_its_slices_sinks_below_those_that_come_later() {
    let mut pool = on_one().policy(FEEDBACK).simulate(0).unwrap();
    let log = Log::new();
    drop(pool.submit(turns(&log, "long", 4)).unwrap());
    drop(pool.submit(turns(&log, "short", 1)).unwrap());
    pool.simulation().run_for(MS);
    drop(pool.submit(turns(&log, "late", 2)).unwrap());
    pool.simulation().run();
    // Level 0: long, short, late; level 1: long, late; level 2: long, long.
    assert_eq!(log.take(), ["long", "short", "late", "long", "late", "long", "long"]);
}

#[test]
fn resumable_jobs_share_a_worker_under_other_policies_too() {
    for policy in [Policy::Fcfs, Policy::RoundRobin, Policy::WorkStealing] {
        let mut pool = on_one().policy(policy).simulate(0).unwrap();
        let log = Log::new();
        drop(pool.submit(turns(&log, "one", 3)).unwrap());
        drop(pool.submit(turns(&log, "two", 3)).unwrap());
        pool.simulation().run();
        assert_eq!(log.take(), ["one", "two", "one", "two", "one", "two"], "{policy:?}");
    }
}

#[test]
fn plain_job_starts_at_the_level_that_its_class_has_earned() {
    let mut pool = on_one().policy(FEEDBACK).simulate(0).unwrap();
    let (quick, slow) = (Class::new(1), Class::new(2));
    for (class, work) in [(quick, MS / 2), (slow, 5 * MS)] {
        drop(pool.submit(Job::new(move |cx| cx.simulate(work)).class(class)).unwrap());
    }
    pool.simulation().run();
    let log = Log::new();
    let jobs = [
        ("slow", Some(slow)),
        ("quick", Some(quick)),
        ("new", Some(Class::new(3))),
        ("none", None),
    ];
    let jobs = jobs.map(|(name, class)| {
        let job = noting(&log, name);
        (name, if let Some(class) = class { job.class(class) } else { job })
    });
    assert_eq!(order(&mut pool, jobs, &log), ["quick", "new", "none", "slow"]);
}

/// This policy is for those that do not know how long their jobs take.
#[test]
fn level_is_what_a_class_has_earned_and_not_what_was_estimated() {
    let mut pool = on_one().policy(FEEDBACK).simulate(0).unwrap();
    let log = Log::new();
    let (slow, new) = (Class::new(1), Class::new(2));
    drop(pool.submit(Job::new(|cx| cx.simulate(5 * MS)).class(slow)).unwrap());
    pool.simulation().run();
    let jobs = [
        ("learnt", noting(&log, "learnt").class(slow).estimate(MS / 2)),
        ("new", noting(&log, "new").class(new).estimate(9 * MS)),
        ("none", noting(&log, "none").estimate(9 * MS)),
    ];
    assert_eq!(order(&mut pool, jobs, &log), ["new", "none", "learnt"]);
}

#[test]
fn what_a_class_took_is_the_estimate_of_the_next_and_follows_it() {
    let seen: Log<Option<Duration>> = Log::new();
    let note = seen.clone();
    let mut pool = on_one()
        .policy(Policy::ShortestFirst)
        .prioritizer(move |info| {
            note.write(info.estimate);
            0.0
        })
        .simulate(0)
        .unwrap();
    for work in [8, 16, 16] {
        let job = Job::new(move |cx| cx.simulate(work * MS)).class(Class::new(0));
        drop(pool.submit(job.estimate(3 * MS)).unwrap());
        pool.simulation().run();
    }
    drop(pool.submit(Job::new(|_| ()).class(Class::new(0))).unwrap());
    // First what it was given, then what was learnt: each counts an eighth.
    let learnt = [3 * MS, 8 * MS, 9 * MS, Duration::from_micros(9875)];
    assert_eq!(seen.take(), learnt.map(Some));
}

#[test]
fn ageing_lets_a_job_of_low_priority_overtake_those_that_keep_coming() {
    let starved = |ageing: f64| {
        let mut pool = on_one().policy(Policy::HighestPriority).ageing(ageing).simulate(0).unwrap();
        let log = Log::new();
        drop(pool.submit(noting(&log, "low")).unwrap());
        for _ in 0..100 {
            drop(pool.submit(noting(&log, "high").priority(10.0)).unwrap());
        }
        pool.simulation().run();
        log.take().into_iter().position(|name| name == "low").unwrap()
    };
    assert_eq!(starved(0.0), 100, "strict");
    // Each arrival is worth one: those that came after ten others are no higher any more.
    assert_eq!(starved(1.0), 9);
}

#[test]
fn hand_out_takes_as_many_jobs_as_it_may_and_no_more() {
    let turns = |max: usize| {
        let mut pool = Pool::builder().workers(2).max_jobs_per_cycle(max).simulate(0).unwrap();
        let mut batch = Batch::new();
        for _ in 0..64 {
            batch.add(Job::new(|_| ()));
        }
        drop(pool.submit_batch(batch).unwrap());
        pool.simulation().run();
        assert_eq!(pool.metrics().completed, 64);
        pool.handle().metrics().total().turns
    };
    assert_eq!([1, 4, 16, 64, 1000].map(turns), [64, 16, 4, 1, 1]);
}

#[test]
fn hand_out_that_has_used_up_its_quantum_lets_others_come_first() {
    let mut pool = on_one().max_jobs_per_cycle(1000).simulate(0).unwrap();
    let log = Log::new();
    let mut batch = Batch::new();
    for _ in 0..5 {
        batch.add(noting(&log, "many"));
    }
    drop(pool.submit_batch(batch).unwrap());
    drop(pool.submit(noting(&log, "one")).unwrap());
    pool.simulation().run();
    assert_eq!(log.take()[..3], ["many", "one", "many"]);
}

#[test]
fn prioritizer_knows_what_was_said_and_decides() {
    let seen: Arc<Log<JobInfo>> = Arc::new(Log::new());
    let note = seen.clone();
    let mut pool = on_one()
        .policy(Policy::HighestPriority)
        .prioritizer(move |info| {
            note.write(*info);
            // The more wait for it, the sooner; then the smaller ones.
            f64::from(info.successors) * 100.0 - info.estimate.map_or(0.0, |e| e.as_secs_f64())
        })
        .simulate(0)
        .unwrap();
    let log = Log::new();
    let mut batch = Batch::new();
    let plain = batch.add(noting(&log, "small").priority(9.0).estimate(MS));
    let wanted = batch.add(noting(&log, "wanted").class(Class::new(3)).deadline(20 * MS));
    let last = noting(&log, "last").after(&plain).after(&wanted).affinity(worker(0));
    batch.add(last.id(job::JobId::new(4)));
    batch.add(noting(&log, "also").after(&wanted));
    drop(pool.submit_batch(batch).unwrap());
    pool.simulation().run();
    assert_eq!(log.take()[..2], ["wanted", "small"]);
    let infos = seen.take();
    assert_eq!((infos[0].priority, infos[0].estimate), (9.0, Some(MS)));
    assert_eq!((infos[0].predecessors, infos[0].successors), (0, 1));
    assert_eq!((infos[1].class, infos[1].deadline), (Some(Class::new(3)), Some(20 * MS)));
    assert_eq!((infos[1].predecessors, infos[1].successors), (0, 2));
    assert_eq!((infos[2].affinity, infos[2].id), (Some(worker(0)), job::JobId::new(4)));
    assert_eq!(infos[2].predecessors, 2);
}

fn by_affinity(builder: PoolBuilder) -> SimulatedPool {
    let choose = |info: &JobInfo| (info.priority > 0.0).then(|| worker(info.priority as usize));
    let builder = builder.policy(Policy::Fcfs).balancer(Balancer::affinity(choose));
    builder.workers(3).simulate(2).unwrap()
}

/// Where jobs ran, by name.
fn places(
    pool: &mut SimulatedPool,
    jobs: Vec<Job<impl job::Body<Output = WorkerId>>>,
) -> Vec<usize> {
    let handles: Vec<_> = jobs.into_iter().map(|job| pool.submit(job).unwrap()).collect();
    pool.simulation().run();
    handles.into_iter().map(|handle| handle.join().ok().unwrap().get()).collect()
}

#[test]
fn job_goes_to_the_worker_that_it_names_or_the_function_or_the_least_loaded() {
    let mut pool = by_affinity(Pool::builder());
    let here = || Job::new(|cx| cx.worker());
    let jobs = vec![here().priority(2.0), here().priority(2.0).affinity(worker(1)), here()];
    assert_eq!(places(&mut pool, jobs), [2, 1, 0]);
}

#[test]
fn job_whose_worker_is_paused_goes_to_the_least_loaded() {
    let mut pool = by_affinity(Pool::builder());
    pool.pause_worker(worker(2)).unwrap();
    pool.simulation().run();
    let here = || {
        Job::new(|cx| {
            cx.simulate(MS);
            cx.worker()
        })
        .affinity(worker(2))
    };
    let mut ran = places(&mut pool, (0..4).map(|_| here()).collect());
    ran.sort();
    assert_eq!(ran, [0, 0, 1, 1]);
    pool.resume_worker(worker(2)).unwrap();
    pool.simulation().run();
    assert_eq!(places(&mut pool, vec![here()]), [2]);
}

#[test]
fn job_whose_worker_is_paused_after_it_was_dealt_is_taken_by_another() {
    let mut pool = by_affinity(Pool::builder());
    let busy = Job::new(|cx| cx.simulate(10 * MS)).affinity(worker(2));
    drop(pool.submit(busy).unwrap());
    pool.simulation().run_for(MS);
    pool.pause_worker(worker(2)).unwrap();
    let ran = places(&mut pool, vec![Job::new(|cx| cx.worker()).affinity(worker(2))]);
    assert_ne!(ran, [2]);
}

#[test]
fn pool_on_a_runtime_takes_the_order_of_its_discipline() {
    let builder = kernel::Runtime::builder().workers(1);
    let discipline = kernel::Discipline::Priority { ageing: 0.0 };
    let mut simulation = builder.discipline(discipline).simulate(0).unwrap();
    let pool = Pool::on(&simulation.handle());
    assert_eq!(pool.policy(), Policy::HighestPriority);
    let log = Log::new();
    for (name, priority) in [("low", 1.0), ("high", 2.0)] {
        drop(Pool::on(&simulation.handle()).submit(noting(&log, name).priority(priority)).unwrap());
    }
    simulation.run();
    assert_eq!(log.take(), ["high", "low"]);
    assert_eq!(pool.metrics().completed, 2, "all pools on a runtime are one");
}
