//! What jobs that panic, submit, wait or stop their own pool may not do to others.
#![allow(clippy::disallowed_methods, reason = "a test plays the outside world with real threads")]

mod common;

use std::{
    convert::Infallible,
    fmt,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
        mpsc,
    },
    task::{Context, Wake, Waker},
    thread,
    time::Duration,
};

use common::{Counter, MS, block_on, channel, eventually, on_one, pool};
use job::{
    Batch, Error, Executor, Job, JobError, JobId, Node, OnFailure, Policy, Pool, Progress, Status,
    TypedBatch,
};

use kernel::{Discipline, Placement, Runtime};

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

struct ErrorPanicsWhenDropped(#[allow(dead_code, reason = "it is dropped")] PanicsWhenDropped);

impl fmt::Display for ErrorPanicsWhenDropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no water")
    }
}

struct PanicsWhenShown;

impl fmt::Display for PanicsWhenShown {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("shown");
    }
}

#[test]
fn panic_in_a_job_fails_it_alone_and_its_dependents() {
    let pool = pool(1);
    let mut batch = Batch::new();
    let bad = batch.add(Job::new(|_| panic!("no water")));
    let dependent = batch.add(Job::new(|_| ()).after(&bad));
    let other = batch.add(Job::new(|_| 7));
    let handle = pool.submit_batch(batch).unwrap();
    assert_eq!(handle.job(other).join(), Ok(7));
    let Err(JobError::Predecessor { reason, .. }) = handle.job(dependent).join() else { panic!() };
    assert_eq!(&*reason, "the job panicked: no water");
}

#[test]
fn panic_with_any_payload_is_a_failure() {
    let pool = pool(1);
    let odd = pool.submit(Job::new(|_| std::panic::panic_any(7u32))).unwrap();
    assert_eq!(odd.join(), Err::<(), _>(JobError::Panicked("a panic without a text".into())));
    let worse = pool.submit(Job::new(|_| std::panic::panic_any(PanicsWhenDropped))).unwrap();
    assert!(matches!(worse.join(), Err::<(), _>(JobError::Panicked(_))));
    assert_eq!(pool.compute(|| 7).unwrap().join(), Ok(7));
}

#[test]
fn panic_while_a_payload_is_dropped_fails_its_job_alone() {
    let pool = pool(1);
    let held = PanicsWhenDropped;
    let job = pool.submit(Job::new(move |_| drop(held))).unwrap();
    assert_eq!(job.join(), Err(JobError::Panicked("dropped".to_owned())));
    let executor = Executor::new(|_: PanicsWhenDropped| Ok::<_, Infallible>(()));
    let job = pool.submit(executor.job(PanicsWhenDropped)).unwrap();
    assert_eq!(job.join(), Err(JobError::Panicked("dropped".to_owned())));
    // Of a job that does not run.
    let bad = pool.submit(Job::fallible(|_| Err::<(), _>("bad"))).unwrap();
    let held = PanicsWhenDropped;
    let dependent = pool.submit(Job::new(move |_| drop(held)).after(&bad)).unwrap();
    assert!(matches!(dependent.join(), Err(JobError::Predecessor { .. })));
    // Of a result that nobody collects.
    let result = pool.submit(Job::new(|_| PanicsWhenDropped)).unwrap();
    result.wait().unwrap();
    drop(result);
    // Of a batch that is never submitted.
    let mut batch = Batch::new();
    let held = PanicsWhenDropped;
    batch.add(Job::new(move |_| drop(held)));
    drop(batch);
    assert_eq!(pool.compute(|| 7).unwrap().join(), Ok(7));
}

/// The batch that a worker drops last takes its executor along, while the worker still has to end
/// a job of another batch.
#[test]
fn panic_while_an_executor_is_dropped_keeps_nobody_else_waiting() {
    let pool = pool(1);
    let (go, gate) = mpsc::channel::<()>();
    let failing = Job::fallible(move |_| gate.recv().map_err(|_| "no water"));
    let first = pool.submit(failing).unwrap();
    let dependent = || {
        let held = PanicsWhenDropped;
        let mut batch = TypedBatch::new(move |(), _| {
            let _ = &held;
            Ok::<_, Infallible>(())
        });
        let job = batch.add(());
        batch.depend(&job, &first);
        pool.submit_batch(batch.into()).unwrap()
    };
    let waits = dependent();
    drop(dependent());
    drop(go);
    eventually(|| waits.is_done());
    assert_eq!(waits.progress().failed, 1);
}

