//! Is there room for a job, and does whoever waits for it get it?
#![allow(clippy::disallowed_methods, reason = "a test plays the outside world with real threads")]

mod common;

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, mpsc},
    task::{Context, Poll, Waker},
    thread,
    time::Duration,
};

use common::{Alarm, MS, block_on, channel, on_one, pool, worker};
use job::{Batch, Error, Job, JobId, Pool};

fn batch(jobs: usize) -> Batch {
    let mut batch = Batch::new();
    for _ in 0..jobs {
        batch.add(Job::new(|_| ()));
    }
    batch
}

/// A pool of one worker, which is busy until it is told, with room for one job less.
fn busy(capacity: usize) -> (Pool, mpsc::Sender<()>) {
    let pool = on_one().capacity(capacity).build().unwrap();
    let (go, wait) = mpsc::channel::<()>();
    drop(pool.submit(Job::new(move |_| wait.recv().unwrap())).unwrap());
    (pool, go)
}

#[test]
fn batch_without_room_is_refused_as_a_whole_and_comes_back() {
    let (pool, go) = busy(4);
    let refused = pool.submit_batch(batch(4)).unwrap_err();
    let (error, returned) = refused.into_parts();
    assert_eq!(error, Error::QueueFull { capacity: 4, queued: 1, wanted: 4 });
    assert_eq!(pool.metrics().scheduled, 1);
    assert_eq!(pool.metrics().queue_depth, 1);
    let fits = pool.submit_batch(batch(3)).unwrap();
    let refused = pool.submit(Job::new(|_| 7)).unwrap_err();
    assert_eq!(refused.error(), &Error::QueueFull { capacity: 4, queued: 4, wanted: 1 });
    let job = refused.into_parts().1;
    go.send(()).unwrap();
    fits.wait().unwrap();
    assert_eq!(pool.submit(job).unwrap().join(), Ok(7));
    let handle = pool.submit_batch(returned).unwrap();
    handle.wait().unwrap();
    assert_eq!(handle.progress().completed, 4);
    assert_eq!(pool.metrics().scheduled, 9);
}

#[test]
fn job_that_has_ended_leaves_its_room_at_once() {
    let pool = on_one().capacity(1).build().unwrap();
    for number in 0..2_000 {
        assert_eq!(pool.submit(Job::new(move |_| number)).unwrap().join(), Ok(number));
    }
    for _ in 0..200 {
        pool.submit_batch(batch(1)).unwrap().wait().unwrap();
    }
}

#[test]
fn batch_that_can_never_fit_is_refused_and_not_waited_for() {
    let (pool, go) = busy(4);
    let refused = block_on(pool.submit_batch_wait(batch(5))).unwrap_err();
    assert_eq!(refused.error(), &Error::QueueFull { capacity: 4, queued: 1, wanted: 5 });
    go.send(()).unwrap();
}

#[test]
fn submission_that_waits_is_refused_for_what_time_does_not_heal() {
    let (pool, go) = busy(1);
    // Found before room is asked for.
    let job = Job::new(|_| ()).priority(f64::NAN);
    assert!(matches!(
        block_on(pool.submit_wait(job)).unwrap_err().error(),
        Error::PriorityNotFinite { .. }
    ));
    go.send(()).unwrap();
    let unknown = Job::new(|_| 3).after_id(JobId::new(9));
    let refused = block_on(pool.submit_wait(unknown)).unwrap_err();
    assert_eq!(refused.error(), &Error::UnknownJob(JobId::new(9)));
}

#[test]
fn waiters_get_room_however_many_there_are() {
    for _ in 0..50 {
        let small = Pool::builder().workers(2).capacity(3).build().unwrap();
        let waiters: Vec<_> = (0..4)
            .map(|number| {
                let small = small.share();
                thread::spawn(move || {
                    for _ in 0..50 {
                        if number % 2 == 0 {
                            drop(block_on(small.submit_wait(Job::new(|_| ()))).unwrap());
                        } else {
                            drop(block_on(small.submit_batch_wait(batch(3))).unwrap());
                        }
                    }
                })
            })
            .collect();
        for waiter in waiters {
            waiter.join().unwrap();
        }
        small.shutdown();
    }
}

#[test]
fn room_is_made_in_virtual_time_too() {
    let mut pool = on_one().capacity(1).simulate(0).unwrap();
    let shared = pool.share();
    let first = pool.submit(Job::new(|cx| cx.simulate(10 * MS))).unwrap();
    let second = pool.simulation().block_on(async move {
        let second = shared.submit_wait(Job::new(|cx| cx.now())).await.unwrap();
        second.await.unwrap()
    });
    assert_eq!(second, Ok(10 * MS + Duration::from_nanos(100)));
    assert!(first.is_done());
}

#[test]
fn room_of_a_resumable_job_is_made_in_virtual_time_too() {
    let mut pool = on_one().capacity(1).simulate(0).unwrap();
    let shared = pool.share();
    let mut turns = 0;
    let slow = Job::resumable(move |cx| {
        cx.simulate(5 * MS);
        turns += 1;
        if turns == 3 { job::Progress::Done(Ok::<_, &str>(())) } else { job::Progress::Continue }
    });
    drop(pool.submit(slow).unwrap());
    let second = pool
        .simulation()
        .block_on(async move { shared.submit_wait(Job::new(|_| 7)).await.unwrap().await.unwrap() });
    assert_eq!(second, Ok(7));
}

/// Something that polls a submission when it is dropped: in the midst of another one.
struct PollsWhenDropped(Arc<Mutex<Option<Submission>>>, Waker);

type Submission = Pin<Box<dyn Future<Output = bool> + Send>>;

