//! Tasks: WebAssembly green threads, metered, preemptible and isolated.
//!
//! A task is a function of a guest's module, running with a stack and a memory of its own. It runs for
//! some thousand operations, then others get their turn; while it waits it costs memory and no worker,
//! and a hundred thousand of them in one process are fine. What it does is counted, what it may have
//! is limited, and what it can reach is in one small interface: a guest that was written by a stranger
//! can do no more than waste the time that it was given.
//!
//! ```
//! use task::{Options, Scheduler, Value};
//!
//! // A guest that adds up the numbers from 1 to n, each in a task of its own.
//! let module = wat::parse_str(
//!     r#"(module
//!         (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
//!         (import "shiftwork" "await" (func $await (param i64 i32) (result i32)))
//!         (memory 1)
//!         (table (export "table") funcref (elem $same))
//!         (func $same (param i64) (result i64) (local.get 0))
//!         (func (export "sum") (param $n i64) (result i64) (local $sum i64)
//!             (loop $next
//!                 (drop (call $await (call $spawn (i32.const 0) (local.get $n)) (i32.const 0)))
//!                 (local.set $sum (i64.add (local.get $sum) (i64.load (i32.const 0))))
//!                 (local.set $n (i64.sub (local.get $n) (i64.const 1)))
//!                 (br_if $next (i64.gt_s (local.get $n) (i64.const 0))))
//!             (local.get $sum)))"#,
//! )?;
//! let scheduler = Scheduler::new(module, Options::default())?;
//! scheduler.spawn("sum", [100])?;
//! let results = scheduler.run()?;
//! assert_eq!(results[0].outcome, Ok(vec![Value::I64(5050)]));
//! assert_eq!(results.len(), 101);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The model
//!
//! **Programs.** A [`Program`] is a module and its tasks, on a [`kernel::Runtime`] that it may share
//! with other programs, or in a [`kernel::Simulation`]. A [`Scheduler`] is a program with a runtime of
//! its own. [`spawn`](Program::spawn) starts a function by name, [`run`](Program::run) waits for all
//! tasks, [`task`](Program::task) for one.
//!
//! **What guests can do** is in `docs/abi.md`: spawn and await tasks, send and receive over channels,
//! lock mutexes that guard a few bytes each, sleep, log, ask for the time and for random bytes. Nothing
//! else: a module that imports anything but these is refused by name.
//!
//! **Ends.** A task returns, or fails with a [`TaskError`], which concerns no other task; whoever awaits
//! it is told. A mutex that it held is poisoned. [`cancel`](Program::cancel) and
//! [`shutdown`](Program::shutdown) ask tasks to end: calls that would wait are answered with code 4, and
//! one that does not end by itself is ended. If no task can go on and [`run`](Program::run) waits for
//! them, each fails with a [`Deadlock`], which says who waited for what.
//!
//! **Limits.** Whatever a guest can ask for has its limit in [`Limits`]; whatever it does costs
//! operations, of which [`Options::fuel`] may bound the sum.
//!
//! **Engines.** [`EngineKind::Wasmi`] interprets, [`EngineKind::Wasmtime`] compiles (with the feature
//! `jit`). The same program runs on both, with the same results; operations are counted by each in its
//! own way, so tasks interleave differently.
//!
//! # What it does not do
//! There is no WASI: no files, no network, no environment. Tasks share no memory. Randomness is not for
//! secrets.

mod abi;
mod demangle;
mod engine;
mod error;
mod host;
mod id;
mod log;
mod module;
mod object;
mod options;
#[cfg(all(test, not(any(loom, shuttle))))]
mod page;
mod program;
mod scheduler;
#[cfg(any(test, shuttle))]
#[doc(hidden)]
pub mod scripted;
mod sync;
mod task;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod trap;
mod value;

pub use abi::{Code, VERSION};
pub use error::{LoadError, Malformed, RunError, SchedulerError, SpawnError, UnknownTask};
pub use id::{ChannelId, MutexId, TaskId};
pub use log::{LogLevel, LogLine, LogSink};
pub use options::{EngineKind, Limits, Options};
pub use program::{
    Program,
    deadlock::{Deadlock, DeadlockedTask},
    finished::{Finished, TaskEnd},
    functions::Function,
    inspect::{TaskInfo, TaskState},
    outcome::{TaskError, TaskResult},
    stats::Stats,
};
pub use scheduler::Scheduler;
pub use task::cell::BlockReason;
pub use trap::{Trap, TrapKind};
pub use value::{NO_ARGUMENTS, Value, ValueType};
