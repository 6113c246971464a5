//! Can the fuzz targets, a workspace of their own, use what was built for the tests?
//!
//! If not, nothing is wrong, but `cargo xtask test` builds hundreds of crates twice.

use std::{collections::BTreeSet, fs, path::Path};

use toml::{Table, Value};

fn read(file: &str) -> Table {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(file);
    fs::read_to_string(file).unwrap().parse().unwrap()
}

#[test]
fn the_fuzz_targets_are_built_with_the_profile_of_the_workspace() {
    let dev = |file: &str| read(file)["profile"]["dev"].clone();
    assert_eq!(dev("fuzz/Cargo.toml"), dev("Cargo.toml"));
}

/// Names and versions of all packages from elsewhere.
fn packages(lock: &str) -> BTreeSet<(String, String)> {
    let lock = read(lock);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = lock["package"].as_array().unwrap().iter();
    let foreign = all.filter(|package| package.get("source").is_some());
    foreign.map(|package| (text(&package["name"]), text(&package["version"]))).collect()
}

#[test]
fn the_fuzz_targets_are_built_with_the_versions_of_the_workspace() {
    let (ours, theirs) = (packages("Cargo.lock"), packages("fuzz/Cargo.lock"));
    let names: BTreeSet<&String> = ours.iter().map(|(name, _)| name).collect();
    let other: Vec<_> = theirs.difference(&ours).filter(|(name, _)| names.contains(name)).collect();
    assert!(
        other.is_empty(),
        "{other:?}: in fuzz/, `cargo update NAME@VERSION --precise VERSION` with that of Cargo.lock"
    );
}
