//! How fast does tokio run a graph, with a task for each node that can not be gone on with?

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::AcqRel},
};

use benches::{
    Args, Line,
    job::{Graphs, Work, graphs},
};
use tokio::{
    runtime::{Builder, Runtime},
    sync::Notify,
    task,
};

use crate::counters::Counters;

struct Tokio(Runtime);

struct Graph<W: 'static> {
    counters: Counters<W>,
    /// Nodes without successors that have not run yet. Only they touch it.
    sinks: AtomicU32,
    done: Notify,
}

pub(crate) fn run(args: &Args) -> Line {
    let runtime = Builder::new_multi_thread().worker_threads(args.workers).build();
    graphs(args, "tokio", &Tokio(runtime.expect("tokio starts")))
}

impl Graphs for Tokio {
    type Graph<W: Work> = Arc<Graph<W>>;

    fn build<W: Work>(&self, work: &'static W) -> Arc<Graph<W>> {
        let counters = Counters::new(work);
        let is_sink = |node: &u32| counters.successors(*node).is_empty();
        let sinks = AtomicU32::new((0..work.nodes()).filter(is_sink).count() as u32);
        Arc::new(Graph { counters, sinks, done: Notify::new() })
    }

    fn run<W: Work>(&self, graph: &mut Arc<Graph<W>>) {
        let (starter, waiter) = (graph.clone(), graph.clone());
        self.0.spawn(async move {
            for &source in &starter.counters.sources {
                let graph = starter.clone();
                task::spawn(async move { run_from(&graph, source) });
            }
        });
        self.0.block_on(waiter.done.notified());
    }
}

fn run_from<W: Work>(graph: &Arc<Graph<W>>, mut node: u32) {
    let counters = &graph.counters;
    loop {
        counters.work.run(node);
        let successors = counters.successors(node);
        if successors.is_empty() && graph.sinks.fetch_sub(1, AcqRel) == 1 {
            graph.done.notify_one();
        }
        let mut next = None;
        for &successor in successors {
            if counters.arrive(successor) {
                if next.is_none() {
                    next = Some(successor);
                } else {
                    let graph = graph.clone();
                    task::spawn(async move { run_from(&graph, successor) });
                }
            }
        }
        match next {
            Some(successor) => node = successor,
            None => return,
        }
    }
}
