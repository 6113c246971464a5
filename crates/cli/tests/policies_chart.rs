//! Is the chart of policies that the repository shows what they do today?
//!
//! Time is virtual, so every machine draws the same, in some seconds without optimisation.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// As `cargo xtask bench report --policies` draws it.
const DRAWN_BY: &str =
    "--workload bursty --workers 4,16,64,256,1024 --jobs 5000 --load 64 --balancer none";

#[test]
fn the_chart_of_policies_is_what_they_draw() {
    let drawn = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("policies-workers.svg");
    let mut command = Command::new(env!("CARGO_BIN_EXE_shiftwork"));
    command.arg("policies").args(DRAWN_BY.split(' ')).arg("--svg").arg(&drawn);
    let output = command.env_remove("SHIFTWORK_WORKERS").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/charts/policies-workers.svg");
    // Not with assert_eq: either is long.
    let is_same = fs::read_to_string(drawn).unwrap() == fs::read_to_string(docs).unwrap();
    assert!(is_same, "it is another: run `cargo xtask bench report --policies`");
}
