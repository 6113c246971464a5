//! What does a pool refuse, and is it all or nothing?

mod common;

use std::{sync::mpsc, time::Duration};

use common::{Counter, MS, channel, on_one, pool, worker};
use job::{
    Balancer, Batch, Error, Executor, Job, JobError, JobId, Policy, Pool, PoolError, REMEMBERED_MAX,
};

fn id(number: u64) -> JobId {
    JobId::new(number)
}

/// Submits a batch that is refused, and checks that nothing of it was queued.
#[track_caller]
fn refused(pool: &Pool, batch: Batch) -> (Error, Batch) {
    let before = pool.metrics();
    let (error, batch) = pool.submit_batch(batch).unwrap_err().into_parts();
    let after = pool.metrics();
    assert_eq!((before.scheduled, before.queue_depth), (after.scheduled, after.queue_depth));
    (error, batch)
}

fn cycle(error: &Error) -> Vec<JobId> {
    match error {
        Error::Cycle(jobs) => jobs.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn cycle_is_found_and_its_jobs_are_named_in_order() {
    let pool = pool(1);
    let counter = Counter::default();
    let mut batch = Batch::new();
    let one = counter.one();
    let before = batch.add(Job::new(move |_| drop(one)).id(id(9)));
    let a = batch.add(Job::new(|_| ()).id(id(1)).after_id(id(3)).after(&before));
    let b = batch.add(Job::new(|_| ()).id(id(2)).after(&a));
    batch.add(Job::new(|_| ()).id(id(3)).after(&b));
    batch.add(Job::new(|_| ()).id(id(4)).after_id(id(3)));
    let (error, batch) = refused(&pool, batch);
    let mut jobs = cycle(&error);
    let first = jobs.iter().position(|job| *job == id(1)).unwrap();
    jobs.rotate_left(first);
    assert_eq!(jobs, [id(1), id(3), id(2)], "each waits for the one after it");
    assert!(error.to_string().contains("job 2 waits for job 1"), "{error}");
    assert_eq!(batch.len(), 5);
    assert_eq!(counter.left(), 1);
    let (error, batch) = refused(&pool, batch);
    assert_eq!(cycle(&error).len(), 3, "it is still there at the second try");
    drop(batch);
    assert_eq!(counter.left(), 0);
}

#[test]
fn dependency_on_oneself_is_a_cycle_of_one() {
    let pool = pool(1);
    let refused_job = pool.submit(Job::new(|_| 7).id(id(1)).after_id(id(1))).unwrap_err();
    assert_eq!(cycle(refused_job.error()), [id(1)]);
    assert_eq!(refused_job.to_string(), "jobs wait for each other: job 1 waits for job 1");
    let mut batch = Batch::new();
    let node = batch.add(Job::new(|_| ()));
    batch.depend(&node, &node);
    let (error, _) = refused(&pool, batch);
    assert_eq!(error.to_string(), "jobs wait for each other: job #0.0 waits for job #0.0");
}

#[test]
fn cycle_in_a_million_jobs_is_found() {
    let pool = pool(1);
    let mut batch = Batch::new();
    let first = batch.add(Job::new(|_| ()));
    let mut last = first.dep();
    for _ in 1..1_000_000 {
        last = batch.add(Job::new(|_| ()).after(&last)).dep();
    }
    batch.depend(&first, &last);
    assert!(matches!(batch.seal(), Err(Error::Cycle(jobs)) if jobs.len() == 1_000_000));
    assert_eq!(cycle(&refused(&pool, batch).0).len(), 1_000_000);
}

#[test]
fn unknown_job_is_named_and_the_batch_can_be_submitted_once_it_is_known() {
    let pool = pool(1);
    let mut batch = Batch::new();
    let dependent = batch.add(Job::new(|_| 7).after_id(id(1)));
    let (error, batch) = refused(&pool, batch);
    assert_eq!(error, Error::UnknownJob(id(1)));
    pool.submit(Job::new(|_| ()).id(id(1))).unwrap().join().unwrap();
    let handle = pool.submit_batch(batch).unwrap();
    assert_eq!(handle.job(dependent).join(), Ok(7));
}

#[test]
fn duplicate_id_is_refused_in_a_batch_while_it_lives_and_after_it_has_ended() {
    let pool = pool(1);
    let mut batch = Batch::new();
    batch.add(Job::new(|_| ()).id(id(1)));
    batch.add(Job::new(|_| ()).id(id(1)));
    assert_eq!(refused(&pool, batch).0, Error::DuplicateJob(id(1)));
    let (go, wait) = mpsc::channel::<()>();
    let live = pool.submit(Job::new(move |_| wait.recv().unwrap()).id(id(1))).unwrap();
    let again = |number| {
        let mut batch = Batch::new();
        batch.add(Job::new(|_| ()).id(id(100)));
        batch.add(Job::new(|_| ()).id(id(number)));
        batch
    };
    assert_eq!(refused(&pool, again(1)).0, Error::DuplicateJob(id(1)));
    go.send(()).unwrap();
    live.join().unwrap();
    assert_eq!(refused(&pool, again(1)).0, Error::DuplicateJob(id(1)));
    // Nothing of a refused batch is kept: its other id is free.
    assert_eq!(pool.submit_batch(again(2)).unwrap().wait().unwrap().completed, 2);
}

#[test]
fn ended_jobs_are_remembered_for_a_window_and_then_unknown() {
    let pool = pool(2);
    pool.submit(Job::fallible(|_| Err::<(), _>("bad")).id(id(0))).unwrap().wait().unwrap();
    let fill = |from: u64, to: u64| {
        let mut batch = Batch::new();
        for number in from..to {
            batch.add(Job::new(|_| ()).id(id(number)));
        }
        pool.submit_batch(batch).unwrap().wait().unwrap();
    };
    let window = REMEMBERED_MAX as u64;
    fill(1, window);
    let dependent = pool.submit(Job::new(|_| ()).after_id(id(0))).unwrap();
    assert!(matches!(dependent.join(), Err(JobError::Predecessor { job, .. }) if job == id(0)));
    fill(window, window + 1);
    let refused = pool.submit(Job::new(|_| ()).after_id(id(0))).unwrap_err();
    assert_eq!(refused.error(), &Error::UnknownJob(id(0)));
    pool.submit(Job::new(|_| ()).after_id(id(1))).unwrap().join().unwrap();
    // The id may be used again.
    pool.submit(Job::new(|_| ()).id(id(0))).unwrap().join().unwrap();
}

#[test]
fn job_of_another_pool_is_refused() {
    let (pool, other) = (pool(1), pool(1));
    let theirs = other.submit(Job::new(|_| ()).id(id(1))).unwrap();
    let refused = pool.submit(Job::new(|_| 7).after(&theirs)).unwrap_err();
    assert_eq!(refused.error(), &Error::OtherPool(id(1)));
    let refused = pool.submit(Job::new(|_| 7).after(&theirs.share())).unwrap_err();
    assert_eq!(refused.error(), &Error::OtherPool(id(1)));
    assert!(other.submit(refused.into_parts().1).is_ok());
}

#[test]
fn priority_that_is_no_number_or_has_no_end_is_refused() {
    for priority in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for policy in [Policy::WorkStealing, Policy::HighestPriority] {
            let pool = on_one().policy(policy).build().unwrap();
            let job = Job::new(|_| 7).id(id(1)).priority(priority);
            let error = pool.submit(job).unwrap_err().into_parts().0;
            let Error::PriorityNotFinite { job, priority: named } = error else {
                panic!("{error}")
            };
            assert_eq!((job, named.to_bits()), (id(1), priority.to_bits()));
        }
        let pool = on_one()
            .policy(Policy::HighestPriority)
            .prioritizer(move |info| if info.priority > 1.0 { priority } else { info.priority })
            .build()
            .unwrap();
        let mut batch = Batch::new();
        batch.add(Job::new(|_| ()).priority(1.0));
        batch.add(Job::new(|_| ()).priority(2.0));
        let (error, _) = refused(&pool, batch);
        assert!(matches!(error, Error::PriorityNotFinite { .. }), "{error}");
        assert!(error.to_string().starts_with("the priority of job #0.1 is "), "{error}");
        pool.submit(Job::new(|_| ()).priority(f64::MAX)).unwrap_err();
        pool.submit(Job::new(|_| ()).priority(f64::MIN)).unwrap().join().unwrap();
    }
}

#[test]
fn affinity_to_a_missing_worker_is_refused() {
    let invalid = Error::InvalidWorkerId { worker: worker(2), workers: 2 };
    let plain = pool(2);
    let job = Job::new(|_| 7).affinity(worker(2));
    assert_eq!(plain.submit(job).unwrap_err().error(), &invalid);
    let far = Job::new(|_| 7).affinity(worker(usize::MAX));
    assert!(matches!(plain.submit(far).unwrap_err().error(), Error::InvalidWorkerId { .. }));
    let balancer = Balancer::affinity(|info| Some(worker(info.priority as usize)));
    let pool = Pool::builder().workers(2).policy(Policy::Fcfs).balancer(balancer).build().unwrap();
    let mut batch = Batch::new();
    batch.add(Job::new(|_| ()).priority(1.0));
    batch.add(Job::new(|_| ()).priority(2.0));
    assert_eq!(refused(&pool, batch).0, invalid);
    pool.submit(Job::new(|_| ()).priority(1.0)).unwrap().join().unwrap();
}

#[test]
fn stopped_pool_refuses_and_gives_back() {
    let pool = pool(1);
    let shared = pool.share();
    let counter = Counter::default();
    pool.shutdown();
    let one = counter.one();
    let refused_job = shared.submit(Job::new(move |_| drop(one))).unwrap_err();
    assert_eq!(refused_job.error(), &Error::Stopped);
    assert_eq!(counter.left(), 1);
    drop(refused_job);
    assert_eq!(counter.left(), 0);
    assert_eq!(shared.compute(|| 7).unwrap_err(), Error::Stopped);
    let mut batch = Batch::new();
    batch.add(Job::new(|_| ()));
    assert_eq!(refused(&shared, batch).0, Error::Stopped);
}

/// A shutdown lets the workers go on that are paused.
#[test]
fn paused_pool_is_shut_down_and_takes_what_its_jobs_submit() {
    let pool = pool(1);
    let ((go, gate), (started, starts)) = (channel::<()>(), channel());
    let runs = pool.submit(Job::new(move |_| {
        started.send(()).unwrap();
        gate.next();
    }));
    let (runs, shared) = (runs.unwrap(), pool.share());
    let waits = pool.submit(Job::fallible(move |_| {
        let mut batch = Batch::new();
        let one = batch.add(Job::new(|_| 3));
        let handle = shared.submit_batch(batch)?;
        Ok::<_, Error>((handle.job(one), shared.submit(Job::new(|_| 4))?))
    }));
    starts.next();
    pool.pause();
    go.send(()).unwrap();
    runs.join().unwrap();
    pool.shutdown();
    let (three, four) = waits.unwrap().join().unwrap();
    assert_eq!((three.join(), four.join()), (Ok(3), Ok(4)));
}

#[test]
fn refused_job_comes_back_with_all_that_was_said_about_it() {
    let pool = pool(2);
    pool.pause();
    let executor = Executor::new(|text: String| text.parse::<u32>());
    let large = [7u8; 200];
    let first = executor.job("42".to_owned()).id(id(1)).priority(2.0).estimate(MS);
    let second = Job::new(move |_| large.iter().map(|n| u32::from(*n)).sum::<u32>());
    let first = pool.submit(first).unwrap_err();
    let second = pool.submit(second.deadline(Duration::from_secs(60))).unwrap_err();
    assert_eq!(first.error(), &Error::NoAvailableWorkers);
    pool.resume();
    let first = pool.submit(first.into_parts().1).unwrap();
    assert_eq!(first.id(), id(1));
    assert_eq!(first.join(), Ok(42));
    assert_eq!(pool.submit(second.into_parts().1).unwrap().join(), Ok(1400));
}

#[test]
fn batch_is_sealed_early_and_changed_afterwards() {
    let pool = pool(1);
    let mut batch = Batch::new();
    let first = batch.add(Job::new(|_| 1));
    batch.seal().unwrap();
    let name = first.dep();
    let second = batch.add(Job::new(move |cx| cx.get(name).map(|n| n + 1)).after(&first));
    batch.seal().unwrap();
    batch.seal().unwrap();
    let handle = pool.submit_batch(batch).unwrap();
    assert_eq!(handle.job(second).join(), Ok(Some(2)));
}

#[test]
fn pools_that_could_never_work_are_not_built() {
    assert!(matches!(on_one().capacity(0).build(), Err(PoolError::ZeroCapacity)));
    assert!(matches!(on_one().max_jobs_per_cycle(0).build(), Err(PoolError::ZeroJobsPerCycle)));
    assert!(matches!(Pool::builder().workers(0).build(), Err(PoolError::Runtime(_))));
    for ageing in [f64::NAN, f64::INFINITY, -1.0] {
        let builder = on_one().policy(Policy::HighestPriority).ageing(ageing);
        assert!(matches!(builder.build(), Err(PoolError::Runtime(_))), "{ageing}");
    }
    for (queue_count, time_slice) in [(0, MS), (3, Duration::ZERO)] {
        let policy = Policy::MultilevelFeedback { queue_count, time_slice };
        let built = on_one().policy(policy).build();
        assert!(matches!(built, Err(PoolError::Runtime(_))), "{queue_count}, {time_slice:?}");
    }
}

#[test]
#[should_panic(expected = "must be below 2^63")]
fn id_of_the_upper_half_is_a_mistake() {
    let _ = JobId::new(1 << 63);
}

#[test]
#[should_panic(expected = "of another batch")]
fn job_of_an_unsubmitted_batch_is_no_predecessor_elsewhere() {
    let mut one = Batch::new();
    let node = one.add(Job::new(|_| ()));
    let mut two = Batch::new();
    two.add(Job::new(|_| ()).after(&node));
}
