//! What is asked of tasks, how much of it, and how is it timed?
//!
//! The guests are the same bytes for our tasks and for the bare engines. A workload whose name
//! ends in [`JIT`] is the one before it on the engine that compiles. The programs in other
//! languages follow the same sizes and the same steps by hand.

pub mod guests;
pub mod native;

use std::time::Duration;

use crate::{Args, Line, resident};

/// At the end of a workload's name: on the engine that compiles guests to machine code.
pub const JIT: &str = "_jit";

/// The workloads, each on both engines.
pub const WORKLOADS: &[&str] = &[
    "spawn_run_drop",
    "spawn_run_drop_1",
    "live",
    "live_page",
    "ping_pong",
    "ring_1000",
    "skynet",
    "fib30",
    "memory_walk",
    "sieve",
    "ticks",
];

/// Tasks that end at once.
const SPAWNED: u64 = 300_000;
/// Tasks that wait.
const LIVE: u64 = 100_000;
/// The same, where each has a stack and a place that are reserved for it.
const LIVE_JIT: u64 = 5_000;
/// Messages of a ping-pong, hops of a ring.
const MESSAGES: u64 = 1_000_000;
/// Leaves of the skynet, by whose number its time is normalised.
const LEAVES: u64 = 1_000_000;
/// Children of each of its inner nodes.
const CHILDREN: u64 = 10;

/// A workload's name without [`JIT`], and whether that was there.
pub fn engine(workload: &str) -> (&str, bool) {
    match workload.strip_suffix(JIT) {
        Some(workload) => (workload, true),
        None => (workload, false),
    }
}

/// Is there such a workload?
pub fn exists(workload: &str) -> bool {
    WORKLOADS.contains(&engine(workload).0)
}

/// Has `run` spawn, run and drop so many tasks, and reports the time for each.
pub fn spawn(args: &Args, who: &str, mut run: impl FnMut(u64)) -> Line {
    let count = args.items(SPAWNED);
    args.time_per_item(who, "ns/task", count, || run(count))
}

/// Has `start` start so many tasks more, which wait when it returns, and reports how much the
/// resident set has grown for each.
///
/// No warm-up and no repetition: what the first run leaves would be used by the second.
pub fn live(args: &Args, who: &str, mut start: impl FnMut(u64) -> Duration) -> Line {
    const UNIT: &str = "bytes/task";
    let count = args.items(if engine(&args.workload).1 { LIVE_JIT } else { LIVE });
    let (mut taken, tables) = (Duration::ZERO, resident::page_tables());
    let each = resident::growth(count, |count| taken = start(count));
    let (Some(each), Some(before), Some(after)) = (each, tables, resident::page_tables()) else {
        return Line::without(&args.workload, who, UNIT, "no /proc to read".to_owned());
    };
    Line::new(&args.workload, who, UNIT, each)
        .with("ns_each", taken.as_nanos() as f64 / count as f64)
        // The system counts them apart, and those of the first few are not worth an exception.
        .with("page_tables", after.saturating_sub(before) as f64 / count as f64)
        .with("items", count as f64)
        .with("workers", args.workers as f64)
}

/// Has `run` pass a number round a ring of so many members for so many hops, and reports the time
/// for each. `run` tells the time that this took, without the making of the ring.
pub fn ring(args: &Args, who: &str, mut run: impl FnMut(u64, u64) -> Duration) -> Line {
    let (members, unit) = match engine(&args.workload).0 {
        "ping_pong" => (2, "ns/message"),
        _ => (1_000, "ns/hop"),
    };
    let hops = args.items(MESSAGES);
    let ns = args.repeat(Duration::ZERO, || run(members, hops));
    let line = Line::new(&args.workload, who, unit, ns / hops as f64);
    line.with("items", hops as f64).with("workers", args.workers as f64)
}

/// Has `run` sum the numbers of so many leaves, of a tree that `prepare` knows to make, and reports
/// the time. Fewer leaves than a million count as if there were a million.
pub fn skynet<T>(
    args: &Args,
    who: &str,
    prepare: impl FnMut() -> T,
    mut run: impl FnMut(&mut T, u64) -> u64,
) -> Line {
    let leaves = CHILDREN.pow(args.items(LEAVES).ilog(CHILDREN));
    let sum = |prepared: &mut T| {
        let sum = run(prepared, leaves);
        assert_eq!(sum, leaves * (leaves - 1) / 2, "a leaf is missing, or counted twice");
    };
    let ns = args.time_prepared(Duration::ZERO, prepare, sum, drop);
    let ms = ns / 1e6 * LEAVES as f64 / leaves as f64;
    let line = Line::new(&args.workload, who, "ms", ms);
    line.with("items", leaves as f64).with("workers", args.workers as f64)
}

/// A function of [`guests::COMPUTE`], and what is asked of it.
#[derive(Debug, Clone, Copy)]
pub struct Compute {
    /// Its name.
    pub func: &'static str,
    /// Its argument.
    pub argument: i64,
    /// The same in Rust.
    pub native: fn(i64) -> i64,
}

impl Compute {
    /// What a workload computes.
    pub fn of(workload: &str) -> Option<Compute> {
        let (func, argument, native): (_, _, fn(i64) -> i64) = match engine(workload).0 {
            "fib30" => ("fib", 30, native::fib),
            "memory_walk" => ("walk", 2_000_000, native::walk),
            "sieve" => ("sieve", 1_000_000, native::sieve),
            _ => return None,
        };
        Some(Compute { func, argument, native })
    }
}

/// For so long guests compute at least: the first runs of a process are slower, for everyone.
const COMPUTING: Duration = Duration::from_millis(300);

/// Has `run` compute, and reports the time.
pub fn compute(args: &Args, who: &str, what: Compute, mut run: impl FnMut(i64) -> i64) -> Line {
    let (times, expected) = (args.items(1), (what.native)(what.argument));
    let run = |_: &mut ()| {
        for _ in 0..times {
            assert_eq!(run(what.argument), expected, "{} computes something else", what.func);
        }
    };
    let ns = args.time_prepared(COMPUTING, || (), run, |()| ());
    let line = Line::new(&args.workload, who, "ms", ns / 1e6 / times as f64);
    line.with("items", times as f64).with("workers", args.workers as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_is_in_the_name() {
        assert_eq!(engine("ping_pong"), ("ping_pong", false));
        assert_eq!(engine("ping_pong_jit"), ("ping_pong", true));
        assert!(exists("sieve_jit") && !exists("sieve_jit_jit") && !exists("_jit"));
    }

    #[test]
    fn what_computes_is_known_by_both_names() {
        for workload in ["fib30", "fib30_jit", "memory_walk", "sieve"] {
            assert!(Compute::of(workload).is_some(), "{workload}");
        }
        assert!(Compute::of("live").is_none());
    }
}
