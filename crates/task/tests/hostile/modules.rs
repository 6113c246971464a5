//! Files that are no modules, or ask for what nobody gets.

use task::LoadError;

use super::*;

/// Loads it on each engine, beside the neighbour, and returns the one error.
#[track_caller]
fn refused(module: &[u8]) -> LoadError {
    let mut errors = engines().into_iter().map(|engine| {
        let street = Street::new(engine);
        let error = street.load(module, |_| ()).err();
        street.neighbour_finishes();
        error.unwrap_or_else(|| panic!("{engine:?} has accepted it"))
    });
    let first = errors.next().unwrap();
    errors.for_each(|other| assert_eq!(other, first, "the engines differ"));
    first
}

#[track_caller]
fn refused_text(text: &str) -> LoadError {
    refused(&wat::parse_str(text).expect("the test's module is correct"))
}

#[track_caller]
fn over_a_limit(text: &str, words: &str) {
    match refused_text(text) {
        LoadError::Limit(what) => assert!(what.contains(words), "{what}"),
        other => panic!("{other}"),
    }
}

#[test]
fn truncated_modules_are_refused() {
    let whole = module(NEIGHBOUR);
    for engine in engines() {
        let street = Street::new(engine);
        let mut accepted = 0;
        for len in 0..whole.len() {
            match street.load(&whole[..len], |_| ()) {
                Err(LoadError::NotAModule { why, .. }) => assert!(!why.is_empty()),
                Err(other) => panic!("{len} of {} bytes: {other}", whole.len()),
                // What ends with a section, before any function, is whole by chance.
                Ok(_) => accepted += 1,
            }
        }
        assert!(accepted < 5, "{accepted} were accepted");
        street.neighbour_finishes();
    }
}

#[test]
fn random_bytes_are_refused() {
    let mut dice = 0x9E37_79B9_7F4A_7C15_u64;
    let mut roll = || {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        dice
    };
    for engine in engines() {
        let street = Street::new(engine);
        for round in 0..500 {
            let len = roll() % 300 + 1;
            let noise: Vec<u8> = (0..len).map(|_| roll() as u8).collect();
            // With the right first bytes every other time: else the rest is hardly looked at.
            let header: &[u8] = if round % 2 == 0 { b"\0asm\x01\0\0\0" } else { b"" };
            match street.load(&[header, &noise].concat(), |_| ()) {
                Err(error) => assert!(!error.to_string().is_empty()),
                Ok(_) => panic!("accepted {noise:?}"),
            }
        }
        street.neighbour_finishes();
    }
}

#[test]
fn other_files_are_refused_in_words() {
    for file in ["", "(module)", "#!/bin/sh\n", "\u{7f}ELF\u{2}\u{1}\u{1}", "{}"] {
        let error = refused(file.as_bytes()).to_string();
        assert!(error.starts_with("not a WebAssembly module: "), "{error}");
    }
    assert_eq!(refused_text("(component)"), LoadError::Component);
}

#[test]
fn huge_memories_are_refused() {
    over_a_limit("(module (memory 65536))", "memory");
    over_a_limit("(module (memory 1025 65536))", "memory");
}

#[test]
fn huge_tables_are_refused() {
    over_a_limit("(module (table 4294967295 funcref))", "table");
    over_a_limit("(module (table 60000 funcref) (table 60000 funcref))", "table");
}

#[test]
fn huge_functions_and_many_of_them_are_refused() {
    over_a_limit(&format!("(module (func (local {})))", "i64 ".repeat(40_000)), "locals");
    over_a_limit(&format!("(module {})", "(func)".repeat(20_000)), "functions");
    over_a_limit(&format!("(module {})", "(global i32 (i32.const 0))".repeat(5_000)), "globals");
}

/// A file of a few bytes that says there are four billion of something.
#[test]
fn a_count_that_nothing_follows_is_refused() {
    const HEADER: &[u8] = b"\0asm\x01\0\0\0";
    const MANY: [u8; 5] = [0xFF, 0xFF, 0xFF, 0xFF, 0x0F];
    for section in 1..=12 {
        let mut file = HEADER.to_vec();
        file.extend([section, 5]);
        file.extend(MANY);
        let error = refused(&file);
        assert!(matches!(error, LoadError::NotAModule { .. } | LoadError::Limit(_)), "{error}");
    }
    // One function with one group of four billion locals.
    let mut file = HEADER.to_vec();
    file.extend([1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, 10, 1, 8, 1]);
    file.extend(MANY);
    file.extend([0x7E, 0x0B]);
    let error = refused(&file);
    assert!(matches!(error, LoadError::NotAModule { .. } | LoadError::Limit(_)), "{error}");
}

#[test]
fn imports_of_others_are_refused_by_name() {
    for (module, name) in [
        ("wasi_snapshot_preview1", "fd_write"),
        ("env", "memory"),
        ("shiftwork", "open_file"),
        ("shiftwork", "shiftwork:memory"),
        ("", ""),
    ] {
        let error = refused_text(&format!("(module (import \"{module}\" \"{name}\" (func)))"));
        assert_eq!(
            error,
            LoadError::UnknownImport { module: module.to_owned(), name: name.to_owned() }
        );
    }
}

#[test]
fn imports_of_a_wrong_type_are_refused() {
    for (name, import) in [
        ("spawn", "(func (param i32) (result i64))"),
        ("yield_now", "(func (result i32))"),
        ("sleep", "(func (param i32))"),
        ("chan_send", "(func (param i64 i64 i64) (result i32))"),
        ("now", "(global i64)"),
        ("lock", "(memory 1)"),
        ("select", "(table 1 funcref)"),
    ] {
        let error = refused_text(&format!("(module (import \"shiftwork\" \"{name}\" {import}))"));
        match error {
            LoadError::WrongImportType { name: found, .. } => assert_eq!(found, name),
            other => panic!("{name}: {other}"),
        }
    }
}

#[test]
fn a_name_of_ours_is_not_the_guests_to_give() {
    let error = refused_text(r#"(module (func (export "shiftwork:start")))"#);
    assert!(error.to_string().contains("shiftwork:start"), "{error}");
}