#[test]
fn panic_while_an_error_is_dropped_keeps_nobody_waiting_for_room() {
    let pool = on_one().capacity(1).build().unwrap();
    let (go, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let mut batch = TypedBatch::new(move |(), _| {
        gate.lock().unwrap().next();
        Err::<(), _>(ErrorPanicsWhenDropped(PanicsWhenDropped))
    });
    let _ = batch.add(());
    drop(pool.submit_batch(batch.into()).unwrap());
    let (send, told) = channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut waits = pin!(pool.submit_wait(Job::new(|_| 7)));
            let mut polls = 0;
            let job = block_on(poll_fn(|context| {
                let polled = waits.as_mut().poll(context);
                polls += 1;
                if polls == 1 {
                    assert!(polled.is_pending());
                    go.send(()).unwrap();
                }
                polled
            }));
            send.send(job.unwrap().join()).unwrap();
        });
        assert_eq!(told.next(), Ok(7));
    });
}

#[test]
fn panic_in_the_text_of_an_error_is_the_reason_then() {
    let pool = pool(1);
    let mut events = pool.events();
    let bad = pool.submit(Job::fallible(|_| Err::<(), _>(PanicsWhenShown))).unwrap();
    let dependent = pool.submit(Job::new(|_| ()).after(&bad)).unwrap();
    let Err(JobError::Predecessor { reason, .. }) = dependent.join() else { panic!() };
    assert_eq!(&*reason, "shown");
    assert!(matches!(bad.join(), Err(JobError::Failed(PanicsWhenShown))));
    assert!(events.any(|event| matches!(event, job::Event::JobFailed { .. })));
}

#[test]
fn panic_in_a_turn_of_a_resumable_job_is_its_end() {
    let pool = pool(1);
    let mut turns = 0;
    let job = pool.submit(Job::resumable(move |_| {
        turns += 1;
        assert!(turns < 3, "turn {turns}");
        Progress::<Result<(), Infallible>>::Continue
    }));
    assert_eq!(job.unwrap().join(), Err(JobError::Panicked("turn 3".to_owned())));
}

#[test]
fn waker_that_panics_keeps_nobody_else_waiting() {
    struct Bomb;
    impl Wake for Bomb {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics");
        }
    }
    let pool = on_one().capacity(1).build().unwrap();
    let (go, wait) = mpsc::channel::<()>();
    let mut job = Box::pin(pool.submit(Job::new(move |_| wait.recv().unwrap())).unwrap());
    let bomb = Waker::from(Arc::new(Bomb));
    let mut context = Context::from_waker(&bomb);
    let mut room = Box::pin(pool.submit_wait(Job::new(|_| 7)));
    assert!(Future::poll(job.as_mut(), &mut context).is_pending());
    assert!(Future::poll(room.as_mut(), &mut context).is_pending());
    let shared = pool.share();
    let other = thread::spawn(move || block_on(shared.submit_wait(Job::new(|_| 8))).unwrap());
    go.send(()).unwrap();
    assert_eq!(other.join().unwrap().join(), Ok(8));
    assert_eq!(block_on(job), Ok(()));
    assert_eq!(block_on(room).unwrap().join(), Ok(7));
}

#[test]
fn estimates_of_nothing_and_of_ages_are_taken() {
    for policy in
        [Policy::ShortestFirst, Policy::MultilevelFeedback { queue_count: 3, time_slice: MS }]
    {
        let pool = on_one().policy(policy).build().unwrap();
        for estimate in [Duration::ZERO, Duration::MAX, Duration::from_secs(u64::MAX)] {
            let class = job::Class::new(1);
            let job = Job::new(|_| 7).estimate(estimate).class(class).deadline(estimate);
            assert_eq!(pool.submit(job).unwrap().join(), Ok(7));
        }
        assert!(pool.metrics().estimate_error_average.is_some());
    }
}

