//! What can be wrong with a module, a call from outside, or a program's end.

use std::fmt;

/// Why a module can not be run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// It is not WebAssembly, or broken. The text says where.
    NotAModule(String),
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
    /// It uses a feature of WebAssembly that guests may not use here.
    Unsupported(String),
    /// The engine is not part of this build.
    NoSuchEngine(&'static str),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::NotAModule(why) => write!(f, "not a WebAssembly module: {why}"),
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
            LoadError::Unsupported(what) => {
                write!(f, "the module uses {what}, which tasks do not have")
            }
            LoadError::NoSuchEngine(engine) => write!(
                f,
                "the engine {engine} is not part of this build: build with the feature `jit`"
            ),
        }
    }
}

impl std::error::Error for LoadError {}
