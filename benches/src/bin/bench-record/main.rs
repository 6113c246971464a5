//! What does a recording cost?
//!
//! `bench-record <workload> [--workers N] [--scale N]` runs the same work with the recorder on and
//! off, in turns and in one process, and prints as one line of JSON what is left of the throughput.
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement reads the real clock and plays the outside world with real threads"
)]

mod kernel_and_above;
#[cfg(feature = "shards")]
mod transfers;
mod work;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use benches::{Args, Line, report::median};
use kernel::{Discipline, Handle, Runtime};

/// How we are called in the tables.
const OURS: &str = "shiftwork";

/// So many pairs of runs for each repetition asked for: what disturbs the machine disturbs one of
/// them, and the median pair counts.
const PAIRS: usize = 7;

fn main() -> ExitCode {
    match Args::from_env().and_then(|args| run(&args)) {
        Ok(lines) => lines.iter().for_each(|line| println!("{line}")),
        Err(problem) => {
            eprintln!("bench-record: {problem}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Some work that can be done again and again, and how much of it one run does. A run tells how long
/// it took, without what it had to prepare.
struct Load {
    items: u64,
    run: Box<dyn FnMut() -> Duration>,
}

fn timed(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

/// Makes a load on a runtime.
type Make = fn(&Args, &Handle) -> Load;

fn find(workload: &str) -> Option<Make> {
    Some(match workload {
        "jobs_10us" => kernel_and_above::jobs_10us,
        "messages_1us" => kernel_and_above::messages_1us,
        "tasks" => kernel_and_above::tasks,
        #[cfg(feature = "shards")]
        "transfers" => transfers::transfers,
        "bare_jobs" => kernel_and_above::bare_jobs,
        "bare_messages" => kernel_and_above::bare_messages,
        _ => return None,
    })
}

fn run(args: &Args) -> Result<Vec<Line>, String> {
    let make = find(&args.workload).ok_or(format!("no workload {:?}", args.workload))?;
    if args.list {
        println!("{OURS}");
        return Ok(Vec::new());
    }
    let builder = Runtime::builder().workers(args.workers);
    // As the node has them.
    let shards = args.workload == "transfers";
    let discipline = if shards { Discipline::Fifo } else { Discipline::Stealing };
    let runtime = builder.discipline(discipline).build().map_err(|error| error.to_string())?;
    let load = make(args, &runtime);
    let line = measure(args, &runtime, load);
    runtime.shutdown_background();
    Ok(vec![line])
}

fn measure(args: &Args, handle: &Handle, mut load: Load) -> Line {
    let mut each = |on: bool| {
        handle.record(on);
        (load.run)().as_nanos() as f64 / load.items as f64
    };
    // Everything is warm, and the clock knows how long a tick is.
    for on in [false, true, false, true] {
        each(on);
    }
    let (mut kept, mut with, mut without) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..args.repeats * PAIRS {
        // Another first each time.
        let first = pair % 2 == 0;
        let (one, other) = (each(first), each(!first));
        let (on, off) = if first { (one, other) } else { (other, one) };
        kept.push(off / on);
        with.push(on);
        without.push(off);
    }
    let line = Line::new(&args.workload, OURS, "of the throughput", median(&mut kept));
    line.with("on_ns", median(&mut with))
        .with("off_ns", median(&mut without))
        .with("items", load.items as f64)
        .with("workers", args.workers as f64)
}