/// A tree of jobs that each submit two more.
#[test]
fn jobs_submit_jobs_that_submit_jobs() {
    fn grow(pool: &Arc<Pool>, depth: u32, leaves: &Arc<AtomicU32>) {
        if depth == 0 {
            leaves.fetch_add(1, Relaxed);
            return;
        }
        for _ in 0..2 {
            let (shared, leaves) = (pool.clone(), leaves.clone());
            drop(pool.submit(Job::new(move |_| grow(&shared, depth - 1, &leaves))).unwrap());
        }
    }
    let pool = pool(2);
    let leaves = Arc::new(AtomicU32::new(0));
    grow(&Arc::new(pool.share()), 12, &leaves);
    // Shutting down waits for all that they submit.
    pool.shutdown();
    assert_eq!(leaves.load(Relaxed), 1 << 12);
}

#[test]
fn job_that_fills_the_queue_from_inside_is_refused_and_not_blocked() {
    let pool = on_one().capacity(3).build().unwrap();
    let shared = pool.share();
    let greedy = pool.submit(Job::new(move |_| {
        let taken = (0..10).map_while(|_| shared.submit(Job::new(|_| ())).ok()).count();
        let full = shared.submit(Job::new(|_| ())).unwrap_err().into_parts().0;
        (taken, full)
    }));
    let full = Error::QueueFull { capacity: 3, queued: 3, wanted: 1 };
    assert_eq!(greedy.unwrap().join(), Ok((2, full)));
}

/// A pool whose one worker is busy, with jobs in line, waiting for others, and resumable.
struct Crowd {
    pool: Pool,
    go: mpsc::Sender<()>,
    running: job::JobHandle<(), Infallible>,
    waiting: Vec<job::JobHandle<(), Infallible>>,
    counter: Counter,
}

fn crowd() -> Crowd {
    let pool = pool(1);
    let counter = Counter::default();
    let ((started, starts), (go, wait)) = (channel(), mpsc::channel::<()>());
    let running = Job::new(move |_| {
        started.send(()).unwrap();
        // The test may be over.
        let _ = wait.recv();
    });
    let running = pool.submit(running).unwrap();
    starts.next();
    let mut batch = Batch::new().on_failure(OnFailure::RunDependents);
    let job = || {
        let one = counter.one();
        Job::new(move |_| drop(one))
    };
    let first = batch.add(job());
    let nodes = [batch.add(job().after(&first)), batch.add(job().after(&running)), first];
    let handle = pool.submit_batch(batch).unwrap();
    let mut waiting: Vec<_> = nodes.into_iter().map(|node| handle.job(node)).collect();
    let one = counter.one();
    waiting.push(
        pool.submit(Job::resumable(move |_| {
            let _ = &one;
            Progress::Done(Ok(()))
        }))
        .unwrap(),
    );
    waiting.push(pool.submit(job().after(&waiting[0])).unwrap());
    Crowd { pool, go, running, waiting, counter }
}

#[test]
fn pool_is_dropped_and_everyone_who_waits_is_told() {
    for _ in 0..20 {
        let Crowd { pool, go, running, waiting, counter } = crowd();
        let waiters: Vec<_> = waiting
            .into_iter()
            .map(|job| thread::spawn(move || (job.wait().unwrap(), job.join()).1))
            .collect();
        drop(pool);
        go.send(()).unwrap();
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap(), Err(JobError::Stopped));
        }
        assert_eq!(running.join(), Ok(()), "it was not interrupted");
        eventually(|| counter.left() == 0);
    }
}

#[test]
fn pool_is_shut_down_and_all_that_waits_runs() {
    let Crowd { pool, go, running, waiting, counter } = crowd();
    let shared = pool.share();
    let stopper = thread::spawn(move || pool.shutdown());
    eventually(|| shared.handle().refuses());
    assert_eq!(shared.submit(Job::new(|_| ())).unwrap_err().error(), &Error::Stopped);
    go.send(()).unwrap();
    stopper.join().unwrap();
    for job in waiting.into_iter().chain([running]) {
        assert_eq!(job.join(), Ok(()));
    }
    assert_eq!(counter.left(), 0);
}

#[test]
fn pool_is_shut_down_with_paused_workers_and_all_that_waits_runs() {
    let pool = on_one().accept_while_paused().build().unwrap();
    pool.pause();
    let job = pool.submit(Job::new(|_| 7)).unwrap();
    pool.shutdown();
    assert_eq!(job.join(), Ok(7));
}

