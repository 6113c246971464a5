//! What is in a guest's file, checked before any engine sees it.
//!
//! A module is read once: its imports are ours, its memories and tables are within the limits, and
//! what the scheduler asks of it later (functions by name, functions by table index, their types and
//! names) is known without an engine. For the engines it is written anew, so that both start a task
//! the same way: the start function becomes an export, which the task's first step calls like any
//! other function (metered, and free to wait), and for wasmi the memory becomes an import.

use crate::{abi::Call, error::LoadError, options::Limits, value::ValueType};

/// A module that was read and found good.
#[derive(Debug)]
pub(crate) struct Module {
    /// The module as it came, with its start function as the export `START` instead.
    pub(crate) bytes: Vec<u8>,
    /// The same with its memory as the import `MEMORY`, if it has a memory of its own.
    pub(crate) with_imported_memory: Vec<u8>,
    /// The imported functions, in order.
    pub(crate) imports: Vec<Call>,
    /// Its memory, if any. There is one at most.
    pub(crate) memory: Option<MemorySize>,
    /// Whether it has a start function.
    pub(crate) has_start: bool,
    /// Exported functions.
    pub(crate) exports: Vec<(String, Signature)>,
    /// The exported table that `spawn` looks into, and what it has at first.
    pub(crate) table: Option<FunctionTable>,
}

/// A memory, in pages of 64 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemorySize {
    pub(crate) minimum: u64,
    pub(crate) maximum: Option<u64>,
}

/// Types of parameters and results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) parameters: Vec<ValueType>,
    pub(crate) results: Vec<ValueType>,
}

/// A table of functions, by the name of its export.
#[derive(Debug)]
pub(crate) struct FunctionTable {
    pub(crate) name: String,
    /// By index: the function's name (from the name section, an export, or `func[12]`) and type.
    pub(crate) functions: Vec<Option<(String, Signature)>>,
}

/// Where a task begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// An exported function.
    Export(String),
    /// An entry of the exported table.
    Table(u32),
}

/// The export that the start function gets.
pub(crate) const START: &str = "shiftwork:start";

/// The name of the imported memory, in [`crate::abi::MODULE`].
pub(crate) const MEMORY: &str = "shiftwork:memory";

impl Module {
    /// Reads and checks a module: WebAssembly, binary.
    ///
    /// # Errors
    /// If it is no module, asks for what is not ours, or for more than the limits.
    pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Module, LoadError> {
        let _ = (bytes, limits);
        unimplemented!("the loader")
    }
}
