//! Does a job run once all that it depends on has ended, and hear of it if that went wrong?

mod common;

use std::{
    convert::Infallible,
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
        mpsc,
    },
    time::Duration,
};

use common::{Log, MS, channel, pool, simulated};
use job::{Batch, Job, JobError, JobHandle, JobId, OnFailure, Pool, Progress, Status};

const MILLION: u32 = 1_000_000;

fn reason() -> Arc<str> {
    "the job failed: no flour".into()
}

fn bad() -> Result<u32, &'static str> {
    Err("no flour")
}

#[test]
fn dependent_borrows_the_results_of_its_predecessors() {
    let pool = pool(2);
    let mut batch = Batch::new();
    let number = batch.add(Job::new(|_| 6));
    let text = batch.add(Job::new(|_| "seven".to_owned()));
    let (a, b) = (number.dep(), text.dep());
    let both = batch.add(
        Job::new(move |cx| format!("{} {}", cx.get(a).unwrap(), cx.get(b).unwrap()))
            .after(&number)
            .after(&text),
    );
    let handle = pool.submit_batch(batch).unwrap();
    let (number, text) = (handle.job(number), handle.job(text));
    assert_eq!(handle.job(both).join(), Ok("6 seven".to_owned()));
    assert_eq!((number.join(), text.join()), (Ok(6), Ok("seven".to_owned())));
}

/// Against dependents that are released when their predecessor is dispatched and not when it has completed.
#[test]
fn dependents_are_released_by_the_completion_of_the_last_predecessor_not_by_its_start() {
    let pool = pool(2);
    let done = Arc::new(AtomicBool::new(false));
    let mut batch = Batch::new();
    let (started, starts) = channel();
    let (go, wait) = mpsc::channel::<()>();
    let mine = done.clone();
    let slow = batch.add(Job::new(move |_| {
        started.send(()).unwrap();
        wait.recv().unwrap();
        mine.store(true, Relaxed);
    }));
    let quick = batch.add(Job::new(|_| ()));
    let dependent = batch.add(Job::new(move |_| done.load(Relaxed)).after(&slow).after(&quick));
    let handle = pool.submit_batch(batch).unwrap();
    let dependent = handle.job(dependent);
    starts.next();
    handle.job(quick).wait().unwrap();
    // A worker is free and one predecessor has completed; the other one only runs.
    assert_eq!(pool.compute(|| 1).unwrap().join(), Ok(1));
    assert_eq!(dependent.status(), Status::Created);
    go.send(()).unwrap();
    assert_eq!(dependent.join(), Ok(true));
}

/// Against dependents that wait for ever once their predecessor has failed.
#[test]
fn dependents_of_a_failed_job_fail_with_the_reason_and_where_it_began() {
    let pool = pool(2);
    let mut batch = Batch::new();
    let root = batch.add(Job::fallible(|_| bad()).id(JobId::new(1)));
    let near = batch.add(Job::new(|_| ()).after(&root));
    let far = batch.add(Job::new(|_| ()).after(&near));
    let handle = pool.submit_batch(batch).unwrap();
    let across = pool.submit(Job::new(|_| ()).after_id(JobId::new(1))).unwrap();
    let expected =
        Err(JobError::<Infallible>::Predecessor { job: JobId::new(1), reason: reason() });
    for dependent in [handle.job(near), handle.job(far), across] {
        assert_eq!(dependent.join(), expected);
    }
    assert_eq!(handle.wait().unwrap().failed, 3);
}

#[test]
fn dependents_run_without_a_result_where_the_batch_says_so() {
    let pool = pool(1);
    let mut batch = Batch::new().on_failure(OnFailure::RunDependents);
    let fails = batch.add(Job::fallible(|_| bad()));
    let panics = batch.add(Job::new(|_| -> u32 { panic!("no water") }));
    let cancelled = batch.add(Job::new(|_| 7u32));
    let (a, b, c) = (fails.dep(), panics.dep(), cancelled.dep());
    let after = Job::new(move |cx| (cx.get(a).is_none(), cx.get(b).is_none(), cx.get(c).copied()));
    let after = batch.add(after.after(&fails).after(&panics).after(&cancelled));
    let (go, wait) = mpsc::channel::<()>();
    drop(pool.submit(Job::new(move |_| wait.recv().unwrap())).unwrap());
    let handle = pool.submit_batch(batch).unwrap();
    assert!(handle.job(cancelled).cancel());
    go.send(()).unwrap();
    assert_eq!(handle.job(after).join(), Ok((true, true, None)));
    let progress = handle.wait().unwrap();
    assert_eq!((progress.completed, progress.failed, progress.cancelled), (1, 2, 1));
}

