//! What is wrong with a module that does not pass the validator, in words for whoever compiled it?

use wasmparser::{Error, ExternalKind, Parser, Payload, TypeRef, ValType, Validator, WasmFeatures};

use super::read::FEATURES;
use crate::error::{LoadError, Malformed};

/// What every module begins with.
const MAGIC: &[u8] = b"\0asm";

/// The error for bytes that the validator has refused with `error`.
#[cold]
pub(super) fn explained(bytes: &[u8], error: &Error) -> LoadError {
    let valid_with = |features| Validator::new_with_features(features).validate_all(bytes).is_ok();
    if valid_with(FEATURES.union(WasmFeatures::GC_TYPES)) {
        return LoadError::HostReference { place: place_of_host_reference(bytes) };
    }
    if valid_with(WasmFeatures::all()) {
        return LoadError::Unsupported(format!("a feature of WebAssembly ({error})"));
    }
    LoadError::NotAModule { why: in_short(bytes, error), detail: Malformed::new(error) }
}

/// What is wrong, without the validator's own words: these are the error's source.
fn in_short(bytes: &[u8], error: &Error) -> String {
    if !bytes.starts_with(MAGIC) {
        let is_text = bytes.trim_ascii_start().starts_with(b"(");
        let hint = if is_text { "; if it is the text format, make it binary first" } else { "" };
        return format!("it does not begin with \\0asm{hint}");
    }
    if error.message().starts_with("unexpected end") {
        return format!("it ends too early, after {} bytes", bytes.len());
    }
    format!("it is broken at byte {}", error.offset())
}

/// Where a valid module uses `externref`: what others see of it first.
fn place_of_host_reference(bytes: &[u8]) -> String {
    find(bytes).ok().flatten().unwrap_or_else(|| "its tables, globals or code".to_owned())
}

fn find(bytes: &[u8]) -> Result<Option<String>, Error> {
    // Whether a type has one, by the type's index; the type of each function; who is exported.
    let (mut types, mut functions, mut exports) = (Vec::new(), Vec::new(), Vec::new());
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::TypeSection(section) => {
                for ty in section.into_iter_err_on_gc_types() {
                    let ty = ty?;
                    let mut all = ty.params().iter().chain(ty.results());
                    types.push(all.any(|ty| *ty == ValType::EXTERNREF));
                }
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    let import = import?;
                    let has_one = match import.ty {
                        TypeRef::Func(ty) => {
                            functions.push(ty);
                            types[ty as usize]
                        }
                        TypeRef::Global(global) => global.content_type == ValType::EXTERNREF,
                        TypeRef::Table(table) => {
                            ValType::Ref(table.element_type) == ValType::EXTERNREF
                        }
                        _ => false,
                    };
                    if has_one {
                        return Ok(Some(format!("the import {}.{}", import.module, import.name)));
                    }
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    functions.push(ty?);
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    let export = export?;
                    if export.kind == ExternalKind::Func {
                        exports.push((export.name, export.index));
                    }
                }
            }
            _ => {}
        }
    }
    let has_one = |function: usize| types[functions[function] as usize];
    let exported = exports.iter().find(|(_, function)| has_one(*function as usize));
    if let Some((name, _)) = exported {
        return Ok(Some(format!("the type of the exported function {name:?}")));
    }
    let inner = (0..functions.len()).find(|&function| has_one(function));
    Ok(inner.map(|function| format!("the type of func[{function}]")))
}
