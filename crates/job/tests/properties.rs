//! Whatever the graph and whatever goes wrong in it: does each job end once, and as it should?
//!
//! Random graphs over several batches, with jobs that fail, panic, are cancelled, resume, or name
//! others by id; on real threads and in virtual time. Each job runs at most once and never before
//! its predecessors have ended; those that fail are exactly those downstream of a failure, where
//! their batch says so; and all are accounted for.

mod common;

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::SeqCst},
};

use common::{MS, eventually};
use job::{
    Batch, BatchHandle, Body, Job, JobError, JobHandle, JobId, Metrics, OnFailure, Policy, Pool,
    PoolBuilder, Progress, Status,
};
use kernel::each_seed;

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    Completes,
    Fails,
    Panics,
    /// Completes in the third turn.
    Resumes,
    /// Is asked not to run, before or after it has ended.
    IsCancelled,
}

#[derive(Debug)]
struct Plan {
    does: Does,
    before: Vec<usize>,
    batch: usize,
}

struct World {
    plans: Vec<Plan>,
    on_failure: Vec<OnFailure>,
}

impl World {
    fn new(seed: u64) -> World {
        let dice = &mut Dice(seed.wrapping_mul(7919) ^ 0x9E37_79B9);
        let batches = 1 + dice.below(4);
        let jobs = batches * (1 + dice.below(12));
        let on_failure = (0..batches).map(|_| match dice.below(3) {
            0 => OnFailure::RunDependents,
            _ => OnFailure::FailDependents,
        });
        let on_failure = on_failure.collect();
        let trouble = dice.below(12);
        let plans = (0..jobs).map(|number| {
            let does = match dice.below(12 + trouble) {
                0 => Does::Resumes,
                1 => Does::IsCancelled,
                12.. => [Does::Fails, Does::Panics, Does::Fails][dice.below(3)],
                _ => Does::Completes,
            };
            let predecessors = if number == 0 { 0 } else { dice.below(4) };
            let before = (0..predecessors).map(|_| dice.below(number)).collect();
            Plan { does, before, batch: number * batches / jobs }
        });
        World { plans: plans.collect(), on_failure }
    }

    /// Whether it ends well, for those in whose history nothing depends on when it was cancelled.
    fn fates(&self) -> Vec<Option<bool>> {
        let mut fates: Vec<Option<bool>> = Vec::new();
        for plan in &self.plans {
            let before = plan.before.iter().map(|before| fates[*before]);
            let doomed = match self.on_failure[plan.batch] {
                OnFailure::FailDependents => {
                    if before.clone().any(|fate| fate == Some(false)) {
                        Some(true)
                    } else {
                        before.clone().all(|fate| fate.is_some()).then_some(false)
                    }
                }
                _ => Some(false),
            };
            fates.push(match (doomed, plan.does) {
                (_, Does::IsCancelled) => None,
                (Some(true), _) | (_, Does::Fails | Does::Panics) => Some(false),
                (Some(false), _) => Some(true),
                (None, _) => None,
            });
        }
        fates
    }
}

/// What is noted of a job: how often it ran, and when it started and ended. 0: it has not.
#[derive(Default)]
struct Seen {
    runs: AtomicU32,
    started: AtomicU32,
    ended: AtomicU32,
}

/// What is noted of all, and how many starts and ends there were.
struct Notes {
    jobs: Vec<Seen>,
    moments: AtomicU32,
}

impl Notes {
    fn new(world: &World) -> Arc<Notes> {
        let jobs = world.plans.iter().map(|_| Seen::default()).collect();
        Arc::new(Notes { jobs, moments: AtomicU32::new(0) })
    }

    fn starts(&self, job: usize) {
        assert_eq!(self.jobs[job].runs.fetch_add(1, SeqCst), 0, "it ran before");
        self.jobs[job].started.store(1 + self.moments.fetch_add(1, SeqCst), SeqCst);
    }

    fn ends(&self, job: usize) {
        self.jobs[job].ended.store(1 + self.moments.fetch_add(1, SeqCst), SeqCst);
    }

