//! What may a Rust program that runs as tasks ask of its host?
//!
//! Version 1 of the interface (`docs/abi.md`), with slices for pointers and `Result` for codes.
//! Programs are compiled for `wasm32-unknown-unknown` as a `cdylib`; the README has the flags. On
//! any other target this crate compiles, so that tools and tests of your own code work, and every
//! call panics.
//!
//! Every task has a memory of its own: what one task writes, no other sees, statics included. Tasks
//! give each other numbers and bytes: arguments, results, messages, and the cells of mutexes.
//!
//! ```no_run
//! use shiftwork_guest::{Error, Task};
//!
//! extern "C" fn square(number: i64) -> i64 {
//!     number * number
//! }
//!
//! fn sum_of_squares() -> Result<i64, Error> {
//!     let tasks = [3, 4].map(|number| Task::spawn(square, number));
//!     tasks.into_iter().map(|task| task?.join()).sum()
//! }
//! # sum_of_squares().unwrap();
//! ```

#![no_std]

mod error;
#[cfg_attr(target_arch = "wasm32", path = "host/wasm.rs")]
#[cfg_attr(not(target_arch = "wasm32"), path = "host/native.rs")]
mod host;
mod shared;
mod task;
mod world;

pub use error::Error;
pub use shared::{Channel, Mutex, select};
pub use task::{Function, Task, input, sleep, yield_now};
pub use world::{Level, abi_version, log, now, random};
