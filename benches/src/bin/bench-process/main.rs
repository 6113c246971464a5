//! What does a process of ours cost, workload by workload?
//!
//! `bench-process <workload> [--workers N] [--scale N]` prints one line of JSON per result.
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement reads the real clock and plays the outside world with real threads"
)]

use std::{process::ExitCode, time::Duration};

use benches::{
    Args, Line,
    process::{WORKLOADS, measure},
};
use kernel::Runtime;

mod ours;

/// How we are called in the tables.
const OURS: &str = "shiftwork";

/// Beside hogs that check their turn.
const QUANTUM: Duration = Duration::from_millis(1);

fn main() -> ExitCode {
    let lines = Args::from_env().and_then(|args| run(&args));
    match lines {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("{line}"));
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("bench-process: {problem}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<Vec<Line>, String> {
    if !WORKLOADS.contains(&args.workload.as_str()) {
        return Err(format!("no workload {:?}", args.workload));
    }
    if args.list {
        println!("{OURS}");
        return Ok(Vec::new());
    }
    let builder = Runtime::builder().workers(args.workers).quantum(QUANTUM);
    let runtime = builder.build().map_err(|error| error.to_string())?;
    let lines = measure(args, OURS, &ours::Ours(runtime.handle()));
    // Hogs need not be waited for, and a million processes need not end one by one.
    runtime.shutdown_background();
    Ok(lines)
}
