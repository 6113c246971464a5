//! Is every job released, told of and accounted for, in thousands of random schedules?
//!
//! Each schedule builds a pool of two workers. A job or a waiter that is forgotten shows as a
//! deadlock, which shuttle reports with the schedule. `SHIFTWORK_SCHEDULES` sets the number of
//! schedules per test and scheduler.
#![cfg(shuttle)]

#[path = "shuttle/random.rs"]
mod random;

use std::convert::Infallible;

use job::{Batch, Error, Job, JobError, JobId, Pool, Progress};
use shuttle::{
    Config, MaxSteps, Runner,
    scheduler::{PctScheduler, RandomScheduler},
    sync::mpsc::{Sender, channel},
};

const DEPTH: usize = 4;
const STEPS_MAX: usize = 100_000;

fn check(world: impl Fn() + Send + Sync + Copy + 'static) {
    let text = std::env::var("SHIFTWORK_SCHEDULES");
    let schedules = text.map_or(1000, |text| text.parse().expect("SHIFTWORK_SCHEDULES: a number"));
    let mut config = Config::new();
    config.stack_size = 0x20000;
    config.silence_warnings = true;
    config.max_steps = MaxSteps::FailAfter(STEPS_MAX);
    Runner::new(RandomScheduler::new(schedules), config.clone()).run(world);
    Runner::new(PctScheduler::new(DEPTH, schedules), config).run(world);
}

fn pool() -> Pool {
    Pool::builder().workers(2).build().unwrap()
}

/// Tells when it is dropped.
struct Tell(Sender<()>);

