//! How fast are threads that take boxed closures from a crossbeam channel?
//!
//! The pool that many programs write for themselves, with an unbounded channel: submitting never
//! waits, as with everyone else here.

use std::thread;

use benches::{
    Args, Line, Tally,
    join_tree::{self, JoinTree, Numbers},
    sizes, submit, wake_delay,
};
use crossbeam_channel::{Sender, unbounded};

pub(crate) const WORKLOADS: &[&str] =
    &["submit_1", "submit_4", "submit_handle", "spawn_tree", "wake_delay", "fork_join"];

const NAME: &str = "crossbeam";

type Boxed = Box<dyn FnOnce() + Send>;

#[derive(Clone)]
struct Pool(Sender<Boxed>);

impl Pool {
    /// The threads end when the last sender is dropped, or with the process.
    fn start(workers: usize) -> Pool {
        let (sender, receiver) = unbounded::<Boxed>();
        for _ in 0..workers {
            let receiver = receiver.clone();
            thread::spawn(move || receiver.iter().for_each(|job| job()));
        }
        Pool(sender)
    }

    fn submit(&self, job: impl FnOnce() + Send + 'static) {
        self.0.send(Box::new(job)).expect("the workers live");
    }
}

pub(crate) fn run(args: &Args) -> Vec<Line> {
    let pool = Pool::start(args.workers);
    let line = match args.workload.as_str() {
        "submit_handle" => submit_handle(args, &pool),
        "spawn_tree" => spawn_tree(args, &pool),
        "wake_delay" => wake_delay::measure(args, NAME, |ping| pool.submit(move || ping.arrived())),
        "fork_join" => fork_join(args, &pool),
        name => submit(args, &pool, submit::threads_of(name)),
    };
    vec![line]
}

fn submit(args: &Args, pool: &Pool, threads: u64) -> Line {
    let jobs = args.items(submit::JOBS);
    args.time_per_item(NAME, "ns/job", jobs, || {
        submit::submit_and_wait(threads, jobs, |job| pool.submit(move || job.run()));
    })
}

/// The result comes back through a one-shot channel.
fn submit_handle(args: &Args, pool: &Pool) -> Line {
    let jobs = args.items(submit::JOBS);
    args.time_per_item(NAME, "ns/job", jobs, || {
        submit::submit_and_join(
            jobs,
            |job| {
                let (sender, receiver) = oneshot::channel();
                pool.submit(move || sender.send(job.run_for_result()).expect("it is awaited"));
                receiver
            },
            |receiver| receiver.recv().expect("the job ran"),
        );
    })
}

fn spawn_tree(args: &Args, pool: &Pool) -> Line {
    fn node(pool: &'static Pool, depth: u32, leaves: &'static Tally) {
        if depth == 0 {
            leaves.add();
        } else {
            pool.submit(move || node(pool, depth - 1, leaves));
            pool.submit(move || node(pool, depth - 1, leaves));
        }
    }
    let pool: &'static Pool = Box::leak(Box::new(pool.clone()));
    let depth = sizes::tree_depth(args);
    args.time_per_item(NAME, "ns/node", 2 << depth, || {
        let leaves = Tally::leaked();
        node(pool, depth, leaves);
        leaves.wait_for(1 << depth);
    })
}

struct Work {
    pool: Pool,
    numbers: Numbers,
    tree: JoinTree,
    total: oneshot_slot::Slot,
}

/// Where the one who completes the root leaves the total.
mod oneshot_slot {
    use std::sync::{Condvar, Mutex};

    #[derive(Default)]
    pub(super) struct Slot(Mutex<Option<u64>>, Condvar);

    impl Slot {
        pub(super) fn put(&self, value: u64) {
            *self.0.lock().expect("nobody panics holding it") = Some(value);
            self.1.notify_one();
        }

        pub(super) fn take(&self) -> u64 {
            let guard = self.0.lock().expect("nobody panics holding it");
            let mut guard = self
                .1
                .wait_while(guard, |value| value.is_none())
                .expect("nobody panics holding it");
            guard.take().expect("it was just there")
        }
    }
}

/// The halves meet in a `JoinTree`; one half is submitted, the other goes on.
fn fork_join(args: &Args, pool: &Pool) -> Line {
    fn sum(work: &'static Work, mut node: u64) {
        let leaf = loop {
            if let Some(leaf) = work.tree.leaf(node) {
                break leaf;
            }
            let right = 2 * node + 1;
            work.pool.submit(move || sum(work, right));
            node *= 2;
        };
        if let Some(total) = work.tree.arrive(node, work.numbers.leaf(leaf)) {
            work.total.put(total);
        }
    }
    let leaves = args.items(join_tree::LEAVES);
    let work: &'static Work = Box::leak(Box::new(Work {
        pool: pool.clone(),
        numbers: Numbers::default(),
        tree: JoinTree::new(leaves),
        total: Default::default(),
    }));
    let total = work.numbers.total(leaves);
    args.time_per_item(NAME, "ns/leaf", leaves, || {
        work.tree.reset();
        work.pool.submit(move || sum(work, 1));
        assert_eq!(work.total.take(), total);
    })
}
