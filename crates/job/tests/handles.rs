//! What does a handle say of its job, and who gets the result?
#![allow(clippy::disallowed_methods, reason = "a test plays the outside world with real threads")]

mod common;

use std::{convert::Infallible, future::Future, sync::mpsc, task::Context, thread, time::Duration};

use common::{Alarm, Counter, MS, block_on, channel, eventually, on_one, pool, simulated};
use job::{Batch, BatchHandle, Error, Executor, Job, JobError, JobId, Progress, Status, Timings};

#[test]
fn job_is_created_then_ready_then_running_then_completed() {
    let mut pool = simulated(1);
    let mut batch = Batch::new();
    let first = batch.add(Job::new(|cx| cx.simulate(10 * MS)));
    let second = batch.add(
        Job::new(|cx| {
            cx.simulate(10 * MS);
            7
        })
        .after(&first),
    );
    let third = batch.add(Job::new(|_| ()));
    let handle = pool.submit_batch(batch).unwrap();
    let (first, second, third) = (handle.job(first), handle.job(second), handle.job(third));
    assert_eq!(first.status(), Status::Ready);
    assert_eq!(second.status(), Status::Created);
    pool.simulation().run_for(5 * MS);
    assert_eq!(first.status(), Status::Running);
    assert_eq!((second.status(), third.status()), (Status::Created, Status::Ready));
    let progress = handle.progress();
    assert_eq!((progress.created, progress.ready, progress.running), (1, 1, 1));
    pool.simulation().run_for(7 * MS);
    assert_eq!(first.status(), Status::Completed(&()));
    assert_eq!(second.status(), Status::Running);
    assert_eq!((second.result(), second.is_done()), (None, false));
    pool.simulation().run();
    assert_eq!(second.status(), Status::Completed(&7));
    assert_eq!(second.result(), Some(Ok(&7)));
    assert_eq!(handle.progress().ended(), 3);
    assert_eq!(second.join(), Ok(7));
}

#[test]
fn job_that_returns_an_error_fails_with_it_and_one_that_panics_with_its_text() {
    let pool = pool(1);
    let bad = pool.submit(Job::fallible(|_| "seven".parse::<u32>())).unwrap();
    bad.wait().unwrap();
    assert!(matches!(bad.status(), Status::Failed(JobError::Failed(_))));
    assert!(matches!(bad.join(), Err(JobError::Failed(_))));
    let worse = pool.submit(Job::new(|_| panic!("number {}", 7))).unwrap();
    worse.wait().unwrap();
    assert_eq!(worse.status(), Status::<(), _>::Failed(&JobError::Panicked("number 7".into())));
    assert_eq!(worse.join(), Err(JobError::Panicked("number 7".to_owned())));
    // The worker is still there.
    assert_eq!(pool.compute(|| 7).unwrap().join(), Ok(7));
}

#[test]
fn executor_does_the_same_to_each_payload() {
    let pool = pool(2);
    let double = Executor::new(|number: u32| number.checked_mul(2).ok_or("too large"));
    let jobs = [1, 2, u32::MAX].map(|number| pool.submit(double.clone().job(number)).unwrap());
    let results = jobs.map(|job| job.join());
    assert_eq!(results, [Ok(2), Ok(4), Err(JobError::Failed("too large"))]);
}

#[test]
fn handle_is_awaited_before_and_after_the_end() {
    let pool = pool(1);
    let (go, wait) = mpsc::channel::<()>();
    let slow = pool
        .submit(Job::new(move |_| {
            wait.recv().unwrap();
            7
        }))
        .unwrap();
    let runtime = kernel::Runtime::builder().workers(1).build().unwrap();
    let mut task = runtime.spawn(slow).unwrap();
    go.send(()).unwrap();
    assert_eq!(task.join().unwrap(), Ok(7));
    let quick = pool.submit(Job::new(|_| 8)).unwrap();
    quick.wait().unwrap();
    assert_eq!(block_on(quick), Ok(8));
}

#[test]
fn handle_with_dependents_is_awaited_until_the_batch_has_ended() {
    let mut pool = simulated(1);
    let mut batch = Batch::new();
    let first = batch.add(Job::new(|_| "first"));
    let name = first.dep();
    batch.add(Job::new(move |cx| assert_eq!(cx.get(name), Some(&"first"))).after(&first));
    let handle = pool.submit_batch(batch).unwrap();
    let first = handle.job(first);
    assert_eq!(pool.simulation().block_on(first).unwrap(), Ok("first"));
    assert!(handle.is_done());
}

