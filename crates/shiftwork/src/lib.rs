//! One scheduler for everything that takes turns.
//!
//! Shiftwork runs very many stateful things on a few threads: each exclusively, in order, fairly
//! and fast. The things are called **strands**. A strand has state of its own and takes **turns**;
//! between two turns it is idle until somebody wakes it.
//!
//! # Quick start
//!
//! A strand that counts what it is woken for:
//!
//! ```
//! use shiftwork::{Runtime, Step};
//! use std::sync::mpsc;
//!
//! let runtime = Runtime::new()?;
//! let (orders, inbox) = mpsc::channel::<u64>();
//!
//! let mut total = 0;
//! let (till, mut receipt) = runtime.strand().name("till").idle(move |_turn| {
//!     for order in inbox.try_iter() {
//!         if order == 0 {
//!             return Step::End(total);
//!         }
//!         total += order;
//!     }
//!     Step::Pause
//! })?;
//!
//! for order in [3, 4, 5, 0] {
//!     orders.send(order)?;
//!     till.wake()?; // from any thread, as often as you like
//! }
//! assert_eq!(receipt.join()?, 12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A future is run as a strand, with timers and no other runtime:
//!
//! ```
//! use shiftwork::Runtime;
//! use std::time::Duration;
//!
//! let runtime = Runtime::new()?;
//! let handle = runtime.handle();
//! let mut nap = runtime.spawn(async move {
//!     handle.sleep(Duration::from_millis(1)).await;
//!     "rested"
//! })?;
//! assert_eq!(nap.join()?, "rested");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Code of others runs as tasks: WebAssembly that is preempted, metered and isolated. (The text of
//! this guest is for the reader; tools give the binary.)
//!
//! ```
//! use shiftwork::task::{Options, Scheduler, Value};
//!
//! let guest = wat::parse_str(
//!     r#"(module
//!         (func (export "square") (param i64) (result i64)
//!             (i64.mul (local.get 0) (local.get 0))))"#,
//! )?;
//! let scheduler = Scheduler::new(guest, Options::default())?;
//! for number in 1..=3 {
//!     scheduler.spawn("square", [number])?;
//! }
//! let results = scheduler.run()?;
//! assert_eq!(results[2].outcome, Ok(vec![Value::I64(9)]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What to choose
//!
//! | You have | Use |
//! |---|---|
//! | a closure to run once, nothing to wait for | [`Handle::submit`] |
//! | a closure with a result | [`Handle::compute`] |
//! | a future | [`Handle::spawn`] |
//! | state that lives on between turns | [`Handle::strand`] |
//! | things that send each other messages, and may fail | [`process`] |
//! | work that waits for other work, with priorities and estimates | [`job`] |
//! | transactions that may touch the same | [`job::transaction`] |
//! | code of others, compiled to WebAssembly | [`task`] |
//! | small Ethereum-compatible chains | `shard`, with the feature of that name |
//! | an order in which things must run | a [`Discipline`], in [`Runtime::builder`] |
//! | a wish which worker runs what | a [`Placement`], in [`Runtime::builder`] |
//! | a test that must give the same result every time | [`Builder::simulate`] |
//!
//! # What it does not do
//!
//! It does no input or output, and it does not interrupt Rust code: long turns look at
//! [`Turn::expired`] and yield. A turn that ignores its quantum is reported.

pub use job;
pub use observe;
pub use process;
#[cfg(feature = "shard")]
pub use shard;
pub use task;

pub use kernel::{
    AffinityFn, Attributes, Body, BuildError, Builder, CancelToken, Cancelled, Discipline, Elapsed,
    Event, EventKind, Handle, Histogram, Interval, JoinError, JoinHandle, LEVELS_MAX, Made,
    Metrics, NoSuchWorker, Phase, Placement, Recording, Report, Runtime, RuntimeId, ScheduleError,
    Shutdown, ShutdownTimeout, Simulation, Sleep, Step, Strand, StrandBuilder, StrandId, Stuck,
    TURN_COST, Tick, Timeout, Timer, Turn, WORKERS_MAX, WorkerChange, WorkerId, WorkerMetrics,
    WorkerState, YieldNow, each_seed, yield_now,
};

/// The program in the README runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// And so do the programs of the guide to processes.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/processes.md")]
struct GuideToProcesses;

/// And those of the guide to jobs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/jobs.md")]
struct GuideToJobs;

/// And those of the guide to tasks; the guests in it are compiled and run by the crate `task`.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tasks.md")]
struct GuideToTasks;

/// And the one beside the table of metrics.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/metrics.md")]
struct TableOfMetrics;

/// And those of the guide to timelines.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/timelines.md")]
struct GuideToTimelines;
