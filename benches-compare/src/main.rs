//! Who else can run a workload, and how fast?
//!
//! `bench-kernel-peers <workload> --peer NAME` prints one line of JSON per result, as
//! `bench-kernel` does for our kernel; `--list` prints who can run the workload.
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement reads the real clock and plays the outside world with real threads"
)]

use std::process::ExitCode;

use benches::{Args, Line};

mod channel_pool;
mod executor;
mod floor;
#[cfg(feature = "forte")]
mod forte_pool;
mod rayon_pool;
mod tokio_pool;

/// A scheduler, or one of several ways to use it.
struct Peer {
    name: &'static str,
    workloads: &'static [&'static str],
    run: fn(&Args) -> Vec<Line>,
}

const PEERS: &[Peer] = &[
    Peer { name: "tokio", workloads: tokio_pool::WORKLOADS, run: tokio_pool::run },
    Peer { name: "rayon", workloads: rayon_pool::WORKLOADS, run: rayon_pool::run },
    Peer { name: "rayon-fifo", workloads: &["submit_1", "submit_4"], run: rayon_pool::run },
    Peer { name: "rayon-scope", workloads: &["spawn_tree"], run: rayon_pool::run },
    Peer { name: "crossbeam", workloads: channel_pool::WORKLOADS, run: channel_pool::run },
    Peer { name: "async-executor", workloads: executor::WORKLOADS, run: executor::run },
    Peer { name: "async-io", workloads: &["timers"], run: executor::run_timers },
    #[cfg(feature = "forte")]
    Peer { name: "forte", workloads: forte_pool::WORKLOADS, run: forte_pool::run },
    Peer { name: "floor", workloads: floor::WORKLOADS, run: floor::run },
];

fn main() -> ExitCode {
    let args = match Args::from_env() {
        Ok(args) => args,
        Err(problem) => {
            eprintln!("bench-kernel-peers: {problem}");
            return ExitCode::from(2);
        }
    };
    let able = || PEERS.iter().filter(|peer| peer.workloads.contains(&args.workload.as_str()));
    if args.list {
        able().for_each(|peer| println!("{}", peer.name));
        return ExitCode::SUCCESS;
    }
    let Some(peer) = able().find(|peer| peer.name == args.peer) else {
        eprintln!("bench-kernel-peers: {:?} has no {:?}", args.peer, args.workload);
        return ExitCode::from(2);
    };
    for line in (peer.run)(&args) {
        println!("{line}");
    }
    ExitCode::SUCCESS
}
