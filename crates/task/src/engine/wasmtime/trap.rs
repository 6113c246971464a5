//! What the engine's errors mean to the one who awaits the task.

use std::collections::HashMap;

use ::wasmtime::{Error, FrameInfo, PoolConcurrencyLimitError, WasmBacktrace};
use wasmparser::{ExternalKind, Parser, Payload};

use crate::{
    demangle::readable,
    module::START,
    trap::{Trap, TrapKind},
};

/// Names of exported functions by their index, for those that the name section leaves out.
pub(super) type Names = HashMap<u32, String>;

/// What stopped a guest that ran.
pub(super) fn running(error: &Error, names: &Names) -> Trap {
    let mut trap = match kind(error) {
        Some(TrapKind::Other) | None => {
            Trap::saying(TrapKind::Other, error.root_cause().to_string())
        }
        Some(kind) => Trap::new(kind),
    };
    if let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() {
        trap.backtrace = backtrace.frames().iter().map(|frame| function(frame, names)).collect();
        trap.function = trap.backtrace.first().cloned();
    }
    trap
}

/// Why an instance could not be made: a segment does not fit, or there is no room.
pub(super) fn making(error: &Error, places: u32) -> Trap {
    match kind(error) {
        Some(_) => running(error, &Names::new()),
        None if error.is::<PoolConcurrencyLimitError>() => no_place(places),
        None => Trap::saying(TrapKind::Limit, error.root_cause().to_string()),
    }
}

fn no_place(places: u32) -> Trap {
    Trap::saying(
        TrapKind::Limit,
        format!(
            "all {places} places that wasmtime has for this program's tasks are taken \
             (limit `jit_tasks`); wasmi has no such limit"
        ),
    )
}

/// The kind, if it was a trap and not a fault of the host.
fn kind(error: &Error) -> Option<TrapKind> {
    use ::wasmtime::Trap::*;
    Some(match error.downcast_ref()? {
        UnreachableCodeReached => TrapKind::Unreachable,
        MemoryOutOfBounds => TrapKind::MemoryOutOfBounds,
        TableOutOfBounds => TrapKind::TableOutOfBounds,
        IndirectCallToNull => TrapKind::NullFunction,
        BadSignature => TrapKind::SignatureMismatch,
        IntegerDivisionByZero => TrapKind::DivisionByZero,
        IntegerOverflow => TrapKind::IntegerOverflow,
        BadConversionToInteger => TrapKind::BadConversion,
        StackOverflow => TrapKind::StackOverflow,
        OutOfFuel => TrapKind::OutOfFuel,
        _ => TrapKind::Other,
    })
}

/// A function's name as people write it, or its number.
fn function(frame: &FrameInfo, names: &Names) -> String {
    let index = frame.func_index();
    match frame.func_name().or(names.get(&index).map(String::as_str)) {
        Some(name) => readable(name),
        None => format!("func[{index}]"),
    }
}

/// The exported functions of a module, by index.
pub(super) fn exported_names(bytes: &[u8]) -> Names {
    let mut names = Names::new();
    for payload in Parser::new(0).parse_all(bytes) {
        match payload {
            Ok(Payload::ExportSection(exports)) => {
                for export in exports.into_iter().flatten() {
                    // The start function is exported by us, under a name that says nothing.
                    if export.kind == ExternalKind::Func && export.name != START {
                        names.entry(export.index).or_insert_with(|| export.name.to_owned());
                    }
                }
                break;
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    names
}
