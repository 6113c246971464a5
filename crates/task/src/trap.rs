//! Why a guest could not go on.

use std::fmt;

/// What kind of trap it was. Both engines use these names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TrapKind {
    /// The guest executed `unreachable`: usually its own `abort` or panic.
    Unreachable,
    /// A load or store outside the memory.
    MemoryOutOfBounds,
    /// An access outside a table.
    TableOutOfBounds,
    /// An indirect call through an empty table entry.
    NullFunction,
    /// An indirect call of a function of another type.
    SignatureMismatch,
    /// A division by zero.
    DivisionByZero,
    /// An integer division or conversion that overflowed.
    IntegerOverflow,
    /// A float that is no number, or too large, converted to an integer.
    BadConversion,
    /// Recursion deeper than the stack allows.
    StackOverflow,
    /// The task's fuel is used up.
    OutOfFuel,
    /// Memory or a table could not be made as large as the module demands.
    Limit,
    /// Anything else, which the message tells.
    Other,
}

/// A trap: what kind, where, and in the engine's words.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trap {
    /// What kind it was.
    pub kind: TrapKind,
    /// The function, where the engine knows it: the innermost (wasmtime), or the one the task began
    /// with (wasmi).
    pub function: Option<String>,
    /// The functions from the innermost outwards, where the engine knows them.
    pub backtrace: Vec<String>,
    /// More about it, for [`TrapKind::Other`] and limits.
    pub message: Option<String>,
    /// The function of the host that had just refused the guest something, since a limit of the program
    /// did not allow it (code 7). For [`TrapKind::Unreachable`], which is how a guest gives up.
    pub refused: Option<&'static str>,
}

impl Trap {
    pub(crate) fn new(kind: TrapKind) -> Trap {
        Trap { kind, function: None, backtrace: Vec::new(), message: None, refused: None }
    }

    pub(crate) fn saying(kind: TrapKind, message: impl Into<String>) -> Trap {
        Trap { message: Some(message.into()), ..Trap::new(kind) }
    }
}

impl fmt::Display for TrapKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TrapKind::Unreachable => "unreachable executed",
            TrapKind::MemoryOutOfBounds => "memory access out of bounds",
            TrapKind::TableOutOfBounds => "table access out of bounds",
            TrapKind::NullFunction => "indirect call through an empty table entry",
            TrapKind::SignatureMismatch => "indirect call of a function of another type",
            TrapKind::DivisionByZero => "division by zero",
            TrapKind::IntegerOverflow => "integer overflow",
            TrapKind::BadConversion => "float without an integer value converted to an integer",
            TrapKind::StackOverflow => "stack overflow",
            TrapKind::OutOfFuel => "out of fuel",
            TrapKind::Limit => "limit reached",
            TrapKind::Other => "trap",
        })
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        if let Some(message) = &self.message {
            write!(f, ": {message}")?;
        }
        if let Some(call) = self.refused {
            write!(f, " after `{call}` was refused by a limit of the program")?;
        }
        if let Some(function) = &self.function {
            write!(f, " (in {function})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Trap {}
