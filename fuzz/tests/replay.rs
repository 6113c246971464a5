//! Do all files of the corpora, and what the fuzzer has ever found, still behave?

use std::{
    fs,
    panic::catch_unwind,
    path::{Path, PathBuf},
};

/// Files of all corpora together, in bytes: what is committed stays small.
const BYTES_MAX: u64 = 2 << 20;

fn files(target: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut files: Vec<PathBuf> = fs::read_dir(&dir)
        .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no corpus of {target}");
    files
}

fn replay(target: &str, body: fn(&[u8])) {
    for file in files(target) {
        let bytes = fs::read(&file).unwrap();
        if catch_unwind(|| body(&bytes)).is_err() {
            panic!("{} has panicked, see above", file.display());
        }
    }
}

#[test]
fn every_module_of_the_corpus_is_refused_or_runs() {
    replay("module_loader", fuzz::module_loader);
}

#[test]
fn every_scenario_of_the_corpus_keeps_its_books() {
    replay("host_abi", fuzz::host_abi);
}

#[test]
fn every_transaction_of_the_corpus_is_refused_or_executed() {
    replay("transaction_admission", fuzz::transaction_admission);
}

#[test]
fn every_request_of_the_corpus_is_answered() {
    replay("request_path", fuzz::request_path);
}

#[test]
fn the_corpora_stay_small() {
    let targets = ["module_loader", "host_abi", "transaction_admission", "request_path"];
    let all = targets.into_iter().flat_map(files);
    let bytes: u64 = all.map(|file| fs::metadata(file).unwrap().len()).sum();
    assert!(bytes <= BYTES_MAX, "{bytes} bytes: minimise them, `cargo fuzz cmin`");
}
