//! What is accepted, what is refused and how that is said, and what the engines get.

use super::*;
use crate::{abi::IMPORTS, demangle::NAME_MAX};

fn read(text: &str) -> Result<Module, LoadError> {
    read_within(text, &Limits::default())
}

fn read_within(text: &str, limits: &Limits) -> Result<Module, LoadError> {
    Module::read(&wat::parse_str(text).expect("the test's module is WebAssembly text"), limits)
}

#[track_caller]
fn refused(text: &str) -> String {
    match read(text) {
        Ok(_) => panic!("accepted {text}"),
        Err(error) => error.to_string(),
    }
}

/// A module with something of everything that guests may have.
const EVERYTHING: &str = r#"(module
    (import "shiftwork" "spawn" (func $spawn (param i32 i64) (result i64)))
    (import "shiftwork" "log" (func $log (param i32 i32 i32)))
    (memory (export "memory") 2 9)
    (data (i32.const 8) "eight")
    (data (i32.add (i32.const 8) (i32.mul (i32.const 2) (i32.const 5))) "eighteen")
    (data $passive "later")
    (global $stack (mut i32) (i32.const 65536))
    (global $fixed i64 (i64.const 1))
    (global $float (mut f64) (f64.const 1))
    (table $other 3 funcref)
    (table $t (export "table") 10 funcref)
    (elem (table $t) (i32.const 1) func $work $named)
    (elem (table $t) (i32.const 6) funcref (ref.func $log) (ref.null func) (ref.func $refs))
    (elem (table $other) (i32.const 0) func $work)
    (elem declare func $hidden)
    (func $work (export "work") (param i64) (result i64) (local.get 0))
    (func $named (param i64))
    (func $hidden (result f32 f64) (f32.const 0) (f64.const 0))
    (func $refs (export "refs") (param funcref))
    (func (export "main") (param i32 i64 f32 f64) (result i32)
        (memory.copy (i32.const 0) (i32.const 1) (i32.const 2))
        (i32.extend8_s (i32.trunc_sat_f64_s (local.get 3))))
    (func $start)
    (start $start))"#;

fn signature(parameters: &[ValueType], results: &[ValueType]) -> Signature {
    Signature { parameters: parameters.to_vec(), results: results.to_vec() }
}

#[test]
fn everything_of_a_good_module_is_found() {
    use ValueType::{F32, F64, I32, I64};
    let module = read(EVERYTHING).unwrap();
    assert_eq!(module.imports, [Call::Spawn, Call::Log]);
    assert_eq!(module.memory, Some(MemorySize { minimum: 2, maximum: Some(9) }));
    assert!(module.has_start);
    assert_eq!(module.tables, [3, 10]);
    // `refs` takes a reference: nobody outside can call it.
    assert_eq!(
        module.exports,
        [
            ("work".to_owned(), signature(&[I64], &[I64])),
            ("main".to_owned(), signature(&[I32, I64, F32, F64], &[I32])),
        ]
    );

    let table = module.table.unwrap();
    assert_eq!(table.name, "table");
    let found: Vec<Option<(&str, Signature)>> = table
        .functions
        .iter()
        .map(|function| function.as_deref().map(|(name, ty)| (name.as_str(), ty.clone())))
        .collect();
    assert_eq!(
        found,
        [
            None,
            Some(("work", signature(&[I64], &[I64]))),
            Some(("named", signature(&[I64], &[]))),
            None,
            None,
            None,
            Some(("log", signature(&[I32, I32, I32], &[]))),
            None,
            None,
        ]
    );

    assert_eq!(module.code.renewal.globals, [0, 2]);
    assert!(module.code.renewal.possible);
    assert!(!module.code.renewal.keeps_data);
    let data: Vec<(usize, &[u8])> =
        module.code.renewal.data.iter().map(|(at, bytes)| (*at, &bytes[..])).collect();
    assert_eq!(data, [(8, &b"eight"[..]), (18, b"eighteen")]);
}

#[test]
fn functions_without_a_name_are_called_by_their_export_or_their_number() {
    let module = read(
        r#"(module
            (import "shiftwork" "yield_now" (func))
            (table (export "__indirect_function_table") 3 funcref)
            (elem (i32.const 0) func 0 1 2)
            (func (export "exported") (param i64))
            (func (param i64)))"#,
    )
    .unwrap();
    let names: Vec<String> =
        module.table.unwrap().functions.iter().flatten().map(|it| it.0.clone()).collect();
    assert_eq!(names, ["func[0]", "exported", "func[2]"]);
}

