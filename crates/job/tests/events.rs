//! What is seen of a pool from outside: its workers, and what happens in it?
#![allow(clippy::disallowed_methods, reason = "a test plays the outside world with real threads")]

mod common;

use std::{
    sync::{Barrier, mpsc},
    thread,
    time::Duration,
};

use common::{Log, MS, block_on, channel, eventually, on_one, pool, simulated, worker};
use job::{
    Balancer, Batch, EVENTS_MAX, Error, Event, Job, JobId, Policy, Pool, Progress, WorkerStatus,
};
use kernel::{Runtime, WorkerState};

#[test]
fn worker_is_idle_then_busy_then_idle_and_unavailable_while_it_is_paused() {
    let pool = pool(2);
    assert_eq!(pool.workers(), [WorkerStatus::Idle; 2]);
    let ((tell, told), (go, wait)) = (channel(), mpsc::channel::<()>());
    let job = pool.submit(
        Job::new(move |cx| {
            tell.send(cx.worker()).unwrap();
            wait.recv().unwrap();
        })
        .id(JobId::new(7)),
    );
    let job = job.unwrap();
    let at = told.next();
    let other = worker(1 - at.get());
    let busy = pool.workers()[at.get()];
    let WorkerStatus::Busy { job: id, since: Some(since) } = busy else { panic!("{busy:?}") };
    assert_eq!((id, Some(since)), (JobId::new(7), job.timings().unwrap().started));
    assert_eq!(pool.workers()[other.get()], WorkerStatus::Idle);
    pool.pause_worker(other).unwrap();
    assert_eq!(pool.workers()[other.get()], WorkerStatus::Unavailable);
    // A job that runs is not interrupted.
    pool.pause_worker(at).unwrap();
    assert_eq!(pool.workers()[at.get()], busy);
    go.send(()).unwrap();
    job.wait().unwrap();
    eventually(|| pool.workers() == [WorkerStatus::Unavailable; 2]);
    pool.resume();
    assert_eq!(pool.workers(), [WorkerStatus::Idle; 2]);
    let shared = pool.share();
    pool.shutdown();
    assert_eq!(shared.workers(), [WorkerStatus::Unavailable; 2]);
}

#[test]
fn worker_is_busy_for_as_long_as_its_job_lasts_in_virtual_time() {
    let mut pool = simulated(1);
    pool.simulation().run_for(MS);
    let job = pool.submit(Job::new(|cx| cx.simulate(10 * MS)).id(JobId::new(1))).unwrap();
    let mut turns = 0;
    let resumable = Job::resumable(move |cx| {
        cx.simulate(10 * MS);
        turns += 1;
        if turns < 2 { Progress::Continue } else { Progress::Done(Ok::<_, &str>(())) }
    });
    pool.simulation().run_for(5 * MS);
    let busy = |job, since| WorkerStatus::Busy { job: JobId::new(job), since };
    assert_eq!(pool.workers(), [busy(1, Some(MS))]);
    pool.simulation().run();
    assert!(job.is_done());
    assert_eq!(pool.workers(), [WorkerStatus::Idle]);
    drop(pool.submit(resumable.id(JobId::new(2))).unwrap());
    pool.simulation().run_for(15 * MS);
    assert!(matches!(pool.workers()[0], WorkerStatus::Busy { job, .. } if job == JobId::new(2)));
    pool.simulation().run();
    assert_eq!(pool.workers(), [WorkerStatus::Idle]);
}

#[test]
fn workers_that_do_not_exist_or_were_shut_down_are_named() {
    let pool = pool(2);
    let invalid = Error::InvalidWorkerId { worker: worker(2), workers: 2 };
    assert_eq!(pool.pause_worker(worker(2)), Err(invalid.clone()));
    assert_eq!(pool.resume_worker(worker(2)), Err(invalid.clone()));
    assert_eq!(pool.shutdown_worker(worker(2)), Err(invalid));
    pool.shutdown_worker(worker(1)).unwrap();
    let gone = Error::WorkerShutDown(worker(1));
    assert_eq!(pool.shutdown_worker(worker(1)), Err(gone.clone()));
    assert_eq!(pool.pause_worker(worker(1)), Err(gone.clone()));
    assert_eq!(pool.resume_worker(worker(1)), Err(gone));
    pool.pause();
    pool.resume();
    assert_eq!(pool.workers(), [WorkerStatus::Idle, WorkerStatus::Unavailable]);
    let on = |_: i32| pool.submit(Job::new(|cx| cx.worker())).unwrap().join().unwrap();
    assert!((0..50).map(on).all(|ran| ran == worker(0)));
}

