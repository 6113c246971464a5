//! What would the least program cost that does just this workload, and nothing else?
//!
//! One thread, with plain counters and a stack, where nodes do nothing. Where they work, the layers
//! are dealt out to threads that spin until all are done with one. Transactions run one by one. It
//! is a floor to see how much of a number is unavoidable, not a peer.

use std::{
    cmp::Ordering,
    collections::BinaryHeap,
    sync::{
        Arc, Mutex,
        atomic::{
            AtomicUsize,
            Ordering::{AcqRel, Acquire},
        },
    },
    thread,
};

use benches::{
    Args, Line,
    job::{
        Graphs, Priorities, Transactions, Work, graphs as measure, priority as measure_priority,
    },
    submit::Job,
};

const NAME: &str = "floor";

/// Jobs that a thread takes at once, in their order.
const BATCH: usize = 16;

pub(crate) fn graphs(args: &Args) -> Line {
    match args.workload.as_str() {
        "dag_1us" | "dag_10us" | "levels_1us" => measure(args, NAME, &Lockstep(args.workers)),
        _ => measure(args, NAME, &Sequential),
    }
}

struct Sequential;

struct Plain<W: 'static> {
    work: &'static W,
    begins: Vec<u32>,
    successors: Vec<u32>,
    waits_for: Vec<u32>,
    ready: Vec<u32>,
}

impl Graphs for Sequential {
    type Graph<W: Work> = Plain<W>;

    fn build<W: Work>(&self, work: &'static W) -> Plain<W> {
        let nodes = work.nodes() as usize;
        let mut begins = vec![0; nodes + 1];
        let mut waits_for = Vec::with_capacity(nodes);
        for node in 0..work.nodes() {
            let before = work.predecessors(node);
            before.iter().for_each(|&one| begins[one as usize] += 1);
            waits_for.push(before.len() as u32);
        }
        // From counts to ends; placing the successors moves them to the begins.
        for node in 1..=nodes {
            begins[node] += begins[node - 1];
        }
        let mut successors = vec![0; begins[nodes] as usize];
        for node in 0..work.nodes() {
            for &before in work.predecessors(node) {
                let at = &mut begins[before as usize];
                *at -= 1;
                successors[*at as usize] = node;
            }
        }
        let mut ready = Vec::with_capacity(nodes);
        ready.extend((0..work.nodes()).filter(|&node| waits_for[node as usize] == 0));
        Plain { work, begins, successors, waits_for, ready }
    }

    fn run<W: Work>(&self, graph: &mut Plain<W>) {
        while let Some(node) = graph.ready.pop() {
            graph.work.run(node);
            let (from, to) = (graph.begins[node as usize], graph.begins[node as usize + 1]);
            for &successor in &graph.successors[from as usize..to as usize] {
                let left = &mut graph.waits_for[successor as usize];
                *left -= 1;
                if *left == 0 {
                    graph.ready.push(successor);
                }
            }
        }
    }

    fn transactions(&self, batch: &'static Transactions) {
        (0..batch.list().len() as u32).for_each(|number| batch.execute(number));
    }
}

/// With so many threads.
struct Lockstep(usize);

struct Layers<W: 'static> {
    work: &'static W,
    layers: Vec<Vec<u32>>,
}

impl Graphs for Lockstep {
    type Graph<W: Work> = Layers<W>;

    fn build<W: Work>(&self, work: &'static W) -> Layers<W> {
        let mut layer_of = Vec::with_capacity(work.nodes() as usize);
        let mut layers: Vec<Vec<u32>> = Vec::new();
        for node in 0..work.nodes() {
            let before = work.predecessors(node).iter();
            let layer = before.map(|&one| layer_of[one as usize] + 1).max().unwrap_or(0);
            layer_of.push(layer);
            if layer == layers.len() {
                layers.push(Vec::new());
            }
            layers[layer].push(node);
        }
        Layers { work, layers }
    }

    fn run<W: Work>(&self, graph: &mut Layers<W>) {
        let (workers, graph) = (self.0, &*graph);
        let arrived = &AtomicUsize::new(0);
        let run = move |worker: usize| {
            for (number, layer) in graph.layers.iter().enumerate() {
                let (from, to) =
                    (layer.len() * worker / workers, layer.len() * (worker + 1) / workers);
                layer[from..to].iter().for_each(|&node| graph.work.run(node));
                arrived.fetch_add(1, AcqRel);
                while arrived.load(Acquire) < workers * (number + 1) {
                    std::hint::spin_loop();
                }
            }
        };
        thread::scope(|scope| {
            for worker in 1..workers {
                scope.spawn(move || run(worker));
            }
            run(0);
        });
    }
}

/// Jobs of one type, in place, in a heap behind a lock; several are taken at once.
#[derive(Default)]
struct Heap(Mutex<BinaryHeap<Entry>>);

struct Entry(u32, Job);

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
pub(crate) fn priority(args: &Args) -> Line {
    let heap = Arc::new(Heap::default());
    for _ in 0..args.workers {
        let heap = heap.clone();
        thread::spawn(move || {
            let mut batch = Vec::with_capacity(BATCH);
            loop {
                let mut entries = heap.0.lock().expect("nobody panics holding it");
                batch.extend(std::iter::from_fn(|| entries.pop()).take(BATCH));
                drop(entries);
                if batch.is_empty() {
                    thread::yield_now();
                }
                batch.drain(..).for_each(|Entry(_, job)| job.run());
            }
        });
    }
    measure_priority(args, NAME, &*heap)
}

impl Priorities for Heap {
    fn submit(&self, priority: u32, job: Job) {
        self.0.lock().expect("nobody panics holding it").push(Entry(priority, job));
    }
}
