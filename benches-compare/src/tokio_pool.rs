//! How fast is tokio's multi-thread runtime?
//!
//! Without the I/O driver, and with the timer driver only where timers are measured: an idle
//! worker then parks on a condition variable and polls no descriptors.

use std::{pin::Pin, sync::Arc};

use benches::{
    Args, Line, Tally,
    fairness::{self, Watch},
    join_tree::{self, Numbers},
    sizes, submit, timers, wake_delay,
};
use tokio::{
    runtime::{Builder, Runtime},
    sync::Notify,
    task::{self, coop},
};

pub(crate) const WORKLOADS: &[&str] = &[
    "submit_1",
    "submit_4",
    "submit_handle",
    "spawn_tree",
    "wake_delay",
    "fork_join",
    "yield_1000",
    "yield_1000_async",
    "timers",
    "fairness",
];

/// Operations after which tokio's cooperative budget makes a task yield.
const COOP_BUDGET: u32 = 128;

pub(crate) fn run(args: &Args) -> Vec<Line> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(args.workers);
    if args.workload == "timers" {
        builder.enable_time();
    }
    let runtime = builder.build().expect("tokio starts");
    match args.workload.as_str() {
        "submit_handle" => vec![submit_handle(args, &runtime)],
        "spawn_tree" => vec![spawn_tree(args, &runtime)],
        "wake_delay" => vec![wake_delay::measure(args, "tokio", |ping| {
            runtime.spawn(async move { ping.arrived() });
        })],
        "fork_join" => vec![fork_join(args, &runtime)],
        "yield_1000" | "yield_1000_async" => vec![yields(args, &runtime)],
        "timers" => timers::measure(args, "tokio", tokio::time::sleep, |job| {
            runtime.spawn(async move { job() });
        }),
        "fairness" => vec![fair(args, runtime)],
        name => vec![submit(args, &runtime, submit::threads_of(name))],
    }
}

fn submit(args: &Args, runtime: &Runtime, threads: u64) -> Line {
    let jobs = args.items(submit::JOBS);
    args.time_per_item("tokio", "ns/job", jobs, || {
        submit::submit_and_wait(threads, jobs, |job| {
            runtime.spawn(async move { job.run() });
        });
    })
}

fn submit_handle(args: &Args, runtime: &Runtime) -> Line {
    let jobs = args.items(submit::JOBS);
    args.time_per_item("tokio", "ns/job", jobs, || {
        submit::submit_and_join(
            jobs,
            |job| runtime.spawn(async move { job.run_for_result() }),
            |handle| runtime.block_on(handle).expect("the task ran"),
        );
    })
}

fn spawn_tree(args: &Args, runtime: &Runtime) -> Line {
    fn node(depth: u32, leaves: &'static Tally) {
        task::spawn(async move {
            if depth == 0 {
                leaves.add();
            } else {
                node(depth - 1, leaves);
                node(depth - 1, leaves);
            }
        });
    }
    let depth = sizes::tree_depth(args);
    args.time_per_item("tokio", "ns/node", 2 << depth, || {
        let leaves = Tally::leaked();
        runtime.spawn(async move { node(depth, leaves) });
        leaves.wait_for(1 << depth);
    })
}

fn fork_join(args: &Args, runtime: &Runtime) -> Line {
    type Sum = Pin<Box<dyn Future<Output = u64> + Send>>;
    fn sum(numbers: Numbers, from: u64, leaves: u64) -> Sum {
        Box::pin(async move {
            if leaves == 1 {
                return numbers.leaf(from);
            }
            let half = leaves / 2;
            let right = task::spawn(sum(numbers.clone(), from + half, half));
            sum(numbers, from, half).await + right.await.expect("the task ran")
        })
    }
    let (leaves, numbers) = (args.items(join_tree::LEAVES), Numbers::default());
    let total = numbers.total(leaves);
    args.time_per_item("tokio", "ns/leaf", leaves, || {
        let root = runtime.spawn(sum(numbers.clone(), 0, leaves));
        assert_eq!(runtime.block_on(root).expect("the task ran"), total);
    })
}

fn yields(args: &Args, runtime: &Runtime) -> Line {
    let (tasks, each) = (sizes::YIELDING, args.items(sizes::YIELDS_EACH));
    args.time_per_item("tokio", "ns/yield", tasks * each, || {
        let done = Tally::leaked();
        for _ in 0..tasks {
            runtime.spawn(async move {
                for _ in 0..each {
                    task::yield_now().await;
                }
                done.add();
            });
        }
        done.wait_for(tasks);
    })
}

/// The quantum is tokio's own: a task works in steps of a 128th, and the budget makes it yield.
fn fair(args: &Args, runtime: Runtime) -> Line {
    let step = fairness::QUANTUM / COOP_BUDGET;
    for _ in 0..fairness::STRANDS {
        runtime.spawn(async move {
            let mut watch = Watch::default();
            watch.begin();
            loop {
                fairness::work_for(step);
                let yields = !coop::has_budget_remaining();
                if yields {
                    watch.end();
                }
                coop::consume_budget().await;
                if yields {
                    watch.begin();
                }
            }
        });
    }
    let pair = Arc::new([Notify::new(), Notify::new()]);
    for me in 0..2 {
        let pair = pair.clone();
        runtime.spawn(async move {
            loop {
                pair[1 - me].notify_one();
                pair[me].notified().await;
            }
        });
    }
    let line = fairness::observe(args, "tokio");
    runtime.shutdown_background();
    line
}
