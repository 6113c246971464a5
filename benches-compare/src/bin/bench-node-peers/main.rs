//! What does anvil do with the same requests?
//!
//! `bench-node-peers <workload> --peer anvil`; `SHIFTWORK_BENCH_ANVIL` names the program. Where it
//! is not named, nobody is listed.
use std::process::ExitCode;

use benches::{
    Args,
    node::{Who, Workload, measure},
};

fn main() -> ExitCode {
    match Args::from_env().and_then(|args| run(&args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("bench-node-peers: {problem}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let automine = match args.workload.as_str() {
        // What each of these measures is the generator, has no interval in it, or is ours alone.
        "ceiling" | "dashboard_delay" => return Ok(()),
        "startup" => true,
        name => name.ends_with("_auto"),
    };
    let anvil = Who::Anvil { automine };
    if args.list {
        let found = std::env::var_os("SHIFTWORK_BENCH_ANVIL").is_some();
        if found && Workload::find(&args.workload).is_some() {
            println!("{}", anvil.name());
        }
        return Ok(());
    }
    measure(args, anvil)?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
