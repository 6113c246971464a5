//! What the scheduler needs of an engine: take a task a step further, for so much fuel.
//!
//! ```text
//!   program ── prepare ──> Engine ── instantiate ──> Instance ── step, step, … ──> Returned, Trapped
//!                                                       │  ^
//!                                    import called ──> Calls (the host's side)
//! ```
//!
//! 1. An instance runs only inside `step`, and only there does it touch its [`Calls`], which the
//!    step was lent and gives back.
//! 2. A call that answers [`Answer::Wait`] suspends the guest in the middle of the call, and the
//!    step ends with [`Stepped::Waits`]. The next step first asks [`Calls::resume`] for the answer;
//!    if that is to wait again, the guest does not run.
//! 3. A step ends within its slice, plus at most one operation that costs more (a large `memory.fill`,
//!    say), which runs whole: an engine that needs so much at once gets it, unless it is more than the
//!    task has left in all. Then the step ends as a trap, `TrapKind::OutOfFuel`.
//! 4. An instance that returned or trapped is not stepped again. Dropping one at any time frees all
//!    that it had.

mod arena;
#[cfg(all(test, feature = "jit"))]
mod differential;
#[cfg(test)]
mod script;
mod wasmi;
#[cfg(feature = "jit")]
mod wasmtime;

use std::any::Any;

use crate::{
    abi::{Call, MAX_PARAMETERS},
    error::LoadError,
    module::{Entry, Module},
    options::{EngineKind, Options},
    trap::Trap,
    value::Value,
};

/// A program, compiled.
pub(crate) trait Engine: Send + Sync {
    /// Makes an instance that will call `entry`. `calls` is asked for memory.
    ///
    /// # Errors
    /// If there is no room for it (`TrapKind::Limit`), or its memory or table can not be
    /// initialised.
    fn instantiate(
        &self,
        entry: &Entry,
        arguments: &[Value],
        calls: Box<dyn Calls>,
    ) -> (Box<dyn Calls>, Result<Box<dyn Instance>, Trap>);
}

/// A task's own stack, memory and globals.
pub(crate) trait Instance: Send {
    /// Goes on for about a slice.
    fn step(&mut self, fuel: Fuel, calls: Box<dyn Calls>) -> (Box<dyn Calls>, Step);
}

/// How many operations a step may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fuel {
    /// After so many it ends.
    pub(crate) slice: u64,
    /// So many the task has left in all, the slice among them.
    pub(crate) left: u64,
}

/// How a step went.
#[derive(Debug)]
pub(crate) struct Step {
    /// What became of the guest.
    pub(crate) end: Stepped,
    /// The operations it used; host calls count as [`Calls::cost`] says.
    pub(crate) used: u64,
}

/// Why a step ended.
#[derive(Debug)]
pub(crate) enum Stepped {
    /// The fuel is used up, the guest is not done.
    Preempted,
    /// A call waits.
    Waits,
    /// The function returned.
    Returned(Vec<Value>),
    /// The guest trapped. Behind a pointer: a trap is large, most steps have none, and each step is
    /// moved through several hands.
    Trapped(Box<Trap>),
}

/// The answer to a guest's call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The call returns: this as its result, in the low bits for an `i32`, nothing for none.
    Return(u64),
    /// The call waits.
    Wait,
}

/// The host's side of a task: whatever a guest can reach.
pub(crate) trait Calls: Any + Send {
    /// What `call` costs, in operations, with these arguments.
    fn cost(&self, call: Call, arguments: &[u64; MAX_PARAMETERS]) -> u64;

    /// The guest has called an import. An `i32` argument comes zero-extended; those beyond the
    /// signature are 0. A guest without a memory has an empty one.
    fn call(&mut self, call: Call, arguments: [u64; MAX_PARAMETERS], memory: &mut [u8]) -> Answer;

    /// The task was woken after a call that waits.
    fn resume(&mut self, memory: &mut [u8]) -> Answer;

    /// Whether a memory may grow from `current` to `desired` bytes (a new one grows from 0). What was
    /// allowed stays counted until the task ends.
    fn grow_memory(&mut self, current: usize, desired: usize) -> bool;

    /// Whether a table may grow from `current` to `desired` entries.
    fn grow_table(&mut self, current: usize, desired: usize) -> bool;

    /// Whether a stack may begin with this many bytes.
    fn begin_stack(&mut self, bytes: usize) -> bool;
}

/// Compiles a module for the engine that the options name.
///
/// # Errors
/// If the engine is not part of this build, or will not have the module.
pub(crate) fn prepare(module: &Module, options: &Options) -> Result<Box<dyn Engine>, LoadError> {
    match options.engine {
        EngineKind::Wasmi => Ok(Box::new(wasmi::prepare(module, options)?)),
        #[cfg(feature = "jit")]
        EngineKind::Wasmtime => Ok(Box::new(wasmtime::prepare(module, options)?)),
        #[cfg(not(feature = "jit"))]
        EngineKind::Wasmtime => Err(LoadError::NoSuchEngine("wasmtime")),
    }
}