#[test]
fn deadline_of_a_shutdown_passes_and_who_waits_is_told_and_who_runs_is_named() {
    let Crowd { pool, go, running, waiting, counter } = crowd();
    let id = running.id();
    let late = pool.shutdown_timeout(Duration::ZERO).unwrap_err();
    assert_eq!((late.timeout, late.running), (Duration::ZERO, vec![id]));
    assert_eq!(running.status(), Status::Running);
    go.send(()).unwrap();
    for job in waiting {
        assert_eq!(job.join(), Err(JobError::Stopped));
    }
    assert_eq!(running.join(), Ok(()));
    eventually(|| counter.left() == 0);
    assert!(self::pool(1).shutdown_timeout(Duration::from_secs(60)).is_ok());
}

#[test]
fn pool_is_dropped_or_shut_down_from_inside_one_of_its_jobs() {
    for how in 0..3 {
        let pool = pool(2);
        let (shared, (tell, told)) = (pool.share(), channel());
        let mut batch = Batch::new();
        let last = batch.add(Job::new(move |_| {
            match how {
                0 => drop(pool),
                1 => pool.shutdown(),
                _ => drop(pool.shutdown_timeout(Duration::from_secs(60))),
            }
            tell.send(()).unwrap();
            7
        }));
        let after = batch.add(Job::new(|_| 8).after(&last));
        let handle = shared.submit_batch(batch).unwrap();
        told.next();
        let (last, after) = (handle.job(last), handle.job(after));
        handle.wait().unwrap();
        assert_eq!(last.join(), Ok(7));
        assert_eq!(after.join(), if how == 1 { Ok(8) } else { Err(JobError::Stopped) });
    }
}

#[test]
fn simulation_is_dropped_in_the_middle_and_everyone_is_told() {
    let mut pool = Pool::builder().workers(2).policy(Policy::Fcfs).simulate(1).unwrap();
    let mut batch = Batch::new();
    let runs = batch.add(Job::new(|cx| cx.simulate(10 * MS)));
    let fails = batch.add(Job::fallible(|cx| {
        cx.simulate(10 * MS);
        Err::<(), _>("bad")
    }));
    let waits = batch.add(Job::new(|_| ()).after(&runs));
    let ready = batch.add(Job::new(|_| ()));
    let handle = pool.submit_batch(batch).unwrap();
    pool.simulation().run_for(5 * MS);
    drop(pool);
    assert!(handle.is_done());
    let (waits, ready, fails) = (handle.job(waits), handle.job(ready), handle.job(fails));
    assert_eq!((waits.status(), ready.status()), (Status::Cancelled, Status::Cancelled));
    assert_eq!(waits.join(), Err(JobError::Stopped));
    assert!(matches!(fails.status(), Status::Failed(_)));
    assert_eq!(handle.failures().len(), 3);
}

/// Against a job that is lost since it was popped while no worker was free.
#[test]
fn no_job_is_lost_while_workers_are_paused_and_resumed() {
    let pool = pool(2);
    let mut handles = Vec::new();
    for round in 0..200 {
        let mut batch = Batch::new();
        for _ in 0..20 {
            batch.add(Job::new(|_| ()));
        }
        handles.push(pool.submit_batch(batch).unwrap());
        let worker = common::worker(round % 2);
        pool.pause_worker(worker).unwrap();
        drop(pool.submit(Job::new(|_| ())).unwrap());
        pool.resume_worker(worker).unwrap();
    }
    for handle in handles {
        assert_eq!(handle.wait().unwrap().completed, 20);
    }
    eventually(|| pool.metrics().completed == 200 * 21);
}

/// An affinity that panics the next time that it is asked after the flag was raised.
fn affinity_that_panics() -> (Arc<AtomicBool>, Placement) {
    let armed = Arc::new(AtomicBool::new(false));
    let asked = armed.clone();
    let placement = Placement::affinity(move |_| {
        assert!(!asked.swap(false, Relaxed), "the affinity panics");
        None
    });
    (armed, placement)
}

