//! What does our kernel cost, workload by workload?
//!
//! `bench-kernel <workload> [--workers N] [--scale N]` prints one line of JSON per result.
//! `cargo xtask bench kernel` runs it side by side with the peers.
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement reads the real clock and plays the outside world with real threads"
)]

use std::process::ExitCode;

use benches::{Args, Line};
use kernel::Runtime;

mod fair;
mod fork_join;
mod jobs;
mod yields;

/// How we are called in the tables.
const OURS: &str = "shiftwork";

fn main() -> ExitCode {
    let lines = Args::from_env().and_then(|args| run(&args));
    match lines {
        Ok(lines) => {
            lines.iter().for_each(|line| println!("{line}"));
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("bench-kernel: {problem}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<Vec<Line>, String> {
    if args.list {
        println!("{OURS}");
        return Ok(Vec::new());
    }
    let mut builder = Runtime::builder().workers(args.workers);
    if args.workload == "fairness" {
        builder = builder.quantum(benches::fairness::QUANTUM);
    }
    let runtime = builder.build().map_err(|error| error.to_string())?;
    let lines = match args.workload.as_str() {
        "submit_1" | "submit_4" => vec![jobs::submit(args, &runtime)],
        "submit_handle" => vec![jobs::submit_handle(args, &runtime)],
        "submit_batch" => vec![jobs::submit_batch(args, &runtime)],
        "spawn_tree" => vec![jobs::spawn_tree(args, &runtime)],
        "wake_delay" => vec![jobs::wake_delay(args, &runtime)],
        "fork_join" => vec![fork_join::run(args, &runtime)],
        "yield_1000" => vec![yields::strands(args, &runtime)],
        "yield_1000_async" => vec![yields::futures(args, &runtime)],
        "timers" => yields::timers(args, &runtime),
        "fairness" => vec![fair::run(args, &runtime)],
        other => return Err(format!("no workload {other:?}")),
    };
    runtime.shutdown_background();
    Ok(lines)
}
