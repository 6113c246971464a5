//! How fast does rayon run a graph, written as well as we can?
//!
//! `scope` spawns what has become ready, but goes on with the first of it at once. `join` splits
//! what has become ready in two halves, again and again; the jobs are then on the stack, and
//! nothing is allocated, but in a deep graph the stack is deep.

use benches::{
    Args, Line,
    job::{Graphs, Work, graphs},
};
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use crate::counters::Counters;

/// Successors that one job looks at; of more it makes several jobs.
const AT_ONCE: usize = 16;

struct Scoped(ThreadPool);

struct Joined(ThreadPool);

pub(crate) fn scope(args: &Args) -> Line {
    graphs(args, "rayon", &Scoped(pool(args)))
}

pub(crate) fn join(args: &Args) -> Line {
    graphs(args, "rayon-join", &Joined(pool(args)))
}

pub(crate) fn pool(args: &Args) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(args.workers).build().expect("rayon starts")
}

impl Graphs for Scoped {
    type Graph<W: Work> = Counters<W>;

    fn build<W: Work>(&self, work: &'static W) -> Counters<W> {
        Counters::new(work)
    }

    fn run<W: Work>(&self, graph: &mut Counters<W>) {
        fn run<'a, W: Work>(graph: &'a Counters<W>, mut node: u32, scope: &Scope<'a>) {
            loop {
                graph.work.run(node);
                let mut next = None;
                for &successor in graph.successors(node) {
                    if graph.arrive(successor) {
                        if next.is_none() {
                            next = Some(successor);
                        } else {
                            scope.spawn(move |scope| run(graph, successor, scope));
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

impl Graphs for Joined {
    type Graph<W: Work> = Counters<W>;

    fn build<W: Work>(&self, work: &'static W) -> Counters<W> {
        Counters::new(work)
    }

    fn run<W: Work>(&self, graph: &mut Counters<W>) {
        let graph = &*graph;
        self.0.install(|| run_all(graph, &graph.sources));
    }
}

fn run_all<W: Work>(graph: &Counters<W>, nodes: &[u32]) {
    match nodes {
        [] => {}
        &[node] => run(graph, node),
        nodes => {
            let (left, right) = nodes.split_at(nodes.len() / 2);
            rayon::join(|| run_all(graph, left), || run_all(graph, right));
        }
    }
}

fn run<W: Work>(graph: &Counters<W>, mut node: u32) {
    loop {
        graph.work.run(node);
        let successors = graph.successors(node);
        if successors.len() > AT_ONCE {
            return release(graph, successors);
        }
        let mut ready = [0; AT_ONCE];
        match arrived(graph, successors, &mut ready) {
            [] => return,
            &[successor] => node = successor,
            several => return run_all(graph, several),
        }
    }
}

fn release<W: Work>(graph: &Counters<W>, successors: &[u32]) {
    if successors.len() > AT_ONCE {
        let (left, right) = successors.split_at(successors.len() / 2);
        rayon::join(|| release(graph, left), || release(graph, right));
    } else {
        run_all(graph, arrived(graph, successors, &mut [0; AT_ONCE]));
    }
}

/// Those of the successors that are ready.
#[inline]
fn arrived<'a, W: Work>(
    graph: &Counters<W>,
    successors: &[u32],
    ready: &'a mut [u32; AT_ONCE],
) -> &'a [u32] {
    let mut count = 0;
    for &successor in successors {
        if graph.arrive(successor) {
            ready[count] = successor;
            count += 1;
        }
    }
    &ready[..count]
}
