//! What the tests of the binary have in common.

use std::process::{Command, Stdio};

/// `shiftwork` with these arguments, away from what the user of this machine has configured.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shiftwork"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("SHIFTWORK_") {
            command.env_remove(name);
        }
    }
    let nowhere = env!("CARGO_TARGET_TMPDIR");
    command.env("HOME", nowhere).env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
    command.args(arguments).stdin(Stdio::null());
    command
}
