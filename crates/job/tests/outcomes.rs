//! Who reads what a job has left behind, while another takes it away?
#![allow(clippy::disallowed_methods, reason = "a test plays the outside world with real threads")]

mod common;

use std::{convert::Infallible, fmt, sync::mpsc, thread};

use common::{Counted, Counter, channel, on_one, pool, simulated};
use job::{Batch, Job, JobError, JobHandle, JobId, OnFailure, Status};

fn failing() -> Result<(), String> {
    Err("no flour".to_owned())
}

#[test]
fn failure_that_was_taken_still_counts_as_a_failure() {
    let pool = pool(1);
    let mut batch = Batch::new();
    let bad = batch.add(Job::fallible(|_| failing()));
    let good = batch.add(Job::new(|_| 7));
    let handle = pool.submit_batch(batch).unwrap();
    handle.wait().unwrap();
    let id = {
        let bad = handle.job(bad);
        let id = bad.id();
        assert_eq!(bad.join(), Err(JobError::Failed("no flour".to_owned())));
        id
    };
    assert_eq!(handle.job(good).join(), Ok(7));
    let progress = handle.progress();
    assert_eq!((progress.completed, progress.failed, progress.cancelled), (1, 1, 0));
    let failures = handle.failures();
    assert_eq!(failures.len(), 1);
    assert_eq!((failures[0].0, &*failures[0].1), (id, "the job failed: no flour"));
}

#[test]
fn dependents_of_a_failure_that_was_taken_fail_too() {
    let pool = pool(2);
    let mut batch = Batch::new();
    let (go, wait) = mpsc::channel::<()>();
    let bad = batch.add(Job::fallible(|_| failing()).id(JobId::new(1)));
    batch.add(Job::new(move |_| wait.recv().unwrap()));
    let handle = pool.submit_batch(batch).unwrap();
    let bad = handle.job(bad);
    let outside = Job::new(|_| ()).after(&bad);
    assert!(bad.join().is_err());
    // Its batch has not ended, so it is known by its handle and by its id.
    let by_id = pool.submit(Job::new(|_| ()).after_id(JobId::new(1))).unwrap();
    let by_handle = pool.submit(outside).unwrap();
    for dependent in [by_id, by_handle] {
        let reason = "the job failed: no flour".into();
        assert_eq!(dependent.join(), Err(JobError::Predecessor { job: JobId::new(1), reason }));
    }
    go.send(()).unwrap();
    handle.wait().unwrap();
    let remembered = pool.submit(Job::new(|_| ()).after_id(JobId::new(1))).unwrap();
    assert!(matches!(remembered.join(), Err(JobError::Predecessor { .. })));
}

/// The error is read by nobody but its owner: not by the pool, which remembers how the job ended.
#[test]
fn failure_is_taken_while_the_pool_remembers_it() {
    let pool = pool(2);
    let counter = Counter::default();
    struct Flimsy(Counted, String);
    impl fmt::Display for Flimsy {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{:?} {}", self.0, self.1)
        }
    }
    for number in 0..2_000 {
        let one = counter.one();
        let job = Job::fallible(move |_| Err::<(), _>(Flimsy(one, number.to_string())));
        let handle = pool.submit(job.id(JobId::new(number))).unwrap();
        let Err(JobError::Failed(error)) = handle.join() else { panic!("it fails") };
        assert_eq!(error.1, number.to_string());
    }
    assert_eq!(counter.left(), 0);
}

#[test]
fn error_whose_text_asks_the_pool_for_a_job_does_not_lock_it_up() {
    struct Chatty(job::Pool);
    impl fmt::Display for Chatty {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let other = self.0.submit(Job::new(|_| ()).after_id(JobId::new(1)));
            write!(f, "{:?}", other.map(drop).map_err(|refused| refused.into_parts().0))
        }
    }
    let pool = pool(2);
    let chatty = Chatty(pool.share());
    let bad = pool.submit(Job::fallible(move |_| Err::<(), _>(chatty)).id(JobId::new(1))).unwrap();
    bad.wait().unwrap();
    let dependent = pool.submit(Job::new(|_| ()).after(&bad)).unwrap();
    let Err(JobError::Predecessor { reason, .. }) = dependent.join() else { panic!("it failed") };
    assert_eq!(&*reason, "the job failed: Ok(())");
}

