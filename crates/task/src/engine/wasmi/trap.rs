//! What wasmi calls a trap, in the words of both engines.

use wasmi::{
    Error, TrapCode,
    errors::{ErrorKind, InstantiationError, MemoryError, TableError},
};

use crate::trap::{Trap, TrapKind};

/// The trap that an error of wasmi is, in a task that began with this function.
#[cold]
pub(super) fn from_error(error: &Error, function: &str) -> Trap {
    let trap = match error.kind() {
        ErrorKind::TrapCode(code) => from_code(*code),
        ErrorKind::Memory(MemoryError::OutOfBoundsAccess) => Trap::new(TrapKind::MemoryOutOfBounds),
        ErrorKind::Table(TableError::InitOutOfBounds)
        | ErrorKind::Instantiation(InstantiationError::ElementSegmentDoesNotFit { .. }) => {
            Trap::new(TrapKind::TableOutOfBounds)
        }
        ErrorKind::Memory(MemoryError::OutOfSystemMemory)
        | ErrorKind::Table(TableError::OutOfSystemMemory) => out_of_memory(),
        _ => Trap::saying(TrapKind::Other, error.to_string()),
    };
    Trap { function: Some(function.to_owned()), ..trap }
}

fn from_code(code: TrapCode) -> Trap {
    let kind = match code {
        TrapCode::UnreachableCodeReached => TrapKind::Unreachable,
        TrapCode::MemoryOutOfBounds => TrapKind::MemoryOutOfBounds,
        TrapCode::TableOutOfBounds => TrapKind::TableOutOfBounds,
        TrapCode::IndirectCallToNull => TrapKind::NullFunction,
        TrapCode::IntegerDivisionByZero => TrapKind::DivisionByZero,
        TrapCode::IntegerOverflow => TrapKind::IntegerOverflow,
        TrapCode::BadConversionToInteger => TrapKind::BadConversion,
        TrapCode::StackOverflow => TrapKind::StackOverflow,
        TrapCode::BadSignature => TrapKind::SignatureMismatch,
        TrapCode::OutOfFuel => TrapKind::OutOfFuel,
        TrapCode::GrowthOperationLimited => TrapKind::Limit,
        TrapCode::OutOfSystemMemory => return out_of_memory(),
    };
    Trap::new(kind)
}

fn out_of_memory() -> Trap {
    Trap::saying(TrapKind::Limit, "the system has no more memory")
}
