//! How much address space does a program get, and how is its code compiled?
//!
//! Every task that has begun needs a place: a stack, and what the module has of memory and tables.
//! The pool reserves all places when the program is loaded, so that making an instance is a matter
//! of microseconds. What is reserved costs address space; what is touched costs memory.
//!
//! ```text
//!   memories   | 4 GiB + guard | 4 GiB + guard | …     Guarded: a load outside faults
//!              | limit + guard | limit + guard | …     Checked: the code compares addresses
//!   tables     | entries | entries | …
//!   stacks     | guard | host's room + wasm's stack | guard | …
//! ```
//!
//! The sizes are hard limits. They come from [`Limits`] and from what the module says of itself:
//! a module without a memory reserves none.

use ::wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
    Strategy,
};

use crate::{
    error::LoadError,
    module::{Module, PAGE},
    options::Limits,
};

/// Host calls run on the guest's stack: this much is theirs.
const HOST_ROOM: usize = 512 << 10;

/// The first bytes of a stack, a memory and each table stay resident from one task to the next, cleared.
/// What was touched beyond is given back to the system. Getting it again costs more than clearing,
/// but what stays counts for every place that was ever used.
const STACK_KEPT: usize = 4 << 10;
const MEMORY_KEPT: usize = 16 << 10;
const TABLE_KEPT: usize = 4 << 10;

/// Functions that a backtrace shows.
const BACKTRACE_MAX: usize = 32;

/// What each task may have, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Tasks that have begun and not ended.
    pub(super) places: u32,
    /// Memories: one or none.
    memories: u32,
    /// Bytes of the memory.
    pub(super) memory: usize,
    /// Tables.
    tables: u32,
    /// Entries of each table.
    pub(super) table: usize,
    /// Bytes of the guest's part of the stack.
    stack: usize,
}

impl Sizes {
    pub(super) fn of(module: &Module, limits: &Limits) -> Sizes {
        let places = limits.tasks.min(limits.jit_tasks).max(1);
        let memory = module.memory.map_or(0, |memory| {
            let declared = memory.maximum.unwrap_or(u64::MAX).saturating_mul(PAGE as u64);
            let allowed = limits.task_memory / PAGE * PAGE;
            usize::try_from(declared).unwrap_or(usize::MAX).min(allowed)
        });
        Sizes {
            places: u32::try_from(places).unwrap_or(u32::MAX),
            memories: u32::from(module.memory.is_some()),
            memory,
            tables: module.tables.len() as u32,
            table: module.tables.iter().copied().max().unwrap_or(0),
            stack: limits.stack.max(PAGE),
        }
    }

    /// Bytes of a stack that a task has at least: what stays resident of it.
    pub(super) fn stack_at_first(&self) -> usize {
        STACK_KEPT.min(self.stack)
    }

    /// Bytes of a stack, all of it touched.
    pub(super) fn stack_at_most(&self) -> usize {
        self.stack + HOST_ROOM
    }
}

/// How loads and stores outside the memory are found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Every address that a guest can form is reserved. The code needs no checks.
    Guarded,
    /// Only what a memory may grow to is reserved, and the code checks.
    Checked,
}

/// An engine of wasmtime with a pool of these sizes.
///
/// # Errors
/// If the system has no address space left for it.
pub(super) fn engine(sizes: &Sizes) -> Result<Engine, LoadError> {
    // Some programs with ten thousand places of 4 GiB fill the 47 bits that a process has.
    engine_with(sizes, Layout::Guarded)
        .or_else(|_| engine_with(sizes, Layout::Checked))
        .map_err(|error| no_room(sizes, &error))
}

pub(super) fn engine_with(sizes: &Sizes, layout: Layout) -> ::wasmtime::Result<Engine> {
    let mut config = config(sizes);
    match layout {
        Layout::Guarded => config.memory_reservation(4 << 30).memory_guard_size(32 << 20),
        Layout::Checked => {
            config.memory_reservation(sizes.memory as u64).memory_guard_size(PAGE as u64)
        }
    };
    Engine::new(&config)
}

fn no_room(sizes: &Sizes, error: &::wasmtime::Error) -> LoadError {
    LoadError::Engine {
        engine: "wasmtime",
        why: format!(
            "there is no room for {} tasks ({error:#}); lower the limit `jit_tasks`, or load fewer \
             programs at once",
            sizes.places
        ),
    }
}

fn config(sizes: &Sizes) -> Config {
    let mut config = Config::new();
    config
        .strategy(Strategy::Cranelift)
        .cranelift_opt_level(OptLevel::Speed)
        .consume_fuel(true)
        .max_wasm_stack(sizes.stack)
        .async_stack_size(sizes.stack_at_most())
        // A task's stack is not left in memory, nor legible, for the next; but see `warm.rs`.
        .async_stack_zeroing(true)
        .memory_init_cow(true)
        // A memory in a pool stays where it is, so its address can be kept in a register.
        .memory_may_move(false)
        .wasm_backtrace_max_frames(BACKTRACE_MAX.try_into().ok())
        // Names of functions are all that we show.
        .generate_address_map(false)
        .native_unwind_info(false)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool(sizes)))
        // What the loader lets through, and no more.
        .wasm_tail_call(false)
        .wasm_simd(false)
        .wasm_relaxed_simd(false)
        .wasm_multi_memory(false)
        .wasm_memory64(false);
    config
}

fn pool(sizes: &Sizes) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_core_instances(sizes.places)
        .total_stacks(sizes.places)
        .total_memories(sizes.places.saturating_mul(sizes.memories))
        .max_memories_per_module(sizes.memories)
        .max_memory_size(sizes.memory)
        .total_tables(sizes.places.saturating_mul(sizes.tables))
        .max_tables_per_module(sizes.tables)
        .table_elements(sizes.table)
        .async_stack_keep_resident(STACK_KEPT)
        .linear_memory_keep_resident(MEMORY_KEPT)
        .table_keep_resident(TABLE_KEPT)
        // It would clear the pages that the system says were touched and are there. One that is swapped
        // out, or just being moved, is not there, and the next task would find what was in it.
        .pagemap_scan(Enabled::No);
    pool
}
