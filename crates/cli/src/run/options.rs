//! What can be asked of `shiftwork run`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, ValueEnum};
use shiftwork::task::{self, EngineKind, LoadError};

use super::{
    guest_log::{self, Level},
    parse,
};

/// What it is for, and what its exit code says.
pub(crate) const ABOUT: &str = "\
Run a WebAssembly program: its main function is a task, which may spawn others.

Tasks are green threads: each has a memory of its own, is preempted after its slice of operations,
and can reach nothing but the functions of the module \"shiftwork\" (spawn, channels, mutexes, time
and chance; no files, no network, no WASI). Languages that compile to WebAssembly will do; see
docs/tasks.md.

What the function returns is printed to standard output, and nothing else is. What guests log, and
what went wrong, goes to standard error.";

const AFTER_HELP: &str = "\
The exit code says what came of it:
  0   the function returned; if another task failed, somebody awaited it
  1   the function failed, or another task did and nobody awaited it
  2   something is wrong with the command line or the module, and nothing was run
  3   deadlock: all tasks waited, each for another or for nothing; the explanation is printed
  4   the time was over (--timeout)
  5   a limit was reached: the module has more than it may, as a memory that begins with more than
      --memory; a task found no room in --program-memory, had used up --fuel, or came too deep in calls;
      or it gave up (`unreachable`, as the bindings do) right after a call was refused by a limit, as by
      --tasks. A `memory.grow` that is too much gives -1; a guest that gives up then has failed: 1
  130 Ctrl-C: tasks were asked to end, and did. A second Ctrl-C does not wait for that.

Examples:
  shiftwork run app.wasm                      calls `main`, or else `_start`
  shiftwork run app.wasm --func fib 30
  shiftwork run math.wat --func add -1 2.5
  shiftwork run app.wasm --json --timeout 10s
  shiftwork run app.wasm --seed 7             the same interleaving each time
  shiftwork run app.wasm --seed 7 --gantt who.svg";

#[derive(Args)]
#[command(after_long_help = AFTER_HELP)]
pub(crate) struct Options {
    /// The program: WebAssembly, or its text format if the name ends in .wat
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What the function is called with: numbers, one for each parameter
    #[arg(value_name = "ARGS", allow_negative_numbers = true)]
    pub(crate) arguments: Vec<String>,
    /// The function to call [default: main, or else _start]
    #[arg(long, value_name = "NAME")]
    pub(crate) func: Option<String>,
    /// End when that function has returned, and do not wait for the other tasks
    #[arg(long)]
    pub(crate) exit_with_main: bool,

    /// What runs the guests
    #[arg(long, value_enum, default_value_t = Engine::Wasmi, help_heading = "Scheduling")]
    engine: Engine,
    /// How many workers [default: SHIFTWORK_WORKERS, else one per core]
    #[arg(long, value_name = "N", help_heading = "Scheduling")]
    pub(crate) workers: Option<usize>,
    /// Preempt a task after so many operations [default: 10000; 100000 for wasmtime]
    #[arg(long, value_name = "OPS", value_parser = parse::operations, help_heading = "Scheduling")]
    threshold: Option<u64>,
    /// Run in the simulated runtime: the same seed gives the same interleaving
    ///
    /// One thread plays all workers, and time is virtual: a task that sleeps for an hour takes no
    /// time, and --timeout counts virtual time too.
    #[arg(long, value_name = "N", help_heading = "Scheduling")]
    pub(crate) seed: Option<u64>,

    /// How large the memory of one task may grow, in bytes or with K, M or G [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = parse::memory, help_heading = "Limits")]
    memory: Option<usize>,
    /// How large the memories of all tasks may be together [default: 8G]
    ///
    /// What counts is what guests see: 64K for each page, touched or not. The default is enough for a
    /// hundred thousand tasks with a page each.
    #[arg(long, value_name = "SIZE", value_parser = parse::program_memory, help_heading = "Limits")]
    program_memory: Option<usize>,
    /// How many tasks there may be at once [default: 1000000]
    #[arg(long, value_name = "N", value_parser = parse::tasks, help_heading = "Limits")]
    tasks: Option<usize>,
    /// How many operations one task may use in all [default: no limit]
    #[arg(long, value_name = "OPS", value_parser = parse::operations, help_heading = "Limits")]
    fuel: Option<u64>,
    /// End after this time: 500ms, 10s, 2m [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = parse::duration, help_heading = "Limits")]
    pub(crate) timeout: Option<Duration>,

    /// Print the results of all tasks as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print what the scheduler did, to standard error (with --json it is part of that)
    #[arg(long, help_heading = "Output")]
    pub(crate) stats: bool,
    /// Write which task ran where to a file that https://ui.perfetto.dev shows
    ///
    /// With --seed it shows virtual time, and the same seed gives the same file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) timeline: Option<PathBuf>,
    /// Draw which task ran where, as a picture: a row for each worker, a bar for each turn (SVG)
    ///
    /// For short runs: of more than 10,000 turns the longest are drawn. With --seed it shows virtual
    /// time, and the same seed gives the same picture.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) gantt: Option<PathBuf>,
    /// Which lines of the guests' log to print
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = Level::Info,
        help_heading = "Output")]
    log: Level,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// An interpreter: quick to start, a hundred thousand tasks at once
    Wasmi,
    /// Machine code: several times faster on guests that compute; needs the feature `jit`
    Wasmtime,
}

impl Options {
    /// The same, as the library wants it.
    pub(crate) fn for_program(&self) -> task::Options {
        let mut options = task::Options::default();
        options.engine = match self.engine {
            Engine::Wasmi => EngineKind::Wasmi,
            Engine::Wasmtime => EngineKind::Wasmtime,
        };
        options.preemption_threshold = self.threshold;
        options.fuel = self.fuel;
        options.log = guest_log::sink(self.log);
        if let Some(memory) = self.memory {
            options.limits.task_memory = memory;
        }
        if let Some(memory) = self.program_memory {
            options.limits.program_memory = memory;
        }
        if let Some(tasks) = self.tasks {
            options.limits.tasks = tasks;
        }
        options
    }

    /// The error, with what to do about it where that is a matter of this command.
    pub(crate) fn with_advice(error: LoadError) -> anyhow::Error {
        match error {
            LoadError::NoSuchEngine(engine) => anyhow::anyhow!(
                "the engine {engine} is not part of this build. To get it: \
                 cargo run --release --features jit -- run …"
            ),
            LoadError::Limit(what) if what.contains("memory") => {
                LoadError::Limit(what + " (see --memory)").into()
            }
            // There are no more places than there may be tasks.
            LoadError::Engine { engine, why } if why.contains("jit_tasks") => {
                LoadError::Engine { engine, why: why + " (see --tasks)" }.into()
            }
            error => error.into(),
        }
    }
}
