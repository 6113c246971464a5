//! Is a module, whatever it is, refused with an error or run within its limits?
//!
//! A file that begins with [`RECIPE`] makes wasm-smith write a valid module that imports what guests
//! may import. Any other file is the module itself, so that real ones can be put into the corpus.

use arbitrary::Unstructured;
use task::{EngineKind, LoadError, Program, Value};
use wasmparser::{ExternalKind, Payload, TypeRef, ValType};

use crate::{imports, world};

/// The first byte of a recipe. No module begins with it.
const RECIPE: u8 = 0xFF;

/// Functions of a module that are run.
const RUN_MAX: usize = 8;

/// Loads the module that the bytes are, or make, and runs what it exports.
///
/// # Panics
/// If anything but an error or a run within the limits comes of it.
pub fn module_loader(data: &[u8]) {
    for &engine in world::ENGINES {
        load_on(engine, data);
    }
}

fn load_on(engine: EngineKind, data: &[u8]) {
    match data.split_first() {
        Some((&RECIPE, recipe)) => {
            let Some(module) = written(recipe) else { return };
            load(engine, &module, explainable);
        }
        _ => load(engine, data, |error| {
            assert!(!matches!(error, LoadError::NoSuchEngine(_)), "{error}");
        }),
    }
}

/// A valid module, made as the recipe says.
fn written(recipe: &[u8]) -> Option<Vec<u8>> {
    let (&first, recipe) = recipe.split_first()?;
    let config = wasm_smith::Config {
        available_imports: Some(imports::module()),
        max_memory32_bytes: 4 * world::PAGE as u64,
        max_table_elements: 100,
        max_tables: 3,
        export_everything: true,
        // With these, one in two modules is refused.
        reference_types_enabled: first % 4 == 0,
        // What tasks do not have.
        compact_imports_enabled: false,
        exceptions_enabled: false,
        gc_enabled: false,
        memory64_enabled: false,
        relaxed_simd_enabled: false,
        simd_enabled: false,
        tail_call_enabled: false,
        threads_enabled: false,
        wide_arithmetic_enabled: false,
        ..wasm_smith::Config::default()
    };
    let module = wasm_smith::Module::new(config, &mut Unstructured::new(recipe)).ok()?;
    Some(module.to_bytes())
}

/// The errors that a valid module with the right imports can meet.
fn explainable(error: &LoadError) {
    let expected = match error {
        LoadError::Limit(_) | LoadError::HostReference { .. } => true,
        // A fuzzer that sees comparisons finds the names that are the host's.
        LoadError::Unsupported(what) => what.contains("segment") || what.contains("are the host's"),
        _ => false,
    };
    assert!(expected, "a good module was refused: {error}");
}

fn load(engine: EngineKind, module: &[u8], check_error: impl FnOnce(&LoadError)) {
    let mut simulation = world::simulation(2, 0);
    let program = match Program::load(&simulation, module, world::options(engine)) {
        Ok(program) => program,
        Err(error) => {
            assert!(error.to_string().len() > 10, "this explains nothing: {error}");
            return check_error(&error);
        }
    };
    wasmparser::validate(module).expect("a module was accepted that is not valid");
    for (function, parameters) in exports(module).into_iter().take(RUN_MAX) {
        let arguments: Option<Vec<Value>> = parameters.into_iter().map(zero).collect();
        // A reference can not be given from outside: that is the one thing to refuse here.
        let numbers = arguments.is_some();
        let spawned = program.spawn(&function, arguments.unwrap_or_default());
        assert!(spawned.is_ok() || !numbers, "{function}: {}", spawned.unwrap_err());
    }
    world::settle(&mut simulation, &program);
    world::check_books(&program);
}

fn zero(ty: ValType) -> Option<Value> {
    match ty {
        ValType::I32 => Some(Value::I32(0)),
        ValType::I64 => Some(Value::I64(0)),
        ValType::F32 => Some(Value::F32(0.0)),
        ValType::F64 => Some(Value::F64(0.0)),
        _ => None,
    }
}

/// Exported functions whose results are numbers, with their parameters.
fn exports(module: &[u8]) -> Vec<(String, Vec<ValType>)> {
    let (mut types, mut functions, mut exports) = (Vec::new(), Vec::new(), Vec::new());
    let mut read = || -> Result<(), wasmparser::Error> {
        for payload in wasmparser::Parser::new(0).parse_all(module) {
            match payload? {
                Payload::TypeSection(section) => {
                    for ty in section.into_iter_err_on_gc_types() {
                        types.push(ty?);
                    }
                }
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        if let TypeRef::Func(ty) = import?.ty {
                            functions.push(ty);
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
                            exports.push((export.name.to_owned(), export.index));
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    };
    read().expect("a valid module can be read");
    let typed = |(name, function): (String, u32)| {
        let ty = &types[functions[function as usize] as usize];
        let numbers = ty.results().iter().all(|ty| zero(*ty).is_some());
        numbers.then(|| (name, ty.params().to_vec()))
    };
    exports.into_iter().filter_map(typed).collect()
}