#[test]
fn dependents_of_a_cancelled_job_hear_that_it_was() {
    let mut pool = simulated(1);
    let mut batch = Batch::new();
    let cancelled = batch.add(Job::new(|_| 7).id(JobId::new(1)));
    let dependent = batch.add(Job::new(|_| ()).after(&cancelled));
    let handle = pool.submit_batch(batch).unwrap();
    handle.job(cancelled).cancel();
    pool.simulation().run();
    let reason = "it was cancelled".into();
    assert_eq!(
        handle.job(dependent).join(),
        Err(JobError::Predecessor { job: JobId::new(1), reason })
    );
}

/// What a failure means to dependents in another batch is for that batch to say.
#[test]
fn across_batches_the_dependents_batch_says_what_a_failure_does() {
    let pool = pool(1);
    let root = pool.submit(Job::fallible(|_| bad())).unwrap();
    for ended in [false, true] {
        if ended {
            root.wait().unwrap();
        }
        for (on_failure, runs) in
            [(OnFailure::FailDependents, false), (OnFailure::RunDependents, true)]
        {
            let mut batch = Batch::new().on_failure(on_failure);
            let dependent = batch.add(Job::new(|_| ()).after(&root));
            let handle = pool.submit_batch(batch).unwrap();
            assert_eq!(handle.job(dependent).join().is_ok(), runs);
        }
    }
}

#[test]
fn job_names_one_that_is_added_later() {
    let pool = pool(1);
    let log = Log::new();
    let mut batch = Batch::new();
    let (one, two, three) = (log.clone(), log.clone(), log.clone());
    batch.add(Job::new(move |_| one.write("last")).after_id(JobId::new(2)));
    let middle = batch.add(Job::new(move |_| two.write("middle")).id(JobId::new(2)));
    let first = batch.add(Job::new(move |_| three.write("first")));
    batch.depend(&middle, &first);
    pool.submit_batch(batch).unwrap().wait().unwrap();
    assert_eq!(log.take(), ["first", "middle", "last"]);
}

#[test]
fn jobs_of_earlier_batches_are_waited_for_while_they_wait_run_or_have_completed() {
    let pool = pool(2);
    let log = Log::new();
    let ((started, starts), (go, wait)) = (channel(), mpsc::channel::<()>());
    let mut batch = Batch::new();
    let note = log.clone();
    let runs = batch.add(
        Job::new(move |_| {
            started.send(()).unwrap();
            wait.recv().unwrap();
            note.write("runs");
        })
        .id(JobId::new(1)),
    );
    let note = log.clone();
    let waits = batch.add(Job::new(move |_| note.write("waits")).after(&runs).id(JobId::new(2)));
    let done = batch.add(Job::new(|_| ()).id(JobId::new(3)));
    let handle = pool.submit_batch(batch).unwrap();
    let (runs, waits, done) = (handle.job(runs), handle.job(waits), handle.job(done));
    starts.next();
    done.wait().unwrap();
    let noting = |text| {
        let note = log.clone();
        Job::new(move |_| note.write(text))
    };
    let after_done = pool.submit(noting("done").after(&done).after_id(JobId::new(3))).unwrap();
    after_done.wait().unwrap();
    let by_handle = pool.submit(noting("last").after(&runs).after(&waits).after(&done)).unwrap();
    let by_id =
        pool.submit(noting("last").after_id(JobId::new(1)).after_id(JobId::new(2))).unwrap();
    assert_eq!((by_handle.status(), by_id.status()), (Status::Created, Status::Created));
    go.send(()).unwrap();
    by_handle.wait().unwrap();
    by_id.wait().unwrap();
    assert_eq!(log.take(), ["done", "runs", "waits", "last", "last"]);
}

