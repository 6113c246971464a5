//! What does a job of ours cost, workload by workload?
//!
//! `bench-job <workload> [--workers N] [--scale N]` prints one line of JSON per result.
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement reads the real clock and plays the outside world with real threads"
)]

mod ours;

use std::process::ExitCode;

use benches::{
    Args, Line,
    job::{GRAPHS, MEMORY, PRIORITY, graphs, memory, priority},
};

/// How we are called in the tables.
const OURS: &str = "shiftwork";

fn main() -> ExitCode {
    match Args::from_env().and_then(|args| run(&args)) {
        Ok(Some(line)) => println!("{line}"),
        Ok(None) => println!("{OURS}"),
        Err(problem) => {
            eprintln!("bench-job: {problem}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn run(args: &Args) -> Result<Option<Line>, String> {
    let known = GRAPHS.iter().chain(&[PRIORITY, MEMORY]);
    if !known.into_iter().any(|name| *name == args.workload) {
        return Err(format!("no workload {:?}", args.workload));
    }
    if args.list {
        return Ok(None);
    }
    Ok(Some(match args.workload.as_str() {
        PRIORITY => priority(args, OURS, &ours::Ordered::new(args)),
        MEMORY => memory(args, OURS, ours::PAYLOAD, ours::queue(args)),
        _ => graphs(args, OURS, &ours::Graph::new(args)),
    }))
}
