//! How fast is forte's pool: `spawn` and `join`?

use benches::{
    Args, Line, Tally,
    join_tree::{self, Numbers},
    sizes, submit, wake_delay,
};
use forte::{ThreadPool, Worker};

pub(crate) const WORKLOADS: &[&str] =
    &["submit_1", "submit_4", "submit_handle", "spawn_tree", "wake_delay", "fork_join"];

const NAME: &str = "forte";

static POOL: ThreadPool = ThreadPool::new();

pub(crate) fn run(args: &Args) -> Vec<Line> {
    POOL.resize_to(args.workers);
    let line = match args.workload.as_str() {
        "submit_handle" => submit_handle(args),
        "spawn_tree" => spawn_tree(args),
        "wake_delay" => wake_delay::measure(args, NAME, |ping| {
            POOL.spawn(move |_: &Worker| ping.arrived());
        }),
        "fork_join" => fork_join(args),
        name => submit(args, submit::threads_of(name)),
    };
    vec![line]
}

fn submit(args: &Args, threads: u64) -> Line {
    let jobs = args.items(submit::JOBS);
    args.time_per_item(NAME, "ns/job", jobs, || {
        submit::submit_and_wait(threads, jobs, |job| {
            POOL.spawn(move |_: &Worker| job.run());
        });
    })
}

/// Closures have no handle; futures do.
fn submit_handle(args: &Args) -> Line {
    let jobs = args.items(submit::JOBS);
    args.time_per_item(NAME, "ns/job", jobs, || {
        submit::submit_and_join(
            jobs,
            |job| POOL.spawn(async move { job.run_for_result() }),
            |task| POOL.block_on(task),
        );
    })
}

fn spawn_tree(args: &Args) -> Line {
    fn node(worker: &Worker, depth: u32, leaves: &'static Tally) {
        if depth == 0 {
            leaves.add();
        } else {
            worker.spawn(move |worker: &Worker| node(worker, depth - 1, leaves));
            worker.spawn(move |worker: &Worker| node(worker, depth - 1, leaves));
        }
    }
    let depth = sizes::tree_depth(args);
    args.time_per_item(NAME, "ns/node", 2 << depth, || {
        let leaves = Tally::leaked();
        POOL.spawn(move |worker: &Worker| node(worker, depth, leaves));
        leaves.wait_for(1 << depth);
    })
}

/// Started inside, so that the calling thread does not count as a third worker.
fn fork_join(args: &Args) -> Line {
    fn sum(worker: &Worker, numbers: &Numbers, from: u64, leaves: u64) -> u64 {
        if leaves == 1 {
            return numbers.leaf(from);
        }
        let half = leaves / 2;
        let (left, right) = worker.join(
            |worker| sum(worker, numbers, from, half),
            |worker| sum(worker, numbers, from + half, half),
        );
        left + right
    }
    let (leaves, numbers) = (args.items(join_tree::LEAVES), Numbers::default());
    let total = numbers.total(leaves);
    args.time_per_item(NAME, "ns/leaf", leaves, || {
        let (sender, receiver) = oneshot::channel();
        let numbers = numbers.clone();
        POOL.spawn(move |worker: &Worker| {
            sender.send(sum(worker, &numbers, 0, leaves)).expect("it is awaited");
        });
        assert_eq!(receiver.recv().expect("the job ran"), total);
    })
}
