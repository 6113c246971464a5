//! The same module with other edges: limits written in, start and memory where the engines want them.
//!
//! Sections are copied as they are, code above all; only those that change are encoded anew. In the
//! code for wasmi an operator is put before some `select`s.

use std::ops::Range;

use wasm_encoder::{
    CustomSection, EntityType, ExportKind, ExportSection, ImportSection, MemorySection, MemoryType,
    RawSection, RefType, SectionId, TableSection, TableType,
};
use wasmparser::ExternalKind;

use super::{GLOBAL, MEMORY, START, parts::Parts, selects, table};
use crate::abi;

/// The sections that are written, in the order that a module has them. The start section is not among
/// them: that function is an export.
const ORDER: [SectionId; 11] = [
    SectionId::Type,
    SectionId::Import,
    SectionId::Function,
    SectionId::Table,
    SectionId::Memory,
    SectionId::Global,
    SectionId::Export,
    SectionId::Element,
    SectionId::DataCount,
    SectionId::Code,
    SectionId::Data,
];

/// The module with its memory in it.
pub(super) fn with_own_memory(parts: &Parts<'_>) -> Vec<u8> {
    let mut exports = ExportSection::new();
    for export in &parts.exports {
        exports.export(export.name, kind(export.kind), export.index);
    }
    if let Some(start) = parts.start {
        exports.export(START, ExportKind::Func, start);
    }
    if parts.memory.is_some() {
        exports.export(MEMORY, ExportKind::Memory, 0);
    }
    for global in parts.changeable_globals() {
        exports.export(&format!("{GLOBAL}{global}"), ExportKind::Global, global);
    }

    let mut module = wasm_encoder::Module::new();
    for id in ORDER {
        match id {
            SectionId::Table => write_tables(&mut module, parts),
            SectionId::Memory => {
                if let Some(memory) = memory_type(parts) {
                    module.section(MemorySection::new().memory(memory));
                }
            }
            SectionId::Export => write_exports(&mut module, &exports),
            same => copy(&mut module, parts, same),
        }
    }
    if let Some(names) = &parts.names {
        module.section(&CustomSection {
            name: "name".into(),
            data: (&parts.bytes[names.clone()]).into(),
        });
    }
    module.finish()
}

/// The module with its memory imported, without the exports that nobody looks at: an engine makes a
/// table of the exports for each instance.
pub(super) fn with_imported_memory(parts: &Parts<'_>) -> Vec<u8> {
    let table = table::exported(parts);
    let mut exports = ExportSection::new();
    for export in &parts.exports {
        let needed = match export.kind {
            // Also those that nobody can call from outside: `ref.func` is valid only for functions that
            // are declared somewhere, and an export is a declaration.
            ExternalKind::Func => true,
            ExternalKind::Table => table == Some((export.name, export.index)),
            _ => false,
        };
        if needed {
            exports.export(export.name, kind(export.kind), export.index);
        }
    }
    if let Some(start) = parts.start {
        exports.export(START, ExportKind::Func, start);
    }
    for global in parts.changeable_globals() {
        exports.export(&format!("{GLOBAL}{global}"), ExportKind::Global, global);
    }

    let mut imports = ImportSection::new();
    for (function, call) in parts.imports.iter().enumerate() {
        let ty = EntityType::Function(parts.functions[function]);
        imports.import(abi::MODULE, call.import().name, ty);
    }
    if let Some(memory) = memory_type(parts) {
        imports.import(abi::MODULE, MEMORY, memory);
    }

    let mut module = wasm_encoder::Module::new();
    for id in ORDER {
        match id {
            SectionId::Import if imports.is_empty() => {}
            SectionId::Import => {
                module.section(&imports);
            }
            SectionId::Table => write_tables(&mut module, parts),
            SectionId::Memory => {}
            SectionId::Export => write_exports(&mut module, &exports),
            SectionId::DataCount | SectionId::Data if !parts.code.uses_data => {}
            SectionId::Code => match selects::kept_apart(parts) {
                Some(code) => {
                    module.section(&code);
                }
                None => copy(&mut module, parts, id),
            },
            same => copy(&mut module, parts, same),
        }
    }
    module.finish()
}

fn copy(module: &mut wasm_encoder::Module, parts: &Parts<'_>, id: SectionId) {
    let id = id as u8;
    let section: Option<&(u8, Range<usize>)> =
        parts.sections.iter().find(|(other, _)| *other == id);
    if let Some((_, range)) = section {
        module.section(&RawSection { id, data: &parts.bytes[range.clone()] });
    }
}

fn write_exports(module: &mut wasm_encoder::Module, exports: &ExportSection) {
    if !exports.is_empty() {
        module.section(exports);
    }
}

/// Tables of a fixed size: `table.grow` answers -1.
fn write_tables(module: &mut wasm_encoder::Module, parts: &Parts<'_>) {
    let mut tables = TableSection::new();
    for &entries in &parts.tables {
        tables.table(TableType {
            element_type: RefType::FUNCREF,
            table64: false,
            minimum: entries as u64,
            maximum: Some(entries as u64),
            shared: false,
        });
    }
    if !tables.is_empty() {
        module.section(&tables);
    }
}

fn memory_type(parts: &Parts<'_>) -> Option<MemoryType> {
    parts.memory.map(|memory| MemoryType {
        minimum: memory.minimum,
        maximum: memory.maximum,
        memory64: false,
        shared: false,
        page_size_log2: None,
    })
}

fn kind(kind: ExternalKind) -> ExportKind {
    match kind {
        ExternalKind::Func | ExternalKind::FuncExact => ExportKind::Func,
        ExternalKind::Table => ExportKind::Table,
        ExternalKind::Memory => ExportKind::Memory,
        ExternalKind::Global => ExportKind::Global,
        ExternalKind::Tag => ExportKind::Tag,
    }
}
