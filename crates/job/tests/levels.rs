//! Does a batch that runs level by level keep its levels apart, and every promise that is left?

mod common;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
};

use common::{MS, channel, pool};
use job::{Batch, Context, EXACT_MAX, Job, JobError, Policy, Pool, Shape, Status, Timings};
use kernel::each_seed;

/// Predecessors of random jobs, of which each waits for up to three before it.
fn random_lists(seed: u64, jobs: usize) -> Vec<Vec<u32>> {
    let mut state = seed;
    let mut below = |n: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    (0..jobs).map(|job| (0..below(4).min(job)).map(|_| below(job) as u32).collect()).collect()
}

fn levels_of(lists: &[Vec<u32>]) -> Vec<u32> {
    let mut levels: Vec<u32> = Vec::new();
    for list in lists {
        let level = list.iter().map(|before| levels[*before as usize] + 1).max().unwrap_or(0);
        levels.push(level);
    }
    levels
}

/// Nobody starts while a job of an earlier level has not ended, whichever worker ends a level, and
/// however small its pieces are.
#[test]
fn a_level_starts_when_the_one_before_has_ended() {
    each_seed(300, |seed| {
        let at_once = [1, 2, 7, 64][seed as usize % 4];
        let builder = Pool::builder().workers(1 + seed as usize % 3);
        let pool = builder.max_jobs_per_cycle(at_once).build().unwrap();
        let lists = random_lists(seed, 1 + seed as usize);
        let levels = levels_of(&lists);
        let of_level = |level: u32| levels.iter().filter(|of| **of < level).count() as u32;
        let before: Vec<u32> = levels.iter().map(|level| of_level(*level)).collect();
        let shape = Shape::from_predecessors(lists.len(), |job| &lists[job as usize]).unwrap();
        let (ended, early) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let run = {
            let (ended, early) = (ended.clone(), early.clone());
            move |(), cx: &mut Context<'_, '_>| {
                if ended.load(SeqCst) < before[cx.index() as usize] {
                    early.store(true, SeqCst);
                }
                ended.fetch_add(1, SeqCst);
                Ok::<(), String>(())
            }
        };
        let batch = shape.batch(vec![(); shape.len()], run).by_levels();
        let progress = pool.submit_batch(batch).unwrap().wait().unwrap();
        assert_eq!((progress.completed, ended.load(SeqCst) as usize), (lists.len(), lists.len()));
        assert!(!early.load(SeqCst), "a job started before the level before it had ended");
    });
}

/// Of a job that has failed, all that wait for it are told why, through any number of levels.
#[test]
fn failure_goes_down_the_levels_and_others_run() {
    let pool = pool(2);
    let mut batch = Batch::new().by_levels();
    let good = batch.add(Job::new(|_| 1));
    let bad = batch.add(Job::fallible(|_| Err::<i32, _>("no flour")));
    let after_bad = batch.add(Job::new(|_| 2).after(&bad).after(&good));
    let last = batch.add(Job::new(|_| 3).after(&after_bad));
    let other = batch.add(Job::new(|_| 4).after(&good));
    let handle = pool.submit_batch(batch).unwrap();
    assert_eq!(handle.job(other).join().unwrap(), 4);
    for doomed in [after_bad, last] {
        match handle.job(doomed).join() {
            Err(JobError::Predecessor { reason, .. }) => assert!(reason.contains("no flour")),
            other => panic!("it should not have run: {other:?}"),
        }
    }
    let progress = handle.wait().unwrap();
    assert_eq!((progress.completed, progress.failed), (2, 3));
}

#[test]
fn job_cancelled_before_its_level_does_not_run_nor_do_those_that_wait_for_it() {
    let pool = pool(1);
    let (go, wait) = channel::<()>();
    let mut batch = Batch::new().by_levels();
    let first = batch.add(Job::new(move |_| wait.next()));
    let second = batch.add(Job::new(|_| ()).after(&first));
    let third = batch.add(Job::new(|_| ()).after(&second));
    let handle = pool.submit_batch(batch).unwrap();
    assert!(handle.job(second).cancel());
    go.send(()).unwrap();
    let progress = handle.wait().unwrap();
    assert_eq!((progress.completed, progress.cancelled, progress.failed), (1, 1, 1));
    assert!(matches!(handle.job(third).join(), Err(JobError::Predecessor { .. })));
}

#[test]
fn batch_cancelled_in_its_first_level_ends() {
    let pool = pool(1);
    let (started, told) = channel();
    let (go, wait) = channel::<()>();
    let mut batch = Batch::new().by_levels();
    let first = batch.add(Job::new(move |_| {
        started.send(()).unwrap();
        wait.next();
    }));
    let _ = batch.add(Job::new(|_| ()).after(&first));
    let handle = pool.submit_batch(batch).unwrap();
    told.next();
    handle.cancel();
    go.send(()).unwrap();
    let progress = handle.wait().unwrap();
    assert_eq!((progress.completed, progress.cancelled), (1, 1));
}

