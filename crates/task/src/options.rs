//! How a program is run, and how much it may use.

use crate::log::LogSink;

/// Which engine runs the guests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EngineKind {
    /// An interpreter: small, quick to start, a hundred thousand tasks at once.
    #[default]
    Wasmi,
    /// Machine code: several times faster on guests that compute, some ten thousand tasks at once.
    /// Needs the feature `jit`.
    Wasmtime,
}

impl EngineKind {
    /// After how many operations a task is preempted, unless the options say otherwise.
    pub fn default_threshold(self) -> u64 {
        match self {
            EngineKind::Wasmi => 10_000,
            EngineKind::Wasmtime => 100_000,
        }
    }
}

/// How a program is run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Which engine runs it.
    pub engine: EngineKind,
    /// Operations after which a task is preempted; `None`: the engine's own number.
    pub preemption_threshold: Option<u64>,
    /// Operations that a task may use in all; `None`: as many as it likes. The exact count of an
    /// operation is the engine's own.
    pub fuel: Option<u64>,
    /// How many workers a [`Scheduler`](crate::Scheduler) starts; `None`: as `SHIFTWORK_WORKERS`
    /// says, or one for each core. A program that is loaded on a runtime has that one's workers.
    pub num_workers: Option<usize>,
    /// Where the lines go that guests log; at first, nowhere.
    pub log: LogSink,
    /// How much the program may use.
    pub limits: Limits,
}

impl Options {
    /// The number of operations after which a task is preempted.
    pub fn threshold(&self) -> u64 {
        self.preemption_threshold.unwrap_or(self.engine.default_threshold()).max(1)
    }
}

/// How much a program may use. Whatever a guest can ask for has its limit here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a module.
    pub module_bytes: usize,
    /// Bytes of one task's memory.
    pub task_memory: usize,
    /// Bytes of all tasks that have begun and not ended, together. What counts is each task's memory, as
    /// the guest sees it; 8 bytes for each entry of its tables; and what its stack has at first, 512 bytes
    /// under [`EngineKind::Wasmi`] and 4 KiB under [`EngineKind::Wasmtime`]. How far a stack grows is
    /// bounded by [`Limits::stack`] for each task, and is not counted here: the engines do not tell.
    ///
    /// The default is enough for a hundred thousand tasks with a page each. Of the pages that a memory
    /// begins with, those that nobody has touched need no memory of the machine, so this is what a program
    /// can come to need, and not what it does: set it to what the machine can spare where guests are not
    /// trusted. Pages by which a memory grows are touched at once under [`EngineKind::Wasmi`], which
    /// writes zeroes to them.
    pub program_memory: usize,
    /// Entries of a task's tables, together.
    pub table_entries: usize,
    /// Bytes of one task's stack. [`EngineKind::Wasmtime`] gives each 64 KiB at least.
    pub stack: usize,
    /// Calls within calls, under [`EngineKind::Wasmi`]. [`EngineKind::Wasmtime`] does not count them: there
    /// the stack is the only bound.
    pub call_depth: usize,
    /// Tasks that have not ended.
    pub tasks: usize,
    /// Tasks that have begun and not ended, under [`EngineKind::Wasmtime`]: it reserves a stack and a
    /// memory for each when the program is loaded. One task more fails with
    /// [`TrapKind::Limit`](crate::TrapKind::Limit).
    pub jit_tasks: usize,
    /// Tasks that have ended and whose results are kept. The oldest are forgotten first.
    pub results: usize,
    /// Open channels.
    pub channels: usize,
    /// Mutexes.
    pub mutexes: usize,
    /// Messages that one channel holds, and the largest capacity.
    pub channel_capacity: usize,
    /// Bytes of one message, one mutex's cell, one task's input, one line of the log.
    pub message_bytes: usize,
    /// Bytes of all messages, cells and inputs together, and 64 for each channel of each select that
    /// waits. A message for a receiver that waits already is on its way no longer, and does not count: it
    /// is no larger than the receiver's buffer.
    pub bytes_in_flight: usize,
    /// Channels in one select.
    pub select: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            module_bytes: 64 << 20,
            task_memory: 64 << 20,
            program_memory: 8 << 30,
            table_entries: 100_000,
            stack: 1 << 20,
            call_depth: 10_000,
            tasks: 1_000_000,
            jit_tasks: 10_000,
            results: 1_000_000,
            channels: 100_000,
            mutexes: 100_000,
            channel_capacity: 1 << 20,
            message_bytes: 1 << 20,
            bytes_in_flight: 256 << 20,
            select: 1_024,
        }
    }
}