#[test]
fn awaiting_stops_before_the_end_and_the_job_runs_all_the_same() {
    let mut pool = simulated(1);
    let alarm = Alarm::new();
    let waker = alarm.clone().into();
    let mut job = Box::pin(pool.submit(Job::new(|_| 7)).unwrap());
    assert!(job.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    {
        let mut done = Box::pin(job.done());
        assert!(done.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    let again = Alarm::new();
    let other = again.clone().into();
    assert!(job.as_mut().poll(&mut Context::from_waker(&other)).is_pending());
    pool.simulation().run();
    assert_eq!((alarm.rung(), again.rung()), (0, 1), "only who waits last is woken");
    assert_eq!(block_on(job), Ok(7));
}

#[test]
fn many_threads_wait_for_one_job_and_for_its_batch() {
    let pool = pool(2);
    let mut batch = Batch::new();
    let (go, wait) = mpsc::channel::<()>();
    let job = batch.add(Job::new(move |_| wait.recv().unwrap()));
    let handle = pool.submit_batch(batch).unwrap();
    let job = handle.job(job);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| job.wait().unwrap());
            scope.spawn(|| assert_eq!(handle.wait().unwrap().completed, 1));
            scope.spawn(|| block_on(job.done()));
            scope.spawn(|| block_on(handle.done()));
        }
        go.send(()).unwrap();
    });
}

#[test]
fn result_that_is_shared_is_read_and_not_taken() {
    let pool = pool(1);
    let job = pool.submit(Job::new(|_| "ours".to_owned())).unwrap();
    let shared = job.share();
    let (id, copy) = (job.id(), shared.clone());
    let reader =
        pool.submit(Job::new(move |_| copy.result().unwrap().unwrap().clone()).after(&shared));
    assert_eq!(reader.unwrap().join(), Ok("ours".to_owned()));
    assert_eq!(shared.id(), id);
    assert_eq!(shared.status(), Status::Completed(&"ours".to_owned()));
    assert_eq!(job.join(), Err(JobError::Shared));
    assert_eq!(shared.result(), Some(Ok(&"ours".to_owned())));
}

#[test]
fn result_that_was_awaited_is_taken_and_its_job_was_not_cancelled() {
    let pool = pool(1);
    let mut good = pool.submit(Job::new(|_| 7)).unwrap();
    assert_eq!(block_on(&mut good), Ok(7));
    assert_eq!((good.status(), good.result()), (Status::Taken, None));
    let mut bad = pool.submit(Job::fallible(|_| Err::<(), _>("no flour"))).unwrap();
    assert_eq!(block_on(&mut bad), Err(JobError::Failed("no flour")));
    assert_eq!((bad.status(), bad.result()), (Status::Taken, None));
}

#[test]
fn results_go_with_their_handles_and_nothing_is_left() {
    let pool = pool(2);
    let counter = Counter::default();
    let results = Counter::default();
    // Nobody collects it.
    let (one, result) = (counter.one(), results.clone());
    drop(pool.submit(Job::new(move |_| (drop(one), result.one()).1)).unwrap());
    eventually(|| pool.metrics().completed == 1 && results.left() == 0);
    assert_eq!(counter.left(), 0);
    // Collected, read, kept with the batch, large, failed, and panicked.
    let result = results.clone();
    let taken = pool.submit(Job::new(move |_| result.one())).unwrap().join().unwrap();
    assert_eq!(results.left(), 1);
    drop(taken);
    let mut batch = Batch::new();
    for size in 0..100 {
        let (one, result) = (counter.one(), results.clone());
        batch.add(Job::fallible(move |_| {
            let _one = one;
            match size % 3 {
                0 => Ok([(); 20].map(|()| result.one())),
                1 => Err(format!("{:?}", result.one())),
                _ => panic!("{:?}", result.one()),
            }
        }));
    }
    let handle = pool.submit_batch(batch).unwrap();
    let progress = handle.wait().unwrap();
    assert_eq!((progress.completed, progress.failed), (34, 66));
    assert_eq!((counter.left(), results.left()), (0, 34 * 20));
    drop(handle);
    // The worker that ended the last one may still hold the batch for a moment.
    eventually(|| results.left() == 0);
}

