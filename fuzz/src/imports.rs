//! What a guest can call.

use wasm_encoder::{
    EntityType, ImportSection, Module, TypeSection,
    ValType::{self, I32, I64},
};

/// What guests may import: name, parameters, result.
pub(crate) const IMPORTS: &[(&str, &[ValType], Option<ValType>)] = &[
    ("abi_version", &[], Some(I32)),
    ("spawn", &[I32, I64], Some(I64)),
    ("spawn_with", &[I32, I32, I32], Some(I64)),
    ("input", &[I32, I32], Some(I32)),
    ("await", &[I64, I32], Some(I32)),
    ("yield_now", &[], None),
    ("self", &[], Some(I64)),
    ("sleep", &[I64], None),
    ("chan_open", &[I32], Some(I64)),
    ("chan_send", &[I64, I32, I32], Some(I32)),
    ("chan_recv", &[I64, I32, I32, I32], Some(I32)),
    ("chan_close", &[I64], Some(I32)),
    ("select", &[I32, I32, I64], Some(I32)),
    ("mutex_open", &[I32, I32], Some(I64)),
    ("lock", &[I64, I32, I32, I32], Some(I32)),
    ("unlock", &[I64, I32, I32], Some(I32)),
    ("mutex_close", &[I64], Some(I32)),
    ("log", &[I32, I32, I32], None),
    ("now", &[], Some(I64)),
    ("random", &[I32, I32], None),
];

/// The types and the imports, which are the first functions of a module and have its first types.
pub(crate) fn sections() -> (TypeSection, ImportSection) {
    let (mut types, mut imports) = (TypeSection::new(), ImportSection::new());
    for (index, (name, parameters, result)) in (0..).zip(IMPORTS) {
        types.ty().function(parameters.iter().copied(), *result);
        imports.import("shiftwork", name, EntityType::Function(index));
    }
    (types, imports)
}

/// A module that imports all that there is, and has nothing else.
pub(crate) fn module() -> Vec<u8> {
    let (types, imports) = sections();
    let mut module = Module::new();
    module.section(&types).section(&imports);
    module.finish()
}

/// The number of an import, which is also its function index.
pub(crate) fn index(name: &str) -> u32 {
    let at = IMPORTS.iter().position(|(other, ..)| *other == name);
    at.expect("there is such an import") as u32
}
