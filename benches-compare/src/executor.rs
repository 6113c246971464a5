//! How fast is async-executor, and how fast are async-io's timers?
//!
//! A `StaticExecutor`, which need not keep a list of its tasks.

use std::{pin::Pin, thread};

use async_executor::StaticExecutor;
use benches::{
    Args, Line, Tally,
    join_tree::{self, Numbers},
    sizes, submit, timers, wake_delay,
};
use futures_lite::future;

pub(crate) const WORKLOADS: &[&str] = &[
    "submit_1",
    "submit_4",
    "submit_handle",
    "spawn_tree",
    "wake_delay",
    "fork_join",
    "yield_1000",
    "yield_1000_async",
];

const NAME: &str = "async-executor";

static EXECUTOR: StaticExecutor = StaticExecutor::new();

fn start(workers: usize) {
    for _ in 0..workers {
        thread::spawn(|| future::block_on(EXECUTOR.run(future::pending::<()>())));
    }
}

pub(crate) fn run(args: &Args) -> Vec<Line> {
    start(args.workers);
    let line = match args.workload.as_str() {
        "submit_handle" => submit_handle(args),
        "spawn_tree" => spawn_tree(args),
        "wake_delay" => wake_delay::measure(args, NAME, |ping| {
            EXECUTOR.spawn(async move { ping.arrived() }).detach();
        }),
        "fork_join" => fork_join(args),
        "yield_1000" | "yield_1000_async" => yields(args),
        name => submit(args, submit::threads_of(name)),
    };
    vec![line]
}

/// async-io keeps timers in its reactor, on a thread of its own.
pub(crate) fn run_timers(args: &Args) -> Vec<Line> {
    start(args.workers);
    timers::measure(args, "async-io", async_io::Timer::after, |job| {
        EXECUTOR.spawn(async move { job() }).detach();
    })
}

fn submit(args: &Args, threads: u64) -> Line {
    let jobs = args.items(submit::JOBS);
    args.time_per_item(NAME, "ns/job", jobs, || {
        submit::submit_and_wait(threads, jobs, |job| {
            EXECUTOR.spawn(async move { job.run() }).detach();
        });
    })
}

fn submit_handle(args: &Args) -> Line {
    let jobs = args.items(submit::JOBS);
    args.time_per_item(NAME, "ns/job", jobs, || {
        submit::submit_and_join(
            jobs,
            |job| EXECUTOR.spawn(async move { job.run_for_result() }),
            future::block_on,
        );
    })
}

fn spawn_tree(args: &Args) -> Line {
    fn node(depth: u32, leaves: &'static Tally) {
        let task = EXECUTOR.spawn(async move {
            if depth == 0 {
                leaves.add();
            } else {
                node(depth - 1, leaves);
                node(depth - 1, leaves);
            }
        });
        task.detach();
    }
    let depth = sizes::tree_depth(args);
    args.time_per_item(NAME, "ns/node", 2 << depth, || {
        let leaves = Tally::leaked();
        node(depth, leaves);
        leaves.wait_for(1 << depth);
    })
}

fn fork_join(args: &Args) -> Line {
    type Sum = Pin<Box<dyn Future<Output = u64> + Send>>;
    fn sum(numbers: Numbers, from: u64, leaves: u64) -> Sum {
        Box::pin(async move {
            if leaves == 1 {
                return numbers.leaf(from);
            }
            let half = leaves / 2;
            let right = EXECUTOR.spawn(sum(numbers.clone(), from + half, half));
            sum(numbers, from, half).await + right.await
        })
    }
    let (leaves, numbers) = (args.items(join_tree::LEAVES), Numbers::default());
    let total = numbers.total(leaves);
    args.time_per_item(NAME, "ns/leaf", leaves, || {
        let root = EXECUTOR.spawn(sum(numbers.clone(), 0, leaves));
        assert_eq!(future::block_on(root), total);
    })
}

fn yields(args: &Args) -> Line {
    let (tasks, each) = (sizes::YIELDING, args.items(sizes::YIELDS_EACH));
    args.time_per_item(NAME, "ns/yield", tasks * each, || {
        let done = Tally::leaked();
        for _ in 0..tasks {
            let task = EXECUTOR.spawn(async move {
                for _ in 0..each {
                    future::yield_now().await;
                }
                done.add();
            });
            task.detach();
        }
        done.wait_for(tasks);
    })
}
