//! What is asked of a scheduler of jobs, how much of it, and how is it timed and checked?
//!
//! A contestant that can run a graph implements [`Graphs`], and [`graphs`] does the rest, alike
//! for all of them; one that knows priorities implements [`Priorities`], for
//! [`priority()`]; [`memory()`] asks what a queued job takes. Nothing here depends on any scheduler.
//!
//! The least contestant runs the nodes one by one:
//!
//! ```
//! use benches::{Args, job::{Graphs, Work, graphs}};
//!
//! struct OneByOne;
//!
//! impl Graphs for OneByOne {
//!     type Graph<W: Work> = &'static W;
//!
//!     fn build<W: Work>(&self, work: &'static W) -> &'static W {
//!         work
//!     }
//!
//!     fn run<W: Work>(&self, graph: &mut &'static W) {
//!         let work = *graph;
//!         let mut done = vec![false; work.nodes() as usize];
//!         while let Some(node) = (0..work.nodes()).find(|&node| {
//!             let ready = |&before: &u32| done[before as usize];
//!             !done[node as usize] && work.predecessors(node).iter().all(ready)
//!         }) {
//!             work.run(node);
//!             done[node as usize] = true;
//!         }
//!     }
//! }
//!
//! let words = ["dag_0", "--scale", "500", "--bare"].map(String::from);
//! let line = graphs(&Args::parse(words.into_iter()).unwrap(), "one by one", &OneByOne);
//! assert!(line.value().is_some());
//! ```

mod dag;
mod memory;
mod priority;
mod random;
mod spin;
mod transactions;

pub use dag::Dag;
pub use memory::{JOBS as QUEUED, memory};
pub use priority::{Priorities, priority};
pub use transactions::{Conflicts, Transaction, Transactions};

use std::time::Duration;

use crate::{Args, Line};

/// The workloads that [`graphs`] knows.
pub const GRAPHS: &[&str] = &[
    "dag_0",
    "dag_1us",
    "dag_10us",
    "dag_build_0",
    "fan_out_in",
    "levels_0",
    "levels_1us",
    "transactions_0",
    "transactions_10",
    "transactions_90",
    "growth_1000",
    "growth_10000",
    "growth_100000",
    "growth_1000000",
];

/// The workload of [`priority()`].
pub const PRIORITY: &str = "priority";

/// The workload of [`memory()`].
pub const MEMORY: &str = "memory";

/// Nodes of a graph of the usual size.
const NODES: u64 = 100_000;

/// Transactions of a batch of the usual size.
const TRANSACTIONS: u64 = 20_000;

/// A small graph is run more often than a large one, until so much time has gone by.
const AT_LEAST: Duration = Duration::from_millis(200);

/// A graph to be run: which nodes come before which, and what each of them does.
///
/// Predecessors have smaller numbers than their successors, since that is how the graphs are
/// made. Contestants do not make use of it.
pub trait Work: Sync + 'static {
    fn nodes(&self) -> u32;

    /// Whose runs must have ended before `node` runs. No node is named twice.
    fn predecessors(&self, node: u32) -> &[u32];

    /// What the node does: once, and after its predecessors.
    fn run(&self, node: u32);
}

/// One that runs graphs.
pub trait Graphs {
    /// Its own form of a graph, to be run once.
    type Graph<W: Work>;