    /// Nobody ran twice, nor before one of its predecessors had ended. One that was not run, or was
    /// cancelled between its turns, notes no end: whether others run then is for their batch to say.
    fn check(&self, world: &World) {
        for (job, (plan, seen)) in world.plans.iter().zip(&self.jobs).enumerate() {
            assert!(seen.runs.load(SeqCst) <= 1, "job {job}");
            let start = seen.started.load(SeqCst);
            for before in plan.before.iter().filter(|_| start > 0) {
                let Seen { started, ended, .. } = &self.jobs[*before];
                let last = started.load(SeqCst).max(ended.load(SeqCst));
                assert!(last < start, "job {job} starts at {start}, and {before} runs at {last}");
            }
        }
    }
}

fn job(number: usize, does: Does, notes: &Arc<Notes>) -> Job<impl Body> {
    let notes = notes.clone();
    let mut turns = 0;
    Job::resumable(move |cx| {
        if turns == 0 {
            notes.starts(number);
        }
        turns += 1;
        cx.simulate(MS * (number % 4) as u32);
        if does == Does::Resumes && turns < 3 {
            return Progress::Continue;
        }
        notes.ends(number);
        assert!(does != Does::Panics, "as planned");
        Progress::Done(if does == Does::Fails { Err("as planned") } else { Ok(number) })
    })
}

/// As above for a job that takes one turn.
fn plain(number: usize, does: Does, notes: &Arc<Notes>) -> Job<impl Body> {
    let notes = notes.clone();
    Job::fallible(move |cx| {
        notes.starts(number);
        cx.simulate(MS * (number % 4) as u32);
        notes.ends(number);
        assert!(does != Does::Panics, "as planned");
        if does == Does::Fails { Err("as planned") } else { Ok(number) }
    })
}

/// What is left of a world that was submitted.
struct Submitted {
    batches: Vec<BatchHandle>,
    handles: Vec<Box<dyn Handle>>,
}

trait Handle {
    fn ended(&self) -> Option<bool>;
    fn cancel(&self) -> bool;
    fn was_not_run(&self) -> bool;
}

impl<R: 'static, E: 'static> Handle for JobHandle<R, E> {
    fn ended(&self) -> Option<bool> {
        match self.status() {
            Status::Completed(_) => Some(true),
            Status::Failed(_) | Status::Cancelled => Some(false),
            _ => None,
        }
    }

    fn cancel(&self) -> bool {
        JobHandle::cancel(self)
    }

    fn was_not_run(&self) -> bool {
        matches!(self.result(), Some(Err(JobError::Predecessor { .. } | JobError::Cancelled)))
    }
}

/// Puts each job into its batch; those of earlier batches are named by id or handle.
fn submit(world: &World, pool: &Pool, notes: &Arc<Notes>, dice: &mut Dice) -> Submitted {
    let mut handles: Vec<Box<dyn Handle>> = Vec::new();
    let mut batches = Vec::new();
    for (number, on_failure) in world.on_failure.iter().enumerate() {
        let mut batch = Batch::new().on_failure(*on_failure);
        // Such a one has plain jobs only, where the plan allows it: else it changes nothing.
        let by_levels = dice.below(2) == 0;
        if by_levels {
            batch = batch.by_levels();
        }
        // Nodes have the type of their job: collected as what makes a handle of them.
        type Made = Box<dyn FnOnce(&BatchHandle) -> Box<dyn Handle>>;
        let mut nodes: Vec<Made> = Vec::new();
        for (index, plan) in world.plans.iter().enumerate().filter(|(_, p)| p.batch == number) {
            let id = |number: usize| JobId::new(number as u64);
            if plan.does == Does::Resumes || !by_levels && dice.below(6) == 0 {
                let mut job = job(index, plan.does, notes).id(id(index));
                for before in &plan.before {
                    job = job.after_id(id(*before));
                }
                let node = batch.add(job);
                nodes.push(Box::new(move |handle| Box::new(handle.job(node))));
            } else {
                let mut job = plain(index, plan.does, notes).id(id(index));
                for before in &plan.before {
                    job = job.after_id(id(*before));
                }
                let node = batch.add(job);
                nodes.push(Box::new(move |handle| Box::new(handle.job(node))));
            }
        }
        let handle = pool.submit_batch(batch).unwrap();
        handles.extend(nodes.into_iter().map(|node| node(&handle)));
        for (plan, handle) in world.plans.iter().zip(&handles) {
            if plan.does == Does::IsCancelled && dice.below(2) == 0 {
                handle.cancel();
            }
        }
        batches.push(handle);
    }
    for (plan, handle) in world.plans.iter().zip(&handles) {
        if plan.does == Does::IsCancelled {
            handle.cancel();
        }
    }
    Submitted { batches, handles }
}

