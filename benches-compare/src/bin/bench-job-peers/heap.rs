//! How fast is the pool with priorities that people write for themselves?
//!
//! Threads that take boxed closures from a `BinaryHeap` behind a `Mutex`, one by one, and wait at
//! a `Condvar`. The order is exact at the moment of taking; equal ones come in any order.

use std::{
    cmp::Ordering,
    collections::BinaryHeap,
    sync::{Arc, Condvar, Mutex},
    thread,
};

use benches::{
    Args, Line,
    job::{Priorities, priority},
    submit::Job,
};

#[derive(Default)]
struct Pool {
    heap: Mutex<BinaryHeap<Entry>>,
    filled: Condvar,
}

struct Entry(u32, Box<dyn FnOnce() + Send>);

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.0 == other.0
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        self.0.cmp(&other.0)
    }
}

/// The threads end with the process.
pub(crate) fn run(args: &Args) -> Line {
    let pool = Arc::new(Pool::default());
    for _ in 0..args.workers {
        let pool = pool.clone();
        thread::spawn(move || {
            loop {
                let heap = pool.heap.lock().expect("nobody panics holding it");
                let heap = pool.filled.wait_while(heap, |heap| heap.is_empty());
                let entry = heap.expect("nobody panics holding it").pop();
                // The guard is gone.
                entry.expect("it was not empty").1();
            }
        });
    }
    priority(args, "heap", &*pool)
}

impl Priorities for Pool {
    fn submit(&self, priority: u32, job: Job) {
        let entry = Entry(priority, Box::new(move || job.run()));
        self.heap.lock().expect("nobody panics holding it").push(entry);
        self.filled.notify_one();
    }
}
