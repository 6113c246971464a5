//! What does our node do over JSON-RPC, workload by workload?
//!
//! `bench-node <workload> [--workers N] [--scale N]`; `SHIFTWORK_BENCH_NODE` names the program.
use std::process::ExitCode;

use benches::{
    Args,
    node::{Who, Workload, measure},
};

fn main() -> ExitCode {
    match Args::from_env().and_then(|args| run(&args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("bench-node: {problem}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    if args.list {
        if Workload::find(&args.workload).is_some() {
            println!("{}", Who::Shiftwork.name());
        }
        return Ok(());
    }
    measure(args, Who::Shiftwork)?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
