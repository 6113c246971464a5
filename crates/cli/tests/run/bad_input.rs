//! Does it say what is wrong with a file, a module or an option, and with code 2?

use std::fs;

use crate::{SQUARES, check_ends, file, place};

#[test]
fn what_is_no_module_is_told() {
    let missing = place("missing.wasm");
    check_ends(&[&missing], 2, &["could not open", "missing.wasm", "No such file"]);
    let directory = place("directory.wasm");
    fs::create_dir_all(&directory).unwrap();
    check_ends(&[&directory], 2, &["is a directory"]);
    check_ends(&[&file("empty.wasm", "")], 2, &["empty.wasm is empty"]);
    let text = file("text.wasm", "This is no program.\n");
    check_ends(&[&text], 2, &["text.wasm: not a WebAssembly module: it does not begin with"]);
    let misnamed = file("misnamed.wasm", "\n(module)\n");
    check_ends(&[&misnamed], 2, &["if it is the text format, name it .wat"]);
    let nothing: &[&str] = &[];
    check_ends(nothing, 2, &["<FILE>"]);
}

#[test]
fn every_truncated_module_is_refused() {
    let module = wat::parse_str(SQUARES).unwrap();
    // Some of them; the loader's own tests try all.
    for length in [1, 4, 7, module.len() / 2, module.len() - 1] {
        let cut = file("cut.wasm", &module[..length]);
        check_ends(&[&cut], 2, &["cut.wasm", "not a WebAssembly module"]);
    }
}

#[test]
fn a_device_without_an_end_is_not_read_for_ever() {
    check_ends(&["/dev/zero"], 2, &["/dev/zero: not a WebAssembly module"]);
}

#[test]
fn a_mistake_in_the_text_format_is_shown_where_it_is() {
    let broken = file("broken.wat", "(module\n  (func (export \"main\") (i32.cosnt 1)))");
    check_ends(&[&broken], 2, &["broken.wat:2:", "cosnt"]);
}

#[test]
fn imports_that_are_not_ours_are_refused_by_name() {
    let wasi = r#"(module
        (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
        (func (export "_start")))"#;
    let named = ["wasi_snapshot_preview1.fd_write", "no WASI"];
    check_ends(&[&file("wasi.wat", wasi)], 2, &named);
    let unknown = r#"(module (import "shiftwork" "open_file" (func)) (func (export "main")))"#;
    check_ends(&[&file("unknown.wat", unknown)], 2, &["shiftwork.open_file"]);
    let wrong =
        r#"(module (import "shiftwork" "spawn" (func (param i64))) (func (export "main")))"#;
    let types = ["shiftwork.spawn", "(i32, i64) -> i64"];
    check_ends(&[&file("wrong_type.wat", wrong)], 2, &types);
}

#[test]
fn a_component_is_told_from_a_module() {
    check_ends(&[&file("component.wat", "(component)")], 2, &["component, not a core module"]);
}

#[test]
fn bad_options_get_clear_errors() {
    let good = file("good.wat", SQUARES);
    let refused = |arguments: &[&str], expect: &str| {
        check_ends(&[&[good.as_str()], arguments].concat(), 2, &[expect]);
    };
    refused(&["--workers", "0"], "at least one worker");
    refused(&["--workers", "many"], "invalid value 'many'");
    refused(&["--threshold", "0"], "at least 1");
    refused(&["--threshold", "lots"], "no number of operations");
    refused(&["--fuel", "0"], "at least 1");
    refused(&["--memory", "0"], "from 64K (one page) to 4G");
    refused(&["--memory", "5G"], "from 64K (one page) to 4G");
    refused(&["--memory", "big"], "`big` is no size");
    refused(&["--timeout", "0"], "more than 0");
    refused(&["--timeout", "soon"], "`soon` is no duration");
    refused(&["--timeout", "1d"], "`1d` is no duration");
    refused(&["--engine", "v8"], "wasmi, wasmtime");
    refused(&["--log", "loud"], "off, error, warn, info, debug, trace");
    refused(&["--seed", "-1"], "-1");
    refused(&["--jsno"], "'--json'");
}

#[test]
#[cfg(not(feature = "jit"))]
fn an_engine_that_is_not_built_in_is_told_with_how_to_get_it() {
    let good = file("engine.wat", SQUARES);
    let expect = ["cargo run --release --features jit -- run"];
    check_ends(&[&good, "--engine", "wasmtime"], 2, &expect);
}

#[test]
#[cfg(feature = "jit")]
fn the_other_engine_gives_the_same_result() {
    let good = file("engine.wat", SQUARES);
    crate::check_prints(&[&good, "--engine", "wasmtime"], "14\n");
}
