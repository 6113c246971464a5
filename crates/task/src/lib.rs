//! Tasks: WebAssembly green threads, metered, preemptible and isolated.

mod abi;
mod engine;
mod error;
mod module;
mod options;
mod trap;
mod value;

pub use abi::{Code, VERSION};
pub use error::LoadError;
pub use options::{EngineKind, Limits, Options};
pub use trap::{Trap, TrapKind};
pub use value::{Value, ValueType};
