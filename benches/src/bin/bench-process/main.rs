//! What does a process of ours cost, workload by workload?
//!
//! `bench-process <workload> [--workers N] [--scale N]` prints one line of JSON per result.
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement reads the real clock and plays the outside world with real threads"
)]

use std::process::ExitCode;

use benches::{Args, Line};
use kernel::Runtime;

mod crowd;
mod messages;

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
            eprintln!("bench-process: {problem}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<Vec<Line>, String> {
    if args.list {
        println!("{OURS}");
        return Ok(Vec::new());
    }
    let builder = Runtime::builder().workers(args.workers);
    let runtime = builder.build().map_err(|error| error.to_string())?;
    let lines = match args.workload.as_str() {
        "spawn" => vec![crowd::spawn(args, &runtime)],
        "memory" => vec![crowd::memory(args, &runtime)],
        "skynet" => vec![crowd::skynet(args, &runtime)],
        "latency" => crowd::latency(args, &runtime),
        "ping_pong" => vec![messages::ping_pong(args, &runtime)],
        "ping_pong_call" => vec![messages::ping_pong_call(args, &runtime)],
        "ring_1" => vec![messages::ring(args, &runtime, 1)],
        "ring_100" => vec![messages::ring(args, &runtime, 100)],
        "fan_in" => vec![messages::fan_in(args, &runtime, 1)],
        "fan_in_many" => vec![messages::fan_in(args, &runtime, 64)],
        other => return Err(format!("no workload {other:?}")),
    };
    runtime.shutdown_background();
    Ok(lines)
}
