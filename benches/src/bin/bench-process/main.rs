//! What does a process of ours cost, workload by workload?
//!
//! `bench-process <workload> [--workers N] [--scale N]` prints one line of JSON per result.
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement reads the real clock and plays the outside world with real threads"
)]

use std::{process::ExitCode, time::Duration};

use benches::{
    Args, Line, Tally,
    process::{WORKLOADS, measure},
};
use kernel::Runtime;

mod ours;

/// How we are called in the tables.
const OURS: &str = "shiftwork";

/// Requests with replies, one after the other: counted in instructions, and compared with nobody.
const CALLS: &str = "calls";

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
    if args.workload != CALLS && !WORKLOADS.contains(&args.workload.as_str()) {
        return Err(format!("no workload {:?}", args.workload));
    }
    if args.list {
        println!("{OURS}");
        return Ok(Vec::new());
    }
    let builder = Runtime::builder().workers(args.workers).quantum(QUANTUM);
    let runtime = builder.build().map_err(|error| error.to_string())?;
    let ours = ours::Ours(runtime.handle());
    let lines = match args.workload.as_str() {
        CALLS => vec![calls(args, &ours)],
        _ => measure(args, OURS, &ours),
    };
    // Hogs need not be waited for, and a million processes need not end one by one.
    runtime.shutdown_background();
    Ok(lines)
}

fn calls(args: &Args, ours: &ours::Ours) -> Line {
    let count = args.items(1_000_000);
    args.time_per_item(OURS, "ns/call", count, || {
        let done = Tally::leaked();
        ours.calls(count, done);
        done.wait_for(1);
    })
}