#[test]
fn job_of_an_ended_batch_is_remembered_by_its_id() {
    let pool = pool(1);
    pool.submit(Job::new(|_| ()).id(JobId::new(1))).unwrap().join().unwrap();
    let mut batch = Batch::new();
    let fine = batch.add(Job::new(|_| 7).after_id(JobId::new(1)));
    let inner = batch.add(Job::new(|_| 8).after(&fine).after_id(JobId::new(1)));
    let handle = pool.submit_batch(batch).unwrap();
    assert_eq!(handle.job(inner).join(), Ok(8));
}

#[test]
fn same_predecessor_named_twice_is_waited_for_once() {
    let pool = pool(1);
    let mut batch = Batch::new();
    let first = batch.add(Job::new(|_| 7).id(JobId::new(1)));
    let (name, again) = (first.dep(), first.dep());
    let second = Job::new(move |cx| *cx.get(name).unwrap());
    let second = batch.add(second.after(&first).after(&again).after_id(JobId::new(1)));
    let handle = pool.submit_batch(batch).unwrap();
    let first = handle.job(first);
    let third = Job::new(|_| 8).after(&first).after(&first).after_id(JobId::new(1));
    assert_eq!(pool.submit(third).unwrap().join(), Ok(8));
    assert_eq!(handle.job(second).join(), Ok(7));
}

/// Two jobs at once on two workers: the first successor of a job runs where it ended, as long as
/// the quantum lasts.
#[test]
fn first_ready_successor_runs_on_the_worker_of_its_predecessor() {
    let pool = Pool::builder().workers(2).quantum(Duration::from_secs(3600)).build().unwrap();
    for _ in 0..50 {
        let both = Arc::new(Barrier::new(2));
        let mut batch = Batch::new();
        let nodes: Vec<_> = (0..2)
            .map(|_| {
                let both = both.clone();
                let first = batch.add(Job::new(move |cx| {
                    both.wait();
                    cx.worker()
                }));
                let name = first.dep();
                let second = Job::new(move |cx| (*cx.get(name).unwrap(), cx.worker()));
                batch.add(second.after(&first))
            })
            .collect();
        let handle = pool.submit_batch(batch).unwrap();
        for node in nodes {
            let (first, second) = handle.job(node).join().unwrap();
            assert_eq!(first, second);
        }
    }
}

#[test]
fn successors_of_a_resumable_job_run() {
    let pool = pool(1);
    let mut batch = Batch::new();
    let first = batch.add(Job::resumable(|_| Progress::Done(Ok::<_, Infallible>(7))));
    let name = first.dep();
    let after = || Job::new(move |cx| cx.get(name).copied());
    let nodes = [batch.add(after().after(&first)), batch.add(after().after(&first))];
    let handle = pool.submit_batch(batch).unwrap();
    for node in nodes {
        assert_eq!(handle.job(node).join(), Ok(Some(7)));
    }
}

#[test]
fn chain_of_a_million_jobs_runs_in_order() {
    let pool = pool(2);
    let next = Arc::new(AtomicU32::new(0));
    let mut batch = Batch::with_capacity(MILLION as usize);
    let mut before: Option<job::Dep<(), Infallible>> = None;
    for number in 0..MILLION {
        let next = next.clone();
        let mut job = Job::new(move |_| {
            assert_eq!(next.swap(number + 1, Relaxed), number);
        });
        if let Some(before) = &before {
            job = job.after(before);
        }
        before = Some(batch.add(job).dep());
    }
    let progress = pool.submit_batch(batch).unwrap().wait().unwrap();
    assert_eq!(progress.completed, MILLION as usize);
}

#[test]
fn a_million_jobs_wait_for_one_and_one_for_all_of_them() {
    let pool = pool(2);
    let counter = Arc::new(AtomicU32::new(0));
    let mut batch = Batch::with_capacity(MILLION as usize + 2);
    let first = batch.add(Job::new(|_| ()));
    let mine = counter.clone();
    let last = batch.add(Job::new(move |_| mine.load(Relaxed)));
    for _ in 0..MILLION {
        let mine = counter.clone();
        let each = batch.add(
            Job::new(move |_| {
                mine.fetch_add(1, Relaxed);
            })
            .after(&first),
        );
        batch.depend(&last, &each);
    }
    let handle = pool.submit_batch(batch).unwrap();
    assert_eq!(handle.job(last).join(), Ok(MILLION));
}