#[test]
fn batch_that_was_never_submitted_drops_what_its_jobs_hold() {
    let counter = Counter::default();
    let mut batch = Batch::with_capacity(3);
    for _ in 0..3 {
        let one = counter.one();
        batch.add(Job::new(move |_| drop(one)));
    }
    assert_eq!((batch.len(), batch.is_empty()), (3, false));
    drop(batch);
    assert_eq!(counter.left(), 0);
}

#[test]
fn batch_without_jobs_has_ended() {
    let pool = pool(1);
    let handle = pool.submit_batch(Batch::default()).unwrap();
    assert!(handle.is_done() && handle.is_empty());
    assert_eq!(handle.wait().unwrap(), handle.progress());
    block_on(handle.done());
}

fn timings(of: Timings) -> (Duration, [Option<Duration>; 3], Duration) {
    (of.created, [of.ready, of.started, of.ended], of.execution)
}

#[test]
fn timings_tell_when_it_was_created_ready_started_and_ended() {
    let mut pool = simulated(1);
    pool.simulation().run_for(3 * MS);
    let cost = Duration::from_nanos(100);
    let mut batch = Batch::new();
    let first = batch.add(Job::new(|cx| cx.simulate(10 * MS)));
    let second = batch.add(Job::new(|cx| cx.simulate(4 * MS)).after(&first));
    let handle = pool.submit_batch(batch).unwrap();
    let (first, second) = (handle.job(first), handle.job(second));
    assert_eq!(
        timings(first.timings().unwrap()),
        (3 * MS, [Some(3 * MS), None, None], Duration::ZERO)
    );
    pool.simulation().run();
    let (start, ready) = (3 * MS, 13 * MS);
    let times = first.timings().unwrap();
    assert_eq!(timings(times), (start, [Some(start), Some(start), Some(ready)], 10 * MS));
    assert_eq!(times.waiting(), Some(Duration::ZERO));
    let times = second.timings().unwrap();
    let (started, ended) = (ready + cost, ready + cost + 4 * MS);
    assert_eq!(timings(times), (start, [Some(ready), Some(started), Some(ended)], 4 * MS));
    assert_eq!(times.waiting(), Some(cost));
}

#[test]
fn of_a_large_batch_one_job_in_64_is_timed_unless_all_are_asked_for() {
    let large = |timed: bool| {
        let mut batch = if timed { Batch::new().timed() } else { Batch::new() };
        let nodes: Vec<_> =
            (0..job::EXACT_MAX).map(|_| batch.add(Job::new(|cx| cx.simulate(MS)))).collect();
        let mut pool = simulated(4);
        let handle = pool.submit_batch(batch).unwrap();
        pool.simulation().run();
        let timed = |node| handle.job(node).timings().is_some();
        nodes.into_iter().map(timed).filter(|timed| *timed).count()
    };
    assert_eq!((large(false), large(true)), (job::EXACT_MAX / 64, job::EXACT_MAX));
}

#[test]
fn cancelled_before_it_starts_never_runs() {
    let mut pool = simulated(1);
    let counter = Counter::default();
    let one = counter.one();
    let job = pool.submit(Job::new(move |_| drop(one))).unwrap();
    assert!(job.cancel());
    pool.simulation().run();
    assert_eq!(job.status(), Status::Cancelled);
    assert_eq!(counter.left(), 0);
    assert!(!job.cancel(), "it has ended");
    assert_eq!(job.join(), Err(JobError::Cancelled));
    assert_eq!(pool.metrics().cancelled, 1);
}

#[test]
fn cancelled_while_it_runs_may_ask_for_it_and_completes_all_the_same() {
    let pool = pool(1);
    let ((tell, told), (go, wait)) = (channel(), mpsc::channel::<()>());
    let job = pool.submit(Job::new(move |cx| {
        tell.send(cx.cancelled()).unwrap();
        wait.recv().unwrap();
        cx.cancelled()
    }));
    let job = job.unwrap();
    assert!(!told.next());
    assert!(job.cancel());
    go.send(()).unwrap();
    assert_eq!(job.join(), Ok(true));
}