impl Drop for PollsWhenDropped {
    fn drop(&mut self) {
        let mut slot = self.0.lock().unwrap();
        let submission = slot.as_mut().expect("there is one");
        assert!(submission.as_mut().poll(&mut Context::from_waker(&self.1)).is_pending());
    }
}

#[test]
fn job_that_ends_at_its_submission_makes_room_for_who_waits() {
    let pool = on_one().capacity(1).build().unwrap();
    let bad = pool.submit(Job::fallible(|_| Err::<(), _>("bad"))).unwrap();
    bad.wait().unwrap();
    let shared = pool.share();
    let waits: Submission =
        Box::pin(async move { shared.submit_wait(Job::new(|_| ())).await.is_ok() });
    let (alarm, slot) = (Alarm::new(), Arc::new(Mutex::new(Some(waits))));
    let polls = PollsWhenDropped(slot.clone(), Waker::from(alarm.clone()));
    // It is doomed, and while its closure is dropped its place is still taken.
    let doomed = pool.submit(Job::new(move |_| drop(polls)).after(&bad)).unwrap();
    assert!(doomed.is_done());
    assert_eq!(alarm.rung(), 1);
    let waits = slot.lock().unwrap().take().unwrap();
    assert!(block_on(waits));
}

/// The first of a chain has ended, and its place is free, while its successor still runs.
#[test]
fn room_is_made_while_a_successor_runs_on_the_same_worker() {
    for _ in 0..100 {
        let pool = on_one().capacity(2).build().unwrap();
        let (go, wait) = mpsc::channel::<()>();
        let (more, waits) = mpsc::channel::<()>();
        let mut chain = Batch::new();
        let first = chain.add(Job::new(move |_| wait.recv().unwrap()));
        chain.add(Job::new(move |_| waits.recv().unwrap()).after(&first));
        let chain = pool.submit_batch(chain).unwrap();
        let mut submission = std::pin::pin!(pool.submit_wait(Job::new(|_| 7)));
        let alarm = Alarm::new();
        let waker = Waker::from(alarm.clone());
        assert!(submission.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        go.send(()).unwrap();
        let job = block_on(submission).unwrap();
        more.send(()).unwrap();
        assert_eq!(job.join(), Ok(7));
        chain.wait().unwrap();
    }
}

#[test]
fn submission_to_a_paused_pool_waits_until_a_worker_is_resumed() {
    for capacity in [1, usize::MAX] {
        let pool = Pool::builder().workers(2).capacity(capacity).build().unwrap();
        pool.pause();
        assert_eq!(pool.submit(Job::new(|_| ())).unwrap_err().error(), &Error::NoAvailableWorkers);
        let mut submission = Box::pin(pool.submit_wait(Job::new(|_| 7)));
        let alarm = Alarm::new();
        let waker = Waker::from(alarm.clone());
        assert!(submission.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        pool.resume_worker(worker(1)).unwrap();
        assert_eq!(alarm.rung(), 1);
        assert_eq!(block_on(submission).unwrap().join(), Ok(7));
    }
}

#[test]
fn workers_are_shut_down_while_a_submission_waits_and_the_last_one_runs_it() {
    let pool = pool(2);
    pool.pause();
    let mut submission = Box::pin(pool.submit_wait(Job::new(|_| 7)));
    let waker = Waker::from(Alarm::new());
    assert!(submission.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    pool.shutdown_worker(worker(0)).unwrap();
    assert_eq!(pool.shutdown_worker(worker(1)), Err(Error::LastWorker(worker(1))));
    pool.resume();
    assert_eq!(block_on(submission).unwrap().join(), Ok(7));
}

#[test]
fn pool_stops_while_submissions_wait_and_all_are_told() {
    for how in 0..3 {
        let (pool, go) = busy(1);
        let (tell, told) = channel();
        let (entered, enters) = channel();
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                let (pool, tell, entered) = (pool.share(), tell.clone(), entered.clone());
                thread::spawn(move || {
                    let mut submission = Box::pin(pool.submit_wait(Job::new(|_| 7)));
                    let mut first = Some(entered);
                    let refused = block_on(std::future::poll_fn(|context| {
                        let polled = submission.as_mut().poll(context);
                        if let (Poll::Pending, Some(entered)) = (&polled, first.take()) {
                            entered.send(()).unwrap();
                        }
                        polled
                    }));
                    let (error, job) = refused.map(drop).unwrap_err().into_parts();
                    tell.send(error).unwrap();
                    drop(job);
                })
            })
            .collect();
        for _ in 0..3 {
            enters.next();
        }
        match how {
            0 => drop(pool),
            1 => assert!(pool.shutdown_timeout(Duration::ZERO).is_err()),
            _ => {
                let shared = pool.share();
                let stopper = thread::spawn(move || pool.shutdown());
                common::eventually(|| shared.handle().refuses());
                go.send(()).unwrap();
                stopper.join().unwrap();
            }
        }
        for _ in 0..3 {
            assert_eq!(told.next(), Error::Stopped);
        }
        for waiter in waiters {
            waiter.join().unwrap();
        }
        let _ = go.send(());
    }
}

#[test]
fn submission_that_is_dropped_while_it_waits_takes_no_room() {
    let (pool, go) = busy(2);
    let kept = pool.submit(Job::new(|_| ())).unwrap();
    let counter = common::Counter::default();
    let one = counter.one();
    let mut submission = Box::pin(pool.submit_wait(Job::new(move |_| drop(one))));
    let waker = Waker::from(Alarm::new());
    assert!(submission.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(submission);
    assert_eq!(counter.left(), 0);
    go.send(()).unwrap();
    kept.wait().unwrap();
    let handle = pool.submit_batch(batch(2)).unwrap();
    handle.wait().unwrap();
    assert_eq!(handle.progress().completed, 2);
}
