//! How fast is a graph of petgraph, run by rayon?
//!
//! Once with a counter in each node, as for rayon alone. And once level by level, from a
//! topological order: no counters and no successors are needed then, but nobody starts the next
//! level before all have ended this one.

use std::sync::atomic::{
    AtomicU32,
    Ordering::{AcqRel, Acquire},
};

use benches::{
    Args, Line,
    job::{Graphs, Work, graphs},
};
use petgraph::{
    Direction::Incoming,
    algo::toposort,
    graph::{DiGraph, NodeIndex},
};
use rayon::{Scope, ThreadPool, prelude::*};

use crate::rayon_graph::pool;

struct WithCounters(ThreadPool);

struct ByLevels(ThreadPool);

pub(crate) fn counters(args: &Args) -> Line {
    graphs(args, "petgraph", &WithCounters(pool(args)))
}

pub(crate) fn levels(args: &Args) -> Line {
    graphs(args, "petgraph-levels", &ByLevels(pool(args)))
}

/// The weight of a node is how many predecessors have not run yet.
struct Counted<W: 'static> {
    work: &'static W,
    graph: DiGraph<AtomicU32, ()>,
    sources: Vec<NodeIndex>,
}

fn graph_of(work: &'static impl Work) -> DiGraph<AtomicU32, ()> {
    let edges = (0..work.nodes()).map(|node| work.predecessors(node).len()).sum();
    let mut graph = DiGraph::with_capacity(work.nodes() as usize, edges);
    for node in 0..work.nodes() {
        let before = work.predecessors(node);
        let index = graph.add_node(AtomicU32::new(before.len() as u32));
        for &one in before {
            graph.add_edge(NodeIndex::new(one as usize), index, ());
        }
    }
    graph
}

impl Graphs for WithCounters {
    type Graph<W: Work> = Counted<W>;

    fn build<W: Work>(&self, work: &'static W) -> Counted<W> {
        let graph = graph_of(work);
        let sources = graph.externals(Incoming).collect();
        Counted { work, graph, sources }
    }

    fn run<W: Work>(&self, graph: &mut Counted<W>) {
        fn run<'a, W: Work>(all: &'a Counted<W>, mut node: NodeIndex, scope: &Scope<'a>) {
            loop {
                all.work.run(node.index() as u32);
                let mut next = None;
                for successor in all.graph.neighbors(node) {
                    let left = &all.graph[successor];
                    if left.load(Acquire) == 1 || left.fetch_sub(1, AcqRel) == 1 {
                        if next.is_none() {
                            next = Some(successor);
                        } else {
                            scope.spawn(move |scope| run(all, successor, scope));
                        }
                    }
                }
                match next {
                    Some(successor) => node = successor,
                    None => return,
                }
            }
        }
        let graph = &*graph;
        self.0.scope(|scope| {
            for &source in &graph.sources {
                scope.spawn(move |scope| run(graph, source, scope));
            }
        });
    }
}

struct Levels<W: 'static> {
    work: &'static W,
    levels: Vec<Vec<u32>>,
}

impl Graphs for ByLevels {
    type Graph<W: Work> = Levels<W>;

    fn build<W: Work>(&self, work: &'static W) -> Levels<W> {
        let graph = graph_of(work);
        let mut level_of = vec![0_usize; graph.node_count()];
        let mut levels: Vec<Vec<u32>> = Vec::new();
        for node in toposort(&graph, None).expect("there are no cycles") {
            let before = graph.neighbors_directed(node, Incoming);
            let level = before.map(|one| level_of[one.index()] + 1).max().unwrap_or(0);
            level_of[node.index()] = level;
            if level == levels.len() {
                levels.push(Vec::new());
            }
            levels[level].push(node.index() as u32);
        }
        Levels { work, levels }
    }

    fn run<W: Work>(&self, graph: &mut Levels<W>) {
        let Levels { work, levels } = graph;
        self.0.install(|| {
            for level in levels {
                level.par_iter().for_each(|&node| work.run(node));
            }
        });
    }
}
