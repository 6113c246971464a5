//! `cargo xtask pictures`: what do the dashboard, `top` and a timeline look like?
//!
//! A node with some load, and a browser without a window that looks at it. The pictures of the
//! documentation are made here and nowhere else.

use std::fs;

use anyhow::{Result, bail};

use crate::shell;

/// More than this makes the repository heavy, and pages slow.
const BYTES_MAX: u64 = 250_000;

pub(crate) fn run() -> Result<()> {
    let folder = shell::root().join("docs/pictures");
    fs::create_dir_all(&folder)?;
    let (home, chromium) = super::browser()?;
    shell::run(shell::cargo(["build", "--release", "--package", "shiftwork-cli"]))?;
    let mut command = std::process::Command::new("node");
    command.current_dir(&home).arg("support/pictures.mjs").arg(&folder);
    command.env("SHIFTWORK", shell::target_dir().join("release/shiftwork"));
    command.env("CHROMIUM", chromium);
    shell::run(command)?;
    for entry in fs::read_dir(&folder)? {
        let entry = entry?;
        let bytes = entry.metadata()?.len();
        if bytes > BYTES_MAX {
            bail!("{} has {bytes} bytes, at most {BYTES_MAX}", entry.path().display());
        }
    }
    Ok(())
}