/// Nobody waits for ever.
#[test]
fn workers_are_shut_down_while_jobs_wait_and_the_last_one_runs_them() {
    let pool = pool(2);
    let ((started, starts), (go, wait)) = (channel(), mpsc::channel::<()>());
    let first = pool.submit(Job::new(move |cx| {
        started.send(cx.worker()).unwrap();
        wait.recv().unwrap();
    }));
    let first = first.unwrap();
    let at = starts.next();
    let other = worker(1 - at.get());
    pool.shutdown_worker(other).unwrap();
    eventually(|| pool.handle().workers()[other.get()] == WorkerState::Paused);
    let waits: Vec<_> = (0..3).map(|n| pool.submit(Job::new(move |_| n)).unwrap()).collect();
    assert_eq!(pool.shutdown_worker(at), Err(Error::LastWorker(at)));
    pool.pause_worker(at).unwrap();
    assert_eq!(pool.shutdown_worker(at), Err(Error::LastWorker(at)));
    go.send(()).unwrap();
    first.join().unwrap();
    pool.resume();
    let ran: Vec<_> = waits.into_iter().map(|job| job.join().unwrap()).collect();
    assert_eq!(ran, [0, 1, 2]);
}

#[test]
fn worker_that_is_shut_down_is_told_of_once() {
    for _ in 0..20 {
        let pool = pool(2);
        let events = pool.events();
        pool.shutdown_worker(worker(0)).unwrap();
        eventually(|| pool.handle().workers()[0] == WorkerState::Paused);
        drop(pool.submit(Job::new(|_| ())).unwrap());
        pool.shutdown();
        let of_it = events.filter(|event| match event {
            Event::WorkerReady(at) | Event::WorkerPaused(at) | Event::WorkerShuttingDown(at) => {
                *at == worker(0)
            }
            _ => false,
        });
        // It may have told that it is ready just after we began to listen.
        let told: Vec<_> =
            of_it.skip_while(|event| matches!(event, Event::WorkerReady(_))).collect();
        assert_eq!(told, [Event::WorkerShuttingDown(worker(0))]);
    }
}

/// Against a pause that is not honoured.
#[test]
fn paused_worker_takes_nothing_under_any_policy_and_its_jobs_are_taken_by_others() {
    let feedback = Policy::MultilevelFeedback { queue_count: 3, time_slice: MS };
    for policy in [
        Policy::Fcfs,
        Policy::HighestPriority,
        Policy::ShortestFirst,
        Policy::RoundRobin,
        Policy::WorkStealing,
        feedback,
    ] {
        let mut pool = Pool::builder().workers(3).policy(policy).simulate(1).unwrap();
        let mut batch = Batch::new();
        let log = Log::new();
        for _ in 0..30 {
            let log = log.clone();
            batch.add(Job::new(move |cx| {
                cx.simulate(MS);
                log.write(cx.worker());
            }));
        }
        let handle = pool.submit_batch(batch).unwrap();
        pool.simulation().run_for(MS / 2);
        // It is in a job, and others were dealt to it already.
        pool.pause_worker(worker(1)).unwrap();
        pool.simulation().run();
        assert_eq!(handle.progress().completed, 30, "{policy:?}");
        let ran = log.take();
        assert_eq!(ran.iter().filter(|ran| **ran == worker(1)).count(), 1, "{policy:?}");
    }
}

#[test]
fn all_are_paused_and_jobs_wait_until_one_is_resumed() {
    let pool = pool(2);
    let ((started, starts), (go, wait)) = (channel(), mpsc::channel::<()>());
    let first = pool.submit(Job::new(move |_| {
        started.send(()).unwrap();
        wait.recv().unwrap();
    }));
    let first = first.unwrap();
    let second = pool.submit(Job::new(|_| 7).after(&first)).unwrap();
    starts.next();
    pool.pause();
    go.send(()).unwrap();
    first.wait().unwrap();
    eventually(|| pool.workers() == [WorkerStatus::Unavailable; 2]);
    assert!(!second.is_done());
    pool.resume_worker(worker(0)).unwrap();
    assert_eq!(second.join(), Ok(7));
    assert_eq!(pool.workers(), [WorkerStatus::Idle, WorkerStatus::Unavailable]);
}

