//! What do shards of ours cost, workload by workload?
//!
//! `bench-shard <workload> [--workers N] [--scale N]` prints one line of JSON per result. Data goes
//! to a directory below the system's one for temporary files, which is removed afterwards.
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement reads the real clock and plays the outside world with real threads"
)]

mod growth;
mod latency;
mod ours;
mod reads;
mod throughput;

use std::process::ExitCode;

use benches::{Args, Line, report::median, shard};

/// How we are called in the tables.
const OURS: &str = "shiftwork";

fn main() -> ExitCode {
    match Args::from_env().and_then(|args| run(&args)) {
        Ok(lines) => lines.iter().for_each(|line| println!("{line}")),
        Err(problem) => {
            eprintln!("bench-shard: {problem}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Measures, or says that there is no such workload.
type Measure = fn(&Args) -> Vec<Line>;

fn find(workload: &str) -> Option<Measure> {
    if shard::throughput(workload).is_some() {
        return Some(throughput::transactions);
    }
    Some(match workload {
        "storage_cost" => throughput::storage_cost,
        "accounts_100" | "accounts_10000" | "accounts_1000000" => throughput::accounts,
        "parallel_swapapart" | "parallel_swap" => throughput::parallel,
        "latency_1" | "latency_64" | "blocks_1" | "blocks_64" => latency::latency,
        "growth_1000" | "growth_10000" | "growth_100000" | "growth_1000000" => growth::growth,
        "reads" => reads::reads,
        "reopen" => reads::reopen,
        _ => return None,
    })
}

fn run(args: &Args) -> Result<Vec<Line>, String> {
    let measure = find(&args.workload).ok_or(format!("no workload {:?}", args.workload))?;
    if args.list {
        println!("{OURS}");
        return Ok(Vec::new());
    }
    Ok(measure(args))
}

fn middle(samples: impl IntoIterator<Item = f64>) -> f64 {
    median(&mut samples.into_iter().collect::<Vec<f64>>())
}
