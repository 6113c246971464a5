//! Who else has processes, and how fast are they?
//!
//! `bench-process-peers <workload> --peer NAME` prints one line of JSON per result, as
//! `bench-process` does for ours; `--list` prints who can run the workload. The peers in other
//! languages are programs of their own, with the same command line.
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement reads the real clock and plays the outside world with real threads"
)]

use std::process::ExitCode;

use benches::{Args, Line, process::WORKLOADS};

#[cfg(feature = "actors")]
mod actix_actors;
#[cfg(feature = "actors")]
mod actors;
mod floor;
#[cfg(feature = "actors")]
mod kameo_actors;
#[cfg(feature = "actors")]
mod ractor_actors;
mod tokio_tasks;

/// A library, or one of several ways to use it.
struct Peer {
    name: &'static str,
    workloads: &'static [&'static str],
    run: fn(&Args) -> Vec<Line>,
}

const PEERS: &[Peer] = &[
    Peer { name: "tokio", workloads: WORKLOADS, run: tokio_tasks::run },
    Peer { name: "tokio-bounded", workloads: &["fan_in", "fan_in_many"], run: tokio_tasks::run },
    #[cfg(feature = "actors")]
    Peer { name: "ractor", workloads: WORKLOADS, run: ractor_actors::run },
    #[cfg(feature = "actors")]
    Peer { name: "kameo", workloads: WORKLOADS, run: kameo_actors::run },
    #[cfg(feature = "actors")]
    Peer { name: "actix", workloads: WORKLOADS, run: actix_actors::run },
    Peer { name: "floor", workloads: floor::WORKLOADS, run: floor::run },
];

fn main() -> ExitCode {
    let args = match Args::from_env() {
        Ok(args) => args,
        Err(problem) => {
            eprintln!("bench-process-peers: {problem}");
            return ExitCode::from(2);
        }
    };
    let able = || PEERS.iter().filter(|peer| peer.workloads.contains(&args.workload.as_str()));
    if args.list {
        able().for_each(|peer| println!("{}", peer.name));
        return ExitCode::SUCCESS;
    }
    let Some(peer) = able().find(|peer| peer.name == args.peer) else {
        eprintln!("bench-process-peers: {:?} has no {:?}", args.peer, args.workload);
        return ExitCode::from(2);
    };
    for line in (peer.run)(&args) {
        println!("{line}");
    }
    // Hogs never end, and a million processes end slowly.
    std::process::exit(0);
}