/// Both manglings of Rust, and that of C++; a name of its own kind stays as it is.
#[test]
fn names_of_functions_in_the_table_are_as_people_write_them() {
    let text = r#"(module (table (export "table") 4 funcref) (elem (i32.const 0) func 0 1 2 3)
        (func (@name "_ZN5guest4work17h0123456789abcdefE"))
        (func (@name "_RNvCs1234_5guest4rest"))
        (func (@name "_Z3addii"))
        (func (@name "assembly/index/main")))"#;
    let functions = read(text).unwrap().table.unwrap().functions;
    let names: Vec<&str> = functions.iter().flatten().map(|function| &*function.0).collect();
    assert_eq!(names, ["guest::work", "guest::rest", "add(int, int)", "assembly/index/main"]);
}

#[test]
fn usual_names_of_the_table_come_first() {
    let table = |exports: &str| {
        let text = format!("(module (table $a 1 funcref) (table $b 1 funcref) {exports})");
        read(&text).unwrap().table.map(|table| table.name)
    };
    let usual = r#"(export "x" (table $a)) (export "table" (table $b))
        (export "__indirect_function_table" (table $b))"#;
    assert_eq!(table(usual).as_deref(), Some("__indirect_function_table"));
    let other = r#"(export "x" (table $a)) (export "table" (table $b))"#;
    assert_eq!(table(other).as_deref(), Some("table"));
    assert_eq!(table(r#"(export "x" (table $a)) (export "y" (table $b))"#).as_deref(), Some("x"));
    assert_eq!(table(""), None);
}

#[test]
fn what_the_engines_get_is_valid_and_has_the_limits_in_it() {
    let module = read(EVERYTHING).unwrap();
    let shown = |bytes: &[u8]| {
        wasmparser::validate(bytes).expect("what was written anew is valid");
        let mut lines = Vec::new();
        for payload in wasmparser::Parser::new(0).parse_all(bytes) {
            match payload.unwrap() {
                wasmparser::Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        lines.push(format!("import {}", import.unwrap().name));
                    }
                }
                wasmparser::Payload::TableSection(section) => {
                    for table in section {
                        let ty = table.unwrap().ty;
                        lines.push(format!("table {} to {:?}", ty.initial, ty.maximum));
                    }
                }
                wasmparser::Payload::MemorySection(section) => {
                    for memory in section {
                        let ty = memory.unwrap();
                        lines.push(format!("memory {} to {:?}", ty.initial, ty.maximum));
                    }
                }
                wasmparser::Payload::ExportSection(section) => {
                    for export in section {
                        let export = export.unwrap();
                        lines.push(format!("export {} {:?}", export.name, export.kind));
                    }
                }
                wasmparser::Payload::StartSection { .. } => lines.push("start".to_owned()),
                wasmparser::Payload::DataSection(_) => lines.push("data".to_owned()),
                wasmparser::Payload::CustomSection(section) => {
                    lines.push(format!("custom {}", section.name()));
                }
                _ => {}
            }
        }
        lines
    };
    assert_eq!(
        shown(&module.code.bytes),
        [
            "import spawn",
            "import log",
            "table 3 to Some(3)",
            "table 10 to Some(10)",
            "memory 2 to Some(9)",
            "export memory Memory",
            "export table Table",
            "export work Func",
            "export refs Func",
            "export main Func",
            "export shiftwork:start Func",
            "export shiftwork:memory Memory",
            "export shiftwork:global:0 Global",
            "export shiftwork:global:2 Global",
            "data",
            "custom name",
        ]
    );
    assert_eq!(
        shown(&module.code.with_imported_memory),
        [
            "import spawn",
            "import log",
            "import shiftwork:memory",
            "table 3 to Some(3)",
            "table 10 to Some(10)",
            "export table Table",
            "export work Func",
            "export refs Func",
            "export main Func",
            "export shiftwork:start Func",
            "export shiftwork:global:0 Global",
            "export shiftwork:global:2 Global",
        ]
    );
}

