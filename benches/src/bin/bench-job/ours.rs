//! The workloads as a user of the crate `job` would write them.

use std::{convert::Infallible, mem, sync::mpsc};

use benches::{
    Args,
    job::{Graphs, Priorities, Work},
    submit,
};
use job::{Batch, Context, Job, Policy, Pool, Shape};

/// Very small jobs: a worker may take so many at once.
const AT_ONCE: usize = 64;

fn pool(args: &Args, policy: Policy) -> Pool {
    let builder = Pool::builder().workers(args.workers).policy(policy).accept_while_paused();
    builder.max_jobs_per_cycle(AT_ONCE).build().expect("a pool starts")
}

/// Runs graphs under work stealing.
pub(crate) struct Graph {
    pool: Pool,
    by_levels: bool,
}

impl Graph {
    pub(crate) fn new(args: &Args) -> Graph {
        let by_levels = args.workload.starts_with("levels");
        Graph { pool: pool(args, Policy::WorkStealing), by_levels }
    }
}

impl Graphs for Graph {
    type Graph<W: Work> = (Shape, &'static W);

    fn build<W: Work>(&self, work: &'static W) -> (Shape, &'static W) {
        let shape = Shape::from_predecessors(work.nodes() as usize, |node| work.predecessors(node));
        let shape = shape.expect("it has no cycle");
        if self.by_levels {
            shape.find_levels();
        }
        (shape, work)
    }

    fn run<W: Work>(&self, (shape, work): &mut (Shape, &'static W)) {
        let work = *work;
        let batch = shape.batch(vec![(); shape.len()], |(), cx: &mut Context<'_, '_>| {
            work.run(cx.index());
            Ok::<(), Infallible>(())
        });
        let batch = if self.by_levels { batch.by_levels() } else { batch };
        self.pool.submit_batch(batch).expect("there is room").wait().expect("this is no worker");
    }
}

/// Runs jobs in the exact order of their priorities.
pub(crate) struct Ordered(Pool);

impl Ordered {
    pub(crate) fn new(args: &Args) -> Ordered {
        Ordered(pool(args, Policy::HighestPriority))
    }
}

impl Priorities for Ordered {
    fn submit(&self, priority: u32, job: submit::Job) {
        let job = Job::new(move |_| job.run()).priority(f64::from(priority));
        drop(self.0.submit(job).expect("there is room"));
    }
}

/// What a queued job carries.
pub(crate) const PAYLOAD: usize = 8;

/// Queues jobs that can not start, since the workers are busy, and lets go of them all with the
/// program.
pub(crate) fn queue(args: &Args) -> impl FnMut(u64) {
    let pool = pool(args, Policy::WorkStealing);
    let (never, wait) = mpsc::channel::<()>();
    mem::forget(never);
    let wait = std::sync::Arc::new(std::sync::Mutex::new(wait));
    for _ in 0..args.workers {
        let wait = wait.clone();
        drop(pool.compute(move || wait.lock().expect("nobody panics").recv().is_ok()));
    }
    let mut queued = Vec::new();
    let pool = mem::ManuallyDrop::new(pool);
    move |count| {
        let mut batch = Batch::with_capacity(count as usize);
        for number in 0..count {
            let _ = batch.add(Job::new(move |_| std::hint::black_box(number)));
        }
        queued.push(pool.submit_batch(batch).expect("there is room"));
    }
}
