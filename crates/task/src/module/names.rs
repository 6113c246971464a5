//! What the functions of a module are called, for people.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use wasmparser::{BinaryReader, Name, NameSectionReader};

use super::parts::Parts;
use crate::demangle::readable;

/// The names of these functions, readable: from the name section, else an export's, else `func[12]`.
pub(super) fn of(parts: &Parts<'_>, functions: &HashSet<u32>) -> HashMap<u32, String> {
    let mut names: HashMap<u32, String> = HashMap::new();
    if let Some(section) = &parts.names {
        // The section is no part of what was validated. A broken one names as much as can be read.
        for_each_in_section(parts.bytes, section, &mut |function, name| {
            if functions.contains(&function) && !name.is_empty() {
                names.insert(function, readable(name));
            }
        });
    }
    for export in &parts.exports {
        if export.kind == wasmparser::ExternalKind::Func && functions.contains(&export.index) {
            names.entry(export.index).or_insert_with(|| readable(export.name));
        }
    }
    for &function in functions {
        names.entry(function).or_insert_with(|| format!("func[{function}]"));
    }
    names
}

fn for_each_in_section(bytes: &[u8], section: &Range<usize>, found: &mut dyn FnMut(u32, &str)) {
    let reader = BinaryReader::new(&bytes[section.clone()], section.start as u64);
    for subsection in NameSectionReader::new(reader) {
        match subsection {
            Ok(Name::Function(names)) => {
                for naming in names {
                    let Ok(naming) = naming else { return };
                    found(naming.index, naming.name);
                }
            }
            Ok(_) => {}
            Err(_) => return,
        }
    }
}