/// What the pool believes of a worker, and what the worker was told, are the same.
#[test]
fn worker_is_paused_and_resumed_at_the_same_moment_and_what_is_taken_runs() {
    let pool = pool(1);
    let start = Barrier::new(2);
    for _ in 0..2_000 {
        thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                pool.pause();
            });
            start.wait();
            pool.resume();
        });
        if let Ok(job) = pool.compute(|| ()) {
            eventually(|| job.is_done());
        }
        pool.resume();
    }
}

#[test]
fn jobs_are_taken_while_all_are_paused_if_the_pool_was_built_so() {
    let pool = on_one().accept_while_paused().build().unwrap();
    pool.pause();
    let job = pool.submit(Job::new(|_| 7)).unwrap();
    pool.resume();
    assert_eq!(job.join(), Ok(7));
}

#[test]
fn events_tell_of_jobs_when_they_end_and_of_workers() {
    let mut pool = Pool::builder().workers(2).policy(Policy::Fcfs).balancer(Balancer::LeastLoaded);
    pool = pool.name("seen");
    let mut pool = pool.simulate(3).unwrap();
    let mut events = pool.events();
    let mut batch = Batch::new();
    let id = JobId::new;
    let slow = batch.add(Job::new(|cx| cx.simulate(20 * MS)).id(id(1)));
    let bad = batch.add(
        Job::fallible(|cx| {
            cx.simulate(10 * MS);
            Err::<(), _>("no flour")
        })
        .id(id(2)),
    );
    batch.add(Job::new(|_| ()).after(&bad).id(id(3)));
    let cancelled = batch.add(Job::new(|_| ()).after(&slow).id(id(4)));
    let handle = pool.submit_batch(batch).unwrap();
    handle.job(cancelled).cancel();
    assert_eq!(events.try_next(), None);
    pool.simulation().run_for(15 * MS);
    let Some(Event::JobFailed { job, reason, execution, .. }) = events.try_next() else {
        panic!("the short one ends first, in virtual time")
    };
    assert_eq!((job, &*reason, execution), (id(2), "the job failed: no flour", 10 * MS));
    let fate = "job 2: the job failed: no flour".to_owned();
    assert_eq!(events.try_next(), Some(Event::JobNotRun { job: id(3), fate }));
    assert_eq!(events.try_next(), None, "the long one still runs");
    pool.simulation().run();
    let Some(Event::JobCompleted { job, execution, .. }) = events.try_next() else { panic!() };
    assert_eq!((job, execution), (id(1), 20 * MS));
    assert_eq!(events.try_next(), Some(Event::JobCancelled { job: id(4) }));
    pool.pause_worker(worker(1)).unwrap();
    pool.simulation().run();
    pool.resume_worker(worker(1)).unwrap();
    pool.simulation().run();
    pool.shutdown_worker(worker(0)).unwrap();
    pool.simulation().run();
    assert_eq!(events.try_next(), Some(Event::WorkerPaused(worker(1))));
    assert_eq!(events.try_next(), Some(Event::WorkerReady(worker(1))));
    assert_eq!(events.try_next(), Some(Event::WorkerShuttingDown(worker(0))));
    drop(pool);
    assert_eq!(events.next(), None);
}

#[test]
fn deadline_that_passes_is_told_and_counted_and_one_that_is_kept_is_not() {
    let mut pool = simulated(1);
    let mut events = pool.events();
    let id = JobId::new;
    let timed = |number, work: Duration, deadline: Duration| {
        Job::new(move |cx| cx.simulate(work)).id(id(number)).deadline(deadline)
    };
    let kept = pool.submit(timed(1, 10 * MS, 10 * MS)).unwrap();
    let missed = pool.submit(timed(2, 10 * MS, 15 * MS)).unwrap();
    let far = pool.submit(timed(3, MS, Duration::MAX)).unwrap();
    pool.simulation().run_for(12 * MS);
    assert!(kept.is_done());
    assert_eq!(pool.metrics().deadlines_missed, 0);
    let time = pool.simulation().run();
    assert_eq!(time.as_millis(), 21, "no timer is left");
    assert!(missed.is_done() && far.is_done());
    assert_eq!(pool.metrics().deadlines_missed, 1);
    let told: Vec<_> = std::iter::from_fn(|| events.try_next())
        .filter(|event| !matches!(event, Event::JobCompleted { .. }))
        .collect();
    assert_eq!(told, [Event::DeadlineMissed { job: id(2) }]);
}