#[test]
fn a_million_dependents_in_other_batches_wait_for_one_job() {
    const EACH: u32 = 100_000;
    let pool = pool(2);
    let (go, wait) = mpsc::channel::<()>();
    let first = pool.submit(Job::new(move |_| wait.recv().unwrap())).unwrap();
    let counter = Arc::new(AtomicU32::new(0));
    let handles: Vec<_> = (0..MILLION / EACH)
        .map(|_| {
            let mut batch = Batch::new();
            for _ in 0..EACH {
                let mine = counter.clone();
                let count = Job::new(move |_| {
                    mine.fetch_add(1, Relaxed);
                });
                batch.add(count.after(&first));
            }
            pool.submit_batch(batch).unwrap()
        })
        .collect();
    assert_eq!(counter.load(Relaxed), 0);
    go.send(()).unwrap();
    for handle in handles {
        assert_eq!(handle.wait().unwrap().completed, EACH as usize);
    }
    assert_eq!(counter.load(Relaxed), MILLION);
}

/// Each of 100,000 jobs is a batch of its own and depends on the one before.
fn chain_across_batches(pool: &Pool, first: Job<impl job::Body>) -> JobHandle<(), Infallible> {
    let mut last = {
        let first = pool.submit(first).unwrap();
        pool.submit(Job::new(|_| ()).after(&first)).unwrap()
    };
    for _ in 0..100_000 {
        last = pool.submit(Job::new(|_| ()).after(&last)).unwrap();
    }
    last
}

#[test]
fn failure_goes_through_100_000_batches_without_using_up_the_stack() {
    let pool = pool(2);
    let (go, wait) = mpsc::channel::<()>();
    let last = chain_across_batches(
        &pool,
        Job::fallible(move |_| {
            wait.recv().unwrap();
            bad()
        })
        .id(JobId::new(1)),
    );
    assert_eq!(last.status(), Status::Created);
    go.send(()).unwrap();
    assert_eq!(last.join(), Err(JobError::Predecessor { job: JobId::new(1), reason: reason() }));
    assert_eq!(pool.metrics().failed, 100_002);
}

#[test]
fn completion_and_the_end_of_the_pool_go_through_100_000_batches() {
    let pool = pool(2);
    assert_eq!(chain_across_batches(&pool, Job::new(|_| ())).join(), Ok(()));
    let ((started, starts), (go, wait)) = (channel(), mpsc::channel::<()>());
    let last = chain_across_batches(
        &pool,
        Job::new(move |_| {
            started.send(()).unwrap();
            wait.recv().unwrap();
        }),
    );
    starts.next();
    drop(pool);
    assert_eq!(last.status(), Status::Created, "its first predecessor still runs");
    go.send(()).unwrap();
    assert_eq!(last.join(), Err(JobError::Stopped));
}

#[test]
fn dependencies_hold_in_virtual_time() {
    let mut pool = simulated(8);
    let log = Log::new();
    let mut batch = Batch::new();
    let mut before = Vec::new();
    for layer in 0..10u32 {
        let mut now = Vec::new();
        for _ in 0..8 {
            let log = log.clone();
            let mut job = Job::new(move |cx| {
                log.write((layer, cx.now()));
                cx.simulate(MS * (layer % 3 + 1));
            });
            for before in &before {
                job = job.after(before);
            }
            now.push(batch.add(job));
        }
        before = now;
    }
    drop(pool.submit_batch(batch).unwrap());
    let time = pool.simulation().run();
    // Eight at once: each layer takes as long as one of its jobs, and the cost of a turn.
    assert_eq!(time.as_millis(), 1 + 2 + 3 + 1 + 2 + 3 + 1 + 2 + 3 + 1);
    let mut ends = std::time::Duration::ZERO;
    for layer in log.take().chunks(8) {
        assert!(layer.iter().all(|(_, start)| *start >= ends));
        ends = layer[0].1 + MS * (layer[0].0 % 3 + 1);
    }
}
