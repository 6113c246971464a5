//! How fast is rayon's pool: `spawn`, `spawn_fifo`, `scope` and `join`?

use benches::{
    Args, Line, Tally,
    join_tree::{self, Numbers},
    sizes, submit, wake_delay,
};
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

pub(crate) const WORKLOADS: &[&str] =
    &["submit_1", "submit_4", "submit_handle", "spawn_tree", "wake_delay", "fork_join"];

pub(crate) fn run(args: &Args) -> Vec<Line> {
    let pool = ThreadPoolBuilder::new().num_threads(args.workers).build().expect("rayon starts");
    let line = match (args.workload.as_str(), args.peer.as_str()) {
        ("submit_handle", _) => submit_handle(args, &pool),
        ("spawn_tree", "rayon-scope") => scope_tree(args, &pool),
        ("spawn_tree", _) => spawn_tree(args, &pool),
        ("wake_delay", _) => {
            wake_delay::measure(args, "rayon", |ping| pool.spawn(move || ping.arrived()))
        }
        ("fork_join", _) => fork_join(args, &pool),
        (name, "rayon-fifo") => submit(args, submit::threads_of(name), |job| {
            pool.spawn_fifo(move || job.run());
        }),
        (name, _) => submit(args, submit::threads_of(name), |job| pool.spawn(move || job.run())),
    };
    vec![line]
}

fn submit(args: &Args, threads: u64, spawn: impl Fn(submit::Job) + Sync) -> Line {
    let jobs = args.items(submit::JOBS);
    args.time_per_item(&args.peer, "ns/job", jobs, || {
        submit::submit_and_wait(threads, jobs, &spawn);
    })
}

/// Rayon has no handle; its users send the result through a one-shot channel.
fn submit_handle(args: &Args, pool: &ThreadPool) -> Line {
    let jobs = args.items(submit::JOBS);
    args.time_per_item("rayon", "ns/job", jobs, || {
        submit::submit_and_join(
            jobs,
            |job| {
                let (sender, receiver) = oneshot::channel();
                pool.spawn_fifo(move || sender.send(job.run_for_result()).expect("it is awaited"));
                receiver
            },
            |receiver| receiver.recv().expect("the job ran"),
        );
    })
}

fn spawn_tree(args: &Args, pool: &ThreadPool) -> Line {
    fn node(depth: u32, leaves: &'static Tally) {
        if depth == 0 {
            leaves.add();
        } else {
            rayon::spawn(move || node(depth - 1, leaves));
            rayon::spawn(move || node(depth - 1, leaves));
        }
    }
    let depth = sizes::tree_depth(args);
    args.time_per_item("rayon", "ns/node", 2 << depth, || {
        let leaves = Tally::leaked();
        pool.spawn(move || node(depth, leaves));
        leaves.wait_for(1 << depth);
    })
}

fn scope_tree(args: &Args, pool: &ThreadPool) -> Line {
    fn node<'a>(depth: u32, leaves: &'a Tally, scope: &Scope<'a>) {
        if depth == 0 {
            leaves.add();
        } else {
            scope.spawn(move |scope| node(depth - 1, leaves, scope));
            scope.spawn(move |scope| node(depth - 1, leaves, scope));
        }
    }
    let depth = sizes::tree_depth(args);
    args.time_per_item("rayon-scope", "ns/node", 2 << depth, || {
        let leaves = Tally::new();
        pool.scope(|scope| node(depth, &leaves, scope));
        leaves.wait_for(1 << depth);
    })
}

fn fork_join(args: &Args, pool: &ThreadPool) -> Line {
    fn sum(numbers: &Numbers, from: u64, leaves: u64) -> u64 {
        if leaves == 1 {
            return numbers.leaf(from);
        }
        let half = leaves / 2;
        let (left, right) =
            rayon::join(|| sum(numbers, from, half), || sum(numbers, from + half, half));
        left + right
    }
    let (leaves, numbers) = (args.items(join_tree::LEAVES), Numbers::default());
    let total = numbers.total(leaves);
    args.time_per_item("rayon", "ns/leaf", leaves, || {
        assert_eq!(pool.install(|| sum(&numbers, 0, leaves)), total);
    })
}
