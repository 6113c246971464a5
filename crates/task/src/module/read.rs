//! Is this a module that tasks can run, and what is it made of?
//!
//! One pass: each section is validated before anything of it is used. The features are those that
//! both engines offer; SIMD, threads, memory64, several memories, garbage collection and exceptions are
//! not among them. Neither are tail calls: wasmi resumes a host call that was a tail call with its
//! result in the wrong place.

use wasmparser::{
    Data, DataKind, Element, ElementItems, ElementKind, Encoding, Export, FuncValidatorAllocations,
    FunctionBody, MemoryType, Operator, Parser, Payload, TableType, ValType, ValidPayload,
    Validator, WasmFeatures,
};

use super::{
    MemorySize, PAGE, RESERVED, constant, imports, limits,
    parts::{Elements, Parts},
    refusal, selects,
};
use crate::{error::LoadError, options::Limits};

pub(super) const FEATURES: WasmFeatures = WasmFeatures::MUTABLE_GLOBAL
    .union(WasmFeatures::SATURATING_FLOAT_TO_INT)
    .union(WasmFeatures::SIGN_EXTENSION)
    .union(WasmFeatures::MULTI_VALUE)
    .union(WasmFeatures::BULK_MEMORY)
    // References to functions. Those to things of the host (`externref`) are a feature of their own,
    // and a task could not get hold of one.
    .union(WasmFeatures::REFERENCE_TYPES)
    .union(WasmFeatures::EXTENDED_CONST)
    .union(WasmFeatures::FLOATS);

/// Takes a module apart.
///
/// # Errors
/// If it is no module, asks for what is not ours, or for more than the limits.
pub(super) fn parts<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Parts<'a>, LoadError> {
    limits::at_most(limits.module_bytes, bytes.len(), "bytes")?;
    let mut reading = Reading {
        parts: Parts { bytes, ..Parts::default() },
        limits,
        elements: 0,
        validator: Validator::new_with_features(FEATURES),
        allocations: FuncValidatorAllocations::default(),
    };
    match reading.read() {
        Ok(()) => Ok(reading.parts),
        Err(Refusal::Broken(error)) => Err(refusal::explained(bytes, &error)),
        Err(Refusal::Load(error)) => Err(error),
    }
}

/// Why reading ended early: the validator's word, or ours.
enum Refusal {
    Broken(wasmparser::Error),
    Load(LoadError),
}

impl From<wasmparser::Error> for Refusal {
    fn from(error: wasmparser::Error) -> Refusal {
        Refusal::Broken(error)
    }
}

impl From<LoadError> for Refusal {
    fn from(error: LoadError) -> Refusal {
        Refusal::Load(error)
    }
}

struct Reading<'a, 'l> {
    parts: Parts<'a>,
    limits: &'l Limits,
    /// Items of all element segments, also of those that fill no table at the start.
    elements: usize,
    validator: Validator,
    allocations: FuncValidatorAllocations,
}

