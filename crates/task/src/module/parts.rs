//! What a module is made of, while it is read and written anew.

use std::ops::Range;

use wasmparser::{Export, ExternalKind, FuncType, GlobalType, ValType};

use super::{MemorySize, Signature};
use crate::{abi::Call, value::ValueType};

/// A module, taken apart. All of it is valid and within the limits.
#[derive(Default)]
pub(super) struct Parts<'a> {
    pub(super) bytes: &'a [u8],
    /// Where the contents of each section are, by its id. No custom ones.
    pub(super) sections: Vec<(u8, Range<usize>)>,
    /// Where the name section's contents are.
    pub(super) names: Option<Range<usize>>,
    pub(super) types: Vec<FuncType>,
    /// The type of each function, imported ones first.
    pub(super) functions: Vec<u32>,
    pub(super) imports: Vec<Call>,
    /// The entries of each table. All are of functions.
    pub(super) tables: Vec<usize>,
    pub(super) memory: Option<MemorySize>,
    pub(super) globals: Vec<GlobalType>,
    pub(super) exports: Vec<Export<'a>>,
    pub(super) start: Option<u32>,
    /// The active segments that fill tables.
    pub(super) elements: Vec<Elements>,
    /// The active segments of data: where, and what.
    pub(super) data: Vec<(usize, &'a [u8])>,
    pub(super) code: Code,
}

/// What a segment puts into a table.
pub(super) struct Elements {
    pub(super) table: u32,
    pub(super) offset: u32,
    pub(super) functions: Vec<Option<u32>>,
}

/// What the code of a module does, as far as we ask.
#[derive(Default)]
pub(super) struct Code {
    /// It writes to a table, or drops a segment.
    pub(super) lasting: bool,
    /// It uses segments of data after the start.
    pub(super) uses_data: bool,
    /// Where those `select`s are that wasmi might misread: see `selects`.
    pub(super) selects: Vec<usize>,
    /// A global that can be changed holds a reference.
    pub(super) changeable_reference: bool,
}

impl Parts<'_> {
    /// The type of a function, if it takes and returns numbers only.
    pub(super) fn signature(&self, function: u32) -> Option<Signature> {
        fn numbers(types: &[ValType]) -> Option<Vec<ValueType>> {
            types.iter().map(|&ty| number(ty)).collect()
        }
        let ty = &self.types[self.functions[function as usize] as usize];
        Some(Signature { parameters: numbers(ty.params())?, results: numbers(ty.results())? })
    }

    pub(super) fn exported_functions(&self) -> Vec<(String, Signature)> {
        self.exports
            .iter()
            .filter(|export| export.kind == ExternalKind::Func)
            .filter_map(|export| Some((export.name.to_owned(), self.signature(export.index)?)))
            .collect()
    }

    pub(super) fn changeable_globals(&self) -> Vec<u32> {
        (0..).zip(&self.globals).filter(|(_, ty)| ty.mutable).map(|(index, _)| index).collect()
    }
}

impl Code {
    /// Whether memory and the numbers in globals are all that a guest changes in its instance.
    pub(super) fn can_be_renewed(&self) -> bool {
        !self.lasting && !self.changeable_reference
    }
}

fn number(ty: ValType) -> Option<ValueType> {
    match ty {
        ValType::I32 => Some(ValueType::I32),
        ValType::I64 => Some(ValueType::I64),
        ValType::F32 => Some(ValueType::F32),
        ValType::F64 => Some(ValueType::F64),
        ValType::V128 | ValType::Ref(_) => None,
    }
}