    fn build<W: Work>(&self, work: &'static W) -> Self::Graph<W>;

    /// Returns when all nodes have run.
    fn run<W: Work>(&self, graph: &mut Self::Graph<W>);

    /// Finds out which of the transactions conflict, and runs them all. Who has something better
    /// than this for read and write sets uses it.
    fn transactions(&self, batch: &'static Transactions) {
        let mut graph = self.build(Conflicts::leaked(batch));
        self.run(&mut graph);
    }
}

/// Runs a workload of [`GRAPHS`], and reports.
pub fn graphs(args: &Args, who: &str, contestant: &impl Graphs) -> Line {
    let layered = |usual, steps| Dag::layered(args.items(usual), steps);
    match args.workload.as_str() {
        "dag_0" => dag(args, who, contestant, layered(NODES, 0)),
        "dag_1us" => dag(args, who, contestant, layered(NODES, spin::STEPS_PER_US)),
        "dag_10us" => dag(args, who, contestant, layered(NODES, 10 * spin::STEPS_PER_US)),
        "dag_build_0" => dag_build(args, who, contestant, layered(NODES, 0)),
        "levels_0" => dag(args, who, contestant, layered(NODES, 0)),
        "levels_1us" => dag(args, who, contestant, layered(NODES, spin::STEPS_PER_US)),
        "fan_out_in" => dag(args, who, contestant, Dag::fan(args.items(NODES))),
        "transactions_0" => transactions(args, who, contestant, 0),
        "transactions_10" => transactions(args, who, contestant, 10),
        "transactions_90" => transactions(args, who, contestant, 90),
        growth => {
            let size = growth.strip_prefix("growth_").and_then(|size| size.parse().ok());
            dag(args, who, contestant, layered(size.expect("a workload of GRAPHS"), 0))
        }
    }
}

/// The graph is built before the clock starts, and dropped after it stops.
fn dag<G: Graphs>(args: &Args, who: &str, contestant: &G, dag: Dag) -> Line {
    let dag = check_order(contestant, dag);
    let ns = args.time_prepared(
        AT_LEAST,
        || {
            dag.reset();
            contestant.build(dag)
        },
        |graph| contestant.run(graph),
        |graph| {
            drop(graph);
            dag.check();
        },
    );
    report(args, who, dag, ns)
}

/// From the lists of predecessors to the last node, and until the graph is dropped.
fn dag_build<G: Graphs>(args: &Args, who: &str, contestant: &G, dag: Dag) -> Line {
    let dag = check_order(contestant, dag);
    let ns = args.time_prepared(
        AT_LEAST,
        || dag.reset(),
        |()| contestant.run(&mut contestant.build(dag)),
        |()| dag.check(),
    );
    report(args, who, dag, ns)
}

/// One run in which each node looks whether its predecessors have run.
fn check_order<G: Graphs>(contestant: &G, dag: Dag) -> &'static Dag {
    let dag: &'static Dag = Box::leak(Box::new(dag));
    dag.check_order(true);
    contestant.run(&mut contestant.build(dag));
    dag.check();
    dag.check_order(false);
    dag
}

/// Where nodes do some work, also what a node cost beyond it, on all workers together.
fn report(args: &Args, who: &str, dag: &Dag, ns: f64) -> Line {
    let (nodes, workers) = (f64::from(dag.nodes()), args.workers as f64);
    let line = Line::new(&args.workload, who, "ns/node", ns / nodes);
    let line = line.with("items", nodes).with("workers", workers);
    if dag.steps() == 0 {
        return line;
    }
    let work = spin::measured_ns(dag.steps());
    line.with("work_ns", work).with("overhead_ns", ns * workers / nodes - work)
}

/// From the read and write sets to the last transaction.
fn transactions<G: Graphs>(args: &Args, who: &str, contestant: &G, hot_percent: u64) -> Line {
    let count = args.items(TRANSACTIONS);
    let batch = Transactions::leaked(count, hot_percent);
    let ns = args.time_prepared(
        AT_LEAST,
        || batch.reset(),
        |()| contestant.transactions(batch),
        |()| batch.check(),
    );
    let line = Line::new(&args.workload, who, "ns/transaction", ns / count as f64);
    line.with("items", count as f64).with("workers", args.workers as f64)
}

/// A sum that the program in C++ makes too, and is refused for if it is another.
#[cfg(test)]
fn sum_of_taskflow(name: &str) -> u64 {
    let sums = include_str!("../../benches-compare/taskflow/sums.txt");
    let sum = sums.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    sum.unwrap_or_else(|| panic!("sums.txt has no {name}"))
}
