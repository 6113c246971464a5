//! What can be wrong with a module, a call from outside, or a program's end.

use std::fmt;

use kernel::{BuildError, ScheduleError};

use crate::{
    id::TaskId,
    value::{Value, ValueType},
};

/// Why a module can not be run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// It is not WebAssembly, or broken.
    NotAModule {
        /// What is wrong, in short, and where.
        why: String,
        /// The same in the validator's words: the [`source`](std::error::Error::source) of this error.
        detail: Malformed,
    },
    /// It is a component, not a core module.
    Component,
    /// It imports something that is not ours.
    UnknownImport {
        /// The import's module.
        module: String,
        /// The import's name.
        name: String,
    },
    /// It imports a function of ours with another type.
    WrongImportType {
        /// The import's name.
        name: String,
        /// The type it has here.
        expected: String,
        /// The type that the module declares.
        found: String,
    },
    /// It needs more than the limits allow.
    Limit(String),
    /// It has to do with things of the host (`externref`), and tasks have none.
    HostReference {
        /// Which import or function has it in its type, or where else it is.
        place: String,
    },
    /// It uses a feature of WebAssembly that guests may not use here.
    Unsupported(String),
    /// The engine is not part of this build.
    NoSuchEngine(&'static str),
    /// The engine will not have it, or has no room for its tasks.
    Engine {
        /// Which engine.
        engine: &'static str,
        /// What it says.
        why: String,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::NotAModule { why, .. } => write!(f, "not a WebAssembly module: {why}"),
            LoadError::Component => f.write_str(
                "a WebAssembly component, not a core module: compile without a component step",
            ),
            LoadError::UnknownImport { module, name } => write!(
                f,
                "the module imports {module}.{name}, which tasks do not have; they have the functions \
                 of the module \"shiftwork\" only (no WASI, no files, no network)"
            ),
            LoadError::WrongImportType { name, expected, found } => {
                write!(f, "the module imports shiftwork.{name} as {found}, but it is {expected}")
            }
            LoadError::Limit(what) => write!(f, "the module is over a limit: {what}"),
            LoadError::HostReference { place } => write!(
                f,
                "the module uses externref in {place}, and tasks have no references to things of the \
                 host: pass a number instead (tasks, channels and mutexes are i64s), or compile without \
                 reference types"
            ),
            LoadError::Unsupported(what) => {
                write!(f, "the module uses {what}, which tasks do not have")
            }
            LoadError::NoSuchEngine(engine) => write!(
                f,
                "the engine {engine} is not part of this build: build with the feature `jit`"
            ),
            LoadError::Engine { engine, why } => {
                write!(f, "the engine {engine} can not run the module: {why}")
            }
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LoadError::NotAModule { detail, .. } => Some(detail),
            _ => None,
        }
    }
}

/// What the validator says of bytes that are no module, on one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed(String);

impl Malformed {
    pub(crate) fn new(error: &wasmparser::Error) -> Malformed {
        // It shows bytes one below the other.
        Malformed(error.to_string().split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

/// Why a task was not spawned.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SpawnError {
    /// The module exports no such function.
    NoSuchFunction {
        /// What was asked for.
        func: String,
        /// The functions it exports.
        there_are: Vec<String>,
    },
    /// The function takes more or fewer arguments.
    ArgumentCount {
        /// The function.
        func: String,
        /// What it takes.
        wanted: Vec<ValueType>,
        /// How many were given.
        given: usize,
    },
    /// An argument is not of the type that the function takes, and does not fit it.
    ArgumentType {
        /// The function.
        func: String,
        /// Which argument, from 1.
        at: usize,
        /// What it takes there.
        wanted: ValueType,
        /// What was given.
        given: Value,
    },
    /// There are as many tasks as there may be: [`Limits::tasks`](crate::Limits::tasks).
    TooManyTasks(usize),
    /// The program has been shut down.
    ShutDown,
    /// The runtime takes no more work.
    Schedule(ScheduleError),
}

/// So many functions are named, at most.
const NAMED_MAX: usize = 20;

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpawnError::NoSuchFunction { func, there_are } if there_are.is_empty() => {
                write!(f, "there is no function {func:?}: the module exports none")
            }
            SpawnError::NoSuchFunction { func, there_are } => {
                let named: Vec<&str> =
                    there_are.iter().take(NAMED_MAX).map(String::as_str).collect();
                let more = match there_are.len().saturating_sub(NAMED_MAX) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                write!(
                    f,
                    "there is no function {func:?}: the module exports {}{more}",
                    named.join(", ")
                )
            }
            SpawnError::ArgumentCount { func, wanted, given } => {
                let types: Vec<String> = wanted.iter().map(ValueType::to_string).collect();
                write!(f, "{func} takes ({}), and {given} arguments were given", types.join(", "))
            }
            SpawnError::ArgumentType { func, at, wanted, given } => {
                let is = given.value_type();
                write!(
                    f,
                    "argument {at} of {func} is an {wanted}, and {given} is an {is} that does not fit"
                )
            }
            SpawnError::TooManyTasks(limit) => {
                write!(
                    f,
                    "there are {limit} tasks, and the limits allow no more: wait for some to end, or raise \
                     `limits.tasks`"
                )
            }
            SpawnError::ShutDown => f.write_str("the program has been shut down"),
            SpawnError::Schedule(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SpawnError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SpawnError::Schedule(error) => Some(error),
            _ => None,
        }
    }
}

/// Why a program can not be waited for here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunError {
    /// This is a turn of the runtime that the tasks run on, and they might wait for this very worker.
    InsideATurn,
    /// The runtime is a simulation, which runs when it is told to.
    Simulated,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RunError::InsideATurn => {
                "waiting inside a turn could wait for its own worker: await `finished` instead"
            }
            RunError::Simulated => {
                "a simulation does not run by itself: let it `block_on` what `finished` gives"
            }
        })
    }
}

impl std::error::Error for RunError {}

/// There is no such task, or its result has been forgotten: see
/// [`Limits::results`](crate::Limits::results).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownTask(pub TaskId);

impl fmt::Display for UnknownTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no {}, or its result has been forgotten", self.0)
    }
}

impl std::error::Error for UnknownTask {}

/// Why a scheduler could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum SchedulerError {
    /// The runtime could not be started.
    Build(BuildError),
    /// The module can not be run.
    Load(LoadError),
}

impl fmt::Display for SchedulerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchedulerError::Build(error) => error.fmt(f),
            SchedulerError::Load(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SchedulerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // These speak for themselves; what is behind them is the source.
        match self {
            SchedulerError::Build(error) => error.source(),
            SchedulerError::Load(error) => error.source(),
        }
    }
}

impl From<BuildError> for SchedulerError {
    fn from(error: BuildError) -> SchedulerError {
        SchedulerError::Build(error)
    }
}

impl From<LoadError> for SchedulerError {
    fn from(error: LoadError) -> SchedulerError {
        SchedulerError::Load(error)
    }
}
