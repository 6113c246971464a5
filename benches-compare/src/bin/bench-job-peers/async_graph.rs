//! How fast is async_dag, with its nodes in place or as tasks of tokio?
//!
//! It polls the futures of all running nodes in one task. In place they run there, one after the
//! other. Spawned they run on tokio's workers, and that task looks at all of them for each that
//! ends: the time grows with the square of those that run at once.
//!
//! A node is a function of its predecessors' results, so it can not have any number of them.

use benches::{
    Args, Line,
    job::{Graphs, Work, graphs},
};
use tokio::runtime::{Builder, Runtime};

/// All whose nodes have few predecessors.
pub(crate) const WORKLOADS: &[&str] = &[
    "dag_0",
    "dag_1us",
    "dag_10us",
    "dag_build_0",
    "transactions_0",
    "transactions_10",
    "transactions_90",
];

struct AsyncDag<const SPAWNS: bool>(Runtime);

pub(crate) fn in_place(args: &Args) -> Line {
    graphs(args, "async_dag", &AsyncDag::<false>(runtime(args)))
}

pub(crate) fn spawned(args: &Args) -> Line {
    graphs(args, "async_dag-spawn", &AsyncDag::<true>(runtime(args)))
}

fn runtime(args: &Args) -> Runtime {
    Builder::new_multi_thread().worker_threads(args.workers).build().expect("tokio starts")
}

async fn node<const SPAWNS: bool>(work: &'static impl Work, node: u32) {
    if SPAWNS {
        tokio::spawn(async move { work.run(node) }).await.expect("a node does not panic");
    } else {
        work.run(node);
    }
}

impl<const SPAWNS: bool> Graphs for AsyncDag<SPAWNS> {
    type Graph<W: Work> = async_dag::Graph<'static>;

    fn build<W: Work>(&self, work: &'static W) -> Self::Graph<W> {
        let mut graph = async_dag::Graph::new();
        let mut indices = Vec::with_capacity(work.nodes() as usize);
        for at in 0..work.nodes() {
            let before = work.predecessors(at);
            let index = match before.len() {
                0 => graph.add_task(move || node::<SPAWNS>(work, at)),
                1 => graph.add_task(move |(): ()| node::<SPAWNS>(work, at)),
                2 => graph.add_task(move |(): (), (): ()| node::<SPAWNS>(work, at)),
                3 => graph.add_task(move |(): (), (): (), (): ()| node::<SPAWNS>(work, at)),
                more => unreachable!("no graph here has a node with {more} predecessors"),
            };
            for (input, &one) in before.iter().enumerate() {
                let parent = indices[one as usize];
                graph.update_dependency(parent, index, input as u8).expect("the types agree");
            }
            indices.push(index);
        }
        graph
    }

    fn run<W: Work>(&self, graph: &mut Self::Graph<W>) {
        self.0.block_on(graph.run());
    }
}