#[test]
fn memory_is_capped_at_what_a_task_may_have() {
    let mut limits = Limits { task_memory: 5 * PAGE + 1, ..Limits::default() };
    let capped = |text: &str, limits: &Limits| read_within(text, limits).unwrap().memory.unwrap();
    assert_eq!(capped("(module (memory 1))", &limits).maximum, Some(5));
    assert_eq!(capped("(module (memory 1 3))", &limits).maximum, Some(3));
    assert_eq!(capped("(module (memory 5 60000))", &limits).maximum, Some(5));
    let error = read_within("(module (memory 6))", &limits).unwrap_err().to_string();
    assert_eq!(
        error,
        "the module is over a limit: its memory begins with 6 pages of 64 KiB, and a task may have 5"
    );
    limits.task_memory = 100 << 30;
    assert_eq!(capped("(module (memory 1))", &limits).maximum, Some(65_536));
}

#[test]
fn every_import_of_ours_is_accepted() {
    for import in IMPORTS {
        let types = |types: &[crate::abi::Type]| {
            types.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        let text = format!(
            r#"(module (import "shiftwork" "{}" (func (param {}) (result {}))))"#,
            import.name,
            types(import.parameters),
            types(import.result.as_slice()),
        );
        assert_eq!(read(&text).unwrap().imports, [import.call]);
    }
}

#[test]
fn imports_that_are_not_ours_are_refused_by_name() {
    for (text, words) in [
        (
            r#"(module (import "wasi_snapshot_preview1" "fd_write"
                (func (param i32 i32 i32 i32) (result i32))))"#,
            "the module imports wasi_snapshot_preview1.fd_write, which tasks do not have",
        ),
        (r#"(module (import "env" "memory" (memory 1)))"#, "the module imports env.memory, which"),
        (r#"(module (import "env" "spawn" (func)))"#, "the module imports env.spawn, which"),
        (
            r#"(module (import "shiftwork" "open_file" (func)))"#,
            "the module imports shiftwork.open_file, which tasks do not have",
        ),
        (
            r#"(module (import "shiftwork" "shiftwork:memory" (memory 1)))"#,
            "the module imports shiftwork.shiftwork:memory, which tasks do not have",
        ),
        (
            r#"(module (import "shiftwork" "spawn" (func (param i32 i32) (result i64))))"#,
            "the module imports shiftwork.spawn as (i32, i32) -> i64, but it is (i32, i64) -> i64",
        ),
        (
            r#"(module (import "shiftwork" "sleep" (func (param i64) (result i64 i32))))"#,
            "the module imports shiftwork.sleep as (i64) -> (i64, i32), but it is (i64)",
        ),
        (
            r#"(module (import "shiftwork" "log" (func (param funcref i32 i32))))"#,
            "the module imports shiftwork.log as (funcref, i32, i32), but it is (i32, i32, i32)",
        ),
        (
            r#"(module (import "shiftwork" "now" (global i64)))"#,
            "the module imports shiftwork.now as a global, but it is () -> i64",
        ),
        (
            r#"(module (import "shiftwork" "now" (memory 1)))"#,
            "the module imports shiftwork.now as a memory, but it is () -> i64",
        ),
        (
            r#"(module (import "shiftwork" "now" (table 1 funcref)))"#,
            "the module imports shiftwork.now as a table, but it is () -> i64",
        ),
    ] {
        let error = refused(text);
        assert!(error.starts_with(words), "{text}\n{error}");
    }
}

#[test]
fn features_that_an_engine_lacks_are_refused_as_such() {
    for text in [
        "(module (memory i64 1))",
        "(module (memory 1) (memory 1))",
        "(module (memory 1 2 shared))",
        "(module (func (result v128) (v128.const i32x4 0 0 0 0)))",
        "(module (func (export \"f\") (return_call 0)))",
        "(module (type (struct (field i32))))",
        "(module (tag))",
        "(module (func (atomic.fence)))",
        "(module (table 1 (ref null 0)) (type (func)))",
    ] {
        let error = read(text).unwrap_err();
        assert!(matches!(error, LoadError::Unsupported(_)), "{text}\n{error}");
    }
}

#[test]
fn references_to_things_of_the_host_are_refused_by_their_place() {
    let simd = r#"(module (func (param externref)) (func (result v128) (v128.const i64x2 0 0)))"#;
    assert!(matches!(read(simd).unwrap_err(), LoadError::Unsupported(_)), "more than that");
    for (text, place) in [
        (
            r#"(module (import "env" "canvas" (func (result externref)))
                (func (export "draw") (param externref)))"#,
            "the import env.canvas",
        ),
        (r#"(module (import "env" "page" (global externref)))"#, "the import env.page"),
        (r#"(module (import "env" "all" (table 1 externref)))"#, "the import env.all"),
        (
            r#"(module (func (param externref)) (func (export "draw") (param i32 externref)))"#,
            "the type of the exported function \"draw\"",
        ),
        ("(module (func) (func (result externref) (ref.null extern)))", "the type of func[1]"),
        ("(module (table 1 externref))", "its tables, globals or code"),
        ("(module (func (local externref)))", "its tables, globals or code"),
    ] {
        let error = refused(text);
        let begins = format!("the module uses externref in {place}, and tasks have no references");
        assert!(error.starts_with(&begins), "{text}\n{error}");
        assert!(error.contains("pass a number instead"), "{error}");
    }
}

#[test]
fn names_of_the_host_can_not_be_exported() {
    let error = refused(r#"(module (func (export "shiftwork:start")))"#);
    assert!(error.contains("\"shiftwork:start\" for an export"), "{error}");
    read(r#"(module (func (export "shiftwork")))"#).unwrap();
}

#[test]
fn components_are_refused_with_a_hint() {
    assert_eq!(refused("(component)"), LoadError::Component.to_string());
}

/// Whatever a stranger can send has a limit: each text is over one of them by one.
#[test]
fn more_than_a_limit_is_refused_and_the_limit_is_told() {
    let many = |count: usize, one: &str| one.repeat(count);
    let cases = [
        ("functions", format!("(module {})", many(limits::FUNCTIONS + 1, "(func)"))),
        (
            "imports",
            format!(
                "(module {})",
                many(limits::IMPORTS + 1, r#"(import "shiftwork" "now" (func (result i64)))"#)
            ),
        ),
        ("types", format!("(module {})", many(limits::TYPES + 1, "(type (func))"))),
        (
            "globals",
            format!("(module {})", many(limits::GLOBALS + 1, "(global i32 (i32.const 0))")),
        ),
        ("tables", format!("(module {})", many(limits::TABLES + 1, "(table 1 funcref)"))),
        ("table entries", "(module (table 60000 funcref) (table 40001 funcref))".to_owned()),
        ("elements for tables", format!("(module (func) (elem func {}))", many(100_001, "0 "))),
        (
            "element segments",
            format!("(module (func) {})", many(limits::SEGMENTS + 1, "(elem func 0)")),
        ),
        (
            "data segments",
            format!("(module (memory 1) {})", many(limits::SEGMENTS + 1, r#"(data "")"#)),
        ),
        (
            "locals in a function",
            format!("(module (func (local {})))", many(limits::LOCALS + 1, "i32 ")),
        ),
        ("exports", {
            let exports: String = (0..=limits::EXPORTS)
                .map(|number| format!(r#"(export "{number}" (func 0))"#))
                .collect();
            format!("(module (func) {exports})")
        }),
    ];
    for (what, text) in cases {
        let error = refused(&text);
        assert!(error.starts_with("the module is over a limit: it has "), "{what}: {error}");
        assert!(error.contains(&format!(" {what}, and ")), "{what}: {error}");
    }
    let limits = Limits { module_bytes: 8, ..Limits::default() };
    assert!(read_within("(module)", &limits).is_ok());
    let error = read_within("(module (func))", &limits).unwrap_err().to_string();
    assert!(error.contains("bytes, and 8 are allowed"), "{error}");
}

#[test]
fn counts_that_a_module_only_claims_are_not_believed() {
    // A section that says it has four billion items, and has none.
    for id in [1, 2, 3, 4, 5, 6, 7, 9, 10, 11] {
        let mut bytes = b"\0asm\x01\0\0\0".to_vec();
        bytes.extend([id, 5, 0xff, 0xff, 0xff, 0xff, 0x0f]);
        let error = Module::read(&bytes, &Limits::default()).unwrap_err();
        assert!(
            matches!(error, LoadError::NotAModule { .. } | LoadError::Limit(_)),
            "section {id}: {error:?}"
        );
    }
}

/// One line says what is wrong, and the validator's words are behind it, on one line too.
#[test]
fn what_is_no_module_is_refused_in_one_line() {
    let broken = wat::parse_str("(module (func (result i32) i64.const 0))").unwrap();
    for (bytes, why, detail) in [
        (&b""[..], "it does not begin with \\0asm", "unexpected end"),
        (b"\0asm", "it ends too early, after 4 bytes", "unexpected end-of-file"),
        (b"\x7fELF\x02\x01\x01\0", "it does not begin with \\0asm", "expected=[ 0x0, 0x61,"),
        (
            b"(module)",
            "it does not begin with \\0asm; if it is the text format, make it binary first",
            "bad magic number",
        ),
        (&[0; 1000], "it does not begin with \\0asm", "bad magic number"),
        (&broken, "it is broken at byte 26", "type mismatch: expected i32, found i64"),
    ] {
        let error = Module::read(bytes, &Limits::default()).unwrap_err();
        assert!(matches!(error, LoadError::NotAModule { .. }), "{bytes:?}: {error:?}");
        assert_eq!(error.to_string(), format!("not a WebAssembly module: {why}"));
        let source = std::error::Error::source(&error).expect("the validator's words").to_string();
        assert!(source.contains(detail) && source.lines().count() == 1, "{source}");
    }
}

#[test]
fn every_prefix_of_a_module_is_refused_or_is_a_module() {
    let bytes = wat::parse_str(EVERYTHING).unwrap();
    let mut accepted = 0;
    for end in 0..bytes.len() {
        if let Ok(module) = Module::read(&bytes[..end], &Limits::default()) {
            wasmparser::validate(&module.code.bytes).unwrap();
            wasmparser::validate(&module.code.with_imported_memory).unwrap();
            accepted += 1;
        }
    }
    // What ends before the functions are promised, or after they were given.
    assert_eq!(accepted, 5, "up to the header, the types, the imports; the code, the data");
}

#[test]
fn every_flipped_bit_is_refused_or_gives_a_module() {
    let bytes = wat::parse_str(EVERYTHING).unwrap();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut broken = bytes.clone();
            broken[at] ^= 1 << bit;
            if let Ok(module) = Module::read(&broken, &Limits::default()) {
                wasmparser::validate(&module.code.bytes).unwrap();
                wasmparser::validate(&module.code.with_imported_memory).unwrap();
            }
        }
    }
}

#[test]
fn code_that_changes_more_than_memory_and_globals_is_seen() {
    let renewal = |body: &str| {
        let text = format!(
            r#"(module (memory 1) (table 2 funcref) (data $d "x") (elem $e func 0)
                (func {body}))"#
        );
        read(&text).unwrap().code.renewal
    };
    for body in [
        "(table.set (i32.const 0) (ref.null func))",
        "(table.fill (i32.const 0) (ref.null func) (i32.const 1))",
        "(table.copy (i32.const 0) (i32.const 1) (i32.const 1))",
        "(table.init $e (i32.const 0) (i32.const 0) (i32.const 1))",
        "(elem.drop $e)",
        "(data.drop $d)",
    ] {
        assert!(!renewal(body).possible, "{body}");
    }
    for body in [
        "(i32.store (i32.const 0) (i32.const 1))",
        "(drop (memory.grow (i32.const 1)))",
        "(memory.init $d (i32.const 0) (i32.const 0) (i32.const 1))",
        "(drop (table.get (i32.const 0)))",
        "(drop (table.grow (ref.null func) (i32.const 1)))",
    ] {
        assert!(renewal(body).possible, "{body}");
    }
    assert!(renewal("(data.drop $d)").keeps_data);
    assert!(renewal("(memory.init $d (i32.const 0) (i32.const 0) (i32.const 1))").keeps_data);
    assert!(!renewal("").keeps_data);
    let reference = "(module (global (mut funcref) (ref.null func)))";
    assert!(!read(reference).unwrap().code.renewal.possible);
}

#[test]
fn long_names_are_cut_and_broken_names_are_left() {
    let name = "é".repeat(300);
    let text = format!(
        r#"(module (table (export "table") 1 funcref) (elem (i32.const 0) func 0)
            (func (@name "{name}")))"#
    );
    let functions = read(&text).unwrap().table.unwrap().functions;
    assert_eq!(functions[0].as_ref().unwrap().0, "é".repeat(NAME_MAX));

    let mut bytes = wat::parse_str(
        r#"(module (table (export "table") 1 funcref) (elem (i32.const 0) func 0) (func))"#,
    )
    .unwrap();
    // A custom section "name" whose contents are nonsense.
    bytes.extend([0, 8, 4, b'n', b'a', b'm', b'e', 1, 0xff, 0xff]);
    let functions = Module::read(&bytes, &Limits::default()).unwrap().table.unwrap().functions;
    assert_eq!(functions[0].as_ref().unwrap().0, "func[0]");
}
