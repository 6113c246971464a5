//! Who else runs jobs with dependencies or priorities, and how fast?
//!
//! `bench-job-peers <workload> --peer NAME` prints one line of JSON per result, as `bench-job`
//! does for ours; `--list` prints who can run the workload. Taskflow is a program of its own, in
//! C++, with the same command line.
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement reads the real clock and plays the outside world with real threads"
)]

use std::process::ExitCode;

use benches::{
    Args, Line,
    job::{GRAPHS, PRIORITY},
};

#[cfg(feature = "dags")]
mod async_graph;
#[cfg(feature = "dags")]
mod central;
mod counters;
mod floor;
mod heap;
#[cfg(feature = "dags")]
mod petgraphs;
#[cfg(feature = "dags")]
mod queues;
mod rayon_graph;
mod tokio_graph;

/// A library, or one of several ways to use it.
struct Peer {
    name: &'static str,
    workloads: &'static [&'static str],
    run: fn(&Args) -> Line,
}

/// Those of [`GRAPHS`] that everyone who runs graphs is asked for.
const ORDINARY: &[&str] = &[
    "dag_0",
    "dag_1us",
    "dag_10us",
    "dag_build_0",
    "fan_out_in",
    "transactions_0",
    "transactions_10",
    "transactions_90",
];

/// For those who run graphs level by level.
#[cfg(feature = "dags")]
const LEVELS: &[&str] = &["levels_0", "levels_1us"];

const PEERS: &[Peer] = &[
    Peer { name: "rayon", workloads: GRAPHS, run: rayon_graph::scope },
    Peer { name: "rayon-join", workloads: GRAPHS, run: rayon_graph::join },
    Peer { name: "tokio", workloads: ORDINARY, run: tokio_graph::run },
    #[cfg(feature = "dags")]
    Peer { name: "petgraph", workloads: ORDINARY, run: petgraphs::counters },
    #[cfg(feature = "dags")]
    Peer { name: "petgraph-levels", workloads: ORDINARY, run: petgraphs::levels },
    #[cfg(feature = "dags")]
    Peer { name: "petgraph-levels", workloads: LEVELS, run: petgraphs::levels },
    #[cfg(feature = "dags")]
    Peer { name: "dag_exec", workloads: ORDINARY, run: central::run },
    #[cfg(feature = "dags")]
    Peer { name: "async_dag", workloads: async_graph::WORKLOADS, run: async_graph::in_place },
    #[cfg(feature = "dags")]
    Peer { name: "async_dag-spawn", workloads: async_graph::WORKLOADS, run: async_graph::spawned },
    Peer { name: "heap", workloads: &[PRIORITY], run: heap::run },
    #[cfg(feature = "dags")]
    Peer { name: "skiplist", workloads: &[PRIORITY], run: queues::skiplist },
    #[cfg(feature = "dags")]
    Peer { name: "priority-channel", workloads: &[PRIORITY], run: queues::channel },
    #[cfg(feature = "dags")]
    Peer { name: "multipool", workloads: &[PRIORITY], run: queues::multipool },
    Peer { name: "floor", workloads: GRAPHS, run: floor::graphs },
    Peer { name: "floor", workloads: &[PRIORITY], run: floor::priority },
];

fn main() -> ExitCode {
    let args = match Args::from_env() {
        Ok(args) => args,
        Err(problem) => {
            eprintln!("bench-job-peers: {problem}");
            return ExitCode::from(2);
        }
    };
    let able = || PEERS.iter().filter(|peer| peer.workloads.contains(&args.workload.as_str()));
    if args.list {
        able().for_each(|peer| println!("{}", peer.name));
        return ExitCode::SUCCESS;
    }
    let Some(peer) = able().find(|peer| peer.name == args.peer) else {
        eprintln!("bench-job-peers: {:?} has no {:?}", args.peer, args.workload);
        return ExitCode::from(2);
    };
    println!("{}", (peer.run)(&args));
    ExitCode::SUCCESS
}
