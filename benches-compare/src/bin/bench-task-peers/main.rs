//! What would the engines and Rust need for the same guests, without a scheduler?
//!
//! `bench-task-peers <workload> --peer NAME` prints one line of JSON per result, as `bench-task`
//! does for ours; `--list` prints who can run the workload. The floor is the engine alone, metered
//! as ours is. The peers in other languages are programs of their own.
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement reads the real clock and plays the outside world with real threads"
)]

use std::process::ExitCode;

use benches::{
    Args, Line,
    task::{self, Compute},
};

mod bare_wasmi;
#[cfg(feature = "jit")]
mod bare_wasmtime;

#[cfg(feature = "jit")]
use self::bare_wasmtime::Metering;

/// One who runs the guests.
struct Peer {
    name: &'static str,
    able: fn(&str) -> bool,
    run: fn(&Args) -> Line,
}

const PEERS: &[Peer] = &[
    Peer {
        name: "floor",
        able: bare_wasmi::able,
        run: |args| bare_wasmi::run(args, "floor", true),
    },
    Peer {
        name: "wasmi-unmetered",
        able: |workload| Compute::of(workload).is_some() && !task::engine(workload).1,
        run: |args| bare_wasmi::run(args, "wasmi-unmetered", false),
    },
    #[cfg(feature = "jit")]
    Peer {
        name: "floor",
        able: bare_wasmtime::able,
        run: |args| bare_wasmtime::run(args, "floor", Metering::Counted),
    },
    #[cfg(feature = "jit")]
    Peer {
        name: "wasmtime-unmetered",
        able: |workload| Compute::of(workload).is_some() && task::engine(workload).1,
        run: |args| bare_wasmtime::run(args, "wasmtime-unmetered", Metering::Off),
    },
    #[cfg(feature = "jit")]
    Peer {
        name: "wasmtime-paused",
        able: |workload| Compute::of(workload).is_some() && task::engine(workload).1,
        run: |args| bare_wasmtime::run(args, "wasmtime-paused", Metering::Paused),
    },
    Peer { name: "native", able: |workload| Compute::of(workload).is_some(), run: native },
];

fn main() -> ExitCode {
    let args = match Args::from_env() {
        Ok(args) => args,
        Err(problem) => {
            eprintln!("bench-task-peers: {problem}");
            return ExitCode::from(2);
        }
    };
    let able = || PEERS.iter().filter(|peer| (peer.able)(&args.workload));
    if args.list {
        able().for_each(|peer| println!("{}", peer.name));
        return ExitCode::SUCCESS;
    }
    let Some(peer) = able().find(|peer| peer.name == args.peer) else {
        eprintln!("bench-task-peers: {:?} has no {:?}", args.peer, args.workload);
        return ExitCode::from(2);
    };
    println!("{}", (peer.run)(&args));
    ExitCode::SUCCESS
}

/// The same in Rust.
fn native(args: &Args) -> Line {
    let what = Compute::of(&args.workload).expect("it was asked whether it is able");
    task::compute(args, "native", what, what.native)
}
