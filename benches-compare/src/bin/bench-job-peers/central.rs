//! How fast is dag_exec: one thread that hands out, two that run?

use benches::{
    Args, Line,
    job::{Graphs, Work, graphs},
};
use dag_exec::{Dag, DagBuilder, Executor, ExecutorConfig};

/// Its defaults are twice the workers and 2: with those it waits for every few nodes.
const IN_FLIGHT: usize = 2_048;
const QUEUE: usize = 1_024;

struct Central(Executor);

pub(crate) fn run(args: &Args) -> Line {
    let executor = Executor::new(ExecutorConfig {
        max_workers: args.workers,
        max_in_flight: IN_FLIGHT,
        worker_queue_cap: QUEUE,
    });
    graphs(args, "dag_exec", &Central(executor))
}

/// A graph, and the nodes without successors: only what they need is run.
pub(crate) struct Graph {
    dag: Dag<u32, (), ()>,
    sinks: Vec<u32>,
}

impl Graphs for Central {
    type Graph<W: Work> = Graph;

    fn build<W: Work>(&self, work: &'static W) -> Graph {
        let mut builder = DagBuilder::new();
        let mut is_sink = vec![true; work.nodes() as usize];
        for node in 0..work.nodes() {
            let before = work.predecessors(node).to_vec();
            before.iter().for_each(|&one| is_sink[one as usize] = false);
            let run = move |_: &[_]| {
                work.run(node);
                Ok(())
            };
            builder.add_task(node, before, run).expect("no node is named twice");
        }
        let dag = builder.build().expect("all predecessors are there");
        let sinks = (0..work.nodes()).filter(|&node| is_sink[node as usize]).collect();
        Graph { dag, sinks }
    }

    fn run<W: Work>(&self, graph: &mut Graph) {
        let outputs = graph.sinks.iter().copied();
        self.0.run_parallel(&graph.dag, outputs).expect("no node fails");
    }
}
