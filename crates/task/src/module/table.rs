//! Which functions `spawn` can name by a number: the exported table, as the module fills it.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use wasmparser::ExternalKind;

use super::{FunctionTable, Signature, names, parts::Parts};

/// The export that compilers of the C family give to the table.
const USUAL: &str = "__indirect_function_table";

/// The export that AssemblyScript gives to it.
const OTHER: &str = "table";

/// The exported table of functions, if there is one: the usual name first, else the first exported.
pub(super) fn functions(parts: &Parts<'_>) -> Option<FunctionTable> {
    let (name, index) = exported(parts)?;
    let entries = parts.tables[index as usize];
    let mut by_entry: Vec<Option<u32>> = Vec::new();
    for segment in parts.elements.iter().filter(|segment| segment.table == index) {
        let start = segment.offset as usize;
        // One that does not fit fails each task when its instance is made.
        let Some(end) = start.checked_add(segment.functions.len()).filter(|&end| end <= entries)
        else {
            continue;
        };
        if by_entry.len() < end {
            by_entry.resize(end, None);
        }
        by_entry[start..end].copy_from_slice(&segment.functions);
    }

    let different: HashSet<u32> = by_entry.iter().flatten().copied().collect();
    let names = names::of(parts, &different);
    let functions: HashMap<u32, Arc<(String, Signature)>> = names
        .into_iter()
        .filter_map(|(function, name)| {
            Some((function, Arc::new((name, parts.signature(function)?))))
        })
        .collect();
    let functions = by_entry.iter().map(|function| functions.get(&(*function)?).cloned()).collect();
    Some(FunctionTable { name: name.to_owned(), functions })
}

/// The name and index of the table that [`functions`] describes.
pub(super) fn exported<'a>(parts: &Parts<'a>) -> Option<(&'a str, u32)> {
    let mut tables = parts.exports.iter().filter(|export| export.kind == ExternalKind::Table);
    let named = |name| tables.clone().find(|export| export.name == name);
    let chosen = named(USUAL).or_else(|| named(OTHER)).or_else(|| tables.next())?;
    Some((chosen.name, chosen.index))
}