impl<'a> Reading<'a, '_> {
    fn read(&mut self) -> Result<(), Refusal> {
        let mut parser = Parser::new(0);
        parser.set_features(FEATURES);
        for payload in parser.parse_all(self.parts.bytes) {
            let payload = payload?;
            if let Payload::Version { encoding: Encoding::Component, .. } = payload {
                return Err(LoadError::Component.into());
            }
            if let ValidPayload::Func(function, body) = self.validator.payload(&payload)? {
                let allocations = std::mem::take(&mut self.allocations);
                let mut validator = function.into_validator(allocations);
                validator.validate(&body)?;
                limits::at_most(
                    limits::LOCALS,
                    validator.len_locals() as usize,
                    "locals in a function",
                )?;
                self.allocations = validator.into_allocations();
                self.body(&body)?;
            }
            self.section(payload)?;
        }
        Ok(())
    }

    fn section(&mut self, payload: Payload<'a>) -> Result<(), Refusal> {
        if let Some((id, range)) = payload.as_section()
            && !matches!(payload, Payload::CustomSection(_))
        {
            self.parts.sections.push((id, range.start as usize..range.end as usize));
        }
        let parts = &mut self.parts;
        match payload {
            Payload::TypeSection(section) => {
                for ty in section.into_iter_err_on_gc_types() {
                    parts.types.push(ty?);
                }
                limits::at_most(limits::TYPES, parts.types.len(), "types")?;
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    self.import(&import?)?;
                }
            }
            Payload::FunctionSection(section) => {
                for ty in section {
                    parts.functions.push(ty?);
                }
                limits::at_most(limits::FUNCTIONS, parts.functions.len(), "functions")?;
            }
            Payload::TableSection(section) => {
                for table in section {
                    self.table(table?.ty)?;
                }
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    self.memory(memory?)?;
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    let ty = global?.ty;
                    parts.code.changeable_reference |=
                        ty.mutable && matches!(ty.content_type, ValType::Ref(_));
                    parts.globals.push(ty);
                }
                limits::at_most(limits::GLOBALS, parts.globals.len(), "globals")?;
            }
            Payload::ExportSection(section) => {
                for export in section {
                    self.export(export?)?;
                }
            }
            Payload::StartSection { func, .. } => parts.start = Some(func),
            Payload::ElementSection(section) => {
                limits::at_most(limits::SEGMENTS, section.count() as usize, "element segments")?;
                for element in section {
                    self.element(element?)?;
                }
            }
            Payload::DataSection(section) => {
                limits::at_most(limits::SEGMENTS, section.count() as usize, "data segments")?;
                for data in section {
                    self.data(&data?)?;
                }
            }
            Payload::CustomSection(section) if section.name() == "name" => {
                let start = section.data_offset() as usize;
                parts.names = Some(start..start + section.data().len());
            }
            _ => {}
        }
        Ok(())
    }

    fn import(&mut self, import: &wasmparser::Import<'a>) -> Result<(), Refusal> {
        let (call, ty) = imports::check(import, &self.parts.types)?;
        self.parts.imports.push(call);
        self.parts.functions.push(ty);
        limits::at_most(limits::IMPORTS, self.parts.imports.len(), "imports")?;
        Ok(())
    }

    fn table(&mut self, ty: TableType) -> Result<(), Refusal> {
        let tables = &mut self.parts.tables;
        tables.push(usize::try_from(ty.initial).unwrap_or(usize::MAX));
        limits::at_most(limits::TABLES, tables.len(), "tables")?;
        let all = tables.iter().fold(0, |sum: usize, entries| sum.saturating_add(*entries));
        limits::at_most(self.limits.table_entries, all, "table entries")?;
        Ok(())
    }

    fn memory(&mut self, ty: MemoryType) -> Result<(), Refusal> {
        let allowed = (self.limits.task_memory / PAGE) as u64;
        if ty.initial > allowed {
            return Err(LoadError::Limit(format!(
                "its memory begins with {} pages of 64 KiB, and a task may have {allowed}",
                ty.initial
            ))
            .into());
        }
        // A memory of 32 bits has no more pages than this, whatever is allowed.
        let allowed = allowed.min(1 << 16);
        let maximum = ty.maximum.map_or(allowed, |maximum| maximum.min(allowed));
        self.parts.memory = Some(MemorySize { minimum: ty.initial, maximum: Some(maximum) });
        Ok(())
    }

    fn export(&mut self, export: Export<'a>) -> Result<(), Refusal> {
        if export.name.starts_with(RESERVED) {
            return Err(LoadError::Unsupported(format!(
                "the name {:?} for an export (names that begin with {RESERVED:?} are the host's)",
                export.name
            ))
            .into());
        }
        self.parts.exports.push(export);
        limits::at_most(limits::EXPORTS, self.parts.exports.len(), "exports")?;
        Ok(())
    }

    fn element(&mut self, element: Element<'a>) -> Result<(), Refusal> {
        let mut functions = Vec::new();
        match element.items {
            ElementItems::Functions(items) => {
                for function in items {
                    functions.push(Some(function?));
                }
            }
            ElementItems::Expressions(_, items) => {
                for item in items {
                    functions.push(constant::function(&item?));
                }
            }
        }
        // An instance holds them all, whether a table does or not.
        self.elements += functions.len();
        limits::at_most(self.limits.table_entries, self.elements, "elements for tables")?;
        if let ElementKind::Active { table_index, offset_expr } = element.kind {
            let offset = constant::offset(&offset_expr).ok_or_else(computed_offset)?;
            let table = table_index.unwrap_or(0);
            self.parts.elements.push(Elements { table, offset, functions });
        }
        Ok(())
    }

    fn data(&mut self, data: &Data<'a>) -> Result<(), Refusal> {
        if let DataKind::Active { offset_expr, .. } = &data.kind {
            let offset = constant::offset(offset_expr).ok_or_else(computed_offset)?;
            self.parts.data.push((offset as usize, data.data));
        }
        Ok(())
    }

    fn body(&mut self, body: &FunctionBody<'a>) -> Result<(), Refusal> {
        let mut risky = false;
        for operator in body.get_operators_reader()?.into_iter_with_offsets() {
            let (operator, at) = operator?;
            let after_risky =
                std::mem::replace(&mut risky, selects::is_risky_before_select(&operator));
            match operator {
                Operator::Select | Operator::TypedSelect { .. } if after_risky => {
                    self.parts.code.selects.push(at as usize);
                }
                Operator::TableSet { .. }
                | Operator::TableFill { .. }
                | Operator::TableCopy { .. }
                | Operator::TableInit { .. }
                | Operator::ElemDrop { .. } => self.parts.code.lasting = true,
                Operator::MemoryInit { .. } => self.parts.code.uses_data = true,
                Operator::DataDrop { .. } => {
                    self.parts.code.uses_data = true;
                    self.parts.code.lasting = true;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cold]
fn computed_offset() -> LoadError {
    LoadError::Unsupported("a segment whose place is not a constant".to_owned())
}