#[test]
fn dependents_that_come_late_hear_where_it_began() {
    let pool = pool(1);
    let mut batch = Batch::new();
    let root = batch.add(Job::fallible(|_| failing()).id(JobId::new(1)));
    let middle = batch.add(Job::new(|_| ()).after(&root).id(JobId::new(2)));
    let handle = pool.submit_batch(batch).unwrap();
    handle.wait().unwrap();
    let middle = handle.job(middle);
    let expected = || {
        let reason = "the job failed: no flour".into();
        Err(JobError::<Infallible>::Predecessor { job: JobId::new(1), reason })
    };
    let by_handle = pool.submit(Job::new(|_| ()).after(&middle)).unwrap();
    assert_eq!(by_handle.join(), expected());
    let by_id = pool.submit(Job::new(|_| ()).after_id(JobId::new(2))).unwrap();
    assert_eq!(by_id.join(), expected());
    assert_eq!(middle.join(), expected());
}

/// A result that has no dependents is its owner's alone, who may take it at any time.
#[test]
fn job_that_is_no_predecessor_is_not_read() {
    let pool = pool(1);
    let mut batch = Batch::new();
    let first = batch.add(Job::new(|_| "mine".to_owned()));
    let (name, (go, wait)) = (first.dep(), mpsc::channel::<JobHandle<String, Infallible>>());
    let second = batch.add(Job::new(move |cx| {
        let first = wait.recv().unwrap();
        let seen = cx.get(name);
        let taken = first.join();
        (seen.cloned(), taken)
    }));
    let handle = pool.submit_batch(batch).unwrap();
    let first = handle.job(first);
    first.wait().unwrap();
    go.send(first).unwrap();
    assert_eq!(handle.job(second).join(), Ok((None, Ok("mine".to_owned()))));
}

#[test]
fn result_with_dependents_is_taken_when_the_batch_has_ended() {
    let pool = pool(1);
    let mut batch = Batch::new();
    let first = batch.add(Job::new(|_| "ours".to_owned()));
    let name = first.dep();
    let (go, wait) = mpsc::channel::<()>();
    let second = batch.add(
        Job::new(move |cx| {
            wait.recv().unwrap();
            cx.get(name).cloned()
        })
        .after(&first),
    );
    let handle = pool.submit_batch(batch).unwrap();
    let first = handle.job(first);
    first.wait().unwrap();
    assert_eq!(first.status(), Status::Completed(&"ours".to_owned()));
    let (tell, told) = channel();
    let taker = thread::spawn(move || tell.send(first.join()).unwrap());
    assert!(told.all().is_empty());
    go.send(()).unwrap();
    assert_eq!(told.next(), Ok("ours".to_owned()));
    assert_eq!(handle.job(second).join(), Ok(Some("ours".to_owned())));
    taker.join().unwrap();
}

#[test]
fn jobs_of_a_cancelled_batch_are_cancelled_whether_they_were_ready_or_waited() {
    let mut pool = simulated(1);
    let mut batch = Batch::new();
    let first = batch.add(Job::new(|_| ()));
    let second = batch.add(Job::new(|_| ()).after(&first));
    let third = batch.add(Job::new(|_| ()).after(&second));
    let handle = pool.submit_batch(batch).unwrap();
    let outside = pool.submit(Job::new(|_| ()).after(&handle.job(third))).unwrap();
    handle.cancel();
    pool.simulation().run();
    assert_eq!(handle.progress().cancelled, 3);
    assert_eq!(handle.job(second).status(), Status::Cancelled);
    assert!(matches!(outside.join(), Err(JobError::Predecessor { .. })));
}

#[test]
fn waiting_job_that_is_cancelled_is_cancelled_though_its_predecessor_fails() {
    for on_failure in [OnFailure::FailDependents, OnFailure::RunDependents] {
        let mut pool = on_one().simulate(0).unwrap();
        let mut batch = Batch::new().on_failure(on_failure);
        let bad = batch.add(Job::fallible(|_| failing()));
        let waits = batch.add(Job::new(|_| ()).after(&bad));
        let handle = pool.submit_batch(batch).unwrap();
        let waits = handle.job(waits);
        assert!(waits.cancel());
        pool.simulation().run();
        assert_eq!(waits.status(), Status::Cancelled);
        assert!(!waits.cancel());
    }
}
