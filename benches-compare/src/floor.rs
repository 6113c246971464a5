//! What would the least program cost that does just this workload, and nothing else?
//!
//! No scheduler: no strands, no parking, no fairness, no shutdown, jobs of a single kind. It is
//! a floor to see how much of a number is unavoidable, not a peer. Idle threads spin, where they
//! are not what is measured.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use benches::{
    Args, Line, Tally,
    join_tree::{self, Numbers},
    sizes,
    submit::{self, Job},
    wake_delay::{self, Ping},
};
use crossbeam_deque::{Injector, Steal, Stealer, Worker};

pub(crate) const WORKLOADS: &[&str] = &[
    "submit_1",
    "submit_4",
    "spawn_tree",
    "wake_delay",
    "fork_join",
    "yield_1000",
    "yield_1000_async",
];

const NAME: &str = "floor";

pub(crate) fn run(args: &Args) -> Vec<Line> {
    let line = match args.workload.as_str() {
        "spawn_tree" => spawn_tree(args),
        "wake_delay" => wake_delay(args),
        "fork_join" => fork_join(args),
        "yield_1000" | "yield_1000_async" => yields(args),
        name => submit(args, submit::threads_of(name)),
    };
    vec![line]
}

/// One queue, jobs inline, taken in batches.
fn submit(args: &Args, threads: u64) -> Line {
    let queue: &'static Injector<Job> = Box::leak(Box::default());
    for _ in 0..args.workers {
        thread::spawn(|| {
            let batch = Worker::new_fifo();
            loop {
                match queue.steal_batch(&batch) {
                    Steal::Success(()) => std::iter::from_fn(|| batch.pop()).for_each(Job::run),
                    _ => thread::yield_now(),
                }
            }
        });
    }
    let jobs = args.items(submit::JOBS);
    args.time_per_item(NAME, "ns/job", jobs, || {
        submit::submit_and_wait(threads, jobs, |job| queue.push(job));
    })
}

#[derive(Clone, Copy)]
struct Node {
    depth: u32,
    leaves: &'static Tally,
}

/// One deque per thread, nodes inline. Whoever has nothing steals.
fn spawn_tree(args: &Args) -> Line {
    let start: &'static Injector<Node> = Box::leak(Box::default());
    let deques: Vec<Worker<Node>> = (0..args.workers).map(|_| Worker::new_lifo()).collect();
    let stealers: Arc<[Stealer<Node>]> = deques.iter().map(Worker::stealer).collect();
    for own in deques {
        let stealers = stealers.clone();
        thread::spawn(move || {
            let steal = || {
                let stolen = stealers.iter().map(|other| other.steal_batch_and_pop(&own));
                stolen.chain([start.steal()]).find_map(|steal| steal.success())
            };
            loop {
                let Some(node) = own.pop().or_else(steal) else {
                    thread::yield_now();
                    continue;
                };
                if node.depth == 0 {
                    node.leaves.add();
                } else {
                    let child = Node { depth: node.depth - 1, ..node };
                    own.push(child);
                    own.push(child);
                }
            }
        });
    }
    let depth = sizes::tree_depth(args);
    args.time_per_item(NAME, "ns/node", 2 << depth, || {
        let leaves = Tally::leaked();
        start.push(Node { depth, leaves });
        leaves.wait_for(1 << depth);
    })
}

/// One thread, parked; one unpark per job.
fn wake_delay(args: &Args) -> Line {
    let queue: &'static Mutex<VecDeque<Ping>> = Box::leak(Box::default());
    let worker = thread::spawn(|| {
        loop {
            let ping = queue.lock().expect("nobody panics holding it").pop_front();
            match ping {
                Some(ping) => ping.arrived(),
                None => thread::park(),
            }
        }
    });
    wake_delay::measure(args, NAME, |ping| {
        queue.lock().expect("nobody panics holding it").push_back(ping);
        worker.thread().unpark();
    })
}

/// The leaves dealt out beforehand, one share per thread: no forks and one join.
fn fork_join(args: &Args) -> Line {
    let (leaves, numbers) = (args.items(join_tree::LEAVES), Numbers::default());
    let total = numbers.total(leaves);
    let workers = args.workers as u64;
    args.time_per_item(NAME, "ns/leaf", leaves, || {
        let share = |n: u64| (n * leaves / workers)..((n + 1) * leaves / workers);
        let sum: u64 = thread::scope(|scope| {
            let numbers = &numbers;
            let threads: Vec<_> = (0..workers)
                .map(|n| scope.spawn(move || share(n).map(|leaf| numbers.leaf(leaf)).sum::<u64>()))
                .collect();
            threads.into_iter().map(|thread| thread.join().expect("it only adds")).sum()
        });
        assert_eq!(sum, total);
    })
}

/// A queue of numbers: taken at the front, put back at the end.
fn yields(args: &Args) -> Line {
    let (strands, each) = (sizes::YIELDING, args.items(sizes::YIELDS_EACH));
    args.time_per_item(NAME, "ns/yield", strands * each, || {
        let queue = Injector::new();
        let left: Vec<AtomicUsize> =
            (0..strands).map(|_| AtomicUsize::new(each as usize)).collect();
        (0..strands as usize).for_each(|strand| queue.push(strand));
        let done = Tally::new();
        thread::scope(|scope| {
            for _ in 0..args.workers {
                scope.spawn(|| {
                    while done.sum() < strands {
                        let Steal::Success(strand) = queue.steal() else { continue };
                        let now = left[strand].load(Relaxed);
                        if now == 0 {
                            done.add();
                        } else {
                            left[strand].store(now - 1, Relaxed);
                            queue.push(strand);
                        }
                    }
                });
            }
        });
    })
}