/// On a runtime with an affinity of its own, placing an entry calls foreign code: also while a job
/// releases others. Jobs that were lost there would be looked at when the runtime is gone.
#[test]
fn affinity_of_the_runtime_panics_while_successors_are_released_and_all_jobs_end() {
    for discipline in [Discipline::Fifo, Discipline::Stealing] {
        let (armed, placement) = affinity_that_panics();
        let builder = Runtime::builder().workers(1).discipline(discipline).placement(placement);
        let runtime = builder.build().unwrap();
        let pool = Pool::on(&runtime.handle());
        let mut batch = Batch::new();
        let first = batch.add(Job::new(move |_| armed.store(true, Relaxed)));
        for _ in 0..200 {
            batch.add(Job::new(|_| ()).after(&first));
        }
        let handle = pool.submit_batch(batch).unwrap();
        runtime.shutdown();
        assert!(handle.is_done(), "{discipline:?}: {:?}", handle.progress());
        assert!(handle.progress().completed >= 200, "{discipline:?}: {:?}", handle.progress());
    }
}

#[test]
fn affinity_of_the_runtime_panics_while_a_batch_is_submitted_and_all_jobs_end() {
    let (armed, placement) = affinity_that_panics();
    let builder = Runtime::builder().workers(1).discipline(Discipline::Fifo).placement(placement);
    let mut simulation = builder.simulate(1).unwrap();
    let pool = Pool::on(&simulation.handle());
    let mut batch = Batch::new();
    batch.add(Job::new(|_| 1));
    batch.add(Job::new(|_| 2).id(JobId::new(7)));
    armed.store(true, Relaxed);
    let handle = pool.submit_batch(batch).unwrap();
    let waits = pool.submit(Job::new(|_| 3).after_id(JobId::new(7))).unwrap();
    simulation.run();
    assert!(handle.is_done());
    assert!(matches!(waits.status(), Status::Completed(3)), "{:?}", waits.status());
}

/// Eight jobs of which the first waits for the others by a channel. Only a guard against hanging is
/// timed.
fn first_waits_for_seven_others(batch: &mut Batch, after: Option<&Node<(), Infallible>>) {
    let (send, told) = mpsc::channel();
    let told = Mutex::new(told);
    let waits = Job::new(move |_| {
        let told = told.lock().unwrap();
        let hears = |_| told.recv_timeout(Duration::from_secs(60)).expect("another worker is free");
        (0..7).for_each(hears);
    });
    let others = (0..7).map(|_| {
        let send = send.clone();
        Job::new(move |_| send.send(()).unwrap())
    });
    let of = |node: &Node<(), Infallible>| node.dep();
    let mut nodes = vec![batch.add(waits)];
    for other in others {
        // So that they are no neighbours.
        batch.add(Job::new(|_| ()));
        nodes.push(batch.add(other));
    }
    for node in nodes.iter().filter(|_| after.is_some()) {
        batch.depend(node, &of(after.unwrap()));
    }
}

/// Never: work pinned to one worker can not be stolen when that worker is stuck.
#[test]
fn job_that_keeps_its_worker_holds_back_no_other_that_is_ready() {
    let pool = pool(2);
    for _ in 0..50 {
        let mut ready_at_once = Batch::new();
        first_waits_for_seven_others(&mut ready_at_once, None);
        let mut released = Batch::new();
        let first = released.add(Job::new(|_| ()));
        first_waits_for_seven_others(&mut released, Some(&first));
        for batch in [ready_at_once, released] {
            let handle = pool.submit_batch(batch).unwrap();
            assert_eq!(handle.wait().unwrap().failed, 0, "{:?}", handle.failures());
        }
    }
}

/// A worker keeps jobs that are tiny to itself. When one of them waits for another that is ready, others
/// take what is left, also that other one.
#[test]
fn job_among_tiny_ones_that_waits_for_a_ready_one_gets_it() {
    const JOBS: u32 = 10_000;
    let pool = pool(2);
    for _ in 0..20 {
        let (tell, told) = mpsc::channel();
        let (tell, told) = (Mutex::new(tell), Mutex::new(told));
        let mut batch = TypedBatch::new(move |number: u32, _| {
            match number {
                5_000 => told.lock().unwrap().recv_timeout(common::PATIENCE).unwrap(),
                9_999 => tell.lock().unwrap().send(()).unwrap(),
                _ => {}
            }
            Ok::<(), Infallible>(())
        });
        for number in 0..JOBS {
            let _ = batch.add(number);
        }
        let progress = pool.submit_batch(batch.into()).unwrap().wait().unwrap();
        assert_eq!(progress.completed, JOBS as usize);
    }
}