fn check(world: &World, submitted: &Submitted, notes: &Notes, metrics: &Metrics) {
    notes.check(world);
    let fates = world.fates();
    for (number, (fate, handle)) in fates.iter().zip(&submitted.handles).enumerate() {
        let ended = handle.ended().expect("every job ends");
        if let Some(fate) = fate {
            assert_eq!(ended, *fate, "job {number}, {:?}", world.plans[number]);
        }
        let runs = notes.jobs[number].runs.load(SeqCst);
        // A resumable job may be cancelled between its turns.
        if handle.was_not_run() && world.plans[number].does != Does::IsCancelled {
            assert_eq!(runs, 0, "job {number}");
        }
        assert!(!ended || runs == 1, "job {number} completed without having run");
    }
    let (mut total, mut sums) = (0, [0; 3]);
    for progress in submitted.batches.iter().map(BatchHandle::progress) {
        assert_eq!(progress.ended(), progress.total);
        total += progress.total as u64;
        sums[0] += progress.completed as u64;
        sums[1] += progress.failed as u64;
        sums[2] += progress.cancelled as u64;
    }
    assert_eq!(sums, [metrics.completed, metrics.failed, metrics.cancelled]);
    assert_eq!((metrics.scheduled, metrics.queue_depth), (total, 0));
    assert_eq!(sums.iter().sum::<u64>(), total);
}

fn policy(seed: u64) -> PoolBuilder {
    let policies = [
        Policy::WorkStealing,
        Policy::Fcfs,
        Policy::HighestPriority,
        Policy::RoundRobin,
        Policy::MultilevelFeedback { queue_count: 3, time_slice: MS },
    ];
    let builder = Pool::builder().workers(1 + seed as usize % 3);
    let builder = builder.policy(policies[seed as usize / 3 % policies.len()]);
    builder.max_jobs_per_cycle(1 + seed as usize % 2)
}

/// Panics are part of the plan here, and need not be printed.
fn quietly(test: impl FnOnce()) {
    use std::panic;
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !info.to_string().contains("as planned") {
            usual(info);
        }
    }));
    test();
}

#[test]
fn random_graphs_in_virtual_time_and_on_threads_end_as_they_should() {
    quietly(|| {
        each_seed(400, |seed| {
            let world = World::new(seed);
            let notes = Notes::new(&world);
            let mut pool = policy(seed).simulate(seed).unwrap();
            let dice = &mut Dice(seed);
            let shared = pool.share();
            // Some batches come while others run.
            pool.simulation().run_for(MS);
            let submitted = submit(&world, &shared, &notes, dice);
            pool.simulation().run();
            check(&world, &submitted, &notes, &pool.metrics());
        });
        each_seed(400, |seed| {
            let world = World::new(seed);
            let notes = Notes::new(&world);
            let pool = policy(seed).build().unwrap();
            let submitted = submit(&world, &pool, &notes, &mut Dice(seed));
            for batch in &submitted.batches {
                batch.wait().unwrap();
            }
            eventually(|| pool.metrics().queue_depth == 0);
            check(&world, &submitted, &notes, &pool.metrics());
        });
    });
}

/// The pool is dropped in the middle: all end, and nothing runs twice or too early.
#[test]
fn random_graphs_whose_pool_is_dropped_end_too() {
    quietly(|| {
        each_seed(200, |seed| {
            let world = World::new(seed);
            let notes = Notes::new(&world);
            let pool = policy(seed).build().unwrap();
            let shared = pool.share();
            let submitted = submit(&world, &pool, &notes, &mut Dice(seed));
            drop(pool);
            for batch in &submitted.batches {
                let progress = batch.wait().unwrap();
                assert_eq!(progress.ended(), progress.total);
            }
            assert!(submitted.handles.iter().all(|handle| handle.ended().is_some()));
            assert_eq!(shared.metrics().queue_depth, 0);
            notes.check(&world);
        });
    });
}
