//! How is a measurement taken, so that ours and its peers are measured alike?
//!
//! `bench-kernel` (in this crate) and `bench-kernel-peers` (in `benches-compare`) run the same
//! workloads, and so do the pairs of programs for processes, jobs and tasks. Whatever is not the
//! scheduler itself lives here and is shared by both: the sizes, the work inside a job, how
//! completion is noticed, how time and CPU are read, and the line of JSON that comes out. What
//! each workload does, and why it is the same work for everyone, is in `docs/benchmarks.md`.
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement reads the real clock and plays the outside world with real threads"
)]

pub mod args;
pub mod cpu;
pub mod fairness;
pub mod job;
pub mod join_tree;
#[cfg(feature = "node")]
pub mod node;
pub mod process;
pub mod report;
pub mod resident;
#[cfg(feature = "shards")]
pub mod shard;
pub mod sizes;
pub mod submit;
pub mod tally;
pub mod task;
pub mod ticks;
pub mod timers;
pub mod wake_delay;

pub use args::Args;
pub use report::Line;
pub use tally::Tally;

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
