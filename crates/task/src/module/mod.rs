//! What is in a guest's file, checked before any engine sees it.
//!
//! A module is read once: its imports are ours, its memories and tables are within the limits, and
//! what the scheduler asks of it later (functions by name, functions by table index, their types and
//! names) is known without an engine. For the engines it is written anew, so that both start a task
//! the same way: the start function becomes an export, which the task's first step calls like any
//! other function (metered, and free to wait), and for wasmi the memory becomes an import.
//!
//! Both engines get the same limits, which are written into the module itself: a memory can grow to
//! what a task may have and no further, and a table can not grow at all. So `memory.grow` and
//! `table.grow` answer -1 in the same place on both.
//!
//! 1. Guest bytes are never trusted: no count that a module declares is allocated before the items
//!    that it counts have been read.
//! 2. Guests can not make the names that begin with [`RESERVED`]; we can.

mod constant;
mod imports;
mod limits;
mod names;
mod parts;
mod read;
mod refusal;
mod rewrite;
mod selects;
mod table;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::{abi::Call, error::LoadError, options::Limits, value::ValueType};

/// A module that was read and found good.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// What an engine is made from. A program whose engine is made has none.
    pub(crate) code: Code,
    /// The imported functions, in order.
    pub(crate) imports: Vec<Call>,
    /// Its memory, if any. There is one at most. The maximum is never above the limit.
    pub(crate) memory: Option<MemorySize>,
    /// Bytes of data that each new instance gets a copy of.
    pub(crate) data_bytes: usize,
    /// Whether it has a start function.
    pub(crate) has_start: bool,
    /// Exported functions that take and return numbers.
    pub(crate) exports: Vec<(String, Signature)>,
    /// The exported table that `spawn` looks into, and what it has at first.
    pub(crate) table: Option<FunctionTable>,
    /// How many functions it has, imported ones included.
    pub(crate) functions: usize,
    /// How many entries each of its tables has.
    pub(crate) tables: Vec<usize>,
}

/// A module as the engines want it: as large as what came, twice.
#[derive(Debug, Default)]
pub(crate) struct Code {
    /// The module as it came, with its start function as the export [`START`] instead, and its memory
    /// (if any) as the export [`MEMORY`] too, so that a host finds it under one name. Its changeable
    /// globals are exports as well, [`GLOBAL`]`0`, `1`, … by their index.
    #[cfg_attr(not(feature = "jit"), allow(dead_code, reason = "it is what wasmtime gets"))]
    pub(crate) bytes: Vec<u8>,
    /// The same with its memory as the import [`MEMORY`], if it has a memory of its own; of its exports
    /// only the functions and the table of functions, and its changeable globals as [`GLOBAL`]`0`, `1`,
    /// … by their index.
    pub(crate) with_imported_memory: Vec<u8>,
    /// How an instance of either is made as new again.
    pub(crate) renewal: Renewal,
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
#[derive(Debug, Clone)]
pub(crate) struct FunctionTable {
    pub(crate) name: String,
    /// By index: the function's name (from the name section, an export, or `func[12]`) and type. One
    /// function may fill many entries, so they share it.
    pub(crate) functions: Vec<Option<Arc<(String, Signature)>>>,
}

/// What a guest can change in an instance, and what it was at first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Renewal {
    /// Whether memory and globals are all that a guest can change: no instruction of it writes to a
    /// table or drops a segment.
    pub(crate) possible: bool,
    /// The indices of the globals that can be changed.
    pub(crate) globals: Vec<u32>,
    /// What the memory holds at first, by its place; zero elsewhere.
    pub(crate) data: Vec<(usize, Box<[u8]>)>,
    /// Whether [`Code::with_imported_memory`] still has its data segments, since the code uses them.
    /// If not, whoever makes an instance writes [`Renewal::data`] into its memory.
    pub(crate) keeps_data: bool,
}

/// Where a task begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// An exported function.
    Export(String),
    /// An entry of the exported table.
    Table(u32),
}

/// What the names of our own exports begin with.
pub(crate) const RESERVED: &str = "shiftwork:";

/// The export that the start function gets.
pub(crate) const START: &str = "shiftwork:start";

/// The name of the memory: imported from [`crate::abi::MODULE`], or exported.
pub(crate) const MEMORY: &str = "shiftwork:memory";

/// What the name of an exported global that can be changed begins with; its index follows.
pub(crate) const GLOBAL: &str = "shiftwork:global:";

/// Bytes of a page of a guest's memory.
pub(crate) const PAGE: usize = 1 << 16;

impl Module {
    /// Reads and checks a module: WebAssembly, binary.
    ///
    /// # Errors
    /// If it is no module, asks for what is not ours, or for more than the limits.
    pub(crate) fn read(bytes: &[u8], limits: &Limits) -> Result<Module, LoadError> {
        let parts = read::parts(bytes, limits)?;
        Ok(Module {
            code: Code {
                bytes: rewrite::with_own_memory(&parts),
                with_imported_memory: rewrite::with_imported_memory(&parts),
                renewal: Renewal {
                    possible: parts.code.can_be_renewed(),
                    globals: parts.changeable_globals(),
                    data: parts.data.iter().map(|(at, bytes)| (*at, Box::from(*bytes))).collect(),
                    keeps_data: parts.code.uses_data,
                },
            },
            imports: parts.imports.clone(),
            memory: parts.memory,
            data_bytes: parts.data.iter().map(|(_, bytes)| bytes.len()).sum(),
            has_start: parts.start.is_some(),
            exports: parts.exported_functions(),
            table: table::functions(&parts),
            functions: parts.functions.len(),
            tables: parts.tables.clone(),
        })
    }

    /// The same without what only an engine needs, for when that is made: it has its own form of it.
    pub(crate) fn without_code(self) -> Module {
        Module { code: Code::default(), ..self }
    }
}
