//! Tasks: WebAssembly green threads, metered, preemptible and isolated.

mod abi;
mod engine;
mod error;
mod host;
mod id;
mod log;
mod module;
mod object;
mod options;
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
pub use error::{LoadError, RunError, SchedulerError, SpawnError, UnknownTask};
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
