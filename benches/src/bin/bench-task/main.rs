//! What does a task of ours cost, workload by workload?
//!
//! `bench-task <workload> [--workers N] [--scale N]` prints one line of JSON per result. Workloads
//! that end in `_jit` need the feature `jit`.
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement reads the real clock and plays the outside world with real threads"
)]

use std::process::ExitCode;

use benches::{Args, Line, task};
use kernel::Runtime;

mod ours;
mod ticked;

/// How we are called in the tables.
const OURS: &str = "shiftwork";

fn main() -> ExitCode {
    let lines = Args::from_env().and_then(|args| run(&args));
    match lines {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("{line}"));
            // A hundred thousand tasks need not end one by one, and hogs never do.
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("bench-task: {problem}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<Vec<Line>, String> {
    let (workload, jit) = task::engine(&args.workload);
    if !task::exists(&args.workload) {
        return Err(format!("no workload {:?}", args.workload));
    }
    let built = !jit || cfg!(feature = "jit");
    if args.list {
        if built {
            println!("{OURS}");
        }
        return Ok(Vec::new());
    }
    if !built {
        return Err(format!("{} needs the feature `jit`", args.workload));
    }
    let runtime = Runtime::builder().workers(args.workers).build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let ours = ours::Ours { runtime: &runtime, jit };
    let lines = match workload {
        "ticks" => ticked::measure(args, &ours),
        _ => vec![ours.measure(args, workload)],
    };
    // Hogs need not be waited for.
    runtime.shutdown_background();
    Ok(lines)
}
