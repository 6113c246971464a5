//! What does a process cost to make, to keep, and to make by the million?

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use benches::{Args, Line, Tally, report::percentile};
use kernel::{Runtime, yield_now};
use process::{Addr, Context, Processes};

use crate::OURS;

const SPAWNED: u64 = 1_000_000;
const IDLE: u64 = 1_000_000;
const LEAVES: u64 = 1_000_000;
/// How many a spawner makes before it lets others run.
const HANDFUL: u64 = 32;

/// Processes that end at once, made by one process on each worker.
pub(crate) fn spawn(args: &Args, runtime: &Runtime) -> Line {
    let spawned = args.items(SPAWNED);
    args.time_per_item(OURS, "ns/process", spawned, || {
        let done = Tally::leaked();
        let spawner = runtime.spawn_process(move |ctx: Context<()>| async move {
            let runtime = ctx.runtime().clone();
            let mut left = spawned;
            while left > 0 {
                for _ in 0..left.min(HANDFUL) {
                    let small =
                        runtime.spawn_process(move |_: Context<()>| async move { done.add() });
                    small.expect("the runtime runs");
                }
                left -= left.min(HANDFUL);
                yield_now().await;
            }
        });
        spawner.expect("the runtime runs");
        done.wait_for(spawned);
    })
}

/// Bytes per idle process that waits for a message.
pub(crate) fn memory(args: &Args, runtime: &Runtime) -> Line {
    let count = args.items(IDLE);
    let before = resident();
    let ready = Tally::leaked();
    let crowd: Vec<Addr<u64>> = (0..count)
        .map(|_| {
            let process = runtime.spawn_process(move |mut ctx: Context<u64>| async move {
                ready.add();
                while ctx.receive().await.is_some() {}
            });
            process.expect("the runtime runs")
        })
        .collect();
    ready.wait_for(count);
    let bytes = (resident() - before) as f64 / count as f64;
    let line = Line::new(&args.workload, OURS, "B/process", bytes);
    drop(crowd);
    line.with("items", count as f64).with("workers", args.workers as f64)
}

/// What the process has in memory, in bytes.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

/// A tree of processes, ten below each, whose leaves send their number up.
pub(crate) fn skynet(args: &Args, runtime: &Runtime) -> Line {
    let leaves = args.items(LEAVES);
    let line = args.time_per_item(OURS, "ms", 1_000_000, || {
        let done = Tally::leaked();
        let root = runtime.spawn_process(move |mut ctx: Context<u64>| async move {
            node(ctx.runtime(), ctx.addr(), 0, leaves);
            let sum = ctx.receive().await.expect("nobody cancels it");
            assert_eq!(sum, leaves * (leaves - 1) / 2);
            done.add();
        });
        root.expect("the runtime runs");
        done.wait_for(1);
    });
    line.with("leaves", leaves as f64)
}

fn node(runtime: &kernel::Handle, up: Addr<u64>, number: u64, size: u64) {
    let process = runtime.spawn_process(move |mut ctx: Context<u64>| async move {
        if size == 1 {
            up.send(number).expect("it waits");
            return;
        }
        let below = size / 10;
        for child in 0..10 {
            node(ctx.runtime(), ctx.addr(), number + child * below, below);
        }
        let mut sum = 0;
        for _ in 0..10 {
            sum += ctx.receive().await.expect("nobody cancels it");
        }
        up.send(sum).expect("it waits");
    });
    process.expect("the runtime runs");
}

/// A hundred processes that want to run each millisecond, beside hogs that never block.
pub(crate) fn latency(args: &Args, runtime: &Runtime) -> Vec<Line> {
    let ticks = args.items(500);
    let late = Arc::new(Mutex::new(Vec::new()));
    let done = Tally::leaked();
    let mut hogs = Vec::new();
    for _ in 0..2 * args.workers {
        let hog = runtime.spawn_process(|ctx: Context<()>| async move {
            let mut number = 1u64;
            while !ctx.is_cancelled() {
                while !ctx.runtime().turn_expired() {
                    number = std::hint::black_box(number.wrapping_mul(31));
                }
                yield_now().await;
            }
        });
        hogs.push(hog.expect("the runtime runs"));
    }
    for _ in 0..100 {
        let late = late.clone();
        let ticked = runtime.spawn_process(move |ctx: Context<()>| async move {
            let mut mine = Vec::with_capacity(ticks as usize);
            for _ in 0..ticks {
                let due = Instant::now() + Duration::from_millis(1);
                ctx.sleep(Duration::from_millis(1)).await;
                mine.push(Instant::now().saturating_duration_since(due).as_nanos() as f64 / 1e6);
            }
            late.lock().expect("nobody panics").extend(mine);
            done.add();
        });
        ticked.expect("the runtime runs");
    }
    done.wait_for(100);
    hogs.iter().for_each(Addr::kill);
    let mut late = late.lock().expect("nobody panics");
    let p50 = percentile(&mut late, 50.0);
    let p99 = percentile(&mut late, 99.0);
    let line = Line::new(&args.workload, OURS, "ms", p50);
    vec![line.with("p99", p99).with("workers", args.workers as f64)]
}
