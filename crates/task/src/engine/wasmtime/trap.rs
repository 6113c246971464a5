//! What the engine's errors mean to the one who awaits the task.

use std::{
    collections::HashMap,
    fmt::{self, Write},
};

use ::wasmtime::{Error, FrameInfo, PoolConcurrencyLimitError, WasmBacktrace};
use wasmparser::{ExternalKind, Parser, Payload};

use crate::{
    module::START,
    trap::{Trap, TrapKind},
};

/// Characters of a function's name that are kept. A guest chooses its names, and a mangled name can
/// stand for one of any length.
const NAME_MAX: usize = 200;

/// A mangled name longer than this is shown as it is.
const MANGLED_MAX: usize = 4_096;

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
            "all {places} places that wasmtime has for this program's tasks are taken; \
             raise the limit `jit_tasks`, or run it on wasmi"
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

fn readable(name: &str) -> String {
    let mut short = Short(String::new());
    // What does not fit is cut off by an error, which is what we want.
    let _ = if name.len() > MANGLED_MAX {
        write!(short, "{name}")
    } else if let Ok(rust) = rustc_demangle::try_demangle(name) {
        write!(short, "{rust:#}")
    } else if let Ok(cpp) = cpp_demangle::Symbol::new(name) {
        cpp.structured_demangle(&mut short, &cpp_demangle::DemangleOptions::new())
    } else {
        write!(short, "{name}")
    };
    short.0
}

/// Takes so many characters and no more.
struct Short(String);

impl Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = NAME_MAX - self.0.chars().count();
        match text.char_indices().nth(room) {
            None => {
                self.0.push_str(text);
                Ok(())
            }
            Some((end, _)) => {
                self.0.push_str(&text[..end]);
                Err(fmt::Error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rust_and_cpp_become_readable() {
        assert_eq!(readable("_ZN5guest4main17h0123456789abcdefE"), "guest::main");
        assert_eq!(readable("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
        assert_eq!(readable("_Z3addii"), "add(int, int)");
        assert_eq!(readable("main"), "main");
        assert_eq!(readable("assembly/index/main"), "assembly/index/main");
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let name = "ä".repeat(10 * NAME_MAX);
        assert_eq!(readable(&name), "ä".repeat(NAME_MAX));
    }

    /// `Pair<int, int>`, then a pair of two of those, and so on: each doubles the name's length.
    #[test]
    fn a_mangled_name_that_explodes_is_cut() {
        let mut name = String::from("_Z1f4PairIiiE");
        for last in "0123456789ABCDEFGHIJKLMNOPQRS".chars() {
            name.push_str(&format!("S_IS{last}_S{last}_E"));
        }
        let shown = readable(&name);
        assert!(shown.starts_with("f(Pair<int, int>, Pair<Pair<int, int>, Pair<int, int> >"));
        assert_eq!(shown.chars().count(), NAME_MAX);
    }
}