#[test]
fn cancelled_resumable_job_gets_no_further_turn() {
    let mut pool = simulated(1);
    let counter = Counter::default();
    let one = counter.one();
    let endless = Job::resumable(move |cx| {
        let _ = &one;
        cx.simulate(MS);
        Progress::<Result<(), Infallible>>::Continue
    });
    let job = pool.submit(endless).unwrap();
    pool.simulation().run_for(10 * MS);
    assert_eq!((job.status(), counter.left()), (Status::Running, 1));
    assert!(job.cancel());
    pool.simulation().run();
    assert_eq!((job.status(), counter.left()), (Status::Cancelled, 0));
}

#[test]
fn cancelled_batch_runs_nothing_that_has_not_started() {
    let pool = pool(1);
    let mut batch = Batch::new();
    let ((tell, told), (go, wait)) = (channel(), mpsc::channel::<()>());
    batch.add(Job::new(move |_| {
        tell.send(()).unwrap();
        wait.recv().unwrap();
    }));
    for _ in 0..100 {
        batch.add(Job::new(|_| panic!("it should not run")));
    }
    let handle: BatchHandle = pool.submit_batch(batch).unwrap();
    told.next();
    handle.cancel();
    go.send(()).unwrap();
    let progress = handle.wait().unwrap();
    assert_eq!((progress.completed, progress.cancelled), (1, 100));
    assert_eq!(&*handle.failures()[7].1, "it was cancelled");
    assert_eq!(handle.failures().len(), 100);
}

#[test]
fn waiting_inside_a_job_of_the_same_pool_is_refused_and_never_hangs() {
    let pool = pool(1);
    let shared = pool.share();
    let inside = pool.submit(Job::new(move |_| {
        let other = shared.submit(Job::new(|_| 7)).unwrap();
        let mut batch = Batch::new();
        batch.add(Job::new(|_| ()));
        let batch = shared.submit_batch(batch).unwrap();
        (other.wait(), batch.wait().map(drop), other.join())
    }));
    let refused = Err(Error::WouldBlock);
    assert_eq!(inside.unwrap().join(), Ok((refused.clone(), refused, Err(JobError::WouldBlock))));
    let done = pool.submit(Job::new(|_| 8)).unwrap();
    done.wait().unwrap();
    // What has ended is not waited for.
    assert_eq!(pool.submit(Job::new(move |_| done.join())).unwrap().join(), Ok(Ok(8)));
    let mut simulated = on_one().simulate(0).unwrap();
    let job = simulated.submit(Job::new(|_| 9)).unwrap();
    assert_eq!(job.wait(), Err(Error::WouldBlock), "nobody would run it meanwhile");
    simulated.simulation().run();
    assert_eq!(job.join(), Ok(9));
}

#[test]
fn waiting_inside_a_job_of_another_pool_works() {
    let (pool, other) = (pool(1), pool(1));
    let theirs = other.submit(Job::new(|_| 7)).unwrap();
    assert_eq!(pool.submit(Job::new(move |_| theirs.join())).unwrap().join(), Ok(Ok(7)));
}

#[test]
fn jobs_are_submitted_and_awaited_from_inside_jobs() {
    let pool = pool(1);
    let (shared, (tell, told)) = (pool.share(), channel());
    let outer = Job::new(move |_| {
        let inner = shared.submit(Job::new(|_| 7)).unwrap();
        let handle = shared.handle().clone();
        drop(handle.spawn(async move { tell.send(inner.await).unwrap() }).unwrap());
    });
    pool.submit(outer).unwrap().join().unwrap();
    assert_eq!(told.next(), Ok(7));
}

#[test]
fn chosen_ids_name_jobs_and_others_are_named_by_batch_and_index() {
    let pool = pool(1);
    let chosen = pool.submit(Job::new(|cx| cx.id()).id(JobId::new(42))).unwrap();
    assert_eq!(chosen.id().to_string(), "job 42");
    assert_eq!(chosen.join(), Ok(JobId::new(42)));
    let first = pool.submit(Job::new(|cx| cx.id())).unwrap();
    let id = first.id();
    assert_eq!((id.to_string(), id.is_chosen()), ("job #2.0".to_owned(), false));
    assert_eq!(first.join(), Ok(id));
}
