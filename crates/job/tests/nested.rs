//! What runs inside of a job's turn, a simulation or other jobs, and what the pool makes of it.

mod common;

use std::{convert::Infallible, time::Duration};

use common::{MS, PATIENCE, channel, on_one};
use job::{
    Batch, Context, Error, Executor, Job, JobError, JobHandle, JobRef, Pool, Progress, Status,
    WorkerStatus,
    transaction::{Address, Ledger, Transaction},
};

/// How a job comes to its turn.
#[derive(Debug, Clone, Copy)]
enum Way {
    Alone,
    InABatch,
    ByLevels,
    Resumable,
}

/// Each with each.
fn pairs() -> impl Iterator<Item = (Way, Way)> {
    let ways = [Way::Alone, Way::InABatch, Way::ByLevels, Way::Resumable];
    ways.into_iter().flat_map(move |outer| ways.map(|inner| (outer, inner)))
}

fn submit(
    pool: &Pool,
    way: Way,
    mut body: impl FnMut(&mut Context<'_, '_>) + Send + 'static,
) -> JobHandle<(), Infallible> {
    let mut batch = match way {
        Way::Alone => return pool.submit(Job::new(move |cx| body(cx))).unwrap(),
        Way::Resumable => {
            let turn = move |cx: &mut Context<'_, '_>| {
                body(cx);
                Progress::Done(Ok(()))
            };
            return pool.submit(Job::resumable(turn)).unwrap();
        }
        Way::InABatch => Batch::new(),
        Way::ByLevels => Batch::new().by_levels(),
    };
    let job = batch.add(Job::new(move |cx| body(cx)));
    pool.submit_batch(batch).unwrap().job(job)
}

/// One worker, which keeps what a job submits for itself: it runs inside of that job, where it joins.
fn one_that_nests() -> Pool {
    on_one().quantum(PATIENCE).build().unwrap()
}

/// Both halves of it.
fn join_beside(cx: &mut Context<'_, '_>, mut here: impl FnMut()) {
    cx.turn().join(|_| here(), |_| ());
}

/// The only worker of the outer pool would wait for itself.
#[test]
fn waiting_for_the_outer_pool_inside_of_a_nested_simulation_is_refused() {
    let pool = on_one().build().unwrap();
    let outer = pool.share();
    let (tell, told) = channel();
    let nests = Job::new(move |_| {
        let mut inner = on_one().simulate(1).unwrap();
        let waits = Job::new(move |_| {
            let job = || outer.submit(Job::new(|_| 1)).unwrap();
            let mut batch = Batch::new();
            batch.add(Job::new(|_| ()));
            let batch = outer.submit_batch(batch).unwrap();
            let mut ledger = Ledger::new();
            ledger.add(Transaction::new(Address::new([1; 20]), 0, ())).unwrap();
            let receipts = ledger.submit(&outer, &Executor::new(Ok::<(), String>)).unwrap();
            let refused = (job().wait(), job().join(), batch.wait(), receipts.join());
            tell.send(refused).unwrap();
        });
        drop(inner.submit(waits).unwrap());
        inner.simulation().run();
    });
    let nests = pool.submit(nests).unwrap();
    let (wait, join, batch, receipts) = told.next();
    assert_eq!((wait, join), (Err(Error::WouldBlock), Err(JobError::WouldBlock)));
    assert_eq!(batch, Err(Error::WouldBlock));
    assert!(matches!(receipts, Err(Error::WouldBlock)), "{receipts:?}");
    nests.join().unwrap();
    pool.shutdown();
}

/// What ran inside of its turn took the worker's seat, and left it empty.
#[test]
fn job_runs_while_others_run_inside_of_its_turn_and_after_them() {
    for (outer, inner) in pairs() {
        let pool = one_that_nests();
        let shared = pool.share();
        let ((give, given), (tell, told)) = (channel::<JobRef<(), Infallible>>(), channel());
        let ours = submit(&pool, outer, move |cx| {
            let ours = given.next();
            join_beside(cx, || {
                let (ours, tell, pool) = (ours.clone(), tell.clone(), shared.share());
                let look = move |_: &mut Context<'_, '_>| {
                    tell.send((ours.status() == Status::Running, pool.workers())).unwrap();
                };
                drop(submit(&shared, inner, look));
            });
            tell.send((ours.status() == Status::Running, shared.workers())).unwrap();
        });
        give.send(ours.share()).unwrap();
        let (runs, workers) = told.next();
        let [WorkerStatus::Busy { job, .. }] = workers[..] else { panic!("{workers:?}") };
        assert!(runs && job != ours.id(), "{outer:?}, {inner:?}: {job}");
        let (runs, workers) = told.next();
        ours.wait().unwrap();
        let since = ours.timings().unwrap().started;
        assert!(runs, "{outer:?}, {inner:?}");
        assert_eq!(workers, [WorkerStatus::Busy { job: ours.id(), since }], "{outer:?}, {inner:?}");
    }
}

#[test]
fn time_of_jobs_inside_of_a_turn_counts_for_them_only() {
    for (outer, inner) in pairs() {
        let pool = one_that_nests();
        let shared = pool.share();
        let (tell, told) = channel();
        let ours = submit(&pool, outer, move |cx| {
            join_beside(cx, || {
                let works = |cx: &mut Context<'_, '_>| {
                    let until = cx.now() + 2 * MS;
                    while cx.now() < until {}
                };
                tell.send(submit(&shared, inner, works)).unwrap();
            });
        });
        ours.wait().unwrap();
        let [ours, inside] = [ours, told.next()].map(|job| job.timings().unwrap());
        let lasted = ours.ended.unwrap() - ours.started.unwrap();
        assert!(inside.execution >= 2 * MS, "{inside:?}");
        assert!(ours.execution + inside.execution <= lasted, "{ours:?}, {inside:?}");
        assert_eq!(pool.metrics().execution_total, ours.execution + inside.execution);
    }
}

#[test]
fn pool_is_stopped_while_a_job_runs_inside_of_another_and_both_are_named() {
    let pool = one_that_nests();
    let shared = pool.share();
    let ((go, gate), (tell, told)) = (channel::<()>(), channel());
    let mut gate = Some(gate);
    let ours = submit(&pool, Way::Alone, move |cx| {
        join_beside(cx, || {
            let (gate, tell) = (gate.take().unwrap(), tell.clone());
            let waits = move |cx: &mut Context<'_, '_>| {
                tell.send(cx.id()).unwrap();
                gate.next();
            };
            drop(submit(&shared, Way::Alone, waits));
        });
    });
    let inside = told.next();
    let stopped = pool.shutdown_timeout(Duration::ZERO).unwrap_err();
    assert_eq!(stopped.running, [ours.id(), inside]);
    go.send(()).unwrap();
    ours.wait().unwrap();
}