/// Also where a worker has taken several of a level at once, and does not read the clock for them.
#[test]
fn batch_cancelled_while_one_of_a_level_runs_ends_after_it() {
    let pool = Pool::builder().workers(1).max_jobs_per_cycle(4).build().unwrap();
    let (started, told) = channel();
    let (go, wait) = channel::<()>();
    let mut batch = Batch::new().by_levels();
    batch.add(Job::new(|_| ()));
    batch.add(Job::new(move |_| {
        started.send(()).unwrap();
        wait.next();
    }));
    for _ in 2..EXACT_MAX {
        batch.add(Job::new(|_| ()));
    }
    let handle = pool.submit_batch(batch).unwrap();
    told.next();
    handle.cancel();
    go.send(()).unwrap();
    let progress = handle.wait().unwrap();
    assert_eq!((progress.completed, progress.cancelled), (2, EXACT_MAX - 2));
}

#[test]
fn job_that_has_ended_is_counted_while_others_of_its_level_run() {
    let pool = Pool::builder().workers(1).capacity(2).max_jobs_per_cycle(2).build().unwrap();
    let (go, wait) = channel::<()>();
    let mut batch = Batch::new().by_levels();
    let quick = batch.add(Job::new(|_| 7));
    batch.add(Job::new(move |_| wait.next()));
    let handle = pool.submit_batch(batch).unwrap();
    assert_eq!(handle.job(quick).join(), Ok(7));
    assert_eq!(pool.metrics().completed, 1);
    let next = pool.submit(Job::new(|_| 8)).expect("there is room for one");
    go.send(()).unwrap();
    assert_eq!(next.join(), Ok(8));
}

#[test]
fn jobs_of_a_level_are_ready_when_it_begins() {
    let pool = pool(1);
    let works = || {
        Job::new(|cx| {
            let until = cx.now() + MS;
            while cx.now() < until {}
        })
    };
    let mut batch = Batch::new().by_levels();
    let before = batch.add(works());
    let level = [0; 3].map(|_| batch.add(works().after(&before)));
    let handle = pool.submit_batch(batch).unwrap();
    handle.wait().unwrap();
    let before = handle.job(before).timings().unwrap();
    let level = level.map(|job| handle.job(job).timings().unwrap());
    assert!(level.iter().all(|job| job.ready == level[0].ready && job.ready >= before.ended));
    let waited = level.iter().filter_map(Timings::waiting).max();
    assert!(waited >= Some(2 * MS), "{level:?}");
}

/// A job of another batch waits for one job, not for its level or batch.
#[test]
fn dependent_in_another_batch_is_released_by_the_end_of_the_job() {
    let pool = pool(2);
    let (go, wait) = channel::<()>();
    let mut batch = Batch::new().by_levels();
    let quick = batch.add(Job::new(|_| 20));
    let _slow = batch.add(Job::new(move |_| wait.next()));
    let first = pool.submit_batch(batch).unwrap();
    let mut batch = Batch::new().by_levels();
    let next = batch.add(Job::new(|_| 22).after(&first.job(quick)));
    let second = pool.submit_batch(batch).unwrap();
    // It ends while a job of the level of its predecessor still runs.
    assert_eq!(second.job(next).join().unwrap(), 22);
    go.send(()).unwrap();
    assert_eq!(first.wait().unwrap().completed, 2);
}

/// All that it waits for has ended, so it is ready: that its level has not begun is another matter.
#[test]
fn job_whose_predecessors_have_ended_is_ready() {
    let pool = pool(2);
    let (go, wait) = channel::<()>();
    let mut batch = Batch::new().by_levels();
    let quick = batch.add(Job::new(|_| ()));
    let slow = batch.add(Job::new(move |_| wait.next()));
    let after_quick = batch.add(Job::new(|_| ()).after(&quick));
    let after_slow = batch.add(Job::new(|_| ()).after(&quick).after(&slow));
    let handle = pool.submit_batch(batch).unwrap();
    handle.job(quick).wait().unwrap();
    let after_quick = handle.job(after_quick);
    let status = after_quick.status();
    assert!(matches!(status, Status::Ready), "{status:?}");
    assert!(matches!(handle.job(after_slow).status(), Status::Created));
    go.send(()).unwrap();
    assert_eq!(handle.wait().unwrap().completed, 4);
}

#[test]
fn pool_dropped_in_the_middle_of_a_level_ends_all() {
    each_seed(100, |seed| {
        let pool = Pool::builder().workers(1 + seed as usize % 2).build().unwrap();
        let lists = random_lists(seed, 200);
        let shape = Shape::from_predecessors(lists.len(), |job| &lists[job as usize]).unwrap();
        let work = |(), _: &mut Context<'_, '_>| Ok::<(), String>(());
        let batch = shape.batch(vec![(); shape.len()], work).by_levels();
        let handle = pool.submit_batch(batch).unwrap();
        drop(pool);
        let progress = handle.wait().unwrap();
        assert_eq!(progress.ended(), 200);
    });
}

/// Where the policy has an order, that one counts.
#[test]
fn under_a_policy_with_an_order_it_changes_nothing() {
    let pool = Pool::builder().workers(1).policy(Policy::HighestPriority).build().unwrap();
    let log = common::Log::new();
    let say = |what: u32| {
        let log = log.clone();
        move |_: &mut Context<'_, '_>| log.write(what)
    };
    let mut batch = Batch::new().by_levels();
    let first = batch.add(Job::new(say(0)).priority(9.0));
    let _ = batch.add(Job::new(say(1)).priority(1.0));
    let _ = batch.add(Job::new(say(2)).priority(8.0).after(&first));
    pool.submit_batch(batch).unwrap().wait().unwrap();
    assert_eq!(log.take(), [0, 2, 1], "the one of the second level is more urgent");
}