impl Drop for Tell {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[test]
fn dependent_in_another_batch_comes_while_its_predecessor_ends_and_runs() {
    check(|| {
        let pool = pool();
        let (tell, told) = channel();
        let mut before = Batch::new();
        let first = before.add(Job::new(|_| 7).id(JobId::new(1)));
        let second = before.add(Job::new(|_| 8));
        let before = pool.submit_batch(before).unwrap();
        let (first, second) = (before.job(first).share(), before.job(second).share());
        let (one, two) = (first.clone(), second.clone());
        let dependent = Job::new(move |_| {
            let sum = one.result().unwrap().unwrap() + two.result().unwrap().unwrap();
            tell.send(sum).unwrap();
        });
        let dependent = dependent.after(&first).after(&second).after_id(JobId::new(1));
        drop(pool.submit(dependent).unwrap());
        assert_eq!(told.recv().unwrap(), 15);
        pool.shutdown();
    });
}

#[test]
fn dependent_in_another_batch_comes_while_its_predecessor_fails_and_hears_of_it() {
    check(|| {
        let pool = pool();
        let (tell, told) = channel();
        let bad = pool.submit(Job::fallible(|_| Err::<(), _>("bad")).id(JobId::new(1))).unwrap();
        let fine = pool.submit(Job::new(|_| ())).unwrap();
        let dependent = pool.submit(Job::new(|_| ()).after(&fine).after(&bad)).unwrap();
        // The failure is taken away meanwhile.
        let taken = pool.handle().spawn(bad).unwrap();
        let by_id = pool.submit(Job::new(|_| ()).after_id(JobId::new(1))).unwrap();
        for job in [dependent, by_id] {
            let tell = tell.clone();
            drop(pool.handle().spawn(async move { tell.send(job.await).unwrap() }).unwrap());
        }
        for _ in 0..2 {
            let Err(JobError::Predecessor { job, reason }) = told.recv().unwrap() else {
                panic!("it should have failed")
            };
            assert_eq!((job, &*reason), (JobId::new(1), "the job failed: bad"));
        }
        drop(taken);
        pool.shutdown();
    });
}

#[test]
fn who_waits_for_a_job_or_its_batch_while_it_ends_is_told() {
    check(|| {
        let pool = pool();
        let (tell, told) = channel();
        let mut batch = Batch::new();
        let first = batch.add(Job::new(|_| 1));
        let name = first.dep();
        let second = batch.add(Job::new(move |cx| cx.get(name).unwrap() + 1).after(&first));
        let handle = pool.submit_batch(batch).unwrap();
        // The first has a dependent, so its result comes with the end of the batch.
        for job in [handle.job(first), handle.job(second)] {
            let tell = tell.clone();
            drop(pool.handle().spawn(async move { tell.send(job.await).unwrap() }).unwrap());
        }
        let end = async move {
            handle.done().await;
            tell.send(Ok(handle.progress().completed as i32 * 100)).unwrap();
        };
        drop(pool.handle().spawn(end).unwrap());
        let mut results: Vec<i32> = (0..3).map(|_| told.recv().unwrap().unwrap()).collect();
        results.sort();
        assert_eq!(results, [1, 2, 200]);
        pool.shutdown();
    });
}

#[test]
fn last_of_several_predecessors_on_several_workers_releases_once() {
    check(|| {
        let pool = pool();
        let (tell, told) = channel();
        let mut batch = Batch::new();
        let resumes = batch.add(Job::resumable(|_| Progress::Done(Ok::<_, Infallible>(1))));
        let plain = [batch.add(Job::new(|_| 2)), batch.add(Job::new(|_| 3))];
        let (a, b, c) = (resumes.dep(), plain[0].dep(), plain[1].dep());
        let sum = Job::new(move |cx| {
            tell.send(cx.get(a).unwrap() + cx.get(b).unwrap() + cx.get(c).unwrap()).unwrap();
        });
        batch.add(sum.after(&resumes).after(&plain[0]).after(&plain[1]));
        drop(pool.submit_batch(batch).unwrap());
        assert_eq!(told.recv().unwrap(), 6);
        pool.shutdown();
        assert!(told.recv().is_err(), "it ran once");
    });
}

#[test]
fn submissions_that_wait_for_room_are_all_served() {
    check(|| {
        let pool = Pool::builder().workers(2).capacity(1).build().unwrap();
        let (tell, told) = channel();
        for number in 0..2 {
            let (shared, tell) = (pool.share(), tell.clone());
            let submit = async move {
                for round in 0..2 {
                    let tell = tell.clone();
                    let job = Job::new(move |_| tell.send(2 * number + round).unwrap());
                    drop(shared.submit_wait(job).await.unwrap());
                }
            };
            drop(pool.handle().spawn(submit).unwrap());
        }
        let mut seen: Vec<i32> = (0..4).map(|_| told.recv().unwrap()).collect();
        seen.sort();
        assert_eq!(seen, [0, 1, 2, 3]);
        pool.shutdown();
    });
}

#[test]
fn submission_that_waits_for_a_worker_goes_on_when_one_is_resumed() {
    check(|| {
        let pool = pool();
        let other = kernel::Runtime::builder().workers(1).build().unwrap();
        pool.pause();
        let (shared, (tell, told)) = (pool.share(), channel());
        let submit = async move {
            let job = shared.submit_wait(Job::new(|_| 7)).await.unwrap();
            tell.send(job.await.unwrap()).unwrap();
        };
        drop(other.spawn(submit).unwrap());
        pool.resume();
        assert_eq!(told.recv().unwrap(), 7);
        other.shutdown();
        pool.shutdown();
    });
}

#[test]
fn pool_that_is_dropped_while_jobs_run_ends_all_of_them() {
    check(|| {
        let pool = pool();
        let (tell, told) = channel();
        let job = || {
            let tell = Tell(tell.clone());
            Job::new(move |_| drop(tell))
        };
        let mut batch = Batch::new();
        let first = batch.add(job());
        batch.add(job().after(&first));
        let handle = pool.submit_batch(batch).unwrap();
        let outside = pool.submit(job().after(&handle.job(first))).unwrap();
        let tell = Tell(tell.clone());
        let resumes = Job::resumable(move |_| {
            let _ = &tell;
            Progress::Done(Ok::<_, Infallible>(()))
        });
        drop(pool.submit(resumes).unwrap());
        drop(outside);
        drop(pool);
        for _ in 0..4 {
            told.recv().unwrap();
        }
    });
}

#[test]
fn pool_is_dropped_while_submissions_wait_and_they_are_told() {
    check(|| {
        let pool = Pool::builder().workers(2).capacity(1).build().unwrap();
        let other = kernel::Runtime::builder().workers(1).build().unwrap();
        let (tell, told) = channel();
        for _ in 0..2 {
            let (shared, tell) = (pool.share(), tell.clone());
            let submit = async move {
                let result = shared.submit_wait(Job::new(|_| ())).await;
                tell.send(result.map(drop).map_err(|refused| refused.into_parts().0)).unwrap();
            };
            drop(other.spawn(submit).unwrap());
        }
        drop(pool);
        for _ in 0..2 {
            assert!(matches!(told.recv().unwrap(), Ok(()) | Err(Error::Stopped)));
        }
        other.shutdown();
    });
}

#[test]
fn cancelled_while_it_may_run_ends_once_with_its_dependents() {
    check(|| {
        let pool = pool();
        let (tell, told) = channel();
        let mut batch = Batch::new();
        let first = batch.add(Job::new(|_| 7));
        let second = batch.add(Job::new(|_| ()).after(&first));
        let handle = pool.submit_batch(batch).unwrap();
        let (first, second) = (handle.job(first), handle.job(second));
        first.cancel();
        let end = async move {
            handle.done().await;
            let progress = handle.progress();
            tell.send((progress, first.await.is_ok(), second.await.is_ok())).unwrap();
        };
        drop(pool.handle().spawn(end).unwrap());
        let (progress, first, second) = told.recv().unwrap();
        assert_eq!((progress.ended(), first), (2, second));
        assert_eq!(progress.cancelled, usize::from(!first));
        pool.shutdown();
    });
}