#[test]
fn listener_that_does_not_read_loses_events_and_knows_how_many() {
    let pool = pool(2);
    let slow = pool.events();
    let jobs = EVENTS_MAX + 100;
    let mut batch = Batch::with_capacity(jobs);
    for _ in 0..jobs {
        batch.add(Job::new(|_| ()));
    }
    pool.submit_batch(batch).unwrap().wait().unwrap();
    // The workers may have told that they are ready just after we began to listen.
    assert!((100..=102).contains(&slow.dropped()), "{}", slow.dropped());
    let mut late = pool.events();
    assert_eq!((late.try_next(), late.dropped()), (None, 0));
    pool.shutdown();
    assert_eq!(
        slow.filter(|event| !matches!(event, Event::WorkerShuttingDown(_))).count(),
        EVENTS_MAX
    );
    assert_eq!(late.filter(|event| matches!(event, Event::WorkerShuttingDown(_))).count(), 2);
}

#[test]
fn listener_waits_on_a_thread_or_in_a_task_until_the_pool_has_ended() {
    let pool = pool(2);
    let (mut one, two) = (pool.events(), pool.events());
    let job = |event| if let Event::JobCompleted { job, .. } = event { Some(job) } else { None };
    let thread = thread::spawn(move || two.filter_map(job).collect::<Vec<_>>());
    let mut ids = Vec::new();
    for number in 0..10 {
        let job = pool.submit(Job::new(|_| ()).id(JobId::new(number))).unwrap();
        ids.push(job.id());
        job.join().unwrap();
        block_on(async {
            while one.recv().await.and_then(|event| job_of(&event)) != Some(JobId::new(number)) {}
        });
    }
    pool.shutdown();
    assert_eq!(thread.join().unwrap(), ids);
    block_on(async { while one.recv().await.is_some() {} });
}

fn job_of(event: &Event) -> Option<JobId> {
    match event {
        Event::JobCompleted { job, .. } => Some(*job),
        _ => None,
    }
}

/// The stream ends when all is told: also what was in line, and the workers.
#[test]
fn pool_is_dropped_and_listeners_hear_of_every_job_before_the_end() {
    for _ in 0..200 {
        let pool = pool(2);
        let events = pool.events();
        let mut batch = Batch::new();
        for _ in 0..20 {
            batch.add(Job::new(|_| ()));
        }
        let (go, wait) = mpsc::channel::<()>();
        let gate = batch.add(Job::new(move |_| wait.recv().unwrap()));
        for _ in 0..20 {
            batch.add(Job::new(|_| ()).after(&gate));
        }
        drop(pool.submit_batch(batch).unwrap());
        drop(pool);
        // The gate may be gone already.
        let _ = go.send(());
        let (mut jobs, mut workers) = (0, 0);
        for event in events {
            match event {
                Event::JobCompleted { .. } | Event::JobCancelled { .. } => jobs += 1,
                Event::WorkerShuttingDown(_) => workers += 1,
                _ => {}
            }
        }
        assert_eq!((jobs, workers), (41, 2));
    }
}

#[test]
fn workers_of_a_runtime_that_was_there_before_the_pool_are_told_of_until_the_last_ends() {
    for round in 0..100 {
        let runtime = Runtime::builder().workers(2).build().unwrap();
        let pool = Pool::on(&runtime.handle());
        let mut events = pool.events();
        pool.pause();
        assert!(events.any(|event| event == Event::WorkerPaused(worker(0))));
        let job = pool.compute(|| 7).expect("it is taken and waits");
        pool.resume();
        assert!(events.any(|event| event == Event::WorkerReady(worker(0))));
        assert_eq!(job.join(), Ok(7));
        if round % 2 == 0 {
            runtime.shutdown();
        } else {
            runtime.shutdown_background();
        }
        let ends = |event: &Event| matches!(event, Event::WorkerShuttingDown(_));
        assert_eq!(events.filter(ends).count(), 2);
    }
}

#[test]
fn who_listens_to_a_pool_that_has_ended_is_told() {
    let pool = pool(1);
    let shared = pool.share();
    pool.shutdown();
    assert_eq!(shared.events().next(), None);
    assert_eq!(block_on(shared.events().recv()), None);
    let mut simulated = simulated(1);
    let shared = simulated.share();
    simulated.simulation().run();
    drop(simulated);
    assert_eq!(shared.events().next(), None);
}
